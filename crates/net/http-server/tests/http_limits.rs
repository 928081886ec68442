//! Clients that send or read too slowly, too much, or nothing at all.

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use net_http_server::{Bytes, HttpConfig, HttpLimits};
use support::{Mail, Seen, config, serve};

fn with(change: impl FnOnce(&mut HttpLimits)) -> support::Site {
    let mut limits = HttpLimits::default();
    change(&mut limits);
    serve(config(limits))
}

#[test]
fn head_that_comes_too_slowly_is_refused_though_bytes_keep_coming() {
    let site = with(|limits| limits.head_ms_max = 600);
    // The server counts from when it takes the connection.
    let begun = Instant::now();
    let mut client = site.client();
    client.stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    client.send("GET / HTTP/1.1\r\n");
    let mut got = Vec::new();
    while begun.elapsed() < support::PATIENCE && got.is_empty() {
        let _ = client.stream.write_all(b"a: b\r\n");
        let mut buffer = [0; 1_000];
        if let Ok(count @ 1..) = client.stream.read(&mut buffer) {
            got.extend_from_slice(&buffer[..count]);
        }
    }
    let got = String::from_utf8(got).expect("text");
    assert!(
        got.starts_with("HTTP/1.1 408 Request Timeout\r\n") && got.contains("\r\nconnection: close\r\n"),
        "{got}"
    );
    assert!(got.ends_with("\r\n\r\nHeadTooSlow(600)"), "{got}");
    assert!(begun.elapsed() >= Duration::from_millis(600));
}

#[test]
fn body_that_comes_too_slowly_is_refused() {
    let site = with(|limits| limits.body_ms_max = 300);
    let mut client = site.client();
    client.send("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab");
    let got = client.response();
    assert_eq!((got.status, got.body), (408, b"BodyTooSlow(300)".to_vec()));
    assert_eq!(client.rest(), "");
}

#[test]
fn silent_connection_is_closed_before_its_first_request_and_after_one() {
    let site = with(|limits| limits.idle_ms_max = 300);
    assert_eq!(site.client().rest(), "");
    let mut client = site.client();
    assert_eq!(client.get("/a").status, 200);
    assert_eq!(client.rest(), "");
}

#[test]
fn request_that_is_being_answered_is_not_silence() {
    let site = with(|limits| limits.idle_ms_max = 200);
    let mut client = site.client();
    client.send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Later(id) = site.next() else { panic!("not the request") };
    assert!(site.seen.recv_timeout(Duration::from_millis(1_000)).is_err(), "it is not given up");
    site.mail.put(Mail::Respond(id, "late"));
    assert_eq!(client.response().body, b"late");
}

#[test]
fn head_that_is_too_long_is_refused() {
    let site = with(|limits| limits.head_bytes_max = 8 << 10);
    let mut client = site.client();
    client.send(format!("GET / HTTP/1.1\r\nlong: {}\r\n\r\n", "x".repeat(9_000)));
    let got = client.rest();
    assert!(got.starts_with("HTTP/1.1 431 ") && got.ends_with("NoRequest(431)"), "{got}");
    let mut client = site.client();
    let many: String = (0..200).map(|n| format!("h{n}: 1\r\n")).collect();
    client.send(format!("GET / HTTP/1.1\r\n{many}\r\n"));
    let got = client.rest();
    assert!(got.starts_with("HTTP/1.1 431 ") && got.ends_with("NoRequest(431)"), "{got}");
}

#[test]
fn what_is_no_http_is_refused() {
    let site = with(|_| {});
    let wrong = [
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
        "GET / HTTP/1.1\r\nbad header\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
    ];
    for wrong in wrong {
        let mut client = site.client();
        client.send(wrong);
        let got = client.rest();
        assert!(got.starts_with("HTTP/1.1 400 ") && got.ends_with("NoRequest(400)"), "{wrong:?}: {got}");
    }
}

