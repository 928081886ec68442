//! Feeds a target until time or inputs run out, or until it is found to panic, to hang or to take too much memory.
//!
//! The target runs in a thread of its own, so that one which never comes back is noticed and its input told.

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sim_council::random::Random;

use crate::{Target, heap, mutate};

/// How often the one who waits looks whether the input under way takes too long.
const LOOK: Duration = Duration::from_millis(200);
/// How much is tried to make a finding smaller.
const SHRINK_TRIES: usize = 3_000;
const SHRINK_TIME: Duration = Duration::from_secs(5);

/// How long, from which seed, and what an input may take.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides every input.
    pub seed: u64,
    /// Inputs at the most; the seeds' own come on top.
    pub inputs: u64,
    /// Time at the most.
    pub time: Duration,
    /// What one input may take before it counts as never ending: far more than any takes on a loaded machine.
    pub hang: Duration,
    /// Memory that one input may take, bytes. Noticed only in programs that count (see [`heap`]).
    pub memory_bytes: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            inputs: u64::MAX,
            time: Duration::MAX,
            hang: Duration::from_secs(60),
            memory_bytes: 256 << 20,
        }
    }
}

/// What a run did.
#[derive(Debug)]
pub struct Report {
    /// Inputs that were run.
    pub inputs: u64,
    /// The first one that showed something.
    pub finding: Option<Finding>,
}

/// An input that shows something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The input, made as small as could be.
    pub input: Vec<u8>,
    /// What it did: a panic's message and place, and the like.
    pub what: String,
}

/// Runs the seeds as they are, then inputs made of them.
#[must_use]
pub fn run(target: &Target, plan: &Plan) -> Report {
    let seeds = (target.seeds)();
    watched(target.run, plan, move |worker| worker.work(&seeds))
}

/// Runs this one input.
#[must_use]
pub fn replay(target: &Target, input: Vec<u8>) -> Report {
    watched(target.run, &Plan::default(), move |worker| {
        let what = worker.try_input(&input);
        Report { inputs: 1, finding: what.map(|what| Finding { input, what }) }
    })
}

/// A seed that nobody has chosen.
#[must_use]
pub fn fresh_seed() -> u64 {
    // Each of these has keys of its own, drawn by the system.
    RandomState::new().hash_one(std::process::id()) >> 16
}

/// The input under way and since when.
type Current = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

struct Worker {
    run: fn(&[u8]),
    plan: Plan,
    current: Current,
    inputs: u64,
}

fn watched(run: fn(&[u8]), plan: &Plan, work: impl FnOnce(&mut Worker) -> Report + Send + 'static) -> Report {
    quieten_workers();
    let current = Current::default();
    let (sender, reports) = channel();
    let mut worker = Worker { run, plan: *plan, current: Arc::clone(&current), inputs: 0 };
    // Left alone when it hangs: nothing can end a thread but its process.
    thread::spawn(move || {
        WORKER.set(Some(String::new()));
        let report = work(&mut worker);
        // Nobody listens any more if this took too long.
        let _ = sender.send(report);
    });
    wait(&reports, &current, plan.hang)
}

fn wait(reports: &Receiver<Report>, current: &Current, hang: Duration) -> Report {
    loop {
        match reports.recv_timeout(LOOK) {
            Ok(report) => return report,
            Err(RecvTimeoutError::Disconnected) => {
                let finding = Finding { input: Vec::new(), what: "the driver itself failed".into() };
                return Report { inputs: 0, finding: Some(finding) };
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let current = current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, input)) = current.as_ref()
            && since.elapsed() > hang
        {
            let what = format!("it did not end within {} ms", hang.as_millis());
            return Report { inputs: 0, finding: Some(Finding { input: input.clone(), what }) };
        }
    }
}

impl Worker {
    fn work(&mut self, seeds: &[Vec<u8>]) -> Report {
        let started = Instant::now();
        for seed in seeds {
            if let Some(what) = self.try_input(seed) {
                return self.found(seed.clone(), what);
            }
        }
        let mut random = Random::new(self.plan.seed);
        for _ in 0..self.plan.inputs {
            if started.elapsed() >= self.plan.time {
                break;
            }
            let input = mutate::input(seeds, &mut random);
            if let Some(what) = self.try_input(&input) {
                return self.found(input, what);
            }
        }
        Report { inputs: self.inputs, finding: None }
    }

    /// Runs one input; says what it did wrong.
    fn try_input(&mut self, input: &[u8]) -> Option<String> {
        self.inputs += 1;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), input.to_vec()));
        heap::forget();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.run)(input)));
        let peak = heap::peak_bytes();
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if outcome.is_err() {
            return Some(
                WORKER.with_borrow_mut(|said| said.as_mut().map(std::mem::take)).unwrap_or_default(),
            );
        }
        (peak > self.plan.memory_bytes)
            .then(|| format!("it took {} MiB of memory for {} bytes", peak >> 20, input.len()))
    }

    fn found(&mut self, input: Vec<u8>, what: String) -> Report {
        let inputs = self.inputs;
        let (input, what) = self.shrink(input, what);
        Report { inputs, finding: Some(Finding { input, what }) }
    }

    /// Leaves pieces out as long as the same still goes wrong.
    fn shrink(&mut self, mut input: Vec<u8>, mut what: String) -> (Vec<u8>, String) {
        let (until, mut tries) = (Instant::now() + SHRINK_TIME, SHRINK_TRIES);
        let mut piece = input.len().next_power_of_two() / 2;
        while piece > 0 {
            let mut at = 0;
            while at < input.len() && tries > 0 && Instant::now() < until {
                tries -= 1;
                let mut shorter = input.clone();
                shorter.drain(at..(at + piece).min(input.len()));
                match self.try_input(&shorter) {
                    Some(again) if place(&again) == place(&what) => (input, what) = (shorter, again),
                    _ => at += piece,
                }
            }
            piece /= 2;
        }
        (input, what)
    }
}

/// Where a panic came from: its message may say other numbers for other inputs.
fn place(what: &str) -> &str {
    what.lines().next().unwrap_or_default()
}

thread_local! {
    /// What the last panic of this thread said, if it is a worker.
    static WORKER: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of workers are findings: kept, not printed.
fn quieten_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let kept =
                WORKER.with_borrow_mut(|said| said.as_mut().map(|said| *said = panic.to_string()).is_some());
            if !kept {
                usual(panic);
            }
        }));
    });
}
