//! By what members know each other: who this one is, who the others are, and what proves it.

use std::sync::Arc;

use parking_lot::RwLock;

use council_replica::founding::Cluster;

use super::connected::Connected;
use super::frame::Limits;
use super::handshake::Terms;
use super::hello::{Hello, Lane};
use super::names::Names;
use super::other_ensembles::OtherEnsembles;
use super::proof::{Channel, Prover};
use super::tls::PeerTls;
use super::trouble::Complaints;
use crate::config::{EnsembleConfig, PeerTlsConfig, ServerConfig};
use crate::error::StartError;
use crate::random;
use net_tls::TlsError;

/// See the module.
pub(crate) struct Credentials {
    pub(crate) badge: Arc<Badge>,
    pub(crate) names: Arc<Names>,
    /// What is shown on a new connection; read again when an operator asks for it.
    tls: Option<RwLock<Arc<PeerTls>>>,
    tls_config: Option<PeerTlsConfig>,
    pub(crate) prover: Option<Prover>,
    /// What members may send each other.
    pub(crate) limits: Limits,
    pub(crate) complaints: Complaints,
    pub(crate) other_ensembles: Arc<OtherEnsembles>,
    pub(crate) connected: Connected,
}

impl Credentials {
    /// Reads keys and certificates. `life` is when this process started, milliseconds since 1970.
    ///
    /// # Errors
    /// Keys and certificates do not fit together, or are another member's.
    pub(crate) fn new(
        config: &ServerConfig,
        ensemble: &EnsembleConfig,
        life: u64,
    ) -> Result<Self, StartError> {
        let names = Names::new(ensemble.number, ensemble.roster());
        names.resolve(std::time::Instant::now());
        let tls = ensemble.tls.as_ref().map(|tls| PeerTls::new(tls, ensemble.number, &names)).transpose()?;
        Ok(Self {
            badge: Arc::new(Badge::new(ensemble.number, life, council_replica::FEATURE_LEVEL)),
            tls: tls.map(|tls| RwLock::new(Arc::new(tls))),
            tls_config: ensemble.tls.clone(),
            names,
            prover: ensemble.secret.as_ref().map(Prover::new),
            limits: Limits::new(config.limits.request_bytes_max),
            complaints: Complaints::default(),
            other_ensembles: Arc::default(),
            connected: Connected::default(),
        })
    }

    /// TLS for a new connection, if members speak it.
    pub(crate) fn tls(&self) -> Option<Arc<PeerTls>> {
        self.tls.as_ref().map(|tls| Arc::clone(&tls.read()))
    }

    /// Reads keys and certificates again. Connections that begin from now on use them; a failure leaves in force what was
    /// read before. False where members do not speak TLS.
    ///
    /// # Errors
    /// As [`Credentials::new`].
    pub(crate) fn reload(&self) -> Result<bool, TlsError> {
        let (Some(tls), Some(config)) = (&self.tls, &self.tls_config) else { return Ok(false) };
        let next = PeerTls::new(config, self.badge.number, &self.names)?;
        *tls.write() = Arc::new(next);
        Ok(true)
    }

    /// Whether a member must prove who it is. Otherwise its address is all that tells it from a stranger.
    pub(crate) const fn asks_for_proof(&self) -> bool {
        self.tls.is_some() || self.prover.is_some()
    }

    /// What a new connection goes by.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(crate) fn terms(&self, own: Hello, channel: Channel) -> Result<Terms<'_>, StartError> {
        Ok(Terms { own, nonce: random::bytes()?, prover: self.prover.as_ref(), channel })
    }
}

/// Who this member says it is.
pub(crate) struct Badge {
    pub(crate) number: u64,
    life: u64,
    level: u32,
    seat: RwLock<Option<(u64, Cluster)>>,
}

impl Badge {
    pub(crate) fn new(number: u64, life: u64, level: u32) -> Self {
        Self { number, life, level, seat: RwLock::new(None) }
    }

    /// From now on this member has an identity.
    pub(crate) fn begin_membership(&self, id: u64, cluster: Cluster) {
        *self.seat.write() = Some((id, cluster));
    }

    /// It has none any more.
    pub(crate) fn end_membership(&self) {
        *self.seat.write() = None;
    }

    pub(crate) fn hello(&self) -> Hello {
        Hello {
            lane: Lane::Control,
            attempt: 0,
            number: self.number,
            seat: *self.seat.read(),
            life: self.life,
            wanted: 0,
            level: self.level,
        }
    }
}
