//! Encryption between members: each shows a certificate of one authority, and it must be made out for the member that
//! its holder says it is.
//!
//! The TLS library checks chain, dates, uses and revocation lists while the two shake hands. Which member a certificate
//! is made out for is looked at behind that ([`certificate::check`]): the member that was dialled at once, before
//! anything is said to it, and the one that dials when it has said its number.

use std::io::{self, Read, Write};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use net_peer_pairs::PeerNumber;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    ClientConfig, ClientConnection, Connection, Error, RootCertStore, ServerConfig, ServerConnection,
};

use net_tls::{AnyName, TlsError, store};

use crate::certificate::{self, CertificateRefusal};
use crate::names::Names;
use crate::proof::Binding;
use crate::tls_config::PeerTlsConfig;

/// What keying material is exported under to name a connection in proofs.
const BINDING_LABEL: &[u8] = b"EXPORTER-diwan-members";

/// This member's own certificate.
#[derive(Clone, Debug)]
pub struct OwnCertificate {
    /// Its file.
    pub path: PathBuf,
    /// Until when it holds, seconds since 1970.
    pub not_after: Option<i64>,
    /// Why other members may refuse it.
    pub doubt: Option<CertificateDoubt>,
}

/// Why other members may refuse this member's certificate, which names no member: they may know it under another host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: other members may refuse this member's certificate: {why}", .path.display())]
pub struct CertificateDoubt {
    /// The certificate's file.
    pub path: PathBuf,
    /// What this member itself would say to it.
    pub why: CertificateRefusal,
}

/// What connections between members begin with.
#[derive(Clone)]
pub struct PeerTls {
    dials: Arc<ClientConfig>,
    answers: Arc<ServerConfig>,
    verifies_answerers_host: bool,
    verifies_diallers_host: bool,
    /// What this member shows.
    pub own: OwnCertificate,
}

impl PeerTls {
    /// Reads keys and certificates of the member of that number.
    pub(crate) fn new(config: &PeerTlsConfig, number: PeerNumber, names: &Names) -> Result<Self, TlsError> {
        let provider = Arc::new(net_tls::provider(config.cipher_suites.as_deref())?);
        let versions = net_tls::versions(&config.protocols);
        let (serves, dials) = verifiers(config, &provider)?;
        let identity = store::identity(&config.key_store)?;
        let path = &config.key_store.path;
        let own = OwnCertificate {
            path: path.clone(),
            not_after: identity.chain.first().and_then(net_tls::not_after),
            doubt: identity.chain.first().map_or(Ok(None), |shown| judge_own(shown, path, number, names))?,
        };
        let mut answers = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(settings)?
            .with_client_cert_verifier(serves)
            .with_single_cert(identity.chain.clone(), identity.key.clone_key())
            .map_err(settings)?;
        let mut dials = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(settings)?
            .dangerous()
            // Names are left to `certificate::check`, which knows what members are called.
            .with_custom_certificate_verifier(Arc::new(AnyName(dials)))
            .with_client_auth_cert(identity.chain, identity.key)
            .map_err(settings)?;
        // Without it, keying material would not name one connection of TLS 1.2.
        (answers.require_ems, dials.require_ems) = (true, true);
        // Each connection shows its certificate anew: none outlives the end or the revocation of one.
        (answers.session_storage, answers.send_tls13_tickets) = (Arc::new(NoServerSessionStorage {}), 0);
        dials.resumption = Resumption::disabled();
        Ok(Self {
            dials: Arc::new(dials),
            answers: Arc::new(answers),
            verifies_answerers_host: config.verify_hostname,
            verifies_diallers_host: config.verify_hostname && config.verify_client_hostname,
            own,
        })
    }

    /// Agrees upon encryption with the member at the other end.
    pub(crate) fn dial(&self, stream: &mut (impl Read + Write), host: &str) -> io::Result<Connection> {
        let name = ServerName::try_from(String::from(host)).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(&self.dials), name).map_err(io::Error::other)?;
        let mut connection = Connection::Client(connection);
        while connection.is_handshaking() {
            let (read, written) = connection.complete_io(stream)?;
            if (read, written) == (0, 0) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(connection)
    }

