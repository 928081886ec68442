//! What a quota is of, what it allows, and what is kept.

use crate::codec::{Cursor, Field, Malformed, record};
use crate::limits::KEY_BYTES_MAX;

/// Whose quota it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotaOf {
    /// A principal's.
    Principal(String),
    /// A namespace's: of the objects whose names begin with it and a slash.
    Namespace(String),
}

impl QuotaOf {
    /// What tells the two apart in keys and commands.
    pub(crate) const fn class(&self) -> u8 {
        match self {
            Self::Principal(_) => 0,
            Self::Namespace(_) => 1,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Principal(name) | Self::Namespace(name) => name,
        }
    }

    /// In a word: `principal` or `namespace`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Principal(_) => "principal",
            Self::Namespace(_) => "namespace",
        }
    }

    pub(crate) fn of_class(class: u8, name: String) -> Option<Self> {
        match class {
            0 => Some(Self::Principal(name)),
            1 => Some(Self::Namespace(name)),
            _ => None,
        }
    }
}

impl Field for QuotaOf {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.class());
        crate::codec::put_bytes(out, self.name().as_bytes());
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let class = cursor.u8()?;
        let name = cursor.text()?;
        if name.len() > KEY_BYTES_MAX {
            return Err(Malformed("quota: a name is too long"));
        }
        Self::of_class(class, name.into()).ok_or(Malformed("quota: of something unknown"))
    }
}

record! {
    /// What a quota allows; nothing stands for as much as there may be.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct QuotaLimits {
        /// Objects.
        pub objects: Option<u64>,
        /// Bytes of objects.
        pub bytes: Option<u64>,
        /// Calls that wait.
        pub waiters: Option<u64>,
        /// Sessions that are open.
        pub sessions: Option<u64>,
        /// Calls that each member lets in within a second.
        pub calls_per_second: Option<u64>,
    }
}

impl QuotaLimits {
    /// Whether it allows everything: then it is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

record! {
    /// A quota.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Quota {
        pub(crate) limits: QuotaLimits,
        /// At which position there was none before: what was counted for an earlier one does not count.
        pub(crate) since: u64,
    }
}

record! {
    /// What is used of a quota.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Usage {
        pub(crate) objects: u64,
        pub(crate) bytes: u64,
        pub(crate) waiters: u64,
        pub(crate) sessions: u64,
    }
}

record! {
    /// What an object of a namespace with a quota has: a record of its space.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Metered {
        pub(crate) namespace: String,
        /// Of the quota.
        pub(crate) since: u64,
        pub(crate) bytes: u64,
        pub(crate) waiters: u64,
    }
}

record! {
    /// How far the objects of a namespace have been counted, or uncounted behind the end of its quota: up to this one, by the
    /// number of its type and its name.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Walk {
        pub(crate) behind: Option<(u8, String)>,
    }
}
