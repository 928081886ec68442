//! `diwan certificates`: an authority, a key with a certificate for each member of an ensemble, in the form that
//! `zoo.cfg` names, and a secret for all of them. Writes files and never replaces one.
//!
//! A certificate names its member's hosts, and by the URI `diwan:member:N` the member itself: so a host may get another
//! name later, and the certificate of one member is of no use to another.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};

/// For how long certificates are valid by default.
pub(crate) const DAYS: u32 = 3650;
const AUTHORITY: &str = "ca.pem";
const AUTHORITY_KEY: &str = "ca-key.pem";
const SECRET: &str = "ensemble.secret";
/// Random bytes of a secret; the file has two hexadecimal digits for each.
const SECRET_BYTES: usize = 32;

/// A member, and the names and addresses by which others dial it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) number: u64,
    pub(crate) hosts: Vec<String>,
}

/// `N=HOST[,HOST..]`.
impl std::str::FromStr for Holder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, hosts) = text.split_once('=').ok_or("write it like `1=zk1.example.com`")?;
        let number = number.trim().parse().ok().filter(|number| (1..=255).contains(number));
        let hosts: Vec<_> =
            hosts.split(',').map(str::trim).filter(|host| !host.is_empty()).map(String::from).collect();
        match number {
            Some(number) if !hosts.is_empty() => Ok(Self { number, hosts }),
            Some(_) => Err(String::from("it names no host")),
            None => Err(String::from("its number is none from 1 to 255")),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) directory: PathBuf,
    pub(crate) members: Vec<Holder>,
    pub(crate) days: u32,
}

/// An error that a user can correct, with a hint.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    hint: String,
}

impl Failure {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::new(
            format!("cannot {what} `{}`: {error}", path.display()),
            "name another directory with `--dir`, or make that one writable",
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.what, self.hint)
    }
}

impl From<rcgen::Error> for Failure {
    fn from(error: rcgen::Error) -> Self {
        Self::new(
            format!("a certificate cannot be made: {error}"),
            "hosts are names of the DNS or addresses: `--member 1=zk1.example.com`",
        )
    }
}

/// The command.
pub(crate) fn run(order: &Order, out: &mut impl Write) -> io::Result<ExitCode> {
    match make(order) {
        Ok(()) => tell(order, out).map(|()| ExitCode::SUCCESS),
        Err(failure) => {
            eprintln!("error: {failure}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The file with a member's key and certificate.
pub(crate) fn key_store(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("member-{number}.pem"))
}

/// The file with the authority that members trust.
pub(crate) fn trust_store(directory: &Path) -> PathBuf {
    directory.join(AUTHORITY)
}

/// The file of the secret that members share; made if it is not there.
pub(crate) fn secret(directory: &Path) -> Result<PathBuf, Failure> {
    let file = directory.join(SECRET);
    if !file.exists() {
        let mut bytes = [0; SECRET_BYTES];
        let source = Path::new("/dev/urandom");
        let drawn = fs::File::open(source).and_then(|mut source| source.read_exact(&mut bytes));
        drawn.map_err(|error| Failure::file("read", source, &error))?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        write_new(&file, &format!("{text}\n"), 0o600)?;
    }
    Ok(file)
}

/// Makes what is asked for: all of it or, where a file is in the way, nothing. An authority that is there already signs
/// for further members.
pub(crate) fn make(order: &Order) -> Result<(), Failure> {
    let directory = order.directory.as_path();
    for (place, member) in order.members.iter().enumerate() {
        if order.members.iter().take(place).any(|other| other.number == member.number) {
            let what = format!("member {} is named twice", member.number);
            return Err(Failure::new(what, "several hosts of one are `--member 1=HOST,HOST`"));
        }
        let file = key_store(directory, member.number);
        if file.exists() {
            return Err(Failure::new(
                format!("`{}` is there already, and is not replaced", file.display()),
                "leave out that member, remove the file, or name another directory with `--dir`",
            ));
        }
    }
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    made.map_err(|error| Failure::file("make", directory, &error))?;
    let term = Term::of(order.days);
    let authority = authority(directory, term)?;
    for member in &order.members {
        let (pem, file) = (signed(member, &authority, term)?, key_store(directory, member.number));
        write_new(&file, &pem, 0o600)?;
    }
    secret(directory).map(drop)
}

/// From and until when certificates hold.
#[derive(Clone, Copy)]
struct Term {
    from: Date,
    until: Date,
}

impl Term {
    fn of(days: u32) -> Self {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        // Another machine's clock may be behind.
        Self { from: today.saturating_sub(1.day()), until: today.saturating_add(i64::from(days).days()) }
    }

    fn set(self, parameters: &mut CertificateParams) {
        let day = |date: Date| {
            date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
        };
        (parameters.not_before, parameters.not_after) = (day(self.from), day(self.until));
    }
}

fn named(name: String) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn authority(directory: &Path, term: Term) -> Result<Issuer<'static, KeyPair>, Failure> {
    let (certificate_file, key_file) = (directory.join(AUTHORITY), directory.join(AUTHORITY_KEY));
    match (certificate_file.exists(), key_file.exists()) {
        (true, true) => {
            let read =
                |path: &Path| fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error));
            let key = KeyPair::from_pem(&read(&key_file)?)?;
            Ok(Issuer::from_ca_cert_pem(&read(&certificate_file)?, key)?)
        }
        (false, false) => {
            let mut parameters = CertificateParams::new(Vec::new())?;
            parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            parameters.distinguished_name = named(String::from("Diwan ensemble authority"));
            term.set(&mut parameters);
            let key = KeyPair::generate()?;
            let certificate = parameters.self_signed(&key)?;
            write_new(&key_file, &key.serialize_pem(), 0o600)?;
            write_new(&certificate_file, &certificate.pem(), 0o644)?;
            Ok(Issuer::new(parameters, key))
        }
        _ => Err(Failure::new(
            format!("`{}` holds one of `{AUTHORITY}` and `{AUTHORITY_KEY}`, not both", directory.display()),
            "bring the other back to sign for further members, or name another directory with `--dir`",
        )),
    }
}