    /// The side of encryption that answers, before its handshake.
    pub(crate) fn answer(&self) -> Result<Connection, Error> {
        ServerConnection::new(Arc::clone(&self.answers)).map(Connection::Server)
    }

    /// Whether the certificate that was shown is made out for that member. `at` is where the member was dialled.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn check(
        &self,
        connection: &Connection,
        number: PeerNumber,
        names: &Names,
        at: Option<(&str, IpAddr)>,
    ) -> Result<(), CertificateRefusal> {
        let shown = connection.peer_certificates().and_then(<[_]>::first);
        let shown = shown.ok_or(CertificateRefusal::Missing)?;
        let by_host = if at.is_some() { self.verifies_answerers_host } else { self.verifies_diallers_host };
        let mut hosts = places(number, names);
        // A name may resolve to another address by now. A host that another member has told is not the member's yet.
        if let Some((host, address)) = at
            && let Some((_, addresses)) = hosts.iter_mut().find(|(known, _)| known == host)
        {
            addresses.push(address.to_canonical());
        }
        certificate::check(shown, number, &hosts, by_host)
    }
}

/// What names this encrypted connection and no other.
pub(crate) fn binding(connection: &Connection) -> Result<Binding, Error> {
    connection.export_keying_material([0; 32], BINDING_LABEL, None)
}

fn places(number: PeerNumber, names: &Names) -> Vec<(String, Vec<IpAddr>)> {
    let place = |host: String| {
        let addresses = names.addresses(&host);
        (host, addresses)
    };
    names.hosts(number).map(place).collect()
}

fn settings(error: impl std::fmt::Display) -> TlsError {
    TlsError::Settings(format!("between members: {error}"))
}

/// What looks at the certificates of those who dial, and of those who answer.
type Verifiers = (Arc<dyn ClientCertVerifier>, Arc<WebPkiServerVerifier>);

fn verifiers(config: &PeerTlsConfig, provider: &Arc<CryptoProvider>) -> Result<Verifiers, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in store::trusted(&config.trust_store)? {
        roots.add(certificate).map_err(settings)?;
    }
    let roots = Arc::new(roots);
    let mut lists: Vec<CertificateRevocationListDer<'static>> = Vec::new();
    for path in &config.revocation_lists {
        lists.extend(store::revocation_lists(path)?);
    }
    let diallers = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider))
        .with_crls(lists.clone())
        .allow_unknown_revocation_status();
    let answerers = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .with_crls(lists)
        .allow_unknown_revocation_status();
    Ok((diallers.build().map_err(settings)?, answerers.build().map_err(settings)?))
}

/// A certificate of another member would be refused by all others: better at once, and here. Gives why one that names
/// no member may be refused: the others may know this member under another host.
fn judge_own(
    shown: &CertificateDer<'_>,
    path: &Path,
    number: PeerNumber,
    names: &Names,
) -> Result<Option<CertificateDoubt>, TlsError> {
    // Its own host a member may wait for: it is about to listen there.
    let resolve = |host: String| {
        let addresses = (host.as_str(), 0).to_socket_addrs().into_iter().flatten();
        let addresses = addresses.map(|address| address.ip().to_canonical()).collect();
        (host, addresses)
    };
    let places: Vec<_> = names.hosts(number).map(resolve).collect();
    let Err(why) = certificate::check(shown, number, &places, true) else { return Ok(None) };
    if certificate::names_a_member(shown) {
        return Err(TlsError::Settings(format!(
            "`{}` is the certificate of another member than {number}, which this one is: {why}",
            path.display()
        )));
    }
    Ok(Some(CertificateDoubt { path: path.to_path_buf(), why }))
}

/// A connection while it is young and may be waited for: plain or encrypted, one way to read and one to write.
pub(crate) struct Talk<'a, S>(pub(crate) &'a mut S, pub(crate) Option<&'a mut Connection>);

impl<S: Read + Write> Read for Talk<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(connection) = &mut self.1 else { return self.0.read(buffer) };
        loop {
            match connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            connection.complete_io(self.0)?;
        }
    }
}

impl<S: Read + Write> Write for Talk<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.1 {
            Some(connection) => connection.writer().write(bytes),
            None => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(connection) = &mut self.1 {
            while connection.wants_write() {
                connection.write_tls(self.0)?;
            }
        }
        self.0.flush()
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
