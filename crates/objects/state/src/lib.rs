//! The state of live replicated objects: built-in types with methods, sessions, requests, calls that wait, deadlines,
//! and how commands change them.
//!
//! [`State::apply`] is a function of the log: the same commands with the same stamps give the same state, the same
//! effects and the same digest at every member. [`State::query`] reads a borrowed state. Snapshots are of one point in
//! time and are taken while commands go on.
//!
//! This crate knows no clock, disk, network, connection or HTTP. The accepting member authenticates a caller, draws
//! session ids, and turns a request into a [`Command`]; the leader stamps it. [`Effect`]s say which request is answered
//! with which bytes, which waits, which ticket ended, and what happened to sessions and objects.
//!
//! # One idea: everything is a record
//! All that decides a later result is a key with a value in one ordered store (`store.rs`), but for a few numbers
//! (`group.rs`). The store alone keeps the digest (a sum over records, so it costs by the write), takes a failed call's
//! changes back, and gives a running snapshot what was there before a change. No type and no command can forget any of
//! these. Objects have a *space* of records, named by their incarnation; a value of 1 MiB, or a map of 64 MiB, costs a
//! call nothing that does not touch it. What is deleted is unreachable at once and removed piece by piece.
//!
//! # Invariants, and where they are decided
//! | rule | how |
//! |---|---|
//! | O1 one order | a command has one position (each call of a batch has its own); nothing but the log, its stamps and the state decides |
//! | nobody's waits | `orphan.rs`: a call without session or key is cancelled when a later process of its member is heard of |
//! | at most once | `source.rs`: of what a member gives again no copy is applied twice, with or without a session or a key |
//! | O3, O4 exactly once, the same reply | `request.rs`: the outcome, also a refusal, is written with the command's changes; a repeat is answered with it; a repeat of a waiting request joins its ticket |
//! | O5 replies matched | an answer names its request's [`Origin`], a ticket its call's position |
//! | O6 forgotten is refused | a session's floor rises with its acknowledgements and never falls; above it `ranges.rs` has the others; an id that has ended opens no other session (`ended.rs`) |
//! | O9, O16 exclusion, first come first served | a type's `wake` grants from the head of a queue; a call joins the queue if anybody waits in it |
//! | O10 fences rise | a fence is the position of its grant; those granted by one command to several holders (permits, readers) are equal |
//! | O13 one position | `death.rs` |
//! | O14 no lost wake-up | `object::run` calls `wake` after every change of an object, and `death.rs` once everything is released |
//! | O15 one end | a ticket is ended by removing its record, in `ticket::end` alone |
//! | O17 deadlines | one index; only [`Command::Tick`] lets one pass, by its stamp, in the order of time, class, id |
//! | O18 conditions | `await` frees the lock and parks in one command; a ticket leaves the condition's queue only for the lock's |
//! | O20 a failed call changes nothing | the store's journal |
//! | O24 snapshots | `scan.rs`, `loader.rs`; `check.rs` decides whether records fit together |
//! | O21 isolation | `user/long`: a run that takes more than a slice of fuel goes on beside the commands |
//! | O22 quarantine | `runs.rs`, `user/guard.rs`: an object of which members came to different results runs nothing any more; `scan.rs` finds records that the memory has changed |
//! | O23 a deadly call | `user/guard.rs`: a run that kills its member's process is a refusal, and its object is in quarantine |
//! | O26 a migration is whole, or is not | `user/migrate.rs`: nothing of the object changes before its second run has ended |
//! | O27 no version runs before it is ready | `types/verdict.rs`: what the members' engines say is a command of the log |
//! | O28 one group for each slot | `placement.rs`: what is another group's is refused at its position |
//! | O31 bounds | [`limits`]; `quota` bounds what a namespace or a principal has |
//! | O32 access | `access` judges each command at its position, by the principal and the token that it carries |
//!
//! # Walks
//! *An acquire.* `call.rs` asks `request.rs` whether the request is known. It is new: the lock's header is read, the
//! arguments are checked, `Lock::call` finds the lock held and asks to wait. The ticket, its deadline, its place in the
//! session, and "request n waits under ticket p" are written; [`Effect::Parked`] goes out. Later a `release` at q frees
//! the lock; `wake` grants the ticket under fence q, and its outcome takes the place of "waits" in the request's record.
//!
//! *A lost answer.* The member of the caller dies after the grant. The caller repeats request n elsewhere; the record
//! says how it ended, and the same bytes go out. Acknowledged, record and ticket are gone; a late copy of the request
//! finds the floor above it and is refused.
//!
//! *A death.* The leader's round heard of no client of session s in generation g: `ExpireSession`. If the generation is
//! still g, everything happens at this position: memberships end, leases return, holdings are released in the order in
//! which they were taken, s's tickets end with `session-expired`; then each object that lost something grants who is
//! next. Replies kept for s are gone, and later requests of s are refused.
//!
//! *A snapshot.* [`State::snapshot_begin`] notes the header and the digest. Chunks walk the records by key. The release
//! above changes three records that the walk has not reached: the store gives their old values to the scan, which
//! writes these. The loader checks order, count, digest, and that all indexes lead somewhere and back.
//!
//! # What the types decided where the specification leaves room
//! - A value is kept as its canonical text (keys in order, no spaces), and two values are equal if these are. Numbers
//!   are never evaluated as floats: `1.0` and `1` are different.
//! - Versions (value, map), terms (election), generations (barrier) and ids (queue) are positions: they never repeat, and
//!   an object that vanished and came back has no old ones. A membership's epoch and a log's indexes count; so these
//!   objects stay once they were used.
//! - An object that was created on purpose (`Create`) stays until it is deleted; one created by use vanishes when nothing
//!   but defaults is left.
//! - A broken barrier stays broken until `reset`.
//! - `fair: false`: a release gives the lock to the newest waiter, until the oldest was passed 16 times.
//! - A wait that is cancelled is answered like one whose time ran out; `await` of a lock, which must return holding the
//!   lock or not at all, is answered `not-owner`.
//! - A condition's wait with `wait_ms` 0 gives the lock up and asks for it again behind those who wait.
//! - A call of a batch never waits.
//! - A session that a call opened (`ttl_ms`) ends with that call if it got nothing.
//! - Defaults without a word in the specification: latch 1, barrier 2 parties, rate limiter 1 a second, queue, stack, set
//!   and map 100,000 entries, map and log 64 MiB, log 10,000 entries.
//!
//! # Where the rest attaches
//! - `objects-replica` implements the replica's state machine over [`State`]: position, digest, snapshots, [`State::cost`]
//!   and `apply` have the shapes that it needs. There is no hash table, so no seed.
//! - Types of users have numbers from 64 on and one implementation behind the trait of the built-ins (`user`), which an engine
//!   runs ([`guest`]); `types` keeps their versions and modules.
//! - Who may do what is decided in `access`; who a caller is, before a command is proposed.
//!
//! # Not done, and what that costs
//! - An ordered map holds all records: a look-up in a million of them takes about 20 comparisons of keys. A table by hash
//!   for sessions and headers would be faster.
//! - Events are effects only: their bounded history and its place in snapshots are to come.
//! - A second group: no command moves a slot (`placement.rs`). Namespaces with quotas and rights of their own.
//! - Memory of objects of users' types is not taken over as it is between versions.
//! - A membership's reports and views read all its members (1,000 at the most).
//! - Reconfiguring a rate limiter touches every key that is in use: 10,000 at the most, some ticks' work.
//! - An append of a large value to a full log of small entries removes as many of these as make room for it.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod access;
mod allowance;
mod answer;
mod args;
mod asked;
mod builtin;
mod bytes;
mod call;
mod caller;
mod check;
mod codec;
mod command;
mod content;
mod cost;
mod deadline;
mod death;
mod directory;
mod effects;
mod ended;
mod export;
mod group;
pub mod guest;
mod json;
mod key;
mod key_bytes;
mod known;
mod known_versions;
pub mod limits;
mod loader;
mod messages;
mod object;
mod orphan;
mod pages;
mod place;
mod placement;
mod principal;
mod problem;
mod quota;
mod ranges;
mod records;
mod reply;
mod request;
mod rights;
mod runs;
mod scan;
mod script;
mod session;
mod slots;
mod source;
mod state;
mod store;
mod sum;
mod tick;
mod ticket;
mod types;
mod user;
mod version;
mod waits;

