//! Topics that do not say otherwise, and the creation and deletion of topics.

use crate::definition::{Definition, boolean, class, int, list, long, string};

pub(super) const LOGS: &[Definition] = &[
    class("alter.config.policy.class.name").refused("Diwan loads no classes", &[]),
    boolean("auto.create.topics.enable")
        .default("true")
        .acts("Whether a topic is created when a client asks for its metadata"),
    int("compression.gzip.level")
        .default("-1")
        .gzip_level()
        .cluster_wide()
        .acts("`compression.gzip.level` of topics that do not set it"),
    int("compression.lz4.level")
        .default("9")
        .between(1, 17)
        .cluster_wide()
        .acts("`compression.lz4.level` of topics that do not set it"),
    string("compression.type")
        .default("producer")
        .one_of(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"])
        .cluster_wide()
        .acts("`compression.type` of topics that do not set it"),
    int("compression.zstd.level")
        .default("3")
        .between(-131_072, 22)
        .cluster_wide()
        .acts("`compression.zstd.level` of topics that do not set it"),
    class("create.topic.policy.class.name").refused("Diwan loads no classes", &[]),
    int("default.replication.factor")
        .default("1")
        .acts("How many replicas a topic gets that is created without a number of them"),
    boolean("delete.topic.enable").default("true").acts("Whether topics can be deleted"),
    string("diwan.durability")
        .default("flushed")
        .one_of(&["flushed", "replicated"])
        .cluster_wide()
        .hidden()
        .acts("`diwan.durability` of topics that do not set it"),
    list("log.cleanup.policy")
        .default("delete")
        .of(&["compact", "delete"])
        .cluster_wide()
        .acts("`cleanup.policy` of topics that do not set it"),
    long("log.flush.interval.messages")
        .default("9223372036854775807")
        .at_least(1)
        .cluster_wide()
        .acts("`flush.messages` of topics that do not set it"),
    long("log.flush.interval.ms")
        .cluster_wide()
        .from(&["log.flush.scheduler.interval.ms"])
        .acts("`flush.ms` of topics that do not set it"),
    int("log.flush.offset.checkpoint.interval.ms").default("60000").at_least(0),
    long("log.flush.scheduler.interval.ms")
        .default("9223372036854775807")
        .acts("`flush.ms` of topics that do not set it, if `log.flush.interval.ms` is not set"),
    int("log.flush.start.offset.checkpoint.interval.ms").default("60000").at_least(0),
    int("log.index.interval.bytes").default("4096").at_least(0).cluster_wide(),
    int("log.index.size.max.bytes").default("10485760").at_least(4).cluster_wide(),
    long("log.initial.task.delay.ms").default("30000").at_least(0).hidden(),
    long("log.local.retention.bytes").default("-2").at_least(-2).cluster_wide(),
    long("log.local.retention.ms").default("-2").at_least(-2).cluster_wide(),
    long("log.message.timestamp.after.max.ms")
        .default("3600000")
        .at_least(0)
        .cluster_wide()
        .acts("`message.timestamp.after.max.ms` of topics that do not set it"),
    long("log.message.timestamp.before.max.ms")
        .default("9223372036854775807")
        .at_least(0)
        .cluster_wide()
        .acts("`message.timestamp.before.max.ms` of topics that do not set it"),
    string("log.message.timestamp.type")
        .default("CreateTime")
        .one_of(&["CreateTime", "LogAppendTime"])
        .cluster_wide()
        .acts("`message.timestamp.type` of topics that do not set it"),
    boolean("log.preallocate").default("false").cluster_wide(),
    long("log.retention.bytes")
        .default("-1")
        .cluster_wide()
        .acts("`retention.bytes` of topics that do not set it"),
    long("log.retention.check.interval.ms")
        .default("300000")
        .at_least(1)
        .acts("How often segments are removed that are too old, in milliseconds"),
    int("log.retention.hours")
        .default("168")
        .acts("`retention.ms` of topics that do not set it, in hours, if nothing finer is set"),
    int("log.retention.minutes")
        .from(&["log.retention.hours"])
        .acts("`retention.ms` of topics that do not set it, in minutes, if nothing finer is set"),
    long("log.retention.ms")
        .cluster_wide()
        .from(&["log.retention.minutes", "log.retention.hours"])
        .acts("`retention.ms` of topics that do not set it"),
    int("log.roll.hours")
        .default("168")
        .at_least(1)
        .acts("`segment.ms` of topics that do not set it, in hours, if nothing finer is set"),
    int("log.roll.jitter.hours")
        .default("0")
        .at_least(0)
        .acts("`segment.jitter.ms` of topics that do not set it, in hours, if nothing finer is set"),
    long("log.roll.jitter.ms")
        .cluster_wide()
        .from(&["log.roll.jitter.hours"])
        .acts("`segment.jitter.ms` of topics that do not set it"),
    long("log.roll.ms")
        .cluster_wide()
        .from(&["log.roll.hours"])
        .acts("`segment.ms` of topics that do not set it"),
    int("log.segment.bytes")
        .default("1073741824")
        .at_least(1_048_576)
        .cluster_wide()
        .acts("`segment.bytes` of topics that do not set it"),
    long("log.segment.delete.delay.ms").default("60000").at_least(0).cluster_wide(),
    int("message.max.bytes")
        .default("1048588")
        .at_least(0)
        .cluster_wide()
        .acts("`max.message.bytes` of topics that do not set it"),
    int("min.insync.replicas")
        .default("1")
        .at_least(1)
        .cluster_wide()
        .acts("`min.insync.replicas` of topics that do not set it"),
    int("num.partitions")
        .default("1")
        .at_least(1)
        .acts("How many partitions a topic gets that is created without a number of them"),
    boolean("unclean.leader.election.enable")
        .default("false")
        .cluster_wide()
        .acts("`unclean.leader.election.enable` of topics that do not set it"),
];
