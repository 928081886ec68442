//! What replicas tell each other.

use crate::history::EpochStart;
use crate::{Epoch, Position, Round, Seq};

/// From a leader: entries for a follower. The owner puts the entries of `after.end..to` beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Append {
    /// Under which the sender leads.
    pub epoch: Epoch,
    /// Where that epoch begins in its log.
    pub epoch_start: Seq,
    /// The follower must have this before the entries.
    pub after: Position,
    /// The number behind the last entry that is sent.
    pub to: Seq,
    /// The epochs that begin in `after.end..to`.
    pub starts: Vec<EpochStart>,
    /// What is committed.
    pub committed: Seq,
    /// Where the sender's log starts: what is before is gone, and goes at the follower too.
    pub start: Seq,
    /// What the follower needs is gone: its log starts anew at `after`.
    pub resets: Option<Reset>,
    /// An answer is wanted even if there is nothing new to say.
    pub probes: bool,
    /// The sender wants to know whether it still leads: its newest question.
    pub round: Round,
}

/// When the log of a follower starts anew, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reset {
    /// Unless the follower has everything of this leader up to `thinned_to`. Otherwise only if it does not have `after`.
    pub always: bool,
    /// What the leader's log is [thinned](crate::Replica::thinned_to) to, and so the follower's from then on.
    pub thinned_to: Seq,
}

/// An [`Append`] that no leader sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAppend(pub &'static str);

impl Append {
    /// Whether a leader could have sent it. [`Replica::receive_append`](crate::Replica::receive_append) asks this; a decoder may ask
    /// it earlier.
    ///
    /// # Errors
    /// No leader sends that.
    pub fn check(&self) -> Result<(), BadAppend> {
        if self.epoch == Epoch::NONE || self.after.epoch > self.epoch {
            return Err(BadAppend("an epoch that has no leader"));
        }
        if self.start > self.committed {
            return Err(BadAppend("a log that starts behind what is committed"));
        }
        if self.to < self.after.end {
            return Err(BadAppend("entries that end before they begin"));
        }
        let mut last = Position { epoch: self.after.epoch, ..self.after };
        for (number, known) in self.starts.iter().enumerate() {
            let rises = known.epoch > last.epoch
                && (known.start > last.end || number == 0 && known.start == last.end);
            if !rises || known.start >= self.to || known.epoch > self.epoch {
                return Err(BadAppend("epochs that do not rise within the entries"));
            }
            last = Position { epoch: known.epoch, end: known.start };
        }
        let own =
            self.starts.iter().any(|known| known.epoch == self.epoch && known.start != self.epoch_start);
        let reaches = self.to > self.epoch_start && last.epoch != self.epoch;
        let early = self.after.epoch == self.epoch && self.after.end <= self.epoch_start;
        if own || reaches || early { Err(BadAppend("its epoch begins elsewhere")) } else { Ok(()) }
    }

    /// The epoch of the entry `at`, one of those that are sent.
    #[must_use]
    pub fn epoch_of(&self, at: Seq) -> Epoch {
        let behind = self.starts.partition_point(|known| known.start <= at);
        let known = behind.checked_sub(1).and_then(|last| self.starts.get(last));
        known.map_or(self.after.epoch, |known| known.epoch)
    }
}

/// From a follower: its log is the leader's, durably, up to there, and starts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Appended {
    /// The leader's epoch.
    pub epoch: Epoch,
    /// Up to where.
    pub durable: Seq,
    /// Where its log starts, durably.
    pub start: Seq,
    /// The leader's newest question whether it still leads.
    pub round: Round,
}

/// From a follower: it does not have what must be before the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Diverged {
    /// The leader's epoch.
    pub epoch: Epoch,
    /// The last position that it may have in common with the leader.
    pub common: Position,
}

/// From a voter or learner: it has promised a higher epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refused {
    /// That one.
    pub promised: Epoch,
}
