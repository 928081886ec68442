//! What every simulated world has: its stream of random numbers, its clock, the faults that strike it, and what is told of
//! it. Knows nothing of what the world consists of.

use std::collections::BTreeMap;
use std::fmt::Arguments;

use crate::faults::{Strikes, Without};
use crate::random::Random;
use crate::trace::Trace;

/// When a world begins, milliseconds. Not 0: that often stands for "never".
const START_MS: u64 = 1_000;
/// Lines of the story that are kept.
const STORY_MAX: usize = 400;

/// See the module.
#[derive(Debug)]
pub struct Simulation {
    /// What decides everything.
    pub random: Random,
    /// How often each thing happened. What never happened is not there.
    pub happened: BTreeMap<&'static str, u64>,
    /// The hash of all steps.
    pub trace: Trace,
    now_ms: u64,
    strikes: Strikes,
    /// What happened lately, in words.
    story: Vec<(u64, String)>,
    hashes: Option<fn(u64, u64)>,
    hashed_second: u64,
}

impl Simulation {
    /// A world that draws from this.
    #[must_use]
    pub fn new(random: Random) -> Self {
        Self {
            random,
            happened: BTreeMap::new(),
            trace: Trace::default(),
            now_ms: START_MS,
            strikes: Strikes::default(),
            story: Vec::new(),
            hashes: None,
            hashed_second: START_MS / 1000,
        }
    }

    /// These faults do not strike.
    pub fn leave_out(&mut self, without: Without) {
        self.strikes.without = without;
    }

    /// `hashes` is told the hash of everything so far, once a simulated second.
    pub const fn tell_hashes(&mut self, hashes: Option<fn(u64, u64)>) {
        self.hashes = hashes;
    }

    /// Time passes. Nothing else moves the clock.
    pub const fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// A moment is over: to be said when nothing of it is left to be done.
    pub fn end_moment(&mut self) {
        let second = self.now_ms / 1000;
        if second > self.hashed_second {
            self.hashed_second = second;
            if let Some(tell) = self.hashes {
                tell(second, self.trace.hash());
            }
        }
    }

    /// Counts that something happened, and tells it.
    pub fn tell(&mut self, what: &'static str, words: Arguments<'_>) {
        self.count(what, 1);
        self.trace.step(what, &[self.now_ms]);
        if self.story.len() == STORY_MAX {
            self.story.remove(0);
        }
        let fault =
            self.strikes.present.take().map_or_else(String::new, |number| format!("fault {number}: "));
        self.story.push((self.now_ms, format!("{fault}{words}")));
    }

    /// Counts something.
    pub fn count(&mut self, what: &'static str, more: u64) {
        if more > 0 {
            *self.happened.entry(what).or_default() += more;
        }
    }

    /// A fault strikes so often, of a thousand moments: gives what it draws from. The next that is told is its doing.
    pub fn strike(&mut self, often: u64) -> Option<Random> {
        if often <= self.random.below(1000) {
            return None;
        }
        let chance = self.random.fork();
        self.strikes.next(chance)
    }

    /// What is told from now on is no fault's doing.
    pub const fn end_fault(&mut self) {
        self.strikes.present = None;
    }

    /// How many faults were to strike, those that are left out among them.
    #[must_use]
    pub const fn struck(&self) -> u64 {
        self.strikes.count
    }

    /// Milliseconds that have passed.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// What happened lately: when, and in words.
    #[must_use]
    pub fn story(&self) -> &[(u64, String)] {
        &self.story
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_names_the_fault_that_struck_and_keeps_what_happened_last() {
        let mut sim = Simulation::new(Random::new(1));
        assert!(sim.strike(0).is_none());
        sim.strike(1_000).expect("it always strikes");
        sim.tell("crash", format_args!("host 1 crashes"));
        sim.tell("start", format_args!("host 1 starts"));
        sim.pass(500);
        for _ in 0..STORY_MAX - 1 {
            sim.tell("start", format_args!("host 1 starts"));
        }
        assert_eq!(
            (sim.struck(), sim.story().len(), sim.happened["start"]),
            (1, STORY_MAX, STORY_MAX as u64)
        );
        assert_eq!(sim.story()[0], (1_000, "host 1 starts".to_owned()));
        sim.strike(1_000).expect("it always strikes");
        sim.tell("crash", format_args!("host 2 crashes"));
        assert_eq!(sim.story()[STORY_MAX - 1], (1_500, "fault 2: host 2 crashes".to_owned()));
    }
}
