//! What is offered to clients that connect with TLS, and how changed files are loaded again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::certificate;
use crate::config::{ClientAuth, TlsConfig, TlsProtocol};
use crate::session::TlsSession;
use crate::store::{self, StoreError};

/// Why no encrypted connections can be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is at fault.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Clients must show certificates, and no trusted authority is configured.
    #[error("clients must show certificates, but there is no trust store to check them against")]
    NoTrustStore,
    /// The settings contradict each other or the certificates.
    #[error("{0}")]
    Settings(String),
}

/// What connections are offered, and until when its certificate holds, seconds since 1970.
type Offer = (Arc<ServerConfig>, Option<i64>);

/// What every encrypted connection begins with.
pub struct TlsContext {
    config: TlsConfig,
    current: RwLock<Offer>,
    seen: Mutex<Vec<Option<SystemTime>>>,
}

impl TlsContext {
    /// Reads all files.
    pub fn new(config: TlsConfig) -> Result<Self, TlsError> {
        let seen = modified(&config);
        let current = build(&config)?;
        Ok(Self { config, current: RwLock::new(current), seen: Mutex::new(seen) })
    }

    /// A connection that begins now, before its handshake.
    ///
    /// # Errors
    /// The TLS library refuses what it is offered.
    pub fn session(&self) -> io::Result<TlsSession> {
        TlsSession::new(Arc::clone(&self.current.read().0), self.config.framing)
    }

    /// Until when the certificate holds that clients are shown, seconds since 1970.
    pub fn not_after(&self) -> Option<i64> {
        self.current.read().1
    }

    /// The file of that certificate.
    pub fn path(&self) -> &Path {
        &self.config.key_store.path
    }

    /// How long a handshake may take, in milliseconds.
    pub const fn handshake_timeout_ms(&self) -> u64 {
        self.config.handshake_timeout_ms as u64
    }

    /// Whether a client's certificate must name the client's address.
    pub const fn verifies_hostname(&self) -> bool {
        self.config.verify_client_hostname
    }

    /// Whether changed files are taken up.
    pub const fn reloads(&self) -> bool {
        self.config.reload
    }

    /// Reads all files again. A failure leaves what was there in force.
    pub fn reload(&self) -> Result<(), TlsError> {
        let mut seen = self.seen.lock();
        *seen = modified(&self.config);
        *self.current.write() = build(&self.config)?;
        Ok(())
    }

    /// Reads all files again if one of them changed. A failure leaves what was there in force.
    pub fn reload_if_changed(&self) -> Result<bool, TlsError> {
        let mut seen = self.seen.lock();
        let now = modified(&self.config);
        if *seen == now {
            return Ok(false);
        }
        *seen = now;
        *self.current.write() = build(&self.config)?;
        Ok(true)
    }
}

fn modified(config: &TlsConfig) -> Vec<Option<SystemTime>> {
    let time = |path: &PathBuf| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let trust = config.trust_store.as_ref().map(|store| &store.path);
    std::iter::once(&config.key_store.path).chain(trust).chain(&config.revocation_lists).map(time).collect()
}

fn build(config: &TlsConfig) -> Result<Offer, TlsError> {
    let settings = |error: rustls::Error| TlsError::Settings(error.to_string());
    let provider = Arc::new(provider(config.cipher_suites.as_deref())?);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(&config.protocols))
        .map_err(settings)?;
    let builder = match verifier(config, provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let identity = store::identity(&config.key_store)?;
    let not_after = identity.chain.first().and_then(certificate::not_after);
    let offer = builder.with_single_cert(identity.chain, identity.key).map_err(settings)?;
    Ok((Arc::new(offer), not_after))
}

/// The TLS library's names of versions.
pub fn versions(protocols: &[TlsProtocol]) -> Vec<&'static SupportedProtocolVersion> {
    let version = |protocol: &TlsProtocol| match protocol {
        TlsProtocol::Tls12 => &rustls::version::TLS12,
        TlsProtocol::Tls13 => &rustls::version::TLS13,
    };
    protocols.iter().map(version).collect()
}

/// The library's ciphers, or those among them that Java's names say.
pub fn provider(cipher_suites: Option<&[String]>) -> Result<CryptoProvider, TlsError> {
    let mut provider = ring::default_provider();
    if let Some(names) = cipher_suites {
        // Java names the suites of TLS 1.3 without the version in them.
        let java_name =
            |suite: &rustls::SupportedCipherSuite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
        provider.cipher_suites.retain(|suite| names.contains(&java_name(suite)));
        if provider.cipher_suites.is_empty() {
            let known: Vec<_> = ring::default_provider().cipher_suites.iter().map(java_name).collect();
            return Err(TlsError::Settings(format!(
                "none of the cipher suites is known; hint: those known are {}",
                known.join(", ")
            )));
        }
    }
    Ok(provider)
}

fn verifier(
    config: &TlsConfig,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    if config.client_auth == ClientAuth::None {
        return Ok(None);
    }
    let Some(trust_store) = &config.trust_store else {
        return Err(TlsError::NoTrustStore);
    };
    let mut roots = RootCertStore::empty();
    for certificate in store::trusted(trust_store)? {
        roots.add(certificate).map_err(|error| {
            TlsError::Settings(format!(
                "`{}` holds an unusable certificate: {error}",
                trust_store.path.display()
            ))
        })?;
    }
    let mut lists = Vec::new();
    for path in &config.revocation_lists {
        lists.extend(store::revocation_lists(path)?);
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .with_crls(lists)
        .allow_unknown_revocation_status();
    if config.client_auth == ClientAuth::Want {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map(Some).map_err(|error| TlsError::Settings(error.to_string()))
}
