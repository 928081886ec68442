//! Encrypted clients, with certificates made on the spot.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use council_service::Server;
use council_service::config::{ClientAuth, KeyStore, KeyStoreKind, Secret, TlsConfig, TlsProtocol};
use council_wire::{Acl, OpCode, Reader, ReplyHeader, RequestHeader};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa,
    KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::fixture::{Client, Directory, dial, frame, read_all};

struct Authority(CertifiedIssuer<'static, KeyPair>);

struct Holder {
    key: KeyPair,
    serial: SerialNumber,
    certificate: rcgen::Certificate,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, "the authority");
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self, name: &str) -> Holder {
        let mut parameters = CertificateParams::new(vec![String::from("localhost")]).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::OrganizationName, "Diwan");
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let serial = SerialNumber::from(COUNT.fetch_add(1, Ordering::Relaxed));
        parameters.serial_number = Some(serial.clone());
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        Holder { key, serial, certificate }
    }

    /// A list, in PEM form, of this one's certificate alone.
    fn revoke(&self, holder: &Holder) -> String {
        let revoked = RevokedCertParams {
            serial_number: holder.serial.clone(),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2999, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        }
        .signed_by(&self.0)
        .unwrap()
        .pem()
        .unwrap()
    }

    fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }
}

fn store(path: PathBuf) -> KeyStore {
    KeyStore { path, password: Secret::default(), kind: KeyStoreKind::Pem }
}

