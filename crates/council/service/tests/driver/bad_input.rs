//! Clients as they should not be: each gets its refusal, and nobody else notices.

use std::io::Write;
use std::net::{Shutdown, TcpStream};

use council_service::{Server, ServerConfig};
use council_wire::{ErrorCode, OpCode, RequestHeader};

use crate::fixture::{Client, Directory, dial, frame, handshake, read_all, read_frame, until};
use crate::metrics::{number, on_page};

#[test]
fn nonsense_is_closed_and_others_go_on() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let mut neighbour = Client::connect(&server);
    assert_eq!(neighbour.create("/n", b"1", 0), 0);
    let nonsense: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 64], b"\x00\x00\x00\x00", b"\x00\x00\x00\x05hello"];
    for bytes in nonsense {
        let mut stream = dial(&server);
        stream.write_all(bytes).unwrap();
        assert!(read_all(&mut stream).is_empty(), "{bytes:?}");
        assert_eq!(neighbour.get("/n"), Ok(b"1".to_vec()));
    }
}

#[test]
fn a_handshake_cut_anywhere_is_only_waited_for() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let hello = handshake(None);
    for cut in 1..hello.len() {
        let mut stream = dial(&server);
        stream.write_all(&hello[..cut]).unwrap();
        stream.write_all(&hello[cut..]).unwrap();
        assert!(read_frame(&mut stream).is_some());
        let mut stream = dial(&server);
        stream.write_all(&hello[..cut]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(read_all(&mut stream).is_empty());
    }
}

#[test]
fn a_handshake_that_never_comes_is_given_up() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.handshake_timeout_ms = 100;
    let server = Server::start(config).unwrap();
    assert!(read_all(&mut dial(&server)).is_empty());
}

#[test]
fn one_connection_too_many_is_closed_and_a_place_is_given_back() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.connections_per_ip_max = 2;
    let server = Server::start(config).unwrap();
    let first = Client::connect(&server);
    let _second = Client::connect(&server);
    assert!(read_all(&mut dial(&server)).is_empty());
    drop(first);
    until("a free place", || Client::greet(dial(&server), None).is_some());
}

#[test]
fn a_client_that_never_reads_is_held_off_and_others_go_on() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.output_bytes_per_connection_max = 256 << 10;
    let server = Server::start(config).unwrap();
    let mut greedy = Client::connect(&server);
    let value = vec![1; 100_000];
    assert_eq!(greedy.create("/big", &value, 0), 0);
    let asked = 2_000;
    let mut reader = greedy.stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        // 200 MB of replies, of which the server may hold only a little.
        scope.spawn(|| {
            for _ in 0..asked {
                greedy.send(OpCode::GetData, |writer| {
                    writer.text("/big").bool(false);
                });
            }
        });
        let mut neighbour = Client::connect(&server);
        for _ in 0..50 {
            assert_eq!(neighbour.get("/big"), Ok(value.clone()));
        }
        for _ in 0..asked {
            assert!(read_frame(&mut reader).is_some_and(|frame| frame.len() > 100_000));
        }
    });
}

#[test]
fn an_oversized_request_is_refused_in_order_and_its_connection_lives_on() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.request_bytes_max = 10_000;
    let server = Server::start(config).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/small", b"", 0), 0);
    assert!(client.create("/large", &[0; 3_000_000], 0) < 0);
    assert_eq!(client.get("/small"), Ok(Vec::new()));
    assert_eq!(client.get("/large"), Err(-101));
}

/// How many connections the server has closed for a reason.
fn closed(server: &Server, reason: &str) -> f64 {
    number(server, &format!("zk_{reason}_diwan_council_connections_closed"))
}

