//! The engine that runs modules in members, `objects_guest`, in a simulated process: it works in threads of its own, whose pace is
//! the machine's, so what is asked of their progress is answered by the seed. A thing is not done before it was asked for a drawn
//! number of times, and then it is waited for.
//!
//! Machine code is kept in files of one folder for all simulated processes: a module is compiled once. Nothing else is shared.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use base::Random;
use objects_guest::{Guests, Settings, Tracking};
use objects_state::guest::{Ended, Engine, Host, Progress, Rejected, Run, RunId, Version, VersionHash};
use tempfile::TempDir;

use super::deaths::Deaths;

/// How often it is asked for a version before that is done, at the most: a member asks every few milliseconds.
const VERSION_ASKED_MAX: u64 = 30;
/// The same for runs and queries that take long.
const RUN_ASKED_MAX: u64 = 60;
/// Queries that are under way at a time, at the most. The engine's own bound is higher.
const QUERIES_MAX: usize = 4;

/// See the module.
pub(super) struct PacedGuests {
    guests: Guests,
    inner: Mutex<Inner>,
    /// What kills the process.
    deaths: Arc<Deaths>,
    /// The folder of machine code is there as long as it is.
    _code: Arc<TempDir>,
}

struct Inner {
    random: Random,
    /// Versions that were asked for, and how often each will be before it is done.
    versions: BTreeMap<VersionHash, u64>,
    /// Runs that were begun, by object.
    runs: BTreeMap<u64, (RunId, u64)>,
    queries: BTreeMap<u64, u64>,
}

impl PacedGuests {
    /// The engine of a process. What it decides for itself is drawn: how many copies of objects it keeps, and how it finds out
    /// what was written.
    pub(super) fn new(mut random: Random, deaths: &Arc<Deaths>) -> Self {
        let code = code(&deaths.folder().join("code"));
        let code = code.unwrap_or_else(|error| panic!("no folder for machine code: {error}"));
        let settings = Settings {
            residents_max: 1 + random.below(4) as usize,
            tracking: if random.chance(50) { Tracking::Compare } else { Tracking::DirtyBytes },
            directory: Some(deaths.folder()),
            ..Settings::default()
        };
        let (versions, runs, queries) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let inner = Mutex::new(Inner { random, versions, runs, queries });
        Self { guests: Guests::new(settings), inner, deaths: deaths.clone(), _code: code }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|_| panic!("another thread has failed with the engine"))
    }
}

thread_local! {
    /// Where all processes that a thread simulates keep machine code, until the thread ends.
    static CODE: RefCell<Option<Arc<TempDir>>> = const { RefCell::new(None) };
}

/// The folder of machine code, to which that name leads from then on.
fn code(name: &Path) -> std::io::Result<Arc<TempDir>> {
    let code = CODE.with_borrow_mut(|code| -> std::io::Result<_> {
        if code.is_none() {
            *code = Some(Arc::new(tempfile::Builder::new().prefix("diwan-sim-code-").tempdir()?));
        }
        Ok(code.clone())
    })?;
    let code = code.expect("it was just made");
    if !name.exists() {
        std::os::unix::fs::symlink(code.path(), name)?;
    }
    Ok(code)
}

/// Counts a question. Whether what it is about is done.
fn is_over(left: &mut u64) -> bool {
    let is_over = *left == 0;
    *left = left.saturating_sub(1);
    is_over
}

impl Engine for PacedGuests {
    fn prepare(&self, version: &Version<'_>) {
        let mut inner = self.inner();
        let left = inner.random.below(VERSION_ASKED_MAX);
        inner.versions.entry(version.hash).or_insert(left);
        self.guests.prepare(version);
    }

    fn ready(&self, version: VersionHash) -> Result<(), Rejected> {
        if let Some(left) = self.inner().versions.get_mut(&version) {
            *left = 0;
        }
        self.guests.ready(version)
    }

    fn is_done(&self, version: VersionHash) -> bool {
        let is_done = self.inner().versions.get_mut(&version).is_some_and(is_over);
        if is_done {
            // It is waited for here, so that whoever asks next need not.
            let _ = self.guests.ready(version);
        }
        is_done
    }

    fn unfinished(&self) -> usize {
        self.inner().versions.values().filter(|left| **left > 0).count()
    }

    fn takes_memory_over(&self, from: VersionHash, to: VersionHash, host: &dyn Host) -> Result<(), String> {
        self.guests.takes_memory_over(from, to, host)
    }

    fn forgive(&self, space: u64, position: u64) {
        self.deaths.forgive(space);
        self.guests.forgive(space, position);
    }

    fn description(&self, version: VersionHash) -> Option<Vec<u8>> {
        self.guests.description(version)
    }

    fn begin(&self, run: &Run<'_>, host: &dyn Host) {
        let mut inner = self.inner();
        let left = inner.random.below(RUN_ASKED_MAX);
        if inner.runs.get(&run.space).is_none_or(|(known, _)| *known != run.id()) {
            inner.runs.insert(run.space, (run.id(), left));
        }
        drop(inner);
        if self.guests.progress(run.space, run.id()) == Progress::Unknown {
            self.deaths.in_long_run(run, |is_again| {
                if is_again {
                    self.guests.forget(run.space);
                }
                self.guests.begin(run, host);
                || self.guests.progress(run.space, run.id()) == Progress::UnderWay
            });
        }
    }

    fn progress(&self, space: u64, run: RunId) -> Progress {
        if self.guests.progress(space, run) == Progress::Unknown {
            return Progress::Unknown;
        }
        let mut inner = self.inner();
        let known = inner.runs.get_mut(&space).filter(|(known, _)| *known == run);
        match known.is_none_or(|(_, left)| is_over(left)) {
            true => Progress::Ended,
            false => Progress::UnderWay,
        }
    }

    fn run(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        match self.deaths.of_run(run) {
            Some(killer) => {
                // Its memory is read within the run, then.
                self.guests.forget(run.space);
                self.guests.run(run, &killer)
            }
            None => self.guests.run(run, host),
        }
    }

    fn query(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        match self.deaths.of_query(run) {
            Some(killer) => {
                self.guests.forget(run.space);
                self.guests.query(run, &killer)
            }
            None => self.guests.query(run, host),
        }
    }

    fn begin_query(&self, run: &Run<'_>, host: &dyn Host) -> Option<u64> {
        let mut inner = self.inner();
        if inner.queries.len() >= QUERIES_MAX {
            return None;
        }
        let left = inner.random.below(RUN_ASKED_MAX);
        let number = self.guests.begin_query(run, host)?;
        inner.queries.insert(number, left);
        Some(number)
    }

    fn take_query(&self, number: u64) -> Option<Ended> {
        let mut inner = self.inner();
        if !is_over(inner.queries.get_mut(&number)?) {
            return None;
        }
        inner.queries.remove(&number);
        drop(inner);
        loop {
            if let Some(ended) = self.guests.take_query(number) {
                return Some(ended);
            }
            std::thread::yield_now();
        }
    }

    fn forget_queries(&self) {
        self.inner().queries.clear();
        self.guests.forget_queries();
    }

    fn forget_version(&self, version: VersionHash) {
        self.inner().versions.remove(&version);
        self.guests.forget_version(version);
    }

    fn forget(&self, space: u64) {
        self.inner().runs.remove(&space);
        self.guests.forget(space);
    }

    fn forget_all(&self) {
        self.inner().runs.clear();
        self.guests.forget_all();
    }
}
