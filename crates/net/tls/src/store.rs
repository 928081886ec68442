//! Keys and certificates from files: PEM text and PKCS #12, which is also what today's `keytool` writes.
//!
//! Java's old form (JKS) is recognised by its first bytes, and refused with a hint.

use std::fs;
use std::path::{Path, PathBuf};

use p12_keystore::{KeyStore as Pkcs12, KeyStoreEntry, Pkcs12ImportPolicy};
use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::config::KeyStore;

/// A file that does not hold what it should. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {error}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not what it is said to be.
    #[error("`{path}`: {problem}")]
    Unusable {
        /// Which.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
}

/// What `keytool -storetype JKS` begins its files with.
const JKS_MAGIC: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];
/// What DER, and so PKCS #12, begins with.
const DER_SEQUENCE: u8 = 0x30;

/// A private key and its chain of certificates, the holder's own first.
#[derive(Debug)]
pub struct Identity {
    /// The private key.
    pub key: PrivateKeyDer<'static>,
    /// Its certificate and those above it.
    pub chain: Vec<CertificateDer<'static>>,
}

fn read(path: &PathBuf) -> Result<Vec<u8>, StoreError> {
    fs::read(path).map_err(|error| StoreError::Unreadable { path: path.clone(), error })
}

fn unusable(store: &KeyStore, problem: impl Into<String>) -> StoreError {
    StoreError::Unusable { path: store.path.clone(), problem: problem.into() }
}

/// What the file is, whatever it is said to be: `keytool` calls files JKS that are PKCS #12.
enum Contents {
    Pem(Vec<u8>),
    Pkcs12(Box<Pkcs12>),
}

fn contents(store: &KeyStore) -> Result<Contents, StoreError> {
    let bytes = read(&store.path)?;
    if bytes.starts_with(&JKS_MAGIC) {
        return Err(unusable(store, jks_problem(&store.path)));
    }
    if bytes.first() != Some(&DER_SEQUENCE) {
        return Ok(Contents::Pem(bytes));
    }
    Pkcs12::from_pkcs12(&bytes, &store.password.0, Pkcs12ImportPolicy::Relaxed)
        .map(|parsed| Contents::Pkcs12(Box::new(parsed)))
        .map_err(|error| unusable(store, format!("not a PKCS #12 file under this password: {error}")))
}

/// A JKS file's keys are sealed by a cipher of Java's own, so it is Java's tool that opens them.
fn jks_problem(path: &Path) -> String {
    let converted =
        path.with_extension(if path.extension().is_some_and(|form| form == "p12") { "pfx" } else { "p12" });
    let (old, new) = (as_word(path), as_word(&converted));
    format!(
        "Java's old key store form (JKS) is not read; hint: run `keytool -importkeystore -srckeystore {old} -srcstoretype \
         JKS -destkeystore {new} -deststoretype PKCS12`, and name `{}` in the configuration instead",
        converted.display()
    )
}

/// A path as one word of a command line.
fn as_word(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// The key and certificates that a server shows.
pub fn identity(store: &KeyStore) -> Result<Identity, StoreError> {
    let identity = match contents(store)? {
        Contents::Pem(pem) => pem_identity(store, &pem),
        Contents::Pkcs12(parsed) => pkcs12_identity(store, &parsed),
    }?;
    storage_dir_disk::private::warn_if_readable(&store.path, "the file of a private key");
    Ok(identity)
}

fn pem_identity(store: &KeyStore, pem: &[u8]) -> Result<Identity, StoreError> {
    let chain = pem_certificates(store, pem)?;
    let key = match encrypted_block(pem) {
        Some(block) => decrypted_key(store, block)?,
        None => PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| unusable(store, "holds no private key in PEM form"))?,
    };
    Ok(Identity { key, chain })
}

/// An encrypted private key's block of PEM text.
fn encrypted_block(pem: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(pem).ok()?;
    let (begin, end) = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----");
    let from = text.find(begin)?;
    let until = from + text.get(from..)?.find(end)? + end.len();
    text.get(from..until)
}

fn decrypted_key(store: &KeyStore, block: &str) -> Result<PrivateKeyDer<'static>, StoreError> {
    let refused = |what: &str, error: &dyn std::fmt::Display| {
        unusable(store, format!("its encrypted private key {what}: {error}"))
    };
    let (_, document) =
        SecretDocument::from_pem(block).map_err(|error| refused("is not PEM text", &error))?;
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
        .map_err(|error| refused("is not in PKCS #8 form", &error))?;
    let key = encrypted
        .decrypt(&store.password.0)
        .map_err(|error| refused("does not open with this password", &error))?;
    PrivateKeyDer::try_from(key.as_bytes().to_vec()).map_err(|error| refused("is of no known kind", &error))
}

fn pkcs12_identity(store: &KeyStore, parsed: &Pkcs12) -> Result<Identity, StoreError> {
    let Some((_, chain)) = parsed.private_key_chain() else {
        return Err(unusable(store, "holds no private key"));
    };
    let certificates = chain.certs().iter().map(|certificate| certificate.as_der().to_vec().into()).collect();
    let key = PrivateKeyDer::try_from(chain.key().as_der().to_vec())
        .map_err(|problem| unusable(store, format!("its private key is of no known kind: {problem}")))?;
    Ok(Identity { key, chain: certificates })
}