pub use access::Act;
pub use allowance::{QuotaLimits, QuotaOf};
pub use builtin::{TYPES, constructor, methods, type_name, type_named};
pub use bytes::bytes_of;
pub use codec::Malformed;
pub use command::{
    Batch, Begun, Call, Caller, Command, GivenBy, Identity, Invocation, NewSession, ObjectName, Origin,
    SessionId, TypeId, Verdict,
};
pub use content::Content;
pub use directory::{Endpoint, Host, Members, NameData, NameRecord};
pub use effects::{Effect, Effects, Event, EventKind, Said, TicketEnd};
pub use export::EXPORT_FORM;
pub use json::{Json, NotJson};
pub use known::{Description, OpenVersion, Stage, TicketState, UserObject};
pub use loader::Loader;
pub use object::{Method, MethodKind};
pub use principal::{ANONYMOUS, Authority, Principal, ROOT, TokenNumber};
pub use problem::{Outcome, Problem, Retry, SideEffect, Slug};
pub use ranges::{RANGES_MAX, Ranges};
pub use reply::Reply;
pub use rights::{AccessChange, Grant, GrantError, Rights, RoleNames};
pub use runs::Ran;
pub use scan::SnapshotProgress;
pub use session::Session;
pub use slots::{SLOTS, SlotTable, slot};
pub use source::Source;
pub use state::State;
pub use types::{DESCRIPTION_SECTION, TypeInfo, VersionInfo, custom_section};
pub use user::{Asked, LongRun, Trial, Tried};
pub use waits::{
    Holder, Holds, NamedSession, WAITS_LOOKED_AT_MAX, WAITS_OF_OBJECT_MAX, WAITS_ROWS, WaitedFor,
    WaitingCall, Waits, WaitsOf,
};