#[test]
fn length_and_chunks_together_are_not_two_requests() {
    let site = with(|_| {});
    let mut client = site.client();
    client.send(
        "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n\
         1\r\nZ\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    );
    let got = client.rest();
    // Read by its chunks, as RFC 9112 says, or refused: never by its length.
    assert!(got.contains("\r\n\r\nZ") || got.starts_with("HTTP/1.1 400"), "{got}");
}

#[test]
fn malformed_chunk_is_refused() {
    let site = with(|_| {});
    let mut client = site.client();
    client.send("POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n");
    let got = client.rest();
    assert!(got.starts_with("HTTP/1.1 400 ") && got.ends_with("BodyMalformed"), "{got}");
}

#[test]
fn chunks_that_become_too_long_are_refused() {
    let site = with(|limits| limits.body_bytes_max = 1_000);
    let mut client = site.client();
    client.send("POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    for _ in 0..3 {
        client.send(format!("190\r\n{}\r\n", "x".repeat(400)));
    }
    let got = client.response();
    assert_eq!((got.status, got.body), (413, b"BodyTooLong(1000)".to_vec()));
}

#[test]
fn bodies_of_all_together_are_limited_and_room_comes_back() {
    let site = with(|limits| limits.bodies_bytes_max = 1_000);
    let mut slow = site.client();
    slow.send(format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 801\r\n\r\n{}", "x".repeat(800)));
    let refused = |site: &support::Site| {
        let mut other = site.client();
        other.send(format!(
            "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 300\r\n\r\n{}",
            "x".repeat(300)
        ));
        other.response().status
    };
    let until = Instant::now() + support::PATIENCE;
    // The first body is read some time after it was sent.
    while refused(&site) != 503 {
        assert!(Instant::now() < until, "the bodies are not limited");
    }
    slow.send("x");
    assert_eq!(slow.response().status, 200);
    assert_eq!(refused(&site), 200);
}

#[test]
fn response_without_room_closes_its_connection_and_room_comes_back() {
    let site = with(|limits| limits.responses_bytes_max = 100_000);
    let long = "y".repeat(100_001);
    let echo = |length: usize| {
        let body = &long[..length];
        format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}")
    };
    let mut client = site.client();
    for _ in 0..3 {
        client.send(echo(90_000));
        assert_eq!(client.response().body.len(), 90_000);
    }
    client.send(echo(100_001));
    assert_eq!(client.rest(), "");
    let mut client = site.client();
    client.send(echo(100_000));
    assert_eq!(client.response().body.len(), 100_000);
}

#[test]
fn client_that_reads_nothing_is_closed() {
    let site = with(|limits| limits.stall_ms_max = 400);
    let mut client = site.client();
    socket2::SockRef::from(&client.stream).set_recv_buffer_size(8 << 10).expect("a socket");
    let begun = Instant::now();
    let long = "y".repeat(1_000_000);
    let request = format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{long}", long.len());
    // The answers fill the buffers of the sockets, then those of the server, and then it reads no more.
    while client.stream.write_all(request.as_bytes()).is_ok() {
        assert!(begun.elapsed() < support::PATIENCE, "the client is not closed");
    }
    assert!(begun.elapsed() >= Duration::from_millis(400));
    assert_eq!(site.client().get("/other").status, 200);
}

#[test]
fn stream_whose_client_reads_too_slowly_ends_and_says_so() {
    let site = with(|limits| limits.stream_bytes_max = 100_000);
    let mut client = site.client();
    client.send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Stream(id) = site.next() else { panic!("not the request") };
    let piece = Bytes::from(vec![b'z'; 50_000]);
    let gone = loop {
        site.mail.put(Mail::Push(id, piece.clone()));
        if let Ok(gone) = site.seen.recv_timeout(Duration::from_millis(2)) {
            break gone;
        }
    };
    assert_eq!(gone, Seen::Gone(id));
    client.until(b"4\r\nlost\r\n0\r\n\r\n");
}

#[test]
fn connections_beyond_the_limit_are_refused_and_places_come_back() {
    let limited = HttpConfig { connections_max: 2, ..config(HttpLimits::default()) };
    let site = serve(limited);
    let (mut one, mut two) = (site.client(), site.client());
    assert_eq!((one.get("/a").status, two.get("/b").status), (200, 200));
    assert_eq!(site.client().rest(), "");
    assert_eq!(site.server.rejected(), 1);
    drop(one);
    let until = Instant::now() + support::PATIENCE;
    loop {
        let mut stream = TcpStream::connect(site.server.address()).expect("a connection");
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        if got.starts_with(b"HTTP/1.1 200") {
            break;
        }
        assert!(Instant::now() < until, "the place does not come back");
    }
}

#[test]
fn thousands_of_silent_connections_are_held_while_another_is_served() {
    let site = with(|_| {});
    let mut silent: Vec<_> = (0..2_000).map(|_| site.client()).collect();
    let mut busy = site.client();
    for number in 0..100 {
        assert_eq!(busy.get(&format!("/{number}")).status, 200);
    }
    for client in silent.iter_mut().step_by(97) {
        assert_eq!(client.get("/again").status, 200);
    }
}
