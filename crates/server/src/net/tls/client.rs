//! TLS for programs that are clients of a server: the same stores, protocols and cipher suites as a server's.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::context::{TlsError, provider, versions};
use super::store;
use crate::config::{KeyStore, TlsProtocol};

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

/// Takes a trusted certificate whatever name it has: `ssl.hostnameVerification=false`.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
