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
    string("diwan.share.topic.weights")
        .default("")
        .from(&["diwan.share.topic.weights"])
        .hidden()
        .acts("Of a share group: topics with their weights, as `TOPIC:WEIGHT` with commas between. Of several topics that have records, the one with the higher weight is served first, as often as its weight says. Others have the weight 1"),
    boolean("errors.deadletterqueue.copy.record.enable")
        .default("false")
        .from(&["errors.deadletterqueue.copy.record.enable"])
        .hidden()
        .acts("Whether a dead letter of a share group has the key, the value and the headers of its record, or only tells where that is"),
    string("errors.deadletterqueue.topic.name")
        .default("")
        .from(&["errors.deadletterqueue.topic.name"])
        .hidden()
        .acts("The topic that records of a share group are written to that are rejected, expired, or were delivered too often. Empty for none"),
    int("share.assignment.interval.ms")
        .default("1000")
        .at_least(0)
        .from(&["group.share.assignment.interval.ms"]),
    string("share.auto.offset.reset").default("latest").offset_reset().from(&["share.auto.offset.reset"]).acts("Where a share group begins with a partition that it meets for the first time: `earliest`, `latest` or `by_duration:` with a duration"),
    int("share.delivery.count.limit").default("5").at_least(2).from(&["group.share.delivery.count.limit"]).acts("How often a record is delivered before it is archived"),
    int("share.heartbeat.interval.ms")
        .default("5000")
        .at_least(1)
        .from(&["group.share.heartbeat.interval.ms"]).acts("How often a member of a share group sends a heartbeat, in milliseconds"),
    string("share.isolation.level")
        .default("read_uncommitted")
        .one_of(&["read_committed", "read_uncommitted"])
        .from(&["share.isolation.level"]).acts("Whether a share group gets records of transactions that are open or were aborted"),
    int("share.partition.max.record.locks")
        .default("2000")
        .at_least(100)
        .from(&["group.share.partition.max.record.locks"]).acts("How many records of a partition are in flight at most"),
    int("share.record.lock.duration.ms")
        .default("30000")
        .at_least(1_000)
        .from(&["group.share.record.lock.duration.ms"]).acts("How long a member has a record before others may take it, in milliseconds"),
    boolean("share.renew.acknowledge.enable").default("true").from(&["share.renew.acknowledge.enable"]).acts("Whether members may renew the locks of their records"),
    int("share.session.timeout.ms").default("45000").at_least(1).from(&["group.share.session.timeout.ms"]).acts("After how many milliseconds without a heartbeat a member of a share group is removed"),
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
