//! All clients of one scenario: started together, stopped together, and what they know together.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tools_testbed::{Ensemble, Failure};

use crate::shared::{Shared, Write, lock};
use crate::witnesses::{Testimony, Witnesses};
use crate::writer::Writer;

/// How long the first acknowledged write behind a fault may take before the ensemble counts as dead.
const RECOVERY_MAX: Duration = Duration::from_secs(60);
/// The name of the file of what clients did.
pub const HISTORY: &str = "history.jsonl";
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// See the module.
pub(super) struct Crowd {
    shared: Arc<Shared>,
    /// Where the history of what they did goes.
    history: PathBuf,
    threads: Vec<JoinHandle<Writer>>,
    witnesses: Witnesses,
}

impl Crowd {
    /// Starts so many clients, each with its own order of these members, and waits until all have what they need.
    pub(super) fn start(
        ensemble: &Ensemble,
        members: &[usize],
        writers: usize,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(Shared::new(writers));
        let settled = Arc::new(Barrier::new(writers + 1));
        let worked = Arc::new(Barrier::new(writers));
        crate::judge::make_common(&ensemble.connect_string(members))?;
        let mut threads = Vec::new();
        for name in 0..writers {
            let mut order = members.to_vec();
            order.rotate_left(name % members.len());
            let servers = ensemble.connect_string(&order);
            let writer = Writer::connect(name, &servers, timeout, Arc::clone(&shared));
            let mut writer = writer.map_err(Failure::broken)?;
            let (settled, worked) = (Arc::clone(&settled), Arc::clone(&worked));
            let run = move || {
                let mut fine = writer.settle().is_ok();
                settled.wait();
                fine = fine && writer.work().is_ok();
                worked.wait();
                // Who has complained has no more to say.
                let _ = fine && writer.finish().is_ok();
                writer
            };
            let thread = std::thread::Builder::new().name(format!("writer {name}")).spawn(run);
            threads.push(thread.map_err(Failure::io("a thread"))?);
        }
        settled.wait();
        let known: Vec<_> =
            members.iter().map(|place| (ensemble.number(*place) as u64, ensemble.address(*place))).collect();
        let witnesses = Witnesses::start(&known)?;
        Ok(Self { shared, history: ensemble.folder().join(HISTORY), threads, witnesses })
    }

    /// Waits for the first write that was submitted after `since` to be acknowledged; how long after `since` that was.
    pub(super) fn next_write(&self, since: Instant) -> Result<Duration, Failure> {
        loop {
            let found = self.behind(since).map(|write| write.acknowledged).min();
            if let Some(acknowledged) = found {
                return Ok(acknowledged - since);
            }
            self.wait_on(since)?;
        }
    }

    /// Waits until every client has written something that it submitted from now on: until whatever befell it is over.
    pub(super) fn all_write(&self) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let writers: BTreeSet<_> = self.behind(since).map(|write| write.writer).collect();
            if writers.len() == self.shared.writers() {
                return Ok(());
            }
            self.wait_on(since)?;
        }
    }

    /// The writes that were submitted after `since`.
    fn behind(&self, since: Instant) -> impl Iterator<Item = Write> {
        let writes = lock(&self.shared.writes);
        let behind: Vec<_> = writes.iter().filter(|write| write.submitted >= since).copied().collect();
        behind.into_iter()
    }

    fn wait_on(&self, since: Instant) -> Result<(), Failure> {
        self.complaints()?;
        if since.elapsed() > RECOVERY_MAX {
            return Err(Failure::broken(format!("not every write was acknowledged within {RECOVERY_MAX:?}")));
        }
        std::thread::sleep(LOOK_EVERY);
        Ok(())
    }

    /// Lets the clients work for so long.
    pub(super) fn work_for(&self, time: Duration) -> Result<(), Failure> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.complaints()?;
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// What clients have complained of so far.
    pub(super) fn complaints(&self) -> Result<(), Failure> {
        let complaints = lock(&self.shared.complaints).clone();
        if complaints.is_empty() { Ok(()) } else { Err(Failure::Broken(complaints)) }
    }

    /// How many writes were acknowledged.
    pub(super) fn writes(&self) -> usize {
        lock(&self.shared.writes).len()
    }

    /// The longest that any write took.
    pub(super) fn slowest(&self) -> Duration {
        let writes = lock(&self.shared.writes);
        writes.iter().map(|write| write.acknowledged - write.submitted).max().unwrap_or_default()
    }

    /// How many writes a server refused for want of room.
    pub(super) fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::SeqCst)
    }

    /// Operations that failed and failed again when they were tried once more.
    pub(super) fn failed_twice(&self) -> usize {
        lock(&self.shared.failed_twice).len()
    }

    /// Stops all clients, and gives them back when each has seen the last of what it watches, and what the witnesses saw.
    pub(super) fn stop(self) -> Result<(Vec<Writer>, Testimony), Failure> {
        self.shared.stopping.store(true, Ordering::SeqCst);
        let mut writers = Vec::new();
        for thread in self.threads {
            writers.push(thread.join().map_err(|_| Failure::broken("a client panicked"))?);
        }
        self.shared.history.write(&self.history)?;
        let complaints = lock(&self.shared.complaints).clone();
        if !complaints.is_empty() {
            return Err(Failure::Broken(complaints));
        }
        Ok((writers, self.witnesses.stop()?))
    }
}
