//! Where the log stood at which time: from how far somebody has come it follows since when he lags. Knows of no
//! members.

use std::collections::VecDeque;

use base::{LogIndex, MonoTime};
use council_wire::Zxid;
use parking_lot::Mutex;

/// How far apart steps are at the least, milliseconds: also the grain of what is told.
const STEP_MS: u64 = 100;
/// Steps that are kept. Whoever lags longer lags "at least so long".
const STEPS_MAX: usize = 6_000;

#[derive(Clone, Copy, Debug)]
struct Step {
    at: MonoTime,
    index: LogIndex,
    zxid: Zxid,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Trail {
    steps: Mutex<VecDeque<Step>>,
}

impl Trail {
    /// Whether it is time to [`Self::step`].
    pub(crate) fn is_due(&self, now: MonoTime) -> bool {
        self.steps.lock().back().is_none_or(|last| now >= last.at.plus_ms(STEP_MS))
    }

    /// What is applied now. A step that changes nothing is not kept.
    pub(crate) fn step(&self, now: MonoTime, index: LogIndex, zxid: Zxid) {
        let mut steps = self.steps.lock();
        if steps.back().is_some_and(|last| last.index == index) {
            return;
        }
        if steps.len() == STEPS_MAX {
            steps.pop_front();
        }
        steps.push_back(Step { at: now, index, zxid });
    }

    /// For how long there has been something behind this index, milliseconds.
    pub(crate) fn age_ms(&self, index: LogIndex, now: MonoTime) -> u64 {
        let steps = self.steps.lock();
        let behind = steps.partition_point(|step| step.index <= index);
        steps.get(behind).map_or(0, |step| now.since(step.at))
    }

    /// The last transaction known to be at or before this index.
    pub(crate) fn zxid(&self, index: LogIndex) -> Option<Zxid> {
        let steps = self.steps.lock();
        let behind = steps.partition_point(|step| step.index <= index);
        steps.get(behind.checked_sub(1)?).map(|step| step.zxid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_as_old_as_what_came_first_behind_it() {
        let trail = Trail::default();
        assert!(trail.is_due(MonoTime::of_ms(0)));
        assert_eq!((trail.age_ms(LogIndex(5), MonoTime::of_ms(100)), trail.zxid(LogIndex(5))), (0, None));
        for (at_ms, index) in [(1_000, 10), (1_100, 10), (1_200, 20), (1_300, 30)] {
            trail.step(MonoTime::of_ms(at_ms), LogIndex(index), Zxid(index as i64 * 2));
        }
        assert!(!trail.is_due(MonoTime::of_ms(1_350)) && trail.is_due(MonoTime::of_ms(1_400)));
        let told =
            |index| (trail.age_ms(LogIndex(index), MonoTime::of_ms(2_000)), trail.zxid(LogIndex(index)));
        assert_eq!(told(30), (0, Some(Zxid(60))));
        assert_eq!(told(29), (700, Some(Zxid(40))));
        assert_eq!(told(10), (800, Some(Zxid(20))));
        assert_eq!(told(9), (1_000, None));
    }
}
