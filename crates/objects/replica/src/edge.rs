//! What an edge and the core of its member say to each other: plain data. An edge is a thread that serves HTTP.
//!
//! An edge numbers its requests; the top 16 bits of [`Origin::number`] are the edge's own number ([`origin`],
//! [`edge_of`]), so that the core knows whose mailbox an answer belongs to. The number names a request for as long as it
//! is open. A process begins anew without harm: answers to commands of an earlier process are not delivered.
//!
//! Each [`Request`] with an origin is answered by exactly one [`Answer::Done`], unless the edge says [`Request::Gone`]
//! before, or it is a watch or a backup that is not refused ([`Answer::Watching`], [`Answer::Backup`]). [`Answer::Parked`] may come before it, and more than once (the request was repeated meanwhile).
//!
//! The edge hashes tokens and the secrets of sessions. The core compares the hashes with what it knows: it has the state. The
//! edge alone knows who has shown a certificate, or the member's root token, and says so by the [`Principal`].

use std::borrow::Cow;

use base::{LogIndex, MonoTime};
use objects_state::guest::VersionHash;
use objects_state::{Command, Event, ObjectName, Origin, Outcome, Principal, SessionId, TypeId};

/// Bits of [`Origin::number`] that are the edge's.
const EDGE_SHIFT: u32 = 48;

/// The origin of an edge's request of that number, which must be below 2^48.
#[must_use]
pub const fn origin(member: u64, edge: u16, number: u64) -> Origin {
    Origin { member, number: ((edge as u64) << EDGE_SHIFT) | number & ((1 << EDGE_SHIFT) - 1) }
}

/// The edge to which an answer with this origin goes.
#[must_use]
pub const fn edge_of(origin: Origin) -> u16 {
    (origin.number >> EDGE_SHIFT) as u16
}

/// What stands for the number of a type that only the core knows: no type has it.
pub const UNKNOWN_TYPE: TypeId = TypeId(0);

/// A session as its client proves that it is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionProof {
    /// The session.
    pub session: SessionId,
    /// The hash of the secret that the client sent.
    pub secret_hash: [u8; 32],
}

/// How fresh the state must be that a query is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// It holds every command that was answered anywhere before the query came.
    Linearizable,
    /// This member's, at once. Refused with `no-leader` if the member has no lease from the leader.
    Stale,
}

/// What a query asks. All of it is answered by JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A method of an object that is a query.
    Method {
        /// Which object.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
        /// Whether an object that does not exist answers like one with nothing but defaults.
        create: bool,
        /// The method.
        method: Cow<'static, str>,
        /// A JSON object; nothing stands for none.
        args: Vec<u8>,
    },
    /// `{"type","name","incarnation","explicit","waiting","position","slot","group"}`, or `no-such-object`.
    Describe(ObjectName),
    /// `{"objects":[as described],"next":name or null}`.
    List {
        /// Of this type.
        kind: TypeId,
        /// Only names that begin so.
        prefix: String,
        /// Only names behind this one.
        after: Option<String>,
        /// At most so many; the core gives no more than 1,000.
        limit: u32,
    },
    /// The same of all types, in their order; `next` is `TYPE/NAME`.
    ListAll {
        /// Only names that begin so.
        prefix: String,
        /// Only objects behind this one, `TYPE/NAME`.
        after: Option<String>,
        /// At most so many; the core gives no more than 1,000.
        limit: u32,
    },
    /// `{"objects":[{"type","name","waiting","calls":[{"ticket","method","for","session","session_name","principal","since_ms",
    /// "until_ms"}],"more_calls","holders":[{"session","session_name","principal","holds","fence"}],"more_holders"}],"next",
    /// "position","stamp_ms"}`: the objects for which calls wait. `since_ms` is this member's own, to a second, and not
    /// there of what it did not apply itself.
    Waits {
        /// Of this type; nothing for all types, in their order.
        kind: Option<TypeId>,
        /// Only names that begin so.
        prefix: String,
        /// Only objects behind this one: a name, or `TYPE/NAME` of all types.
        after: Option<String>,
        /// At most so many; the core gives no more than 1,000.
        limit: u32,
    },
    /// `{"type","name","events":[{"id","event","session","position","at_ms","topic","body"}],"behind","latest","next"}`: what
    /// this member remembers of an object's events. All of them behind `behind` are there. A stream that resumes behind `latest`
    /// goes on from here.
    History {
        /// Which object, whether it is there or not.
        object: ObjectName,
        /// Only events behind this one.
        after: Option<EventId>,
    },
    /// `{"session","name","generation","ttl_ms","since","holdings","tickets","unacknowledged","floor"}`: for the principal
    /// that opened it, otherwise `forbidden`.
    Session(SessionId),
    /// `{"objects","sessions","waiting","keys","position","stamp_ms","digest","group","slots","members"}`: the group, and how
    /// much there is.
    Counts,
    /// Whether the member serves: how much there is for those who may see it, otherwise `{}`.
    Ready,
    /// `{"access","principal","allow","position"}`, and `"principals"` with `"next"` for those who administer.
    Access {
        /// Only principals behind this one.
        after: Option<String>,
    },
    /// `{"tokens":[{"number","principal","mark","since_ms","by","ends_ms"}],"position"}`.
    Tokens,
    /// `{"types":[as described],"position"}`: the types of users.
    Types,
    /// `{"name","built_in","version","versions":[{"version","state","rejected","since","module","objects"}],"description"}`
    /// of a type of users, or `no-such-type`. The description is that of the latest version, `null` if none is ready.
    Type(String),
    /// One version of a type of users, with its `description`.
    Version(String, VersionHash),
    /// An object as JSON, of which an import makes another one.
    Export {
        /// Which object.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
    },
    /// A snapshot of this member, of everything that was answered before: [`Answer::Backup`]. One at a time, otherwise `rate`. It is
    /// under way until the edge says [`Request::Gone`].
    Backup,
    /// What a migration would come to, tried on a copy at this member: `{"would_migrate","from","version","state_bytes",
    /// "pages"}`, without the last two if the object is of that version already, and with `"by":"layout"` in the place of `state_bytes` if its
    /// memory would go over as it is; or how it would be refused.
    TryMigration {
        /// Which object.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
        /// To which version.
        to: VersionHash,
    },
}

