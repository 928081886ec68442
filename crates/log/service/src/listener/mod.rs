//! The listeners of a broker: their sockets, what their connections are offered, and who their clients are.

mod config;
mod gate;
mod principal_rules;
mod reloader;
mod threads;

use std::net::SocketAddr;
use std::sync::Arc;

use log_access::Principal;
use log_broker::{BrokerListener, Peer, SaslConfig};
use net_event_loop::Broken;
use net_reactor::{ClientSocket, NetworkMetrics, SocketsConfig, TlsHints, bind};
use net_tls::{TlsContext, TlsSession};

pub use config::{ListenerConfig, ListenerSasl, ListenerTls};
pub use principal_rules::{BadRules, PrincipalRules};
pub(crate) use threads::Listeners;

use crate::error::StartError;

/// How messages of shared parts call Kafka's settings.
const TLS_HINTS: TlsHints = TlsHints {
    plain_at_tls: "plain clients connect to a listener in plain text: `listeners`",
    tls_at_plain: "clients with TLS connect to an encrypted listener: `listeners`",
    client_auth: "ssl.client.auth",
    trust_store: "ssl.truststore.location",
};

/// A listener whose port is taken.
pub(crate) struct Listening {
    pub(crate) socket: mio::net::TcpListener,
    pub(crate) address: SocketAddr,
    pub(crate) config: ListenerConfig,
    pub(crate) tls: Option<Arc<TlsContext>>,
    sasl: SaslConfig,
    rules: Arc<PrincipalRules>,
}

impl Listening {
    /// Takes the port, and reads keys and certificates.
    pub(crate) fn open(config: ListenerConfig, backlog: Option<u32>) -> Result<Self, StartError> {
        let refused = |reason: String| StartError::Listener { name: config.name.clone(), reason };
        let rules = config.tls.as_ref().map_or("", |tls| tls.principal_rules.as_str());
        let rules = PrincipalRules::parse(rules)
            .map_err(|error| refused(format!("`ssl.principal.mapping.rules`: {error}")))?;
        let tls = match (&config.tls, config.protocol.has_tls()) {
            (Some(tls), true) => {
                let context = TlsContext::new(tls.config.clone());
                Some(Arc::new(context.map_err(|error| refused(error.to_string()))?))
            }
            (None, true) => {
                let what = "it is to be encrypted, and has no key\nhint: set `ssl.keystore.location`";
                return Err(refused(what.into()));
            }
            _ => None,
        };
        let sasl = match (&config.sasl, config.protocol.has_sasl()) {
            (Some(sasl), true) => sasl.broker_config().map_err(refused)?,
            (None, true) => {
                let what = "no mechanism is enabled\nhint: set `sasl.enabled.mechanisms`";
                return Err(refused(what.into()));
            }
            _ => SaslConfig::default(),
        };
        let address = config.address;
        let socket = bind(address, backlog).map_err(|source| StartError::Listen { address, source })?;
        let address = socket.local_addr().map_err(|source| StartError::Listen { address, source })?;
        Ok(Self { socket, address, config, tls, sasl, rules: Arc::new(rules) })
    }

    /// What clients are told of it.
    pub(crate) fn advertised(&self) -> BrokerListener {
        let own = || (self.address.ip().to_string(), 0);
        let (advertised_host, port) = self.config.advertised.clone().unwrap_or_else(own);
        let advertised_port = if port == 0 { self.address.port() } else { port };
        let (name, protocol, sasl) = (self.config.name.clone(), self.config.protocol, self.sasl.clone());
        BrokerListener { name, protocol, advertised_host, advertised_port, sasl }
    }

    /// How its sockets are treated.
    pub(crate) fn sockets(&self, metrics: &Arc<NetworkMetrics>) -> SocketsConfig {
        let (tls, metrics) = (self.tls.clone(), Arc::clone(metrics));
        SocketsConfig {
            tls,
            plain_takes_tls: false,
            plain_refusal: None,
            handshakes_max: u64::MAX,
            hints: TLS_HINTS,
            metrics,
        }
    }

    /// Who its clients are.
    pub(crate) fn clients(&self) -> ListenerClients {
        let has_sasl = self.config.protocol.has_sasl();
        ListenerClients { has_sasl, rules: Arc::clone(&self.rules) }
    }
}

/// Who the clients of a listener are, before they say anything.
#[derive(Clone)]
pub(crate) struct ListenerClients {
    has_sasl: bool,
    rules: Arc<PrincipalRules>,
}

impl ListenerClients {
    /// The client of a socket that is open.
    ///
    /// # Errors
    /// No rule is about the name in its certificate.
    pub(crate) fn peer(&self, socket: &ClientSocket) -> Result<Peer, Broken> {
        let (ip, listener) = (socket.peer().ip(), socket.listener());
        if self.has_sasl {
            return Ok(Peer { ip, listener, certified: None });
        }
        let certified = match socket.tls().filter(|session| session.has_certificate()) {
            Some(session) => Some(self.certified(session, socket.peer())?),
            None => None,
        };
        socket.authenticated();
        Ok(Peer { ip, listener, certified })
    }

    fn certified(&self, session: &TlsSession, peer: SocketAddr) -> Result<Principal, Broken> {
        // A name that cannot be read is nobody's.
        let name = session.subject().ok_or(Broken)?;
        let user = self.rules.user(&name).ok_or_else(|| {
            tracing::warn!(
                %peer,
                name,
                "a client is refused: no rule is about the name in its certificate; hint: see `ssl.principal.mapping.rules`"
            );
            Broken
        })?;
        Ok(Principal::user(&user))
    }
}
