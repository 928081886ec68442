//! Counters: of one connection as the word `cons` shows them, of a shard as metrics want them.
//!
//! Plain fields. The code that shows them adds them up. Knows no format.

use council_wire::{OpCode, Zxid};

use crate::event::CloseReason;
use crate::namespace_stats::Namespaces;
use crate::tally::Tally;
use base::{MonoTime, Now, WallTime};

/// What one connection has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionStats {
    pub(crate) established: WallTime,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) last_operation: &'static str,
    pub(crate) last_xid: i32,
    pub(crate) last_zxid: Zxid,
    pub(crate) last_response: MonoTime,
    pub(crate) last_latency_ms: u32,
    pub(crate) latency_min_ms: u32,
    pub(crate) latency_max_ms: u32,
    pub(crate) latency_total_ms: u64,
    pub(crate) answered: u64,
}

impl ConnectionStats {
    pub(crate) const fn new(established: WallTime) -> Self {
        Self {
            established,
            received: 0,
            sent: 0,
            last_operation: "NA",
            // As a connection of ZooKeeper's: 0 before the first request, and -1 only after `crst`.
            last_xid: 0,
            last_zxid: Zxid(-1),
            last_response: MonoTime::ZERO,
            last_latency_ms: 0,
            latency_min_ms: u32::MAX,
            latency_max_ms: 0,
            latency_total_ms: 0,
            answered: 0,
        }
    }

    /// Forgets what was counted (`crst`).
    pub(crate) const fn reset(&mut self) {
        *self = Self { last_xid: -1, ..Self::new(self.established) };
    }

    /// A request was answered. Special xids are not remembered: people look for the client's last real operation.
    pub(crate) fn answer(
        &mut self,
        operation: &'static str,
        xid: i32,
        zxid: Zxid,
        latency_us: u64,
        now: Now,
    ) {
        if xid >= 0 {
            self.last_xid = xid;
        }
        self.last_zxid = zxid;
        self.last_operation = operation;
        self.last_response = now.mono();
        let latency = u32::try_from(latency_us / 1000).unwrap_or(u32::MAX);
        self.last_latency_ms = latency;
        self.latency_min_ms = self.latency_min_ms.min(latency);
        self.latency_max_ms = self.latency_max_ms.max(latency);
        self.latency_total_ms += u64::from(latency);
        self.answered += 1;
    }
}

/// How large replies and events are, in bytes; all 0 while there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseSizes {
    /// Of the last one.
    pub last: usize,
    /// Of the smallest.
    pub min: usize,
    /// Of the largest.
    pub max: usize,
}

impl ResponseSizes {
    pub(crate) fn record(&mut self, bytes: usize) {
        self.last = bytes;
        self.min = if self.max == 0 { bytes } else { self.min.min(bytes) };
        self.max = self.max.max(bytes);
    }
}

