//! The configurations of a topic.

use crate::definition::{Definition, boolean, double, int, list, long, string};

pub(super) const TOPIC: &[Definition] = &[
    list("cleanup.policy")
        .default("delete")
        .of(&["compact", "delete"])
        .from(&["log.cleanup.policy"])
        .acts("`delete` removes old segments, `compact` keeps the newest record of each key"),
    int("compression.gzip.level")
        .default("-1")
        .gzip_level()
        .from(&["compression.gzip.level"])
        .acts("The level of gzip where the broker compresses. -1 for the library's own"),
    int("compression.lz4.level")
        .default("9")
        .between(1, 17)
        .from(&["compression.lz4.level"])
        .acts("The level of lz4 where the broker compresses"),
    string("compression.type")
        .default("producer")
        .one_of(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"])
        .from(&["compression.type"])
        .acts("How batches are compressed on the disk. `producer` keeps them as they come"),
    int("compression.zstd.level")
        .default("3")
        .between(-131_072, 22)
        .from(&["compression.zstd.level"])
        .acts("The level of zstd where the broker compresses"),
    long("delete.retention.ms")
        .default("86400000")
        .at_least(0)
        .from(&["log.cleaner.delete.retention.ms"])
        .acts("How long a compacted partition keeps a record without a value, in milliseconds"),
    long("diwan.delay.ms")
        .default("0")
        .between(0, 2_592_000_000)
        .hidden()
        .acts("How long after its timestamp a share group gets a record, in milliseconds"),
    string("diwan.durability")
        .default("flushed")
        .one_of(&["flushed", "replicated"])
        .from(&["diwan.durability"])
        .hidden()
        .acts("Acknowledged is what is on the disk (`flushed`), or in replicas' memory (`replicated`)"),
    long("diwan.message.ttl.ms")
        .default("-1")
        .at_least(-1)
        .hidden()
        .acts("How long after its timestamp a share group may still get a record, in milliseconds. -1 for ever"),
    boolean("diwan.queue.headers.enable")
        .default("false")
        .hidden()
        .acts("Whether the headers `diwan.ttl.ms`, `diwan.delay.ms` and `diwan.deliver.at` of a record hold for share groups"),
    boolean("errors.deadletterqueue.group.enable")
        .default("false")
        .hidden()
        .acts("Whether share groups may write their dead letters to the topic"),
    long("file.delete.delay.ms").default("60000").at_least(0).from(&["log.segment.delete.delay.ms"]),
    long("flush.messages")
        .default("9223372036854775807")
        .at_least(1)
        .from(&["log.flush.interval.messages"])
        .acts("If `diwan.durability` is `replicated`: after how many records a partition is flushed"),
    long("flush.ms")
        .default("9223372036854775807")
        .at_least(0)
        .from(&["log.flush.interval.ms", "log.flush.scheduler.interval.ms"])
        .acts("If `diwan.durability` is `replicated`: after how many milliseconds a record is flushed"),
    list("follower.replication.throttled.replicas").default("").throttled_replicas().acts(
        "The followers that `follower.replication.throttled.rate` is for: PARTITION:BROKER with commas between, or *",
    ),
    int("index.interval.bytes").default("4096").at_least(0).from(&["log.index.interval.bytes"]),
    int("internal.segment.bytes").hidden(),
    list("leader.replication.throttled.replicas").default("").throttled_replicas().acts(
        "The leaders that `leader.replication.throttled.rate` is for: PARTITION:BROKER with commas between, or *",
    ),
    long("local.retention.bytes").default("-2").at_least(-2).from(&["log.local.retention.bytes"]),
    long("local.retention.ms").default("-2").at_least(-2).from(&["log.local.retention.ms"]),
    long("max.compaction.lag.ms")
        .default("9223372036854775807")
        .at_least(1)
        .from(&["log.cleaner.max.compaction.lag.ms"])
        .acts("How long a record stays uncompacted at most, in milliseconds"),
    int("max.message.bytes")
        .default("1048588")
        .at_least(0)
        .from(&["message.max.bytes"])
        .acts("The largest record batch, its header included, in bytes"),
    long("message.timestamp.after.max.ms")
        .default("3600000")
        .at_least(0)
        .from(&["log.message.timestamp.after.max.ms"])
        .acts("How far a record's timestamp may lie after the broker's clock, in milliseconds"),
    long("message.timestamp.before.max.ms")
        .default("9223372036854775807")
        .at_least(0)
        .from(&["log.message.timestamp.before.max.ms"])
        .acts("How far a record's timestamp may lie before the broker's clock, in milliseconds"),
    string("message.timestamp.type")
        .default("CreateTime")
        .one_of(&["CreateTime", "LogAppendTime"])
        .from(&["log.message.timestamp.type"])
        .acts("Whether the producer's clock stamps records, or the broker's at the append"),
    double("min.cleanable.dirty.ratio")
        .default("0.5")
        .ratio(0.0, 1.0)
        .from(&["log.cleaner.min.cleanable.ratio"])
        .acts("The share of a log that has not been compacted, above which it is"),
    long("min.compaction.lag.ms")
        .default("0")
        .at_least(0)
        .from(&["log.cleaner.min.compaction.lag.ms"])
        .acts("How long a record stays uncompacted at least, in milliseconds"),
    int("min.insync.replicas")
        .default("1")
        .at_least(1)
        .from(&["min.insync.replicas"])
        .acts("How many replicas have to be in sync for a write with acks=all"),
    boolean("preallocate").default("false").from(&["log.preallocate"]),
    boolean("remote.log.copy.disable").default("false"),
    boolean("remote.log.delete.on.disable").default("false"),
    boolean("remote.storage.enable").default("false").refused("there is no tiered storage", &["false"]),
    long("retention.bytes")
        .default("-1")
        .from(&["log.retention.bytes"])
        .acts("How many bytes of a partition are kept. -1 for all"),
    long("retention.ms")
        .default("604800000")
        .at_least(-1)
        .from(&["log.retention.ms", "log.retention.minutes", "log.retention.hours"])
        .acts("How long a segment is kept after its newest record, in milliseconds. -1 for ever"),
    int("segment.bytes")
        .default("1073741824")
        .at_least(1_048_576)
        .from(&["log.segment.bytes"])
        .acts("The largest segment of a partition, in bytes"),
    int("segment.index.bytes").default("10485760").at_least(4).from(&["log.index.size.max.bytes"]),
    long("segment.jitter.ms")
        .default("0")
        .at_least(0)
        .from(&["log.roll.jitter.ms", "log.roll.jitter.hours"])
        .acts("By how much at most a segment is closed before `segment.ms`, in milliseconds"),
    long("segment.ms")
        .default("604800000")
        .at_least(1)
        .from(&["log.roll.ms", "log.roll.hours"])
        .acts("The age at which a segment is closed though it is not full, in milliseconds"),
    boolean("unclean.leader.election.enable")
        .default("false")
        .from(&["unclean.leader.election.enable"])
        .acts("Whether a partition that waits for too few replicas goes on with those that are left, and may lose records"),
];
