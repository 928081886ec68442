//! What calls ask of users' types and their versions, as it was read from their records. No part of the state: what is not here, or was
//! read before a record changed, is read again.

use crate::command::TypeId;
use crate::version::VersionHash;

/// See the module.
#[derive(Default)]
pub(crate) struct KnownVersions {
    /// How often records of types and versions had changed when the versions were read.
    pub(crate) age: u64,
    pub(crate) versions: Vec<KnownVersion>,
    /// How often records of types alone had changed when the types were read: a version's record changes with each object that is created.
    pub(crate) types_age: u64,
    /// All types, in the order of their names.
    pub(crate) types: Vec<(Box<str>, TypeId)>,
}

/// A version that there is.
pub(crate) struct KnownVersion {
    pub(crate) kind: TypeId,
    pub(crate) version: VersionHash,
    /// Names of methods, in order, each with its record: that is one byte.
    pub(crate) methods: Vec<(Box<str>, u8)>,
    pub(crate) has_bytes: bool,
    pub(crate) is_closed: bool,
    /// Whether the engine has made it ready.
    pub(crate) is_ready: bool,
    pub(crate) hears_sessions: bool,
}

impl KnownVersion {
    /// The record of a method.
    pub(crate) fn method(&self, name: &str) -> Option<u8> {
        let place = self.methods.binary_search_by(|(at, _)| (**at).cmp(name)).ok()?;
        Some(self.methods[place].1)
    }
}
