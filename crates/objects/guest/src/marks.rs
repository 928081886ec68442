//! Marks of what is under way, in a file that is mapped: a process that dies leaves them behind, and the next one finds what
//! it died in. Setting one costs a few stores, and nothing is written to the disk for it.
//!
//! A run that has killed the process as often as it may is not begun again: a module that finds a hole in the compiler, or a
//! mistake of ours, would otherwise kill the member at every start, for the run's command stays in the log. One death is no
//! proof: an operator, or a host without memory, kills a process wherever it is. What has ended since is not held to be deadly.
//!
//! The marks survive the process, not the machine: what a failing machine was doing is not held against a module.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use objects_state::guest::{COPIES, Run, RunId, VersionHash};
use parking_lot::Mutex;

use crate::memory::{Record, SharedRecords};

/// What may be under way at a time.
const UNDER_WAY_MAX: usize = 16;
/// Each has a bit.
const ALL_PLACES: u32 = (1 << UNDER_WAY_MAX) - 1;
/// Deaths that are remembered; the oldest are forgotten.
const DEATHS_MAX: usize = 112;
/// How many deaths in one thing are counted.
const TIMES_MAX: u64 = 0xffff;
/// How often a process may die in a run of the log, or in queries of an object, before that is not run any more.
const RUN_DEATHS_MAX: u64 = 2;
/// How often it may die while it makes a version ready: that takes long, so it is killed for other reasons, too.
const VERSION_DEATHS_MAX: u64 = 3;

/// What stands for a run where there is none.
const NO_RUN: RunId = RunId { position: 0, seed: 0 };

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    kind: Kind,
    space: u64,
    /// Of a run of the log. Nothing for others.
    run: RunId,
    version: VersionHash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Run = 1,
    Query = 2,
    Version = 3,
    LongRun = 4,
}

impl Mark {
    /// A run of the log. One on a copy is none.
    pub(crate) const fn of_run(run: &Run<'_>) -> Self {
        if run.space == COPIES {
            return Self::of_query(run);
        }
        Self { kind: Kind::Run, space: run.space, run: run.id(), version: run.version }
    }

    /// The part of a run of the log that goes on beside the commands. Of its slice it knows nothing: that ends well at each start.
    pub(crate) const fn of_long_run(run: &Run<'_>) -> Self {
        Self { kind: Kind::LongRun, ..Self::of_run(run) }
    }

    /// A query. All queries of an object count together: a client repeats a deadly one in the form that it likes.
    pub(crate) const fn of_query(run: &Run<'_>) -> Self {
        Self { kind: Kind::Query, space: run.space, run: NO_RUN, version: run.version }
    }

    /// A version is made ready.
    pub(crate) const fn of_version(version: VersionHash) -> Self {
        Self { kind: Kind::Version, space: 0, run: NO_RUN, version }
    }

    const fn deaths_max(&self) -> u64 {
        match self.kind {
            Kind::Run | Kind::LongRun | Kind::Query => RUN_DEATHS_MAX,
            Kind::Version => VERSION_DEATHS_MAX,
        }
    }

