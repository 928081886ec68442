//! Replicas that follow a leader, and the choice of leaders.

use crate::definition::{Definition, boolean, int, long, string};

pub(super) const REPLICATION: &[Definition] = &[
    boolean("auto.leader.rebalance.enable").default("true"),
    boolean("follower.fetch.last.tiered.offset.enable").default("false").cluster_wide(),
    long("leader.imbalance.check.interval.seconds").default("300").at_least(1),
    int("num.replica.alter.log.dirs.threads"),
    int("num.replica.fetchers").default("1").at_least(1).cluster_wide(),
    int("replica.fetch.backoff.ms").default("1000").at_least(0),
    int("replica.fetch.max.bytes").default("1048576").at_least(0),
    int("replica.fetch.min.bytes").default("1"),
    int("replica.fetch.response.max.bytes").default("10485760").at_least(0),
    int("replica.fetch.wait.max.ms").default("500"),
    long("replica.high.watermark.checkpoint.interval.ms").default("5000"),
    long("replica.lag.time.max.ms").default("30000"),
    string("replica.selector.class").refused(
        "Diwan loads no classes",
        &[
            "org.apache.kafka.common.replica.LeaderSelector",
            "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        ],
    ),
    int("replica.socket.receive.buffer.bytes").default("65536"),
    int("replica.socket.timeout.ms").default("30000"),
    long("unclean.leader.election.interval.ms").default("300000").at_least(1).hidden(),
];