/// What a shard has done since it started (or since [`crate::Front::reset_stats`]), and how much it holds.
#[derive(Clone, Debug)]
pub struct FrontStats {
    /// Frames received.
    pub packets_received: u64,
    /// Frames queued for sending, events included.
    pub packets_sent: u64,
    /// `last_client_response_size` and its like.
    pub responses: ResponseSizes,
    /// Bytes of requests, with their length fields.
    pub bytes_received: u64,
    /// Bytes handed to sockets.
    pub bytes_sent: u64,
    /// Bytes of replies to requests, without their length fields.
    pub reply_bytes: u64,
    /// Bytes of watch events, without their length fields.
    pub event_bytes: u64,
    /// Requests answered, by [`operation_index`].
    pub operations: [u64; OPERATIONS],
    /// From receiving a request to queueing its reply, in microseconds, by [`operation_index`]. A read that is answered at once takes
    /// no time on this clock, which is read once a batch.
    pub latencies: Vec<Tally>,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections closed by us, by the order of [`CloseReason`]'s variants.
    pub connections_closed: [u64; CLOSE_REASONS],
    /// Connections refused for a limit.
    pub connections_refused: u64,
    /// Connections whose client went away without closing its session.
    pub connections_lost: u64,
    /// Handshakes: requests for a session, new or taken up again.
    pub session_requests: u64,
    /// Sessions taken up again.
    pub sessions_resumed: u64,
    /// Requests of an existing operation that did not decode.
    pub malformed: u64,
    /// Requests refused for their size.
    pub oversized: u64,
    /// Writes refused while the disk was full.
    pub refused_unwritable: u64,
    /// Writes refused because they would cost too much to apply.
    pub refused_costly: u64,
    /// Authentications that failed.
    pub auth_failed: u64,
    /// Wrong passwords of the super user.
    pub super_passwords_wrong: u64,
    /// Passwords of the super user that were not looked at, because too many wrong ones came from the same address.
    pub super_passwords_unheard: u64,
    /// Requests refused because enforced authentication was missing.
    pub auth_missing: u64,
    /// Clients that named this ensemble.
    pub ensemble_named: u64,
    /// Clients that named another ensemble.
    pub ensemble_misnamed: u64,
    /// Clients that named no ensemble.
    pub ensemble_unnamed: u64,
    /// Outcomes whose connection was gone.
    pub outcomes_unclaimed: u64,
    /// Times that a connection was paused for one limit or other.
    pub pauses: u64,
    /// Requests for watches refused for a limit.
    pub watches_refused: u64,
    /// Events queued because a node was created.
    pub events_created: u64,
    /// Events queued because a node was deleted.
    pub events_deleted: u64,
    /// Events queued because a node's data changed.
    pub events_data_changed: u64,
    /// Events queued because a node's children changed.
    pub events_children_changed: u64,
    /// How many watchers one creation had.
    pub watchers_created: Tally,
    /// How many watchers one deletion had.
    pub watchers_deleted: Tally,
    /// How many watchers one change of data had.
    pub watchers_data_changed: Tally,
    /// How many watchers one change of children had.
    pub watchers_children_changed: Tally,
    /// What was read, by the first name of its path.
    pub reads: Namespaces,
    /// Events not queued because their receiver may not read the node.
    pub events_filtered: u64,
    /// Events queued by setWatches, catching up included.
    pub events_on_reconnect: u64,
    /// Of those, events that only the history of changes shows.
    pub events_caught_up: u64,
    /// Reconnections with persistent watches for which the history did not reach back.
    pub history_too_short: u64,
    /// Requests now waiting for the core.
    pub outstanding: usize,
    /// Bytes of requests now under way.
    pub in_flight_bytes: usize,
    /// Bytes of replies and events now that no socket has taken yet.
    pub unsent_bytes: usize,
    /// Connections now.
    pub connections: usize,
    /// Connections with a session now.
    pub sessions: usize,
    /// Watches now, counted as ZooKeeper's `watch_count` does: data watches and child watches, persistent ones twice.
    pub watch_count: usize,
    /// Connections now that watch something in the table of data watches... as `wchs` counts paths.
    pub watched_paths: usize,
    /// An estimate of the memory of all watches.
    pub watch_bytes: usize,
    /// Bytes of the history of changes.
    pub history_bytes: usize,
}

impl FrontStats {
    /// The latencies of all writes together, or of everything else.
    #[must_use]
    pub fn latency(&self, writes: bool) -> Tally {
        let mut all = Tally::default();
        for opcode in OpCode::ALL.iter().filter(|opcode| opcode.is_write() == writes) {
            if let Some(one) = self.latencies.get(operation_index(*opcode)) {
                all.add(one);
            }
        }
        all
    }
}

/// Places in [`FrontStats::operations`] and [`FrontStats::latencies`].
pub const OPERATIONS: usize = 128;
/// Places in [`FrontStats::connections_closed`].
pub const CLOSE_REASONS: usize = CloseReason::ALL.len();

/// Where an operation is counted.
#[must_use]
pub const fn operation_index(opcode: OpCode) -> usize {
    let code = opcode.code();
    if code < 0 { (110 - code) as usize } else { code as usize }
}

