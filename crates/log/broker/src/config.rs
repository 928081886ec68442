//! The settings of a broker, under Kafka's names.

/// See the module.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `node.id`.
    pub node_id: i32,
    /// `advertised.listeners`: where clients find this broker.
    pub advertised_host: String,
    /// The same: its port.
    pub advertised_port: u16,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// `num.partitions`.
    pub partitions: i32,
    /// `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// `fetch.max.bytes`: of one response.
    pub fetch_bytes_max: usize,
    /// Partitions that one request may name.
    pub partitions_per_request_max: usize,
    /// Requests of one connection that wait for their answers.
    pub requests_in_flight_max: usize,
    /// Fetches that wait, of all connections: above it, they are answered at once.
    pub waiting_fetches_max: usize,
    /// Bytes of batches that are appended and not durable: above it, producers are read more slowly.
    pub unflushed_bytes_max: usize,
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self {
            node_id: 1,
            advertised_host: String::from("127.0.0.1"),
            advertised_port: 9092,
            rack: None,
            auto_create_topics: true,
            partitions: 1,
            request_bytes_max: 104_857_600,
            fetch_bytes_max: 16 << 20,
            partitions_per_request_max: 100_000,
            requests_in_flight_max: 1_000,
            waiting_fetches_max: 100_000,
            unflushed_bytes_max: 64 << 20,
        }
    }
}
