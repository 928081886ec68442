//! Limits of connections, requests and responses.

use super::{int, limit, size, unsigned};
use crate::layers::Values;
use crate::rules::connection_overrides;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkLimits {
    /// `num.network.threads`. It is read when the broker starts.
    pub threads: usize,
    /// `diwan.network.rest.max.us`. It is read when the broker starts.
    pub rest_us_max: u64,
    /// `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// `socket.listen.backlog.size`.
    pub backlog: i32,
    /// `socket.send.buffer.bytes`; nothing for the system's own.
    pub send_buffer_bytes: Option<usize>,
    /// `socket.receive.buffer.bytes`; nothing for the system's own.
    pub receive_buffer_bytes: Option<usize>,
    /// `connections.max.idle.ms`; nothing if a silent connection is never closed.
    pub idle_ms_max: Option<u64>,
    /// `max.connections`; nothing for no limit.
    pub connections_max: Option<u64>,
    /// `max.connections.per.ip`; nothing for no limit.
    pub connections_per_address_max: Option<u64>,
    /// `max.connections.per.ip.overrides`: the same for single hosts, which are names or addresses.
    pub connections_per_address_overrides: Vec<(String, u64)>,
    /// `max.connection.creation.rate`: in a second; nothing for no limit.
    pub connections_per_second_max: Option<u64>,
    /// `connection.failed.authentication.delay.ms`.
    pub failed_authentication_delay_ms: u64,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: usize,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_sessions_max: usize,
    /// `max.request.partition.size.limit`: partitions in one answer to DescribeTopicPartitions.
    pub described_partitions_max: i32,
}

impl NetworkLimits {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let buffer = |name: &str| values.whole(name).and_then(|bytes| usize::try_from(bytes).ok());
        let overrides = values.text("max.connections.per.ip.overrides").unwrap_or_default();
        let overrides = connection_overrides(&overrides).unwrap_or_default().into_iter();
        Self {
            threads: size(values, "num.network.threads"),
            rest_us_max: unsigned(values, "diwan.network.rest.max.us"),
            request_bytes_max: size(values, "socket.request.max.bytes"),
            backlog: int(values, "socket.listen.backlog.size"),
            send_buffer_bytes: buffer("socket.send.buffer.bytes"),
            receive_buffer_bytes: buffer("socket.receive.buffer.bytes"),
            idle_ms_max: values
                .whole("connections.max.idle.ms")
                .and_then(|ms| u64::try_from(ms).ok())
                .filter(|ms| *ms > 0),
            connections_max: limit(values, "max.connections"),
            connections_per_address_max: limit(values, "max.connections.per.ip"),
            connections_per_address_overrides: overrides
                .map(|(host, count)| (host, u64::try_from(count).unwrap_or_default()))
                .collect(),
            connections_per_second_max: limit(values, "max.connection.creation.rate"),
            failed_authentication_delay_ms: unsigned(values, "connection.failed.authentication.delay.ms"),
            fetch_bytes_max: size(values, "fetch.max.bytes"),
            fetch_sessions_max: size(values, "max.incremental.fetch.session.cache.slots"),
            described_partitions_max: int(values, "max.request.partition.size.limit"),
        }
    }
}
