//! The crate `zookeeper`: blocking calls, watchers as closures, three recipes.
//!
//! No tests of what holds while members die: a request may wait for ever when its connection breaks, as it did before
//! three servers of ZooKeeper's own.

mod nodes;
mod recipes;
mod sessions;
mod watches;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use zookeeper::{Acl, CreateMode, WatchedEvent, ZkError, ZooKeeper, ZooKeeperExt};

use crate::harness::{Test, connect, wait_for};

pub fn tests() -> Vec<Test> {
    [nodes::tests(), watches::tests(), recipes::tests(), sessions::tests()].concat()
}

/// One test's client, and its empty node.
struct Context {
    zk: Arc<ZooKeeper>,
    path: String,
}

fn run(body: fn(&Context), path: &str) {
    let zk = client(&connect(), 10_000);
    zk.ensure_path(path).expect("the test's node");
    body(&Context { zk, path: path.to_owned() });
}

fn client(address: &str, timeout_ms: u64) -> Arc<ZooKeeper> {
    let zk = ZooKeeper::connect(address, Duration::from_millis(timeout_ms), |_| {}).expect("a client");
    Arc::new(zk)
}

fn open() -> Vec<Acl> {
    Acl::open_unsafe().clone()
}

impl Context {
    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn node(&self, name: &str, data: &str) -> String {
        self.create(name, data, CreateMode::Persistent).expect("a node")
    }

    fn create(&self, name: &str, data: &str, mode: CreateMode) -> Result<String, ZkError> {
        self.zk.create(&self.at(name), data.as_bytes().to_vec(), open(), mode)
    }

    fn gone(&self, path: &str) -> bool {
        matches!(self.zk.exists(path, false), Ok(None))
    }

    fn data(&self, path: &str) -> String {
        String::from_utf8(self.zk.get_data(path, false).expect("data").0).expect("text")
    }
}

/// What watchers were told, as `Type path`.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    fn watcher(&self) -> impl Fn(WatchedEvent) + Send + 'static {
        let events = Arc::clone(&self.0);
        move |event: WatchedEvent| {
            let line = format!("{:?} {}", event.event_type, event.path.unwrap_or_default());
            events.lock().expect("events").push(line);
        }
    }

    fn so_far(&self) -> Vec<String> {
        self.0.lock().expect("events").clone()
    }

    /// Waits for as many events as these, which they must be.
    fn expect(&self, expected: &[String]) {
        wait_for(&format!("{expected:?}"), || self.so_far().len() >= expected.len());
        assert_eq!(self.so_far(), expected);
    }
}
