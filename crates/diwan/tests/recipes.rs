//! Recipes of the client library against a live server, each with a session that expires in the middle.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use council_client::recipes::{
    CacheState, Election, Group, Layout, Lock, LockGuard, Member, Outcome, PresenceState, RecipeError,
    Standing, SubtreeCache,
};
use council_client::{Client, CreateMode, Error, Multi, Options, SessionState, Zxid};
use server::Server;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

/// A client that opens a new session after an expired one.
fn lasting(server: &Server) -> Client {
    let client = Options::new().renew_session(true).connect(&server.address()).unwrap();
    assert!(client.wait_connected(LONG));
    client
}

/// Ends the session of a client from elsewhere, as its expiry would, and waits until the client knows.
fn expire(server: &Server, client: &Client) {
    let ticket = client.ticket();
    let deadline = Instant::now() + LONG;
    while client.ticket() == ticket && client.state() != SessionState::Expired {
        assert!(Instant::now() < deadline, "the session does not end");
        // The client itself takes the session back meanwhile: the later of the two connections has it.
        let other = Options::new().resume(ticket.clone()).connect(&server.address()).unwrap();
        let _ = other.wait_connected(LONG);
        other.close();
        let _ = client.wait_connected(SHORT);
    }
    if client.state() != SessionState::Expired {
        assert!(client.wait_connected(LONG));
    }
}

/// Waits for what no call waits for.
fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn contenders(client: &Client, path: &str) -> Vec<String> {
    client.children(path).wait().unwrap()
}

#[test]
fn lock_passes_on_when_its_holders_session_expires() {
    let server = Server::start();
    let (first, second) = (lasting(&server), lasting(&server));
    let guard = Lock::new(&first, "/app/lock").data(b"first").acquire(LONG).unwrap();
    assert!(guard.is_held());
    assert!(matches!(Lock::new(&second, "/app/lock").acquire(SHORT), Err(RecipeError::TimedOut)));
    let waiting = std::thread::spawn({
        let second = second.clone();
        move || Lock::new(&second, "/app/lock").layout(Layout::Kazoo).acquire(LONG)
    });
    until(|| contenders(&first, "/app/lock").len() == 2);
    // A broken connection alone does not lose the lock, and the epoch stays.
    first.disconnect();
    until(|| guard.is_held());
    expire(&server, &first);
    assert!(guard.wait_lost(LONG));
    assert_eq!(guard.standing(), Standing::Lost { epoch: guard.epoch() });
    let next: LockGuard = waiting.join().unwrap().unwrap();
    assert!(next.is_held() && next.epoch() > guard.epoch());
    let names = contenders(&second, "/app/lock");
    assert!(matches!(&names[..], [one] if one.contains("__lock__") && one.len() == 50), "{names:?}");
    next.release(LONG).unwrap();
    // The same client gets it again, under its new session.
    let again = Lock::new(&first, "/app/lock").acquire(LONG).unwrap();
    let names = contenders(&second, "/app/lock");
    assert!(matches!(&names[..], [one] if one.starts_with("_c_") && one.contains("-lock-")), "{names:?}");
    again.release(LONG).unwrap();
    assert_eq!(contenders(&second, "/app/lock"), Vec::<String>::new());
}

#[test]
fn writer_waits_for_readers_and_for_a_reader_whose_session_expires() {
    let server = Server::start();
    let clients = [lasting(&server), lasting(&server), lasting(&server)];
    let read = |client| Lock::read(client, "/rw").acquire(LONG).unwrap();
    let readers = [read(&clients[0]), read(&clients[1])];
    assert!(readers.iter().all(LockGuard::is_held));
    let waiting = std::thread::spawn({
        let client = clients[2].clone();
        move || Lock::write(&client, "/rw").acquire(LONG)
    });
    until(|| contenders(&clients[0], "/rw").len() == 3);
    // A reader that comes behind the writer waits for it.
    assert!(matches!(Lock::read(&clients[1], "/rw").acquire(SHORT), Err(RecipeError::TimedOut)));
    let [one, other] = readers;
    expire(&server, &clients[0]);
    assert!(one.wait_lost(LONG) && other.is_held() && !waiting.is_finished());
    other.release(LONG).unwrap();
    assert!(waiting.join().unwrap().unwrap().is_held());
}

