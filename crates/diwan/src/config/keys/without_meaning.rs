//! Keys that tune what only ZooKeeper has: its threads, caches, virtual machine and client.

use super::Row;

const BATCHED: &str = "all writes that wait are flushed together, always";
const PURGED: &str = "old logs and snapshots are purged as soon as newer ones are safe";
const JVM: &str = "there is no virtual machine here";
const THREADS: &str = "threads follow the machine's cores; see `node.shards` of `diwan.toml`";
const CACHE: &str = "replies are encoded in place, so there is no cache of them";
const WATCHES: &str = "there is one kind of watch table here";
const BOUNDED: &str = "`globalOutstandingLimit` bounds what is under way; nothing is dropped";
const WEIGHTS: &str = "every new connection weighs one token";
const CLIENT: &str = "it configures a client";
const STATISTICS: &str = "metrics tell what it counted";
const DIGEST: &str = "digests are always kept and checked";
const FORMAT: &str = "the data directory has a format of its own";
const ALWAYS_FLUSHED: &str = "every write is flushed before it is answered, always";
const TESTS: &str = "it serves ZooKeeper's own tests";

pub(super) const ROWS: &[Row] = &[
    Row::nothing("autopurge.purgeInterval", PURGED),
    Row::nothing("flushDelay", BATCHED),
    Row::nothing("maxWriteQueuePollTime", BATCHED),
    Row::nothing("maxBatchSize", BATCHED),
    Row::nothing("forceSync", ALWAYS_FLUSHED),
    Row::nothing("jvm.pause.*", JVM),
    Row::nothing("jmx.*", JVM),
    Row::nothing("metricsProvider.exportJvmInfo", JVM),
    Row::nothing("metricsProvider.numWorkerThreads", THREADS),
    Row::nothing("metricsProvider.maxQueueSize", THREADS),
    Row::nothing("metricsProvider.workerShutdownTimeoutMs", THREADS),
    Row::nothing("metricsProvider.*", "it configures a Java class"),
    Row::nothing("serverCnxnFactory", "one network layer serves plain and TLS connections"),
    Row::nothing("nio.*", THREADS),
    Row::nothing("netty.*", THREADS),
    Row::nothing("commitProcessor.*", THREADS),
    Row::nothing("intBufferStartingSizeBytes", THREADS),
    Row::nothing("maxResponseCacheSize", CACHE),
    Row::nothing("maxGetChildrenResponseCacheSize", CACHE),
    Row::nothing("watchManagerName", WATCHES),
    Row::nothing("watcherCleanThreadsNum", WATCHES),
    Row::nothing("watcherCleanThreshold", WATCHES),
    Row::nothing("watcherCleanIntervalInSeconds", WATCHES),
    Row::nothing("maxInProcessingDeadWatchers", WATCHES),
    Row::nothing("bitHashCacheSize", WATCHES),
    Row::nothing("request_throttle_max_requests", BOUNDED),
    Row::nothing("request_throttle_stall_time", BOUNDED),
    Row::nothing("request_throttle_drop_stale", BOUNDED),
    Row::nothing("request_stale_latency_check", BOUNDED),
    Row::nothing("request_stale_connection_check", BOUNDED),
    Row::nothing("request_throttler.shutdownTimeout", BOUNDED),
    Row::nothing("throttled_op_wait_time", BOUNDED),
    Row::nothing("connection_throttle_freeze_time", WEIGHTS),
    Row::nothing("connection_throttle_drop_increase", WEIGHTS),
    Row::nothing("connection_throttle_drop_decrease", WEIGHTS),
    Row::nothing("connection_throttle_decrease_ratio", WEIGHTS),
    Row::nothing("connection_throttle_weight_enabled", WEIGHTS),
    Row::nothing("connection_throttle_global_session_weight", WEIGHTS),
    Row::nothing("connection_throttle_local_session_weight", WEIGHTS),
    Row::nothing("connection_throttle_renew_session_weight", WEIGHTS),
    Row::nothing("enableEagerACLCheck", "ACLs are checked where the write takes effect"),
    Row::nothing("digest.enabled", DIGEST),
    Row::nothing("serializeLastProcessedZxid.enabled", FORMAT),
    Row::nothing("closeSessionTxn.enabled", FORMAT),
    Row::nothing("snapshot.compression.method", FORMAT),
    Row::nothing("snapshot.trust.empty", FORMAT),
    Row::nothing("txnLogSizeLimitInKb", FORMAT),
    Row::nothing("emulate353TTLNodes", "it reads nodes of ZooKeeper 3.5.3"),
    Row::nothing(
        "jute.maxbuffer.extrasize",
        "the limit of `jute.maxbuffer` counts the command as it is stored",
    ),
    Row::nothing("pathStats.*", STATISTICS),
    Row::nothing("audit.impl.class", "the audit log is part of the structured log"),
    Row::nothing("admin.httpVersion", "HTTP/1.1 is spoken"),
    Row::nothing("client.secure", CLIENT),
    Row::nothing("clientCnxnSocket", CLIENT),
    Row::nothing("request.timeout", CLIENT),
    Row::nothing("disableAutoWatchReset", CLIENT),
    Row::nothing("sasl.client*", CLIENT),
    Row::nothing("kinit", CLIENT),
    Row::nothing("shuffleDnsResponse", CLIENT),
    Row::nothing("hostProvider.*", CLIENT),
    Row::nothing("test.*", TESTS),
    Row::nothing("testingonly.*", TESTS),
];

/// Keys that nearly every `zoo.cfg` has, and that need no change.
pub(super) const USUAL: [&str; 3] = ["initLimit", "syncLimit", "autopurge.purgeInterval"];

/// Names that ZooKeeper's guide gives to keys which are read under another.
pub(super) const DOCUMENTED_AS: &[(&str, &str)] = &[
    ("connectionMaxTokens", "connection_throttle_tokens"),
    ("connectionTokenFillTime", "connection_throttle_fill_time"),
    ("connectionTokenFillCount", "connection_throttle_fill_count"),
    ("connectionFreezeTime", "connection_throttle_freeze_time"),
    ("connectionDropIncrease", "connection_throttle_drop_increase"),
    ("connectionDropDecrease", "connection_throttle_drop_decrease"),
    ("connectionDecreaseRatio", "connection_throttle_decrease_ratio"),
    ("requestThrottleLimit", "request_throttle_max_requests"),
    ("requestThrottleStallTime", "request_throttle_stall_time"),
    ("requestThrottleDropStale", "request_throttle_drop_stale"),
    ("requestStaleLatencyCheck", "request_stale_latency_check"),
    ("requestStaleConnectionCheck", "request_stale_connection_check"),
    ("throttledOpWaitTime", "throttled_op_wait_time"),
    ("advancedFlowControlEnabled", "netty.advancedFlowControl.enabled"),
    ("outstandingHandshake.limit", "netty.server.outstandingHandshake.limit"),
    ("maxConcurrentSnapSyncs", "leader.maxConcurrentSnapSyncs"),
    ("maxConcurrentDiffSyncs", "leader.maxConcurrentDiffSyncs"),
    ("maxTimeToWaitForEpoch", "leader.maxTimeToWaitForEpoch"),
    ("enforce.auth.scheme", "enforce.auth.schemes"),
    ("authProvider", "authProvider.1"),
    ("requireClientAuthScheme", "sessionRequireClientSASLAuth"),
];
