//! Where a server listens: its ports, taken before anything else so that a port in use costs nothing.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::config::{EnsembleConfig, ServerConfig};
use crate::error::StartError;
use net_reactor::bind as listen_at;

/// What a system without IPv6 answers to whoever asks for it.
const NO_IPV6: i32 = rustix::io::Errno::AFNOSUPPORT.raw_os_error();

/// Where they turned out to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    pub(crate) client: Option<SocketAddr>,
    pub(crate) secure: Option<SocketAddr>,
    pub(crate) http: Option<SocketAddr>,
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) peers: Option<SocketAddr>,
}

/// The ports of clients and of other members.
pub(crate) struct Sockets {
    pub(crate) client: Option<mio::net::TcpListener>,
    pub(crate) secure: Option<mio::net::TcpListener>,
    pub(crate) peers: Option<TcpListener>,
}

impl Sockets {
    pub(crate) fn bind(config: &ServerConfig) -> Result<Self, StartError> {
        if config.listen.client.is_none() && config.listen.secure.is_none() {
            return Err(StartError::Unsupported(String::from(
                "there is no address for clients to connect to",
            )));
        }
        if (config.listen.secure.is_some() || config.listen.client_takes_tls) && config.tls.is_none() {
            return Err(StartError::Unsupported(String::from(
                "encrypted connections are asked for without a key\nhint: set `ssl.keyStore.location`",
            )));
        }
        let bind = |address: Option<SocketAddr>, purpose| {
            let bound = address.map(|address| {
                listen_at(address, config.listen.backlog).map_err(|source| StartError::Listen {
                    address,
                    purpose,
                    source,
                })
            });
            bound.transpose()
        };
        Ok(Self {
            client: bind(config.listen.client, "clients")?,
            secure: bind(config.listen.secure, "encrypted clients")?,
            peers: config.ensemble.as_ref().map(bind_peers).transpose()?,
        })
    }

    pub(crate) fn addresses(&self) -> Addresses {
        let address = |listener: &Option<mio::net::TcpListener>| listener.as_ref()?.local_addr().ok();
        let peers = self.peers.as_ref().and_then(|listener| listener.local_addr().ok());
        Addresses {
            client: address(&self.client),
            secure: address(&self.secure),
            peers,
            ..Addresses::default()
        }
    }
}

/// Pages that are served over HTTP at one address.
pub(crate) struct Page {
    /// What for, in the words of messages.
    pub(crate) purpose: &'static str,
    pub(crate) address: SocketAddr,
    /// An address that is taken is only worth a warning.
    pub(crate) optional: bool,
    pub(crate) metrics: bool,
    pub(crate) commands: bool,
}

impl Page {
    /// Whether the address can be had.
    pub(crate) fn probe(&self) -> Result<(), StartError> {
        let Self { address, purpose, .. } = *self;
        TcpListener::bind(address).map(drop).map_err(|source| StartError::Listen { address, purpose, source })
    }
}

/// The pages there are to be: one address for metrics and commands, or two.
pub(crate) fn pages(config: &ServerConfig) -> Vec<Page> {
    let (metrics, admin) = (&config.metrics, &config.admin);
    let shared = metrics.address.is_some() && metrics.address == admin.address;
    let first = metrics.address.map(|address| Page {
        purpose: "metrics",
        address,
        optional: metrics.optional && (!shared || admin.optional),
        metrics: true,
        commands: shared,
    });
    let second = admin.address.filter(|_| !shared).map(|address| Page {
        purpose: "the AdminServer",
        address,
        optional: admin.optional,
        metrics: false,
        commands: true,
    });
    first.into_iter().chain(second).collect()
}

/// Where other members connect.
fn bind_peers(ensemble: &EnsembleConfig) -> Result<TcpListener, StartError> {
    let own = ensemble.own().ok_or_else(|| {
        StartError::Unsupported(format!(
            "no `server.` line names this member, which is number {}\nhint: see `myid`",
            ensemble.number
        ))
    })?;
    let mut address = match ensemble.listen_on_all_addresses {
        true => SocketAddr::from((Ipv6Addr::UNSPECIFIED, own.peer_port)),
        false => (own.host.as_str(), own.peer_port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next())
            .ok_or_else(|| {
                StartError::Unsupported(format!(
                    "`{0}`, the host of this member, has no address\nhint: `{0}` stands in `server.{1}`: give it an \
                     address in the name service or in `/etc/hosts`, correct the line, or answer members at every address \
                     of this machine with `quorumListenOnAllIPs=true`",
                    own.host, own.number
                ))
            })?,
    };
    let mut tries = 0;
    loop {
        match listen_at(address, None) {
            Ok(listener) => return Ok(TcpListener::from(OwnedFd::from(listener))),
            Err(source) if address.ip().is_unspecified() && source.raw_os_error() == Some(NO_IPV6) => {
                address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, own.peer_port));
            }
            Err(source) if tries < ensemble.bind_retries && source.kind() == io::ErrorKind::AddrInUse => {
                tries += 1;
                tracing::warn!(%address, %source, "the port for other members is taken: trying again");
                std::thread::sleep(Duration::from_secs(1));
            }
            Err(source) => return Err(StartError::Listen { address, purpose: "other members", source }),
        }
    }
}
