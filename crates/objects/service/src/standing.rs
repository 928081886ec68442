//! How a member stands, for threads that do not wait for its core.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Debug, Default)]
pub struct Standing {
    /// Its core has ended for good.
    ended: AtomicBool,
    serving: AtomicBool,
    leading: AtomicBool,
    /// Whether it leads others.
    leads_others: AtomicBool,
    /// The member's id, 0 while it has none.
    member: AtomicU64,
    /// The leader's number, 0 if none is known.
    leader: AtomicU64,
    term: AtomicU64,
    position: AtomicU64,
}

/// [`Standing`] of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) serving: bool,
    pub(crate) leading: bool,
    pub(crate) leads_others: bool,
    pub(crate) member: u64,
    pub(crate) leader: u64,
    pub(crate) term: u64,
    pub(crate) position: u64,
}

impl Standing {
    pub(crate) fn set(&self, stand: Stand) {
        let Stand { serving, leading, leads_others, member, leader, term, position } = stand;
        self.serving.store(serving, Relaxed);
        self.leading.store(leading, Relaxed);
        self.leads_others.store(leads_others, Relaxed);
        self.member.store(member, Relaxed);
        self.leader.store(leader, Relaxed);
        self.term.store(term, Relaxed);
        self.position.store(position, Relaxed);
    }

    /// Its core has ended for good.
    pub(crate) fn end(&self) {
        self.set(Stand::default());
        self.ended.store(true, Relaxed);
    }

    /// Whether its core has ended for good: it was stopped, or has failed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// Whether it serves clients.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.serving.load(Relaxed)
    }

    /// Whether it leads the group.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.leading.load(Relaxed)
    }

    pub(crate) fn leads_others(&self) -> bool {
        self.leads_others.load(Relaxed)
    }

    /// Its id in the group, once it has one.
    #[must_use]
    pub fn member(&self) -> Option<u64> {
        Some(self.member.load(Relaxed)).filter(|member| *member != 0)
    }

    /// The number of the member that leads, as far as is known here.
    #[must_use]
    pub fn leader(&self) -> Option<u64> {
        Some(self.leader.load(Relaxed)).filter(|leader| *leader != 0)
    }

    /// The engine's term.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.term.load(Relaxed)
    }

    /// The position of the last command that is applied here.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position.load(Relaxed)
    }
}
