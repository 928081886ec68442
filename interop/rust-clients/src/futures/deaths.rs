//! Members of the ensemble are killed one after the other and come back: what a client was told stays true.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zookeeper_client::{Acls, Client, CreateMode, Error, SessionState};

use super::{Context, EPHEMERAL, OPEN, client, is_lost, made, retried, run, soon};
use crate::harness::Test;

/// Connections that are lost under each test.
const MOVES: usize = 2;
const LONGEST: Duration = Duration::from_secs(30);

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "deaths",
        run,
        session_ephemerals_and_writes_stay,
        sequences_have_no_doubles_and_no_losses,
        watches_hear_of_each_change,
    )
}

fn moves(zk: &Client) -> Arc<AtomicUsize> {
    let moves = Arc::new(AtomicUsize::new(0));
    let (counted, mut states) = (Arc::clone(&moves), zk.state_watcher());
    tokio::spawn(async move {
        loop {
            match states.changed().await {
                SessionState::Disconnected => drop(counted.fetch_add(1, Ordering::SeqCst)),
                state if state.is_terminated() => return,
                _ => {}
            }
        }
    });
    moves
}

async fn node(t: &Context) -> String {
    let path = t.at("a");
    made(async || t.zk.create(&path, b"0", &OPEN).await).await;
    path
}

/// Writes once whatever happens: what a lost connection leaves unknown, the version tells.
async fn write(zk: &Client, path: &str, version: i32) {
    loop {
        match zk.set_data(path, (version + 1).to_string().as_bytes(), Some(version)).await {
            Ok(_) => return,
            Err(error) if error == Error::BadVersion || is_lost(&error) => {}
            Err(error) => panic!("set: {error}"),
        }
        let (data, stat) = retried(|| zk.get_data(path)).await;
        assert_eq!(data, stat.version.to_string().into_bytes());
        if stat.version == version + 1 {
            return;
        }
        assert_eq!(stat.version, version);
    }
}

async fn session_ephemerals_and_writes_stay(t: Context) {
    let (path, deadline) = (node(&t).await, Instant::now() + LONGEST);
    let (moves, session, ephemeral) = (moves(&t.zk), t.zk.session_id(), t.at("e"));
    made(async || t.zk.create(&ephemeral, b"", &EPHEMERAL).await).await;
    let mut version = 0;
    while moves.load(Ordering::SeqCst) < MOVES || version < 100 {
        assert!(Instant::now() < deadline, "{version} writes, {moves:?} connections lost");
        write(&t.zk, &path, version).await;
        version += 1;
        let stat = retried(|| t.zk.check_stat(&ephemeral)).await;
        assert_eq!(stat.map(|stat| stat.ephemeral_owner), Some(session.0));
        assert_eq!(retried(|| t.zk.check_stat(&path)).await.map(|stat| stat.version), Some(version));
    }
    assert_eq!(t.zk.session_id(), session);
}

async fn sequences_have_no_doubles_and_no_losses(t: Context) {
    let sequential = CreateMode::PersistentSequential.with_acls(Acls::anyone_all());
    let (moves, deadline, mut made) = (moves(&t.zk), Instant::now() + LONGEST, Vec::new());
    let prefix = t.at("n-");
    while moves.load(Ordering::SeqCst) < MOVES || made.len() < 200 {
        assert!(Instant::now() < deadline, "{} nodes, {moves:?} connections lost", made.len());
        match t.zk.create(&prefix, b"", &sequential).await {
            Ok((_, sequence)) => made.push(format!("n-{sequence}")),
            Err(error) if is_lost(&error) => {}
            Err(error) => panic!("create: {error}"),
        }
    }
    let present = retried(|| t.zk.list_children(&t.path)).await;
    let count = made.len();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), count);
    made.retain(|name| !present.contains(name));
    assert_eq!(made, Vec::<String>::new(), "acknowledged and lost");
}

async fn watches_hear_of_each_change(t: Context) {
    let (path, deadline) = (node(&t).await, Instant::now() + LONGEST);
    let (moves, other, mut version) = (moves(&t.zk), client().await, 0);
    while moves.load(Ordering::SeqCst) < MOVES || version < 50 {
        assert!(Instant::now() < deadline, "{version} writes, {moves:?} connections lost");
        let watcher = loop {
            let (_, stat, watcher) = retried(|| t.zk.get_and_watch_data(&path)).await;
            if stat.version == version {
                break watcher;
            }
        };
        write(&other, &path, version).await;
        version += 1;
        soon(&format!("the news of {version}"), watcher.changed()).await;
    }
}
