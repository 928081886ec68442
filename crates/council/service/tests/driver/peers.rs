//! Strangers at the port between members: whatever they say, no member believes them, and none is kept out by them.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use council_service::config::{
    EnsembleSecret, KeyStore, KeyStoreKind, MemberNumber, PeerTlsConfig, Secret, TlsProtocol,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType,
};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::fixture::{Client, Directory, PATIENCE, get, is_end, until};
use crate::trio::Ensemble;

/// What every connection between members begins with: magic, version 2, no secret, a nonce.
fn greeting(flags: u8) -> Vec<u8> {
    [&b"DIWNPEER\x02\0"[..], &[flags], &[7; 32]].concat()
}

/// What a dialler says of itself, and a proof that is none.
fn introduction(lane: u8, number: u64, seat: u64, life: u64, wanted: u64) -> Vec<u8> {
    let mut out = vec![lane];
    for field in [1, number, seat, life, wanted] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(&[0; 16 + 4 + 32]);
    out
}

/// "Your seat was given to another disk."
fn replaced(id: u64) -> Vec<u8> {
    let message = [&[17][..], &id.to_le_bytes(), &(1_u64 << 62).to_le_bytes()].concat();
    let length = u32::try_from(message.len()).unwrap();
    [&length.to_le_bytes()[..], &crc32c::crc32c(&message).to_le_bytes(), &message].concat()
}

fn connect(from: IpAddr, to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What the member answers until it ends the connection.
fn answer_until_end(stream: &mut impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return all,
            Ok(length) => all.extend_from_slice(&bytes[..length]),
            Err(error) if is_end(&error) => return all,
            Err(error) => panic!("the member does not end the connection: {error}"),
        }
    }
}

/// All of it, or as much as the other takes before it ends the connection.
fn say(stream: &mut impl Write, bytes: &[u8]) {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if !is_end(&error) => panic!("{error}"),
        _ => {}
    }
}

/// The refusal that an answer ends with.
fn refusal(answer: &[u8]) -> String {
    let rest = if answer.first() == Some(&0) { &answer[44..] } else { answer };
    let [1, low, high, text @ ..] = rest else { panic!("no refusal: {answer:?}") };
    assert_eq!(usize::from(u16::from_le_bytes([*low, *high])), text.len());
    String::from_utf8_lossy(text).into_owned()
}

fn all_go_on(ensemble: &Ensemble, path: &str) {
    ensemble.until_all_serve();
    let mut client = Client::connect(&ensemble.members[&1]);
    assert_eq!(client.create(path, b"x", 0), 0);
    for number in 1..=3 {
        let data = ensemble.directories[&number].config().storage.data_dir;
        assert!(!data.join("put-aside").exists(), "member {number} has put its data aside");
    }
}

#[test]
fn stranger_of_an_unnamed_number_or_a_false_id_is_refused_and_changes_nothing() {
    let ensemble = Ensemble::start(false);
    for number in 1..=3 {
        let other = number % 3 + 1;
        for (claims, reason) in [
            (introduction(0, 201, 0, 1, number), "member 201 is named neither"),
            (introduction(0, 201, other, 1, number), "member 201 is named neither"),
            (introduction(0, other, number, 1, number), "its id"),
            (introduction(0, other, other, 1, 0), "and not 0"),
            (introduction(0, 0, 0, 1, number), "members have 1 to 255"),
            (introduction(0, number, 0, 1, number), "two members say"),
        ] {
            let to = ensemble.peer_addr(number);
            let mut stream = connect(to.ip(), to);
            say(&mut stream, &greeting(0));
            say(&mut stream, &claims);
            say(&mut stream, &replaced(number));
            let answer = answer_until_end(&mut stream);
            assert!(refusal(&answer).contains(reason), "{}", refusal(&answer));
        }
    }
    all_go_on(&ensemble, "/unnamed");
}

