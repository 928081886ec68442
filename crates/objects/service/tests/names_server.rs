//! The server of names from outside: datagrams and connections to a member that is alone, whose objects are changed over
//! HTTP meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use objects_service::{
    Announcement, HttpOptions, NamesConfig, ObjectsConfig, Prepared, PreparedNames, Server, Zone,
};
use tempfile::TempDir;

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a connection may be silent for, and some more.
const SILENCE: Duration = Duration::from_secs(60);

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

struct Node {
    server: Server,
    names: SocketAddr,
    _folder: TempDir,
}

impl Node {
    /// A member that serves, and knows where it is.
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let names = PreparedNames::new(LOOPBACK).unwrap();
        let prepared = Prepared::new(LOOPBACK, 1, None).unwrap();
        let announcement = Announcement {
            addresses: vec!["10.0.0.1".parse().unwrap()],
            council: None,
            objects: Some(prepared.address().port()),
            version: String::from("1.2.3"),
        };
        let mut config = ObjectsConfig::new(folder.path().join("objects"), None);
        config.segment_bytes = 1 << 20;
        let zone = Zone::new("diwan.internal").unwrap();
        config.names = Some(NamesConfig { zone, announcement });
        let server = prepared.with_names(names).start(
            config,
            HttpOptions { create_on_use: true, root_token: None },
            None,
        );
        let server = server.unwrap();
        let node = Self { names: server.names_address().unwrap(), server, _folder: folder };
        node.until("m1", RecordType::A, |answer| answer.answers.len() == 1);
        node
    }

    fn post(&self, path: &str, body: &str) {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        let request = format!(
            "POST /v1/objects/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    fn ask(&self, name: &str, kind: RecordType) -> Option<Message> {
        let socket = UdpSocket::bind(LOOPBACK).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.send_to(&query(name, kind, 7), self.names).unwrap();
        let mut bytes = [0; 2_048];
        let (length, _) = socket.recv_from(&mut bytes).ok()?;
        Some(Message::from_vec(&bytes[..length]).unwrap())
    }

    /// Asks until it is so.
    fn until(&self, name: &str, kind: RecordType, is_it: impl Fn(&Message) -> bool) -> Message {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.ask(name, kind) {
                Some(answer) if is_it(&answer) => return answer,
                answer => assert!(Instant::now() < deadline, "{name}: {answer:?}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.names).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        stream
    }
}

fn query(name: &str, kind: RecordType, id: u16) -> Vec<u8> {
    let name = Name::from_ascii(format!("{name}.diwan.internal.")).unwrap();
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(name, kind));
    message.to_vec().unwrap()
}

/// As it goes over a connection.
fn framed(query: &[u8]) -> Vec<u8> {
    let length = u16::try_from(query.len()).unwrap();
    [&length.to_be_bytes(), query].concat()
}

fn answer(stream: &mut TcpStream) -> Message {
    let mut length = [0; 2];
    stream.read_exact(&mut length).unwrap();
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut bytes).unwrap();
    Message::from_vec(&bytes).unwrap()
}

/// Whether the server closes it without another word.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => rest.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn names_follow_what_is_set_over_http() {
    let node = Node::start();
    assert_eq!(node.ask("www", RecordType::A).unwrap().metadata.response_code, ResponseCode::NXDomain);
    let set = r#"{"name":"www","record":{"type":"A","address":"10.2.0.1","ttl":5}}"#;
    node.post("names/diwan.internal/set", set);
    // The command is applied here before it is answered.
    let found = node.ask("www", RecordType::A).unwrap();
    assert_eq!(found.answers.len(), 1);
    assert_eq!((found.answers[0].ttl, found.answers[0].data.to_string()), (5, "10.2.0.1".into()));
    node.post("counter/visits/increment", "{}");
    let services = node.ask("visits.counter.o", RecordType::SRV).unwrap();
    let port = node.server.address().port();
    assert_eq!(services.answers[0].data.to_string(), format!("0 1 {port} m1.diwan.internal."));
    assert_eq!(services.additionals[0].data.to_string(), "10.0.0.1");
    node.post("names/diwan.internal/remove", r#"{"name":"www"}"#);
    let gone = node.ask("www", RecordType::A).unwrap();
    assert_eq!(gone.metadata.response_code, ResponseCode::NXDomain);
    node.server.stop();
    assert_eq!(node.server.names_address(), None);
}

