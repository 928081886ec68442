use council_wire::{KeeperState, SessionId, Zxid};

use super::*;
use crate::event::EventKind;

fn found(cache: &mut Cache, zxid: Zxid, results: Vec<MultiReadResult>) {
    let ask = cache.next().expect("a read");
    assert!(matches!(ask.request, Request::ReadAll(_)), "{ask:?}");
    cache.tell(Input::Replied(ask.id, Replied { zxid, result: Ok(Reply::Read(results)) }));
}

fn data(mzxid: i64) -> MultiReadResult {
    MultiReadResult::Data(None, Stat { mzxid, ..Stat::default() })
}

fn children(names: &[&str]) -> MultiReadResult {
    MultiReadResult::Children(names.iter().map(|name| String::from(*name)).collect())
}

fn changed(cache: &mut Cache, path: &str) {
    let (kind, state) = (EventKind::NodeDataChanged, KeeperState::SyncConnected);
    cache.tell(Input::Event(Event { kind, state, path: Some(path.into()), zxid: Zxid(5) }));
}

/// A cache that has left its watch.
fn watching() -> Cache {
    let mut cache = Cache::new("/r", CacheLimits::default());
    cache.tell(Input::Connected { session: SessionId(1) });
    let watch = cache.next().expect("a watch");
    assert!(matches!(watch.request, Request::AddWatch { .. }));
    cache.tell(Input::Replied(watch.id, Replied { zxid: Zxid(1), result: Ok(Reply::Done) }));
    cache
}

#[test]
fn node_that_changes_before_it_is_listed_is_listed_all_the_same() {
    let mut cache = watching();
    let root = cache.next().expect("the root");
    changed(&mut cache, "/r/a");
    found(&mut cache, Zxid(5), vec![data(5), children(&["x"])]);
    assert_eq!(cache.zxid(), Zxid(-1));
    let results = vec![data(1), children(&["a"])];
    cache.tell(Input::Replied(root.id, Replied { zxid: Zxid(6), result: Ok(Reply::Read(results)) }));
    found(&mut cache, Zxid(6), vec![data(4), children(&[])]);
    assert_eq!(cache.nodes().keys().collect::<Vec<_>>(), ["/r", "/r/a", "/r/a/x"]);
    assert_eq!((cache.zxid(), cache.children("/r").collect::<Vec<_>>()), (Zxid(6), vec!["a"]));
}

#[test]
fn copy_stays_while_no_server_is_connected_and_is_compared_after() {
    let mut cache = watching();
    found(&mut cache, Zxid(6), vec![data(1), children(&[])]);
    assert_eq!(cache.update(), Some(Update { zxid: Zxid(6), paths: vec!["/r".into()] }));
    changed(&mut cache, "/r");
    let late = cache.next().expect("a read");
    cache.tell(Input::Disconnected);
    assert_eq!((cache.state(), cache.zxid(), cache.nodes().len()), (&CacheState::Suspended, Zxid(6), 1));
    cache.tell(Input::Connected { session: SessionId(1) });
    let result = Ok(Reply::Read(vec![data(9)]));
    cache.tell(Input::Replied(late.id, Replied { zxid: Zxid(9), result }));
    assert_eq!((cache.state(), cache.zxid()), (&CacheState::Syncing, Zxid(6)));
    let watch = cache.next().expect("a watch");
    cache.tell(Input::Replied(watch.id, Replied { zxid: Zxid(9), result: Ok(Reply::Done) }));
    let gone = MultiReadResult::Refused(ErrorCode::NoNode);
    found(&mut cache, Zxid(9), vec![gone.clone(), gone]);
    assert_eq!((cache.state(), cache.zxid(), cache.nodes().len()), (&CacheState::Current, Zxid(9), 0));
}

#[test]
fn subtree_that_changes_all_the_time_is_read_at_once() {
    let mut cache = watching();
    found(&mut cache, Zxid(6), vec![data(1), children(&["a", "b"])]);
    found(&mut cache, Zxid(6), vec![data(1), children(&[]), data(1), children(&[])]);
    let zxid = cache.zxid();
    // By each reply the other node has changed.
    changed(&mut cache, "/r/a");
    for round in 0..REPLIES_MAX {
        changed(&mut cache, if round % 2 == 0 { "/r/b" } else { "/r/a" });
        found(&mut cache, Zxid(7), vec![data(7)]);
        assert_eq!(cache.zxid(), zxid);
    }
    // One read is under way still; what changes now waits for it.
    changed(&mut cache, "/r/a");
    changed(&mut cache, "/r/b");
    found(&mut cache, Zxid(7), vec![data(7)]);
    found(&mut cache, Zxid(8), vec![data(1), data(7), data(8)]);
    assert_eq!(cache.zxid(), Zxid(8));
}
