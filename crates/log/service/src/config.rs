//! What a broker is started with.

use std::net::SocketAddr;
use std::path::PathBuf;

use log_broker::BrokerConfig;
use log_partition::PartitionConfig;
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
    /// How many threads serve connections: `num.network.threads`.
    pub threads: u16,
    /// Connections in all, and from one address: `max.connections`, `max.connections.per.ip`. 0 for no limit.
    pub connections: (u32, u32),
    /// The broker.
    pub broker: BrokerConfig,
    /// What holds for topics that do not say otherwise.
    pub topics: PartitionConfig,
    /// The disk.
    pub store: StoreConfig,
    /// `log.cleaner.io.max.bytes.per.second`: how fast compaction reads at most; nothing for no limit.
    pub compaction_bytes_per_second_max: Option<f64>,
}
