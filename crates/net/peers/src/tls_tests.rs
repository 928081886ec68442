//! Two members that speak TLS to each other in memory: whose certificate is good for what.

use std::collections::VecDeque;
use std::fmt::Write as _;

use net_tls::{KeyStore, KeyStoreKind, TlsProtocol};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, SanType, date_time_ymd,
};

use super::*;
use crate::testing::{Directory, read_roster};
use base::Secret;

struct Authority(CertifiedIssuer<'static, KeyPair>);

/// What a certificate is made out for.
struct Made<'a> {
    names: &'a [&'a str],
    member: Option<u8>,
    uses: Vec<ExtendedKeyUsagePurpose>,
    year: i32,
}

impl Default for Made<'_> {
    fn default() -> Self {
        let uses = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        Self { names: &[], member: None, uses, year: 2999 }
    }
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, "the authority");
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(parameters, key).expect("an authority"))
    }

    /// The settings of a member that shows such a certificate and trusts this authority.
    fn config(&self, directory: &Directory, file: &str, made: Made<'_>) -> PeerTlsConfig {
        let names: Vec<_> = made.names.iter().map(|name| String::from(*name)).collect();
        let mut parameters = CertificateParams::new(names).expect("names");
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, "somebody");
        if let Some(member) = made.member {
            let mut uri = String::new();
            write!(uri, "diwan:member:{member}").expect("text");
            parameters.subject_alt_names.push(SanType::URI(uri.as_str().try_into().expect("a URI")));
        }
        parameters.extended_key_usages = made.uses;
        parameters.not_after = date_time_ymd(made.year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.0).expect("a certificate");
        let store = |path| KeyStore { path, password: Secret::default(), kind: KeyStoreKind::Pem };
        PeerTlsConfig {
            key_store: store(directory.write(file, certificate.pem() + &key.serialize_pem())),
            trust_store: store(directory.write(&format!("ca-of-{file}"), self.0.pem())),
            verify_hostname: true,
            verify_client_hostname: true,
            protocols: vec![TlsProtocol::Tls12, TlsProtocol::Tls13],
            cipher_suites: None,
            revocation_lists: Vec::new(),
        }
    }
}

fn names(own: u8) -> Arc<Names> {
    let roster = b"1=10.0.0.1:1\n2=10.0.0.2:1\n3=10.0.0.3:1";
    Names::new(PeerNumber(own.into()), read_roster(roster).expect("a roster"), read_roster)
}

fn member(config: &PeerTlsConfig, number: u8) -> Result<PeerTls, TlsError> {
    PeerTls::new(config, PeerNumber(number.into()), &names(number))
}

/// The answering end of a connection in memory.
struct Far {
    connection: Connection,
    back: VecDeque<u8>,
    error: Option<Error>,
}

impl Read for Far {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.back.len());
        buffer[..length].iter_mut().zip(self.back.drain(..length)).for_each(|(place, byte)| *place = byte);
        Ok(length)
    }
}

