//! What a broker is started with.

use core::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use log_access::ConnectionLimits;
use log_broker::BrokerConfig;
use log_storage::StoreConfig;

use crate::listener::ListenerConfig;

/// See the module.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Where clients connect: `listeners`. There is at least one.
    pub listeners: Vec<ListenerConfig>,
    /// Where the data lies: `log.dirs`.
    pub directory: PathBuf,
    /// The council: servers as `HOST:PORT,HOST:PORT/CHROOT`.
    pub council: String,
    /// How long the session with the council outlives its connection: `zookeeper.session.timeout.ms`.
    pub council_session: Duration,
    /// How many threads serve connections: `num.network.threads`.
    pub threads: u16,
    /// How many connections there may be: `max.connections` and its kin. What concerns single listeners is in `listeners`.
    pub connections: ConnectionLimits,
    /// `socket.listen.backlog.size`; nothing for as many as the system queues.
    pub backlog: Option<u32>,
    /// The broker. What it knows of listeners comes from `listeners`.
    pub broker: BrokerConfig,
    /// The disk.
    pub store: StoreConfig,
    /// What is done when a client sets the level of the root logger.
    pub set_log_level: SetLogLevel,
    /// `log.cleaner.io.max.bytes.per.second`: how fast compaction reads at most; nothing for no limit.
    pub compaction_bytes_per_second_max: Option<f64>,
}

/// Takes the level that the whole program is to log from: `TRACE`, `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`.
#[derive(Clone)]
pub struct SetLogLevel(pub Arc<dyn Fn(&str) + Send + Sync>);

impl Default for SetLogLevel {
    /// Nothing is done.
    fn default() -> Self {
        Self(Arc::new(|_| {}))
    }
}

impl fmt::Debug for SetLogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetLogLevel")
    }
}