    /// As it lies in the file, with what is known of deaths: its first number holds the kind (8 bits), how many there were (16 bits)
    /// and how late the last one was.
    fn record(&self, Death { times, order, position, .. }: Death) -> Record {
        let mut record = Record::default();
        record[0] = self.kind as u64 | times.min(TIMES_MAX) << 8 | order << 24;
        (record[1], record[2], record[3]) = (self.space, self.run.position, self.run.seed);
        for (place, bytes) in record[4..].iter_mut().zip(self.version.0.chunks_exact(8)) {
            *place = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        if self.kind == Kind::Query {
            record[2] = position;
        }
        record
    }

    /// What a record says: the mark, how many deaths, and at which position. Bytes that are none are nothing.
    fn of_record(record: &Record) -> Option<(Self, Death)> {
        let kind = match record[0] & 0xff {
            1 => Kind::Run,
            2 => Kind::Query,
            3 => Kind::Version,
            4 => Kind::LongRun,
            _ => return None,
        };
        let mut version = VersionHash([0; 32]);
        for (bytes, place) in version.0.chunks_exact_mut(8).zip(&record[4..]) {
            bytes.copy_from_slice(&place.to_le_bytes());
        }
        let is_run = matches!(kind, Kind::Run | Kind::LongRun);
        let run = if is_run { RunId { position: record[2], seed: record[3] } } else { NO_RUN };
        let (times, order) = (record[0] >> 8 & TIMES_MAX, record[0] >> 24);
        let death = Death { times, order, position: record[2], number: 0 };
        Some((Self { kind, space: record[1], run, version }, death))
    }
}

/// Deaths in one thing.
#[derive(Clone, Copy, Debug, Default)]
struct Death {
    times: u64,
    /// Of two deaths the later one has the higher number.
    order: u64,
    position: u64,
    /// Its place in the file.
    number: usize,
}

/// What is in a file. Who begins a run takes no lock: a place is its own until the run has ended, and in most processes no death is
/// remembered.
struct Kept {
    records: SharedRecords,
    /// Places of what is under way that are free, by their bits.
    free: AtomicU32,
    /// Whether deaths are remembered: none comes to them while this process lives.
    has_deaths: AtomicBool,
    deaths: Mutex<Deaths>,
}

type Deaths = BTreeMap<Mark, Death>;

/// See the module. Without a file nothing is remembered.
#[derive(Default)]
pub(crate) struct Marks(Option<Kept>);

/// A mark that is set. It goes with this value, unless the thread panics.
pub(crate) struct UnderWay<'a> {
    marks: &'a Marks,
    mark: Mark,
    place: Option<usize>,
    /// Whether it is carried out to its end.
    is_to_end: bool,
}

impl UnderWay<'_> {
    /// Does what cannot kill this process, and may take long: meanwhile the mark is not set, so that a process that is stopped is
    /// not held to have died of it. What is remembered of deaths stays.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.store(&Record::default());
        let result = work();
        self.store(&self.mark.record(Death::default()));
        result
    }

    /// It is not carried out to its end, and will be begun again: what is remembered of deaths stays.
    pub(crate) fn put_off(mut self) {
        self.is_to_end = false;
    }

    fn store(&self, record: &Record) {
        if let Some((kept, place)) = self.marks.0.as_ref().zip(self.place) {
            kept.records.store(place, record);
        }
    }
}

impl Marks {
    /// In that file. What the last process died in is counted, and said.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let bytes = (UNDER_WAY_MAX + DEATHS_MAX) * size_of::<Record>();
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let there = file.metadata()?.len();
        if there != bytes as u64 {
            file.set_len(0)?;
            // Written, not only made long: a page that the disk has no room for would kill the process.
            file.write_all(&vec![0; bytes])?;
        }
        let records = SharedRecords::of_file(file.as_fd(), UNDER_WAY_MAX + DEATHS_MAX);
        let mut deaths = read_deaths(&records);
        count_deaths(&records, &mut deaths);
        let (free, has_deaths) = (AtomicU32::new(ALL_PLACES), AtomicBool::new(!deaths.is_empty()));
        Ok(Self(Some(Kept { records, free, has_deaths, deaths: Mutex::new(deaths) })))
    }

    /// Why this is not to be begun, if the process has died in it as often as it may.
    pub(crate) fn deadly(&self, mark: &Mark) -> Option<String> {
        let kept = self.0.as_ref().filter(|kept| kept.has_deaths())?;
        let times = kept.deaths.lock().get(mark)?.times;
        if times < mark.deaths_max() {
            return None;
        }
        Some(match mark.kind {
            Kind::Run | Kind::LongRun => format!(
                "the process of a member has died {times} times in the call at position {}",
                mark.run.position
            ),
            Kind::Query => {
                format!("the process of this member has died {times} times in queries of the object")
            }
            Kind::Version => {
                format!("the process of this member has died {times} times while it made the version ready")
            }
        })
    }

    /// Sets a mark.
    pub(crate) fn begin(&self, mark: Mark, position: u64) -> UnderWay<'_> {
        let place = self.0.as_ref().and_then(|kept| {
            let place = kept.take_place()?;
            kept.records.store(place, &mark.record(Death { position, ..Death::default() }));
            Some(place)
        });
        UnderWay { marks: self, mark, place, is_to_end: true }
    }

    /// Forgets the deaths in queries of an object, on states up to this position, and those in what was tried on copies: of what was
    /// copied they know the version alone, so any release lets them be tried again. Those in runs of the log stay: a start may
    /// come to such a run again, which must end as it did.
    pub(crate) fn forgive(&self, space: u64, position: u64) {
        let Some(kept) = &self.0 else { return };
        let is_meant = |(mark, death): &(&Mark, &Death)| {
            mark.kind == Kind::Query && [space, COPIES].contains(&mark.space) && death.position <= position
        };
        kept.forget(is_meant);
    }
}

