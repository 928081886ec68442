//! Connections, requests and responses: their limits.

use crate::definition::{Definition, int, long, string};

pub(super) const NETWORK: &[Definition] = &[
    int("connection.failed.authentication.delay.ms")
        .default("100")
        .at_least(0)
        .acts("How long an answer to wrong credentials is held back, in milliseconds"),
    long("connections.max.idle.ms")
        .default("600000")
        .acts("A connection that is silent for so many milliseconds is closed"),
    long("connections.max.reauth.ms")
        .default("0")
        .acts("How long a client stays authenticated by SASL, in milliseconds. 0 for ever"),
    int("delete.records.purgatory.purge.interval.requests").default("1"),
    long("diwan.network.rest.max.us")
        .default("500")
        .between(0, 10_000)
        .hidden()
        .acts("How long a thread that serves many clients, which do not wait for its answers, leaves their connections alone at most, in microseconds, so that several requests share a turn: it saves CPU time, and raises the median latency. 0 for never"),
    int("fetch.max.bytes")
        .default("57671680")
        .at_least(1_024)
        .acts("The largest response to a fetch, in bytes"),
    int("fetch.purgatory.purge.interval.requests").default("1000"),
    int("max.connection.creation.rate")
        .default("2147483647")
        .at_least(0)
        .cluster_wide()
        .acts("How many connections are accepted in a second at most"),
    int("max.connections")
        .default("2147483647")
        .at_least(0)
        .cluster_wide()
        .acts("How many connections the broker has at most"),
    int("max.connections.per.ip")
        .default("2147483647")
        .at_least(0)
        .cluster_wide()
        .acts("How many connections it has at most with one address"),
    string("max.connections.per.ip.overrides")
        .default("")
        .cluster_wide()
        .acts("The same for single addresses: ADDRESS:COUNT, with commas between"),
    int("max.incremental.fetch.session.cache.slots")
        .default("1000")
        .at_least(0)
        .acts("How many fetch sessions there are at most"),
    int("max.request.partition.size.limit")
        .default("2000")
        .at_least(1)
        .acts("How many partitions one answer to DescribeTopicPartitions holds at most"),
    int("num.network.threads")
        .default("3")
        .at_least(1)
        .cluster_wide()
        .acts("How many threads serve connections"),
    int("producer.purgatory.purge.interval.requests").default("1000"),
    long("queued.max.request.bytes").default("-1"),
    int("queued.max.requests").default("500").at_least(1),
    long("socket.connection.setup.timeout.max.ms").default("30000"),
    long("socket.connection.setup.timeout.ms").default("10000"),
    int("socket.listen.backlog.size")
        .default("50")
        .at_least(1)
        .acts("How many connections wait to be accepted"),
    int("socket.receive.buffer.bytes")
        .default("102400")
        .acts("The receive buffer of a connection, in bytes. -1 for the system's own"),
    int("socket.request.max.bytes").default("104857600").at_least(1).acts("The largest request, in bytes"),
    int("socket.send.buffer.bytes")
        .default("102400")
        .acts("The send buffer of a connection, in bytes. -1 for the system's own"),
];