/// The certificates that others are trusted by.
pub fn trusted(store: &KeyStore) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let certificates: Vec<_> = match contents(store)? {
        Contents::Pem(pem) => pem_certificates(store, &pem)?,
        Contents::Pkcs12(parsed) => parsed
            .entries()
            .flat_map(|(_, entry)| match entry {
                KeyStoreEntry::Certificate(certificate) => vec![certificate.as_der().to_vec().into()],
                KeyStoreEntry::PrivateKeyChain(chain) => {
                    chain.certs().iter().map(|certificate| certificate.as_der().to_vec().into()).collect()
                }
                KeyStoreEntry::Secret(_) => Vec::new(),
            })
            .collect(),
    };
    if certificates.is_empty() { Err(unusable(store, "holds no certificate")) } else { Ok(certificates) }
}

fn pem_certificates(store: &KeyStore, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(store, format!("is not PEM text: {error}")))?;
    if certificates.is_empty() {
        return Err(unusable(store, "holds no certificate in PEM form"));
    }
    Ok(certificates)
}

/// The lists in a file, PEM or DER.
pub fn revocation_lists(path: &PathBuf) -> Result<Vec<CertificateRevocationListDer<'static>>, StoreError> {
    let bytes = read(path)?;
    if bytes.first() == Some(&DER_SEQUENCE) {
        return Ok(vec![bytes.into()]);
    }
    CertificateRevocationListDer::pem_slice_iter(&bytes).collect::<Result<_, _>>().map_err(|error| {
        StoreError::Unusable { path: path.clone(), problem: format!("is not a revocation list: {error}") }
    })
}

#[cfg(test)]
mod tests {
    use p12_keystore::{Certificate, PrivateKey, PrivateKeyChain};

    use super::*;
    use base::Secret;

    use crate::config::KeyStoreKind;

    /// A directory of one test, removed behind it.
    struct Directory(tempfile::TempDir);

    impl Directory {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a directory"))
        }

        fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.path().join(name);
            fs::write(&path, contents).expect("written");
            path
        }
    }

    fn store(path: PathBuf, kind: KeyStoreKind) -> KeyStore {
        KeyStore { path, password: Secret(String::from("changeit")), kind }
    }

    #[test]
    fn the_same_identity_comes_from_pem_and_from_pkcs12() {
        let made = rcgen::generate_simple_self_signed([String::from("localhost")]).expect("a certificate");
        let directory = Directory::new();
        let pem =
            directory.write("k.pem", format!("{}{}", made.signing_key.serialize_pem(), made.cert.pem()));
        let mut keys = Pkcs12::new();
        let key = PrivateKey::from_der(&made.signing_key.serialize_der()).expect("a key");
        let certificate = Certificate::from_der(made.cert.der()).expect("a certificate");
        let chain = PrivateKeyChain::new(vec![1], key, [certificate]);
        keys.add_entry("server", KeyStoreEntry::PrivateKeyChain(chain));
        let p12 = directory.write("k.jks", keys.writer("changeit").write().expect("written"));

        let from_pem = identity(&store(pem, KeyStoreKind::Pem)).expect("from PEM");
        let from_p12 =
            identity(&store(p12.clone(), KeyStoreKind::Jks)).expect("from PKCS #12, whatever its name");
        assert_eq!(from_pem.chain, from_p12.chain);
        assert_eq!(from_pem.key.secret_der(), from_p12.key.secret_der());
        let wrong = KeyStore { password: Secret(String::from("wrong")), ..store(p12, KeyStoreKind::Pkcs12) };
        assert!(identity(&wrong).expect_err("refused").to_string().contains("password"));
    }

    #[test]
    fn an_encrypted_key_opens_with_its_password_alone() {
        let made = rcgen::generate_simple_self_signed([String::from("localhost")]).expect("a certificate");
        let der = made.signing_key.serialize_der();
        let cipher =
            pkcs8::pkcs5::pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(2048, &[7; 16], [8; 16]);
        let encrypted = pkcs8::PrivateKeyInfoRef::try_from(der.as_slice())
            .and_then(|key| key.encrypt_with_params(cipher.expect("a cipher"), "changeit"))
            .expect("encrypted");
        let key = encrypted.to_pem("ENCRYPTED PRIVATE KEY", pkcs8::LineEnding::LF).expect("PEM text");
        let directory = Directory::new();
        let path = directory.write("k.pem", format!("{}{}", made.cert.pem(), key.as_str()));
        let opened = identity(&store(path.clone(), KeyStoreKind::Pem)).expect("opened");
        assert_eq!(opened.key.secret_der(), der);
        let wrong = KeyStore { password: Secret(String::from("wrong")), ..store(path, KeyStoreKind::Pem) };
        assert!(identity(&wrong).expect_err("refused").to_string().contains("this password"));
    }

    #[test]
    fn what_cannot_be_read_says_what_to_do() {
        let directory = Directory::new();
        for (name, converted) in
            [("k.jks", "k.p12"), ("k", "k.p12"), ("k.p12", "k.pfx"), ("a key.jks", "a key.p12")]
        {
            let path = directory.write(name, [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]);
            let new = path.with_file_name(converted);
            let quote = if name.contains(' ') { "'" } else { "" };
            let command = format!(
                "`keytool -importkeystore -srckeystore {quote}{}{quote} -srcstoretype JKS -destkeystore {quote}{}{quote} \
                 -deststoretype PKCS12`",
                path.display(),
                new.display()
            );
            let jks = store(path, KeyStoreKind::Jks);
            for refusal in [identity(&jks).expect_err("refused"), trusted(&jks).expect_err("refused")] {
                assert!(refusal.to_string().contains(&command), "{refusal}");
            }
        }
        let empty = store(directory.write("k.pem", "nothing"), KeyStoreKind::Pem);
        assert!(trusted(&empty).expect_err("refused").to_string().contains("no certificate"));
    }
}