impl Kept {
    fn has_deaths(&self) -> bool {
        self.has_deaths.load(Ordering::Acquire)
    }

    fn take_place(&self) -> Option<usize> {
        let mut free = self.free.load(Ordering::Acquire);
        while free != 0 {
            let without_first = free & (free - 1);
            let taken =
                self.free.compare_exchange_weak(free, without_first, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                Ok(_) => return Some(free.trailing_zeros() as usize),
                Err(now) => free = now,
            }
        }
        None
    }

    /// A place is free for others.
    fn give_back(&self, place: usize) {
        self.records.erase(place);
        self.free.fetch_or(1 << place, Ordering::AcqRel);
    }

    /// Forgets deaths.
    fn forget(&self, is_meant: impl Fn(&(&Mark, &Death)) -> bool) {
        if !self.has_deaths() {
            return;
        }
        let mut deaths = self.deaths.lock();
        let meant: Vec<_> = deaths.iter().filter(is_meant).map(|(mark, _)| *mark).collect();
        for mark in meant {
            if let Some(death) = deaths.remove(&mark) {
                self.records.erase(UNDER_WAY_MAX + death.number);
            }
        }
        self.has_deaths.store(!deaths.is_empty(), Ordering::Release);
    }
}

fn read_deaths(records: &SharedRecords) -> Deaths {
    let numbers = 0..DEATHS_MAX;
    let death = |number: usize| {
        let (mark, death) = Mark::of_record(&records.load(UNDER_WAY_MAX + number))?;
        Some((mark, Death { number, ..death }))
    };
    numbers.filter_map(death).collect()
}

/// The marks that a process has left are deaths.
fn count_deaths(records: &SharedRecords, deaths: &mut Deaths) {
    for place in 0..UNDER_WAY_MAX {
        let record = records.load(place);
        if let Some((mark, death)) = Mark::of_record(&record) {
            let times = died(records, deaths, mark, death.position);
            tracing::error!(
                what = %mark.words(),
                times,
                may_die = mark.deaths_max(),
                "the last process of this member died in the module of a user; hint: after so many deaths it is not run any \
                 more, and its object is in quarantine: `diwan object release` ends that; a version is compiled again when \
                 `modules/marks` is deleted"
            );
        }
        records.erase(place);
    }
}

fn died(records: &SharedRecords, deaths: &mut Deaths, mark: Mark, position: u64) -> u64 {
    let known = deaths.get(&mark).copied();
    let number = known.map_or_else(|| place_for_another(deaths), |death| death.number);
    let times = known.map_or(0, |death| death.times) + 1;
    let order = deaths.values().map(|death| death.order).max().unwrap_or(0) + 1;
    let death = Death { times, order, position, number };
    records.store(UNDER_WAY_MAX + number, &mark.record(death));
    deaths.insert(mark, death);
    times
}

/// A free place, or that of the oldest, which is forgotten.
fn place_for_another(deaths: &mut Deaths) -> usize {
    let is_free = |number: &usize| deaths.values().all(|death| death.number != *number);
    if let Some(free) = (0..DEATHS_MAX).find(is_free) {
        return free;
    }
    let oldest = deaths.iter().min_by_key(|(_, death)| death.order);
    let (mark, number) = oldest.map(|(mark, death)| (*mark, death.number)).expect("no place is free");
    deaths.remove(&mark);
    number
}

