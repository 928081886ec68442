//! Jobs of a test run side by side: most of them wait more than they compute.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use crate::tally::Tally;

/// Something to be run, once.
pub(crate) struct Job<'a> {
    name: String,
    run: Box<dyn FnOnce() -> anyhow::Result<Tally> + Send + 'a>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        run: impl FnOnce() -> anyhow::Result<Tally> + Send + 'a,
    ) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// A job that cannot be run at all is one failure; the others still run.
    pub(crate) fn done(self) -> Tally {
        let started = Instant::now();
        println!("== {}", self.name);
        let tally = (self.run)().unwrap_or_else(|error| {
            let mut tally = Tally::default();
            tally.fail(format!("{}: {error:#}", self.name));
            tally
        });
        println!("== {}: {tally} in {:.0} s", self.name, started.elapsed().as_secs_f64());
        tally
    }
}

/// Runs all jobs, at most `lanes` at once; they start in the order given.
pub(crate) fn run(jobs: Vec<Job<'_>>, lanes: usize) -> Tally {
    let waiting = Mutex::new(VecDeque::from(jobs));
    let next = || waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
    let lane = || {
        let mut tally = Tally::default();
        while let Some(job) = next() {
            tally.add(job.done());
        }
        tally
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes.max(1)).map(|_| scope.spawn(lane)).collect();
        let mut tally = Tally::default();
        for lane in lanes {
            tally.add(lane.join().unwrap_or_else(|_| {
                let mut tally = Tally::default();
                tally.fail("a lane of the test run panicked: see above");
                tally
            }));
        }
        tally
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use anyhow::bail;

    use super::{Job, run};
    use crate::tally::Tally;

    fn passed(tests: u64) -> Tally {
        let mut tally = Tally::default();
        tally.passed = tests;
        tally
    }

    #[test]
    fn jobs_run_side_by_side_and_all_count() {
        let both = Barrier::new(2);
        let waits = || {
            // Returns only when the other job runs, too.
            both.wait();
            Ok(passed(1))
        };
        let tally = run(vec![Job::new("a", waits), Job::new("b", waits)], 2);
        assert_eq!(tally.to_string(), "2 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_job_that_cannot_run_is_a_failure_and_the_others_run() {
        let jobs = vec![Job::new("broken", || bail!("no such program")), Job::new("whole", || Ok(passed(3)))];
        assert_eq!(run(jobs, 1).to_string(), "3 passed, 1 failed, 0 skipped");
    }
}
