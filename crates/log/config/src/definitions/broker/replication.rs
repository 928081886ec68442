//! Replicas that follow a leader, and the choice of leaders.

use crate::definition::{Definition, boolean, int, long, string};

/// The class of Kafka's that has consumers read a replica in their rack.
pub(crate) const BY_RACK: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";
const SELECTORS: &[&str] = &["org.apache.kafka.common.replica.LeaderSelector", BY_RACK];
const NO_CLASSES: &str = "Diwan loads no classes";

pub(super) const REPLICATION: &[Definition] = &[
    boolean("auto.leader.rebalance.enable")
        .default("true")
        .acts("Whether lead goes back to a preferred replica without being asked for"),
    string("diwan.balance")
        .default("leaders")
        .one_of(&["off", "propose", "leaders", "all"])
        .cluster_wide()
        .hidden()
        .acts("What is changed without being asked for while brokers carry unequal loads: leaders, or replicas too"),
    long("diwan.balance.interval.ms")
        .default("10000")
        .at_least(500)
        .cluster_wide()
        .hidden()
        .acts("How often loads are measured, told to the controller and looked at"),
    string("diwan.balance.loads")
        .hidden()
        .acts("Shown by the controller, and not to be set: what brokers have measured of their partitions"),
    long("diwan.balance.move.bytes.per.second")
        .default("10000000")
        .at_least(1)
        .cluster_wide()
        .hidden()
        .acts("How fast a broker sends replicas that `diwan.balance` moves"),
    long("diwan.balance.network.bytes.per.second")
        .default("1250000000")
        .at_least(1)
        .cluster_wide()
        .hidden()
        .acts("What a broker can receive and send. What is far below that is not evened out"),
    string("diwan.balance.report")
        .hidden()
        .acts("Shown by the controller, and not to be set: what `diwan.balance` has done, and why"),
    boolean("follower.fetch.last.tiered.offset.enable").default("false").cluster_wide(),
    long("leader.imbalance.check.interval.seconds")
        .default("300")
        .at_least(1)
        .acts("How long a preferred replica is there before lead goes back to it: 60 s if this is not set"),
    int("num.replica.alter.log.dirs.threads"),
    int("num.replica.fetchers").default("1").at_least(1).cluster_wide(),
    int("replica.fetch.backoff.ms").default("1000").at_least(0),
    int("replica.fetch.max.bytes").default("1048576").at_least(0),
    int("replica.fetch.min.bytes").default("1"),
    int("replica.fetch.response.max.bytes").default("10485760").at_least(0),
    int("replica.fetch.wait.max.ms").default("500"),
    long("replica.high.watermark.checkpoint.interval.ms").default("5000"),
    long("replica.lag.time.max.ms")
        .default("30000")
        .acts("A replica that lacks what was committed so long ago is not in sync: 1000 if this is not set"),
    string("replica.selector.class")
        .acts_for(SELECTORS, ("Which replica consumers read: the leader, or one in their rack", NO_CLASSES)),
    int("replica.socket.receive.buffer.bytes").default("65536"),
    int("replica.socket.timeout.ms").default("30000"),
    long("unclean.leader.election.interval.ms").default("300000").at_least(1).hidden(),
];