#[test]
fn wrong_operations_and_lengths_of_a_session_are_answered_or_closed_and_counted() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.request_skip_bytes_max = 2 << 20;
    let server = Server::start(config).unwrap();
    let mut neighbour = Client::connect(&server);
    assert_eq!(neighbour.create("/n", b"1", 0), 0);
    // An operation that does not exist is answered, and ends the connection, as with ZooKeeper.
    let mut client = Client::connect(&server);
    let unknown = frame(|writer| RequestHeader { xid: 1, operation: 77 }.write(writer));
    client.stream.write_all(&unknown).unwrap();
    assert_eq!(client.reply().unwrap().0.err, ErrorCode::Unimplemented.code());
    assert!(client.reply().is_none());
    assert_eq!(closed(&server, "unknown_operation"), 1.0);
    // A body that does not decode is answered, and the connection lives.
    let mut client = Client::connect(&server);
    for opcode in [OpCode::Create, OpCode::GetData, OpCode::Multi, OpCode::SetWatches, OpCode::AddWatch] {
        let (error, _) = client.ask(opcode, |writer| {
            writer.i32(i32::MAX);
        });
        assert_eq!(error, ErrorCode::MarshallingError.code(), "{opcode:?}");
    }
    // The multi's is not known before it is applied.
    assert_eq!(number(&server, "zk_diwan_council_malformed_requests"), 4.0);
    assert_eq!(client.get("/n"), Ok(b"1".to_vec()));
    // Lengths that no frame has.
    for length in [-1_i32, i32::MIN, i32::MAX, 3 << 20] {
        let mut client = Client::connect(&server);
        client.stream.write_all(&length.to_be_bytes()).unwrap();
        client.stream.write_all(&[0; 100]).unwrap();
        assert!(client.reply().is_none(), "{length}");
    }
    assert_eq!(closed(&server, "too_large"), 4.0);
    assert_eq!(neighbour.get("/n"), Ok(b"1".to_vec()));
}

fn add_watch(client: &mut Client<TcpStream>, path: &str) -> i32 {
    let (error, _) = client.ask(OpCode::AddWatch, |writer| {
        writer.text(path).i32(0);
    });
    error
}

/// Asks for one-shot watches on so many nodes that are not there.
fn set_watches(client: &mut Client<TcpStream>, paths: std::ops::Range<u32>) {
    let paths: Vec<String> = paths.map(|number| format!("/{number:07}")).collect();
    client.send(OpCode::SetWatches, |writer| {
        writer.i64(i64::MAX).texts([].into_iter());
        writer.texts(paths.iter().map(String::as_str)).texts([].into_iter());
    });
}

#[test]
fn watches_beyond_a_connections_limit_are_refused_and_counted() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.watches_per_connection_max = 3;
    let server = Server::start(config).unwrap();
    let (mut client, mut neighbour) = (Client::connect(&server), Client::connect(&server));
    for path in ["/a", "/b", "/c"] {
        assert_eq!(add_watch(&mut client, path), 0);
    }
    assert_eq!(add_watch(&mut client, "/d"), ErrorCode::ThrottledOp.code());
    assert_eq!(number(&server, "zk_diwan_council_watches_refused"), 1.0);
    // What a client sets again after a reconnection it takes for set: that is no place for a refusal.
    set_watches(&mut client, 0..4);
    assert!(client.reply().is_none());
    assert_eq!(closed(&server, "too_many_watches"), 1.0);
    assert_eq!(add_watch(&mut neighbour, "/a"), 0);
    // A persistent watch stands in both of ZooKeeper's tables.
    assert_eq!(number(&server, "zk_watch_count"), 2.0);
}

/// As many watches as anybody likes to ask for, until their memory is used up.
#[test]
fn watches_beyond_the_memory_for_them_are_refused_and_others_go_on() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.watch_bytes_max = 20 << 20;
    config.listen.shards = 1;
    let server = Server::start(config).unwrap();
    let mut neighbour = Client::connect(&server);
    assert_eq!(neighbour.create("/n", b"1", 0), 0);
    let (mut asked, step) = (0, 40_000);
    for _ in 0..3 {
        let mut greedy = Client::connect(&server);
        loop {
            set_watches(&mut greedy, asked..asked + step);
            asked += step;
            assert!(asked < 10_000_000, "nothing is refused");
            assert_eq!(neighbour.get("/n"), Ok(b"1".to_vec()));
            if greedy.reply().is_none() {
                break;
            }
        }
    }
    let held = number(&server, "zk_diwan_council_watch_memory_bytes");
    assert!(held < f64::from(25 << 20), "{held}");
    assert_eq!(closed(&server, "too_many_watches"), 3.0);
    assert_eq!(add_watch(&mut neighbour, "/n"), 0, "what the greedy held is free again");
}

