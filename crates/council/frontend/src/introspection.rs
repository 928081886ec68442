//! What the words `cons`, `stat`, `dump`, `wchs`, `wchc` and `wchp` list, as data: the format is the driver's.

use base::{MonoTime, WallTime};
use net_event_loop::ConnId;
use std::net::IpAddr;

use council_wire::{SessionId, Zxid};

use crate::connection::{Connection, Stage};
use crate::front::Front;

/// One connection, as `cons` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// Which.
    pub conn: ConnId,
    /// The client's address.
    pub ip: IpAddr,
    /// The client's port.
    pub port: u16,
    /// Whether it is encrypted.
    pub secure: bool,
    /// Whether its requests are read at the moment.
    pub reading: bool,
    /// `queued`: requests without a reply.
    pub queued: usize,
    /// `recved`: frames received.
    pub received: u64,
    /// `sent`: frames queued for sending.
    pub sent: u64,
    /// `sid`: its session, 0 while it has none.
    pub session: SessionId,
    /// `lop`: its last operation, in ZooKeeper's four letters.
    pub last_operation: &'static str,
    /// `est`: when it was accepted.
    pub established: WallTime,
    /// `to`: its session's timeout.
    pub timeout_ms: i32,
    /// `lcxid`: the last xid that was not negative, or -1.
    pub last_xid: i32,
    /// `lzxid`: the zxid of the last reply, or -1.
    pub last_zxid: Zxid,
    /// `lresp`: when the last reply was queued.
    pub last_response: MonoTime,
    /// `llat`: how long that one took.
    pub last_latency_ms: u32,
    /// `minlat`.
    pub latency_min_ms: u32,
    /// `avglat`.
    pub latency_average_ms: u64,
    /// `maxlat`.
    pub latency_max_ms: u32,
    /// Bytes that wait to be sent.
    pub output_bytes: usize,
    /// Paths watched.
    pub watches: usize,
}

/// What `wchs` says: data watches only, as in ZooKeeper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchSummary {
    /// Connections that watch.
    pub connections: usize,
    /// Paths that are watched.
    pub paths: usize,
    /// Pairs of the two.
    pub watches: usize,
}

impl Front {
    /// All connections, those without a session included.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionInfo> + '_ {
        self.connections
            .iter()
            .filter(|connection| connection.stage != Stage::Closing)
            .map(|one| self.info(one))
    }

    /// Sessions of this shard and the connection that each has.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, ConnId)> + '_ {
        self.common.sessions.iter().map(|(session, conn)| (*session, *conn))
    }

    /// Each session with data watches, and their paths.
    pub fn watches_by_session(&self) -> impl Iterator<Item = (SessionId, impl Iterator<Item = &str>)> {
        self.connections.iter().filter_map(|connection| {
            let slot = connection.id.slot;
            self.common.watching.table.data_paths_of(slot).next()?;
            Some((connection.session, self.common.watching.table.data_paths_of(slot)))
        })
    }

    /// Each path with data watches, and the sessions that hold them.
    pub fn watches_by_path(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = SessionId>)> {
        self.common.watching.table.data_watchers().map(|(path, slots)| {
            let session = |slot| self.connections.at(slot).map(|connection| connection.session);
            (path, slots.filter_map(session))
        })
    }

    /// How much is watched.
    #[must_use]
    pub fn watch_summary(&self) -> WatchSummary {
        WatchSummary {
            connections: self.watches_by_session().count(),
            paths: self.common.watching.table.data_watchers().count(),
            watches: self.common.watching.table.counts().data,
        }
    }

    fn info(&self, connection: &Connection) -> ConnectionInfo {
        let stats = &connection.stats;
        ConnectionInfo {
            conn: connection.id,
            ip: connection.peer.ip,
            port: connection.peer.port,
            secure: connection.peer.secure,
            reading: !connection.paused && connection.stage != Stage::Connecting,
            queued: connection.outstanding(),
            received: stats.received,
            sent: stats.sent,
            session: connection.session,
            last_operation: stats.last_operation,
            established: stats.established,
            timeout_ms: connection.timeout_ms,
            last_xid: stats.last_xid,
            last_zxid: stats.last_zxid,
            last_response: stats.last_response,
            last_latency_ms: stats.last_latency_ms,
            latency_min_ms: if stats.answered == 0 { 0 } else { stats.latency_min_ms },
            latency_average_ms: stats.latency_total_ms.checked_div(stats.answered).unwrap_or(0),
            latency_max_ms: stats.latency_max_ms,
            output_bytes: connection.output.len(),
            watches: self.common.watching.table.paths_watched_by(connection.id.slot),
        }
    }
}