/// A key and its certificate, which names the member and its hosts: members look at both ends of a connection.
fn signed(member: &Holder, authority: &Issuer<'_, KeyPair>, term: Term) -> Result<String, Failure> {
    let mut parameters = CertificateParams::new(member.hosts.clone())?;
    let uri = format!("diwan:member:{}", member.number);
    parameters.subject_alt_names.push(SanType::URI(uri.as_str().try_into()?));
    parameters.distinguished_name = named(format!("member {}", member.number));
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    parameters.use_authority_key_identifier_extension = true;
    term.set(&mut parameters);
    let key = KeyPair::generate()?;
    let certificate = parameters.signed_by(&key, authority)?;
    Ok(format!("{}{}", certificate.pem(), key.serialize_pem()))
}

/// Creates the file with this mode, so that no other user can read it at any moment.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::file("write", path, &error))
}

fn tell(order: &Order, out: &mut impl Write) -> io::Result<()> {
    let directory = std::path::absolute(&order.directory).unwrap_or_else(|_| order.directory.clone());
    for member in &order.members {
        let hosts = member.hosts.join(", ");
        writeln!(out, "# member {} ({hosts}): lines for its zoo.cfg", member.number)?;
        writeln!(out, "sslQuorum=true")?;
        writeln!(out, "ssl.quorum.keyStore.location={}", key_store(&directory, member.number).display())?;
        writeln!(out, "ssl.quorum.trustStore.location={}", trust_store(&directory).display())?;
        writeln!(out, "diwan.ensembleSecretFile={}\n", directory.join(SECRET).display())?;
    }
    out.flush()?;
    eprintln!(
        "The certificates are valid until {}. Copy to each member its `member-N.pem`, `{AUTHORITY}` and `{SECRET}`, \
         nothing else;\n\
         keep `{AUTHORITY_KEY}` where no other user can read it: it signs for further members.\n\
         hint: a running ensemble goes over from plain text with all members at once: stop all, add the lines, start all",
        Term::of(order.days).until
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_a_number_and_hosts() {
        let member: Holder = "3=zk3, 10.0.0.3".parse().unwrap();
        assert_eq!(member, Holder { number: 3, hosts: vec!["zk3".into(), "10.0.0.3".into()] });
        for wrong in ["zk3", "0=a", "256=a", "x=a", "1=", "1=,"] {
            assert!(wrong.parse::<Holder>().is_err(), "{wrong}");
        }
    }
}
