//! The server dies, stops, hangs and comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use zookeeper_client::{Acls, CreateMode, EventType, LockPrefix, SessionState};

use super::{Context, EPHEMERAL, OPEN, client, client_at, retried, run, soon, state};
use crate::harness::{Test, connect, control};
use crate::proxy::Proxy;

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "outage",
        run,
        kill_keeps_everything,
        stop_keeps_everything,
        kill_loses_nothing_acknowledged,
        watches_come_back,
        absent_sessions_expire,
        lock_stays_held,
        a_pause_is_survived,
    )
}

async fn restart(t: &Context, how: &str) {
    let mut states = t.zk.state_watcher();
    control(how);
    state(&mut states, SessionState::Disconnected).await;
    control("start");
    state(&mut states, SessionState::SyncConnected).await;
}

async fn kill_keeps_everything(t: Context) {
    t.node("plain", "data").await;
    t.zk.create(&t.at("e"), b"x", &EPHEMERAL).await.expect("an ephemeral");
    let sequential = CreateMode::PersistentSequential.with_acls(Acls::anyone_all());
    t.zk.create(&t.at("n-"), b"", &sequential).await.expect("created");
    let before = (t.stat("plain").await, t.stat("e").await, t.zk.session_id());
    restart(&t, "kill").await;
    assert_eq!((t.stat("plain").await, t.stat("e").await, t.zk.session_id()), before);
    assert_eq!(t.data("plain").await, "data");
    let (_, sequence) = t.zk.create(&t.at("n-"), b"", &sequential).await.expect("created");
    assert_eq!(sequence.to_string(), "0000000003");
}

async fn stop_keeps_everything(t: Context) {
    t.zk.create(&t.at("e"), b"x", &EPHEMERAL).await.expect("an ephemeral");
    let before = t.stat("e").await;
    restart(&t, "stop").await;
    assert_eq!(t.stat("e").await, before);
}

async fn kill_loses_nothing_acknowledged(t: Context) {
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let killed = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::new();
    for task in 0..50 {
        let (zk, path) = (t.zk.clone(), t.path.clone());
        let (acknowledged, killed) = (Arc::clone(&acknowledged), Arc::clone(&killed));
        tasks.push(tokio::spawn(async move {
            for n in (0..).take_while(|_| !killed.load(Ordering::Relaxed)) {
                let path = format!("{path}/{task}-{n}");
                if zk.create(&path, b"", &OPEN).await.is_err() {
                    return;
                }
                acknowledged.lock().expect("paths").push(path);
            }
        }));
    }
    let enough = async {
        while acknowledged.lock().expect("paths").len() < 500 {
            tokio::task::yield_now().await;
        }
    };
    soon("some acknowledgements", enough).await;
    control("kill");
    killed.store(true, Ordering::Relaxed);
    control("start");
    for task in tasks {
        soon("the writers' end", task).await.expect("a task");
    }
    let paths = acknowledged.lock().expect("paths").clone();
    for path in &paths {
        assert!(retried(|| t.zk.check_stat(path)).await.is_some(), "{path} was acknowledged and lost");
    }
}

async fn watches_come_back(t: Context) {
    let path = t.node("a", "").await;
    let (_, _, watcher) = t.zk.get_and_watch_data(&path).await.expect("watch");
    restart(&t, "kill").await;
    client().await.set_data(&path, b"x", None).await.expect("set");
    let event = soon("the event", watcher.changed()).await;
    assert_eq!((event.event_type, event.path), (EventType::NodeDataChanged, path));
}

async fn absent_sessions_expire(t: Context) {
    let door = Proxy::start();
    let zk = client_at(&door.address, 1_000).await;
    zk.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    door.shut();
    restart(&t, "kill").await;
    t.gone("e").await;
}

async fn lock_stays_held(t: Context) {
    let prefix = t.at("lock-");
    let lock =
        t.zk.lock(LockPrefix::new_shared(&prefix).expect("a prefix"), b"", Acls::anyone_all())
            .await
            .expect("a lock");
    restart(&t, "kill").await;
    assert_eq!(t.zk.list_children(&t.path).await, Ok(vec!["lock-0000000000".to_owned()]));
    let other = client().await;
    let rival = tokio::spawn(async move {
        let prefix = LockPrefix::new_shared(&prefix)?;
        Ok::<_, zookeeper_client::Error>(
            other.lock(prefix, b"", Acls::anyone_all()).await?.lock_path().to_owned(),
        )
    });
    drop(lock);
    let path = soon("the lock", rival).await.expect("a task").expect("a lock");
    assert_eq!(path, t.at("lock-0000000001"));
}

async fn a_pause_is_survived(t: Context) {
    let zk = client_at(&connect(), 1_500).await;
    let mut states = zk.state_watcher();
    control("pause");
    let noticed = tokio::time::timeout(crate::harness::WAIT, async {
        while states.changed().await.to_string() == "SyncConnected" {}
    });
    let noticed = noticed.await;
    control("resume");
    noticed.expect("the pause was not noticed");
    // The short session may or may not outlive the pause; the long one of the test does what it can.
    assert!(client().await.check_stat(&t.path).await.expect("exists").is_some());
}
