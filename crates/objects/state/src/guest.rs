//! What the state asks of the engine that runs the modules of user types (WebAssembly), and what it gives to it. The engine
//! is not part of this crate: machine code, memory maps and threads never enter it.
//!
//! # Where an object's memory lives
//! In records, like everything else: what differs from the version's *image* in a page of [`PAGE_BYTES`] is a record of the
//! object's space ([`OwnPage`]), and so are its globals. So rollback, digest, snapshot and deletion are the store's. The image is what the
//! memory holds when a version has been prepared (data segments, `_initialize`, for a runner the source loaded too): it
//! follows from the version alone, so it stands in no record. What the engine keeps of an object between two calls is a copy
//! that it may use only while [`Run::changed`] is the position that the copy was left at; otherwise, and whenever it likes,
//! it makes the object again from image and pages.
//!
//! # Invariants
//! - *The engine decides nothing.* Equal version, memory, entry and [`Run`] give the equal [`Ended`] at every member, whatever
//!   was run before, whatever is resident, and whatever machine it is.
//! - *A run is bounded*: by fuel, by stack, by memory, by the bytes of its result and of its acts.
//! - *A run that fails changes nothing*: no page, no act. Host trouble (no memory for a map) is a panic of the member, never an
//!   outcome.
//! - *Nothing that a module does reaches another object, the file system, the network or a clock.*

use crate::command::SessionId;
pub use crate::pages::{LINE_BYTES, Lines, OwnPage, PAGE_BYTES, Pages};
pub use crate::version::VersionHash;

/// The space of copies on which something is only tried: no object has it.
pub const COPIES: u64 = u64::MAX;

/// What a version is made of.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// Its name.
    pub hash: VersionHash,
    /// A core module.
    pub module: &'a [u8],
    /// The source that a runner loads, if the module is one.
    pub source: Option<&'a [u8]>,
}

/// Why a module cannot be a version: follows from its bytes alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The rule that it breaks, and where.
    pub detail: String,
}

/// What is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// `init`, when an object is created: with the constructor's arguments. A module without it has no constructor.
    Init(&'a [u8]),
    /// `call`.
    Call {
        /// The method.
        method: &'a str,
        /// A JSON object, or bytes if the method's codec says so.
        args: &'a [u8],
    },
    /// `migrate`, on a fresh memory of the new version: with the old description and what the old version's `save` gave.
    Migrate(&'a [u8]),
    /// `save`.
    Save,
    /// `session_expired`.
    SessionExpired(SessionId),
    /// `timer`, by its id.
    Timer(u64),
    /// `ticket_ended`: a call that waited has ended without the object's doing (its time, a cancel, its session's death).
    TicketEnded(u64),
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The object's version. It has been prepared.
    pub version: VersionHash,
    /// The object, by its space.
    pub space: u64,
    /// The position of the run that changed its memory last; 0: its memory is the version's image.
    pub changed: u64,
    /// What is entered.
    pub entry: Entry<'a>,
    /// The entry's stamp.
    pub now_ms: i64,
    /// The position of the call. For a query: of the state that it reads.
    pub position: u64,
    /// The position at which the state keeps what it changes: [`Run::changed`] of the next one. A run that was put off has a later
    /// one than its call.
    pub kept_at: u64,
    /// Where `random` begins.
    pub seed: u64,
    /// The fuel that it may take, if its version may take more.
    pub fuel_max: u64,
    /// Whether results and messages may be bytes: the state looks at them. Otherwise they are text.
    pub bytes: bool,
    /// The fuel that it may take at first. If it may take more, and would, it ends as [`Failure::Unfinished`].
    pub slice: Option<u64>,
}

/// Which run it is: no other one of an object has both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    /// See [`Run::position`].
    pub position: u64,
    /// See [`Run::seed`].
    pub seed: u64,
}

impl Run<'_> {
    /// Which one it is.
    #[must_use]
    pub const fn id(&self) -> RunId {
        RunId { position: self.position, seed: self.seed }
    }
}

/// How far a run is that was begun in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was not begun, or is forgotten.
    Unknown,
    /// It is not done.
    UnderWay,
    /// [`Engine::run`] does not wait for it.
    Ended,
}