#[test]
fn leader_whose_session_expires_is_followed_and_becomes_a_candidate_again() {
    let server = Server::start();
    let (first, second) = (lasting(&server), lasting(&server));
    let one = Election::enter(&first, "/leader", b"one").unwrap();
    let epoch = one.wait_leader(LONG).unwrap();
    let other = Election::enter(&second, "/leader", b"other").unwrap();
    until(|| other.standing() == Standing::Waiting);
    assert_eq!(other.leader_epoch(), None);
    expire(&server, &first);
    let next = other.wait_leader(LONG).unwrap();
    assert!(next > epoch);
    until(|| one.standing() == Standing::Waiting);
    other.resign(LONG).unwrap();
    assert!(one.wait_leader(LONG).unwrap() > next);
    // The data of the leader's node names the leader.
    let name = contenders(&second, "/leader").remove(0);
    assert!(name.starts_with("_c_") && name.contains("-latch-"), "{name}");
    assert_eq!(second.data(&format!("/leader/{name}")).wait().unwrap().0.as_deref(), Some(&b"one"[..]));
}

#[test]
fn member_whose_session_expires_comes_back_with_another_epoch() {
    let server = Server::start();
    let (first, second) = (lasting(&server), lasting(&server));
    let one = Group::join(&first, "/group", "one", b"1").unwrap();
    let other = Group::join(&second, "/group", "other", b"2").unwrap();
    let both = |members: &BTreeMap<String, Member>| members.len() == 2;
    assert!(one.wait_members(LONG, both) && other.wait_members(LONG, both));
    let before = other.members()["one"].clone();
    assert_eq!(before.data, b"1");
    expire(&server, &first);
    assert!(other.wait_members(LONG, |members| {
        members.get("one").is_some_and(|member| member.epoch > before.epoch)
    }));
    assert!(one.wait_members(LONG, |members| *members == other.members()));
    assert!(matches!(one.presence(), Some(PresenceState::Present { epoch }) if epoch > before.epoch));
    one.leave(LONG).unwrap();
    assert!(other.wait_members(LONG, |members| members.keys().eq(["other"])));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn cache_follows_the_tree_through_a_broken_connection_and_an_expired_session() {
    let server = Server::start();
    let (client, writer) = (lasting(&server), lasting(&server));
    let cache = SubtreeCache::open(&client, "/c").unwrap();
    // There is no node yet: that is a copy, too.
    let mut zxid = cache.wait_newer(Zxid(-1), LONG).unwrap();
    let make = |path: &str| writer.create(path, b"", CreateMode::Persistent).wait().unwrap();
    ["/c", "/c/a", "/c/a/x", "/c/b"].iter().for_each(|path| drop(make(path)));
    let equal = |zxid: &mut Zxid| {
        let last = writer.exists("/").wait().unwrap().unwrap().pzxid;
        let paths = writer.subtree("/c").unwrap();
        let found = cache.wait_until(LONG, |nodes| {
            nodes.len() == paths.len() && paths.iter().all(|path| nodes.contains_key(path))
        });
        assert!(found, "{paths:?} at {last:#x}");
        assert!(cache.zxid() > *zxid, "{} after {zxid}", cache.zxid());
        *zxid = cache.zxid();
    };
    equal(&mut zxid);
    writer.set_data("/c/a", b"new", -1).wait().unwrap();
    assert!(cache.wait_until(LONG, |nodes| nodes["/c/a"].data.as_deref() == Some(b"new")));
    assert_eq!(
        (cache.children("/c"), cache.node("/c/a").unwrap().version),
        (vec!["a".into(), "b".into()], 1)
    );
    // Two nodes that come and go together are never seen apart.
    let (pair, apart) = (["/c/p", "/c/q"], std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let seen = std::sync::Arc::clone(&apart);
    let watching = SubtreeCache::open_with(&client, "/c", Default::default(), move |update| {
        let both = pair.iter().filter(|path| update.paths.iter().any(|other| other == *path)).count();
        seen.fetch_or(both == 1, std::sync::atomic::Ordering::Relaxed);
    })
    .unwrap();
    assert!(watching.wait_newer(Zxid(-1), LONG).is_some());
    for _ in 0..20 {
        let create =
            pair.iter().fold(Multi::new(), |multi, path| multi.create(path, b"", CreateMode::Persistent));
        writer.commit(&create).wait().unwrap();
        let delete = pair.iter().fold(Multi::new(), |multi, path| multi.delete(path, -1));
        writer.commit(&delete).wait().unwrap();
    }
    client.disconnect();
    ["/c/b/late", "/c/d"].iter().for_each(|path| drop(make(path)));
    writer.delete("/c/a/x", -1).wait().unwrap();
    equal(&mut zxid);
    expire(&server, &client);
    make("/c/e");
    writer.delete("/c/d", -1).wait().unwrap();
    equal(&mut zxid);
    assert_eq!(cache.state(), CacheState::Current);
    assert!(!apart.load(std::sync::atomic::Ordering::Relaxed));
}

fn increment(old: Option<&[u8]>) -> Option<Vec<u8>> {
    let old: u64 = old.map_or(0, |old| std::str::from_utf8(old).unwrap().parse().unwrap());
    Some((old + 1).to_string().into_bytes())
}

#[test]
fn counter_is_right_although_sessions_expire_and_two_count_at_once() {
    let server = Server::start();
    let clients = [lasting(&server), lasting(&server)];
    let counting: Vec<_> = clients
        .iter()
        .cloned()
        .map(|client| {
            std::thread::spawn(move || {
                let outcomes: Vec<Outcome> = (0..200).map(|_| client.update("/counter", increment)).collect();
                let count = |wanted: fn(&Outcome) -> bool| {
                    outcomes.iter().filter(|outcome| wanted(outcome)).count() as u64
                };
                let written = count(|outcome| matches!(outcome, Outcome::Written(..)));
                let unknown = count(|outcome| *outcome == Outcome::Unknown);
                assert_eq!(written + unknown, 200, "{outcomes:?}");
                (written, unknown)
            })
        })
        .collect();
    expire(&server, &clients[0]);
    clients[1].disconnect();
    let counts = counting.into_iter().map(|thread| thread.join().unwrap());
    let (written, unknown) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let data = clients[1].data("/counter").wait().unwrap().0.unwrap();
    let value: u64 = std::str::from_utf8(&data).unwrap().parse().unwrap();
    assert!((written..=written + unknown).contains(&value), "{value}, {written}, {unknown}");
}

#[test]
fn recipes_of_a_client_that_opens_no_new_session_end_with_it() {
    let server = Server::start();
    let client = Client::connect(&server.address()).unwrap();
    assert!(client.wait_connected(LONG));
    let cache = SubtreeCache::open(&client, "/c").unwrap();
    assert!(cache.wait_newer(Zxid(-1), LONG).is_some());
    let election = Election::enter(&client, "/leader", b"").unwrap();
    assert!(election.wait_leader(LONG).is_some());
    expire(&server, &client);
    until(|| matches!(cache.state(), CacheState::Failed(_)));
    assert_eq!(cache.state(), CacheState::Failed(Error::SessionExpired));
    assert_eq!(election.wait_leader(LONG), None);
    let refused = Lock::new(&client, "/lock").acquire(LONG);
    assert!(matches!(refused, Err(RecipeError::Client(Error::SessionExpired))), "{refused:?}");
    assert_eq!(client.update("/counter", increment), Outcome::Failed(Error::SessionExpired));
}
