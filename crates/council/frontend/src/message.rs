//! The messages between a shard and the core.
//!
//! Two ordered channels: one from each shard to the core, one stream back. The order of the stream is the order
//! that clients see: the changes of a transaction come before its outcome, a read that waited comes right behind
//! the outcome of the write that it waited for.

use base::MonoTime;
use net_event_loop::ConnId;
use std::sync::Arc;

use council_tree::{Change, IdentityList, Outcome, Policy};
use council_wire::{ErrorCode, OpCode, SessionId, Zxid};

/// From a shard to the core.
#[derive(Clone, Debug)]
pub enum ToCore {
    /// A client asks for a session. Answered by [`FromCore::Connected`] or [`FromCore::ConnectRefused`].
    Connect {
        /// The connection that asks.
        conn: ConnId,
        /// The session to take up, or 0 for a new one.
        session: SessionId,
        /// Its password.
        password: [u8; 16],
        /// The timeout to grant, already negotiated.
        timeout_ms: i32,
        /// What the client has seen; the shard has checked that this server has seen it too.
        last_zxid_seen: Zxid,
        /// Whether a read-only server will do.
        read_only: bool,
    },
    /// A write. Answered by [`FromCore::Outcome`], always: also when the session is gone, but then `SessionClosed`
    /// or `Moved` does as well.
    Command {
        /// The connection that sent it.
        conn: ConnId,
        /// Its session.
        session: SessionId,
        /// Of which connection of the session.
        generation: u32,
        /// The command's number on that connection, from 1 without gaps.
        sequence: u64,
        /// The request's number, by which its client knows it.
        xid: i32,
        /// What it asks for.
        opcode: OpCode,
        /// The encoded `council_tree::Command`, with the same origin inside.
        command: Vec<u8>,
    },
    /// A read behind a write (or a sync, or another such read) of its connection, and every sync. To be evaluated
    /// by `read::evaluate` once the write with sequence `after` is applied, in the order in which the
    /// connection sent them. Answered by [`FromCore::ReadDone`].
    Read {
        /// The connection that sent it.
        conn: ConnId,
        /// Its session.
        session: SessionId,
        /// The sequence of the last write that its connection sent before it; 0 if none.
        after: u64,
        /// The request's number.
        xid: i32,
        /// What it reads.
        opcode: OpCode,
        /// The request's body; it decodes.
        body: Vec<u8>,
        /// The client's identities when it sent the request.
        identities: IdentityList,
        /// Whether permissions are looked at.
        policy: Policy,
    },
    /// The answer to [`FromCore::TouchRound`].
    Touched {
        /// Which round.
        round: u64,
        /// Sessions whose clients sent something since the round before, and when.
        sessions: Vec<(SessionId, MonoTime)>,
    },
    /// A connection with a session is gone. The session stays until it expires.
    Disconnected {
        /// Which.
        conn: ConnId,
        /// The session that it had.
        session: SessionId,
        /// Which connection of the session it was.
        generation: u32,
        /// When its client last sent something. No later round reports it.
        heard: MonoTime,
    },
}

/// From the core to a shard.
#[derive(Clone, Debug)]
pub enum FromCore {
    /// What one transaction changed; to every shard, in the order of zxids, before its outcome.
    Changes(Arc<[Change]>),
    /// What became of a write; to the shard of its connection.
    Outcome {
        /// The connection that sent it.
        conn: ConnId,
        /// Its number on that connection.
        sequence: u64,
        /// Its own zxid; the last applied one if it took none.
        zxid: Zxid,
        /// The result.
        outcome: Outcome,
    },
    /// What a read that waited found.
    ReadDone {
        /// The connection that sent it.
        conn: ConnId,
        /// The request's number.
        xid: i32,
        /// The reply and the watches to leave, at this place of the stream.
        reply: Evaluated,
    },
    /// A session is open, or taken up.
    Connected {
        /// The connection that asked.
        conn: ConnId,
        /// The session.
        session: SessionId,
        /// Which connection of the session this is.
        generation: u32,
        /// The granted timeout.
        timeout_ms: i32,
        /// The session's password.
        password: [u8; 16],
        /// Whether this server is read-only.
        read_only: bool,
    },
    /// There is no session for this client here.
    ConnectRefused {
        /// The connection that asked.
        conn: ConnId,
        /// Why.
        reason: ConnectRefusal,
    },
    /// A session has a new connection; to every shard: those of older generations are cut.
    Moved {
        /// The session.
        session: SessionId,
        /// Which of its connections is the current one.
        generation: u32,
    },
    /// A session is closed or expired; to every shard, behind the changes that this made.
    SessionClosed {
        /// The session.
        session: SessionId,
        /// The transaction that closed it.
        zxid: Zxid,
    },
    /// Asks which sessions' clients have sent something: [`ToCore::Touched`].
    TouchRound {
        /// Which round.
        round: u64,
    },
    /// Whether writes can be taken: not while the disk is full.
    Writable(bool),
    /// Whether clients are served: not by a member that has had no contact with a leader for long. It disconnects its
    /// clients, which then connect to another member.
    Serving(bool),
    /// The tree was replaced as a whole, and the stream does not say what changed in it: every client must reconnect.
    TreeReplaced {
        /// The last transaction in it.
        zxid: Zxid,
    },
}

/// How many items may lie in the stream of a shard that need not be woken for any of them.
const UNREAD_MAX: usize = 64;

impl FromCore {
    /// Whether a shard that sleeps is to be woken for these items of its stream. What transactions changed concerns its
    /// clients only if they watch anything: else the shard reads it whenever it wakes next, before it answers anybody.
    /// `waiting` is how many items lie there already.
    #[must_use]
    pub fn wake_for(items: &[Self], watches: bool, waiting: usize) -> bool {
        watches
            || waiting + items.len() >= UNREAD_MAX
            || items.iter().any(|item| !matches!(item, Self::Changes(_)))
    }
}

/// Why a client gets no session here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectRefusal {
    /// The session is gone, or the password wrong: the response says so.
    Expired,
    /// The client has seen more than this server: it gets no response and tries another server.
    AheadOfServer,
    /// This server cannot open sessions now: the client gets no response and tries again.
    Closing,
}

/// A read's reply, to be put in its place later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The state that it shows.
    pub zxid: Zxid,
    /// What the reply's header says.
    pub error: ErrorCode,
    /// The whole frame.
    pub frame: Vec<u8>,
    /// Watches to leave when the reply is put in its place.
    pub watches: Vec<(Box<str>, WatchKind)>,
    /// Nodes read, and how many bytes of each.
    pub reads: Vec<(Box<str>, u64)>,
}

/// Which one-shot watch a read leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// On the node's data and existence.
    Data,
    /// On its children.
    Child,
}
