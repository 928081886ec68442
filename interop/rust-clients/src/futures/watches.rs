//! One-shot, persistent and recursive watches; zxids in events.
//!
//! Persistent watches are not tried across a reconnection: this version of the client leaves them out
//! of what it arms again (its `resend_watches` never chooses setWatches2).

use zookeeper_client::{AddWatchMode, EventType, OneshotWatcher, PersistentWatcher, SessionState};

use super::{Context, EPHEMERAL, OPEN, authenticated, client, client_at, run, soon, state};
use crate::harness::Test;
use crate::proxy::Proxy;

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "watches",
        run,
        data,
        exists,
        children,
        others_changes,
        events_carry_their_zxid,
        persistent,
        persistent_recursive,
        dropped_persistent_is_quiet,
        transaction_in_order,
        acl_filters,
        reconnection_tells_what_changed,
        thousands,
    )
}

async fn told(watcher: OneshotWatcher, kind: EventType, path: &str) {
    let event = soon(&format!("{kind} {path}"), watcher.changed()).await;
    assert_eq!((event.event_type, event.path.as_str()), (kind, path));
}

async fn next(watcher: &mut PersistentWatcher, kind: EventType, path: &str) {
    let event = soon(&format!("{kind} {path}"), watcher.changed()).await;
    assert_eq!((event.event_type, event.path.as_str()), (kind, path));
}

async fn data(t: Context) {
    let path = t.node("a", "").await;
    let (_, _, watcher) = t.zk.get_and_watch_data(&path).await.expect("watch");
    t.zk.set_data(&path, b"x", None).await.expect("set");
    told(watcher, EventType::NodeDataChanged, &path).await;
    let (_, _, watcher) = t.zk.get_and_watch_data(&path).await.expect("watch");
    t.zk.delete(&path, None).await.expect("deleted");
    told(watcher, EventType::NodeDeleted, &path).await;
}

async fn exists(t: Context) {
    let path = t.at("a");
    let (stat, watcher) = t.zk.check_and_watch_stat(&path).await.expect("watch");
    assert_eq!(stat, None);
    t.node("a", "").await;
    told(watcher, EventType::NodeCreated, &path).await;
    let (_, watcher) = t.zk.check_and_watch_stat(&path).await.expect("watch");
    t.zk.delete(&path, None).await.expect("deleted");
    told(watcher, EventType::NodeDeleted, &path).await;
}

async fn children(t: Context) {
    let (_, watcher) = t.zk.list_and_watch_children(&t.path).await.expect("watch");
    let path = t.node("a", "").await;
    told(watcher, EventType::NodeChildrenChanged, &t.path).await;
    let (_, _, watcher) = t.zk.get_and_watch_children(&t.path).await.expect("watch");
    t.zk.set_data(&path, b"x", None).await.expect("set");
    t.zk.delete(&path, None).await.expect("deleted");
    told(watcher, EventType::NodeChildrenChanged, &t.path).await;
    let (_, watcher) = t.zk.list_and_watch_children(&t.path).await.expect("watch");
    t.zk.delete(&t.path, None).await.expect("deleted");
    told(watcher, EventType::NodeDeleted, &t.path).await;
}

async fn others_changes(t: Context) {
    let other = client().await;
    other.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    let (_, watcher) = t.zk.check_and_watch_stat(&t.at("e")).await.expect("watch");
    drop(other);
    told(watcher, EventType::NodeDeleted, &t.at("e")).await;
}

async fn events_carry_their_zxid(t: Context) {
    let path = t.node("a", "").await;
    let (_, _, watcher) = t.zk.get_and_watch_data(&path).await.expect("watch");
    let stat = t.zk.set_data(&path, b"x", None).await.expect("set");
    assert_eq!(soon("the event", watcher.changed()).await.zxid, stat.mzxid);
}

async fn persistent(t: Context) {
    let path = t.node("a", "").await;
    let mut watcher = t.zk.watch(&path, AddWatchMode::Persistent).await.expect("watch");
    t.zk.set_data(&path, b"x", None).await.expect("set");
    t.node("a/b", "").await;
    t.zk.delete(&t.at("a/b"), None).await.expect("deleted");
    t.zk.delete(&path, None).await.expect("deleted");
    next(&mut watcher, EventType::NodeDataChanged, &path).await;
    next(&mut watcher, EventType::NodeChildrenChanged, &path).await;
    next(&mut watcher, EventType::NodeChildrenChanged, &path).await;
    next(&mut watcher, EventType::NodeDeleted, &path).await;
}

