//! By what members know each other: who this one is, who the others are, and what proves it.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use base::MemberId;
use net_peer_pairs::{Lane, PeerNumber, Timing};
use net_tls::TlsError;
use parking_lot::RwLock;

use crate::connected::Connected;
use crate::group_number::GroupNumber;
use crate::handshake::Terms;
use crate::hello::{Cluster, Hello};
use crate::hints::Hints;
use crate::names::Names;
use crate::numbering::ClaimedNumber;
use crate::numbering::Numbering;
use crate::other_ensembles::OtherEnsembles;
use crate::proof::{Binding, Nonce, Prover};
use crate::refusals::Refusals;
use crate::roster::{ReadRoster, Roster};
use crate::secret::EnsembleSecret;
use crate::tls::PeerTls;
use crate::tls_config::PeerTlsConfig;
use crate::trouble::Complaints;

/// What a member is told of itself and the others before it starts.
pub struct Settings {
    /// This member's number.
    pub number: PeerNumber,
    /// Which numbers members have.
    pub numbering: Numbering,
    /// How often members that have nothing to say show that they live, and when they are given up.
    pub timing: Timing,
    /// When this process started, milliseconds since 1970.
    pub process: u64,
    /// The highest feature level that this build understands.
    pub level: u32,
    /// The members as the configuration names them.
    pub roster: Roster,
    /// How the text of another member's roster is read.
    pub read_roster: ReadRoster,
    /// Keys and certificates; without them members speak plain text.
    pub tls: Option<PeerTlsConfig>,
    /// What every member must know to be let in, beside what TLS asks for.
    pub secret: Option<EnsembleSecret>,
    /// What hints call things.
    pub hints: Hints,
}

/// See the module.
pub struct Credentials {
    /// Who this member says it is.
    pub identity: Arc<LocalIdentity>,
    pub(crate) names: Arc<Names>,
    /// What is shown on a new connection; read again when an operator asks for it.
    tls: Option<Arc<RwLock<Arc<PeerTls>>>>,
    tls_config: Option<PeerTlsConfig>,
    pub(crate) prover: Option<Prover>,
    pub(crate) hints: Hints,
    pub(crate) timing: Timing,
    /// How many connections were refused, and why.
    pub refusals: Arc<Refusals>,
    pub(crate) complaints: Complaints,
    /// Members of other ensembles that were heard of.
    pub other_ensembles: Arc<OtherEnsembles>,
    pub(crate) connected: Connected,
}

impl Credentials {
    /// Reads keys and certificates.
    ///
    /// # Errors
    /// Keys and certificates do not fit together, or are another member's.
    pub fn new(settings: Settings) -> Result<Self, TlsError> {
        let Settings { number, numbering, timing, process, level, roster, read_roster, .. } = settings;
        let (tls_config, secret, hints) = (settings.tls, settings.secret, settings.hints);
        let names = Names::new(number, roster, read_roster);
        names.resolve(Instant::now());
        let tls = tls_config.as_ref().map(|tls| PeerTls::new(tls, number, &names)).transpose()?;
        Ok(Self {
            identity: Arc::new(LocalIdentity::new(number, numbering, process, level)),
            tls: tls.map(|tls| Arc::new(RwLock::new(Arc::new(tls)))),
            tls_config,
            names,
            prover: secret.as_ref().map(Prover::new),
            hints,
            timing,
            refusals: Arc::default(),
            complaints: Complaints::default(),
            other_ensembles: Arc::default(),
            connected: Connected::default(),
        })
    }

    /// Those of this process's member of another group: it has the same number, is at the same address, and proves in the
    /// same way who it is; it understands another feature level, and its identity is its own.
    #[must_use]
    pub fn of_group(&self, group: GroupNumber, level: u32) -> Self {
        let LocalIdentity { number, numbering, life, .. } = *self.identity;
        Self {
            identity: Arc::new(LocalIdentity { group, ..LocalIdentity::new(number, numbering, life, level) }),
            names: Arc::clone(&self.names),
            tls: self.tls.clone(),
            tls_config: self.tls_config.clone(),
            prover: self.prover.clone(),
            hints: self.hints,
            timing: self.timing,
            refusals: Arc::clone(&self.refusals),
            complaints: Complaints::default(),
            other_ensembles: Arc::default(),
            connected: Connected::default(),
        }
    }

    /// TLS for a new connection, if members speak it.
    #[must_use]
    pub fn tls(&self) -> Option<Arc<PeerTls>> {
        self.tls.as_ref().map(|tls| Arc::clone(&tls.read()))
    }

    /// Reads keys and certificates again. Connections that begin from now on use them; a failure leaves in force what was
    /// read before. False where members do not speak TLS.
    ///
    /// # Errors
    /// As [`Credentials::new`].
    pub fn reload(&self) -> Result<bool, TlsError> {
        let (Some(tls), Some(config)) = (&self.tls, &self.tls_config) else { return Ok(false) };
        let next = PeerTls::new(config, self.identity.number, &self.names)?;
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
    pub(crate) fn terms(&self, own: Hello, binding: Binding) -> io::Result<Terms<'_>> {
        Ok(self.terms_with(own, binding, nonce()?))
    }

    /// What a connection goes by for which a nonce was drawn before.
    pub(crate) fn terms_with(&self, own: Hello, binding: Binding, nonce: Nonce) -> Terms<'_> {
        Terms { own, nonce, prover: self.prover.as_ref(), binding, hints: self.hints }
    }
}

/// A number that nobody can guess.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn nonce() -> io::Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce)
        .map_err(|source| io::Error::other(format!("cannot read randomness: {}", io::Error::from(source))))?;
    Ok(nonce)
}

/// Who this member says it is.
pub struct LocalIdentity {
    /// Its number.
    pub number: PeerNumber,
    pub(crate) numbering: Numbering,
    pub(crate) group: GroupNumber,
    life: u64,
    level: u32,
    seat: RwLock<Option<(MemberId, Cluster)>>,
}

impl LocalIdentity {
    fn new(number: PeerNumber, numbering: Numbering, life: u64, level: u32) -> Self {
        Self { number, numbering, group: GroupNumber::FIRST, life, level, seat: RwLock::new(None) }
    }

    /// From now on this member has an identity.
    pub fn begin_membership(&self, id: MemberId, cluster: Cluster) {
        *self.seat.write() = Some((id, cluster));
    }

    /// It has none any more.
    pub fn end_membership(&self) {
        *self.seat.write() = None;
    }

    pub(crate) fn hello(&self) -> Hello {
        Hello {
            group: self.group,
            lane: Lane::Control,
            attempt: 0,
            numbering: self.numbering,
            number: self.numbering.claim(self.number),
            seat: *self.seat.read(),
            life: self.life,
            wanted: ClaimedNumber::NOBODY,
            level: self.level,
        }
    }
}
