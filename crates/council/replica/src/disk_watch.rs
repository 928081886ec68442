//! A disk that does not answer. What a majority has made durable without this member's disk is committed, but cannot be
//! applied here: a leader whose disk stands still that long hands the lead over, and any member stops serving clients,
//! so that they go on elsewhere. Where all disks are slow alike, nobody steps aside.

use std::collections::VecDeque;

use crate::core::Core;

/// How much longer clients wait for a disk than the others wait for a leader's.
const PATIENCE: u64 = 3;

/// What the disk was asked and has not answered.
#[derive(Debug, Default)]
pub(crate) struct DiskWatch {
    asked: VecDeque<(u64, u64)>,
}

impl DiskWatch {
    pub(crate) fn asked(&mut self, number: u64, now_ms: u64) {
        self.asked.push_back((number, now_ms));
    }

    pub(crate) fn answered(&mut self, number: u64) {
        while self.asked.pop_front_if(|(asked, _)| *asked <= number).is_some() {}
    }

    /// How long the oldest question waits, milliseconds.
    fn waits_ms(&self, now_ms: u64) -> u64 {
        self.asked.front().map_or(0, |(_, asked_ms)| now_ms.saturating_sub(*asked_ms))
    }
}

impl Core {
    /// For how long this member's disk has held up what the others' have done, milliseconds.
    fn held_up_ms(&self) -> u64 {
        let held_up = self.raft.committed() > self.applied_index && !self.is_alone();
        if held_up { self.disk_watch.waits_ms(self.now.mono_ms) } else { 0 }
    }

    /// Whether that is so long that clients are better off elsewhere.
    pub(crate) fn is_disk_stalled(&self) -> bool {
        self.held_up_ms() > PATIENCE * self.config.disk_stall_ms
    }

    pub(crate) fn watch_disk(&mut self) {
        self.status.disk_stalled_ms = self.held_up_ms();
        if self.status.disk_stalled_ms > self.config.disk_stall_ms {
            self.hand_over(|_| true);
        }
        if self.is_disk_stalled() {
            self.stop_serving();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_question_counts_until_it_is_answered() {
        let mut watch = DiskWatch::default();
        assert_eq!(watch.waits_ms(5), 0);
        watch.asked(1, 10);
        watch.asked(2, 20);
        assert_eq!(watch.waits_ms(30), 20);
        watch.answered(1);
        assert_eq!(watch.waits_ms(30), 10);
        watch.answered(2);
        assert_eq!(watch.waits_ms(30), 0);
    }
}
