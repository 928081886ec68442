//! Versions: made ready in a thread of their own, one after the other, while calls go on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use objects_state::guest::{Rejected, Version, VersionHash};
use parking_lot::{Condvar, Mutex};

use crate::code::Codes;
use crate::log::Log;
use crate::marks::{Mark, Marks};
use crate::memory::Tracking;
use crate::prepared::Prepared;
use crate::rejected::rejected;

/// Bytes of the thread's stack: a compiler and an image's code run on it.
const STACK_BYTES: usize = 16 << 20;

struct Job {
    hash: VersionHash,
    module: Arc<Vec<u8>>,
    source: Option<Vec<u8>>,
}

#[derive(Clone)]
enum State {
    Waiting,
    Ready(Arc<Prepared>),
    Rejected(Rejected),
}

#[derive(Default)]
struct Shared {
    states: Mutex<BTreeMap<VersionHash, State>>,
    changed: Condvar,
    /// How many wait. Changed under the lock.
    unfinished: AtomicUsize,
    /// How many modules were compiled.
    compiled: AtomicU64,
}

impl Shared {
    fn count(&self, states: &BTreeMap<VersionHash, State>) {
        let waiting = states.values().filter(|state| matches!(state, State::Waiting)).count();
        self.unfinished.store(waiting, Ordering::Release);
    }
}

pub(crate) struct Versions {
    shared: Arc<Shared>,
    /// Whoever asks does not wait. What waits is bounded by the modules of a group, each of which is kept once.
    jobs: Option<Sender<Job>>,
    modules: Mutex<Vec<Weak<Vec<u8>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Versions {
    pub(crate) fn new(codes: Codes, marks: Arc<Marks>, tracking: Tracking, log: Arc<Log>) -> Self {
        let shared = Arc::<Shared>::default();
        let (jobs, todo) = channel();
        let builder = std::thread::Builder::new().name("guest-compile".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn({
            let shared = shared.clone();
            move || Workshop { shared, codes, marks, tracking, log }.work(&todo)
        });
        let thread = thread.unwrap_or_else(|error| panic!("cannot start a thread: {error}"));
        Self { shared, jobs: Some(jobs), modules: Mutex::default(), thread: Some(thread) }
    }

    pub(crate) fn prepare(&self, version: &Version<'_>) {
        let mut states = self.shared.states.lock();
        if states.contains_key(&version.hash) {
            return;
        }
        states.insert(version.hash, State::Waiting);
        self.shared.count(&states);
        drop(states);
        let source = version.source.map(<[u8]>::to_vec);
        let job = Job { hash: version.hash, module: self.kept_once(version.module), source };
        let jobs = self.jobs.as_ref().expect("there until it is dropped");
        jobs.send(job).unwrap_or_else(|_| panic!("the thread that compiles is gone"));
    }

    /// A module's bytes: sources of one runner share them while they wait.
    fn kept_once(&self, module: &[u8]) -> Arc<Vec<u8>> {
        let mut modules = self.modules.lock();
        modules.retain(|known| known.strong_count() > 0);
        if let Some(known) = modules.iter().filter_map(Weak::upgrade).find(|known| known[..] == *module) {
            return known;
        }
        let module = Arc::new(module.to_vec());
        modules.push(Arc::downgrade(&module));
        module
    }

    /// Waits until it is ready.
    pub(crate) fn ready(&self, version: VersionHash) -> Result<Arc<Prepared>, Rejected> {
        let mut states = self.shared.states.lock();
        loop {
            match states.get(&version) {
                Some(State::Waiting) => self.shared.changed.wait(&mut states),
                Some(State::Ready(prepared)) => return Ok(prepared.clone()),
                Some(State::Rejected(rejected)) => return Err(rejected.clone()),
                None => panic!("nobody asked for this version to be prepared"),
            }
        }
    }

    pub(crate) fn is_done(&self, version: VersionHash) -> bool {
        let states = self.shared.states.lock();
        states.get(&version).is_some_and(|state| !matches!(state, State::Waiting))
    }

    /// How many are not done.
    pub(crate) fn unfinished(&self) -> usize {
        self.shared.unfinished.load(Ordering::Acquire)
    }

    pub(crate) fn compiled_count(&self) -> u64 {
        self.shared.compiled.load(Ordering::Acquire)
    }

    pub(crate) fn forget(&self, version: VersionHash) {
        let mut states = self.shared.states.lock();
        let state = states.remove(&version);
        self.shared.count(&states);
        drop(states);
        self.shared.changed.notify_all();
        drop(state);
    }
}

impl Drop for Versions {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Whatever it panicked over was told to who waited for it.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Workshop {
    shared: Arc<Shared>,
    codes: Codes,
    marks: Arc<Marks>,
    tracking: Tracking,
    log: Arc<Log>,
}

impl Workshop {
    fn work(mut self, todo: &Receiver<Job>) {
        for job in todo {
            // Forgotten before its turn.
            if !self.shared.states.lock().contains_key(&job.hash) {
                continue;
            }
            let state = self.make(&job);
            let mut states = self.shared.states.lock();
            if let Some(place) = states.get_mut(&job.hash) {
                *place = state;
            }
            self.shared.count(&states);
            self.shared.compiled.store(self.codes.compiled(), Ordering::Release);
            drop(states);
            self.shared.changed.notify_all();
        }
    }

    fn make(&mut self, job: &Job) -> State {
        let mark = Mark::of_version(job.hash);
        if let Some(detail) = self.marks.deadly(&mark) {
            return State::Rejected(rejected(detail));
        }
        let (codes, tracking, log) = (&mut self.codes, self.tracking, &self.log);
        let under_way = self.marks.begin(mark, 0);
        let prepare = || Prepared::new(&job.module, job.source.as_deref(), codes, tracking, log);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(prepare));
        drop(under_way);
        match made {
            Ok(Ok(prepared)) => State::Ready(Arc::new(prepared)),
            Ok(Err(rejected)) => State::Rejected(rejected),
            Err(_) => State::Rejected(rejected("the compiler panics over it")),
        }
    }
}
