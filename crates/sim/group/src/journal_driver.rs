//! The journal of a simulated member: the machine that orders its work, driven some steps at a time. Between two steps
//! anything else may happen, a crash among it. Knows nothing of what is asked of the journal.

use consensus_replica::{JournalEvent, JournalRequest};
use std::collections::VecDeque;

use consensus_replica::journal_executor::{
    ExecutorConfig, JournalExecutor, JournalNotice, JournalOutput, Next,
};
use storage_raft_log::{Disk, Fault, Journal};

use base::Random;

/// A machine that takes more steps without coming to rest never does.
const STEPS_MAX: usize = 100_000;

/// See the module.
pub struct JournalDriver<D: Disk> {
    executor: JournalExecutor<D>,
    /// What decides how many steps are taken at a time; without it, all that there are.
    chance: Option<Random>,
    /// There is nothing to do until something is fed, or until that time, microseconds.
    rests: Option<Option<u64>>,
    /// How many flushes it may begin.
    flushes_max: u32,
    /// Answers that the core has not taken.
    answers: VecDeque<JournalEvent>,
    /// Snapshots that were abandoned, and how often there was no room on the disk.
    counted: [u64; 2],
}

impl<D: Disk> JournalDriver<D> {
    /// Drives that journal. `seed` decides how many steps are taken at a time; without it, all that there are.
    #[must_use]
    pub fn new(journal: Journal<D>, config: &ExecutorConfig, seed: Option<u64>) -> Self {
        let mut new = Self {
            executor: JournalExecutor::new(journal, config),
            chance: seed.map(Random::new),
            rests: None,
            flushes_max: u32::MAX,
            answers: VecDeque::new(),
            counted: [0; 2],
        };
        new.collect();
        new
    }

    /// The core asks for something.
    pub fn feed(&mut self, effect: JournalRequest) {
        self.executor.feed(effect);
        self.rests = None;
    }

    /// From now on, no more flushes than these are begun.
    pub const fn allow_flushes(&mut self, most: u32) {
        self.flushes_max = most;
    }

    /// Takes one step, or some, or all until there is nothing left to do.
    ///
    /// # Errors
    /// The disk failed: the member must stop.
    ///
    /// # Panics
    /// The journal does not come to rest.
    pub fn run(&mut self, now_us: u64) -> Result<(), Fault> {
        if self.rests.is_some_and(|until_us| until_us.is_none_or(|until_us| now_us < until_us)) {
            return Ok(());
        }
        for _ in 0..self.draw_steps() {
            if self.executor.is_flush_due() && !self.may_flush() {
                return Ok(());
            }
            let next = self.executor.step(now_us);
            self.collect();
            if let Next::Sleep { until_us } = next? {
                assert!(until_us.is_none_or(|until_us| until_us > now_us), "it would never sleep");
                self.rests = Some(until_us);
                return Ok(());
            }
        }
        assert!(self.chance.is_some(), "the journal does not come to rest");
        Ok(())
    }

    fn draw_steps(&mut self) -> usize {
        let Some(chance) = &mut self.chance else { return STEPS_MAX };
        match chance.below(4) {
            0 => 1,
            1 => 2,
            2 => 1 + chance.below(8) as usize,
            _ => STEPS_MAX,
        }
    }

    const fn may_flush(&mut self) -> bool {
        match self.flushes_max {
            0 => false,
            u32::MAX => true,
            _ => {
                self.flushes_max -= 1;
                true
            }
        }
    }

    fn collect(&mut self) {
        for output in self.executor.outputs().drain(..) {
            match output {
                JournalOutput::Event(event) => self.answers.push_back(event),
                JournalOutput::Notice(JournalNotice::SnapshotFailed { .. }) => self.counted[0] += 1,
                JournalOutput::Notice(JournalNotice::SpaceChanged { shortage: Some(_), .. }) => {
                    self.counted[1] += 1;
                }
                JournalOutput::Notice(_) => {}
            }
        }
    }

    /// What the core is to be told, in order.
    pub fn take_answers(&mut self) -> VecDeque<JournalEvent> {
        std::mem::take(&mut self.answers)
    }

    /// What happened since the last time.
    pub fn take_counts(&mut self) -> [(&'static str, u64); 2] {
        let [abandoned, full] = std::mem::take(&mut self.counted);
        [("snapshot abandoned", abandoned), ("log without room", full)]
    }

    /// Whether it has nothing left to do for now, and the core has taken its answers.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.rests.is_some() && self.answers.is_empty()
    }

    /// Whether a flush is what it does next.
    #[must_use]
    pub const fn awaits_flush(&self) -> bool {
        self.executor.is_flush_due()
    }
}
