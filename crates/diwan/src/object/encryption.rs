//! How a command encrypts its connections with servers of objects, and what it says when that fails.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use crate::http::Tls;
use crate::log::failure::{Done, Failure};

/// What an address may begin with.
const ENCRYPTED: &str = "https://";
const PLAIN: &str = "http://";

/// With which files.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EncryptionArguments {
    /// Encrypt; trust servers whose certificates these authorities signed (PEM or PKCS #12).
    #[arg(long, value_name = "FILE", env = "DIWAN_OBJECTS_TLS_CA")]
    tls_ca: Option<PathBuf>,

    /// Encrypt; show this certificate (PEM with the key, or PKCS #12).
    #[arg(long, value_name = "FILE", env = "DIWAN_OBJECTS_TLS_CERT")]
    tls_cert: Option<PathBuf>,

    /// What was read of them.
    #[arg(skip)]
    read: OnceLock<Tls>,
}

impl EncryptionArguments {
    /// With the files that the words of a line name.
    pub(crate) fn of(tls_ca: Option<String>, tls_cert: Option<String>) -> Self {
        let (tls_ca, tls_cert) = (tls_ca.map(PathBuf::from), tls_cert.map(PathBuf::from));
        Self { tls_ca, tls_cert, read: OnceLock::new() }
    }

    /// Host and port of a server, and how it is spoken to.
    ///
    /// # Errors
    /// A file is of no use, or the address asks for TLS and nobody is trusted to vouch for the server.
    pub(crate) fn server<'a>(&self, server: &'a str) -> Done<(&'a str, Tls)> {
        if let Some(bare) = server.strip_prefix(PLAIN) {
            return Ok((bare.trim_end_matches('/'), None));
        }
        let tls = self.tls()?;
        match server.strip_prefix(ENCRYPTED) {
            Some(_) if tls.is_none() => Err(untrusted(format!("nobody is trusted to vouch for {server}"))),
            Some(bare) => Ok((bare.trim_end_matches('/'), tls)),
            None => Ok((server, tls)),
        }
    }

    fn tls(&self) -> Done<Tls> {
        if let Some(tls) = self.read.get() {
            return Ok(tls.clone());
        }
        let tls = match (&self.tls_ca, &self.tls_cert) {
            (None, None) => None,
            (None, Some(_)) => return Err(untrusted("a certificate is named, but no authority".into())),
            (Some(authority), identity) => {
                Some(council_connect::of_files(authority.clone(), identity.clone())?)
            }
        };
        Ok(self.read.get_or_init(|| tls).clone())
    }
}

fn untrusted(what: String) -> Failure {
    Failure::hinted(what, "name the authority that signed the servers' certificates: `--tls-ca FILE`")
}

/// What is said when a server and this command do not agree on encryption; nothing if that is not why it failed. Nothing of a
/// request has been looked at then.
pub(crate) fn refused(server: &str, error: &io::Error) -> Option<Failure> {
    let tls = error.get_ref()?.downcast_ref::<Error>()?;
    let (what, hint) = match tls {
        // An authority of the same name and with another key is another authority.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => (
            String::from("its certificate is of an authority that is not trusted"),
            "`--tls-ca` must name the authority that signed the server's certificate",
        ),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => (
            String::from("its certificate is for another name"),
            "name the server by a name that stands in its certificate",
        ),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => (
            String::from("its certificate has expired"),
            "renew the server's certificate, and look at both clocks",
        ),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => (
            String::from("it does not speak TLS"),
            "leave `--tls-ca` out, or give the server a key: `objects.tls.key-store`",
        ),
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            (String::from("it wants a certificate"), "name a key with its certificate: `--tls-cert FILE`")
        }
        Error::AlertReceived(alert) => (
            format!("it refuses this client ({alert:?})"),
            "name a certificate that the server's trust store accepts: `--tls-cert FILE`",
        ),
        other => (other.to_string(), "look at the certificates of both sides"),
    };
    Some(Failure::hinted(format!("no encrypted connection with {server}: {what}"), hint))
}
