//! Versions: made ready in a thread of their own, one after the other, while calls go on. So a member has one compiler's process at a
//! time.
//!
//! A version whose compiler's process dies is put off, behind the others, and rejected when that has happened as often as it may.
//! One that the host hinders is put off again and again, with growing pauses: that says nothing of the module, and it is not
//! compiled in this process instead, which the compiler could take with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use objects_state::guest::{Rejected, Version, VersionHash};
use parking_lot::{Condvar, Mutex};

use crate::code::{Codes, NoCode};
use crate::dirty::Tracking;
use crate::log::Log;
use crate::marks::{Mark, Marks};
use crate::prepared::Prepared;
use crate::rejected::rejected;

/// Bytes of the thread's stack: a compiler and an image's code run on it.
const STACK_BYTES: usize = 16 << 20;
/// How often a compiler's process may die over a version, one time behind the other, before the version is rejected.
const COMPILER_DEATHS_MAX: u32 = 3;
/// How long a version waits behind the first death, and behind the first time that the host hindered its compiler.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Each pause is so many times the one before it, ...
const PAUSE_GROWS: u32 = 3;
/// ... up to this one.
const PAUSE_MAX: Duration = Duration::from_secs(60);

struct Job {
    hash: VersionHash,
    module: Arc<Vec<u8>>,
    source: Option<Vec<u8>>,
    /// How often its compiler's process has died, and how often the host has hindered it.
    deaths: u32,
    hindered: u32,
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
    /// Nobody wants anything any more.
    stopping: AtomicBool,
}

impl Shared {
    fn count(&self, states: &BTreeMap<VersionHash, State>) {
        let waiting = states.values().filter(|state| matches!(state, State::Waiting)).count();
        self.unfinished.store(waiting, Ordering::Release);
    }

    /// Whether a version is still to be made ready.
    fn wants(&self, version: VersionHash) -> bool {
        let is_waited_for = || matches!(self.states.lock().get(&version), Some(State::Waiting));
        !self.stopping.load(Ordering::Acquire) && is_waited_for()
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
        let module = self.kept_once(version.module);
        let job = Job { hash: version.hash, module, source, deaths: 0, hindered: 0 };
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
    /// What is under way in this process ends first; a compiler's process is ended, and what waits is left.
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
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

/// What became of a job.
enum Made {
    State(State),
    /// It is to be tried again, after so long.
    PutOff(Duration),
    Unwanted,
}

impl Workshop {
    fn work(mut self, todo: &Receiver<Job>) {
        let mut put_off = Vec::new();
        while let Some(mut job) = self.next(todo, &mut put_off) {
            if !self.shared.wants(job.hash) {
                continue;
            }
            match self.make(&mut job) {
                Made::State(state) => self.settle(job.hash, state),
                Made::PutOff(pause) => put_off.push((Instant::now() + pause, job)),
                Made::Unwanted => {}
            }
        }
    }

    /// The next job: one that was put off and is due, otherwise one that has come. Nothing if this ends.
    fn next(&self, todo: &Receiver<Job>, put_off: &mut Vec<(Instant, Job)>) -> Option<Job> {
        while !self.shared.stopping.load(Ordering::Acquire) {
            let first = (0..put_off.len()).min_by_key(|place| put_off[*place].0);
            let Some(first) = first else { return todo.recv().ok() };
            let left = put_off[first].0.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(put_off.swap_remove(first).1);
            }
            match todo.recv_timeout(left) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    fn settle(&self, version: VersionHash, state: State) {
        let mut states = self.shared.states.lock();
        if let Some(place) = states.get_mut(&version) {
            *place = state;
        }
        self.shared.count(&states);
        self.shared.compiled.store(self.codes.compiled(), Ordering::Release);
        drop(states);
        self.shared.changed.notify_all();
    }

    fn make(&mut self, job: &mut Job) -> Made {
        let mark = Mark::of_version(job.hash);
        if let Some(detail) = self.marks.deadly(&mark) {
            return Made::State(State::Rejected(rejected(detail)));
        }
        let (codes, from) = (&mut self.codes, (self.tracking, &self.log));
        let is_wanted = || self.shared.wants(job.hash);
        let under_way = self.marks.begin(mark, 0);
        let of = (&job.module[..], job.source.as_deref());
        let prepare = || Prepared::new(of, codes, from, &under_way, &is_wanted);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(prepare));
        if matches!(made, Ok(Err(NoCode::Died(_) | NoCode::Hindered(_) | NoCode::Unwanted))) {
            under_way.put_off();
        } else {
            drop(under_way);
        }
        match made {
            Ok(Ok(prepared)) => Made::State(State::Ready(Arc::new(prepared))),
            Ok(Err(NoCode::Rejected(rejected))) => Made::State(State::Rejected(rejected)),
            Ok(Err(NoCode::Died(detail))) => job.compiler_died(&detail),
            Ok(Err(NoCode::Hindered(detail))) => job.compiler_was_hindered(&detail),
            Ok(Err(NoCode::Unwanted)) => Made::Unwanted,
            Err(_) => Made::State(State::Rejected(rejected("the compiler panics over it"))),
        }
    }
}

impl Job {
    fn compiler_died(&mut self, detail: &str) -> Made {
        self.deaths += 1;
        let (version, times) = (self.hash, self.deaths);
        tracing::warn!(
            %version, times, may_die = COMPILER_DEATHS_MAX, detail,
            "the compiler's process has failed over the module of a user; hint: after so many failures this member rejects the \
             version; `docs/objects.md` says what a compiler may take"
        );
        if times >= COMPILER_DEATHS_MAX {
            let why = format!("its compiler has failed {times} times: {detail}");
            return Made::State(State::Rejected(rejected(why)));
        }
        Made::PutOff(pause(self.deaths))
    }

    fn compiler_was_hindered(&mut self, detail: &str) -> Made {
        self.hindered = self.hindered.saturating_add(1);
        let (version, pause) = (self.hash, pause(self.hindered));
        tracing::error!(
            %version, times = self.hindered, detail, again_in_ms = pause.as_millis() as u64,
            "the compiler's process cannot work on this host, so this member does not run the version; hint: it needs `/proc`, a \
             process more, and memory; nothing is compiled in the member's own process instead"
        );
        Made::PutOff(pause)
    }
}

/// How long is waited behind the n-th failure.
fn pause(failures: u32) -> Duration {
    let grown = PAUSE_GROWS.saturating_pow(failures.saturating_sub(1).min(20));
    FIRST_PAUSE.saturating_mul(grown).min(PAUSE_MAX)
}