#[test]
fn stranger_that_claims_a_later_life_does_not_take_a_members_place() {
    let ensemble = Ensemble::start(false);
    for number in 1..=3 {
        for other in (1..=3).filter(|other| *other != number) {
            let to = ensemble.peer_addr(number);
            let mut lanes = [0, 1].map(|lane| {
                let mut stream = connect(to.ip(), to);
                say(&mut stream, &greeting(0));
                say(&mut stream, &introduction(lane, other, 0, u64::MAX, number));
                say(&mut stream, &replaced(number));
                stream
            });
            for lane in &mut lanes {
                let answer = answer_until_end(lane);
                assert_eq!(answer.first(), Some(&0), "its claim may be true, and its address is a member's");
            }
        }
    }
    all_go_on(&ensemble, "/life");
}

#[test]
fn stranger_from_another_address_hears_nothing_where_nothing_is_proved() {
    let ensemble = Ensemble::start(false);
    let mut stream = connect(Ipv4Addr::LOCALHOST.into(), ensemble.peer_addr(1));
    say(&mut stream, &greeting(0));
    assert_eq!(answer_until_end(&mut stream), b"");
    all_go_on(&ensemble, "/address");
}

#[test]
fn stranger_without_the_secret_is_told_nothing_of_the_ensemble() {
    let secret = EnsembleSecret::new(&[5; 32]);
    let ensemble = Ensemble::start_told(false, move |told| told.secret = secret.clone());
    let to = ensemble.peer_addr(1);
    for flags in [0, 1] {
        let mut stream = connect(to.ip(), to);
        say(&mut stream, &greeting(flags));
        say(&mut stream, &introduction(0, 2, 0, u64::MAX, 1));
        say(&mut stream, &replaced(1));
        let answer = answer_until_end(&mut stream);
        assert_eq!(refusal(&answer), "it does not let this member in; hint: its log says why");
    }
    all_go_on(&ensemble, "/secret");
}

#[test]
fn member_with_another_secret_stays_outside() {
    let secret = |byte| EnsembleSecret::new(&[byte; 32]);
    let mut ensemble = Ensemble::start_told(false, move |told| told.secret = secret(5));
    drop(ensemble.members.remove(&3));
    let mut config = ensemble.config(3);
    config.ensemble.as_mut().unwrap().secret = secret(6);
    let outsider = council_service::Server::start(config).unwrap();
    // The others look for member 3 again and again: each of them has been answered once when both have tried.
    let mut client = Client::connect(&ensemble.members[&1]);
    for node in 0..50 {
        assert_eq!(client.create(&format!("/outside{node}"), b"x", 0), 0);
        assert!(!outsider.is_serving());
    }
    drop(outsider);
    ensemble.start_member(3);
    ensemble.until_all_serve();
}

#[test]
fn member_comes_back_while_strangers_hold_the_door() {
    for from_members_address in [false, true] {
        let secret = EnsembleSecret::new(&[5; 32]);
        let mut ensemble = Ensemble::start_told(false, move |told| told.secret = secret.clone());
        drop(ensemble.members.remove(&2));
        let hold = |ensemble: &Ensemble| {
            let strangers = (0..200).map(|at| {
                let to = ensemble.peer_addr([1, 3][at % 2]);
                let from = if from_members_address { to.ip() } else { Ipv4Addr::LOCALHOST.into() };
                let mut stream = connect(from, to);
                say(&mut stream, &greeting(1)[..20]);
                stream
            });
            strangers.collect::<Vec<_>>()
        };
        let mut held = hold(&ensemble);
        // The table is limited: those who came first are gone by now.
        assert_eq!(answer_until_end(&mut held[0]), b"");
        ensemble.start_member(2);
        until("it is back", || ensemble.members[&2].is_serving());
        drop(held);
        all_go_on(&ensemble, "/door");
    }
}

