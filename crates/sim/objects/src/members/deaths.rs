//! Processes that die in a run of a module, as `kill -9` ends them: what was under way at that moment is not undone, no client is told
//! anything more, and the machine goes on. The file in which the engine marks what is under way stays with the machine; when
//! its power fails that file may be lost.
//!
//! O23 is counted here: no process is killed a third time by the same run, or by queries of the same object, as long as the
//! machine has its file.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use objects_state::guest::{Host, Run, RunId, VersionHash};
use tempfile::TempDir;

use super::Members;
use super::machine::Stage;
use super::node::Node;
use super::record::Death;
use crate::guests::deadly::{self, Kills};
use crate::rules;

/// How often a process may die of the same thing.
const DEATHS_MAX: u64 = 2;
/// How often, of a hundred moments, a process that has died is started again.
const RESTARTS: u64 = 5;

/// Bytes of a mark in the engine's file, and how many marks there are of what is under way.
const MARK_BYTES: usize = 64;
const MARKS_MAX: usize = 16;
/// How often a run is begun at the most until its mark is seen.
const MARK_TRIES_MAX: u32 = 10_000;

/// What a thread unwinds with when its process is killed.
#[derive(Debug)]
struct Killed;

/// What a process dies of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Run {
        space: u64,
        run: RunId,
    },
    /// Another version is another module.
    Queries {
        space: u64,
        version: VersionHash,
    },
}

/// The deaths at one machine, and the folder of its engine.
pub(super) struct Deaths {
    member: u64,
    folder: TempDir,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// How often the process has died of what, as far as the machine's file can know.
    counted: BTreeMap<Cause, u64>,
    /// What has ever killed it.
    known: BTreeSet<Cause>,
    /// Deaths since the last look, and what is wrong with them.
    news: Vec<Cause>,
    /// The engine's file at the death in a run in a thread of its own, which has gone on.
    left: Option<Vec<u8>>,
    wrongs: Vec<String>,
}

impl Deaths {
    pub(super) fn new(member: u64) -> Self {
        let folder = tempfile::Builder::new().prefix("diwan-sim-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no folder for an engine: {error}"));
        Self { member, folder, inner: Mutex::default() }
    }

    /// The engine's folder.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|_| panic!("a thread has failed while it counted deaths"))
    }

    fn strikes(&self, kills: Kills, cause: Cause) -> bool {
        let is_first = !self.inner().known.contains(&cause);
        match kills {
            Kills::Nobody => false,
            Kills::Always => true,
            Kills::EachOnce => is_first,
            Kills::OneOnce(member) => member == self.member && is_first,
        }
    }

    /// What a run of the log dies of here, if it kills.
    pub(super) fn of_run<'a>(&'a self, run: &Run<'_>) -> Option<Killer<'a>> {
        let cause = Cause::Run { space: run.space, run: run.id() };
        let kills = deadly::of_run(run.entry);
        self.strikes(kills, cause).then_some(Killer { deaths: self, cause })
    }

    /// The same of a query.
    pub(super) fn of_query<'a>(&'a self, run: &Run<'_>) -> Option<Killer<'a>> {
        let cause = Cause::Queries { space: run.space, version: run.version };
        self.strikes(deadly::of_query(run.entry), cause).then_some(Killer { deaths: self, cause })
    }

    /// A run is begun by `begin` in a thread of its own, which then tells whether it is still under way. If the process dies of it,
    /// its mark is what the thread has set, as it was while it ran.
    pub(super) fn in_long_run<U: Fn() -> bool>(&self, run: &Run<'_>, begin: impl Fn(bool) -> U) {
        // A run that ends is forgotten: what is remembered is that of before.
        let before = self.marks();
        let is_under_way = begin(false);
        let cause = Cause::Run { space: run.space, run: run.id() };
        if !self.strikes(deadly::of_long_run(run.entry), cause) {
            return;
        }
        if self.inner().counted.get(&cause).copied().unwrap_or(0) >= DEATHS_MAX {
            // What the engine does not begin must come to what the models say.
            return;
        }
        let mut is_under_way = Some(is_under_way);
        let found = (0..MARK_TRIES_MAX).find_map(|_| {
            let is_under_way = is_under_way.take().unwrap_or_else(|| begin(true));
            loop {
                let goes_on = is_under_way();
                if let Some(mark) = self.with_mark_of(run.id(), &before) {
                    return Some(mark);
                }
                if !goes_on {
                    // It was too fast for whoever looks: once more.
                    return None;
                }
                std::thread::yield_now();
            }
        });
        let found = found.unwrap_or_else(|| panic!("the engine marks no run that takes long: {run:?}"));
        self.inner().left = Some(found);
        Killer { deaths: self, cause }.strike()
    }

    /// The engine's file.
    fn marks(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("marks")).unwrap_or_default()
    }

    /// Puts the mark of a run that is under way into that copy of the engine's file, as if nothing else were. Nothing if it is not
    /// there. A mark has the run's position and seed in its third and fourth number.
    fn with_mark_of(&self, run: RunId, copy: &[u8]) -> Option<Vec<u8>> {
        let is_its = |mark: &[u8]| {
            let mut numbers =
                mark.chunks_exact(8).map(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
            let mut number = |at| numbers.nth(at).unwrap_or(0);
            number(0) != 0 && number(1) == run.position && number(0) == run.seed
        };
        let now = self.marks();
        // Those of deaths come behind.
        let mut marks = now.chunks_exact(MARK_BYTES).take(MARKS_MAX).enumerate();
        let (place, mark) = marks.find(|(_, mark)| is_its(mark))?;
        let mut file = copy.to_vec();
        file.iter_mut().take(MARKS_MAX * MARK_BYTES).for_each(|byte| *byte = 0);
        file.get_mut(place * MARK_BYTES..(place + 1) * MARK_BYTES)?.copy_from_slice(mark);
        Some(file)
    }

    /// The process is over: the file is as it was at its death, whatever its threads have done since.
    fn leave_marks(&self) {
        let Some(marks) = self.inner().left.take() else { return };
        let written = std::fs::write(self.folder.path().join("marks"), marks);
        written.unwrap_or_else(|error| panic!("the file of marks: {error}"));
    }

    /// An object was released: queries of it may be tried again.
    pub(super) fn forgive(&self, space: u64) {
        let is_its = |cause: &Cause| matches!(cause, Cause::Queries { space: own, .. } if *own == space);
        self.inner().counted.retain(|cause, _| !is_its(cause));
    }

    /// The machine has lost the engine's file.
    fn lose_marks(&self) {
        // Where there is none, no process has run anything yet.
        let _ = std::fs::remove_file(self.folder.path().join("marks"));
        self.inner().counted.clear();
    }
}

