//! The metrics with ZooKeeper's names that measure something here. Where its parts have another name here, the one
//! that does the same work is measured: its prep processor is the core's thread, its sync processor the journal's.

use council_frontend::{FrontStats, Namespaces, Tally};
use council_tree::QuotaFigures;

use super::catalog::{Inputs, all_latencies, big, distribution, whole};
use node_metrics::Histogram;
use node_metrics::Sample;
use node_metrics::process;

/// See the module.
pub(super) fn samples(known: &Inputs<'_>) -> Vec<Sample> {
    let mut all = gauges(known);
    all.extend(counters(known));
    all.extend(latencies(known));
    all.extend(processors(known));
    all.extend(startup(known));
    all.extend(watchers(&known.front));
    all.extend(namespaces(known));
    all.extend(quotas(known));
    all
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn gauges(known: &Inputs<'_>) -> Vec<Sample> {
    let Inputs { front, core, network, .. } = known;
    let latency = all_latencies(front);
    let (plain_local, plain_remote) = network.plain_connections();
    let auth_failed = front.auth_failed + network.handshakes_failed();
    let mut list = vec![
        Sample::gauge("znode_count", "Nodes of the tree", big(known.node_count)),
        Sample::gauge("ephemerals_count", "Ephemeral nodes", big(known.ephemeral_count)),
        Sample::gauge("approximate_data_size", "Bytes of all paths and data", known.data_bytes),
        Sample::gauge("watch_count", "Watches, data and child together", whole(front.watch_count)),
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
        Sample::gauge(
            "auth_failed_count",
            "Authentications that failed, handshakes of TLS included",
            big(auth_failed),
        ),
        Sample::fraction(
            "connection_drop_probability",
            "Chance that a new connection is dropped while there are tokens: none is",
            0.0,
        ),
        Sample::gauge("outstanding_tls_handshake", "Handshakes of TLS under way", big(network.handshakes())),
        Sample::gauge(
            "non_mtls_local_conn_count",
            "Connections without TLS from this machine's loopback, since the start",
            big(plain_local),
        ),
        Sample::gauge(
            "non_mtls_remote_conn_count",
            "Connections without TLS from elsewhere, since the start",
            big(plain_remote),
        ),
    ];
    if let (Some(open), Some(max)) = (process::open_descriptors(), process::descriptors_max()) {
        list.push(Sample::gauge("open_file_descriptor_count", "Descriptors open", big(open)));
        list.push(Sample::gauge("max_file_descriptor_count", "Descriptors that may be open", big(max)));
    }
    list
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn counters(known: &Inputs<'_>) -> Vec<Sample> {
    let Inputs { front, core, network, core_metrics, .. } = known;
    let closed = |reason: council_frontend::CloseReason| {
        front.connections_closed.get(reason as usize).copied().unwrap_or_default()
    };
    vec![
        Sample::counter("bytes_received_count", "Bytes received, with length fields", front.bytes_received),
        Sample::counter("response_bytes", "Bytes of replies, without length fields", front.reply_bytes),
        Sample::counter("watch_bytes", "Bytes of watch events, without length fields", front.event_bytes),
        Sample::counter(
            "connection_request_count",
            "Requests for a session, new or taken up again",
            front.session_requests,
        ),
        Sample::counter(
            "connection_rejected",
            "Connections refused because there were too many, in all or at once",
            known.rejected + known.throttled + front.connections_refused,
        ),
        Sample::counter(
            "connection_drop_count",
            "Connections whose client went away without closing its session",
            front.connections_lost,
        ),
        Sample::counter("connection_revalidate_count", "Sessions taken up again", front.sessions_resumed),
        Sample::counter("ensemble_auth_success", "Clients that named this ensemble", front.ensemble_named),
        Sample::counter("ensemble_auth_fail", "Clients that named another ensemble", front.ensemble_misnamed),
        Sample::counter("ensemble_auth_skip", "Clients that named no ensemble", front.ensemble_unnamed),
        Sample::counter("large_requests_rejected", "Requests refused for their size", front.oversized),
        Sample::counter(
            "sessionless_connections_expired",
            "Connections closed because they opened no session in time",
            closed(council_frontend::CloseReason::HandshakeTimeout),
        ),
        Sample::counter("stale_sessions_expired", "Sessions expired", core.expired),
        Sample::counter(
            "stale_replies",
            "Outcomes of writes whose connection was gone",
            front.outcomes_unclaimed,
        ),
        Sample::counter(
            "throttled_ops",
            "Requests refused with ThrottledOp: for more watches than a connection may have",
            front.watches_refused,
        ),
        Sample::counter(
            "unsuccessful_handshake",
            "Handshakes of TLS that failed",
            network.handshakes_failed(),
        ),
        Sample::counter(
            "prep_processor_request_queued",
            "Requests handed to the core, that is all but reads answered at once",
            core_metrics.messages(),
        ),
        Sample::counter(
            "sync_processor_request_queued",
            "Writes handed to the journal",
            core_metrics.commands(),
        ),
        Sample::counter("snapshot_error_count", "Snapshots that failed", known.journal.snapshots_failed()),
        Sample::counter(
            "snapshot_rate_limited_count",
            "Commands `snapshot` refused because another was too recent",
            known.snapshots_rate_limited,
        ),
        Sample::counter("restore_error_count", "Commands `restore` that failed", known.restore.failures()),
        Sample::counter(
            "restore_rate_limited_count",
            "Commands `restore` refused because another was too recent",
            known.restore.limit.refused(),
        ),
    ]
}

fn latencies(known: &Inputs<'_>) -> Vec<Sample> {
    let Inputs { front, core, journal, .. } = known;
    vec![
        Sample::detailed("readlatency", "Latency of reads, ms", distribution(&front.latency(false), 1000)),
        Sample::detailed("updatelatency", "Latency of writes, ms", distribution(&front.latency(true), 1000)),
        Sample::detailed(
            "propagation_latency",
            "From a write's stamp until it is applied, ms",
            distribution(&core.propagation_ms, 1),
        ),
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
            "restore_time",
            "From a command `restore` until its tree is served, ms",
            known.restore.took_us.snapshot().scaled(1000),
        ),
    ]
}

/// The way of a write: through the core's thread, then the journal's.
#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn processors(known: &Inputs<'_>) -> Vec<Sample> {
    let Inputs { core_metrics, journal, network, .. } = known;
    let ms = |histogram: &Histogram| histogram.snapshot().scaled(1000);
    vec![
        Sample::summary(
            "connection_token_deficit",
            "Tokens missing in the bucket for new connections, at each",
            network.token_deficit.snapshot(),
        ),
        Sample::summary(
            "prep_processor_queue_size",
            "Requests that waited behind the first when the core looked",
            core_metrics.messages_waiting.snapshot(),
        ),
        Sample::detailed(
            "prep_processor_queue_time_ms",
            "How long requests waited for the core, ms",
            ms(&core_metrics.messages_waited_us),
        ),
        Sample::summary("prep_process_time", "Proposing a write, ms", ms(&core_metrics.propose_us)),
        Sample::summary(
            "proposal_process_time",
            "Handing a proposed write to the journal, ms",
            ms(&core_metrics.hand_over_us),
        ),
        Sample::summary(
            "sync_processor_queue_size",
            "Batches of writes that waited behind the first when the journal looked",
            journal.batches_waiting.snapshot(),
        ),
        Sample::detailed(
            "sync_processor_queue_time_ms",
            "How long writes waited for the journal, ms",
            ms(&journal.queued_us),
        ),
        Sample::summary("sync_process_time", "Appending a write to the log, ms", ms(&journal.append_us)),
        Sample::summary(
            "sync_processor_batch_size",
            "Writes per flush",
            journal.requests_per_flush.snapshot(),
        ),
        Sample::detailed("sync_processor_queue_flush_time_ms", "Time of a flush, ms", ms(&journal.flush_us)),
        Sample::detailed(
            "sync_processor_queue_and_flush_time_ms",
            "From handing a write to the journal until it is durable, ms",
            ms(&journal.queued_and_flushed_us),
        ),
    ]
}