/// What a caller watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All that happens to an object.
    Object(ObjectName),
    /// All that happens to a session: what it acquires, gives back, loses, and its end.
    Session(SessionProof),
}

/// The name of an event: rising along the log. An SSE stream shows it as `position.ordinal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId {
    /// The position of its command.
    pub position: u64,
    /// Its place among the events of that command, from 0.
    pub ordinal: u32,
}

impl core::fmt::Display for EventId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.position, self.ordinal)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Something happened to an object.
    Object(Event),
    /// The session has ended. The watch ends with it.
    SessionEnded {
        /// Which one.
        session: SessionId,
        /// Whether its client was silent; otherwise it closed it.
        expired: bool,
    },
}

/// From an edge to the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A command of a client: a call, a batch, creation, deletion, a session's opening or closing, a ticket's cancellation.
    /// Its [`objects_state::Caller`] says who asks. What only a leader may command is refused.
    Command {
        /// The command.
        command: Command,
        /// The hash of the session's secret, if the identity is a session. A call that is let in by it counts as a sign of
        /// the session's client.
        secret_hash: Option<[u8; 32]>,
    },
    /// Reads.
    Query {
        /// Whom the answer goes to.
        origin: Origin,
        /// Who asks.
        principal: Principal,
        /// What.
        question: Question,
        /// On how fresh a state.
        consistency: Consistency,
        /// Not before the state has this position. Waits a bounded time for it.
        min_position: Option<u64>,
        /// A session whose client asks: counts as a sign of it. The wrong secret is refused.
        proof: Option<SessionProof>,
    },
    /// Collects a ticket: answered when it has ended, at once if it has. Until then [`Answer::Parked`].
    Collect {
        /// Whom the answer goes to.
        origin: Origin,
        /// Who asks: only the principal that made the call gets its result, and who administers everything.
        principal: Principal,
        /// The ticket.
        ticket: u64,
        /// The session whose client asks, if it says so: waiting for a call of its own keeps it. The wrong secret is refused.
        proof: Option<SessionProof>,
    },
    /// A client renews its session: `{"session","generation","ttl_ms"}`.
    Renew {
        /// Whom the answer goes to.
        origin: Origin,
        /// Who asks.
        principal: Principal,
        /// Which session.
        proof: SessionProof,
    },
    /// Clients of these sessions, authenticated before, were heard of, and when: those that send nothing but hold a
    /// connection open, for a stream of events or for the answer of a call that waits. Sent from time to time, and in answer to [`Answer::WhoWasHeard`] at once, even if there are none.
    Heard {
        /// Which edge says so.
        edge: u16,
        /// The round that is answered, if it is an answer.
        round: Option<u64>,
        /// Whom it heard of since it last said so.
        sessions: Vec<(SessionId, MonoTime)>,
    },
    /// Events of an object or a session, from now on or behind the one named, until the edge says [`Request::Gone`].
    Watch {
        /// Whom the events go to.
        origin: Origin,
        /// Who watches. The watch ends when it may not any more.
        principal: Principal,
        /// What is watched.
        subject: Subject,
        /// The last event that the client has seen. If the ones behind it are not kept any more, [`Answer::EventsLost`].
        after: Option<EventId>,
    },
    /// A request about objects of a type whose number the edge does not know: in it stands [`UNKNOWN_TYPE`]. A command that
    /// calls a query of a user's type is evaluated as one. Refused with `no-such-type` if there is none of that name.
    OfType {
        /// The type's name.
        type_name: String,
        /// What is asked.
        request: Box<Request>,
        /// On how fresh a state, if it turns out to be a query.
        consistency: Consistency,
        /// Not before the state has this position, likewise.
        min_position: Option<u64>,
        /// Whether its arguments are said to be bytes. Those of a method that takes bytes must be, unless there are none.
        is_bytes: bool,
    },
    /// A request with a token. Whatever principal stands in it, it is the token's. Refused with `unauthenticated` if there is
    /// no such token.
    ByToken {
        /// The SHA-256 of the token.
        hash: [u8; 32],
        /// What is asked.
        request: Box<Request>,
    },
    /// The connection of this request is gone, or the edge has answered by a ticket (202) and does not wait any more. A
    /// call that waits and has neither session nor key is cancelled by it, so an edge answers such a call with no ticket.
    Gone {
        /// Which request.
        origin: Origin,
    },
}