impl Mark {
    fn words(&self) -> String {
        match self.kind {
            Kind::Run | Kind::LongRun => format!(
                "the call at position {} of the object that was created at {}",
                self.run.position, self.space
            ),
            Kind::Query => format!("a query of the object that was created at {}", self.space),
            Kind::Version => format!("the preparation of version {}", self.version),
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let Some((kept, place)) = self.marks.0.as_ref().zip(self.place) else { return };
        // A panic ends the objects of this process: for the next one it is a death.
        if !std::thread::panicking() {
            kept.give_back(place);
            // A query that ends says nothing of another one of the same object.
            if self.is_to_end && self.mark.kind != Kind::Query {
                kept.forget(|(mark, _)| **mark == self.mark);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use objects_state::guest::Entry;

    use super::*;

    fn run(space: u64, position: u64, seed: u64) -> Run<'static> {
        let (version, entry) = (VersionHash([7; 32]), Entry::Save);
        let (fuel_max, slice) = (u64::MAX, None);
        Run {
            version,
            space,
            changed: 0,
            entry,
            now_ms: 0,
            position,
            kept_at: position,
            seed,
            fuel_max,
            bytes: false,
            slice,
        }
    }

    /// A process that dies in this.
    fn die(path: &Path, mark: Mark, position: u64) {
        let marks = Marks::open(path).unwrap();
        std::mem::forget(marks.begin(mark, position));
    }

    fn is_deadly(path: &Path, mark: Mark) -> bool {
        Marks::open(path).unwrap().deadly(&mark).is_some()
    }

    #[test]
    fn run_that_killed_two_processes_is_not_begun_again_and_its_neighbours_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let mark = Mark::of_run(&run(5, 100, 1));
        die(&path, mark, 100);
        assert!(!is_deadly(&path, mark), "one death is no proof");
        die(&path, mark, 100);
        assert!(is_deadly(&path, mark) && is_deadly(&path, mark));
        for other in [run(5, 101, 1), run(6, 100, 1), run(5, 100, 2)] {
            assert!(!is_deadly(&path, Mark::of_run(&other)));
        }
        assert!(!is_deadly(&path, Mark::of_query(&run(5, 100, 1))));
    }

    #[test]
    fn slice_that_ends_well_does_not_show_that_the_rest_of_its_run_is_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let run = run(5, 100, 1);
        for _ in 0..2 {
            drop(Marks::open(&path).unwrap().begin(Mark::of_run(&run), 100));
            die(&path, Mark::of_long_run(&run), 100);
        }
        drop(Marks::open(&path).unwrap().begin(Mark::of_run(&run), 100));
        assert!(is_deadly(&path, Mark::of_long_run(&run)) && !is_deadly(&path, Mark::of_run(&run)));
    }

    #[test]
    fn run_that_ended_leaves_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let mark = Mark::of_run(&run(5, 100, 1));
        for _ in 0..3 {
            let marks = Marks::open(&path).unwrap();
            let many: Vec<_> = (0..UNDER_WAY_MAX + 3).map(|_| marks.begin(mark, 100)).collect();
            drop(many);
            drop(marks.begin(mark, 100));
        }
        assert!(!is_deadly(&path, mark));
        // It was killed once in each of several starts, and carried out in between.
        for _ in 0..4 {
            die(&path, mark, 100);
            drop(Marks::open(&path).unwrap().begin(mark, 100));
        }
        assert!(!is_deadly(&path, mark));
    }

