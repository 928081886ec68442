//! Who is at the other end of a connection.

use std::net::IpAddr;

use log_access::{Asker, Principal};

/// A peer, as the driver knows it when its connection is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub ip: IpAddr,
    /// The listener that it came in at, by its place in [`crate::BrokerConfig::listeners`].
    pub listener: u16,
    /// Who it is by its certificate, if it has shown one.
    pub certified: Option<Principal>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The listener that it came in at, by its place in [`crate::BrokerConfig::listeners`].
    pub listener: u16,
    /// Its address.
    pub ip: IpAddr,
    /// The same, as Kafka shows it: with a slash before it.
    pub host: String,
    /// Who it is, as far as it has proved it.
    pub principal: Principal,
}

impl Client {
    /// A peer: it is who its certificate says, or nobody in particular.
    #[must_use]
    pub fn of(peer: &Peer) -> Self {
        let principal = peer.certified.clone().unwrap_or_else(Principal::anonymous);
        Self { listener: peer.listener, ip: peer.ip, host: format!("/{}", peer.ip), principal }
    }

    /// Its address, as rules write it.
    #[must_use]
    pub fn address(&self) -> &str {
        self.host.trim_start_matches('/')
    }

    /// Who asks for rights.
    #[must_use]
    pub fn asker(&self) -> Asker<'_> {
        Asker { principal: &self.principal, host: self.address() }
    }
}
