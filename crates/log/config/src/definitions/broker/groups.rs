//! Classic groups, consumer groups, and committed offsets.

use crate::definition::{Definition, int, list, long, short, string};

pub(super) const GROUPS: &[Definition] = &[
    int("group.consumer.assignment.interval.ms")
        .default("1000")
        .at_least(0)
        .cluster_wide()
        .acts("The shortest time between two assignments of a consumer group, in milliseconds"),
    list("group.consumer.assignors")
        .default("uniform,range")
        .not_empty()
        .acts("The assignors of consumer groups, the default one first"),
    int("group.consumer.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .acts("How often a member of a consumer group sends a heartbeat, in milliseconds"),
    int("group.consumer.max.assignment.interval.ms")
        .default("15000")
        .at_least(0)
        .acts("The largest value of `consumer.assignment.interval.ms` of a group"),
    int("group.consumer.max.heartbeat.interval.ms")
        .default("15000")
        .at_least(1)
        .acts("The largest value of `consumer.heartbeat.interval.ms` of a group"),
    int("group.consumer.max.session.timeout.ms")
        .default("60000")
        .at_least(1)
        .acts("The largest value of `consumer.session.timeout.ms` of a group"),
    int("group.consumer.max.size")
        .default("2147483647")
        .at_least(1)
        .acts("How many members a consumer group has at most"),
    string("group.consumer.migration.policy")
        .default("bidirectional")
        .one_of_ignoring_case(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"])
        .acts("Whether a classic group may become a consumer group while it lives, and back"),
    int("group.consumer.min.assignment.interval.ms")
        .default("0")
        .at_least(0)
        .acts("The least value of `consumer.assignment.interval.ms` of a group"),
    int("group.consumer.min.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .acts("The least value of `consumer.heartbeat.interval.ms` of a group"),
    int("group.consumer.min.session.timeout.ms")
        .default("45000")
        .at_least(1)
        .acts("The least value of `consumer.session.timeout.ms` of a group"),
    int("group.consumer.regex.refresh.interval.ms")
        .default("600000")
        .at_least(10_000)
        .hidden()
        .acts("How often a regular expression in a subscription is resolved anew, in milliseconds"),
    int("group.consumer.session.timeout.ms")
        .default("45000")
        .at_least(1)
        .acts("After how many milliseconds without a heartbeat a member of a consumer group is removed"),
    int("group.coordinator.append.linger.ms").default("-1").at_least(-1),
    int("group.coordinator.background.threads").default("2").at_least(1),
    int("group.coordinator.cached.buffer.max.bytes").default("1048588").at_least(524_288).cluster_wide(),
    list("group.coordinator.rebalance.protocols")
        .default("classic,consumer,streams")
        .of(&["consumer", "classic", "share", "streams"])
        .not_empty()
        .acts("Which kinds of groups are served"),
    int("group.coordinator.threads").default("4").at_least(1),
    int("group.initial.rebalance.delay.ms")
        .default("3000")
        .acts("How long an empty classic group waits for more members, in milliseconds"),
    int("group.max.session.timeout.ms")
        .default("1800000")
        .acts("The longest session timeout that a member of a classic group may have, in milliseconds"),
    int("group.max.size")
        .default("2147483647")
        .at_least(1)
        .acts("How many members a classic group has at most"),
    int("group.min.session.timeout.ms")
        .default("6000")
        .acts("The shortest session timeout that a member of a classic group may have, in milliseconds"),
    int("offset.metadata.max.bytes")
        .default("4096")
        .acts("The longest metadata of a committed offset, in bytes"),
    int("offsets.commit.timeout.ms")
        .default("5000")
        .at_least(1)
        .acts("How long a commit of offsets may take, in milliseconds"),
    int("offsets.load.buffer.size").default("5242880").at_least(1),
    long("offsets.retention.check.interval.ms")
        .default("600000")
        .at_least(1)
        .acts("How often offsets are removed that are too old, in milliseconds"),
    int("offsets.retention.minutes")
        .default("10080")
        .at_least(1)
        .acts("How long the offsets of an empty group are kept"),
    int("offsets.topic.compression.codec").default("0"),
    int("offsets.topic.num.partitions")
        .default("50")
        .at_least(1)
        .acts("How many partitions `__consumer_offsets` gets"),
    short("offsets.topic.replication.factor")
        .default("3")
        .at_least(1)
        .acts("How many replicas `__consumer_offsets` gets, if there are as many brokers"),
    int("offsets.topic.segment.bytes")
        .default("104857600")
        .at_least(1)
        .acts("The largest segment of `__consumer_offsets`, in bytes"),
];