#[test]
fn connection_takes_many_queries_at_once_and_each_byte_alone() {
    let node = Node::start();
    let mut stream = node.connect();
    let all: Vec<u8> = (0..200).flat_map(|id| framed(&query("m1", RecordType::A, id))).collect();
    let writer = {
        let mut stream = stream.try_clone().unwrap();
        std::thread::spawn(move || stream.write_all(&all).unwrap())
    };
    let mut ids: Vec<_> = (0..200).map(|_| answer(&mut stream).metadata.id).collect();
    writer.join().unwrap();
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
    for byte in framed(&query("m1", RecordType::TXT, 300)) {
        stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(answer(&mut stream).metadata.id, 300);
    // What was asked before the client's end is answered, and then it is over.
    stream.write_all(&framed(&query("m1", RecordType::A, 301))).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(answer(&mut stream).metadata.id, 301);
    assert!(is_closed(&mut stream));
}

#[test]
fn refusals_by_the_thousand_on_one_connection_are_sent() {
    let node = Node::start();
    let mut stream = node.connect();
    let mut refused = query("m1", RecordType::A, 9);
    // An operation that is not there.
    refused[2] |= 0x28;
    let all = framed(&refused).repeat(3_000);
    let writer = {
        let mut stream = stream.try_clone().unwrap();
        std::thread::spawn(move || stream.write_all(&all).unwrap())
    };
    for _ in 0..3_000 {
        assert_eq!(answer(&mut stream).metadata.response_code, ResponseCode::NotImp);
    }
    writer.join().unwrap();
}

#[test]
fn connection_that_sends_what_nobody_asks_is_closed() {
    let node = Node::start();
    let response = node.ask("m1", RecordType::A).unwrap().to_vec().unwrap();
    for bytes in [&[0, 0][..], &[0xff, 0xff, 0], &framed(&response), &framed(&[0; 5])] {
        let mut stream = node.connect();
        stream.write_all(bytes).unwrap();
        assert!(is_closed(&mut stream), "{bytes:?}");
    }
    // The others are served meanwhile.
    assert!(node.ask("m1", RecordType::A).is_some());
}

#[test]
fn silent_connection_is_closed_and_one_address_has_so_many() {
    let node = Node::start();
    let mut half = node.connect();
    half.write_all(&framed(&query("m1", RecordType::A, 1))[..9]).unwrap();
    let mut held: Vec<_> = (1..32).map(|_| node.connect()).collect();
    let mut last = held.pop().unwrap();
    last.write_all(&framed(&query("m1", RecordType::A, 2))).unwrap();
    assert_eq!(answer(&mut last).metadata.id, 2);
    let mut beyond = node.connect();
    assert!(is_closed(&mut beyond));
    let began = Instant::now();
    assert!(is_closed(&mut half));
    assert!(began.elapsed() < SILENCE);
    // There is room again.
    held.clear();
    let mut next = node.connect();
    next.write_all(&framed(&query("m1", RecordType::A, 3))).unwrap();
    assert_eq!(answer(&mut next).metadata.id, 3);
}

#[test]
fn long_answer_comes_over_the_connection() {
    let node = Node::start();
    for n in 0..10 {
        let text = "x".repeat(200);
        let set = format!(r#"{{"name":"long","record":{{"type":"TXT","text":"{text}{n}"}}}}"#);
        node.post("names/diwan.internal/add", &set);
    }
    let short = node.ask("long", RecordType::TXT).unwrap();
    assert!(short.metadata.truncation && short.answers.is_empty());
    let mut stream = node.connect();
    stream.write_all(&framed(&query("long", RecordType::TXT, 4))).unwrap();
    let long = answer(&mut stream);
    assert_eq!((long.answers.len(), long.metadata.truncation), (10, false));
}

#[test]
fn port_that_is_taken_by_either_is_refused() {
    let udp = UdpSocket::bind(LOOPBACK).unwrap();
    let error = PreparedNames::new(udp.local_addr().unwrap()).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    let taken = PreparedNames::new(LOOPBACK).unwrap();
    let error = PreparedNames::new(taken.address()).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