fn startup(known: &Inputs<'_>) -> Vec<Sample> {
    let start = &known.start;
    let one = |value: u64| {
        let histogram = Histogram::default();
        histogram.record(value);
        histogram.snapshot()
    };
    vec![
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

fn watchers(front: &FrontStats) -> Vec<Sample> {
    [
        ("node_created_watch_count", "Watchers of a creation", &front.watchers_created),
        ("node_deleted_watch_count", "Watchers of a deletion", &front.watchers_deleted),
        ("node_changed_watch_count", "Watchers of a change of data", &front.watchers_data_changed),
        ("node_children_watch_count", "Watchers of a change of children", &front.watchers_children_changed),
    ]
    .into_iter()
    .map(|(name, help, tally)| Sample::summary(name, help, distribution(tally, 1)))
    .collect()
}

fn namespaces(known: &Inputs<'_>) -> Vec<Sample> {
    let by_name = |name: &'static str, help: &'static str, namespaces: &Namespaces| {
        let sample = |(key, tally): (&str, &Tally)| {
            Sample::summary(name, help, distribution(tally, 1)).labelled("key", key)
        };
        namespaces.iter().map(sample).collect::<Vec<_>>()
    };
    let mut list =
        by_name("read_per_namespace", "Bytes of a read, by the first name of its path", &known.front.reads);
    list.extend(by_name(
        "write_per_namespace",
        "Bytes of a write, by the first name of its path",
        &known.core.writes,
    ));
    let refusals = known.core.quota_refusals.iter().map(|(key, tally)| {
        let help = "Writes refused for a hard quota, by the first name of their path";
        Sample::counter("quota_exceeded_error_per_namespace", help, tally.count).labelled("key", key)
    });
    list.extend(refusals);
    list
}

fn quotas(known: &Inputs<'_>) -> Vec<Sample> {
    type Figure = fn(&QuotaSums) -> i64;
    let figures: [(&str, &str, Figure); 4] = [
        ("quota_count_limit_per_namespace", "Nodes that quotas allow", |sums| sums.count_limit),
        ("quota_bytes_limit_per_namespace", "Bytes that quotas allow", |sums| sums.bytes_limit),
        ("quota_count_usage_per_namespace", "Nodes under quotas", |sums| sums.count),
        ("quota_bytes_usage_per_namespace", "Bytes under quotas", |sums| sums.bytes),
    ];
    let samples = figures.into_iter().flat_map(|(name, help, figure)| {
        let sample = move |(key, sums): (&String, &QuotaSums)| {
            Sample::gauge(name, help, figure(sums)).labelled("key", key.as_str())
        };
        known.quotas.iter().map(sample)
    });
    samples.collect()
}

/// All quotas of one namespace, added up as ZooKeeper does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaSums {
    count_limit: i64,
    bytes_limit: i64,
    count: i64,
    bytes: i64,
}

impl QuotaSums {
    /// Adds one quota.
    pub(crate) const fn add(&mut self, quota: &QuotaFigures<'_>) {
        self.count_limit = self.count_limit.saturating_add(quota.count_limit);
        self.bytes_limit = self.bytes_limit.saturating_add(quota.bytes_limit);
        self.count = self.count.saturating_add(quota.count);
        self.bytes = self.bytes.saturating_add(quota.bytes);
    }
}

/// ZooKeeper shows -1 as long as there was no reply.
fn size(front: &FrontStats, bytes: usize) -> i64 {
    if front.responses.max == 0 { -1 } else { whole(bytes) }
}
