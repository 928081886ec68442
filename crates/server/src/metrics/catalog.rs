//! The list of metrics: ZooKeeper's names first, so that dashboards and alerts made for it go on working, then ours.
//!
//! Names that stand for something that does not exist here (its processors' queues, its caches, its JVM) are left
//! out rather than shown as 0.

use front::{CLOSE_REASONS, FrontStats, LatencyHistogram, operation_index};
use jute::OpCode;
use member::CoreStatus;

use super::histogram::Distribution;
use super::sample::Sample;
use super::{CoreMetrics, JournalMetrics, StartMetrics, process};

/// Everything that is known at one moment.
pub(crate) struct Knowledge<'a> {
    /// Added up over all shards.
    pub(crate) front: FrontStats,
    pub(crate) core: CoreStatus,
    pub(crate) journal: &'a JournalMetrics,
    pub(crate) core_metrics: &'a CoreMetrics,
    pub(crate) start: StartMetrics,
    pub(crate) node_count: u64,
    pub(crate) ephemeral_count: u64,
    pub(crate) acl_count: u64,
    pub(crate) data_bytes: i64,
    pub(crate) uptime_ms: u64,
    pub(crate) rejected: u64,
    pub(crate) throttled: u64,
    pub(crate) answered_in_time: bool,
}

/// All metrics.
pub(crate) fn samples(known: &Knowledge<'_>) -> Vec<Sample> {
    let mut all = zookeepers(known);
    all.extend(zookeepers_distributions(known));
    all.extend(operations(&known.front));
    all.extend(shards(&known.front));
    all.extend(core(known));
    all.extend(disk(known));
    all.extend(of_process());
    all
}

/// The latencies of reads and writes together, as `srvr` shows them.
pub(crate) fn all_latencies(front: &FrontStats) -> Distribution {
    let mut all = distribution(&front.latency(false), 1);
    all.add(&distribution(&front.latency(true), 1));
    all
}

fn zookeepers(known: &Knowledge<'_>) -> Vec<Sample> {
    let Knowledge { front, core, .. } = known;
    let latency = all_latencies(front);
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let big = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut list = vec![
        Sample::gauge("znode_count", "Nodes of the tree", big(known.node_count)),
        Sample::gauge("ephemerals_count", "Ephemeral nodes", big(known.ephemeral_count)),
        Sample::gauge("approximate_data_size", "Bytes of all paths and data", known.data_bytes),
        Sample::gauge("watch_count", "Watches, data and child together", whole(front.watch_count)),
        Sample::gauge("watch_bytes", "Estimated memory of all watches, bytes", whole(front.watch_bytes)),
        Sample::gauge("num_alive_connections", "Connections", whole(front.connections)),
        Sample::gauge("global_sessions", "Sessions of the ensemble", whole(core.sessions)),
        Sample::gauge("local_sessions", "Local sessions", 0),
        Sample::gauge("outstanding_requests", "Requests that wait for an answer", whole(front.outstanding)),
        Sample::fraction("avg_latency", "Mean latency of requests, ms", latency.mean() / 1e3),
        Sample::gauge("min_latency", "Shortest latency of a request, ms", big(latency.min / 1000)),
        Sample::gauge("max_latency", "Longest latency of a request, ms", big(latency.max / 1000)),
        Sample::gauge("packets_received", "Frames received", big(front.packets_received)),
        Sample::gauge("packets_sent", "Frames sent", big(front.packets_sent)),
        Sample::gauge(
            "last_client_response_size",
            "Bytes of the last reply",
            size(front, front.responses.last),
        ),
        Sample::gauge(
            "min_client_response_size",
            "Bytes of the smallest reply",
            size(front, front.responses.min),
        ),
        Sample::gauge(
            "max_client_response_size",
            "Bytes of the largest reply",
            size(front, front.responses.max),
        ),
        Sample::gauge("uptime", "Milliseconds since the start", big(known.uptime_ms)),
        Sample::counter("bytes_received_count", "Bytes of requests received", front.bytes_received),
        Sample::counter("response_bytes", "Bytes of replies sent", front.bytes_sent),
        Sample::counter("connection_request_count", "Connections accepted", front.connections_accepted),
        Sample::counter(
            "connection_rejected",
            "Connections refused because there were too many",
            known.rejected + front.connections_refused,
        ),
        Sample::counter("connection_drop_count", "Connections closed by the server", closed(front)),
        Sample::counter(
            "connection_throttled",
            "Connections refused because too many came at once",
            known.throttled,
        ),
        Sample::counter("connection_revalidate_count", "Sessions taken up again", front.sessions_resumed),
        Sample::counter("auth_failed_count", "Authentications that failed", front.auth_failed),
        Sample::counter("large_requests_rejected", "Requests refused for their size", front.oversized),
        Sample::counter(
            "sessionless_connections_expired",
            "Connections closed because they opened no session in time",
            front.connections_closed.get(front::CloseReason::HandshakeTimeout as usize).copied().unwrap_or(0),
        ),
        Sample::counter("stale_sessions_expired", "Sessions expired", core.expired),
        Sample::counter("snap_count", "Snapshots taken", known.journal.snapshot_us.snapshot().count),
        Sample::counter("snapshot_error_count", "Snapshots that failed", known.journal.snapshots_failed()),
        Sample::counter(
            "fsync_threshold_exceed_count",
            "Flushes that took longer than fsync.warningthresholdms",
            known.journal.slow_flushes(),
        ),
    ];
    if let (Some(open), Some(max)) = (process::open_descriptors(), process::descriptors_max()) {
        list.push(Sample::gauge("open_file_descriptor_count", "Descriptors open", big(open)));
        list.push(Sample::gauge("max_file_descriptor_count", "Descriptors that may be open", big(max)));
    }
    list
}

