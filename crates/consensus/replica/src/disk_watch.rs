//! A disk that does not answer. What a majority has made durable without this member's disk is committed, but cannot be
//! applied here: a leader whose disk stands still that long hands leadership over, and any member stops serving clients,
//! so that they go on elsewhere. Where all disks are slow alike, no leader gives way.

use base::MonoTime;
use std::collections::VecDeque;

use crate::view::View;

/// How much longer clients wait for a disk than the others wait for a leader's.
const CLIENTS_WAIT: u64 = 3;

/// What the disk was asked and when.
#[derive(Debug)]
struct Asked {
    number: u64,
    at: MonoTime,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct DiskWatch {
    /// What has not been answered.
    asked: VecDeque<Asked>,
    /// For how long the disk had held up what others have done, when that was looked at last, milliseconds.
    stalled_ms: u64,
}

impl DiskWatch {
    pub(crate) fn asked(&mut self, number: u64, at: MonoTime) {
        self.asked.push_back(Asked { number, at });
    }

    pub(crate) fn answered(&mut self, number: u64) {
        while self.asked.pop_front_if(|asked| asked.number <= number).is_some() {}
    }

    /// Looks at it. Says whether another member should lead. `lacks`: more is committed than is applied here.
    pub(crate) fn tick(&mut self, lacks: bool, view: &View) -> bool {
        self.stalled_ms = self.held_up_ms(lacks, view);
        self.stalled_ms > view.config.disk_stall_ms
    }

    /// Whether it has held up what others have done for so long that clients are better off elsewhere.
    pub(crate) fn is_stalled(&self, lacks: bool, view: &View) -> bool {
        self.held_up_ms(lacks, view) > CLIENTS_WAIT * view.config.disk_stall_ms
    }

    /// See [`crate::Core::disk_stalled_ms`].
    pub(crate) const fn stalled_ms(&self) -> u64 {
        self.stalled_ms
    }

    fn held_up_ms(&self, lacks: bool, view: &View) -> u64 {
        if lacks && !view.is_alone() { self.waits_ms(view.now.mono()) } else { 0 }
    }

    /// How long the oldest question waits, milliseconds.
    fn waits_ms(&self, now: MonoTime) -> u64 {
        self.asked.front().map_or(0, |asked| now.since(asked.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_question_counts_until_it_is_answered() {
        let mut watch = DiskWatch::default();
        assert_eq!(watch.waits_ms(MonoTime::of_ms(5)), 0);
        watch.asked(1, MonoTime::of_ms(10));
        watch.asked(2, MonoTime::of_ms(20));
        assert_eq!(watch.waits_ms(MonoTime::of_ms(30)), 20);
        watch.answered(1);
        assert_eq!(watch.waits_ms(MonoTime::of_ms(30)), 10);
        watch.answered(2);
        assert_eq!(watch.waits_ms(MonoTime::of_ms(30)), 0);
    }
}
