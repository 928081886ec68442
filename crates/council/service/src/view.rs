//! What a server shows of itself, as plain data: filled by those who know, written out as text or as JSON.

use base::{MonoTime, WallTime};
use std::collections::BTreeMap;
use std::net::SocketAddr;

use council_wire::Zxid;

use crate::counters::leadership::ProposalSizes;
use crate::ensemble::EnsembleView;

/// One connection.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionView {
    pub(crate) peer: SocketAddr,
    pub(crate) secure: bool,
    /// The poll's interest as Java's NIO counts it: 1 reading, 5 reading and writing, 0 neither.
    pub(crate) interest: u8,
    pub(crate) queued: u64,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) established: WallTime,
    pub(crate) session: Option<SessionView>,
}

/// What is known of a connection once it holds a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionView {
    pub(crate) id: i64,
    /// Four letters, `NA` before the first request.
    pub(crate) last_operation: &'static str,
    pub(crate) timeout_ms: i32,
    /// Negative before the first request.
    pub(crate) last_cxid: i64,
    /// -1 before the first reply.
    pub(crate) last_zxid: Zxid,
    pub(crate) last_response: MonoTime,
    pub(crate) last_latency_ms: u64,
    pub(crate) latency: LatencyView,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LatencyView {
    pub(crate) min: u64,
    pub(crate) mean: f64,
    pub(crate) max: u64,
}

/// What `srvr` shows.
#[derive(Clone, Debug)]
pub(crate) struct ServerView {
    pub(crate) latency: LatencyView,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) connections: u64,
    pub(crate) outstanding: u64,
    pub(crate) zxid: Zxid,
    pub(crate) mode: &'static str,
    /// On a leader: of what it has proposed, once it has.
    pub(crate) proposal_sizes: Option<Option<ProposalSizes>>,
    pub(crate) node_count: u64,
}

/// What `dump` shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct DumpView {
    /// When sessions end, and which.
    pub(crate) sessions: BTreeMap<WallTime, Vec<i64>>,
    /// Ephemeral nodes by session.
    pub(crate) ephemerals: BTreeMap<i64, Vec<String>>,
    /// When connections end, with their peers and sessions (0: none yet).
    pub(crate) connections: BTreeMap<WallTime, Vec<(SocketAddr, i64)>>,
}

/// Who watches what.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchView {
    pub(crate) by_session: BTreeMap<i64, Vec<String>>,
}

impl WatchView {
    /// The same, from the paths' side.
    pub(crate) fn by_path(&self) -> BTreeMap<&str, Vec<i64>> {
        let mut paths: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for (session, watched) in &self.by_session {
            for path in watched {
                paths.entry(path).or_default().push(*session);
            }
        }
        paths
    }
}

/// How many watch how much.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchSummary {
    pub(crate) connections: u64,
    pub(crate) paths: u64,
    pub(crate) watches: u64,
}

/// What `conf` shows.
#[derive(Clone, Debug)]
pub(crate) struct ConfigurationView {
    pub(crate) client_port: i32,
    pub(crate) secure_client_port: i32,
    pub(crate) data_dir: String,
    pub(crate) data_dir_bytes: u64,
    pub(crate) log_dir: String,
    pub(crate) log_dir_bytes: u64,
    pub(crate) tick_ms: u32,
    pub(crate) connections_per_ip_max: u32,
    pub(crate) timeout_min_ms: u32,
    pub(crate) timeout_max_ms: u32,
    pub(crate) backlog: i64,
    pub(crate) server_id: u64,
    pub(crate) ensemble: Option<EnsembleView>,
}
