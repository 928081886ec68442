//! Runs the modules of users in WebAssembly: [`Guests`] is the [`Engine`] that the state asks for.
//!
//! # The way of a call
//! `residents.rs` finds the object's copy; it is used if it was left at the position that the state names, otherwise
//! `resident.rs` makes it again from the version's image and the object's pages. `instance/` writes the arguments into the
//! memory and enters the module; `imports/` answers what it asks. Then `dirty.rs` tells which lines of pages were written, these are
//! compared with what they were, and what differs goes to the state. What a query and a failed run have written is put back.
//!
//! A run that takes more than its slice is taken back, and begun again in a thread of its own on the copy of its object
//! (`beside.rs`), which it has for itself until its end is taken. A query that does goes on on a copy that is thrown away
//! (`queries.rs`).
//!
//! # The way of a version
//! `module/` bounds and validates it before anything is compiled, and rewrites it; `compiler/` compiles it, in a child process if
//! there is a program for that, and `code.rs` keeps the code, once for all sources of a runner; `prepared.rs` runs what it does once, and keeps the memory that comes out as its image, of which all objects map
//! private copies. All that happens in a thread of its own.
//!
//! # Invariants
//! - *Where a run stops belongs to the module*: fuel and stack are counted by instructions that `module/metered.rs` writes into it.
//! - *Outcomes follow from the module and the run*: no clock, no address, no order of threads, no unordered container. Floats have one
//!   NaN. What an instance consists of is its memory and its mutable globals; all that else could change (tables, passive
//!   segments, mutable references) is refused at upload.
//! - *The host's trouble is a panic*, never an outcome.
//! - *Unsafe code* stands in `memory/` alone, but for machine code that is read back (`code.rs`), and for descriptors that a
//!   compiler's process closes (`compiler/confined.rs`).
//! - *Machine code that is run* was compiled by this member, or was written by it and is authenticated (`kept_code.rs`).
//! - *A compiler that fails harms nobody*, where it has a process of its own: a module over which that fails three times is rejected.
//! - *A process dies at most twice in one run*, and is told of it (`marks.rs`): then the run fails as deadly.
//!
//! # Not done, and what that costs
//! - A function's frame on the machine's stack is not bounded by what it counts for, only far below twice of it as a rule: should one
//!   be larger, the run ends at the machine's limit, in the same way but at a depth that is the engine's.
//! - Modules are run in the process of the member. What they do once when a version is made ready is, too.
//! - A compiler that a module has taken over is confined, but could make machine code that is not the module's.

mod beside;
mod code;
mod compiler;
mod description;
mod dirty;
mod form;
mod imports;
mod instance;
mod kept_code;
mod layout;
pub mod limits;
mod log;
mod marks;
mod memory;
mod meter;
mod module;
mod owned;
mod prepared;
mod priority;
mod queries;
mod rejected;
mod resident;
mod residents;
mod versions;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use compiler::{
    COMPILE_MODULE, Compiler, CompilerLimits, CompilerProcess, InProcess, Task, Uncompiled, compile_module,
};
pub use description::{Codec, Description, MethodKind, SECTION};
pub use dirty::Tracking;
pub use module::check;
use objects_state::guest::{
    Ended, Engine, Failure, Host, Pages, Progress, Rejected, Run, RunId, Version, VersionHash,
};

use crate::beside::{Beside, End};
use crate::code::Codes;
use crate::kept_code::KeptCode;
use crate::log::Log;
use crate::marks::{Mark, Marks};
use crate::owned::Waiting;
use crate::queries::Queries;
use crate::resident::Resident;
use crate::residents::Residents;
use crate::versions::Versions;

/// What a member decides for itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Objects that have a copy. Each takes 8 GiB of addresses, 4 for its memory and 4 for its dirty bytes, of which there are 128
    /// TiB.
    pub residents_max: usize,
    /// Bytes that all copies may take.
    pub resident_bytes_max: usize,
    /// How what was written is found.
    pub tracking: Tracking,
    /// Where machine code is kept, and what is under way; of this process alone. Nothing is kept without one.
    pub directory: Option<PathBuf>,
    /// What compiles.
    pub compiler: Arc<dyn Compiler>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            residents_max: 1_000,
            resident_bytes_max: 1 << 30,
            tracking: Tracking::default(),
            directory: None,
            compiler: Arc::new(InProcess),
        }
    }
}