impl Write for Far {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() && self.error.is_none() {
            self.connection.read_tls(&mut rest)?;
            self.error = self.connection.process_new_packets().err();
        }
        while self.connection.wants_write() {
            let mut out = Vec::new();
            self.connection.write_tls(&mut out)?;
            self.back.extend(out);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What becomes of a call of member 2 to member 1: what each end thinks of the other's certificate.
fn call(dialler: &PeerTls, answerer: &PeerTls) -> (Result<(), String>, Result<(), String>) {
    let mut far =
        Far { connection: answerer.answer().expect("it answers"), back: VecDeque::new(), error: None };
    let near = match dialler.dial(&mut far, "10.0.0.1") {
        Ok(connection) => connection,
        Err(error) => {
            return (Err(error.to_string()), far.error.map_or(Ok(()), |error| Err(error.to_string())));
        }
    };
    let at = Some(("10.0.0.1", IpAddr::from([10, 0, 0, 1])));
    let near = dialler.check(&near, PeerNumber(1), &names(2), at);
    let far = match far.error {
        Some(error) => Err(error.to_string()),
        None => {
            let judged = answerer.check(&far.connection, PeerNumber(2), &names(1), None);
            judged.map_err(|why| why.to_string())
        }
    };
    (near.map_err(|why| why.to_string()), far)
}

#[test]
fn certificates_of_two_members_are_good_for_these_two_only() {
    let (authority, directory) = (Authority::new(), Directory::new());
    let of = |number: u8| {
        let made = Made { member: Some(number), ..Made::default() };
        member(&authority.config(&directory, &format!("m{number}.pem"), made), number).expect("keys")
    };
    let (one, two, three) = (of(1), of(2), of(3));
    assert_eq!(call(&two, &one), (Ok(()), Ok(())));
    let (_, far) = call(&three, &one);
    assert!(far.expect_err("it is not member 2").contains("made out for member 3"));
    let (near, _) = call(&two, &three);
    assert!(near.expect_err("it is not member 1").contains("made out for member 3"));
}

#[test]
fn certificate_that_names_no_member_must_name_its_host_unless_that_is_switched_off() {
    let (authority, directory) = (Authority::new(), Directory::new());
    let config =
        |file: &str, names: &[&str]| authority.config(&directory, file, Made { names, ..Made::default() });
    let (one, two) = (config("1.pem", &["10.0.0.1"]), config("2.pem", &["10.0.0.2"]));
    let web = config("web.pem", &["web-frontend-17.example.com"]);
    let new = |config: &PeerTlsConfig, number| member(config, number).expect("keys");
    assert_eq!(call(&new(&two, 2), &new(&one, 1)), (Ok(()), Ok(())));
    let (near, far) = call(&new(&web, 2), &new(&web, 1));
    assert!(near.expect_err("dialled").contains("names neither member 1 nor `10.0.0.1`"));
    assert!(far.expect_err("dials").contains("names neither member 2 nor `10.0.0.2`"));
    let dials_any = PeerTlsConfig { verify_client_hostname: false, ..web.clone() };
    let (near, far) = call(&new(&web, 2), &new(&dials_any, 1));
    assert!(near.is_err() && far.is_ok(), "only who dials is taken by any name");
    let any = PeerTlsConfig { verify_hostname: false, ..web };
    assert_eq!(call(&new(&any, 2), &new(&any, 1)), (Ok(()), Ok(())));
}

#[test]
fn certificate_for_one_side_does_not_serve_as_the_other() {
    let (authority, directory) = (Authority::new(), Directory::new());
    let of = |number: u8, uses: Vec<ExtendedKeyUsagePurpose>| {
        let made = Made { member: Some(number), uses, ..Made::default() };
        member(&authority.config(&directory, &format!("m{number}.pem"), made), number).expect("keys")
    };
    let both = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let client_only = || of(2, vec![ExtendedKeyUsagePurpose::ClientAuth]);
    let server_only = || of(1, vec![ExtendedKeyUsagePurpose::ServerAuth]);
    assert_eq!(call(&client_only(), &server_only()), (Ok(()), Ok(())));
    let (near, _) = call(&of(2, both.clone()), &of(1, vec![ExtendedKeyUsagePurpose::ClientAuth]));
    assert!(near.is_err(), "a client's certificate as a server's");
    let (_, far) = call(&of(2, vec![ExtendedKeyUsagePurpose::ServerAuth]), &of(1, both));
    assert!(far.is_err(), "a server's certificate as a client's");
}

#[test]
fn other_authority_and_end_of_a_certificate_are_told_in_plain_words() {
    let (authority, other) = (Authority::new(), Authority::new());
    let directory = Directory::new();
    let of = |authority: &Authority, number: u8, year| {
        let made = Made { member: Some(number), year, ..Made::default() };
        let file = format!("m{number}-{year}.pem");
        member(&authority.config(&directory, &file, made), number).expect("keys")
    };
    let said = |dialler: &PeerTls, answerer: &PeerTls| {
        let mut far =
            Far { connection: answerer.answer().expect("it answers"), back: VecDeque::new(), error: None };
        match dialler.dial(&mut far, "10.0.0.1") {
            Ok(mut connection) => {
                // The alert about the certificate of the dialler comes when that thinks that all is done.
                let error = connection.complete_io(&mut far).expect_err("refused");
                crate::trouble::explain(&error, Some(&dialler.own))
            }
            Err(error) => crate::trouble::explain(&error, Some(&dialler.own)),
        }
    };
    let strange = said(&of(&authority, 2, 2999), &of(&other, 1, 2999));
    assert!(strange.contains("authority"), "{strange}");
    let expired = said(&of(&authority, 2, 2999), &of(&authority, 1, 2001));
    assert!(expired.contains("its certificate expired on 2001-01-01"), "{expired}");
    let own = said(&of(&authority, 2, 2001), &of(&authority, 1, 2999));
    assert!(own.contains("m2-2001.pem`, which holds until 2001-01-01"), "{own}");
}

#[test]
fn certificate_of_another_member_refuses_the_start() {
    let (authority, directory) = (Authority::new(), Directory::new());
    let config = authority.config(&directory, "member-4.pem", Made { member: Some(4), ..Made::default() });
    let refused = member(&config, 2).err().expect("refused").to_string();
    assert!(refused.contains("member-4.pem` is the certificate of another member than 2"), "{refused}");
    let named = authority.config(&directory, "x.pem", Made { names: &["elsewhere"], ..Made::default() });
    let doubt = member(&named, 2).expect("it may be known by that name to the others").own.doubt;
    let doubt = doubt.expect("a warning");
    assert!(matches!(doubt.why, CertificateRefusal::OtherHost { number: PeerNumber(2), .. }));
    assert!(doubt.to_string().contains("other members may refuse"), "{doubt}");
}

#[test]
fn versions_and_cipher_suites_are_those_that_the_settings_say() {
    let (authority, directory) = (Authority::new(), Directory::new());
    let config = |number: u8| {
        let made = Made { member: Some(number), ..Made::default() };
        authority.config(&directory, &format!("m{number}.pem"), made)
    };
    let only = |number, protocol| PeerTlsConfig { protocols: vec![protocol], ..config(number) };
    let new = |config: &PeerTlsConfig, number| member(config, number).expect("keys");
    let (old, latest) = (new(&only(2, TlsProtocol::Tls12), 2), new(&only(1, TlsProtocol::Tls13), 1));
    assert!(call(&old, &latest).0.is_err());
    assert_eq!(call(&new(&only(2, TlsProtocol::Tls12), 2), &new(&config(1), 1)), (Ok(()), Ok(())));
    let suites =
        |number, name: &str| PeerTlsConfig { cipher_suites: Some(vec![name.into()]), ..config(number) };
    let (aes, chacha) = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256");
    assert!(call(&new(&suites(2, aes), 2), &new(&suites(1, chacha), 1)).0.is_err());
    assert_eq!(call(&new(&suites(2, aes), 2), &new(&suites(1, aes), 1)), (Ok(()), Ok(())));
    assert!(member(&suites(1, "TLS_NONSENSE"), 1).is_err());
}

#[test]
fn binding_is_the_same_at_both_ends_and_on_no_other_connection() {
    let (authority, directory) = (Authority::new(), Directory::new());
    for protocol in [TlsProtocol::Tls12, TlsProtocol::Tls13] {
        let of = |number: u8| {
            let made = Made { member: Some(number), ..Made::default() };
            let config = authority.config(&directory, &format!("m{number}.pem"), made);
            member(&PeerTlsConfig { protocols: vec![protocol], ..config }, number).expect("keys")
        };
        let (one, two) = (of(1), of(2));
        let both = || {
            let mut far =
                Far { connection: one.answer().expect("it answers"), back: VecDeque::new(), error: None };
            let near = two.dial(&mut far, "10.0.0.1").expect("agreed");
            (binding(&near).expect("named"), binding(&far.connection).expect("named"))
        };
        let (first, second) = (both(), both());
        assert_eq!(first.0, first.1);
        assert_ne!(first.0, second.0);
    }
}
