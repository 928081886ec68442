//! Bodies of requests.

use council_wire::{Acl, Writer};

/// What kind of node is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CreateMode {
    /// Stays until it is deleted.
    Persistent,
    /// Stays, and gets a number behind its name.
    PersistentSequential,
    /// Goes with the session.
    Ephemeral,
    /// Goes with the session, and gets a number behind its name.
    EphemeralSequential,
    /// Goes when its last child has gone.
    Container,
    /// Goes when it has no child and was not changed for this many milliseconds.
    Ttl(i64),
    /// The same, and gets a number behind its name.
    TtlSequential(i64),
}

impl CreateMode {
    /// The number of the mode on the wire.
    #[must_use]
    pub const fn flags(self) -> i32 {
        match self {
            Self::Persistent => 0,
            Self::Ephemeral => 1,
            Self::PersistentSequential => 2,
            Self::EphemeralSequential => 3,
            Self::Container => 4,
            Self::Ttl(_) => 5,
            Self::TtlSequential(_) => 6,
        }
    }

    /// Whether the node gets a number behind its name.
    #[must_use]
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::PersistentSequential | Self::EphemeralSequential | Self::TtlSequential(_))
    }

    /// The time to live, in milliseconds, of the modes that have one.
    #[must_use]
    pub const fn ttl_ms(self) -> Option<i64> {
        match self {
            Self::Ttl(ttl) | Self::TtlSequential(ttl) => Some(ttl),
            _ => None,
        }
    }
}

/// A body that `write` makes.
pub(crate) fn body(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut Writer::new(&mut bytes));
    bytes
}

/// create, create2, createContainer, createTTL.
pub(crate) fn create(
    writer: &mut Writer<'_>,
    path: &str,
    data: Option<&[u8]>,
    acl: &[Acl],
    mode: CreateMode,
) {
    writer.text(path).buffer(data);
    Acl::write_all(acl, writer);
    writer.i32(mode.flags());
    if let Some(ttl) = mode.ttl_ms() {
        writer.i64(ttl);
    }
}

/// Reads with a watch.
pub(crate) fn read(path: &str, watch: bool) -> Vec<u8> {
    body(|writer| {
        writer.text(path).bool(watch);
    })
}

/// A path and a number: delete, check, checkWatches, removeWatches, addWatch.
pub(crate) fn path_and_number(path: &str, number: i32) -> Vec<u8> {
    body(|writer| {
        writer.text(path).i32(number);
    })
}

/// An authentication packet.
pub(crate) fn auth(scheme: &str, credentials: &[u8]) -> Vec<u8> {
    body(|writer| {
        writer.i32(0).text(scheme).buffer(Some(credentials));
    })
}

/// A token of a SASL exchange.
pub(crate) fn sasl(token: &[u8]) -> Vec<u8> {
    body(|writer| {
        writer.buffer(Some(token));
    })
}
