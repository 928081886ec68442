//! Connections and sessions. The crate gives up a session only when the server says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use zookeeper::{CreateMode, ZkError, ZkState, ZooKeeper};

use super::{Context, client, open, run};
use crate::harness::{Test, connect, control, wait_for};
use crate::proxy::Proxy;

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper",
        "sessions",
        run,
        closed_clients_refuse,
        reconnection_keeps_the_session,
        expiry_when_cut_off,
        kill_keeps_session_and_data,
        kill_loses_nothing_acknowledged,
    )
}

fn states(zk: &ZooKeeper) -> Arc<Mutex<Vec<ZkState>>> {
    let states = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&states);
    zk.add_listener(move |state| told.lock().expect("states").push(state));
    states
}

/// Asks until there is an answer: requests under way are lost with the connection.
fn owner(zk: &ZooKeeper, path: &str) -> i64 {
    let mut owner = 0;
    wait_for("an answer", || match zk.exists(path, false) {
        Ok(stat) => {
            owner = stat.map_or(0, |stat| stat.ephemeral_owner);
            true
        }
        Err(ZkError::ConnectionLoss) => false,
        Err(error) => panic!("exists: {error:?}"),
    });
    owner
}

fn closed_clients_refuse(_: &Context) {
    let zk = client(&connect(), 10_000);
    zk.close().expect("closed");
    wait_for("a refusal", || zk.exists("/", false).is_err());
}

fn reconnection_keeps_the_session(t: &Context) {
    let door = Proxy::start();
    let zk = client(&door.address, 10_000);
    let path = zk.create(&t.at("e"), vec![], open(), CreateMode::Ephemeral).expect("an ephemeral");
    let before = owner(&t.zk, &path);
    let told = states(&zk);
    door.shut();
    wait_for("the loss", || told.lock().expect("states").contains(&ZkState::Connecting));
    door.open();
    assert_eq!(owner(&zk, &path), before);
}

fn expiry_when_cut_off(t: &Context) {
    let door = Proxy::start();
    let zk = client(&door.address, 1_000);
    let path = zk.create(&t.at("e"), vec![], open(), CreateMode::Ephemeral).expect("an ephemeral");
    let before = owner(&zk, &path);
    door.shut();
    wait_for("the ephemeral's end", || t.gone(&path));
    door.open();
    // This client goes on with a new session by itself.
    let again = || zk.create(&path, vec![], open(), CreateMode::Ephemeral);
    wait_for("a new session", || again().is_ok());
    assert_ne!(owner(&zk, &path), before);
}

fn kill_keeps_session_and_data(t: &Context) {
    let path = t.create("e", "x", CreateMode::Ephemeral).expect("an ephemeral");
    t.node("plain", "data");
    let before = owner(&t.zk, &path);
    control("kill");
    control("start");
    assert_eq!(owner(&t.zk, &path), before);
    assert_eq!(t.data(&t.at("plain")), "data");
}

fn kill_loses_nothing_acknowledged(t: &Context) {
    let (acknowledged, killed) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (acknowledged, killed) = (&acknowledged, &killed);
            scope.spawn(move || {
                for n in (0..).take_while(|_| !killed.load(Ordering::Relaxed)) {
                    match t.create(&format!("{thread}-{n}"), "", CreateMode::Persistent) {
                        Ok(path) => acknowledged.lock().expect("paths").push(path),
                        Err(_) => return,
                    }
                }
            });
        }
        wait_for("some acknowledgements", || acknowledged.lock().expect("paths").len() > 300);
        control("kill");
        killed.store(true, Ordering::Relaxed);
        // Before the writers are waited for: what is asked of a client without a connection waits
        // for the next one.
        control("start");
    });
    for path in acknowledged.into_inner().expect("paths") {
        wait_for("an answer", || t.zk.exists(&path, false).err() != Some(ZkError::ConnectionLoss));
        assert!(!t.gone(&path), "{path} was acknowledged and lost");
    }
}
