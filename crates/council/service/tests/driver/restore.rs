//! The AdminServer's `restore`.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

use council_service::{Server, ServerConfig};

use crate::fixture::{Client, Directory, SUPER, get, is_end, read_all, until};
use crate::trio::Ensemble;

fn config(directory: &Directory) -> ServerConfig {
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.admin.rate_limit_interval_ms = 0;
    config
}

/// A snapshot's bytes, taken and sent by the server.
fn snapshot(server: &Server) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.admin_addr().unwrap()).unwrap();
    write!(stream, "GET /commands/snapshot HTTP/1.1\r\nHost: localhost\r\n{SUPER}\r\n").unwrap();
    let bytes = read_all(&mut stream);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    bytes[end + 4..].to_vec()
}

/// Posts it; gives the status and what is said.
fn restore(server: &Server, headers: &str, content: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(server.admin_addr().unwrap()).unwrap();
    write!(
        stream,
        "POST /commands/restore HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{headers}\r\n",
        content.len()
    )
    .unwrap();
    match stream.write_all(content) {
        Err(error) if !is_end(&error) => panic!("{error}"),
        _ => {}
    }
    let text = String::from_utf8(read_all(&mut stream)).unwrap();
    let text = text.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), String::from(body))
}

fn zxid(body: &str) -> i64 {
    let (_, rest) = body.split_once("\"last_zxid\" : ").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_snapshot_takes_the_place_of_all_that_came_after_it() {
    let directory = Directory::new();
    let server = Server::start(config(&directory)).unwrap();
    let mut early = Client::connect(&server);
    assert_eq!(early.create("/a", b"one", 0), 0);
    assert_eq!(early.create("/mine", b"", 1), 0);
    let taken = snapshot(&server);
    let mut late = Client::connect(&server);
    assert_eq!(late.create("/b", &[7; 100_000], 0), 0);
    assert_eq!(late.create("/late", b"", 1), 0);

    let (status, body) = restore(&server, SUPER, &taken);
    assert_eq!(status, 200, "{body}");
    assert!(early.reply().is_none() && late.reply().is_none(), "everybody is cut off");
    assert!(Client::resume(&server, late.session).is_none(), "the snapshot knows nothing of this session");
    let mut early = Client::resume(&server, early.session).unwrap();
    assert_eq!((early.get("/a"), early.get("/b")), (Ok(b"one".to_vec()), Err(-101)));
    assert_eq!((early.get("/mine"), early.get("/late")), (Ok(Vec::new()), Err(-101)));
    assert_eq!(early.create("/c", b"", 0), 0);
    let (_, stats) = get(server.admin_addr().unwrap(), "/commands/server_stats");
    let now: i64 =
        stats.split("\"last_processed_zxid\" : ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(now > zxid(&body), "{now:#x} beside {body}");
    let (_, monitor) = get(server.admin_addr().unwrap(), "/commands/monitor");
    assert!(monitor.contains("\"cnt_restore_time\" : 1,"), "{monitor}");
    server.stop();

    let server = Server::start(config(&directory)).unwrap();
    let mut early = Client::resume(&server, early.session).unwrap();
    assert_eq!((early.get("/a"), early.get("/b")), (Ok(b"one".to_vec()), Err(-101)));
    assert_eq!(early.get("/c"), Ok(Vec::new()), "what came after the restoring is kept");
    // Again, into a server whose log goes on behind a restored snapshot.
    assert_eq!(restore(&server, &format!("{SUPER}Expect: 100-continue\r\n"), &taken).0, 200);
    assert_eq!(Client::connect(&server).get("/c"), Err(-101));
}

#[test]
fn a_snapshot_of_another_server_is_taken_too() {
    let (directory, other) = (Directory::new(), Directory::new());
    let source = Server::start(config(&other)).unwrap();
    let mut client = Client::connect(&source);
    for number in 0..500 {
        assert_eq!(client.create(&format!("/n{number}"), b"there", 0), 0);
    }
    let taken = snapshot(&source);
    let server = Server::start(config(&directory)).unwrap();
    assert_eq!(restore(&server, SUPER, &taken).0, 200);
    let mut there = Client::resume(&server, client.session).unwrap();
    assert_eq!(there.get("/n499"), Ok(b"there".to_vec()));
}

#[test]
fn what_is_no_sound_snapshot_changes_nothing() {
    let directory = Directory::new();
    let server = Server::start(config(&directory)).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/a", b"one", 0), 0);
    let taken = snapshot(&server);
    let refused = |content: &[u8], what: &str| {
        let (status, body) = restore(&server, SUPER, content);
        assert!(status == 400 && body.contains(what), "{status} {body}");
    };
    refused(b"", "cut off");
    refused(b"ZKSN\0\0\0\x02 and so on", "one of ZooKeeper's");
    refused(&taken[..taken.len() - 1], "it has no end");
    for at in [0, 20, taken.len() / 2, taken.len() - 20] {
        let mut damaged = taken.clone();
        damaged[at] ^= 1;
        refused(&damaged, "nothing was restored");
    }
    assert_eq!(restore(&server, "", &taken).0, 401);
    for invented in ["digest a:b", "digest super:nope", "digest super", "ip", "ip x"] {
        let (status, body) = restore(&server, &format!("Authorization: {invented}\r\n"), &taken);
        assert!(status == 403 && body.contains("\"hint\" : "), "{invented}: {status} {body}");
    }
    assert_eq!(get(server.admin_addr().unwrap(), "/commands/restore").0, 401);
    assert_eq!(client.get("/a"), Ok(b"one".to_vec()), "nobody was cut off");
    assert!(!directory.0.join("data/restore").exists());
    let (_, monitor) = get(server.admin_addr().unwrap(), "/commands/monitor");
    assert!(monitor.contains("\"restore_error_count\" : 7,"), "{monitor}");
}

#[test]
fn a_client_that_goes_away_while_it_sends_leaves_nothing_behind() {
    let directory = Directory::new();
    let server = Server::start(config(&directory)).unwrap();
    let mut stream = TcpStream::connect(server.admin_addr().unwrap()).unwrap();
    write!(stream, "POST /commands/restore HTTP/1.1\r\nContent-Length: 5000\r\n{SUPER}\r\nbegin").unwrap();
    let spooled = directory.0.join("data/restore/sent.snap");
    until("it is being taken in", || spooled.exists());
    let mode = spooled.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "{mode:o}: only this user may read it");
    drop(stream);
    until("it is cleared away", || !directory.0.join("data/restore").exists());
    assert_eq!(Client::connect(&server).create("/a", b"", 0), 0);
}

#[test]
fn restoring_can_be_switched_off_and_is_not_done_too_often() {
    let directory = Directory::new();
    let mut limited = config(&directory);
    limited.admin.rate_limit_interval_ms = 3_600_000;
    let server = Server::start(limited.clone()).unwrap();
    let taken = snapshot(&server);
    assert_eq!(restore(&server, SUPER, b"nonsense").0, 400);
    assert_eq!(restore(&server, SUPER, &taken).0, 200, "what was refused leaves the interval unused");
    let (status, body) = restore(&server, SUPER, &taken);
    assert_eq!(status, 429);
    assert!(
        body.contains("a snapshot was restored 0 s ago") && body.contains("try again in 3600 s"),
        "{body}"
    );
    server.stop();
    limited.admin.restore_enabled = false;
    assert_eq!(restore(&Server::start(limited).unwrap(), SUPER, b"nonsense").0, 503);
}

#[test]
fn a_member_among_others_is_not_restored() {
    let ensemble = Ensemble::start(false);
    ensemble.until_all_serve();
    let member = &ensemble.members[&1];
    let taken = snapshot(member);
    let (status, body) = restore(member, SUPER, &taken);
    assert!(status == 501 && body.contains("an ensemble agrees on its tree"), "{status} {body}");
    assert_eq!(Client::connect(member).create("/a", b"", 0), 0);
}