/// ZooKeeper's four letters for an operation, as `cons` shows them.
pub(crate) const fn short_name(opcode: OpCode) -> &'static str {
    match opcode {
        OpCode::Create | OpCode::Create2 | OpCode::CreateTtl | OpCode::CreateContainer => "CREA",
        OpCode::Delete | OpCode::DeleteContainer => "DELE",
        OpCode::Exists => "EXIS",
        OpCode::GetData => "GETD",
        OpCode::SetData => "SETD",
        OpCode::GetAcl => "GETA",
        OpCode::SetAcl => "SETA",
        OpCode::GetChildren | OpCode::GetChildren2 => "GETC",
        OpCode::Sync => "SYNC",
        OpCode::Ping => "PING",
        OpCode::Check => "CHEC",
        OpCode::Multi => "MULT",
        OpCode::MultiRead => "MLTR",
        OpCode::Reconfig => "RECO",
        OpCode::CheckWatches => "CHKW",
        OpCode::RemoveWatches => "REMW",
        OpCode::SetWatches => "SETW",
        OpCode::SetWatches2 => "STW2",
        OpCode::AddWatch => "ADDW",
        OpCode::WhoAmI => "HOMI",
        OpCode::GetEphemerals => "GETE",
        OpCode::GetAllChildrenNumber => "GETACN",
        OpCode::CreateSession => "SESS",
        OpCode::CloseSession => "CLOS",
        OpCode::Auth | OpCode::Sasl => "NA",
    }
}

impl Default for FrontStats {
    #[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
    fn default() -> Self {
        Self {
            packets_received: 0,
            packets_sent: 0,
            responses: ResponseSizes::default(),
            bytes_received: 0,
            bytes_sent: 0,
            reply_bytes: 0,
            event_bytes: 0,
            operations: [0; OPERATIONS],
            latencies: vec![Tally::default(); OPERATIONS],
            connections_accepted: 0,
            connections_closed: [0; CLOSE_REASONS],
            connections_refused: 0,
            connections_lost: 0,
            session_requests: 0,
            sessions_resumed: 0,
            malformed: 0,
            oversized: 0,
            refused_unwritable: 0,
            refused_costly: 0,
            auth_failed: 0,
            super_passwords_wrong: 0,
            super_passwords_unheard: 0,
            auth_missing: 0,
            ensemble_named: 0,
            ensemble_misnamed: 0,
            ensemble_unnamed: 0,
            outcomes_unclaimed: 0,
            pauses: 0,
            watches_refused: 0,
            events_created: 0,
            events_deleted: 0,
            events_data_changed: 0,
            events_children_changed: 0,
            watchers_created: Tally::default(),
            watchers_deleted: Tally::default(),
            watchers_data_changed: Tally::default(),
            watchers_children_changed: Tally::default(),
            reads: Namespaces::default(),
            events_filtered: 0,
            events_on_reconnect: 0,
            events_caught_up: 0,
            history_too_short: 0,
            outstanding: 0,
            in_flight_bytes: 0,
            unsent_bytes: 0,
            connections: 0,
            sessions: 0,
            watch_count: 0,
            watched_paths: 0,
            watch_bytes: 0,
            history_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_own_place() {
        let mut places: Vec<_> = OpCode::ALL.iter().map(|opcode| operation_index(*opcode)).collect();
        assert!(places.iter().all(|place| *place < OPERATIONS));
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), OpCode::ALL.len());
    }

    #[test]
    fn every_reason_to_close_has_its_own_place() {
        assert!(CloseReason::ALL.iter().enumerate().all(|(place, reason)| *reason as usize == place));
    }

    #[test]
    fn sizes_keep_their_extremes() {
        let mut sizes = ResponseSizes::default();
        [20, 16, 100, 36].into_iter().for_each(|bytes| sizes.record(bytes));
        assert_eq!(sizes, ResponseSizes { last: 36, min: 16, max: 100 });
    }

    #[test]
    fn reads_and_writes_are_added_up_apart() {
        let mut stats = FrontStats::default();
        for (opcode, us) in [(OpCode::Create, 5), (OpCode::SetData, 7), (OpCode::GetData, 1)] {
            stats.latencies[operation_index(opcode)].record(us);
        }
        let (writes, reads) = (stats.latency(true), stats.latency(false));
        assert_eq!((writes.count, writes.min, writes.max, writes.sum), (2, 5, 7, 12));
        assert_eq!((reads.count, reads.sum), (1, 1));
    }
}
