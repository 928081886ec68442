//! Parts of files over sockets, plain and encrypted.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;

use mio::net::TcpStream;
use net_event_loop::{FilePart, ReadOutcome};
use net_tls::{Framing, Security, SentFile, TlsSession, Transport};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig};

const LENGTH: usize = 3_000_000;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    let unblocked = |stream: std::net::TcpStream| {
        stream.set_nonblocking(true).unwrap();
        TcpStream::from_std(stream)
    };
    (unblocked(one), unblocked(other))
}

fn plain() -> (Transport, Transport) {
    let (one, other) = pair();
    (Transport::new(one, Security::Plain), Transport::new(other, Security::Plain))
}

fn encrypted() -> (Transport, Transport) {
    let key = rcgen::generate_simple_self_signed(vec![String::from("localhost")]).unwrap();
    let provider = Arc::new(net_tls::provider(None).unwrap());
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let private = PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let client = TlsSession::of(Connection::Client(ClientConnection::new(Arc::new(client), name).unwrap()));
    let server = TlsSession::new(Arc::new(server), Framing::None).unwrap();
    let (one, other) = pair();
    let mut sides = (
        Transport::new(one, Security::Tls(server.into())),
        Transport::new(other, Security::Tls(client.into())),
    );
    while sides.0.is_opening() || sides.1.is_opening() {
        for side in [&mut sides.0, &mut sides.1] {
            side.write(&[]).unwrap();
            assert_eq!(side.read(&mut [0; 1]).unwrap(), ReadOutcome::Nothing);
        }
    }
    sides
}

fn file(content: &[u8]) -> SentFile {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    SentFile::new(file)
}

fn content() -> Vec<u8> {
    (0..LENGTH).map(|place| (place % 251) as u8).collect()
}

/// Sends `head` and the part, while the other side reads; gives what it has read.
fn send((mut from, mut to): (Transport, Transport), head: &[u8], file: &Arc<File>, start: u64) -> Vec<u8> {
    let (mut read, mut buffer) = (Vec::new(), vec![0; 10_000]);
    let (mut head, mut start) = (head, start);
    let wanted = head.len() + LENGTH - usize::try_from(start).unwrap();
    while read.len() < wanted {
        let length = LENGTH - usize::try_from(start).unwrap();
        let taken = from.write_with_file(head, FilePart { file, from: start, length }).unwrap();
        let of_head = taken.min(head.len());
        head = head.get(of_head..).unwrap();
        start += (taken - of_head) as u64;
        while let ReadOutcome::Bytes { length, .. } = to.read(&mut buffer).unwrap() {
            read.extend_from_slice(buffer.get(..length).unwrap());
        }
    }
    read
}

#[test]
fn part_of_a_file_arrives_behind_the_bytes_before_it() {
    let content = content();
    let file = file(&content);
    for sides in [plain(), encrypted()] {
        let read = send(sides, b"head", &file, 1_000);
        assert!(read.strip_prefix(b"head") == content.get(1_000..));
    }
}

#[test]
fn file_that_is_too_short_breaks_the_connection() {
    let file = file(b"short");
    for (mut from, _to) in [plain(), encrypted()] {
        let part = FilePart { file: &file, from: 0, length: 6 };
        let error = from.write_with_file(b"head", part).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    }
}
