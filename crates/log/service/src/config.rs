//! What a broker is started with.

use core::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use log_access::ConnectionLimits;
use log_broker::BrokerConfig;
use log_links::PeerTlsConfig;
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
    /// Where other brokers connect: `diwan.peer.listener`.
    pub peers: PeerListener,
    /// TLS between brokers; nothing for plain text. All brokers of a cluster have it, or none.
    pub peer_tls: Option<PeerTlsConfig>,
    /// How many threads serve connections: `num.network.threads`.
    pub threads: u16,
    /// How long such a thread leaves sockets alone while many clients send something, microseconds at most:
    /// `diwan.network.rest.max.us`.
    pub rest_us_max: u64,
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

/// Where other brokers connect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PeerListener {
    /// At the address of the first listener, at its port and 10,000 more. If that is taken, at any that is free: others read it in
    /// the council.
    #[default]
    BesideClients,
    /// There. Other brokers are told this host, or that of the first listener if it stands for every address.
    At {
        /// A name or an address.
        host: String,
        /// The port.
        port: u16,
    },
}

impl PeerListener {
    /// Of `HOST:PORT`. An address of IPv6 is in brackets; without a host it is every address.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let host = if host.is_empty() { "0.0.0.0" } else { host };
        Some(Self::At { host: host.to_owned(), port: port.parse().ok()? })
    }

    /// The address of its host.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn address(&self) -> io::Result<IpAddr> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "no such host");
        match self {
            Self::BesideClients => Err(none()),
            Self::At { host, port } => {
                let mut found = (host.as_str(), *port).to_socket_addrs()?;
                found.next().map(|address| address.ip()).ok_or_else(none)
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_for_other_brokers_has_a_host_and_a_port() {
        let at = |host: &str, port| Some(PeerListener::At { host: host.into(), port });
        assert_eq!(PeerListener::read("h:1"), at("h", 1));
        assert_eq!(PeerListener::read(":1"), at("0.0.0.0", 1));
        assert_eq!(PeerListener::read("[::1]:7"), at("::1", 7));
        for bad in ["", "h", "h:", "h:x", "h:70000"] {
            assert_eq!(PeerListener::read(bad), None, "{bad}");
        }
    }
}