    #[test]
    fn deaths_of_another_run_are_remembered_when_one_has_ended_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let (deadly, unlucky) = (Mark::of_run(&run(5, 100, 1)), Mark::of_run(&run(6, 101, 1)));
        for mark in [deadly, deadly, unlucky] {
            die(&path, mark, 100);
        }
        let marks = Marks::open(&path).unwrap();
        drop(marks.begin(unlucky, 101));
        assert!(marks.deadly(&deadly).is_some() && marks.deadly(&unlucky).is_none());
        drop(marks.begin(deadly, 100));
        assert!(marks.deadly(&deadly).is_none());
    }

    #[test]
    fn runs_of_several_threads_have_a_mark_each() {
        const ROUNDS: usize = 20_000;
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::open(&folder.path().join("marks")).unwrap();
        let records = &marks.0.as_ref().unwrap().records;
        let arrived = std::sync::atomic::AtomicUsize::new(0);
        // Both begin at the same moment, as nearly as can be.
        let begin_with_the_other = |space, round: usize| {
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < 2 * (round + 1) {
                std::thread::yield_now();
            }
            let mark = Mark::of_run(&run(space, 100, 1));
            let under_way = marks.begin(mark, 100);
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < 2 * (round + 2) {
                std::thread::yield_now();
            }
            // Told at the end: the other thread waits for this one.
            let kept = under_way.place.and_then(|place| Mark::of_record(&records.load(place)));
            kept.is_some_and(|(kept, _)| kept == mark)
        };
        let has_its_own = |space| (0..ROUNDS).filter(|round| begin_with_the_other(space, 2 * round)).count();
        let counts = std::thread::scope(|scope| {
            let threads = [5, 6].map(|space| scope.spawn(move || has_its_own(space)));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(counts, [ROUNDS; 2], "each reads its own mark in its place");
        let many = UNDER_WAY_MAX + 3;
        let under_way: Vec<_> = (0..many).map(|_| marks.begin(Mark::of_run(&run(5, 100, 1)), 100)).collect();
        let noted = under_way.iter().filter(|under_way| under_way.place.is_some()).count();
        assert_eq!(noted, UNDER_WAY_MAX, "all were free again, and there are no more");
    }

    #[test]
    fn queries_of_an_object_count_together_until_it_is_released_behind_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        die(&path, Mark::of_query(&run(5, 0, 1)), 100);
        die(&path, Mark::of_query(&run(5, 0, 2)), 110);
        let mark = Mark::of_query(&run(5, 0, 3));
        assert!(is_deadly(&path, mark));
        Marks::open(&path).unwrap().forgive(5, 109);
        assert!(is_deadly(&path, mark), "a release that is older than the deaths does not count");
        Marks::open(&path).unwrap().forgive(5, 110);
        assert!(!is_deadly(&path, mark));
    }

    #[test]
    fn release_of_an_object_lets_copies_be_tried_again_that_have_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let mark = Mark::of_run(&run(COPIES, 0, 1));
        die(&path, mark, 100);
        die(&path, mark, 110);
        assert!(is_deadly(&path, mark), "a migration that is only tried, or an export");
        Marks::open(&path).unwrap().forgive(5, 109);
        assert!(is_deadly(&path, mark));
        Marks::open(&path).unwrap().forgive(5, 110);
        assert!(!is_deadly(&path, mark));
    }

    #[test]
    fn version_that_was_made_after_deaths_is_not_held_to_be_deadly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let mark = Mark::of_version(VersionHash([7; 32]));
        die(&path, mark, 0);
        die(&path, mark, 0);
        drop(Marks::open(&path).unwrap().begin(mark, 0));
        die(&path, mark, 0);
        assert!(!is_deadly(&path, mark));
        die(&path, mark, 0);
        die(&path, mark, 0);
        assert!(is_deadly(&path, mark));
    }

    #[test]
    fn process_that_ends_while_another_one_compiles_has_not_died_of_the_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let mark = Mark::of_version(VersionHash([7; 32]));
        let deaths = || {
            let marks = Marks::open(&path).unwrap();
            let deaths = marks.0.as_ref().unwrap().deaths.lock();
            deaths.get(&mark).map_or(0, |death| death.times)
        };
        for before in 0..2 {
            let marks = Marks::open(&path).unwrap();
            let under_way = marks.begin(mark, 0);
            // What the next process finds, should this one end now.
            under_way.aside(|| assert_eq!(deaths(), before));
            std::mem::forget(under_way);
            assert_eq!(deaths(), before + 1, "behind that it is set again");
        }
    }

    #[test]
    fn version_that_is_put_off_keeps_its_deaths() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let mark = Mark::of_version(VersionHash([7; 32]));
        for _ in 0..3 {
            die(&path, mark, 0);
            Marks::open(&path).unwrap().begin(mark, 0).put_off();
        }
        assert!(is_deadly(&path, mark));
    }

    #[test]
    fn deaths_beyond_what_is_remembered_push_out_the_oldest_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        for position in 0..DEATHS_MAX as u64 + 5 {
            die(&path, Mark::of_run(&run(5, position, 1)), position);
            die(&path, Mark::of_run(&run(5, position, 1)), position);
        }
        let deadly = |position| is_deadly(&path, Mark::of_run(&run(5, position, 1)));
        assert!(!deadly(0) && !deadly(4) && deadly(5) && deadly(DEATHS_MAX as u64 + 4));
    }

    #[test]
    fn file_of_any_bytes_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        for bytes in [vec![0xff; 8_192], vec![3; 8_192], vec![1; 10], vec![2; 100_000]] {
            std::fs::write(&path, bytes).unwrap();
            let mark = Mark::of_run(&run(5, 100, 1));
            die(&path, mark, 100);
            die(&path, mark, 100);
            assert!(is_deadly(&path, mark));
        }
    }
}
