//! Tiered storage, which is not given.

use crate::definition::{Definition, boolean, double, int, long, string};

pub(super) const TIERED_STORAGE: &[Definition] = &[
    int("remote.fetch.max.wait.ms").default("500").at_least(1).cluster_wide(),
    long("remote.list.offsets.request.timeout.ms").default("30000").at_least(1).cluster_wide(),
    long("remote.log.index.file.cache.total.size.bytes").default("1073741824").at_least(1).cluster_wide(),
    long("remote.log.index.file.cache.ttl.ms").default("900000").at_least(-1).hidden(),
    int("remote.log.manager.copier.thread.pool.size").default("10").at_least(1).cluster_wide(),
    long("remote.log.manager.copy.max.bytes.per.second")
        .default("9223372036854775807")
        .at_least(1)
        .cluster_wide(),
    int("remote.log.manager.expiration.thread.pool.size").default("10").at_least(1).cluster_wide(),
    long("remote.log.manager.fetch.max.bytes.per.second")
        .default("9223372036854775807")
        .at_least(1)
        .cluster_wide(),
    int("remote.log.manager.follower.thread.pool.size").default("2").at_least(1).cluster_wide(),
    long("remote.log.manager.task.interval.ms").default("30000").at_least(1),
    long("remote.log.manager.task.retry.backoff.max.ms").default("30000").at_least(1).hidden(),
    long("remote.log.manager.task.retry.backoff.ms").default("500").at_least(1).hidden(),
    double("remote.log.manager.task.retry.jitter").default("0.2").ratio(0.0, 0.5).hidden(),
    int("remote.log.manager.thread.pool.size").default("2").at_least(1),
    int("remote.log.metadata.custom.metadata.max.bytes").default("128").at_least(0),
    string("remote.log.metadata.manager.class.name")
        .default("org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager")
        .not_empty(),
    string("remote.log.metadata.manager.class.path"),
    string("remote.log.metadata.manager.impl.prefix").default("rlmm.config.").not_empty(),
    string("remote.log.metadata.manager.listener.name").not_empty(),
    int("remote.log.reader.max.pending.tasks").default("100").at_least(1),
    int("remote.log.reader.threads").default("10").at_least(1).cluster_wide(),
    string("remote.log.storage.manager.class.name").not_empty(),
    string("remote.log.storage.manager.class.path"),
    string("remote.log.storage.manager.impl.prefix").default("rsm.config.").not_empty(),
    boolean("remote.log.storage.system.enable")
        .default("false")
        .refused("there is no tiered storage", &["false"]),
];
