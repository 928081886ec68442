//! How connections are encrypted: `rustls`, with authorities and certificates from PEM files.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::error::{Effect, Problem, Result};
use crate::http::left;

/// How connections are encrypted. See [`Options::tls`](crate::Options::tls).
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Trusts members whose certificates the authorities in that file have signed (PEM).
    pub fn trusting(authorities: impl AsRef<Path>) -> Result<Self> {
        let roots = roots_of(authorities.as_ref())?;
        Ok(Self::made(roots, None)?)
    }

    /// The same, and shows the certificate in the other file, where its key is, too.
    pub fn with_certificate(authorities: impl AsRef<Path>, certificate: impl AsRef<Path>) -> Result<Self> {
        let (roots, own) = (roots_of(authorities.as_ref())?, certificate.as_ref());
        let chain = certificates(own)?;
        let key = PrivateKeyDer::from_pem_file(own).map_err(|error| unusable(own, &error))?;
        Ok(Self::made(roots, Some((chain, key)))?)
    }

    /// Trusts members for which the system's own authorities vouch.
    pub fn of_system() -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(refused("the system has no authorities; name some: `Options::tls`").into());
        }
        Ok(Self::made(roots, None)?)
    }

    /// With settings of `rustls` that were made elsewhere.
    #[must_use]
    pub fn of(config: Arc<ClientConfig>) -> Self {
        Self(config)
    }

    fn made(
        roots: RootCertStore,
        own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    ) -> std::result::Result<Self, Problem> {
        let said = |error: rustls::Error| refused(&error.to_string());
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder =
            builder.with_safe_default_protocol_versions().map_err(said)?.with_root_certificates(roots);
        let config = match own {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(said)?,
            None => builder.with_no_client_auth(),
        };
        Ok(Self(Arc::new(config)))
    }

    /// A connection with a member, once its handshake has ended: nothing of a request was sent before.
    fn begin(&self, mut stream: TcpStream, member: &str, deadline: Instant) -> io::Result<Wire> {
        let host = member.rsplit_once(':').map_or(member, |(host, _)| host).trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            stream.set_read_timeout(Some(left(deadline)?))?;
            stream.set_write_timeout(Some(left(deadline)?))?;
            connection.complete_io(&mut stream)?;
        }
        Ok(Wire::Encrypted(Box::new(StreamOwned::new(connection, stream))))
    }
}

fn refused(detail: &str) -> Problem {
    Problem::new("no-tls", detail, Effect::None, "no")
}

fn unusable(file: &Path, error: &impl fmt::Display) -> Problem {
    refused(&format!("`{}`: {error}", file.display()))
}

fn certificates(file: &Path) -> std::result::Result<Vec<CertificateDer<'static>>, Problem> {
    let read = CertificateDer::pem_file_iter(file).map_err(|error| unusable(file, &error))?;
    let found: Vec<_> =
        read.collect::<std::result::Result<_, _>>().map_err(|error| unusable(file, &error))?;
    if found.is_empty() { Err(unusable(file, &"there is no certificate in it")) } else { Ok(found) }
}

fn roots_of(file: &Path) -> std::result::Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| unusable(file, &error))?;
    }
    Ok(roots)
}

/// Whether one side refuses the other's certificate or encryption: nothing of a request was looked at then.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    let tls = error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>());
    tls.is_some_and(|tls| !matches!(tls, rustls::Error::DecryptError))
}

/// A connection with a member, encrypted or not.
#[derive(Debug)]
pub(crate) enum Wire {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    /// Over a connection that has just begun.
    pub(crate) fn over(
        stream: TcpStream,
        tls: Option<&Tls>,
        member: &str,
        deadline: Instant,
    ) -> io::Result<Self> {
        match tls {
            None => Ok(Self::Plain(stream)),
            Some(tls) => tls.begin(stream, member, deadline),
        }
    }

    /// Why a request could not be written. With TLS 1.3 a client learns only then that its certificate is refused, and the words
    /// for that have come before the connection ended.
    pub(crate) fn why(&mut self, unsent: io::Error) -> io::Error {
        let is_closed = matches!(unsent.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        match self {
            Self::Encrypted(stream) if is_closed => {
                stream.read(&mut [0]).err().filter(is_refused).unwrap_or(unsent)
            }
            _ => unsent,
        }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Encrypted(stream) => &stream.sock,
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}
