//! The session table's entries.

use alloc::collections::BTreeSet;

use council_wire::SessionId;

use crate::arena::Slot;

/// An open session, as every member knows it.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its timeout without a message of its client, in milliseconds, as negotiated.
    pub timeout_ms: i32,
    /// Raised whenever it moves to a new connection; commands of older ones are dropped. The first is 1.
    pub generation: u32,
    /// The sequence of the last command applied in this generation; the first is 1.
    pub sequence: u64,
    /// What a client must show to take it up again.
    pub password: [u8; 16],
    pub(crate) ephemerals: BTreeSet<Slot>,
    /// Bytes of the paths of these, and what their ACLs count.
    pub(crate) ephemeral_bytes: usize,
}

impl Session {
    /// How many ephemeral nodes it owns.
    #[must_use]
    pub fn ephemeral_count(&self) -> usize {
        self.ephemerals.len()
    }

    /// How many bytes the paths of its ephemeral nodes have together, with 64 for each entry of an ACL other than the
    /// open one: what its end makes of them, and frees, at once.
    #[must_use]
    pub const fn ephemeral_bytes(&self) -> usize {
        self.ephemeral_bytes
    }
}
