//! Versions: made ready in a thread of their own, one after the other, while calls go on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use objects_state::guest::{Rejected, Version, VersionHash};
use parking_lot::{Condvar, Mutex};

use crate::code::Codes;
use crate::log::Log;
use crate::memory::Tracking;
use crate::prepared::Prepared;

/// Versions that wait to be made ready; who asks for more waits.
const QUEUE: usize = 4;
/// Bytes of the thread's stack: a compiler and an image's code run on it.
const STACK_BYTES: usize = 16 << 20;

struct Job {
    hash: VersionHash,
    module: Vec<u8>,
    source: Option<Vec<u8>>,
}

#[derive(Clone)]
enum State {
    Waiting,
    Ready(Arc<Prepared>),
    Rejected(Rejected),
    /// The thread panicked over it.
    Lost,
}

#[derive(Default)]
struct Shared {
    states: Mutex<BTreeMap<VersionHash, State>>,
    changed: Condvar,
}

pub(crate) struct Versions {
    shared: Arc<Shared>,
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Versions {
    pub(crate) fn new(tracking: Tracking, log: Arc<Log>) -> Self {
        let shared = Arc::<Shared>::default();
        let (jobs, todo) = sync_channel(QUEUE);
        let builder = std::thread::Builder::new().name("guest-compile".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn({
            let shared = shared.clone();
            move || work(&todo, &shared, tracking, &log)
        });
        let thread = thread.unwrap_or_else(|error| panic!("cannot start a thread: {error}"));
        Self { shared, jobs: Some(jobs), thread: Some(thread) }
    }

    pub(crate) fn prepare(&self, version: &Version<'_>) {
        let mut states = self.shared.states.lock();
        if states.contains_key(&version.hash) {
            return;
        }
        states.insert(version.hash, State::Waiting);
        drop(states);
        let source = version.source.map(<[u8]>::to_vec);
        let job = Job { hash: version.hash, module: version.module.to_vec(), source };
        let jobs = self.jobs.as_ref().expect("there until it is dropped");
        jobs.send(job).unwrap_or_else(|_| panic!("the thread that compiles is gone"));
    }

    /// Waits until it is ready.
    pub(crate) fn ready(&self, version: VersionHash) -> Result<Arc<Prepared>, Rejected> {
        let mut states = self.shared.states.lock();
        loop {
            match states.get(&version) {
                Some(State::Waiting) => self.shared.changed.wait(&mut states),
                Some(State::Ready(prepared)) => return Ok(prepared.clone()),
                Some(State::Rejected(rejected)) => return Err(rejected.clone()),
                Some(State::Lost) => panic!("a module could not be compiled: the compiler panicked"),
                None => panic!("nobody asked for this version to be prepared"),
            }
        }
    }

    pub(crate) fn is_done(&self, version: VersionHash) -> bool {
        let states = self.shared.states.lock();
        states.get(&version).is_some_and(|state| !matches!(state, State::Waiting))
    }

    pub(crate) fn forget(&self, version: VersionHash) {
        let state = self.shared.states.lock().remove(&version);
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

fn work(todo: &Receiver<Job>, shared: &Shared, tracking: Tracking, log: &Arc<Log>) {
    let mut codes = Codes::default();
    for job in todo {
        // Forgotten before its turn.
        if !shared.states.lock().contains_key(&job.hash) {
            continue;
        }
        let prepare = || Prepared::new(&job.module, job.source.as_deref(), &mut codes, tracking, log);
        let state = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(prepare)) {
            Ok(Ok(prepared)) => State::Ready(Arc::new(prepared)),
            Ok(Err(rejected)) => State::Rejected(rejected),
            Err(_) => State::Lost,
        };
        if let Some(place) = shared.states.lock().get_mut(&job.hash) {
            *place = state;
        }
        shared.changed.notify_all();
    }
}