/// What a run may ask of the state.
pub trait Host {
    /// The record of a page that differs from the version's image: see [`OwnPage`].
    fn page(&self, number: u32) -> Option<&[u8]>;
    /// Looks at many of them, whose numbers come in order.
    fn each_page<'a>(
        &'a self,
        numbers: &mut dyn Iterator<Item = u32>,
        look: &mut dyn FnMut(u32, Option<&'a [u8]>),
    ) {
        for number in numbers {
            look(number, self.page(number));
        }
    }
    /// The numbers of those pages, in order.
    fn pages(&self) -> Vec<u32>;
    /// Size of the memory and globals, as the last run left them; nothing if they are the image's.
    fn registers(&self) -> Option<&[u8]>;
    /// A JSON object that tells who calls: `session`, `principal`, `request`.
    fn caller(&self) -> String;
    /// Whether a call of this object waits under that ticket.
    fn is_waiting(&self, ticket: u64) -> bool;
    /// The tickets of all that do, in the order in which they came to wait.
    fn waiting(&self) -> Vec<u64>;
}

/// What a module asks the state to do. Done in order after the run, if the run succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The running call waits. Its ticket is its position.
    Park {
        /// The module's own note; a later version gets it.
        tag: u64,
        /// How long at the most; less than nothing: as the caller says.
        wait_ms: i64,
    },
    /// A waiting call gets its result.
    Wake {
        /// Its ticket: it waits (see [`Host::is_waiting`]), and was not woken in this run.
        ticket: u64,
        /// The result.
        result: Vec<u8>,
    },
    /// A waiting call is refused.
    Fail {
        /// Its ticket.
        ticket: u64,
        /// The module's own code.
        code: String,
        /// What people are told.
        detail: String,
    },
    /// A timer is set, in the place of an older one of that id.
    SetTimer {
        /// Which.
        id: u64,
        /// When it is due, counted from now.
        after_ms: i64,
    },
    /// A timer is cleared.
    ClearTimer(u64),
    /// Another object is called later, at a position of its own.
    Send {
        /// `TYPE/NAME`.
        target: String,
        /// The method.
        method: String,
        /// A JSON object; or bytes, for a method that takes them.
        args: Vec<u8>,
    },
    /// Those who listen to the object are told.
    Emit {
        /// A word.
        topic: String,
        /// A JSON text.
        body: Vec<u8>,
    },
}

/// How a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The module refused the call with a code of its own.
    Refused {
        /// The code.
        code: String,
        /// What people are told.
        detail: String,
    },
    /// It trapped.
    Trapped {
        /// How, and where: function names, innermost first.
        detail: String,
    },
    /// Its fuel is used up.
    OutOfFuel,
    /// Its slice is used up, and it may take more: nothing of it has happened.
    Unfinished,
    /// Its stack is.
    StackExhausted,
    /// It asked for more memory than it may have, and trapped for want of it.
    OutOfMemory,
    /// Its result or its acts are too large, or no text, or it did what a query may not.
    Broken {
        /// What it did.
        detail: String,
    },
    /// The process of this member has died in this very run, as often as it may: it is not begun again. Of a run of the log
    /// that is so at every member that the run kills; one that it does not kill has another state then, and takes over the
    /// others'.
    Deadly {
        /// What is known of it.
        detail: String,
    },
}

/// What a run left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The result, or why there is none.
    pub outcome: Result<Vec<u8>, Failure>,
    /// The pages that differ from before the run. None after a failure and a query.
    pub pages: Pages,
    /// Size of the memory and globals, if they changed. For the engine alone to read.
    pub registers: Option<Vec<u8>>,
    /// What is to be done. Nothing after a failure and a query.
    pub acts: Vec<Act>,
    /// Fuel that was used.
    pub fuel: u64,
}

