//! Share groups.

use crate::definition::{Definition, boolean, int, list, short, string};

pub(super) const SHARE_GROUPS: &[Definition] = &[
    boolean("errors.deadletterqueue.auto.create.topics.enable")
        .default("false")
        .cluster_wide()
        .hidden()
        .acts("Whether the dead-letter topic of a share group is created if it is not there and `auto.create.topics.enable` is `false`"),
    string("errors.deadletterqueue.topic.name.prefix")
        .default("dlq.")
        .cluster_wide()
        .hidden()
        .acts("What the names of dead-letter topics of share groups begin with"),
    int("group.share.assignment.interval.ms").default("1000").at_least(0).cluster_wide(),
    list("group.share.assignors").default("simple").not_empty(),
    int("group.share.delivery.count.limit")
        .default("5")
        .between(2, 10)
        .acts("How often a record is delivered to members of a share group, if the group does not say so"),
    int("group.share.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .acts("How often a member of a share group sends a heartbeat, in milliseconds"),
    int("group.share.initialize.retry.interval.ms").default("30000").at_least(1).hidden(),
    int("group.share.max.assignment.interval.ms").default("15000").at_least(0),
    int("group.share.max.delivery.count.limit")
        .default("10")
        .between(5, 25)
        .acts("The largest value of `share.delivery.count.limit` of a group"),
    int("group.share.max.heartbeat.interval.ms")
        .default("15000")
        .at_least(1)
        .acts("The largest value of `share.heartbeat.interval.ms` of a group"),
    int("group.share.max.partition.max.record.locks")
        .default("4000")
        .between(2_000, 10_000)
        .acts("The largest value of `share.partition.max.record.locks` of a group"),
    int("group.share.max.record.lock.duration.ms")
        .default("60000")
        .between(30_000, 3_600_000)
        .acts("The largest value of `share.record.lock.duration.ms` of a group"),
    int("group.share.max.session.timeout.ms")
        .default("60000")
        .at_least(1)
        .acts("The largest value of `share.session.timeout.ms` of a group"),
    int("group.share.max.share.sessions")
        .default("2000")
        .at_least(1)
        .acts("How many share sessions there are at most"),
    int("group.share.max.size")
        .default("200")
        .between(1, 1_000)
        .acts("How many members a share group has at most"),
    int("group.share.min.assignment.interval.ms").default("0").at_least(0),
    int("group.share.min.delivery.count.limit")
        .default("2")
        .between(2, 5)
        .acts("The least value of `share.delivery.count.limit` of a group"),
    int("group.share.min.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .acts("The least value of `share.heartbeat.interval.ms` of a group"),
    int("group.share.min.partition.max.record.locks")
        .default("100")
        .between(100, 2_000)
        .acts("The least value of `share.partition.max.record.locks` of a group"),
    int("group.share.min.record.lock.duration.ms")
        .default("15000")
        .between(1_000, 30_000)
        .acts("The least value of `share.record.lock.duration.ms` of a group"),
    int("group.share.min.session.timeout.ms")
        .default("45000")
        .at_least(1)
        .acts("The least value of `share.session.timeout.ms` of a group"),
    int("group.share.partition.max.record.locks").default("2000").between(100, 10_000).acts(
        "How many records of a partition a share group has in flight at most, if the group does not say so",
    ),
    string("group.share.persister.class.name")
        .default("org.apache.kafka.server.share.persister.DefaultStatePersister")
        .hidden(),
    int("group.share.record.lock.duration.ms")
        .default("30000")
        .between(1_000, 3_600_000)
        .acts("How long a member of a share group has a record before others may take it, in milliseconds"),
    int("group.share.session.timeout.ms")
        .default("45000")
        .at_least(1)
        .acts("After how many milliseconds without a heartbeat a member of a share group is removed"),
    int("share.coordinator.append.linger.ms").default("-1").at_least(-1),
    int("share.coordinator.cached.buffer.max.bytes").default("1048588").at_least(524_288).cluster_wide(),
    int("share.coordinator.cold.partition.snapshot.interval.ms").default("300000").at_least(1).hidden(),
    int("share.coordinator.load.buffer.size").default("5242880").at_least(1),
    int("share.coordinator.snapshot.update.records.per.snapshot")
        .default("500")
        .between(0, 500)
        .acts("After how many changes the whole state of a share partition is written"),
    int("share.coordinator.state.topic.compression.codec").default("0"),
    short("share.coordinator.state.topic.min.isr").default("2").at_least(1),
    int("share.coordinator.state.topic.num.partitions")
        .default("50")
        .at_least(1)
        .acts("How many partitions `__share_group_state` gets"),
    int("share.coordinator.state.topic.prune.interval.ms").default("300000").at_least(1).hidden(),
    short("share.coordinator.state.topic.replication.factor").default("3").at_least(1),
    int("share.coordinator.state.topic.segment.bytes")
        .default("104857600")
        .at_least(1)
        .acts("`segment.bytes` of `__share_group_state`"),
    int("share.coordinator.threads").default("1").at_least(1),
    int("share.coordinator.write.timeout.ms").default("5000").at_least(1),
    int("share.fetch.purgatory.purge.interval.requests").default("1000"),
];