/// From the core to an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A request is answered, also with problems of this member (`no-leader`, `outcome-unknown`).
    Done {
        /// The request.
        origin: Origin,
        /// The position of the state that the answer was made on: what the caller may pass as `min_position`.
        position: u64,
        /// The answer.
        outcome: Outcome,
    },
    /// A call waits. Its answer comes when the ticket ends.
    Parked {
        /// The request.
        origin: Origin,
        /// The ticket.
        ticket: u64,
        /// The session for which the call waits, if its client is the one that asks: it is heard of for as long as the
        /// connection of this request is open ([`Request::Heard`]).
        keeps: Option<SessionId>,
    },
    /// A watch has begun. First of all that is said of it; a watch that is refused is answered by [`Answer::Done`].
    Watching {
        /// The watch.
        origin: Origin,
        /// The last event before those that follow, whatever it was about: what a client that has seen none may resume
        /// behind.
        id: EventId,
    },
    /// A watch's event.
    Event {
        /// The watch.
        origin: Origin,
        /// Its name.
        id: EventId,
        /// What happened.
        what: Happening,
    },
    /// Events of a watch were lost: they are not kept any more, or this member took over a snapshot. It goes on from here.
    EventsLost {
        /// The watch.
        origin: Origin,
    },
    /// A backup is on this member's disk: the snapshot whose last entry this is, or a newer one if that is gone. The edge sends it,
    /// and says [`Request::Gone`] when it has, or its client has gone. [`Answer::Done`] with a refusal may come before that: then the
    /// client may not have the rest.
    Backup {
        /// The request.
        origin: Origin,
        /// The last entry in it.
        index: LogIndex,
    },
    /// The core wants to know whom the edge's clients have been heard of: answered by [`Request::Heard`] with this round.
    WhoWasHeard {
        /// The round.
        round: u64,
    },
}

impl Request {
    /// Takes it out. What is left says nothing.
    pub(crate) const fn take(&mut self) -> Self {
        core::mem::replace(self, Self::Heard { edge: 0, round: None, sessions: Vec::new() })
    }

    /// The command that it brings, if it does.
    #[must_use]
    pub fn command(&self) -> Option<&Command> {
        match self {
            Self::Command { command, .. } => Some(command),
            Self::OfType { request, .. } | Self::ByToken { request, .. } => request.command(),
            _ => None,
        }
    }

    /// Who asks, if anybody does.
    #[must_use]
    pub const fn principal(&self) -> Option<&Principal> {
        match self {
            Self::Command { command, .. } => match command.caller() {
                Some(caller) => Some(&caller.principal),
                None => None,
            },
            Self::Query { principal, .. }
            | Self::Collect { principal, .. }
            | Self::Renew { principal, .. }
            | Self::Watch { principal, .. } => Some(principal),
            Self::OfType { request, .. } | Self::ByToken { request, .. } => request.principal(),
            Self::Gone { .. } | Self::Heard { .. } => None,
        }
    }

    /// The same, to be changed.
    pub fn principal_mut(&mut self) -> Option<&mut Principal> {
        match self {
            Self::Command { command, .. } => command.caller_mut().map(|caller| &mut caller.principal),
            Self::Query { principal, .. }
            | Self::Collect { principal, .. }
            | Self::Renew { principal, .. }
            | Self::Watch { principal, .. } => Some(principal),
            Self::OfType { request, .. } | Self::ByToken { request, .. } => request.principal_mut(),
            Self::Gone { .. } | Self::Heard { .. } => None,
        }
    }
}

/// Whom a request is to be answered to, if it is.
#[must_use]
pub const fn origin_of(request: &Request) -> Option<Origin> {
    match request {
        Request::Command { command, .. } => match command.caller() {
            Some(caller) => Some(caller.origin),
            None => None,
        },
        Request::Query { origin, .. }
        | Request::Collect { origin, .. }
        | Request::Renew { origin, .. }
        | Request::Watch { origin, .. }
        | Request::Gone { origin } => Some(*origin),
        Request::OfType { request, .. } | Request::ByToken { request, .. } => origin_of(request),
        Request::Heard { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_names_its_edge() {
        for edge in [0, 1, u16::MAX] {
            assert_eq!(edge_of(origin(3, edge, (1 << 48) - 1)), edge);
        }
    }
}