async fn persistent_recursive(t: Context) {
    let mut watcher = t.zk.watch(&t.path, AddWatchMode::PersistentRecursive).await.expect("watch");
    let (a, b) = (t.node("a", "").await, t.node("a/b", "").await);
    t.zk.set_data(&b, b"x", None).await.expect("set");
    t.zk.delete(&b, None).await.expect("deleted");
    next(&mut watcher, EventType::NodeCreated, &a).await;
    next(&mut watcher, EventType::NodeCreated, &b).await;
    next(&mut watcher, EventType::NodeDataChanged, &b).await;
    next(&mut watcher, EventType::NodeDeleted, &b).await;
}

async fn dropped_persistent_is_quiet(t: Context) {
    let path = t.node("a", "").await;
    let gone = t.zk.watch(&path, AddWatchMode::Persistent).await.expect("watch");
    let mut kept = t.zk.watch(&path, AddWatchMode::Persistent).await.expect("watch");
    drop(gone);
    t.zk.set_data(&path, b"x", None).await.expect("set");
    next(&mut kept, EventType::NodeDataChanged, &path).await;
}

async fn transaction_in_order(t: Context) {
    let mut watcher = t.zk.watch(&t.path, AddWatchMode::PersistentRecursive).await.expect("watch");
    let mut writer = t.zk.new_multi_writer();
    writer.add_create(&t.at("a"), b"", &OPEN).expect("added");
    writer.add_create(&t.at("b"), b"", &OPEN).expect("added");
    writer.add_delete(&t.at("a"), None).expect("added");
    writer.commit().await.expect("committed");
    next(&mut watcher, EventType::NodeCreated, &t.at("a")).await;
    next(&mut watcher, EventType::NodeCreated, &t.at("b")).await;
    next(&mut watcher, EventType::NodeDeleted, &t.at("a")).await;
}

async fn acl_filters(t: Context) {
    let mut watcher = t.zk.watch(&t.path, AddWatchMode::PersistentRecursive).await.expect("watch");
    let alice = authenticated("alice:wonder").await;
    let hers = zookeeper_client::CreateMode::Persistent.with_acls(zookeeper_client::Acls::creator_all());
    alice.create(&t.at("hers"), b"", &hers).await.expect("created");
    alice.delete(&t.at("hers"), None).await.expect("deleted");
    let open = t.node("open", "").await;
    next(&mut watcher, EventType::NodeCreated, &open).await;
}

async fn reconnection_tells_what_changed(t: Context) {
    let door = Proxy::start();
    let away = client_at(&door.address, 10_000).await;
    for name in ["set", "deleted", "same", "parent"] {
        t.node(name, "").await;
    }
    let (_, _, set) = away.get_and_watch_data(&t.at("set")).await.expect("watch");
    let (_, _, deleted) = away.get_and_watch_data(&t.at("deleted")).await.expect("watch");
    let (_, _, same) = away.get_and_watch_data(&t.at("same")).await.expect("watch");
    let (_, created) = away.check_and_watch_stat(&t.at("created")).await.expect("watch");
    let (_, children) = away.list_and_watch_children(&t.at("parent")).await.expect("watch");
    let mut states = away.state_watcher();
    door.shut();
    state(&mut states, SessionState::Disconnected).await;
    t.zk.set_data(&t.at("set"), b"x", None).await.expect("set");
    t.zk.delete(&t.at("deleted"), None).await.expect("deleted");
    t.node("created", "").await;
    t.node("parent/child", "").await;
    door.open();
    told(set, EventType::NodeDataChanged, &t.at("set")).await;
    told(deleted, EventType::NodeDeleted, &t.at("deleted")).await;
    told(created, EventType::NodeCreated, &t.at("created")).await;
    told(children, EventType::NodeChildrenChanged, &t.at("parent")).await;
    t.zk.set_data(&t.at("same"), b"x", None).await.expect("set");
    told(same, EventType::NodeDataChanged, &t.at("same")).await;
}

async fn thousands(t: Context) {
    let paths: Vec<String> = (0..2000).map(|n| t.at(&format!("n{n}"))).collect();
    let pending: Vec<_> = paths.iter().map(|path| t.zk.check_and_watch_stat(path)).collect();
    let mut watchers = Vec::new();
    for each in pending {
        watchers.push(each.await.expect("watch").1);
    }
    let other = client().await;
    let creations: Vec<_> = paths.iter().map(|path| other.create(path, b"", &OPEN)).collect();
    for creation in creations {
        creation.await.expect("created");
    }
    for (watcher, path) in watchers.into_iter().zip(&paths) {
        told(watcher, EventType::NodeCreated, path).await;
    }
}
