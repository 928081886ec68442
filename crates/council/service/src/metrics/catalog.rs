//! The list of metrics: all of ZooKeeper's names first, so that dashboards and alerts made for it go on working, then
//! ours.

use std::collections::{BTreeMap, HashSet};

use council_frontend::{CloseReason, FrontStats, Tally, operation_index};
use council_replica::CoreStatus;
use council_wire::OpCode;

use super::zookeeper::QuotaSums;
use super::{absent, ensemble, zookeeper};
use crate::certificate_ends::CertificateEnds;
use crate::counters::leadership::LeadershipCounters;
use crate::counters::{CoreCounters, JournalCounters, StartFigures};
use crate::ensemble::EnsembleView;
use crate::restore::RestoreRequests;
use net_reactor::NetworkMetrics;
use node_metrics::Distribution;
use node_metrics::Sample;

/// Everything that is known at one moment.
pub(crate) struct Inputs<'a> {
    /// Added up over all shards.
    pub(crate) front: FrontStats,
    pub(crate) core: CoreStatus,
    pub(crate) journal: &'a JournalCounters,
    pub(crate) core_metrics: &'a CoreCounters,
    pub(crate) network: &'a NetworkMetrics,
    /// Among other members.
    pub(crate) ensemble: Option<&'a EnsembleView>,
    pub(crate) leadership: &'a LeadershipCounters,
    pub(crate) start: StartFigures,
    /// By the first name of the path.
    pub(crate) quotas: BTreeMap<String, QuotaSums>,
    pub(crate) snapshots_rate_limited: u64,
    pub(crate) restore: &'a RestoreRequests,
    pub(crate) certificates: &'a CertificateEnds,
    pub(crate) node_count: u64,
    pub(crate) ephemeral_count: u64,
    pub(crate) acl_count: u64,
    pub(crate) data_bytes: i64,
    pub(crate) uptime_ms: u64,
    pub(crate) rejected: u64,
    pub(crate) throttled: u64,
    pub(crate) without_descriptor: u64,
    pub(crate) answered_in_time: bool,
}

/// All metrics.
pub(crate) fn samples(known: &Inputs<'_>) -> Vec<Sample> {
    let mut all = zookeeper::samples(known);
    all.extend(ensemble::samples(known));
    let measured: HashSet<_> = all.iter().map(|sample| sample.name).collect();
    all.extend(absent::samples().filter(|sample| !measured.contains(sample.name)));
    all.extend(operations(&known.front));
    all.extend(shards(known));
    all.extend(closed(&known.front));
    all.extend(core(known));
    all.extend(disk(known));
    all.extend(certificates(known));
    all
}

/// The latencies of reads and writes together, as `srvr` shows them.
pub(crate) fn all_latencies(front: &FrontStats) -> Distribution {
    let mut all = distribution(&front.latency(false), 1);
    all.add(&distribution(&front.latency(true), 1));
    all
}

