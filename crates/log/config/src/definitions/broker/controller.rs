//! The controller of KRaft. The council does its work: these are accepted and have no effect.

use crate::definition::{Definition, boolean, int, list, long, string};

pub(in crate::definitions) const CONTROLLER: &[Definition] = &[
    list("controller.listener.names")
        .not_empty()
        .acts("Listeners of a KRaft controller. They are not opened: the council does its work"),
    long("controller.performance.always.log.threshold.ms").default("2000").at_least(0).hidden(),
    long("controller.performance.sample.period.ms").default("60000").at_least(100).hidden(),
    int("controller.quorum.append.linger.ms").default("25").at_least(0),
    boolean("controller.quorum.auto.join.enable").default("false"),
    list("controller.quorum.bootstrap.servers").default("").host_ports(),
    int("controller.quorum.election.backoff.max.ms").default("1000").at_least(0),
    int("controller.quorum.election.timeout.ms").default("1000").at_least(0),
    int("controller.quorum.fetch.max.bytes").default("1048576").at_least(1),
    int("controller.quorum.fetch.snapshot.max.bytes").default("1048576").at_least(1),
    int("controller.quorum.fetch.timeout.ms").default("2000").at_least(0),
    int("controller.quorum.request.timeout.ms").default("2000").at_least(0),
    int("controller.quorum.retry.backoff.ms").default("20").at_least(0),
    list("controller.quorum.voters").default("").voters(),
    int("controller.socket.timeout.ms").default("30000"),
    long("internal.metadata.delete.delay.millis").default("60000").hidden(),
    int("internal.metadata.log.segment.bytes").hidden(),
    int("internal.metadata.max.batch.size.in.bytes").default("8388608").hidden(),
    string("metadata.log.dir"),
    long("metadata.log.max.record.bytes.between.snapshots").default("20971520").at_least(1),
    long("metadata.log.max.snapshot.interval.ms").default("3600000").at_least(0),
    int("metadata.log.segment.bytes").default("1073741824").at_least(8_388_608),
    long("metadata.log.segment.ms").default("604800000"),
    int("metadata.max.idle.interval.ms").default("500").at_least(0),
    long("metadata.max.retention.bytes").default("104857600"),
    long("metadata.max.retention.ms").default("604800000"),
];