fn zookeepers_distributions(known: &Knowledge<'_>) -> Vec<Sample> {
    let Knowledge { front, journal, start, .. } = known;
    let one = |value: u64| {
        let histogram = super::histogram::Histogram::default();
        histogram.record(value);
        histogram.snapshot()
    };
    vec![
        Sample::detailed("readlatency", "Latency of reads, ms", distribution(&front.latency(false), 1000)),
        Sample::detailed("updatelatency", "Latency of writes, ms", distribution(&front.latency(true), 1000)),
        Sample::summary(
            "fsynctime",
            "Time of a flush of the log, ms",
            journal.flush_us.snapshot().scaled(1000),
        ),
        Sample::summary(
            "snapshottime",
            "Time of a snapshot, ms",
            journal.snapshot_us.snapshot().scaled(1000),
        ),
        Sample::summary(
            "sync_processor_batch_size",
            "Entries per flush",
            journal.entries_per_flush.snapshot(),
        ),
        Sample::summary(
            "startup_snap_load_time",
            "Loading the snapshot at the start, ms",
            one(start.snapshot_load_ms),
        ),
        Sample::summary("startup_txns_loaded", "Entries of the log at the start", one(start.entries_loaded)),
        Sample::summary(
            "startup_txns_load_time",
            "Applying the log at the start, ms",
            one(start.log_load_ms),
        ),
        Sample::summary("dbinittime", "The whole start, ms", one(start.total_ms)),
    ]
}

fn operations(front: &FrontStats) -> Vec<Sample> {
    let mut list: Vec<Sample> = OpCode::ALL
        .iter()
        .filter_map(|opcode| {
            let count = *front.operations.get(operation_index(*opcode))?;
            let sample = Sample::counter("diwan_requests", "Requests answered, by operation", count);
            Some(sample.labelled("operation", opcode.name()))
        })
        .collect();
    // An operation that nobody has asked for yet would only add 27 lines of zeros.
    for opcode in OpCode::ALL {
        let Some(latency) = front.latencies.get(operation_index(*opcode)).filter(|latency| latency.count > 0)
        else {
            continue;
        };
        let help = "From a request's arrival to its reply, seconds, by operation";
        let sample = Sample::seconds("diwan_request_seconds", help, distribution(latency, 1));
        list.push(sample.labelled("operation", opcode.name()));
    }
    for (event, count) in [
        ("created", front.events_created),
        ("deleted", front.events_deleted),
        ("data_changed", front.events_data_changed),
        ("children_changed", front.events_children_changed),
    ] {
        list.push(
            Sample::counter("diwan_watch_events", "Watch events sent, by kind", count)
                .labelled("event", event),
        );
    }
    list
}

