//! How a listener is set up: `listeners`, `advertised.listeners` and what concerns one of them.

use std::net::SocketAddr;

use log_access::ListenerLimits;
use log_broker::SecurityProtocol;
use net_tls::TlsConfig;

/// See the module.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Its name, in upper case.
    pub name: String,
    /// Where it listens. Port 0 is any that is free.
    pub address: SocketAddr,
    /// Where clients are told to connect; port 0 is the one that is listened at. Nothing for where it listens.
    pub advertised: Option<(String, u16)>,
    /// How clients speak there.
    pub protocol: SecurityProtocol,
    /// Keys and certificates, if `protocol` has TLS.
    pub tls: Option<ListenerTls>,
    /// Limits of its own.
    pub limits: ListenerLimits,
}

/// TLS of a listener.
#[derive(Clone, Debug)]
pub struct ListenerTls {
    /// `ssl.*`.
    pub config: TlsConfig,
    /// `ssl.principal.mapping.rules`: `DEFAULT` if it is not set.
    pub principal_rules: String,
}

impl ListenerConfig {
    /// A listener without encryption and authentication.
    #[must_use]
    pub fn plaintext(address: SocketAddr) -> Self {
        Self {
            name: String::from("PLAINTEXT"),
            address,
            advertised: None,
            protocol: SecurityProtocol::Plaintext,
            tls: None,
            limits: ListenerLimits::default(),
        }
    }
}
