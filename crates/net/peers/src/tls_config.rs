//! What a member is told of TLS between members.

use std::path::PathBuf;

use net_tls::{KeyStore, TlsProtocol};

/// Keys and certificates between members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTlsConfig {
    /// This member's key and certificate chain. `ssl.quorum.keyStore.*`.
    pub key_store: KeyStore,
    /// Whom members' certificates must come from. `ssl.quorum.trustStore.*`.
    pub trust_store: KeyStore,
    /// Whether a certificate that names no member must name the host of the member that was dialled.
    /// `ssl.quorum.hostnameVerification`.
    pub verify_hostname: bool,
    /// Whether a certificate that names no member must name the host of the member that dials.
    /// `ssl.quorum.clientHostnameVerification`.
    pub verify_client_hostname: bool,
    /// Versions spoken. `ssl.quorum.protocol`, `ssl.quorum.enabledProtocols`.
    pub protocols: Vec<TlsProtocol>,
    /// Java's names of the cipher suites; the library's own choice if not said. `ssl.quorum.ciphersuites`.
    pub cipher_suites: Option<Vec<String>>,
    /// Certificate revocation lists in PEM or DER form that members' certificates are checked against.
    pub revocation_lists: Vec<PathBuf>,
}
