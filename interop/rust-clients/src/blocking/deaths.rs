//! Members of the ensemble are killed one after the other and come back: what a client was told stays true.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zookeeper::{CreateMode, Stat, ZkError, ZkResult, ZkState, ZooKeeper};

use super::{Context, open, run};
use crate::harness::Test;

/// Connections that are lost under each test.
const MOVES: usize = 2;
const LONGEST: Duration = Duration::from_secs(30);

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper",
        "deaths",
        run,
        session_ephemerals_and_writes_stay,
        sequences_have_no_doubles_and_no_losses
    )
}

fn moves(zk: &ZooKeeper) -> Arc<AtomicUsize> {
    let moves = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&moves);
    zk.add_listener(move |state| {
        if state == ZkState::Connecting {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    moves
}

/// Asks again what may be asked twice.
fn ask<T>(operation: impl Fn() -> ZkResult<T>) -> T {
    loop {
        match operation() {
            Ok(value) => return value,
            Err(ZkError::ConnectionLoss) => {}
            Err(error) => panic!("failed: {error:?}"),
        }
    }
}

/// Writes once whatever happens: what a lost connection leaves unknown, the version tells.
fn write(zk: &ZooKeeper, path: &str, version: i32) {
    loop {
        match zk.set_data(path, (version + 1).to_string().into_bytes(), Some(version)) {
            Ok(_) => return,
            Err(ZkError::ConnectionLoss | ZkError::BadVersion) => {}
            Err(error) => panic!("set: {error:?}"),
        }
        let (data, stat): (Vec<u8>, Stat) = ask(|| zk.get_data(path, false));
        assert_eq!(data, stat.version.to_string().into_bytes());
        if stat.version == version + 1 {
            return;
        }
        assert_eq!(stat.version, version);
    }
}

fn session_ephemerals_and_writes_stay(t: &Context) {
    let (path, deadline) = (t.node("a", "0"), Instant::now() + LONGEST);
    let ephemeral = t.create("e", "", CreateMode::Ephemeral).expect("an ephemeral");
    let owner = || ask(|| t.zk.exists(&ephemeral, false)).map(|stat| stat.ephemeral_owner);
    let (moves, first) = (moves(&t.zk), owner());
    let mut version = 0;
    while moves.load(Ordering::SeqCst) < MOVES || version < 100 {
        assert!(Instant::now() < deadline, "{version} writes, {moves:?} connections lost");
        write(&t.zk, &path, version);
        version += 1;
        assert_eq!(owner(), first);
        assert_eq!(ask(|| t.zk.exists(&path, false)).map(|stat| stat.version), Some(version));
    }
}

fn sequences_have_no_doubles_and_no_losses(t: &Context) {
    let (moves, deadline, mut made) = (moves(&t.zk), Instant::now() + LONGEST, Vec::new());
    while moves.load(Ordering::SeqCst) < MOVES || made.len() < 200 {
        assert!(Instant::now() < deadline, "{} nodes, {moves:?} connections lost", made.len());
        match t.zk.create(&t.at("n-"), vec![], open(), CreateMode::PersistentSequential) {
            Ok(path) => made.push(path.rsplit('/').next().expect("a name").to_owned()),
            Err(ZkError::ConnectionLoss) => {}
            Err(error) => panic!("create: {error:?}"),
        }
    }
    let present = ask(|| t.zk.get_children(&t.path, false));
    let count = made.len();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), count);
    made.retain(|name| !present.contains(name));
    assert_eq!(made, Vec::<String>::new(), "acknowledged and lost");
}