fn operations(front: &FrontStats) -> Vec<Sample> {
    let mut list: Vec<Sample> = OpCode::ALL
        .iter()
        .filter_map(|opcode| {
            let count = *front.operations.get(operation_index(*opcode))?;
            let sample = Sample::counter("diwan_council_requests", "Requests answered, by operation", count);
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
        let sample = Sample::seconds("diwan_council_request_seconds", help, distribution(latency, 1));
        list.push(sample.labelled("operation", opcode.name()));
    }
    for (event, count) in [
        ("created", front.events_created),
        ("deleted", front.events_deleted),
        ("data_changed", front.events_data_changed),
        ("children_changed", front.events_children_changed),
    ] {
        list.push(
            Sample::counter("diwan_council_watch_events", "Watch events sent, by kind", count)
                .labelled("event", event),
        );
    }
    list
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn shards(known: &Inputs<'_>) -> Vec<Sample> {
    let front = &known.front;
    vec![
        Sample::counter("diwan_council_connections", "Connections accepted", front.connections_accepted),
        Sample::counter(
            "diwan_council_connections_throttled",
            "Connections refused because too many came at once",
            known.throttled,
        ),
        Sample::counter(
            "diwan_council_connections_without_descriptor",
            "Connections refused because the limit of open files was nearly reached",
            known.without_descriptor,
        ),
        Sample::counter("diwan_council_sent_bytes", "Bytes handed to sockets", front.bytes_sent),
        Sample::gauge(
            "diwan_council_watch_memory_bytes",
            "Estimated memory of all watches",
            whole(front.watch_bytes),
        ),
        Sample::gauge(
            "diwan_council_connected_sessions",
            "Sessions with a connection here",
            whole(front.sessions),
        ),
        Sample::gauge("diwan_council_watched_paths", "Paths with a watch", whole(front.watched_paths)),
        Sample::gauge(
            "diwan_council_history_bytes",
            "Memory of the history of changes, bytes",
            whole(front.history_bytes),
        ),
        Sample::gauge(
            "diwan_council_in_flight_bytes",
            "Bytes of writes that wait for their outcome",
            whole(front.in_flight_bytes),
        ),
        Sample::gauge(
            "diwan_council_unsent_bytes",
            "Bytes of replies and events that no socket has taken yet",
            whole(front.unsent_bytes),
        ),
        Sample::counter(
            "diwan_council_watches_refused",
            "Watches refused for a limit",
            front.watches_refused,
        ),
        Sample::counter("diwan_council_malformed_requests", "Requests that did not decode", front.malformed),
        Sample::counter(
            "diwan_council_pauses",
            "Times that a connection was not read for a limit",
            front.pauses,
        ),
        Sample::counter(
            "diwan_council_auth_missing",
            "Requests refused for missing authentication",
            front.auth_missing,
        ),
        Sample::counter(
            "diwan_council_super_passwords_wrong",
            "Wrong passwords of the super user at the client ports",
            front.super_passwords_wrong,
        ),
        Sample::counter(
            "diwan_council_super_passwords_unheard",
            "Passwords of the super user that were not looked at, after too many wrong ones from the same address",
            front.super_passwords_unheard,
        ),
        Sample::counter(
            "diwan_council_refused_disk_full",
            "Writes refused because the disk is full",
            front.refused_unwritable,
        ),
        Sample::counter(
            "diwan_council_refused_costly",
            "Writes refused because they would cost too much to apply",
            front.refused_costly,
        ),
        Sample::counter(
            "diwan_council_watch_events_filtered",
            "Watch events withheld because the receiver may not read the node",
            front.events_filtered,
        ),
        Sample::counter(
            "diwan_council_watch_events_reconnect",
            "Watch events sent to clients that came back",
            front.events_on_reconnect,
        ),
        Sample::counter(
            "diwan_council_watch_events_caught_up",
            "Of those, events that only the history of changes could tell",
            front.events_caught_up,
        ),
        Sample::counter(
            "diwan_council_history_too_short",
            "Clients that came back with persistent watches after longer than the history reaches",
            front.history_too_short,
        ),
    ]
}

fn closed(front: &FrontStats) -> impl Iterator<Item = Sample> {
    let counts = CloseReason::ALL.iter().zip(&front.connections_closed);
    counts.map(|(reason, count)| {
        let help = "Connections closed by the server, by reason";
        Sample::counter("diwan_council_connections_closed", help, *count).labelled("reason", reason.name())
    })
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn core(known: &Inputs<'_>) -> Vec<Sample> {
    let Inputs { core, core_metrics, .. } = known;
    let mut list = vec![
        Sample::gauge("diwan_council_serving", "Whether requests are served", i64::from(core.serving)),
        Sample::gauge("diwan_council_last_zxid", "The last transaction applied", core.last_zxid.0),
        Sample::gauge("diwan_council_term", "The consensus engine's term", big(core.term.0)),
        Sample::gauge("diwan_council_applied_index", "The last log entry applied", big(core.applied_index.0)),
        Sample::gauge(
            "diwan_council_snapshotting",
            "Whether a snapshot is being taken",
            i64::from(core.snapshotting),
        ),
        Sample::gauge("diwan_council_acl_count", "Distinct access control lists", big(known.acl_count)),
        Sample::gauge(
            "diwan_council_shards_answered",
            "Whether every shard answered this scrape in time",
            i64::from(known.answered_in_time),
        ),
        Sample::counter("diwan_council_entries_proposed", "Log entries proposed", core.entries),
        Sample::counter("diwan_council_commands_proposed", "Writes proposed", core.commands),
        Sample::counter("diwan_council_command_bytes", "Bytes of writes proposed", core.command_bytes),
        Sample::counter("diwan_council_commands_dropped", "Writes that came twice or too late", core.dropped),
        Sample::counter(
            "diwan_council_stall_forgiven_ms",
            "Milliseconds by which sessions were kept longer because this process stood still",
            core.forgiven_ms,
        ),
        Sample::seconds(
            "diwan_council_apply_seconds",
            "How long readers wait for one turn of applying, seconds",
            core_metrics.apply_us.snapshot(),
        ),
        Sample::sizes(
            "diwan_council_entry_bytes",
            "Bytes of a log entry",
            core_metrics.bytes_per_entry.snapshot(),
        ),
    ];
    if let Some(last) = core.last_snapshot {
        list.push(Sample::gauge(
            "diwan_council_last_snapshot_bytes",
            "Bytes of the last snapshot",
            big(last.bytes),
        ));
        list.push(Sample::gauge(
            "diwan_council_last_snapshot_zxid",
            "The last snapshot's zxid",
            last.position,
        ));
    }
    list
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn disk(known: &Inputs<'_>) -> Vec<Sample> {
    let (journal, stats) = (known.journal, known.journal.stats());
    vec![
        Sample::counter(
            "fsync_threshold_exceed_count",
            "Flushes that took longer than fsync.warningthresholdms",
            known.journal.slow_flushes(),
        ),
        Sample::seconds(
            "diwan_council_fsync_seconds",
            "Time of a flush of the log, seconds",
            journal.flush_us.snapshot(),
        ),
        Sample::sizes(
            "diwan_council_flush_bytes",
            "Bytes of entries per flush",
            journal.bytes_per_flush.snapshot(),
        ),
        Sample::sizes(
            "diwan_council_flush_entries",
            "Log entries per flush",
            journal.entries_per_flush.snapshot(),
        ),
        Sample::sizes(
            "diwan_council_flush_batches",
            "Batches per flush",
            journal.batches_per_flush.snapshot(),
        ),
        Sample::seconds(
            "diwan_council_snapshot_seconds",
            "Time of a snapshot, seconds",
            journal.snapshot_us.snapshot(),
        ),
        Sample::counter("diwan_council_log_bytes", "Bytes written to the log", stats.log_bytes_written),
        Sample::counter(
            "diwan_council_snapshot_bytes",
            "Bytes written to snapshots",
            stats.snapshot_bytes_written,
        ),
        Sample::counter(
            "diwan_council_zero_bytes",
            "Bytes of zeros written to prepare segments",
            stats.zero_bytes_written,
        ),
        Sample::counter("diwan_council_flushes", "Flushes of the log", stats.flushes),
        Sample::counter(
            "diwan_council_segments_recycled",
            "Log segments used again",
            stats.segments_recycled,
        ),
        Sample::gauge("diwan_council_segments", "Log segments held", big(stats.segments)),
        Sample::gauge("diwan_council_snapshots", "Snapshots held", big(stats.snapshots)),
        Sample::gauge(
            "diwan_council_disk_full",
            "Whether writes are refused for lack of room",
            i64::from(journal.is_full()),
        ),
    ]
}

fn certificates(known: &Inputs<'_>) -> impl Iterator<Item = Sample> {
    let help = "When this server's own certificate ends, seconds since 1970, by whom it is shown to";
    known.certificates.all().map(move |(used, end)| {
        Sample::gauge("diwan_council_certificate_expiry_seconds", help, end).labelled("use", used)
    })
}

pub(super) fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn big(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What was counted by powers of two, in units of `unit`.
pub(super) fn distribution(tally: &Tally, unit: u64) -> Distribution {
    let counts = tally.buckets.iter().enumerate().map(|(power, count)| {
        let below = 1u64 << power;
        (below.saturating_sub(1) / unit, *count)
    });
    Distribution::of_counts(counts, tally.sum / unit, tally.min / unit, tally.max / unit)
}

/// Adds one shard's figures to another's.
#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
pub(crate) fn add(all: &mut FrontStats, one: &FrontStats) {
    macro_rules! sum {
        ($($field:ident),+ $(,)?) => { $(all.$field += one.$field;)+ };
    }
    sum!(
        packets_received,
        packets_sent,
        bytes_received,
        bytes_sent,
        reply_bytes,
        event_bytes,
        connections_accepted,
        connections_refused,
        connections_lost,
        session_requests,
        sessions_resumed,
        malformed,
        oversized,
        refused_unwritable,
        refused_costly,
        auth_failed,
        super_passwords_wrong,
        super_passwords_unheard,
        auth_missing,
        ensemble_named,
        ensemble_misnamed,
        ensemble_unnamed,
        outcomes_unclaimed,
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
        unsent_bytes,
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
    all.watchers_created.add(&one.watchers_created);
    all.watchers_deleted.add(&one.watchers_deleted);
    all.watchers_data_changed.add(&one.watchers_data_changed);
    all.watchers_children_changed.add(&one.watchers_children_changed);
    all.reads.add(&one.reads);
}