/// In the place of the host it kills the process when the engine, which has marked the run by then, reads the object's memory.
pub(super) struct Killer<'a> {
    deaths: &'a Deaths,
    cause: Cause,
}

impl Killer<'_> {
    fn strike(&self) -> ! {
        let mut inner = self.deaths.inner();
        inner.news.push(self.cause);
        inner.known.insert(self.cause);
        let times = inner.counted.entry(self.cause).or_default();
        *times += 1;
        if *times > DEATHS_MAX {
            let words = format!("member {} dies {times} times of {:?}", self.deaths.member, self.cause);
            inner.wrongs.push(rules::words(&(23, words)));
        }
        drop(inner);
        resume_unwind(Box::new(Killed))
    }
}

impl Host for Killer<'_> {
    fn page(&self, _: u32) -> Option<&[u8]> {
        self.strike()
    }
    fn pages(&self) -> Vec<u32> {
        self.strike()
    }
    fn registers(&self) -> Option<&[u8]> {
        self.strike()
    }
    fn caller(&self) -> String {
        self.strike()
    }
    fn is_waiting(&self, _: u64) -> bool {
        self.strike()
    }
    fn waiting(&self) -> Vec<u64> {
        self.strike()
    }
}

/// Does something in which a process may be killed; nothing if it was.
pub(super) fn alive<R>(work: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(payload) if payload.is::<Killed>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

impl Members {
    /// Whether clients ask for what kills.
    pub(super) const fn has_deadly_calls(&self) -> bool {
        self.config.modules.are_wasm() && self.healed_ms.is_none()
    }

    /// A member's core does something; nothing if its process is killed by that.
    pub(super) fn at_node<R>(&mut self, number: u64, work: impl FnOnce(&mut Node) -> R) -> Option<R> {
        let node = self.node(number)?;
        let done = alive(|| work(node));
        if done.is_none() {
            self.process_was_killed(number);
        }
        done
    }

    /// A member's process was killed in a run.
    pub(super) fn process_was_killed(&mut self, number: u64) {
        let machine = self.machine(number);
        let Some(process) = machine.process.take() else { return };
        machine.was_killed = true;
        machine.host.end_process();
        machine.stalled_edges.clear();
        if let Stage::Running(mut node) = process.stage {
            self.note_death(number, &mut node);
        }
        let deaths = self.machine(number).deaths.clone();
        deaths.leave_marks();
        self.end_life(number, true);
        self.peering.end(number, true, &mut self.sim);
        self.sim.tell("killed in a run", format_args!("the process of member {number} is killed in a run"));
        let mut inner = deaths.inner();
        let at_ms = self.sim.now_ms();
        for cause in std::mem::take(&mut inner.news) {
            let (space, of_queries) = match cause {
                Cause::Run { space, .. } => (space, None),
                Cause::Queries { space, version } => (space, Some(version)),
            };
            self.record.deaths.push(Death { member: number, space, of_queries, at_ms });
        }
        self.record.deaths_wrong.append(&mut inner.wrongs);
    }

    /// Whoever looks after a machine starts its process again that was killed.
    pub(super) fn restart_the_killed(&mut self) {
        for number in self.down() {
            if self.machine(number).was_killed && self.sim.random.chance(RESTARTS) {
                self.start(number);
            }
        }
    }

    /// The power of a machine has failed, or its disk is another one: what its engine has marked may be lost.
    pub(super) fn lose_marks(&mut self, number: u64, is_certain: bool) {
        self.machine(number).deaths.leave_marks();
        if self.config.modules.are_wasm() && (is_certain || self.sim.random.chance(50)) {
            self.machine(number).deaths.lose_marks();
        }
    }
}
