//! A session as its client knows it: its number of requests, and which replies have come.

use std::collections::BTreeSet;

use objects_state::SessionId;

/// See the module.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) id: SessionId,
    secret: SessionId,
    /// Whether it was answered that it is open.
    pub(super) is_open: bool,
    /// The number of its last request.
    last: u64,
    /// All replies up to this one have come.
    floor: u64,
    /// And these, above it.
    above: BTreeSet<u64>,
}

impl Own {
    pub(super) const fn new(id: SessionId, secret: SessionId) -> Self {
        Self { id, secret, is_open: false, last: 0, floor: 0, above: BTreeSet::new() }
    }

    pub(super) fn credential(&self) -> (&'static str, String) {
        ("diwan-session", format!("{}.{}", self.id, self.secret))
    }

    /// The next request: its number.
    pub(super) const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A reply has come.
    pub(super) fn answered(&mut self, request: u64) {
        self.above.insert(request);
        while self.above.remove(&(self.floor + 1)) {
            self.floor += 1;
        }
    }

    /// What it says to have come: all of it, the first of it, or nothing.
    pub(super) fn acknowledged(&self, chance: u64) -> Option<(&'static str, String)> {
        let mut text = match chance {
            0 => return None,
            1 => self.floor.saturating_sub(1).to_string(),
            _ => self.floor.to_string(),
        };
        if chance > 3 {
            self.above.iter().take(10).for_each(|request| text += &format!(", {request}"));
        }
        Some(("diwan-acknowledged", text))
    }
}
