//! Names of figures, as points have them. Each says its unit.

/// Requests a second.
pub const RATE: &str = "rate (op/s)";
/// The mean latency.
pub const MEAN: &str = "mean (ms)";
/// A percentile of the latency.
pub const P50: &str = "p50 (ms)";
/// See above.
pub const P90: &str = "p90 (ms)";
/// See above.
pub const P99: &str = "p99 (ms)";
/// See above.
pub const P999: &str = "p99.9 (ms)";
/// See above.
pub const P9999: &str = "p99.99 (ms)";
/// The longest.
pub const MAX: &str = "longest (ms)";
/// Processor time of all servers, a request.
pub const CPU: &str = "server cpu (us/op)";
/// Processor time of the load, a request.
pub const LOAD_CPU: &str = "load cpu (us/op)";
/// Resident memory of all servers.
pub const MEMORY: &str = "memory (MiB)";
/// Bytes that went to disks, a request.
pub const WRITTEN: &str = "written (B/op)";
/// System calls of all servers, a request.
pub const CALLS: &str = "system calls (/op)";
/// What all servers' files take at the end.
pub const DISK: &str = "disk (MiB)";
/// Requests answered with an error.
pub const ERRORS: &str = "errors";
/// Requests whose answers were lost.
pub const LOST: &str = "lost answers";
/// The longest time without any answer.
pub const OUTAGE: &str = "longest outage (ms)";
/// What a message takes on the disk beyond its content.
pub const OVERHEAD: &str = "overhead (B/message)";
/// The same, with what a broker keeps once, however many messages it has.
pub const WHOLE_OVERHEAD: &str = "overhead of all files (B/message)";
/// Files, sockets and pipes that a broker has open.
pub const OPEN_FILES: &str = "open files";
/// Processor time of a broker that nobody uses.
pub const IDLE_CPU: &str = "idle cpu (ms/s)";
/// From a broker's start until the first message is acknowledged.
pub const START: &str = "until the first message (ms)";
/// Processor time of a broker from its start until the first message is acknowledged.
pub const START_CPU: &str = "cpu until the first message (ms)";
/// From a fault of a leader until another broker acknowledges a message: the median of several faults.
pub const TAKEOVER: &str = "until another broker acknowledges (ms)";
/// The same, the longest of several faults.
pub const LONGEST_TAKEOVER: &str = "longest until another broker acknowledges (ms)";
/// From a fault of a leader until the other brokers say that another one leads: the median of several faults.
pub const NEW_LEADER: &str = "until another leader is known (ms)";
/// The same, before anything happened to the brokers.
pub const P999_WITHOUT: &str = "p99.9 without (ms)";
/// A percentile while something happened, over that before.
pub const P999_RATIO: &str = "p99.9 with, over without (x)";
/// Bytes of messages that moved to another broker.
pub const MOVED: &str = "moved (MB/s)";
/// The same as a part of what the disk takes when it is written to in one go.
pub const DISK_SHARE: &str = "share of the disk (%)";
/// From the end of the session timeout of a member that died until all of its partitions are consumed again.
pub const CONSUMED_AGAIN: &str = "until all is consumed again (ms)";
/// The same, the longest of several deaths.
pub const LONGEST_CONSUMED_AGAIN: &str = "longest until all is consumed again (ms)";

/// The curve of how many took no longer.
pub const DISTRIBUTION: &str = "distribution";
/// The curve of the longest latency of each 10 ms.
pub const LATENCY_OVER_TIME: &str = "latency over time";
/// The curve of answers in each 10 ms.
pub const RATE_OVER_TIME: &str = "rate over time";
