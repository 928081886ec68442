//! TLS for programs that are clients of a server: the same stores, protocols and cipher suites as a server's.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;

use crate::any_name::AnyName;
use crate::config::{KeyStore, TlsProtocol};
use crate::context::{TlsError, provider, versions};
use crate::store;

/// What a client's TLS is made of.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The authorities whose signatures on servers' certificates are trusted.
    pub trust_store: KeyStore,
    /// The key and certificate that the client shows, if it shows one.
    pub key_store: Option<KeyStore>,
    /// Whether a server's certificate must name the host that was dialled.
    pub verify_hostname: bool,
    /// The versions of TLS; all that are known if none are named.
    pub protocols: Option<Vec<TlsProtocol>>,
    /// The cipher suites by Java's names; all that are known if none are named.
    pub cipher_suites: Option<Vec<String>>,
}

/// Reads keys and certificates.
///
/// # Errors
/// When a file or a setting is of no use; the message says which and what to do.
pub fn configure(tls: &ClientTls) -> Result<Arc<ClientConfig>, TlsError> {
    let settings = |error: &dyn std::fmt::Display| TlsError::Settings(error.to_string());
    let provider = Arc::new(provider(tls.cipher_suites.as_deref())?);
    let mut roots = RootCertStore::empty();
    for certificate in store::trusted(&tls.trust_store)? {
        roots.add(certificate).map_err(|error| {
            let path = tls.trust_store.path.display();
            settings(&format!("`{path}` holds an unusable certificate: {error}"))
        })?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|error| settings(&error))?;
    let verifier: Arc<dyn ServerCertVerifier> =
        if tls.verify_hostname { verifier } else { Arc::new(AnyName(verifier)) };
    let all = [TlsProtocol::Tls12, TlsProtocol::Tls13];
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions(tls.protocols.as_deref().unwrap_or(&all)))
        .map_err(|error| settings(&error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match &tls.key_store {
        None => builder.with_no_client_auth(),
        Some(key_store) => {
            let identity = store::identity(key_store)?;
            builder.with_client_auth_cert(identity.chain, identity.key).map_err(|error| settings(&error))?
        }
    };
    Ok(Arc::new(config))
}
