//! Makes a run that fails smaller: less time, and fewer faults, as long as it fails in the same way. Takes away halves
//! first and single faults in the end (delta debugging: Zeller and Hildebrandt 2002). Draws no chance: the same run
//! shrinks to the same.
//!
//! **Not done, and what that costs.** What the users of a world do stays as the seed has it.

use std::marker::PhantomData;

use crate::faults::OF_MESSAGES;
use crate::world::{Plan, Report, World, play};

/// A run that fails, and needs all that is left of it for that, as far as was tried.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// What is left.
    pub plan: Plan,
    /// What it led to.
    pub report: Report,
    /// How many runs it took.
    pub runs: u64,
}

impl Shrunk {
    /// The faults that are left, by their numbers.
    #[must_use]
    pub fn faults(&self) -> Vec<u64> {
        (1..=self.report.struck).filter(|number| !self.plan.without.numbers.contains(number)).collect()
    }
}

/// Shrinks a run in no more than so many; nothing if it does not fail at all.
pub fn shrink<W: World>(plan: &Plan, runs_max: u64, fails: impl Fn(&Report) -> bool) -> Option<Shrunk> {
    let report = play::<W>(plan, None);
    let found = fails(&report).then(|| Shrunk { plan: plan.clone(), report, runs: 1 })?;
    let mut search = Search { found, runs_max, fails, world: PhantomData::<W> };
    search.shorten();
    search.leave_messages_alone();
    search.leave_out();
    search.shorten();
    Some(search.found)
}

struct Search<W, F> {
    found: Shrunk,
    runs_max: u64,
    fails: F,
    world: PhantomData<W>,
}

impl<W: World, F: Fn(&Report) -> bool> Search<W, F> {
    /// Whether this fails as well; then it is what was found.
    fn try_it(&mut self, change: impl FnOnce(&mut Plan)) -> bool {
        if self.found.runs >= self.runs_max {
            return false;
        }
        let mut plan = self.found.plan.clone();
        change(&mut plan);
        let report = play::<W>(&plan, None);
        self.found.runs += 1;
        let fails = (self.fails)(&report);
        if fails {
            (self.found.plan, self.found.report) = (plan, report);
        }
        fails
    }

    /// To the second.
    fn shorten(&mut self) {
        let (mut passes_ms, mut fails_ms) = (0, self.found.plan.faulty_ms);
        while fails_ms > passes_ms + 1_000 {
            let middle_ms = (passes_ms + fails_ms) / 2_000 * 1_000;
            if middle_ms <= passes_ms {
                return;
            }
            match self.try_it(|plan| plan.faulty_ms = middle_ms) {
                true => fails_ms = middle_ms,
                false => passes_ms = middle_ms,
            }
        }
    }

    fn leave_messages_alone(&mut self) {
        for name in OF_MESSAGES {
            self.try_it(|plan| plan.without.of_messages.extend([name]));
        }
    }

    fn leave_out(&mut self) {
        let mut size = self.found.faults().len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            let mut left_out = false;
            while let Some(some) = self.found.faults().get(at..).filter(|rest| !rest.is_empty()) {
                let some = some[..size.min(some.len())].to_vec();
                // What follows may be other faults than before, under the same numbers.
                match self.try_it(|plan| plan.without.numbers.extend(some)) {
                    true => left_out = true,
                    false => at += size,
                }
            }
            if self.found.runs >= self.runs_max || (size == 1 && !left_out) {
                return;
            }
            size = if left_out { size } else { size / 2 }.max(1);
        }
    }
}