#[test]
fn stranger_that_speaks_slowly_has_one_deadline_for_everything() {
    let secret = EnsembleSecret::new(&[5; 32]);
    let ensemble = Ensemble::start_told(false, move |told| told.secret = secret.clone());
    let to = ensemble.peer_addr(1);
    let mut stream = connect(to.ip(), to);
    stream.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    // Each byte comes long before a deadline for a single read would be over.
    let all = greeting(1);
    let mut sent = 0;
    let ended = all.iter().any(|byte| {
        say(&mut stream, &[*byte]);
        sent += 1;
        match stream.read(&mut [0]) {
            Ok(0) => true,
            Ok(_) => panic!("an answer to a part"),
            Err(error) => is_end(&error),
        }
    });
    assert!(ended && sent < all.len(), "{sent} bytes");
}

/// Files of members' keys, all of one authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

type Holder = (rcgen::Certificate, KeyPair);

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, "the authority");
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self, name: &str, member: Option<u64>, uses: &[ExtendedKeyUsagePurpose]) -> Holder {
        let mut parameters = CertificateParams::new(vec![String::from(name)]).unwrap();
        let uri = member.map(|number| format!("diwan:member:{number}"));
        let uri = uri.map(|uri| SanType::URI(uri.as_str().try_into().unwrap()));
        parameters.subject_alt_names.extend(uri);
        parameters.extended_key_usages = uses.to_vec();
        let key = KeyPair::generate().unwrap();
        (parameters.signed_by(&key, &self.0).unwrap(), key)
    }
}

/// Writes a key and a certificate for each member.
fn certify_members(authority: &Authority, directory: &Directory) {
    let both = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    for number in 1..=3 {
        let (certificate, key) = authority.issue("any", Some(number), &both);
        directory.write(&format!("{number}.pem"), certificate.pem() + &key.serialize_pem());
    }
}

/// Members that show `N.pem` and trust `ca.pem` of this directory.
fn certified_ensemble(directory: &Directory) -> Ensemble {
    let folder = directory.0.clone();
    Ensemble::start_told(false, move |told| {
        let store = |name: &str| KeyStore {
            path: folder.join(name),
            password: Secret::default(),
            kind: KeyStoreKind::Pem,
        };
        told.tls = Some(PeerTlsConfig {
            key_store: store(&format!("{}.pem", told.number)),
            trust_store: store("ca.pem"),
            verify_hostname: true,
            verify_client_hostname: true,
            protocols: vec![TlsProtocol::Tls13],
            cipher_suites: None,
            revocation_lists: Vec::new(),
        });
    })
}

#[test]
fn authority_and_certificates_of_members_are_renewed_without_a_restart() {
    let (before, next, directory) = (Authority::new(), Authority::new(), Directory::new());
    directory.write("ca.pem", before.0.pem());
    certify_members(&before, &directory);
    let mut ensemble = certified_ensemble(&directory);
    let reload = |ensemble: &Ensemble| ensemble.members.values().for_each(council_service::Server::reload);
    directory.write("ca.pem", before.0.pem() + &next.0.pem());
    reload(&ensemble);
    certify_members(&next, &directory);
    reload(&ensemble);
    directory.write("ca.pem", next.0.pem());
    reload(&ensemble);
    all_go_on(&ensemble, "/renewed");

    // A member that starts anew shows and trusts the new ones alone; the others have not been restarted.
    drop(ensemble.members.remove(&1));
    ensemble.start_member(1);
    ensemble.until_all_serve();
    // What cannot be used leaves in force what there is.
    directory.write("2.pem", "not a key");
    ensemble.members[&2].reload();
    drop(ensemble.members.remove(&3));
    ensemble.start_member(3);
    ensemble.until_all_serve();
    all_go_on(&ensemble, "/again");
}