fn config(
    directory: &Directory,
    authority: &Authority,
    client_auth: ClientAuth,
) -> council_service::ServerConfig {
    let holder = authority.issue("server");
    let keys = format!("{}{}", holder.key.serialize_pem(), holder.certificate.pem());
    let mut config = directory.config();
    config.listen.secure = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    config.auth.x509_enabled = true;
    config.tls = Some(TlsConfig {
        key_store: store(directory.write("server.pem", keys)),
        trust_store: Some(store(directory.write("trust.pem", authority.0.pem()))),
        client_auth,
        protocols: vec![TlsProtocol::Tls12, TlsProtocol::Tls13],
        cipher_suites: None,
        verify_client_hostname: false,
        revocation_lists: Vec::new(),
        reload: false,
        handshake_timeout_ms: 300,
        framing: council_service::config::Framing::LengthPrefixed,
    });
    config
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

fn encrypt(stream: TcpStream, authority: &Authority, holder: Option<&Holder>) -> Encrypted {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match holder {
        Some(holder) => builder
            .with_client_auth_cert(
                vec![holder.certificate.der().clone()],
                PrivateKeyDer::try_from(holder.key.serialize_der()).unwrap(),
            )
            .unwrap(),
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
}

fn dial_secure(server: &Server) -> TcpStream {
    TcpStream::connect(server.secure_addr().unwrap()).unwrap()
}

#[test]
fn a_certificates_holder_is_an_identity() {
    let directory = Directory::new();
    let authority = Authority::new();
    let server = Server::start(config(&directory, &authority, ClientAuth::Need)).unwrap();
    let alice = authority.issue("alice");
    let mut client = Client::greet(encrypt(dial_secure(&server), &authority, Some(&alice)), None).unwrap();
    let hers = Acl { permissions: 31, scheme: String::from("x509"), id: String::from("CN=alice,O=Diwan") };
    assert_eq!(client.create_with("/hers", b"secret", &[hers], 0), 0);
    assert_eq!(client.get("/hers"), Ok(b"secret".to_vec()));

    let bob = authority.issue("bob");
    let mut other = Client::greet(encrypt(dial_secure(&server), &authority, Some(&bob)), None).unwrap();
    assert_eq!(other.get("/hers"), Err(-102));
    let mut plain = Client::connect(&server);
    assert_eq!(plain.get("/hers"), Err(-102));
}

#[test]
fn large_values_and_many_requests_cross_the_encryption() {
    let directory = Directory::new();
    let authority = Authority::new();
    let server = Server::start(config(&directory, &authority, ClientAuth::None)).unwrap();
    let mut client = Client::greet(encrypt(dial_secure(&server), &authority, None), None).unwrap();
    let value = vec![5; 900_000];
    assert_eq!(client.create("/v", &value, 0), 0);
    for _ in 0..20 {
        client.send(OpCode::GetData, |writer| {
            writer.text("/v").bool(false);
        });
    }
    for _ in 0..20 {
        let (header, body) = client.reply().unwrap();
        assert!(header.err == 0 && body.len() > 900_000);
    }
}

/// The plain bytes of the next record of TLS.
fn next_record(encrypted: &mut Encrypted) -> Vec<u8> {
    let mut record = vec![0; 5];
    encrypted.sock.read_exact(&mut record).unwrap();
    let length = u16::from_be_bytes([record[3], record[4]]) as usize;
    record.resize(5 + length, 0);
    encrypted.sock.read_exact(&mut record[5..]).unwrap();
    let mut rest = record.as_slice();
    while !rest.is_empty() {
        encrypted.conn.read_tls(&mut rest).unwrap();
    }
    let state = encrypted.conn.process_new_packets().unwrap();
    let mut plain = vec![0; state.plaintext_bytes_to_read()];
    encrypted.conn.reader().read_exact(&mut plain).unwrap();
    plain
}

/// Reads records up to the end of a frame, which must be the end of a record.
fn next_frame(encrypted: &mut Encrypted) -> Vec<u8> {
    let mut plain = Vec::new();
    loop {
        plain.extend(next_record(encrypted));
        let Some((prefix, frame)) = plain.split_first_chunk() else { continue };
        let length = u32::from_be_bytes(*prefix) as usize;
        assert!(frame.len() <= length, "a record goes on behind a frame's end");
        if frame.len() == length {
            return frame.to_vec();
        }
    }
}

/// Clients over OpenSSL may not look for a second reply in a record before the socket is readable again.
#[test]
fn each_reply_has_a_record_of_its_own() {
    let directory = Directory::new();
    let authority = Authority::new();
    let server = Server::start(config(&directory, &authority, ClientAuth::None)).unwrap();
    let mut client = Client::greet(encrypt(dial_secure(&server), &authority, None), None).unwrap();
    assert_eq!(client.create("/v", &[5; 1000], 0), 0);
    // All at once, so that the server has many replies at a time.
    let requests: Vec<u8> = (0..200)
        .flat_map(|xid| {
            frame(|writer| {
                RequestHeader { xid, operation: OpCode::GetData.code() }.write(writer);
                writer.text("/v").bool(false);
            })
        })
        .collect();
    client.stream.write_all(&requests).unwrap();
    for expected in 0..200 {
        let frame = next_frame(&mut client.stream);
        assert_eq!(ReplyHeader::read(&mut Reader::new(&frame)).unwrap().xid, expected);
    }
}

#[test]
fn a_client_without_a_certificate_is_refused_when_one_is_needed() {
    let directory = Directory::new();
    let authority = Authority::new();
    let server = Server::start(config(&directory, &authority, ClientAuth::Need)).unwrap();
    let mut nobody = encrypt(dial_secure(&server), &authority, None);
    let refused = nobody.write_all(&crate::fixture::handshake(None)).and_then(|()| {
        let mut answer = [0; 4];
        nobody.read_exact(&mut answer)
    });
    assert!(refused.is_err());
    let stranger = Authority::new().issue("mallory");
    let mut forged = encrypt(dial_secure(&server), &authority, Some(&stranger));
    let refused = forged.write_all(&crate::fixture::handshake(None)).and_then(|()| {
        let mut answer = [0; 4];
        forged.read_exact(&mut answer)
    });
    assert!(refused.is_err());
}

#[test]
fn a_revoked_certificate_is_refused() {
    let directory = Directory::new();
    let authority = Authority::new();
    let (alice, bob) = (authority.issue("alice"), authority.issue("bob"));
    let mut config = config(&directory, &authority, ClientAuth::Need);
    if let Some(tls) = &mut config.tls {
        tls.revocation_lists = vec![directory.write("revoked.pem", authority.revoke(&bob))];
    }
    let server = Server::start(config).unwrap();
    assert!(Client::greet(encrypt(dial_secure(&server), &authority, Some(&alice)), None).is_some());
    let mut revoked = encrypt(dial_secure(&server), &authority, Some(&bob));
    let refused = revoked.write_all(&crate::fixture::handshake(None)).and_then(|()| {
        let mut answer = [0; 4];
        revoked.read_exact(&mut answer)
    });
    assert!(refused.is_err());
}

#[test]
fn plain_talk_and_silence_on_the_secure_port_are_closed() {
    let directory = Directory::new();
    let authority = Authority::new();
    let server = Server::start(config(&directory, &authority, ClientAuth::None)).unwrap();
    let mut plain = dial_secure(&server);
    plain.write_all(&crate::fixture::handshake(None)).unwrap();
    // An alert may come; a reply must not.
    assert!(read_all(&mut plain).len() < 37);
    assert!(read_all(&mut dial_secure(&server)).is_empty());
}

#[test]
fn one_port_takes_both_when_told_to() {
    let directory = Directory::new();
    let authority = Authority::new();
    let mut config = config(&directory, &authority, ClientAuth::None);
    config.listen.secure = None;
    config.listen.client_takes_tls = true;
    let server = Server::start(config).unwrap();
    let mut plain = Client::connect(&server);
    assert_eq!(plain.create("/x", b"1", 0), 0);
    let mut secure = Client::greet(encrypt(dial(&server), &authority, None), None).unwrap();
    assert_eq!(secure.get("/x"), Ok(b"1".to_vec()));
    assert_eq!(crate::fixture::word(&server, b"ruok"), "imok");
}

#[test]
fn changed_certificates_are_shown_to_those_who_connect_next() {
    let directory = Directory::new();
    let authority = Authority::new();
    let mut config = config(&directory, &authority, ClientAuth::None);
    if let Some(tls) = &mut config.tls {
        tls.reload = true;
    }
    let server = Server::start(config).unwrap();
    let shown = || {
        let client = Client::greet(encrypt(dial_secure(&server), &authority, None), None).unwrap();
        client.stream.conn.peer_certificates().unwrap()[0].clone()
    };
    let before = shown();
    directory.write("server.pem", "not a key");
    assert_eq!(crate::fixture::word(&server, b"ruok"), "imok");
    assert_eq!(shown(), before, "what cannot be used changes nothing");
    let next = authority.issue("server");
    directory.write("server.pem", format!("{}{}", next.key.serialize_pem(), next.certificate.pem()));
    // Files are looked at every now and then, and behind every word.
    while shown() != *next.certificate.der() {
        assert_eq!(crate::fixture::word(&server, b"ruok"), "imok");
    }
}

#[test]
fn a_reload_shows_new_certificates_and_keeps_connections_and_what_still_works() {
    let directory = Directory::new();
    let authority = Authority::new();
    let server = Server::start(config(&directory, &authority, ClientAuth::None)).unwrap();
    let connect = || Client::greet(encrypt(dial_secure(&server), &authority, None), None).unwrap();
    let shown = || connect().stream.conn.peer_certificates().unwrap()[0].clone();
    let mut old = connect();
    let before = shown();
    let next = authority.issue("server");
    directory.write("server.pem", format!("{}{}", next.key.serialize_pem(), next.certificate.pem()));
    assert_eq!(shown(), before, "nobody has asked for it yet");
    server.reload();
    assert_eq!(shown(), *next.certificate.der());
    directory.write("server.pem", "not a key");
    server.reload();
    assert_eq!(shown(), *next.certificate.der(), "what cannot be used changes nothing");
    assert_eq!(old.create("/old", b"", 0), 0, "a connection from before goes on");
}

#[test]
fn a_missing_trust_store_refuses_the_start() {
    let directory = Directory::new();
    let authority = Authority::new();
    let mut config = config(&directory, &authority, ClientAuth::Need);
    if let Some(tls) = &mut config.tls {
        tls.trust_store = None;
    }
    let refusal = Server::start(config).err().unwrap().to_string();
    assert!(refusal.contains("ssl.trustStore.location"), "{refusal}");
}