/// An engine as a member wants it, which keeps what is compiled in that directory. The process owns it.
#[must_use]
pub fn engine(directory: PathBuf, compiler: Arc<dyn Compiler>) -> Arc<dyn Engine> {
    Arc::new(Guests::new(Settings { directory: Some(directory), compiler, ..Settings::default() }))
}

/// Runs modules, on the thread that asks. That thread has a stack of 2 MiB at least.
pub struct Guests {
    versions: Versions,
    residents: Residents,
    marks: Arc<Marks>,
    beside: Beside,
    queries: Queries,
    log: Arc<Log>,
}

thread_local! {
    /// Room for what a run changes, of the thread that asks for runs: commands are applied by one.
    static ROOM: Cell<Pages> = const { Cell::new(Pages::new()) };
}

impl Guests {
    /// With a thread that compiles.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let log = Arc::<Log>::default();
        let residents = Residents::new(settings.residents_max, settings.resident_bytes_max);
        let (marks, kept) = settings.directory.as_deref().map(kept_in).unwrap_or_default();
        let marks = Arc::new(marks);
        let codes = Codes::new(settings.compiler, kept);
        let versions = Versions::new(codes, marks.clone(), settings.tracking, log.clone());
        let (beside, queries) = (Beside::new(&marks), Queries::new(&marks));
        Self { versions, residents, marks, beside, queries, log }
    }

    /// The lines that modules wrote since the last time; the oldest are lost if there were too many.
    #[must_use]
    pub fn take_log(&self) -> Vec<String> {
        self.log.take()
    }

    /// How many modules were compiled, and not found in a file.
    #[must_use]
    pub fn compiled_count(&self) -> u64 {
        self.versions.compiled_count()
    }

    /// How many objects have a copy.
    #[must_use]
    pub fn resident_count(&self) -> usize {
        self.residents.count()
    }

    /// Runs on the object's copy, which is made if there is none that is right.
    fn on(
        &self,
        run: &Run<'_>,
        host: &dyn Host,
        mark: Mark,
        enter: impl FnOnce(&mut Resident) -> (Ended, bool),
    ) -> Ended {
        let place = self.residents.place(run.space);
        let mut place = place.lock();
        // Taken out: should the host fail, nothing half done stays.
        let resident = match place.take().filter(|resident| resident.is(run)) {
            Some(resident) => Ok(resident),
            None => match self.versions.ready(run.version) {
                Ok(prepared) => Err(prepared),
                // The state asks before it runs.
                Err(rejected) => return failed(Failure::Broken { detail: rejected.detail }),
            },
        };
        if let Some(detail) = self.marks.deadly(&mark) {
            *place = resident.ok();
            return failed(Failure::Deadly { detail });
        }
        let _under_way = self.marks.begin(mark, run.position);
        let mut resident = resident.unwrap_or_else(|prepared| Resident::new(prepared, run, host));
        let (ended, is_kept) = enter(&mut resident);
        let bytes = if is_kept { resident.other_bytes() } else { Some(0) };
        *place = is_kept.then_some(resident);
        drop(place);
        if let Some(bytes) = bytes {
            self.residents.note(run.space, bytes);
        }
        ended
    }
}

impl Guests {
    /// The copy of an object is taken out, or made.
    fn take_resident(&self, run: &Run<'_>, host: &dyn Host) -> Result<Box<Resident>, Rejected> {
        let prepared = self.versions.ready(run.version)?;
        let resident = self.residents.place(run.space).lock().take().filter(|resident| resident.is(run));
        Ok(resident.unwrap_or_else(|| Resident::new(prepared, run, host)))
    }

    /// The copy of an object is its copy again, if it may be.
    fn put_resident(&self, space: u64, resident: Box<Resident>, is_kept: bool) {
        let bytes = if is_kept { resident.bytes() } else { 0 };
        *self.residents.place(space).lock() = is_kept.then_some(resident);
        self.residents.note(space, bytes);
    }

