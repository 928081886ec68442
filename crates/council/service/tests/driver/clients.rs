//! Clients as they should be.

use std::thread;

use council_service::Server;
use council_wire::OpCode;

use crate::fixture::{Client, Directory, Session};

#[test]
fn a_client_writes_reads_and_leaves() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.session.timeout_ms, 30_000);
    assert_eq!(client.create("/a", b"one", 0), 0);
    assert_eq!(client.create("/a", b"two", 0), -110);
    assert_eq!(client.get("/a"), Ok(b"one".to_vec()));
    assert_eq!(client.get("/b"), Err(-101));
    assert_eq!(client.ask(OpCode::CloseSession, |_| {}).0, 0);
    assert!(client.reply().is_none(), "the server closes behind its last reply");
}

#[test]
fn pipelined_requests_of_many_clients_are_answered_in_order() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 2;
    let server = Server::start(config).unwrap();
    assert_eq!(Client::connect(&server).create("/p", b"", 0), 0);
    thread::scope(|scope| {
        for number in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut client = Client::connect(server);
                for round in 0..200 {
                    let path = format!("/p/{number}-{round}");
                    client.send(OpCode::Create, |writer| {
                        writer.text(&path).buffer(Some(path.as_bytes()));
                        council_wire::Acl::write_all(&[council_wire::Acl::open()], writer);
                        writer.i32(0);
                    });
                    client.send(OpCode::GetData, |writer| {
                        writer.text(&path).bool(false);
                    });
                }
                for expected in 1..=400 {
                    let (header, _) = client.reply().unwrap();
                    assert_eq!((header.xid, header.err), (expected, 0));
                }
            });
        }
    });
    let mut client = Client::connect(&server);
    let (_, body) = client.ask(OpCode::GetAllChildrenNumber, |writer| {
        writer.text("/p");
    });
    assert_eq!(council_wire::Reader::new(&body).i32(), Ok(1600));
}

#[test]
fn a_large_value_arrives_whole_in_both_directions() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.limits.request_bytes_max = 21 << 20;
    let server = Server::start(config).unwrap();
    let mut client = Client::connect(&server);
    let value: Vec<u8> = (0..20 << 20).map(|index: u32| (index * 7 % 251) as u8).collect();
    assert_eq!(client.create("/large", &value, 0), 0);
    assert!(client.get("/large").unwrap() == value);
}

#[test]
fn a_session_moves_to_a_second_connection_and_the_first_is_cut() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 2;
    let server = Server::start(config).unwrap();
    let mut first = Client::connect(&server);
    assert_eq!(first.create("/mine", b"", 1), 0);
    let session = first.session;
    let stranger = Session { password: [9; 16], ..session };
    assert!(Client::resume(&server, stranger).is_none(), "a wrong password opens nothing");
    assert_eq!(first.get("/mine"), Ok(Vec::new()), "and disturbs nobody");

    let mut second = Client::resume(&server, session).unwrap();
    assert_eq!(second.session, session);
    assert!(first.reply().is_none(), "the first connection is cut");
    assert_eq!(second.get("/mine"), Ok(Vec::new()));
}

#[test]
fn watchers_in_every_shard_are_told() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 3;
    let server = Server::start(config).unwrap();
    let mut writer = Client::connect(&server);
    assert_eq!(writer.create("/w", b"", 0), 0);
    let mut watchers: Vec<_> = (0..6).map(|_| Client::connect(&server)).collect();
    for watcher in &mut watchers {
        let (error, _) = watcher.ask(OpCode::Exists, |writer| {
            writer.text("/w").bool(true);
        });
        assert_eq!(error, 0);
    }
    let (error, _) = writer.ask(OpCode::SetData, |writer| {
        writer.text("/w").buffer(Some(b"new")).i32(-1);
    });
    assert_eq!(error, 0);
    for watcher in &mut watchers {
        let (header, body) = watcher.reply().unwrap();
        assert_eq!(header.xid, -1);
        assert_eq!(council_wire::Reader::new(&body).i32(), Ok(3), "data changed");
    }
}

/// Shards sleep for a quarter of a second if nobody wakes them.
#[test]
fn a_watcher_is_told_at_once_although_its_shard_had_nothing_to_watch_before() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 2;
    let server = Server::start(config).unwrap();
    let (mut writer, mut watcher) = (Client::connect(&server), Client::connect(&server));
    assert_eq!(writer.create("/w", b"", 0), 0);
    let mut delays = Vec::new();
    for round in 0..20_u8 {
        let (error, _) = watcher.ask(OpCode::Exists, |request| {
            request.text("/w").bool(true);
        });
        assert_eq!(error, 0);
        let began = std::time::Instant::now();
        let (error, _) = writer.ask(OpCode::SetData, |request| {
            request.text("/w").buffer(Some(&[round])).i32(-1);
        });
        assert_eq!(error, 0);
        assert_eq!(watcher.reply().unwrap().0.xid, -1);
        delays.push(began.elapsed());
    }
    delays.sort_unstable();
    assert!(delays[10] < std::time::Duration::from_millis(60), "{delays:?}");
}

#[test]
fn a_silent_session_expires_and_takes_its_nodes_with_it() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.session =
        council_service::config::SessionConfig { tick_ms: 50, timeout_min_ms: 100, timeout_max_ms: 200 };
    let server = Server::start(config).unwrap();
    let mut keeper = Client::connect(&server);
    let mut silent = Client::connect(&server);
    assert_eq!(silent.session.timeout_ms, 200);
    assert_eq!(silent.create("/held", b"", 1), 0);
    let told = keeper.ask(OpCode::Exists, |writer| {
        writer.text("/held").bool(true);
    });
    assert_eq!(told.0, 0);
    // Pings keep one of the two alive; the other says nothing and loses its session.
    loop {
        keeper.send(OpCode::Ping, |_| {});
        let (header, body) = keeper.reply().unwrap();
        if header.xid == -1 {
            assert_eq!(council_wire::Reader::new(&body).i32(), Ok(2), "deleted");
            break;
        }
    }
    assert!(silent.reply().is_none(), "its connection is closed");
    assert!(Client::resume(&server, silent.session).is_none());
}
