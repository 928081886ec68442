//! A counter that all clients increment.

use std::io;

use super::{Asker, Crowd, Heard, Recipe, Tally, own, result};

#[derive(Default)]
pub(super) struct Counter {
    path: String,
    /// What each client was answered last.
    latest: Vec<u64>,
    sum: Sum,
}

/// What the values of all answers come to.
#[derive(Default)]
struct Sum {
    answers: u64,
    values: u128,
}

impl Sum {
    fn add(&mut self, value: u64) {
        self.answers += 1;
        self.values += u128::from(value);
    }

    /// Each increment gave a value of its own, and the counter has the last one.
    fn judge(&self, found: Option<u64>) -> Result<(), String> {
        let answers = self.answers;
        if found != Some(answers) {
            return Err(format!("the counter is at {found:?} after {answers} increments"));
        }
        let all = u128::from(answers);
        match self.values == all * (all + 1) / 2 {
            true => Ok(()),
            false => Err(format!("{answers} increments did not give a value each")),
        }
    }
}

impl Counter {
    pub(super) fn new() -> Self {
        Self { path: own("counter"), ..Self::default() }
    }

    fn increment(&self, place: usize, crowd: &mut Crowd<'_>) {
        crowd.command(place, &format!("{}/increment", self.path), "{}");
    }
}

impl Recipe for Counter {
    const NAME: &'static str = "increment";

    fn begin(&mut self, crowd: &mut Crowd<'_>) -> io::Result<()> {
        self.latest = vec![0; crowd.len()];
        (0..crowd.len()).for_each(|place| self.increment(place, crowd));
        Ok(())
    }

    fn heard(&mut self, heard: &Heard, crowd: &mut Crowd<'_>, tally: &mut Tally) -> io::Result<()> {
        tally.record(heard.asked.elapsed());
        let value = result(heard, "increment")?.number("value").unwrap_or_default();
        let before = std::mem::replace(&mut self.latest[heard.place], value);
        if value <= before {
            tally.outcome.tell(|| format!("a client's increment gave {value} behind {before}"));
        }
        self.sum.add(value);
        if !tally.is_ending {
            self.increment(heard.place, crowd);
        }
        Ok(())
    }

    fn end(&mut self, asker: &mut Asker<'_>, tally: &mut Tally) -> io::Result<()> {
        let path = format!("{}/get", self.path);
        let found = asker.must(|wire| wire.get(&path))?.number("value");
        tally.outcome.checked.reads += 1;
        tally.outcome.checked.writes += self.sum.answers;
        tally.hold(self.sum.judge(found));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increment_that_is_lost_or_counted_twice_is_found_out() {
        let of = |values: &[u64]| {
            let mut sum = Sum::default();
            values.iter().for_each(|value| sum.add(*value));
            sum
        };
        of(&[2, 1, 3]).judge(Some(3)).expect("each once");
        assert!(of(&[1, 2, 3]).judge(Some(2)).is_err());
        assert!(of(&[1, 2, 2]).judge(Some(3)).is_err());
        assert!(of(&[1, 2]).judge(None).is_err());
    }
}
