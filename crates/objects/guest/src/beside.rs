//! Runs that take long, in threads of their own, each on the copy of its object alone. Where commands are applied one is begun,
//! and later its end is taken; nothing is waited for in between.
//!
//! Threads have less of the processor than all else of the member, if it is scarce: what takes long holds nobody up. They take
//! the runs in the order in which these were begun. An object has one at the most, so none has more turns than others.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use objects_state::guest::{Progress, Run, RunId};
use parking_lot::{Condvar, Mutex};

use crate::marks::{Mark, Marks};
use crate::owned::{OwnedRun, Waiting};
use crate::priority;
use crate::resident::{Entered, Resident};

/// Bytes of a thread's stack: see `code.rs`.
pub(crate) const STACK_BYTES: usize = 4 << 20;
/// Threads at the most.
const THREADS_MAX: usize = 4;

/// What became of a run that was begun.
pub(crate) enum End {
    /// It has ended.
    Ended(Box<(Box<Resident>, Entered)>),
    /// It is not begun, for the process died in it as often as it may. The copy is as it was.
    Deadly(Box<Resident>, String),
    /// The host failed in it.
    Panicked,
}

enum State {
    Waits(Box<(Box<Resident>, OwnedRun, Waiting)>),
    UnderWay,
    Ended(End),
    /// Nobody takes its end.
    Abandoned,
}

struct Job {
    run: RunId,
    state: Mutex<State>,
    changed: Condvar,
}

/// See the module.
pub(crate) struct Beside {
    /// By object.
    jobs: Mutex<BTreeMap<u64, Arc<Job>>>,
    todo: Option<Sender<Arc<Job>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Beside {
    pub(crate) fn new(marks: &Arc<Marks>) -> Self {
        let (todo, jobs) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let begin = |number| {
            let (jobs, marks) = (Arc::clone(&jobs), Arc::clone(marks));
            let builder = std::thread::Builder::new().name(format!("guest-long-{number}"));
            let thread = builder.stack_size(STACK_BYTES).spawn(move || work(&jobs, &marks));
            thread.unwrap_or_else(|error| panic!("cannot start a thread: {error}"))
        };
        Self { jobs: Mutex::default(), todo: Some(todo), threads: (0..count).map(begin).collect() }
    }

    /// Whether that run was begun.
    pub(crate) fn has(&self, run: &Run<'_>) -> bool {
        self.find(run.space, run.id()).is_some()
    }

    fn find(&self, space: u64, run: RunId) -> Option<Arc<Job>> {
        self.jobs.lock().get(&space).filter(|job| job.run == run).cloned()
    }

    /// Begins a run on a copy of its object.
    pub(crate) fn begin(&self, run: &Run<'_>, resident: Box<Resident>, waiting: Waiting) {
        let state = State::Waits(Box::new((resident, OwnedRun::of(run), waiting)));
        let job = Arc::new(Job { run: run.id(), state: Mutex::new(state), changed: Condvar::new() });
        if let Some(before) = self.jobs.lock().insert(run.space, Arc::clone(&job)) {
            abandon(&before);
        }
        let todo = self.todo.as_ref().expect("there until it is dropped");
        todo.send(job).unwrap_or_else(|_| panic!("the threads for long runs are gone"));
    }

    pub(crate) fn progress(&self, space: u64, run: RunId) -> Progress {
        match self.find(space, run) {
            None => Progress::Unknown,
            Some(job) if matches!(*job.state.lock(), State::Ended(_)) => Progress::Ended,
            Some(_) => Progress::UnderWay,
        }
    }

    /// Takes the end of a run, if it was begun; waits for it if it is under way.
    pub(crate) fn take(&self, run: &Run<'_>) -> Option<End> {
        let job = self.find(run.space, run.id())?;
        let mut state = job.state.lock();
        while matches!(*state, State::Waits(_) | State::UnderWay) {
            job.changed.wait(&mut state);
        }
        let taken = std::mem::replace(&mut *state, State::Abandoned);
        drop(state);
        self.jobs.lock().remove(&run.space);
        match taken {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Nobody takes the end of what was begun for that object.
    pub(crate) fn forget(&self, space: u64) {
        let job = self.jobs.lock().remove(&space);
        job.iter().for_each(|job| abandon(job));
    }

    pub(crate) fn forget_all(&self) {
        let jobs = std::mem::take(&mut *self.jobs.lock());
        jobs.values().for_each(|job| abandon(job));
    }
}

fn abandon(job: &Job) {
    let before = std::mem::replace(&mut *job.state.lock(), State::Abandoned);
    job.changed.notify_all();
    drop(before);
}

impl Drop for Beside {
    /// A process that stops waits for what is under way: what it leaves behind is held to be a death.
    fn drop(&mut self) {
        self.forget_all();
        self.todo = None;
        for thread in self.threads.drain(..) {
            // Whatever it panicked over was told to who waited for it.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Mutex<Receiver<Arc<Job>>>, marks: &Marks) {
    priority::stand_back();
    loop {
        let next = jobs.lock().recv();
        let Ok(job) = next else { return };
        carry_out(&job, marks);
    }
}

fn carry_out(job: &Job, marks: &Marks) {
    let mut state = job.state.lock();
    if !matches!(*state, State::Waits(_)) {
        return;
    }
    let State::Waits(begun) = std::mem::replace(&mut *state, State::UnderWay) else { return };
    drop(state);
    let end = catch_unwind(AssertUnwindSafe(|| {
        let (mut resident, run, waiting) = *begun;
        let run = run.run();
        let mark = Mark::of_long_run(&run);
        if let Some(detail) = marks.deadly(&mark) {
            return End::Deadly(resident, detail);
        }
        let _under_way = marks.begin(mark, run.position);
        let entered = resident.enter(&run, &waiting);
        End::Ended(Box::new((resident, entered)))
    }));
    let end = end.unwrap_or(End::Panicked);
    let mut state = job.state.lock();
    if matches!(*state, State::UnderWay) {
        *state = State::Ended(end);
        job.changed.notify_all();
    }
}