/// Runs modules.
pub trait Engine: Send + Sync {
    /// Begins to make a version ready, in the background, if it is not.
    fn prepare(&self, version: &Version<'_>);

    /// Waits until a version is ready that was asked for. One that is ready stays so until it is forgotten.
    ///
    /// # Errors
    /// It cannot be one. Equal at every member.
    fn ready(&self, version: VersionHash) -> Result<(), Rejected>;

    /// Whether [`Engine::ready`] would not wait.
    fn is_done(&self, version: VersionHash) -> bool;

    /// How many versions were asked for and are not done yet. While there are none no run waits.
    fn unfinished(&self) -> usize {
        0
    }

    /// What is remembered of deaths in queries of this object, on states up to this position, is forgotten. Not those in runs of
    /// the log: a start may come to them again, and they must end as they did.
    fn forgive(&self, _space: u64, _position: u64) {}

    /// What a version that is ready says of itself, if it is a source that its runner has loaded: a JSON object in the form of a
    /// type's description. Equal at every member.
    fn description(&self, _version: VersionHash) -> Option<Vec<u8>> {
        None
    }

    /// Whether an object's memory may become that of another version as it is: whether pages that differ from the one version's image
    /// differ from the other's as well, and mean the same there as far as bytes can tell. Equal at every member. Both versions
    /// are ready.
    ///
    /// # Errors
    /// It may not, for this reason.
    fn takes_memory_over(&self, from: VersionHash, to: VersionHash, host: &dyn Host) -> Result<(), String>;

    /// Begins a run in the background, on the object's memory as it is. Nothing else is run on that before [`Engine::run`] was
    /// asked for the same run, which then gives how it ended, or before the object is forgotten. A run that was begun already is
    /// left alone; whether an engine does anything in the background is its own affair.
    fn begin(&self, _run: &Run<'_>, _host: &dyn Host) {}

    /// How far that run is, if it was begun for that object.
    fn progress(&self, _space: u64, _run: RunId) -> Progress {
        Progress::Ended
    }

    /// Runs a command's part on an object's memory.
    fn run(&self, run: &Run<'_>, host: &dyn Host) -> Ended;

    /// Runs a query on a copy of an object's memory.
    fn query(&self, run: &Run<'_>, host: &dyn Host) -> Ended;

    /// Takes what a run has changed back, once it has been read: its room serves another run.
    fn reuse(&self, _pages: Pages) {}

    /// Begins a query in the background, on a copy of the object's memory as it is; or a part of a migration that is only tried.
    /// Gives its number; nothing if too many are under way.
    fn begin_query(&self, _run: &Run<'_>, _host: &dyn Host) -> Option<u64> {
        None
    }

    /// Takes how a query of that number has ended, once it has.
    fn take_query(&self, _number: u64) -> Option<Ended> {
        None
    }

    /// Nobody takes the ends of queries that were begun before.
    fn forget_queries(&self) {}

    /// A version is used no more.
    fn forget_version(&self, version: VersionHash);

    /// An object is gone, or what is kept of it is not what it is; so is what was begun for it.
    fn forget(&self, space: u64);

    /// Another state takes the place of this one, and may be another at the same positions: no copy of an object is used.
    fn forget_all(&self) {}
}

/// The engine of a state that runs no modules: it rejects each.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEngine;

impl NoEngine {
    fn broken() -> Ended {
        let detail = String::from("this member runs no modules");
        let (pages, registers, acts) = (Pages::default(), None, Vec::new());
        Ended { outcome: Err(Failure::Broken { detail }), pages, registers, acts, fuel: 0 }
    }
}

impl Engine for NoEngine {
    fn prepare(&self, _: &Version<'_>) {}

    fn ready(&self, _: VersionHash) -> Result<(), Rejected> {
        Err(Rejected { detail: String::from("this member runs no modules") })
    }

    fn is_done(&self, _: VersionHash) -> bool {
        true
    }

    fn takes_memory_over(&self, _: VersionHash, _: VersionHash, _: &dyn Host) -> Result<(), String> {
        Err(String::from("this member runs no modules"))
    }

    fn run(&self, _: &Run<'_>, _: &dyn Host) -> Ended {
        Self::broken()
    }

    fn query(&self, _: &Run<'_>, _: &dyn Host) -> Ended {
        Self::broken()
    }

    fn forget_version(&self, _: VersionHash) {}

    fn forget(&self, _: u64) {}
}
