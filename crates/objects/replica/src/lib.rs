//! One member of a group of live objects: a [`Core`], which is a [`consensus_replica::Replica`] over the commands of
//! [`objects_state`], and edges that serve HTTP, joined by the messages of [`edge`] and a `&State` that the driver lends.
//!
//! It knows no clock, socket, file or thread, and no HTTP. A driver calls [`Core`] as it would that of any other service;
//! the turn of a driver is described in [`consensus_replica`].
//!
//! # Invariants
//! - *At most once.* A member numbers its commands. The state passes over every number up to the last one that was applied
//!   of that member (`objects_state::Source`), so a command may be given to any leader any number of times. A session's
//!   number or a key makes it exactly once, also from another member.
//! - *Nothing is lost with a leader.* A command is kept here until it is applied here, and given to whoever leads next.
//! - *What is said of an effect is true.* "None" is said only of what no leader was given. If that is not known the answer
//!   is `outcome-unknown`.
//! - *One answer.* It goes to the request for which this process numbered the command, never to one of an earlier process.
//! - *Deadlines have one position.* The leader proposes a tick when its stamped clock passes the earliest of them. Stamps
//!   never go back, and go on at the pace of time when the lead changes.
//! - *No early expiry.* A session ends after every member that is alive, a majority at the least, was asked, past its
//!   deadline, of whom it has heard. Each member asks its edges before it answers. A new leader gives each session its
//!   full time to live; time in which a process stood still does not count.
//! - *Nothing unreadable comes into the log*, and nothing that a member may not give.
//! - *Access is judged where it counts*: a query and a watch by the state that they are answered from, a command by the state at
//!   its position. What a fresh state refuses comes not into the log. When tokens or rights change, watches and requests that
//!   wait are judged again, before anybody sees the state that did it.
//! - *Bounded.* What waits here has a limit, and what comes beyond is refused before it is in the log ([`limits`]).
//!
//! # Walks
//! *A write.* An edge of member 2 sends [`edge::Request::Command`]. The machine compares the session's secret, notes that
//! the client was heard of, and puts the command into its queue as number 7 of this process. `advance` sends all that is
//! new in the queue to the leader, in one message. The leader puts what came since its last entry, from all members, into
//! one entry under its stamp. When that is committed each member applies it; the state takes note of number 7. Member 2
//! finds it at the front of its queue, takes its origin from there, and puts the state's answer into the mailbox of the
//! edge, before the driver unlocks the state.
//!
//! *A read.* A linearizable query waits under a number. `advance` asks the leader how far the log is committed, once for
//! all that wait; the leader answers after a majority has confirmed it. When everything up to there is applied here the
//! query is evaluated on this member's state, and the leader sees nothing of it. A stale query is evaluated in the call
//! itself, but for a method of a module that takes long: that goes on in the background (`long_queries.rs`). An edge that is lent the state may do the same by [`query::answer`], while [`Core::lease_until`] is not over.
//!
//! *A wait.* The state answers an acquire by a ticket; the edge is told, and the request joins those that wait for it. A
//! later command ends the ticket, and all who wait for it here are answered. A caller who goes away leaves a call with a
//! session or a key as it is: another request will find it. A call without either is cancelled in the log.
//!
//! *A run that takes long.* The state says that it is under way beside the commands; each member's engine carries it out, and
//! members tell the leader when theirs is done. The leader then proposes that it takes effect (`long_runs.rs`).
//!
//! *A run that differs.* At member 2 a run comes to something else than at the others. Members compare digests of their states; 2
//! finds that a majority agrees on another one. It serves and applies nothing more, and tells all what its latest runs came to
//! (`disagreement.rs`). The leader finds the first that differs from its own, and proposes that its object goes into quarantine.
//! Half a second or more later 2 puts its state aside and joins anew; behind the others' snapshot the object runs nothing.
//!
//! *A crash of the leader.* The links break, another member leads within a few heartbeats. Each member gives it the whole
//! queue again, under the same numbers. What the old leader had committed is passed over. A command that was lost on the
//! way while a later one was applied can never be applied under its number: its member sees that, and gives it a new one.
//! The new leader's first command is a tick; when it is applied, sessions get their full time, and deadlines pass that
//! came meanwhile.
//!
//! *A crash of this member.* Its callers get no answers, and what it gave the leader may be applied. A client that has a
//! session or a key repeats the request at another member and finds the outcome, or the ticket. The next process of this
//! member has a higher number, by its clock. It gives a command as soon as it serves: with that what may still come of the
//! old one is passed over, and ticks cancel the waits of its callers that had neither session nor key.
//!
//! *A snapshot.* A member that lags takes over a state and has not seen what happened before it. Of its commands that the
//! state has passed, those with a session or a key are given again, under new numbers, and are answered what they were;
//! of the others the outcome is unknown. Tickets are looked up. Watches are told that events are lost.
//!
//! # Not done, and what that costs
//! - A member that dies leaves the waits of callers without session or key in the state until its next process starts, or
//!   their time runs out, an hour at the most. What they are granted meanwhile goes to nobody.
//! - Events are remembered by each member for itself: a watch that resumes elsewhere may be told that they are lost.
//! - Commands take turns in the order of their arrival, whoever sends them: a caller that fills the queue delays others.
//! - A run that differs at one member stops its object at all of them, also if that member's machine alone is to blame: nothing tells
//!   a fault of an engine from memory that a run has read and that had rotted.
//! - A query of 1,000 items is evaluated between commands, and holds them up for as long.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod addresses;
mod backups;
mod commands;
mod config;
mod core;
mod disagreement;
pub mod edge;
mod entry;
mod gone;
mod group;
mod history;
mod incarnation;
mod joined;
pub mod limits;
mod long_queries;
mod long_runs;
mod machine;
mod mailboxes;
mod message;
mod moments;
mod of_type;
pub mod query;
mod rates;
mod readiness;
pub mod revival;
mod sessions;
mod stamps;
mod status;
mod waiting;
mod waits;
mod watches;

