//! Quotas: how rates are measured. The quotas themselves are set by AlterClientQuotas.

use crate::definition::{Definition, class, int, long};

pub(super) const QUOTAS: &[Definition] = &[
    int("alter.log.dirs.replication.quota.window.num").default("11").at_least(1),
    int("alter.log.dirs.replication.quota.window.size.seconds").default("1").at_least(1),
    class("client.quota.callback.class").refused("Diwan loads no classes", &[]),
    int("controller.quota.window.num")
        .default("11")
        .at_least(1)
        .acts("How many windows are kept to measure the rate of topic changes"),
    int("controller.quota.window.size.seconds").default("1").at_least(1).acts("How long such a window is"),
    long("follower.replication.throttled.rate").at_least(0).cluster_wide().hidden().acts(
        "Bytes a second that a leader sends to one follower that is not needed, of replicas that topics name",
    ),
    long("leader.replication.throttled.rate").at_least(0).cluster_wide().hidden().acts(
        "Bytes a second that this broker sends to followers that are not needed, of replicas that topics name",
    ),
    int("quota.window.num").default("11").at_least(1).acts("How many windows are kept to measure a rate"),
    int("quota.window.size.seconds").default("1").at_least(1).acts("How long such a window is"),
    int("remote.log.manager.copy.quota.window.num").default("11").at_least(1),
    int("remote.log.manager.copy.quota.window.size.seconds").default("1").at_least(1),
    int("remote.log.manager.fetch.quota.window.num").default("11").at_least(1),
    int("remote.log.manager.fetch.quota.window.size.seconds").default("1").at_least(1),
    long("replica.alter.log.dirs.io.max.bytes.per.second").at_least(0).cluster_wide().hidden(),
    int("replication.quota.window.num").default("11").at_least(1),
    int("replication.quota.window.size.seconds").default("1").at_least(1),
];
