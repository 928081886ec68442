//! Clients as they should not be: each gets its refusal, and nobody else notices.

use std::io::Write;
use std::net::Shutdown;

use jute::OpCode;
use server::Server;

use crate::fixture::{Client, Directory, dial, handshake, read_all, read_frame};

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
    // The server learns of the closed socket in its own time.
    while Client::greet(dial(&server), None).is_none() {}
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
