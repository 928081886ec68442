//! Keys and certificates of a test, made anew: nothing that looks like a secret lies in the repository, and nothing expires there.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};

/// An authority, and a folder with its certificate and those that it has signed.
pub(crate) struct Keys {
    folder: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Keys {
    /// Its certificate is `ca.pem`.
    pub(crate) fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, "the authority of a test");
        let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
        Self { folder: folder.to_owned(), authority }
    }

    /// Where a file of this folder is.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// A file with a key and a certificate of `CN=name` for these hosts.
    pub(crate) fn issue(&self, name: &str, hosts: &[&str]) -> String {
        self.issue_until(name, hosts, 2999)
    }

    /// One that was valid until the beginning of that year. A file of that name is replaced.
    pub(crate) fn issue_until(&self, name: &str, hosts: &[&str], year: i32) -> String {
        let hosts: Vec<String> = hosts.iter().copied().map(String::from).collect();
        let mut parameters = CertificateParams::new(hosts).unwrap();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.authority).unwrap();
        let (file, new) = (self.file(&format!("{name}.pem")), self.file("new"));
        fs::write(&new, format!("{}{}", key.serialize_pem(), certificate.pem())).unwrap();
        // Nobody may read half of it.
        fs::rename(new, &file).unwrap();
        file
    }
}
