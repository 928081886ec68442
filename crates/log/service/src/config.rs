//! What a broker is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use log_broker::BrokerConfig;
use log_storage::StoreConfig;

/// See the module.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Where clients connect: `listeners`.
    pub listen: SocketAddr,
    /// Where the data lies: `log.dirs`.
    pub directory: PathBuf,
    /// The council: servers as `HOST:PORT,HOST:PORT/CHROOT`.
    pub council: String,
    /// How long the session with the council outlives its connection: `zookeeper.session.timeout.ms`.
    pub council_session: Duration,
    /// How many connections wait to be accepted: `socket.listen.backlog.size`; nothing for as many as the system queues.
    pub backlog: Option<u32>,
    /// How many threads serve connections: `num.network.threads`.
    pub threads: u16,
    /// Connections in all, and from one address: `max.connections`, `max.connections.per.ip`. 0 for no limit.
    pub connections: (u32, u32),
    /// The broker.
    pub broker: BrokerConfig,
    /// The disk.
    pub store: StoreConfig,
    /// `log.cleaner.io.max.bytes.per.second`: how fast compaction reads at most; nothing for no limit.
    pub compaction_bytes_per_second_max: Option<f64>,
}