    /// What a run comes to that was begun beside the commands.
    fn ended(&self, run: &Run<'_>, end: End, host: &dyn Host) -> Ended {
        match end {
            End::Ended(ended) => {
                let (mut resident, entered) = *ended;
                let (ended, is_kept) = resident.settle(entered, run.kept_at, host, ROOM.take());
                self.put_resident(run.space, resident, is_kept);
                ended
            }
            End::Deadly(resident, detail) => {
                self.put_resident(run.space, resident, true);
                failed(Failure::Deadly { detail })
            }
            End::Panicked => panic!("a run at position {} has failed beside the commands", run.position),
        }
    }
}

/// What is kept in that directory; what cannot be had is done without.
fn kept_in(directory: &Path) -> (Marks, Option<KeptCode>) {
    let without = |what: &str, error: std::io::Error| {
        tracing::warn!(directory = %directory.display(), %error, "{what}; hint: make the directory writable");
    };
    let code = KeptCode::open(directory.join("code"));
    let code = code
        .map_err(|error| without("compiled modules cannot be kept, and are compiled at each start", error));
    let marks = Marks::open(&directory.join("marks"));
    let marks = marks.map_err(|error| without("it cannot be noted which call a process dies in", error));
    (marks.unwrap_or_default(), code.ok())
}

/// A run that was not begun.
fn failed(failure: Failure) -> Ended {
    Ended { outcome: Err(failure), pages: Pages::default(), registers: None, acts: Vec::new(), fuel: 0 }
}

impl Engine for Guests {
    fn prepare(&self, version: &Version<'_>) {
        self.versions.prepare(version);
    }

    fn ready(&self, version: VersionHash) -> Result<(), Rejected> {
        self.versions.ready(version).map(|_| ())
    }

    fn is_done(&self, version: VersionHash) -> bool {
        self.versions.is_done(version)
    }

    fn unfinished(&self) -> usize {
        self.versions.unfinished()
    }

    fn takes_memory_over(&self, from: VersionHash, to: VersionHash, host: &dyn Host) -> Result<(), String> {
        let ready = |version| self.versions.ready(version).map_err(|rejected| rejected.detail);
        layout::check(&*ready(from)?, &*ready(to)?, host)
    }

    fn forgive(&self, space: u64, position: u64) {
        self.marks.forgive(space, position);
    }

    fn description(&self, version: VersionHash) -> Option<Vec<u8>> {
        self.versions.ready(version).ok()?.described.clone()
    }

    fn run(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        let begun = if run.slice.is_none() { self.beside.take(run) } else { None };
        match begun {
            Some(end) => self.ended(run, end, host),
            None => self.on(run, host, Mark::of_run(run), |resident| resident.run(run, host, ROOM.take())),
        }
    }

    fn begin(&self, run: &Run<'_>, host: &dyn Host) {
        if self.beside.has(run) {
            return;
        }
        // One that is rejected is not run: the state asks before.
        if let Ok(resident) = self.take_resident(run, host) {
            self.beside.begin(run, resident, Waiting::of(host));
        }
    }

    fn progress(&self, space: u64, run: RunId) -> Progress {
        self.beside.progress(space, run)
    }

    fn query(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        self.on(run, host, Mark::of_query(run), |resident| resident.query(run, host))
    }

    fn reuse(&self, pages: Pages) {
        /// What one run in many writes is not kept room for.
        const ROOM_MAX: usize = 256 << 10;
        if (1..=ROOM_MAX).contains(&pages.room()) {
            ROOM.set(pages);
        }
    }

    fn begin_query(&self, run: &Run<'_>, host: &dyn Host) -> Option<u64> {
        if !self.queries.has_room() {
            return None;
        }
        let prepared = self.versions.ready(run.version).ok()?;
        Some(self.queries.begin(run, Resident::new(prepared, run, host), Waiting::of(host)))
    }

    fn take_query(&self, number: u64) -> Option<Ended> {
        self.queries.take(number)
    }

    fn forget_queries(&self) {
        self.queries.forget();
    }

    fn forget_version(&self, version: VersionHash) {
        self.versions.forget(version);
        self.residents.forget_version(version);
    }

    fn forget_all(&self) {
        self.beside.forget_all();
        self.residents.forget_all();
    }

    fn forget(&self, space: u64) {
        self.beside.forget(space);
        self.residents.forget(space);
    }
}
