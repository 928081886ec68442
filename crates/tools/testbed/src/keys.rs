//! Keys and certificates for servers and clients under test, made anew for each run: no file that looks like a secret
//! lies in a repository, and nothing expires there.
//!
//! Elliptic keys only, so that making them takes no time.

use std::fs;
use std::path::Path;

use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};

/// The password of the PKCS #12 files.
const PASSWORD: &str = "secret";

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Fills a folder, which it makes if need be:
///
/// - `ca.pem`, `trust.p12`: the trusted authority;
/// - `server.pem`, `server.p12`: a server's key and certificate, for `localhost` and 127.0.0.1;
/// - `alice`, `super`: the same for two clients, `CN=alice,OU=interop,O=Diwan` and `CN=super,OU=interop,O=Diwan`;
/// - `stranger`: for a client that no server trusts.
///
/// Each `.pem` holds a certificate and its key, each `.p12` the same under the password `secret`.
///
/// # Errors
/// When a file cannot be written, or a key not be made.
pub fn write(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let authority = authority("the interop authority")?;
    fs::write(folder.join("ca.pem"), authority.pem())?;
    let mut trust = KeyStore::new();
    trust.add_entry("ca", KeyStoreEntry::Certificate(Certificate::from_der(authority.der())?));
    fs::write(folder.join("trust.p12"), trust.writer(PASSWORD).write()?)?;
    for name in ["server", "alice", "super"] {
        Holder::new(name, &authority)?.write(folder)?;
    }
    Holder::new("stranger", &self::authority("another authority")?)?.write(folder)
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Result<Authority, rcgen::Error> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)
}

/// The holder of a key.
struct Holder<'a> {
    name: &'a str,
    key: KeyPair,
    certificate: rcgen::Certificate,
    authority: &'a Authority,
}

impl<'a> Holder<'a> {
    fn new(name: &'a str, authority: &'a Authority) -> Result<Self, rcgen::Error> {
        let mut parameters = CertificateParams::new(["localhost", "127.0.0.1"].map(String::from))?;
        let mut names = DistinguishedName::new();
        names.push(DnType::OrganizationName, "Diwan");
        names.push(DnType::OrganizationalUnitName, "interop");
        names.push(DnType::CommonName, name);
        parameters.distinguished_name = names;
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, authority)?;
        Ok(Self { name, key, certificate, authority })
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        let pem = format!("{}{}", self.certificate.pem(), self.key.serialize_pem());
        fs::write(folder.join(self.name).with_extension("pem"), pem)?;
        let chain = [self.certificate.der(), self.authority.der()]
            .into_iter()
            .map(|der| Certificate::from_der(der))
            .collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKey::from_der(&self.key.serialize_der())?;
        let mut store = KeyStore::new();
        store.add_entry(self.name, KeyStoreEntry::PrivateKeyChain(PrivateKeyChain::new(vec![1], key, chain)));
        fs::write(folder.join(self.name).with_extension("p12"), store.writer(PASSWORD).write()?)?;
        Ok(())
    }
}
