//! The configurations of a group (resource 32).

use crate::definition::{Definition, boolean, int, string};

pub(super) const GROUP: &[Definition] = &[
    int("consumer.assignment.interval.ms")
        .default("1000")
        .at_least(0)
        .from(&["group.consumer.assignment.interval.ms"])
        .acts("The shortest time between two assignments, in milliseconds"),
    int("consumer.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .from(&["group.consumer.heartbeat.interval.ms"])
        .acts("How often a member sends a heartbeat, in milliseconds"),
    int("consumer.session.timeout.ms")
        .default("45000")
        .at_least(1)
        .from(&["group.consumer.session.timeout.ms"])
        .acts("After how many milliseconds without a heartbeat a member is removed"),
    int("share.assignment.interval.ms")
        .default("1000")
        .at_least(0)
        .from(&["group.share.assignment.interval.ms"]),
    string("share.auto.offset.reset").default("latest").offset_reset().from(&["share.auto.offset.reset"]),
    int("share.delivery.count.limit").default("5").at_least(2).from(&["group.share.delivery.count.limit"]),
    int("share.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .from(&["group.share.heartbeat.interval.ms"]),
    string("share.isolation.level")
        .default("read_uncommitted")
        .one_of(&["read_committed", "read_uncommitted"])
        .from(&["share.isolation.level"]),
    int("share.partition.max.record.locks")
        .default("2000")
        .at_least(100)
        .from(&["group.share.partition.max.record.locks"]),
    int("share.record.lock.duration.ms")
        .default("30000")
        .at_least(1_000)
        .from(&["group.share.record.lock.duration.ms"]),
    boolean("share.renew.acknowledge.enable").default("true").from(&["share.renew.acknowledge.enable"]),
    int("share.session.timeout.ms").default("45000").at_least(1).from(&["group.share.session.timeout.ms"]),
    int("streams.assignment.interval.ms")
        .default("1000")
        .at_least(0)
        .from(&["group.streams.assignment.interval.ms"]),
    int("streams.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .from(&["group.streams.heartbeat.interval.ms"]),
    int("streams.initial.rebalance.delay.ms")
        .default("3000")
        .at_least(0)
        .from(&["group.streams.initial.rebalance.delay.ms"]),
    int("streams.num.standby.replicas")
        .default("0")
        .at_least(0)
        .from(&["group.streams.num.standby.replicas"]),
    int("streams.session.timeout.ms")
        .default("45000")
        .at_least(1)
        .from(&["group.streams.session.timeout.ms"]),
];
