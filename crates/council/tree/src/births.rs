//! The latest session that each member opened. Members give ascending ids, so a command that opens a session with an id
//! not above the latest is a repeated one. That session may have ended since, and must not be opened again. Earlier
//! builds do not keep this: it is kept from a feature level on.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use council_wire::{Malformed, SessionId};

use crate::codec::Cursor;
use crate::digest;

/// The feature level from which on it is kept.
pub(crate) const LEVEL: u32 = 1;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Births(BTreeMap<u8, SessionId>);

/// Which member opened a session: the first byte of its id.
const fn opener(id: SessionId) -> u8 {
    (id.0 as u64 >> 56) as u8
}

impl Births {
    /// The latest session that this member opened.
    pub(crate) fn last(&self, member: u8) -> Option<SessionId> {
        self.0.get(&member).copied()
    }

    /// Whether no session of that id can have been opened before.
    pub(crate) fn is_new(&self, id: SessionId) -> bool {
        self.last(opener(id)).is_none_or(|last| id.0 > last.0)
    }

    pub(crate) fn note(&mut self, id: SessionId) {
        self.0.insert(opener(id), id);
    }

    /// What either knows to be opened is.
    pub(crate) fn rise(&mut self, other: &Self) {
        for (&member, &id) in &other.0 {
            let last = self.0.entry(member).or_insert(id);
            *last = (*last).max(id);
        }
    }

    /// What it adds to the digest of the tree; nothing as long as there are none.
    pub(crate) fn term(&self) -> u64 {
        self.0.values().fold(0, |sum, id| sum.wrapping_add(digest::of_birth(*id)))
    }

    /// Appends its bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.0.values().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
    }

    /// Reads all that is left: a snapshot of an older form has none.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let mut births = Self::default();
        while !cursor.rest().is_empty() {
            let id = SessionId(cursor.i64()?);
            if births.0.insert(opener(id), id).is_some() {
                return Err(Malformed("snapshot: a member's latest session is there twice"));
            }
        }
        Ok(births)
    }
}