/// A server whose metrics have a port of their own: it is asked where no more connections are let in.
fn start_with_metrics(mut config: ServerConfig) -> Server {
    config.metrics.address = Some(([127, 0, 0, 1], 0).into());
    Server::start(config).unwrap()
}

#[test]
fn connections_that_are_refused_are_counted() {
    for in_all in [false, true] {
        let directory = Directory::new();
        let mut config = directory.config();
        config.limits.connections_per_ip_max = if in_all { 0 } else { 2 };
        config.limits.connections_max = if in_all { 2 } else { 0 };
        let server = start_with_metrics(config);
        let (mut first, _second) = (Client::connect(&server), Client::connect(&server));
        for _ in 0..3 {
            assert!(read_all(&mut dial(&server)).is_empty());
        }
        assert_eq!(on_page(&server, "connection_rejected"), 3.0);
        assert_eq!(first.get("/none"), Err(ErrorCode::NoNode.code()));
    }
}

#[test]
fn connections_that_are_given_up_are_counted() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.handshake_timeout_ms = 50;
    let server = start_with_metrics(config);
    let mut cut_short = dial(&server);
    cut_short.write_all(&handshake(None)[..20]).unwrap();
    assert!(read_all(&mut dial(&server)).is_empty() && read_all(&mut cut_short).is_empty());
    assert_eq!(on_page(&server, "diwan_council_connections_closed{reason=\"handshake_timeout\"}"), 2.0);
}

#[test]
fn more_writes_than_may_be_under_way_wait_their_turn() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.outstanding_max = 8;
    let server = Server::start(config).unwrap();
    let (mut hasty, mut neighbour) = (Client::connect(&server), Client::connect(&server));
    assert_eq!(hasty.create("/n", b"", 0), 0);
    let asked = 2_000;
    let one = frame(|writer| {
        RequestHeader { xid: 7, operation: OpCode::SetData.code() }.write(writer);
        writer.text("/n").buffer(Some(b"x")).i32(-1);
    });
    hasty.stream.write_all(&one.repeat(asked)).unwrap();
    assert_eq!(neighbour.create("/other", b"", 0), 0);
    for _ in 0..asked {
        assert!(hasty.reply().is_some_and(|(header, _)| header.err == 0));
    }
    assert!(number(&server, "zk_diwan_council_pauses") >= 1.0);
    assert_eq!(number(&server, "zk_outstanding_requests"), 0.0);
}

#[test]
fn requests_that_are_refused_or_held_off_are_counted() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.request_bytes_max = 10_000;
    config.limits.output_bytes_per_connection_max = 64 << 10;
    let server = Server::start(config).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/big", &[1; 9_000], 0), 0);
    assert_eq!(client.create("/larger", &[1; 20_000], 0), ErrorCode::BadArguments.code());
    assert_eq!(number(&server, "zk_large_requests_rejected"), 1.0);
    // 90 MB of replies that nobody reads yet: more than the system's own buffers take.
    let asked = 10_000;
    let mut writer = client.stream.try_clone().unwrap();
    let one = frame(|writer| {
        RequestHeader { xid: 7, operation: OpCode::GetData.code() }.write(writer);
        writer.text("/big").bool(false);
    });
    let asking = std::thread::spawn(move || writer.write_all(&one.repeat(asked)).unwrap());
    until("a pause", || number(&server, "zk_diwan_council_pauses") >= 1.0);
    assert!(number(&server, "zk_diwan_council_unsent_bytes") < 1e6);
    for _ in 0..asked {
        assert!(client.reply().is_some_and(|(header, _)| header.err == 0));
    }
    asking.join().unwrap();
    assert_eq!(number(&server, "zk_outstanding_requests"), 0.0);
}
