//! Plays many seeds, one behind the other or on several threads, and adds up what they reached. Whatever it plays on, what it
//! tells is the same and in the order of the seeds: a run depends on nothing outside it. This is a driver: it reads the real
//! clock to know when to begin no more, and no world ever sees that.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a driver's clock and threads")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::faults::Without;
use crate::judged::Judged;
use crate::world::{Plan, Report, World, play};

/// Reports of a thread that wait to be told; then it waits as well.
const WAITING_MAX: usize = 64;

/// Which seeds are played, and how.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// Simulated seconds under faults, in each.
    pub seconds: u64,
    /// Faults that are left out.
    pub without: Without,
    /// Nothing goes wrong, and little is asked for.
    pub light: bool,
    /// No seed is begun after one that failed.
    pub stop: bool,
    /// No seed is begun after so long.
    pub limit: Option<Duration>,
    /// How many are played at a time.
    pub threads: usize,
    /// Told the hash of everything so far once a simulated second. Then one seed is played at a time.
    pub hashes: Option<fn(u64, u64)>,
}

impl Seeds {
    /// The plan of one of them.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        let faulty_ms = self.seconds * 1000;
        Plan { seed, faulty_ms, without: self.without.clone(), light: self.light }
    }

    const fn end(&self) -> u64 {
        self.from + self.count
    }
}

/// What several runs reached.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many runs.
    pub seeds: u64,
    /// Simulated milliseconds of all.
    pub simulated_ms: u64,
    /// Which failed.
    pub failed: BTreeSet<u64>,
    /// How often each thing happened.
    pub happened: BTreeMap<&'static str, u64>,
    /// How much each rule judged.
    pub judged: BTreeMap<u32, Judged>,
}

impl Tally {
    /// Adds a run.
    pub fn add(&mut self, seed: u64, report: &Report) {
        self.seeds += 1;
        self.simulated_ms += report.simulated_ms;
        for (what, count) in &report.happened {
            *self.happened.entry(what).or_default() += count;
        }
        for (rule, all) in &report.judged {
            for (what, count) in all {
                *self.judged.entry(*rule).or_default().entry(what).or_default() += count;
            }
        }
        if !report.wrongs.is_empty() {
            self.failed.insert(seed);
        }
    }

    /// What these runs of a world should have reached and have not.
    #[must_use]
    pub fn not_reached<W: World>(&self) -> Vec<&'static str> {
        W::REACHED.iter().copied().filter(|what| !self.happened.contains_key(what)).collect()
    }
}

/// Plays seeds. `each` is told of every run, in the order of the seeds, and of all that were until then, itself among them.
pub fn run<W: World>(seeds: &Seeds, mut each: impl FnMut(&Plan, &Report, &Tally)) -> Tally {
    let mut tally = Tally::default();
    let mut told = |plan: &Plan, report: &Report| {
        tally.add(plan.seed, report);
        each(plan, report, &tally);
        !seeds.stop || tally.failed.is_empty()
    };
    if seeds.threads > 1 && seeds.hashes.is_none() {
        play_on_threads::<W>(seeds, told);
    } else {
        let began = Instant::now();
        for seed in seeds.from..seeds.end() {
            if seeds.limit.is_some_and(|limit| began.elapsed() > limit) {
                break;
            }
            let plan = seeds.plan(seed);
            if !told(&plan, &play::<W>(&plan, seeds.hashes)) {
                break;
            }
        }
    }
    tally
}

/// With n threads, each plays every nth seed, so asking one thread after the other tells them in order. `told` says
/// whether to go on.
fn play_on_threads<W: World>(seeds: &Seeds, mut told: impl FnMut(&Plan, &Report) -> bool) {
    let (began, over) = (Instant::now(), AtomicBool::new(false));
    let play_some = |nth: usize, sender: &SyncSender<(Plan, Report)>| {
        for seed in (seeds.from..seeds.end()).skip(nth).step_by(seeds.threads) {
            let is_late = seeds.limit.is_some_and(|limit| began.elapsed() > limit);
            if is_late || over.load(Ordering::Relaxed) {
                return;
            }
            let plan = seeds.plan(seed);
            let report = play::<W>(&plan, None);
            if sender.send((plan, report)).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let begin = |nth| {
            let ((sender, receiver), play_some) = (sync_channel(WAITING_MAX), &play_some);
            scope.spawn(move || play_some(nth, &sender));
            receiver
        };
        let threads: Vec<_> = (0..seeds.threads).map(begin).collect();
        // The first that has no more is the one whose turn comes behind the last seed.
        for thread in threads.iter().cycle() {
            if !thread.recv().is_ok_and(|(plan, report)| told(&plan, &report)) {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}
