//! What a front wants of the driver, besides bytes to send and messages to pass on.

use net_event_loop::ConnId;
use std::net::IpAddr;
use std::sync::Arc;

use council_tree::Excess;
use council_wire::{SessionId, Zxid};

/// Something for the driver to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontEvent {
    /// Close the connection, then call [`crate::Front::disconnected`].
    Close {
        /// Which.
        conn: ConnId,
        /// Why.
        reason: CloseReason,
        /// Whether what is queued for it is to be sent first.
        after_output: bool,
    },
    /// A four-letter word; answer with [`crate::Front::word_reply`].
    Word {
        /// The connection that asks.
        conn: ConnId,
        /// The word.
        word: [u8; 4],
        /// The number behind it, for a word that takes one.
        argument: Option<i64>,
    },
    /// Read no more from this connection's socket.
    PauseReading(ConnId),
    /// Hand over again what was not consumed, then read on.
    ResumeReading(ConnId),
    /// A line of the audit log; only when that is on.
    Audit(Box<AuditRecord>),
    /// A write was refused because it would have cost too much to apply. Worth a line in the log, though not each time.
    WriteTooCostly {
        /// The client's session.
        session: SessionId,
        /// The address of its client.
        ip: IpAddr,
        /// Which limit it would have broken.
        excess: Excess,
    },
    /// A client is about to be disconnected, because it could not be authenticated.
    AuthFailed {
        /// Which.
        conn: ConnId,
        /// The scheme that it named, cut short; none if it showed nothing where something is demanded.
        scheme: Option<Box<str>>,
    },
    /// A client showed a wrong password of the super user, or one that was not looked at: it is connected, without the
    /// rights. Worth a line in the log, though not each time.
    SuperRefused {
        /// The address of the client.
        ip: IpAddr,
        /// Too many wrong ones came from there: how long until the next is looked at, milliseconds.
        wait_ms: Option<u64>,
    },
    /// A client came back with persistent watches after so long that the history of changes does not reach back:
    /// it may have missed some. Worth a line in the log.
    HistoryTooShort {
        /// The client's session.
        session: SessionId,
        /// What the client has seen.
        seen: Zxid,
        /// Where the history starts.
        since: Zxid,
    },
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The client closed its session.
    ClientClosedSession,
    /// A four-letter word has been answered.
    InfoProbe,
    /// There are as many connections already as may be, in all or from this address.
    ConnectionLimit,
    /// What came is not the protocol.
    Malformed,
    /// A request beyond all limits.
    TooLarge,
    /// No session within the time for that.
    HandshakeTimeout,
    /// The client has seen transactions that this server has not.
    ZxidAhead,
    /// The session is not known, or the password wrong.
    SessionExpired,
    /// The session was closed or expired while it was connected.
    SessionClosed,
    /// The session has a newer connection.
    SessionMoved,
    /// Authentication failed, or is demanded and missing.
    AuthFailed,
    /// An operation that does not exist.
    UnknownOperation,
    /// The client does not read its replies.
    SlowClient,
    /// More watches at once than a connection may have.
    TooManyWatches,
    /// This server opens no sessions now.
    NotServing,
    /// The connection's commands no longer count, or the core contradicted itself.
    OutOfStep,
}

impl CloseReason {
    /// All of them, in order.
    pub const ALL: [Self; 16] = [
        Self::ClientClosedSession,
        Self::InfoProbe,
        Self::ConnectionLimit,
        Self::Malformed,
        Self::TooLarge,
        Self::HandshakeTimeout,
        Self::ZxidAhead,
        Self::SessionExpired,
        Self::SessionClosed,
        Self::SessionMoved,
        Self::AuthFailed,
        Self::UnknownOperation,
        Self::SlowClient,
        Self::TooManyWatches,
        Self::NotServing,
        Self::OutOfStep,
    ];

    /// A word for logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientClosedSession => "client_closed_session",
            Self::InfoProbe => "info_probe",
            Self::ConnectionLimit => "connection_limit",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::HandshakeTimeout => "handshake_timeout",
            Self::ZxidAhead => "client_zxid_ahead",
            Self::SessionExpired => "session_expired",
            Self::SessionClosed => "session_closed",
            Self::SessionMoved => "session_moved",
            Self::AuthFailed => "auth_failed",
            Self::UnknownOperation => "unknown_operation",
            Self::SlowClient => "slow_client",
            Self::TooManyWatches => "too_many_watches",
            Self::NotServing => "not_serving",
            Self::OutOfStep => "out_of_step",
        }
    }
}

/// What a client did or tried, in the terms of ZooKeeper's audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// The client's session.
    pub session: SessionId,
    /// The users of the connection, joined by commas; ZooKeeper counts the address among them. All records of one
    /// multi share it: there may be thousands, and it may be long.
    pub user: Arc<str>,
    /// Where from.
    pub ip: IpAddr,
    /// `create`, `delete`, `setData`, `setAcl`, `multiOperation`, `reconfig`.
    pub operation: &'static str,
    /// The node, if it is known.
    pub znode: Option<String>,
    /// `persistent`, `ephemeral_sequential`, ...
    pub znode_type: Option<&'static str>,
    /// The ACL set, as ZooKeeper's tools write it.
    pub acl: Option<String>,
    /// Whether it was done.
    pub success: bool,
}
