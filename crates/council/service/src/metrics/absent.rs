//! ZooKeeper's metrics of what does not happen here: dashboards find the name, and the value that ZooKeeper too shows
//! where nothing of the kind has happened. Each line's text says why that is the truth.

use node_metrics::Distribution;
use node_metrics::Sample;

const NO_CACHE: &str = "replies are encoded in place, so no cache of them is asked";
const NO_LEARNERS: &str = "a server alone has no followers, and those of an ensemble take no such step here";
const NO_ELECTION: &str = "a server alone holds no elections, and a leader here is never disloyal";
const NO_COMMIT_PROCESSOR: &str = "as in a standalone ZooKeeper, there is no commit processor";
const NO_DEAD_WATCHERS: &str = "watches go with their connection at once, so none lie dead";
const NO_THROTTLER: &str =
    "no request is held back in a queue of its own: connections are read later instead";
const NO_CHANGES: &str = "changes are made when they are committed, so none are kept outstanding";

/// Counts of what never happens.
const COUNTERS: [(&str, &str); 29] = [
    ("add_dead_watcher_stall_time", NO_DEAD_WATCHERS),
    ("cnxn_closed_without_zk_server_running", "no connection is accepted before requests are served"),
    ("commit_count", NO_LEARNERS),
    ("dead_watchers_cleared", NO_DEAD_WATCHERS),
    ("dead_watchers_queued", NO_DEAD_WATCHERS),
    ("diff_count", NO_LEARNERS),
    ("digest_mismatches_count", "a digest that does not fit stops the server"),
    ("insecure_admin_count", "there is no AdminServer that takes TLS and plain connections"),
    ("learner_commit_received_count", NO_LEARNERS),
    ("learner_proposal_received_count", NO_LEARNERS),
    ("looking_count", NO_ELECTION),
    ("outstanding_changes_queued", NO_CHANGES),
    ("outstanding_changes_removed", NO_CHANGES),
    ("proposal_count", NO_LEARNERS),
    ("quit_leading_due_to_disloyal_voter", NO_ELECTION),
    ("request_commit_queued", NO_COMMIT_PROCESSOR),
    ("request_throttle_wait_count", NO_THROTTLER),
    ("requests_not_forwarded_to_commit_processor", NO_COMMIT_PROCESSOR),
    ("response_packet_cache_hits", NO_CACHE),
    ("response_packet_cache_misses", NO_CACHE),
    ("response_packet_get_children_cache_hits", NO_CACHE),
    ("response_packet_get_children_cache_misses", NO_CACHE),
    ("revalidate_count", NO_LEARNERS),
    ("skip_learner_request_to_next_processor_count", NO_LEARNERS),
    ("snap_count", NO_LEARNERS),
    ("stale_requests", NO_THROTTLER),
    ("stale_requests_dropped", NO_THROTTLER),
    ("tls_handshake_exceeded", "handshakes are bounded in time, not in number"),
    ("unrecoverable_error_count", "a thread that cannot go on stops the server"),
];

/// Distributions of what never happens.
const SUMMARIES: [(&str, &str); 24] = [
    ("commit_commit_proc_req_queued", NO_COMMIT_PROCESSOR),
    ("commit_process_time", NO_LEARNERS),
    ("concurrent_request_processing_in_commit_processor", NO_COMMIT_PROCESSOR),
    ("election_time", NO_ELECTION),
    ("follower_sync_time", NO_LEARNERS),
    ("inflight_diff_count", NO_LEARNERS),
    ("inflight_snap_count", NO_LEARNERS),
    ("leader_unavailable_time", NO_ELECTION),
    ("learner_request_processor_queue_size", NO_LEARNERS),
    ("netty_queued_buffer_capacity", "there is no Netty here"),
    ("observer_sync_time", NO_LEARNERS),
    ("pending_session_queue_size", NO_COMMIT_PROCESSOR),
    ("read_commit_proc_issued", NO_COMMIT_PROCESSOR),
    ("read_commit_proc_req_queued", NO_COMMIT_PROCESSOR),
    ("reads_after_write_in_session_queue", NO_COMMIT_PROCESSOR),
    ("reads_issued_from_session_queue", NO_COMMIT_PROCESSOR),
    ("requests_in_session_queue", NO_COMMIT_PROCESSOR),
    ("session_queues_drained", NO_COMMIT_PROCESSOR),
    ("socket_closing_time", NO_LEARNERS),
    ("time_waiting_empty_pool_in_commit_processor_read_ms", NO_COMMIT_PROCESSOR),
    ("unavailable_time", NO_ELECTION),
    ("write_batch_time_in_commit_processor", NO_COMMIT_PROCESSOR),
    ("write_commit_proc_issued", NO_COMMIT_PROCESSOR),
    ("write_commit_proc_req_queued", NO_COMMIT_PROCESSOR),
];

/// The same, with percentiles.
const DETAILED: [(&str, &str); 16] = [
    ("close_session_prep_time", NO_CHANGES),
    ("commit_propagation_latency", NO_LEARNERS),
    ("dead_watchers_cleaner_latency", NO_DEAD_WATCHERS),
    ("jvm_pause_time_ms", "there is no virtual machine here"),
    ("local_write_committed_time_ms", NO_COMMIT_PROCESSOR),
    ("om_commit_process_time_ms", NO_LEARNERS),
    ("om_proposal_process_time_ms", NO_LEARNERS),
    ("proposal_ack_creation_latency", NO_LEARNERS),
    ("proposal_latency", NO_LEARNERS),
    ("quorum_ack_latency", NO_LEARNERS),
    ("read_commitproc_time_ms", NO_COMMIT_PROCESSOR),
    ("read_final_proc_time_ms", NO_COMMIT_PROCESSOR),
    ("request_throttle_queue_time_ms", NO_THROTTLER),
    ("server_write_committed_time_ms", NO_COMMIT_PROCESSOR),
    ("write_commitproc_time_ms", NO_COMMIT_PROCESSOR),
    ("write_final_proc_time_ms", NO_COMMIT_PROCESSOR),
];

/// See the module.
pub(super) fn samples() -> impl Iterator<Item = Sample> {
    let counters = COUNTERS.into_iter().map(|(name, why)| Sample::counter(name, why, 0));
    let none = Distribution::default;
    let summaries = SUMMARIES.into_iter().map(move |(name, why)| Sample::summary(name, why, none()));
    let detailed = DETAILED.into_iter().map(move |(name, why)| Sample::detailed(name, why, none()));
    counters.chain(summaries).chain(detailed)
}
