//! One-shot and persistent watches.

use zookeeper::{AddWatchMode, CreateMode, WatcherType, ZkError};

use super::{Context, Events, client, open, run};
use crate::harness::{Test, connect};

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper",
        "watches",
        run,
        data,
        exists,
        children,
        fires_once,
        others_changes,
        persistent,
        persistent_recursive,
        removed,
        thousands,
    )
}

fn data(t: &Context) {
    let (path, events) = (t.node("a", ""), Events::default());
    t.zk.get_data_w(&path, events.watcher()).expect("watch");
    t.zk.set_data(&path, vec![], None).expect("set");
    events.expect(&[format!("NodeDataChanged {path}")]);
    t.zk.get_data_w(&path, events.watcher()).expect("watch");
    t.zk.delete(&path, None).expect("delete");
    events.expect(&[format!("NodeDataChanged {path}"), format!("NodeDeleted {path}")]);
}

fn exists(t: &Context) {
    let (path, events) = (t.at("a"), Events::default());
    assert!(matches!(t.zk.exists_w(&path, events.watcher()), Ok(None)));
    t.node("a", "");
    events.expect(&[format!("NodeCreated {path}")]);
    t.zk.exists_w(&path, events.watcher()).expect("watch");
    t.zk.delete(&path, None).expect("delete");
    events.expect(&[format!("NodeCreated {path}"), format!("NodeDeleted {path}")]);
}

fn children(t: &Context) {
    let events = Events::default();
    t.zk.get_children_w(&t.path, events.watcher()).expect("watch");
    let path = t.node("a", "");
    events.expect(&[format!("NodeChildrenChanged {}", t.path)]);
    t.zk.get_children_w(&t.path, events.watcher()).expect("watch");
    t.zk.set_data(&path, vec![], None).expect("set");
    t.zk.delete(&path, None).expect("delete");
    events.expect(&vec![format!("NodeChildrenChanged {}", t.path); 2]);
}

fn fires_once(t: &Context) {
    let (path, first, second) = (t.node("a", ""), Events::default(), Events::default());
    t.zk.get_data_w(&path, first.watcher()).expect("watch");
    t.zk.set_data(&path, vec![], None).expect("set");
    t.zk.get_data_w(&path, second.watcher()).expect("watch");
    t.zk.set_data(&path, vec![], None).expect("set");
    second.expect(&[format!("NodeDataChanged {path}")]);
    first.expect(&[format!("NodeDataChanged {path}")]);
}

fn others_changes(t: &Context) {
    let (other, events) = (client(&connect(), 10_000), Events::default());
    let path = other.create(&t.at("e"), vec![], open(), CreateMode::Ephemeral).expect("an ephemeral");
    t.zk.exists_w(&path, events.watcher()).expect("watch");
    other.close().expect("closed");
    events.expect(&[format!("NodeDeleted {path}")]);
}

fn persistent(t: &Context) {
    let (path, events) = (t.node("a", ""), Events::default());
    t.zk.add_watch(&path, AddWatchMode::Persistent, events.watcher()).expect("watch");
    t.zk.set_data(&path, vec![], None).expect("set");
    t.zk.set_data(&path, vec![], None).expect("set");
    t.node("a/b", "");
    events.expect(&[
        format!("NodeDataChanged {path}"),
        format!("NodeDataChanged {path}"),
        format!("NodeChildrenChanged {path}"),
    ]);
}

fn persistent_recursive(t: &Context) {
    let events = Events::default();
    t.zk.add_watch(&t.path, AddWatchMode::PersistentRecursive, events.watcher()).expect("watch");
    let (a, b) = (t.node("a", ""), t.node("a/b", ""));
    t.zk.delete(&b, None).expect("delete");
    events.expect(&[format!("NodeCreated {a}"), format!("NodeCreated {b}"), format!("NodeDeleted {b}")]);
}

fn removed(t: &Context) {
    let (gone, kept) = (Events::default(), Events::default());
    t.zk.add_watch(&t.path, AddWatchMode::Persistent, gone.watcher()).expect("watch");
    t.zk.remove_watches(&t.path, WatcherType::Persistent).expect("removed");
    t.zk.add_watch(&t.path, AddWatchMode::PersistentRecursive, kept.watcher()).expect("watch");
    let path = t.node("a", "");
    kept.expect(&[format!("NodeCreated {path}")]);
    assert!(
        !gone.so_far().iter().any(|event| event.starts_with("NodeChildrenChanged")),
        "{:?}",
        gone.so_far()
    );
    assert!(
        matches!(t.zk.remove_watches(&t.at("none"), WatcherType::Data), Err(error) if error != ZkError::NoNode)
    );
}

fn thousands(t: &Context) {
    let events = Events::default();
    let paths: Vec<String> = (0..500).map(|n| t.at(&format!("n{n}"))).collect();
    for path in &paths {
        t.zk.exists_w(path, events.watcher()).expect("watch");
    }
    let other = client(&connect(), 10_000);
    for path in &paths {
        other.create(path, vec![], open(), CreateMode::Persistent).expect("created");
    }
    events.expect(&paths.iter().map(|path| format!("NodeCreated {path}")).collect::<Vec<_>>());
}
