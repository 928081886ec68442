//! How much is done and how long the rest takes, from what was planned and how long things took so far.

use std::time::Duration;

use crate::experiment::{Block, Experiment, Plan, Scale, Spec};

/// What happens meanwhile.
#[derive(Debug)]
pub enum News<'a> {
    /// What is being done now.
    Doing(&'a str),
    /// Which part is done, and how long the rest will take.
    Left {
        /// From 0 to 1.
        done: f64,
        /// Roughly.
        left: Duration,
    },
    /// A system takes no part in something.
    Skipped {
        /// Which experiment.
        experiment: &'a str,
        /// Which system.
        system: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A point could not be measured.
    Failed {
        /// Which experiment.
        experiment: &'a str,
        /// Which system.
        system: &'a str,
        /// Which point, in words.
        at: &'a str,
        /// What was wrong.
        reason: &'a str,
    },
}

/// The receiver of the progress.
pub type Tell<'a> = dyn FnMut(News<'_>) + 'a;

/// Starting servers and taking them away, each.
const START: Duration = Duration::from_millis(1500);

pub(super) struct Progress {
    total: Duration,
    done: Duration,
    took: Duration,
}

impl Progress {
    /// `turns` says how often all of a plan is done.
    pub(super) fn new(plans: &[(&Experiment, Plan)], scale: &Scale, turns: impl Fn(&Plan) -> usize) -> Self {
        let of = |plan: &Plan| plan.blocks.iter().map(|block| Self::of_block(block, scale)).sum::<Duration>();
        let total = plans.iter().map(|(_, plan)| of(plan) * turns(plan) as u32).sum();
        Self { total, done: Duration::ZERO, took: Duration::ZERO }
    }

    /// With so much more to do.
    pub(super) fn and(mut self, more: Duration) -> Self {
        self.total += more;
        self
    }

    /// How long a block takes, roughly.
    pub(super) fn of_block(block: &Block, scale: &Scale) -> Duration {
        let servers = (block.setting.servers + block.setting.observers) as u32;
        let specs = block.specs.iter().map(Spec::estimate).sum::<Duration>();
        START + START / 3 * servers + Duration::from_millis(4 * scale.warm_up_ms()) + specs
    }

    pub(super) fn done(&mut self, planned: Duration, took: Duration) {
        self.done += planned;
        self.took += took;
    }

    pub(super) fn part(&self) -> f64 {
        self.done.as_secs_f64() / self.total.as_secs_f64().max(1e-9)
    }

    pub(super) fn left(&self) -> Duration {
        let left = self.total.saturating_sub(self.done);
        match self.done.is_zero() {
            true => left,
            false => left.mul_f64(self.took.as_secs_f64() / self.done.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::by_default;
    use crate::log::Contestant;

    #[test]
    fn the_default_run_is_planned_to_take_less_than_an_hour() {
        let scale = Scale::small();
        let plans: Vec<_> = by_default().map(|experiment| (experiment, experiment.plan(&scale))).collect();
        let progress = Progress::new(&plans, &scale, |_| 3 * Scale::REPETITIONS as usize);
        assert!(progress.total < Duration::from_secs(3000), "{:?}", progress.total);
        // That of the log, with Diwan's twice, for a broker that is no slower than its peer.
        let diwan = Contestant::Diwan { name: String::from("diwan"), program: "diwan".into() };
        let blocks = plans.iter().flat_map(|(_, plan)| &plan.brokers);
        let of_log: Duration = blocks.map(|block| block.estimate(&diwan, &scale)).sum();
        assert!(of_log * 2 * Scale::REPETITIONS < Duration::from_secs(1500), "{of_log:?}");
    }

    #[test]
    fn what_is_left_is_judged_by_how_long_things_took() {
        let [second, four] = [1, 4].map(Duration::from_secs);
        let mut progress = Progress { total: four, done: Duration::ZERO, took: Duration::ZERO };
        assert_eq!(progress.left(), four);
        progress.done(second, second * 2);
        assert_eq!((progress.left(), progress.part()), (second * 6, 0.25));
    }
}
