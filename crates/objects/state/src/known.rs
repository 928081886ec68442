//! What a state tells of objects, of versions of types and of tickets.

use base::WallTime;

use crate::command::{ObjectName, SessionId, TypeId};
use crate::guest::VersionHash;
use crate::problem::Outcome;

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name.
    pub object: ObjectName,
    /// The position of its creation.
    pub incarnation: u64,
    /// Whether it was created on purpose.
    pub explicit: bool,
    /// Calls that wait for it.
    pub waiting: u32,
    /// More, if its type is a user's.
    pub user: Option<UserObject>,
}

/// What is known of an object of a user's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserObject {
    /// The version whose module it runs.
    pub version: VersionHash,
    /// Whether a run of its module is under way that takes long, or something waits behind one.
    pub is_busy: bool,
    /// Why it is in quarantine, if it is.
    pub quarantined: Option<String>,
    /// The version that it can be taken back to, if what it was before its migration is kept.
    pub before: Option<VersionHash>,
    /// Bytes of its memory that differ from the version's image.
    pub memory_bytes: u64,
    /// Runs that nobody called (timers, ends of waits and sessions) and that failed: each changed nothing.
    pub failures: u64,
    /// Why the last of them failed.
    pub last_failure: Option<String>,
}

/// How a version stands of which engines may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Members make it ready.
    Preparing,
    /// Its objects are run.
    Ready,
    /// Its objects are not run: a member's build rejects it.
    Closed,
}

/// A version of which engines may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenVersion {
    /// Its type.
    pub kind: TypeId,
    /// The type's name.
    pub name: String,
    /// Its own name.
    pub hash: VersionHash,
    /// How it stands.
    pub stage: Stage,
}

/// What is known of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketState {
    /// Its call waits.
    Waits {
        /// For this object.
        object: ObjectName,
        /// Its session.
        session: Option<SessionId>,
        /// Who made the call: nobody else gets its result.
        principal: String,
        /// When its time runs out.
        deadline: Option<WallTime>,
    },
    /// Its call has ended.
    Ended {
        /// Who made the call.
        principal: String,
        /// How.
        outcome: Outcome,
    },
}
