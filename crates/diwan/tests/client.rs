//! The client library over its whole API, against a live server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::time::Duration;

use council_client::{
    Acl, Client, CreateMode, Error, ErrorCode, EventKind, Events, KeeperState, Multi, MultiRead,
    MultiReadResult, MultiResult, Options, SessionState, WatchMode, Watcher, WatcherType, permission,
};
use server::Server;

const LONG: Duration = Duration::from_secs(20);

/// A client whose root is a fresh node, so that tests leave each other alone.
fn client_in(server: &Server, name: &str) -> Client {
    let root = Client::connect(&server.address()).unwrap();
    root.create(&format!("/{name}"), b"", CreateMode::Persistent).wait().unwrap();
    Client::connect(&format!("{}/{name}", server.address())).unwrap()
}

fn next(events: &Events) -> (EventKind, String) {
    let event = events.recv_timeout(LONG).unwrap();
    (event.kind, event.path.unwrap_or_default())
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorCode {
    match result {
        Err(Error::Refused { code, .. }) => code,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn nodes_are_made_read_changed_and_deleted() {
    let server = Server::start();
    let client = client_in(&server, "nodes");
    assert_eq!(client.create("/a", b"one", CreateMode::Persistent).wait().unwrap(), "/a");
    let (data, stat) = client.data("/a").wait().unwrap();
    assert_eq!((data.as_deref(), stat.version, stat.data_length), (Some(&b"one"[..]), 0, 3));
    assert_eq!(client.set_data("/a", b"two", 0).wait().unwrap().version, 1);
    assert_eq!(refused(client.set_data("/a", b"x", 0).wait()), ErrorCode::BadVersion);
    assert_eq!(refused(client.create("/a", b"", CreateMode::Persistent).wait()), ErrorCode::NodeExists);
    let (path, stat) =
        client.create_with_stat("/a/null", None, &[Acl::open()], CreateMode::Persistent).wait().unwrap();
    assert_eq!((path.as_str(), stat.data_length), ("/a/null", 0));
    assert_eq!(client.data("/a/null").wait().unwrap().0, None);
    assert_eq!(client.set_data_or_null("/a/null", Some(b""), -1).wait().unwrap().version, 1);
    assert_eq!(client.data("/a/null").wait().unwrap().0, Some(Vec::new()));
    assert_eq!(refused(client.delete("/a", -1).wait()), ErrorCode::NotEmpty);
    let (names, stat) = client.children_and_stat("/a").wait().unwrap();
    assert_eq!((names, stat.num_children), (vec![String::from("null")], 1));
    assert_eq!(client.children("/").wait().unwrap(), ["a"]);
    assert_eq!(client.all_children_number("/a").wait().unwrap(), 1);
    client.delete("/a/null", -1).wait().unwrap();
    client.delete("/a", 1).wait().unwrap();
    assert_eq!(client.exists("/a").wait().unwrap(), None);
    assert_eq!(refused(client.data("/a").wait()), ErrorCode::NoNode);
    client.sync("/").wait().unwrap();
    assert!(matches!(client.data("a").wait(), Err(Error::InvalidPath { .. })));
}

#[test]
fn every_create_mode_makes_its_kind_of_node() {
    let server = Server::start();
    let client = client_in(&server, "modes");
    let make = |path: &str, mode| client.create(path, b"", mode).wait().unwrap();
    assert_eq!(make("/s-", CreateMode::PersistentSequential), "/s-0000000000");
    assert_eq!(make("/e", CreateMode::Ephemeral), "/e");
    assert_eq!(make("/q-", CreateMode::EphemeralSequential), "/q-0000000002");
    assert_eq!(make("/c", CreateMode::Container), "/c");
    assert_eq!(make("/t", CreateMode::Ttl(60_000)), "/t");
    assert_eq!(make("/u-", CreateMode::TtlSequential(60_000)), "/u-0000000005");
    let id = client.session_id().0;
    let owner = |path: &str| client.exists(path).wait().unwrap().unwrap().ephemeral_owner;
    assert_eq!((owner("/e"), owner("/s-0000000000"), owner("/c")), (id, 0, 0));
    let mut mine = client.ephemerals("/").wait().unwrap();
    mine.sort();
    assert_eq!(mine, ["/e", "/q-0000000002"]);
    assert_eq!(
        refused(client.create("/e/x", b"", CreateMode::Persistent).wait()),
        ErrorCode::NoChildrenForEphemerals
    );
    client.close();
    assert_eq!(client.state(), SessionState::Closed);
    assert_eq!(client.data("/e").wait(), Err(Error::Closed));
    let other = Client::connect(&format!("{}/modes", server.address())).unwrap();
    assert_eq!(other.exists("/e").wait().unwrap(), None);
}

#[test]
fn a_transaction_is_all_or_nothing() {
    let server = Server::start();
    let client = client_in(&server, "multi");
    let all = Multi::new()
        .create("/a", b"1", CreateMode::Persistent)
        .create("/a/b-", b"", CreateMode::PersistentSequential)
        .set_data("/a", b"2", 0)
        .check("/a", 1)
        .delete("/a/b-0000000000", -1);
    let results = client.commit(&all).wait().unwrap();
    assert!(matches!(&results[0], MultiResult::Created { path, stat: Some(_) } if path == "/a"));
    assert!(matches!(&results[1], MultiResult::Created { path, .. } if path == "/a/b-0000000000"));
    assert!(matches!(&results[2], MultiResult::Set(stat) if stat.version == 1));
    assert_eq!(results[3..], [MultiResult::Checked, MultiResult::Deleted]);
    let none = Multi::new().set_data("/a", b"3", -1).check("/a", 7).delete("/a", -1);
    assert_eq!(
        client.commit(&none).wait(),
        Err(Error::Transaction { index: 1, code: ErrorCode::BadVersion })
    );
    assert_eq!(client.data("/a").wait().unwrap().0.as_deref(), Some(&b"2"[..]));
    let reads = client.read_all(&MultiRead::new().data("/a").children("/").data("/none")).wait().unwrap();
    assert!(matches!(&reads[0], MultiReadResult::Data(Some(data), _) if data == b"2"));
    assert_eq!(reads[1], MultiReadResult::Children(vec!["a".into()]));
    assert_eq!(reads[2], MultiReadResult::Refused(ErrorCode::NoNode));
    assert_eq!(client.commit(&Multi::new()).wait().unwrap(), []);
}

#[test]
fn watches_fire_before_the_reply_that_could_show_their_cause() {
    let server = Server::start();
    let client = client_in(&server, "watches");
    let (watcher, events) = Watcher::new();
    assert_eq!(client.watch_exists("/a", &watcher).wait().unwrap(), None);
    client.create("/a", b"", CreateMode::Persistent).wait().unwrap();
    assert_eq!(events.try_recv().map(|event| event.kind), Some(EventKind::NodeCreated));
    client.watch_data("/a", &watcher).wait().unwrap();
    client.watch_children("/a", &watcher).wait().unwrap();
    client.create("/a/b", b"", CreateMode::Persistent).wait().unwrap();
    client.set_data("/a", b"x", -1).wait().unwrap();
    client.set_data("/a", b"y", -1).wait().unwrap();
    assert_eq!(next(&events), (EventKind::NodeChildrenChanged, "/a".into()));
    assert_eq!(next(&events), (EventKind::NodeDataChanged, "/a".into()));
    assert_eq!(events.try_recv(), None);
    client.watch_children_and_stat("/a/b", &watcher).wait().unwrap();
    client.watch_data("/a/b", &watcher).wait().unwrap();
    client.delete("/a/b", -1).wait().unwrap();
    assert_eq!(next(&events), (EventKind::NodeDeleted, "/a/b".into()));
    assert_eq!(events.try_recv(), None);
}

#[test]
fn persistent_watches_stay_until_they_are_removed() {
    let server = Server::start();
    let client = client_in(&server, "persistent");
    let (plain, plain_events) = Watcher::new();
    let (deep, deep_events) = Watcher::new();
    client.add_watch("/", WatchMode::Persistent, &plain).wait().unwrap();
    client.add_watch("/", WatchMode::PersistentRecursive, &deep).wait().unwrap();
    for path in ["/a", "/a/b"] {
        client.create(path, b"", CreateMode::Persistent).wait().unwrap();
    }
    assert_eq!(next(&deep_events), (EventKind::NodeCreated, "/a".into()));
    assert_eq!(next(&deep_events), (EventKind::NodeCreated, "/a/b".into()));
    assert_eq!(next(&plain_events), (EventKind::NodeChildrenChanged, "/".into()));
    assert_eq!(plain_events.try_recv(), None);
    client.check_watches("/", WatcherType::PersistentRecursive).wait().unwrap();
    client.remove_watches("/", WatcherType::Any).wait().unwrap();
    assert_eq!(next(&plain_events), (EventKind::PersistentWatchRemoved, "/".into()));
    assert_eq!(next(&deep_events), (EventKind::PersistentWatchRemoved, "/".into()));
    assert_eq!(refused(client.remove_watches("/", WatcherType::Any).wait()), ErrorCode::NoWatcher);
    client.set_data("/a", b"x", -1).wait().unwrap();
    assert_eq!(deep_events.try_recv(), None);
}

#[test]
fn a_broken_connection_keeps_session_ephemerals_and_watches() {
    let server = Server::start();
    let (states, changes) = Watcher::new();
    let setup = client_in(&server, "broken");
    let client = Options::new().watcher(&states).connect(&format!("{}/broken", server.address())).unwrap();
    client.create("/e", b"", CreateMode::Ephemeral).wait().unwrap();
    let (watcher, events) = Watcher::new();
    client.watch_data("/e", &watcher).wait().unwrap();
    client.watch_exists("/later", &watcher).wait().unwrap();
    let id = client.session_id();
    client.disconnect();
    assert_eq!(client.exists("/e").wait().unwrap().unwrap().ephemeral_owner, id.0);
    assert_eq!(client.session_id(), id);
    setup.set_data("/e", b"x", -1).wait().unwrap();
    setup.create("/later", b"", CreateMode::Persistent).wait().unwrap();
    assert_eq!(next(&events), (EventKind::NodeDataChanged, "/e".into()));
    assert_eq!(next(&events), (EventKind::NodeCreated, "/later".into()));
    let seen: Vec<KeeperState> = std::iter::from_fn(|| changes.try_recv()).map(|event| event.state).collect();
    assert_eq!(seen, [KeeperState::SyncConnected, KeeperState::Disconnected, KeeperState::SyncConnected]);
}

#[test]
fn a_session_can_be_resumed_elsewhere_with_its_ticket_only() {
    let server = Server::start();
    let client = client_in(&server, "resume");
    client.create("/e", b"", CreateMode::Ephemeral).wait().unwrap();
    let ticket = client.ticket();
    client.abandon();
    let resumed =
        Options::new().resume(ticket.clone()).connect(&format!("{}/resume", server.address())).unwrap();
    assert_eq!(resumed.exists("/e").wait().unwrap().unwrap().ephemeral_owner, ticket.session.0);
    resumed.close();
    let (states, changes) = Watcher::new();
    let late = Options::new().resume(ticket).watcher(&states).connect(&server.address()).unwrap();
    assert_eq!(late.exists("/").wait(), Err(Error::SessionExpired));
    assert_eq!(changes.recv_timeout(LONG).unwrap().state, KeeperState::Expired);
    assert_eq!(late.state(), SessionState::Expired);
}

#[test]
fn acls_are_kept_and_identities_count() {
    let server = Server::start();
    let client = client_in(&server, "acl");
    client.add_auth("digest", b"bob:secret").wait().unwrap();
    let users: Vec<String> =
        client.who_am_i().wait().unwrap().into_iter().map(|identity| identity.scheme).collect();
    assert!(users.contains(&String::from("digest")), "{users:?}");
    let mine = Acl { permissions: permission::ALL, scheme: "auth".into(), id: String::new() };
    client.create_with("/a", Some(b"x"), &[mine], CreateMode::Persistent).wait().unwrap();
    let (acl, _) = client.acl("/a").wait().unwrap();
    assert_eq!((acl.len(), acl[0].scheme.as_str()), (1, "digest"));
    let other = Client::connect(&format!("{}/acl", server.address())).unwrap();
    assert_eq!(refused(other.data("/a").wait()), ErrorCode::NoAuth);
    assert_eq!(client.set_acl("/a", &[Acl::world(permission::READ)], -1).wait().unwrap().aversion, 1);
    other.data("/a").wait().unwrap();
    assert_eq!(refused(other.set_acl("/a", &[], -1).wait()), ErrorCode::InvalidAcl);
    assert_eq!(other.add_auth("nonsense", b"").wait(), Err(Error::AuthFailed));
    assert_eq!(other.state(), SessionState::AuthFailed);
}

#[test]
fn a_thousand_requests_share_the_way() {
    let server = Server::start();
    let client = client_in(&server, "pipeline");
    let made: Vec<_> =
        (0..1000).map(|_| client.create("/n-", b"", CreateMode::PersistentSequential)).collect();
    let paths: Vec<String> = made.into_iter().map(|pending| pending.wait().unwrap()).collect();
    assert!(paths.is_sorted());
    assert_eq!(paths.last().unwrap(), "/n-0000000999");
    assert_eq!(client.children("/").wait().unwrap().len(), 1000);
}

#[test]
fn without_a_server_operations_fail_and_waiting_ends() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::connect(&closed.to_string()).unwrap();
    assert_eq!(client.data("/").wait(), Err(Error::ConnectionLost));
    assert!(!client.wait_connected(Duration::from_millis(1)));
    client.close();
    assert_eq!(client.data("/").wait(), Err(Error::Closed));
}

#[test]
fn a_subtree_is_listed_and_deleted() {
    let server = Server::start();
    let client = client_in(&server, "subtree");
    for path in ["/t", "/t/a", "/t/b", "/t/a/x", "/t/a/y"] {
        client.create(path, b"", CreateMode::Persistent).wait().unwrap();
    }
    let mut paths = client.subtree("/t").unwrap();
    assert_eq!(paths[0], "/t");
    paths.sort();
    assert_eq!(paths, ["/t", "/t/a", "/t/a/x", "/t/a/y", "/t/b"]);
    assert_eq!(client.delete_subtree("/t", 2).unwrap(), 5);
    assert_eq!(refused(client.subtree("/t")), ErrorCode::NoNode);
}

#[test]
fn values_of_many_reads_come_whole() {
    let server = Server::start();
    let client = client_in(&server, "large");
    let value: Vec<u8> = (0..1_000_000_u32).map(|index| index as u8).collect();
    client.create("/v", &value, CreateMode::Persistent).wait().unwrap();
    let reads: Vec<_> = (0..20).map(|_| client.data("/v")).collect();
    for read in reads {
        assert_eq!(read.wait().unwrap().0.as_deref(), Some(value.as_slice()));
    }
}
