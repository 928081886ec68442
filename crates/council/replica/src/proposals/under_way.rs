//! How much a leader has put into the log that is not applied here yet.

use consensus_raft::LogIndex;
use std::collections::VecDeque;

use super::weight::HEAVY;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Proposals: their last entries, and what they weigh.
    proposals: VecDeque<(LogIndex, u64)>,
    weight: u64,
    /// How many of them are heavy.
    heavy: usize,
}

impl UnderWay {
    pub(super) fn add(&mut self, last_index: LogIndex, weight: u64) {
        self.proposals.push_back((last_index, weight));
        self.weight += weight;
        self.heavy += usize::from(weight > HEAVY);
    }

    /// Entries up to this one are applied: gives what the proposals weigh that are done with it.
    pub(super) fn applied(&mut self, index: LogIndex) -> u64 {
        let before = self.weight;
        while let Some((_, weight)) = self.proposals.pop_front_if(|(last, _)| *last <= index) {
            self.weight -= weight;
            self.heavy -= usize::from(weight > HEAVY);
        }
        before - self.weight
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) const fn has_heavy(&self) -> bool {
        self.heavy > 0
    }

    pub(super) const fn weight(&self) -> u64 {
        self.weight
    }
}