#[test]
fn stranger_with_a_certificate_of_the_authority_is_no_member() {
    let (authority, directory) = (Authority::new(), Directory::new());
    directory.write("ca.pem", authority.0.pem());
    certify_members(&authority, &directory);
    let ensemble = certified_ensemble(&directory);
    let of_a_client = [ExtendedKeyUsagePurpose::ClientAuth];
    for (name, member, reason) in [
        ("web-frontend-17.example.com", None, "names neither member 2"),
        ("web-frontend-17.example.com", Some(3), "made out for member 3"),
    ] {
        let mut stream =
            encrypted(&authority, authority.issue(name, member, &of_a_client), ensemble.peer_addr(1));
        say(&mut stream, &greeting(0));
        say(&mut stream, &introduction(0, 2, 0, u64::MAX, 1));
        say(&mut stream, &replaced(1));
        assert!(refusal(&answer_until_end(&mut stream)).contains(reason));
    }
    all_go_on(&ensemble, "/certificate");
}

/// A connection that trusts the authority, whatever the member's certificate is made out for.
fn encrypted(
    authority: &Authority,
    (certificate, key): Holder,
    to: SocketAddr,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.0.der().clone()).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("any").unwrap()).unwrap();
    StreamOwned::new(connection, connect(to.ip(), to))
}

#[test]
fn bytes_of_other_protocols_end_the_connection_at_once() {
    let ensemble = Ensemble::start(false);
    let to = ensemble.peer_addr(1);
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[0x16, 3, 1, 2, 0], &[0, 0, 0, 0x2c], &[0xff; 300]] {
        let mut stream = connect(to.ip(), to);
        say(&mut stream, bytes);
        assert!(refusal(&answer_until_end(&mut stream)).contains("does not let this member in"));
    }
    let mut older = connect(to.ip(), to);
    say(&mut older, &[&b"DIWNPEER\x01\0"[..], &[0; 61]].concat());
    assert!(refusal(&answer_until_end(&mut older)).contains("version 1 of the members' protocol"));
    all_go_on(&ensemble, "/protocols");
}

#[test]
fn member_whose_file_is_old_hears_from_others_who_the_members_are() {
    let mut ensemble = Ensemble::start(false);
    // Member 2 leads, which the file of member 3 will not name.
    while ensemble.by_mode("leader") != [2] {
        let leader = ensemble.by_mode("leader").first().copied();
        if let Some(leader) = leader.filter(|leader| *leader != 2) {
            drop(ensemble.members.remove(&leader));
            until("another leads", || ensemble.by_mode("leader").len() == 1);
            ensemble.start_member(leader);
            ensemble.until_all_serve();
        }
    }
    drop(ensemble.members.remove(&3));
    ensemble.directories.insert(3, Directory::new());
    let mut config = ensemble.config(3);
    config.ensemble.as_mut().unwrap().members.retain(|member| member.number != MemberNumber(2));
    ensemble.members.insert(3, council_service::Server::start(config).unwrap());
    ensemble.until_all_serve();
    until("it knows the leader", || {
        crate::metrics::number(&ensemble.members[&3], "zk_2_diwan_council_peer_connected") == 1.0
    });
}

#[test]
fn end_of_a_members_certificate_is_a_metric() {
    let (authority, directory) = (Authority::new(), Directory::new());
    let (certificate, key) = authority.issue("any", None, &[]);
    let store = |path| KeyStore { path, password: Secret::default(), kind: KeyStoreKind::Pem };
    let tls = PeerTlsConfig {
        key_store: store(directory.write("m.pem", certificate.pem() + &key.serialize_pem())),
        trust_store: store(directory.write("ca.pem", authority.0.pem())),
        verify_hostname: false,
        verify_client_hostname: false,
        protocols: vec![TlsProtocol::Tls12, TlsProtocol::Tls13],
        cipher_suites: None,
        revocation_lists: Vec::new(),
    };
    let ensemble = Ensemble::start_told(false, move |told| told.tls = Some(tls.clone()));
    let (status, page) = get(ensemble.members[&1].http_addr().unwrap(), "/metrics");
    assert_eq!(status, 200);
    // What the library that made it says unless told otherwise: 4096-01-01.
    assert!(page.contains("diwan_council_certificate_expiry_seconds{use=\"members\"} 67090"), "{page}");
}