fn shards(front: &FrontStats) -> Vec<Sample> {
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    vec![
        Sample::gauge("diwan_connected_sessions", "Sessions with a connection here", whole(front.sessions)),
        Sample::gauge("diwan_watched_paths", "Paths with a watch", whole(front.watched_paths)),
        Sample::gauge(
            "diwan_history_bytes",
            "Memory of the history of changes, bytes",
            whole(front.history_bytes),
        ),
        Sample::gauge(
            "diwan_in_flight_bytes",
            "Bytes of writes that wait for their outcome",
            whole(front.in_flight_bytes),
        ),
        Sample::counter("diwan_watches_refused", "Watches refused for a limit", front.watches_refused),
        Sample::counter("diwan_malformed_requests", "Requests that did not decode", front.malformed),
        Sample::counter("diwan_pauses", "Times that a connection was not read for a limit", front.pauses),
        Sample::counter(
            "diwan_auth_missing",
            "Requests refused for missing authentication",
            front.auth_missing,
        ),
        Sample::counter(
            "diwan_refused_disk_full",
            "Writes refused because the disk is full",
            front.refused_unwritable,
        ),
        Sample::counter(
            "diwan_watch_events_filtered",
            "Watch events withheld because the receiver may not read the node",
            front.events_filtered,
        ),
        Sample::counter(
            "diwan_watch_events_reconnect",
            "Watch events sent to clients that came back",
            front.events_on_reconnect,
        ),
        Sample::counter(
            "diwan_watch_events_caught_up",
            "Of those, events that only the history of changes could tell",
            front.events_caught_up,
        ),
        Sample::counter(
            "diwan_history_too_short",
            "Clients that came back with persistent watches after longer than the history reaches",
            front.history_too_short,
        ),
    ]
}

fn core(known: &Knowledge<'_>) -> Vec<Sample> {
    let Knowledge { core, core_metrics, .. } = known;
    let big = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut list = vec![
        Sample::gauge("diwan_serving", "Whether requests are served", i64::from(core.serving)),
        Sample::gauge("diwan_last_zxid", "The last transaction applied", core.last_zxid.0),
        Sample::gauge("diwan_term", "The consensus engine's term", big(core.term)),
        Sample::gauge("diwan_applied_index", "The last log entry applied", big(core.applied_index)),
        Sample::gauge(
            "diwan_snapshotting",
            "Whether a snapshot is being taken",
            i64::from(core.snapshotting),
        ),
        Sample::gauge("diwan_acl_count", "Distinct access control lists", big(known.acl_count)),
        Sample::gauge(
            "diwan_shards_answered",
            "Whether every shard answered this scrape in time",
            i64::from(known.answered_in_time),
        ),
        Sample::counter("diwan_entries_proposed", "Log entries proposed", core.entries),
        Sample::counter("diwan_commands_proposed", "Writes proposed", core.commands),
        Sample::counter("diwan_command_bytes", "Bytes of writes proposed", core.command_bytes),
        Sample::counter("diwan_commands_dropped", "Writes that came twice or too late", core.dropped),
        Sample::counter(
            "diwan_stall_forgiven_ms",
            "Milliseconds by which sessions were kept longer because this process stood still",
            core.forgiven_ms,
        ),
        Sample::seconds(
            "diwan_apply_seconds",
            "How long readers wait for one turn of applying, seconds",
            core_metrics.apply_us.snapshot(),
        ),
        Sample::sizes("diwan_entry_bytes", "Bytes of a log entry", core_metrics.bytes_per_entry.snapshot()),
    ];
    if let Some(last) = core.last_snapshot {
        list.push(Sample::gauge("diwan_last_snapshot_bytes", "Bytes of the last snapshot", big(last.bytes)));
        list.push(Sample::gauge("diwan_last_snapshot_zxid", "The last snapshot's zxid", last.zxid));
    }
    list
}

