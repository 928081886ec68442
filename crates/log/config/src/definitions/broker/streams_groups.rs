//! Groups of Kafka Streams (KIP-1071).

use crate::definition::{Definition, int};

pub(super) const STREAMS_GROUPS: &[Definition] = &[
    int("group.streams.assignment.interval.ms").default("1000").at_least(0).cluster_wide(),
    int("group.streams.heartbeat.interval.ms").default("5000").at_least(1),
    int("group.streams.initial.rebalance.delay.ms").default("3000").at_least(0),
    int("group.streams.max.assignment.interval.ms").default("15000").at_least(0),
    int("group.streams.max.heartbeat.interval.ms").default("15000").at_least(1),
    int("group.streams.max.session.timeout.ms").default("60000").at_least(1),
    int("group.streams.max.size").default("2147483647").at_least(1),
    int("group.streams.max.standby.replicas").default("2").at_least(0),
    int("group.streams.min.assignment.interval.ms").default("0").at_least(0),
    int("group.streams.min.heartbeat.interval.ms").default("5000").at_least(1),
    int("group.streams.min.session.timeout.ms").default("45000").at_least(1),
    int("group.streams.num.standby.replicas").default("0").at_least(0),
    int("group.streams.session.timeout.ms").default("45000").at_least(1),
];
