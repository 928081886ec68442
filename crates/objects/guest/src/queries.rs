//! Queries that take long, in threads of their own, each on a copy of its object that is made for it and thrown away. There are few
//! at a time: each copy takes memory, and is made where commands are applied.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use objects_state::guest::{Ended, Run};
use parking_lot::Mutex;

use crate::beside::STACK_BYTES;
use crate::marks::{Mark, Marks};
use crate::owned::{OwnedRun, Waiting};
use crate::priority;
use crate::resident::Resident;

/// Threads.
const THREADS: usize = 2;
/// Queries that are under way at a time, or whose ends nobody has taken yet.
const QUERIES_MAX: usize = 16;

struct Job {
    number: u64,
    resident: Box<Resident>,
    run: OwnedRun,
    waiting: Waiting,
}

/// How a query ended; nothing if the host failed in it.
type End = Option<Ended>;

#[derive(Default)]
struct Shared {
    last: u64,
    /// By number; nothing while it is under way.
    ends: BTreeMap<u64, Option<End>>,
}

/// See the module.
pub(crate) struct Queries {
    shared: Arc<Mutex<Shared>>,
    todo: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Queries {
    pub(crate) fn new(marks: &Arc<Marks>) -> Self {
        let (todo, jobs) = channel();
        let (jobs, shared) = (Arc::new(Mutex::new(jobs)), Arc::<Mutex<Shared>>::default());
        let begin = |number| {
            let (jobs, shared, marks) = (Arc::clone(&jobs), Arc::clone(&shared), Arc::clone(marks));
            let builder = std::thread::Builder::new().name(format!("guest-query-{number}"));
            let thread = builder.stack_size(STACK_BYTES).spawn(move || work(&jobs, &shared, &marks));
            thread.unwrap_or_else(|error| panic!("cannot start a thread: {error}"))
        };
        let threads = (0..THREADS).map(begin).collect();
        Self { shared, todo: Some(todo), threads }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.shared.lock().ends.len() < QUERIES_MAX
    }

    /// Begins a query on a copy of its object.
    pub(crate) fn begin(&self, run: &Run<'_>, resident: Box<Resident>, waiting: Waiting) -> u64 {
        let mut shared = self.shared.lock();
        shared.last += 1;
        let number = shared.last;
        shared.ends.insert(number, None);
        drop(shared);
        let job = Job { number, resident, run: OwnedRun::of(run), waiting };
        let todo = self.todo.as_ref().expect("there until it is dropped");
        todo.send(job).unwrap_or_else(|_| panic!("the threads for queries are gone"));
        number
    }

    /// Takes how a query has ended, once it has.
    pub(crate) fn take(&self, number: u64) -> Option<Ended> {
        let mut shared = self.shared.lock();
        let has_ended = shared.ends.get(&number).is_some_and(Option::is_some);
        let end = has_ended.then(|| shared.ends.remove(&number)).flatten().flatten();
        drop(shared);
        end.map(|end| end.unwrap_or_else(|| panic!("a query has failed in the background")))
    }
}

impl Queries {
    /// Nobody takes the ends of those that were begun so far.
    pub(crate) fn forget(&self) {
        self.shared.lock().ends.clear();
    }
}

impl Drop for Queries {
    /// A process that stops waits for what is under way: what it leaves behind is held to be a death.
    fn drop(&mut self) {
        self.forget();
        self.todo = None;
        for thread in self.threads.drain(..) {
            // Whatever it panicked over was told to who waited for it.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, shared: &Mutex<Shared>, marks: &Marks) {
    priority::stand_back();
    loop {
        let next = jobs.lock().recv();
        let Ok(Job { number, mut resident, run, waiting }) = next else { return };
        // Nobody takes its end any more.
        if !shared.lock().ends.contains_key(&number) {
            continue;
        }
        let end = catch_unwind(AssertUnwindSafe(|| {
            let run = run.run();
            let _under_way = marks.begin(Mark::of_query(&run), run.position);
            resident.ask(&run, &waiting)
        }));
        if let Some(place) = shared.lock().ends.get_mut(&number) {
            *place = Some(end.ok());
        }
    }
}
