//! Sessions: negotiation, resumption, expiry.

use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use zookeeper_client::{Client, Error, SessionState};

use super::{Context, EPHEMERAL, client, client_at, run, soon, state};
use crate::harness::{Test, WAIT, connect, four_letter_word, four_letter_words};
use crate::proxy::Proxy;

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "sessions",
        run,
        timeouts_are_clamped,
        shown_by_the_server,
        reconnection_keeps_the_session,
        resumed_from_another_connection,
        closed_session_is_gone,
        expiry_when_cut_off,
        expiry_spares_who_pings,
        expiry_of_a_stopped_process,
        unknown_auth_scheme,
        readonly_clients_are_welcome,
    )
}

async fn timeouts_are_clamped(_: Context) {
    for (asked, given) in [(100, 1_000), (4_000, 4_000), (100_000, 10_000)] {
        assert_eq!(client_at(&connect(), asked).await.session_timeout(), Duration::from_millis(given));
    }
}

async fn shown_by_the_server(t: Context) {
    let id = format!("sid={}", t.zk.session_id());
    assert!(four_letter_words("cons").contains(&id), "{id} is not in `cons`");
    assert_eq!(four_letter_word("ruok"), "imok");
}

async fn reconnection_keeps_the_session(t: Context) {
    let door = Proxy::start();
    let zk = client_at(&door.address, 10_000).await;
    let session = zk.session_id();
    zk.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    let mut states = zk.state_watcher();
    for _ in 0..3 {
        door.shut();
        state(&mut states, SessionState::Disconnected).await;
        door.open();
        state(&mut states, SessionState::SyncConnected).await;
        assert_eq!(t.stat("e").await.map(|stat| stat.ephemeral_owner), Some(session.0));
        zk.set_data(&t.at("e"), b"x", None).await.expect("set");
    }
}

async fn resumed_from_another_connection(t: Context) {
    let door = Proxy::start();
    let connector = Client::connector().with_detached();
    let first = connector.connect(&door.address).await.expect("a connection");
    first.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    door.shut();
    let session = first.into_session();
    let id = session.id();
    let second = Client::connector().with_session(session).connect(&connect()).await.expect("the session");
    assert_eq!(second.session_id(), id);
    assert_eq!(second.list_ephemerals("/").await, Ok(vec![t.at("e")]));
    drop(second);
    t.gone("e").await;
}

async fn closed_session_is_gone(_: Context) {
    let zk = client().await;
    let session = zk.session().clone();
    let mut states = zk.state_watcher();
    drop(zk);
    state(&mut states, SessionState::Closed).await;
    let outcome = Client::connector().with_session(session).connect(&connect()).await;
    assert_eq!(outcome.err(), Some(Error::SessionExpired));
}

async fn expiry_when_cut_off(t: Context) {
    let door = Proxy::start();
    let zk = client_at(&door.address, 1_000).await;
    zk.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    let (_, _, watcher) = zk.get_and_watch_data(&t.path).await.expect("watch");
    let mut states = zk.state_watcher();
    door.shut();
    t.gone("e").await;
    door.open();
    state(&mut states, SessionState::Expired).await;
    assert_eq!(zk.check_stat("/").await, Err(Error::SessionExpired));
    assert_eq!(soon("the watcher's end", watcher.changed()).await.session_state, SessionState::Expired);
}

async fn expiry_spares_who_pings(t: Context) {
    let idle = client_at(&connect(), 1_500).await;
    idle.create(&t.at("idle"), b"", &EPHEMERAL).await.expect("an ephemeral");
    for name in ["first", "second"] {
        let door = Proxy::start();
        let silent = client_at(&door.address, 1_000).await;
        silent.create(&t.at(name), b"", &EPHEMERAL).await.expect("an ephemeral");
        door.shut();
        t.gone(name).await;
    }
    assert_eq!(idle.state(), SessionState::SyncConnected);
    assert_eq!(t.stat("idle").await.map(|stat| stat.ephemeral_owner), Some(idle.session_id().0));
}

async fn expiry_of_a_stopped_process(t: Context) {
    let mut process = Command::new(std::env::current_exe().expect("this program"))
        .args(["held", &t.at("e")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let id = process.id().to_string();
    let signal = |name: &str| {
        let status = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(status.expect("kill").success());
    };
    let lines = lines_of(process.stdout.take().expect("its output"));
    told(&lines, "ready");
    signal("STOP");
    t.gone("e").await;
    signal("CONT");
    told(&lines, "Expired");
    process.kill().expect("killed");
    process.wait().expect("ended");
}

/// What a process prints, as it comes.
fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

/// Waits until a process prints that line.
fn told(lines: &Receiver<String>, word: &str) {
    let (begun, mut before) = (Instant::now(), Vec::new());
    while before.last().is_none_or(|line| line != word) {
        match lines.recv_timeout(WAIT.saturating_sub(begun.elapsed())) {
            Ok(line) => before.push(line),
            Err(error) => panic!("not told `{word}`, but {before:?}, within {:?}: {error}", begun.elapsed()),
        }
    }
}

async fn unknown_auth_scheme(_: Context) {
    let zk = client().await;
    let mut states = zk.state_watcher();
    assert_eq!(zk.auth("nonsense", b"x").await, Err(Error::AuthFailed));
    state(&mut states, SessionState::AuthFailed).await;
}

async fn readonly_clients_are_welcome(t: Context) {
    let zk = Client::connector().with_readonly(true).connect(&connect()).await.expect("a connection");
    zk.create(&t.at("a"), b"", &super::OPEN).await.expect("created");
}
