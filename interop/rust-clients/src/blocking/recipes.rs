//! The crate's recipes: leader latch, path children cache, queue.

use std::sync::{Arc, Mutex};

use zookeeper::recipes::cache::{PathChildrenCache, PathChildrenCacheEvent};
use zookeeper::recipes::leader::LeaderLatch;
use zookeeper::recipes::queue::ZkQueue;

use super::{Context, client, run};
use crate::harness::{Test, connect, wait_for};

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper",
        "recipes",
        run,
        leader_latch_passes_on,
        leader_latch_of_a_closed_session,
        children_cache_follows,
        queue_gives_each_once,
        queue_waits,
    )
}

fn latch(t: &Context, id: &str) -> LeaderLatch {
    LeaderLatch::new(client(&connect(), 10_000), id.to_owned(), t.path.clone())
}

fn leader_latch_passes_on(t: &Context) {
    let (first, second) = (latch(t, "first"), latch(t, "second"));
    first.start().expect("started");
    wait_for("leadership", || first.has_leadership());
    second.start().expect("started");
    assert!(!second.has_leadership());
    first.stop().expect("stopped");
    wait_for("the second's leadership", || second.has_leadership());
    assert!(!first.has_leadership());
}

fn leader_latch_of_a_closed_session(t: &Context) {
    let zk = client(&connect(), 10_000);
    let first = LeaderLatch::new(Arc::clone(&zk), "first".to_owned(), t.path.clone());
    first.start().expect("started");
    wait_for("leadership", || first.has_leadership());
    let second = latch(t, "second");
    second.start().expect("started");
    zk.close().expect("closed");
    wait_for("the second's leadership", || second.has_leadership());
}

fn children_cache_follows(t: &Context) {
    let old = t.node("old", "1");
    let mut cache = PathChildrenCache::new(Arc::clone(&t.zk), &t.path).expect("a cache");
    let told = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&told);
    cache.add_listener(move |event| {
        let line = match event {
            PathChildrenCacheEvent::Initialized(data) => format!("initialized {}", data.len()),
            PathChildrenCacheEvent::ChildAdded(path, _) => format!("added {path}"),
            PathChildrenCacheEvent::ChildUpdated(path, _) => format!("updated {path}"),
            PathChildrenCacheEvent::ChildRemoved(path) => format!("removed {path}"),
            _ => return,
        };
        events.lock().expect("events").push(line);
    });
    cache.start().expect("started");
    let seen = |line: String| wait_for(&line, || told.lock().expect("events").contains(&line));
    wait_for("the cache to fill", || cache.get_current_data().len() == 1);
    let new = t.node("new", "");
    seen(format!("added {new}"));
    t.zk.set_data(&old, b"2".to_vec(), None).expect("set");
    seen(format!("updated {old}"));
    t.zk.delete(&new, None).expect("delete");
    seen(format!("removed {new}"));
    assert_eq!(cache.get_current_data()[&old].0, b"2");
}

fn queue_gives_each_once(t: &Context) {
    let queue = ZkQueue::new(Arc::clone(&t.zk), t.at("q")).expect("a queue");
    for n in 0..40u8 {
        queue.offer(vec![n]).expect("offered");
    }
    assert_eq!(queue.peek(), Ok(Some(vec![0])));
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mine = ZkQueue::new(client(&connect(), 10_000), t.at("q")).expect("a queue");
                while let Some(entry) = mine.poll().expect("polled") {
                    taken.lock().expect("taken").push(entry[0]);
                }
            });
        }
    });
    let mut taken = taken.into_inner().expect("taken");
    taken.sort_unstable();
    assert_eq!(taken, (0..40).collect::<Vec<u8>>());
}

fn queue_waits(t: &Context) {
    let path = t.at("q");
    let queue = ZkQueue::new(Arc::clone(&t.zk), path.clone()).expect("a queue");
    let waiter =
        std::thread::spawn(move || ZkQueue::new(client(&connect(), 10_000), path).expect("a queue").take());
    queue.offer(b"x".to_vec()).expect("offered");
    assert_eq!(waiter.join().expect("the waiter"), Ok(b"x".to_vec()));
}
