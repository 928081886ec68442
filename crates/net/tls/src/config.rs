//! The settings of TLS: plain data.

use std::path::PathBuf;

use base::Secret;

use crate::framing::Framing;

/// Keys and certificates, and what clients must bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's key and certificate chain.
    pub key_store: KeyStore,
    /// The authorities that clients' certificates must come from; needed unless clients need no certificate.
    pub trust_store: Option<KeyStore>,
    /// Whether clients must show a certificate.
    pub client_auth: ClientAuth,
    /// Versions offered.
    pub protocols: Vec<TlsProtocol>,
    /// Java's names of the cipher suites offered; the library's own choice if `None`.
    pub cipher_suites: Option<Vec<String>>,
    /// Whether a client's certificate must name the address that it comes from.
    pub verify_client_hostname: bool,
    /// Certificate revocation lists in PEM or DER form that clients' certificates are checked against.
    pub revocation_lists: Vec<PathBuf>,
    /// Whether changed files are taken up while running.
    pub reload: bool,
    /// How long a TLS handshake may take.
    pub handshake_timeout_ms: u32,
    /// What gets a record of TLS of its own.
    pub framing: Framing,
}

/// A file with keys or certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStore {
    /// The file.
    pub path: PathBuf,
    /// Its password, empty if it has none.
    pub password: Secret,
    /// Its form.
    pub kind: KeyStoreKind,
}

/// Forms of key stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStoreKind {
    /// PEM text: private key and certificates in one file.
    Pem,
    /// PKCS #12.
    Pkcs12,
    /// Java's own form.
    Jks,
}

/// Whether clients must show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// They are not asked for one.
    None,
    /// They are asked, and may refuse.
    Want,
    /// They are asked, and must not refuse: the default.
    #[default]
    Need,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsProtocol {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

impl TlsProtocol {
    /// The version by Java's name, `TLSv1.2` or `TLSv1.3`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "TLSv1.2" => Some(Self::Tls12),
            "TLSv1.3" => Some(Self::Tls13),
            _ => None,
        }
    }
}
