//! Encryption between members: each shows a certificate and checks the other's.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error,
    RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};

use crate::config::PeerTlsConfig;
use crate::net::tls::context::TlsError;
use crate::net::tls::store;

/// What connections between members begin with.
#[derive(Clone)]
pub(crate) struct PeerTls {
    dials: Arc<ClientConfig>,
    answers: Arc<ServerConfig>,
}

impl PeerTls {
    /// Reads keys and certificates.
    pub(crate) fn new(config: &PeerTlsConfig) -> Result<Self, TlsError> {
        let settings =
            |error: &dyn std::fmt::Display| TlsError::Settings(format!("between members: {error}"));
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for certificate in store::trusted(&config.trust_store)? {
            roots.add(certificate).map_err(|error| settings(&error))?;
        }
        let roots = Arc::new(roots);
        let identity = store::identity(&config.key_store)?;
        let answers = {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
            ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| settings(&error))?
                .with_client_cert_verifier(verifier.build().map_err(|error| settings(&error))?)
                .with_single_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|error| settings(&error))?
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| settings(&error))?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| settings(&error))?;
        let verifier: Arc<dyn ServerCertVerifier> =
            if config.verify_hostname { verifier } else { Arc::new(AnyName(verifier)) };
        let dials = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_auth_cert(identity.chain, identity.key)
            .map_err(|error| settings(&error))?;
        Ok(Self { dials: Arc::new(dials), answers: Arc::new(answers) })
    }

    /// Agrees upon encryption with the member of that name at the other end.
    pub(crate) fn dial(&self, stream: &mut TcpStream, host: &str) -> io::Result<Connection> {
        let name = ServerName::try_from(String::from(host)).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(&self.dials), name).map_err(io::Error::other)?;
        agree(Connection::Client(connection), stream)
    }

    /// Agrees upon encryption with whoever dialled.
    pub(crate) fn answer(&self, stream: &mut TcpStream) -> io::Result<Connection> {
        let connection = ServerConnection::new(Arc::clone(&self.answers)).map_err(io::Error::other)?;
        agree(Connection::Server(connection), stream)
    }
}

fn agree(mut connection: Connection, stream: &mut TcpStream) -> io::Result<Connection> {
    while connection.is_handshaking() {
        connection.complete_io(stream)?;
    }
    Ok(connection)
}

/// A connection while it is young and may be waited for: plain or encrypted, one way to read and one to write.
pub(crate) struct Talk<'a>(pub(crate) &'a mut TcpStream, pub(crate) Option<&'a mut Connection>);

impl Read for Talk<'_> {
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

impl Write for Talk<'_> {
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

/// Takes a trusted certificate whatever name it is made out for: `ssl.quorum.hostnameVerification=false`.
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
        let verified = self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
