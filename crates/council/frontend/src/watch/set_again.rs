//! How far a setWatches has come, however many pieces it takes.

use council_wire::{PathList, SetWatches, Zxid};

use super::missed::MissedEvents;
use super::named::Named;

/// A path is looked up, and perhaps an event of it is told: 220 ns.
pub(crate) const WORK_PER_TOLD: usize = 1;
/// A watch is put into the table: 500 ns.
pub(crate) const WORK_PER_WATCH: usize = 2;

/// How far a setWatches has come.
#[derive(Debug, Default)]
pub(crate) struct SetAgain {
    pub(crate) stage: Stage,
    /// The list under way, and how many of its paths are done.
    pub(crate) list: usize,
    pub(crate) done: usize,
    /// `None` at the beginning, and while they are in [`Settled`].
    pub(crate) named: Option<Named>,
    /// Whether a list ends in what ZooKeeper stops at.
    pub(crate) broken: bool,
    /// The last transaction when the first path was collected.
    pub(crate) began: Zxid,
    /// How far the history has been looked through.
    pub(crate) looked: Option<Zxid>,
    /// Whether the history reaches back to what the client had seen; if not though it should, where it starts.
    pub(crate) catches_up: bool,
    pub(crate) too_short: Option<Zxid>,
    pub(crate) missed: MissedEvents,
    /// The moment at which all of it happens, when it is known.
    pub(crate) settled: Option<Zxid>,
    pub(crate) restarts: u8,
}

/// What is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Collect,
    LookBack,
    TellListed,
    TellMissed,
}

/// How a piece of a setWatches ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    All,
    More,
    /// It must be done as a whole: the history is too short for what changes meanwhile.
    Whole,
}

/// Watches of a setWatches that are set, and not yet all in the shard's table.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) slot: u32,
    pub(crate) named: Named,
}

impl SetAgain {
    /// The moment at which all of it happens, when it is known.
    pub(crate) const fn settled(&self) -> Option<Zxid> {
        self.settled
    }

    /// Whether so much work is enough for the rest.
    pub(crate) fn fits(&self, set: &SetWatches<'_>, work: usize) -> bool {
        let paths: usize = lists(set).iter().map(PathList::len).sum();
        let watched = paths.saturating_mul(WORK_PER_TOLD + WORK_PER_WATCH);
        watched.saturating_add(self.missed.left().saturating_mul(WORK_PER_TOLD)) <= work
    }

    pub(crate) fn to(&mut self, stage: Stage) {
        (self.stage, self.list, self.done) = (stage, 0, 0);
    }
}

/// The lists of a setWatches, in order.
pub(crate) const fn lists<'a>(set: &SetWatches<'a>) -> [PathList<'a>; 5] {
    [set.data, set.exist, set.child, set.persistent, set.persistent_recursive]
}