pub use config::CoreConfig;
pub use core::Core;
pub use machine::{ObjectsMachine, ReplayedState, StateLoader, replay};
pub use message::{ADDRESS_BYTES_MAX, ObjectsMessage, RunsTold, is_address};
pub use status::CoreStatus;

/// What cores of different members say to each other.
pub type PeerMessage = consensus_replica::PeerMessage<ObjectsMessage>;

/// The highest feature level that this build understands.
pub const FEATURE_LEVEL: u32 = 10;

/// The feature level from which on there may be types of users.
pub const USER_TYPES_LEVEL: u32 = 2;

/// The feature level from which on the log says what members' engines make of a version, and objects of users' types go into
/// quarantine and back to earlier versions.
pub const VERDICTS_LEVEL: u32 = 3;

/// The feature level from which on there are tokens and rights.
pub const ACCESS_LEVEL: u32 = 6;

/// The feature level from which on objects are imported.
pub const IMPORT_LEVEL: u32 = 7;

/// A build that understands this level reads messages that tell where a member serves its clients.
pub const SERVES_LEVEL: u32 = 8;
/// The feature level from which on objects go into quarantine of which members came to different results.
pub const DISAGREED_LEVEL: u32 = 8;

/// The feature level from which on versions whose creations kill members create no more objects, until they are released.
pub const CREATIONS_LEVEL: u32 = 9;

/// The feature level from which on there are quotas and roles.
pub const QUOTAS_LEVEL: u32 = 9;

/// How many bytes a message of another member may have that begins like this: see
/// [`consensus_replica::peer_message_bytes_max`].
#[must_use]
pub fn peer_message_bytes_max(beginning: &[u8]) -> usize {
    consensus_replica::peer_message_bytes_max::<ObjectsMessage>(beginning, limits::COMMAND_BYTES_MAX)
}