fn disk(known: &Knowledge<'_>) -> Vec<Sample> {
    let (journal, stats) = (known.journal, known.journal.stats());
    let big = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    vec![
        Sample::seconds(
            "diwan_fsync_seconds",
            "Time of a flush of the log, seconds",
            journal.flush_us.snapshot(),
        ),
        Sample::sizes("diwan_flush_bytes", "Bytes of entries per flush", journal.bytes_per_flush.snapshot()),
        Sample::sizes("diwan_flush_entries", "Log entries per flush", journal.entries_per_flush.snapshot()),
        Sample::sizes("diwan_flush_batches", "Batches per flush", journal.batches_per_flush.snapshot()),
        Sample::seconds(
            "diwan_snapshot_seconds",
            "Time of a snapshot, seconds",
            journal.snapshot_us.snapshot(),
        ),
        Sample::counter("diwan_log_bytes", "Bytes written to the log", stats.log_bytes_written),
        Sample::counter("diwan_snapshot_bytes", "Bytes written to snapshots", stats.snapshot_bytes_written),
        Sample::counter(
            "diwan_zero_bytes",
            "Bytes of zeros written to prepare segments",
            stats.zero_bytes_written,
        ),
        Sample::counter("diwan_flushes", "Flushes of the log", stats.flushes),
        Sample::counter("diwan_segments_recycled", "Log segments used again", stats.segments_recycled),
        Sample::gauge("diwan_segments", "Log segments held", big(stats.segments)),
        Sample::gauge("diwan_snapshots", "Snapshots held", big(stats.snapshots)),
        Sample::gauge(
            "diwan_disk_full",
            "Whether writes are refused for lack of room",
            i64::from(journal.is_full()),
        ),
    ]
}

fn of_process() -> Vec<Sample> {
    let big = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut list = Vec::new();
    if let Some(seconds) = process::cpu_seconds() {
        list.push(Sample::fraction("process_cpu_seconds_total", "Processor time, seconds", seconds));
    }
    if let Some((resident, all)) = process::memory() {
        list.push(Sample::gauge("process_resident_memory_bytes", "Resident memory", big(resident)));
        list.push(Sample::gauge("process_virtual_memory_bytes", "Virtual memory", big(all)));
    }
    if let (Some(open), Some(max)) = (process::open_descriptors(), process::descriptors_max()) {
        list.push(Sample::gauge("process_open_fds", "Descriptors open", big(open)));
        list.push(Sample::gauge("process_max_fds", "Descriptors that may be open", big(max)));
    }
    list
}

/// ZooKeeper shows -1 as long as there was no reply.
fn size(front: &FrontStats, bytes: usize) -> i64 {
    if front.responses.max == 0 { -1 } else { i64::try_from(bytes).unwrap_or(i64::MAX) }
}

fn closed(front: &FrontStats) -> u64 {
    let by_peers = front::CloseReason::ClientClosedSession as usize;
    let probes = front::CloseReason::InfoProbe as usize;
    (0..CLOSE_REASONS)
        .filter(|reason| *reason != by_peers && *reason != probes)
        .filter_map(|reason| front.connections_closed.get(reason))
        .sum()
}

/// A shard's latencies, in units of `unit_us` microseconds.
fn distribution(latency: &LatencyHistogram, unit_us: u64) -> Distribution {
    let counts = latency.buckets.iter().enumerate().map(|(power, count)| {
        let below = 1u64 << power;
        (below.saturating_sub(1) / unit_us, *count)
    });
    Distribution::of_counts(
        counts,
        latency.sum_us / unit_us,
        latency.min_us / unit_us,
        latency.max_us / unit_us,
    )
}

/// Adds one shard's figures to another's.
pub(crate) fn add(all: &mut FrontStats, one: &FrontStats) {
    macro_rules! sum {
        ($($field:ident),+ $(,)?) => { $(all.$field += one.$field;)+ };
    }
    sum!(
        packets_received,
        packets_sent,
        bytes_received,
        bytes_sent,
        connections_accepted,
        connections_refused,
        sessions_resumed,
        malformed,
        oversized,
        refused_unwritable,
        auth_failed,
        auth_missing,
        pauses,
        watches_refused,
        events_created,
        events_deleted,
        events_data_changed,
        events_children_changed,
        events_filtered,
        events_on_reconnect,
        events_caught_up,
        history_too_short,
        outstanding,
        in_flight_bytes,
        connections,
        sessions,
        watch_count,
        watched_paths,
        watch_bytes,
        history_bytes,
    );
    for (mine, theirs) in all.operations.iter_mut().zip(&one.operations) {
        *mine += theirs;
    }
    for (mine, theirs) in all.connections_closed.iter_mut().zip(&one.connections_closed) {
        *mine += theirs;
    }
    if one.responses.max > 0 {
        let had_none = all.responses.max == 0;
        all.responses.last = one.responses.last;
        all.responses.min =
            if had_none { one.responses.min } else { all.responses.min.min(one.responses.min) };
        all.responses.max = all.responses.max.max(one.responses.max);
    }
    for (mine, theirs) in all.latencies.iter_mut().zip(&one.latencies) {
        mine.add(theirs);
    }
}
