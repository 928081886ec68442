//! Every method of every type, once.

use std::time::Duration;

use diwan_objects::{
    Barrier, Cluster, Counter, CounterAwaitOptions, CounterCompareAndSetResult, CounterIncrementOptions,
    CounterSetResult, Effect, Election, Error, Ids, IdsNextOptions, Latch, Lock, Log, LogReadOptions, Map,
    MapPutOptions, MapRangeOptions, Membership, MembershipAwaitSizeOptions, MembershipJoinOptions, Names,
    NamesListOptions, Queue, QueuePutOptions, QueueTakeOptions, RateLimiter, RateLimiterAcquireOptions,
    RateLimiterConfigureOptions, RateLimiterPeekOptions, RwLock, Semaphore, SemaphoreAcquireOptions,
    SemaphoreReleaseOptions, Set, Stack, StackPopOptions, Value, ValueCompareAndSetOptions, Wait, json,
};
use serde_json::Value as Json;

use crate::harness::{Test, fresh, refused};

pub(crate) const TESTS: &[Test] = &[
    ("methods.counter", counter),
    ("methods.value", value),
    ("methods.map", map),
    ("methods.set", set),
    ("methods.queue", queue),
    ("methods.stack", stack),
    ("methods.log", log),
    ("methods.ids", ids),
    ("methods.names", names),
    ("methods.ratelimiter", ratelimiter),
    ("methods.latch", latch),
    ("methods.barrier", barrier),
    ("methods.lock", lock),
    ("methods.rwlock", rwlock),
    ("methods.semaphore", semaphore),
    ("methods.membership", membership),
    ("methods.election", election),
    ("methods.objects", objects),
];

fn forever() -> Wait {
    Wait::forever()
}

fn moment() -> Wait {
    Wait::at_most(Duration::from_millis(50))
}

fn counter(cluster: &Cluster) {
    let c = Counter::new(cluster, &fresh());
    assert!(c.create(json!({ "start": 3, "max": 1_i64 << 62 })).unwrap());
    assert_eq!(c.get().unwrap(), 3);
    assert_eq!(c.increment().unwrap(), 4);
    assert_eq!(c.increment_with(CounterIncrementOptions { by: Some(5) }).unwrap(), 9);
    assert_eq!(c.decrement().unwrap(), 8);
    assert_eq!(c.set(10).unwrap(), CounterSetResult { value: 10, previous: 8 });
    assert_eq!(c.swap(20).unwrap().previous, 10);
    assert!(!c.compare_and_set(1, 2).unwrap().swapped);
    let swapped = CounterCompareAndSetResult { swapped: true, value: 1 << 60 };
    assert_eq!(c.compare_and_set(20, 1 << 60).unwrap(), swapped);
    assert_eq!(c.stale().get().unwrap(), 1 << 60);
    refused("out-of-range", c.increment_with(CounterIncrementOptions { by: Some(1 << 62) }));
    let at_most = CounterAwaitOptions { at_most: Some(0), ..CounterAwaitOptions::default() };
    assert!(!c.wait_with(Wait::not(), at_most).unwrap().reached);
    let equals = CounterAwaitOptions { equals: Some(1 << 60), ..CounterAwaitOptions::default() };
    assert!(c.wait_with(forever(), equals).unwrap().reached);
}

fn value(cluster: &Cluster) {
    let v = Value::new(cluster, &fresh());
    let first = v.set(json!({ "a": 1 })).unwrap();
    assert_eq!(v.swap(Json::Null).unwrap().previous, json!({ "a": 1 }));
    let version = ValueCompareAndSetOptions { version: Some(first.version), expect: None };
    assert!(!v.compare_and_set_with("x", version).unwrap().swapped);
    assert!(v.await_change(first.version, forever()).unwrap().changed);
    assert_eq!(v.get().unwrap().value, Json::Null);
}

fn map(cluster: &Cluster) {
    let m = Map::new(cluster, &fresh());
    let put = m.put("b", 1).unwrap();
    let absent = MapPutOptions { if_absent: true, ..MapPutOptions::default() };
    assert!(!m.put_with("b", 2, absent).unwrap().stored);
    let same = MapPutOptions { if_version: Some(put.version), ttl_ms: Some(600_000), if_absent: false };
    assert!(m.put_with("b", 2, same).unwrap().stored);
    assert_eq!(m.put_all([("a", 1), ("c", 3)]).unwrap().stored, 2);
    assert_eq!(m.add("n").unwrap().value, 1);
    assert_eq!(m.get("b").unwrap().value, 2);
    assert!(!m.contains("zz").unwrap());
    assert_eq!(m.size().unwrap().size, 4);
    assert_eq!(m.get_all(&["a", "no"]).unwrap().len(), 1);
    assert_eq!(m.first().unwrap().unwrap().key, "a");
    assert_eq!(m.last().unwrap().unwrap().key, "n");
    assert_eq!(m.floor("bb").unwrap().unwrap().key, "b");
    assert_eq!(m.ceiling("bb").unwrap().unwrap().key, "c");
    assert_eq!(m.floor("A").unwrap(), None);
    let page = MapRangeOptions { from: Some("a".into()), limit: Some(2), to: None };
    assert_eq!(m.range_with(page).unwrap().next.as_deref(), Some("c"));
    assert!(m.await_change("b", 0, forever()).unwrap().changed);
    assert!(m.remove("a").unwrap().removed);
    assert_eq!(m.clear().unwrap(), 3);
}

fn set(cluster: &Cluster) {
    let s = Set::new(cluster, &fresh());
    assert_eq!(s.add([json!(1), json!("b"), json!(1)]).unwrap(), 2);
    assert_eq!(s.remove([1]).unwrap(), 1);
    assert_eq!(s.size().unwrap(), 1);
    assert!(s.contains("b").unwrap());
    assert_eq!(s.members().unwrap().items.len(), 1);
    assert_eq!(s.pop().unwrap(), ["b"]);
}

fn queue(cluster: &Cluster) {
    let q = Queue::new(cluster, &fresh());
    assert!(q.create(json!({ "capacity": 2, "priority": true, "max_attempts": 1 })).unwrap());
    let low = q.put("low", forever()).unwrap().unwrap();
    let urgent = QueuePutOptions { priority: Some(3), delay_ms: None };
    let high = q.put_with("high", forever(), urgent).unwrap().unwrap();
    refused("queue-full", q.put("more", Wait::not()));
    assert_eq!(q.peek().unwrap()[0].id, high);
    let leased = || QueueTakeOptions { lease_ms: Some(60_000), n: None };
    assert_eq!(q.take_with(forever(), leased()).unwrap()[0].item, "high");
    assert_eq!(q.extend(&[high]).unwrap(), 1);
    assert_eq!(q.nack(&[high]).unwrap(), 1);
    assert_eq!(q.dead().unwrap().len(), 1);
    assert!(q.replace(low, "other").unwrap());
    assert_eq!(q.size().unwrap().ready, 1);
    assert_eq!(q.list().unwrap().items.len(), 1);
    assert_eq!(q.take_with(forever(), leased()).unwrap()[0].id, low);
    assert_eq!(q.ack(&[low]).unwrap(), 1);
    assert!(q.remove(high).unwrap());
    assert!(q.take(Wait::not()).unwrap().is_empty());
}

fn stack(cluster: &Cluster) {
    let s = Stack::new(cluster, &fresh());
    assert_eq!(s.push("a", forever()).unwrap(), Some(1));
    assert_eq!(s.push("b", forever()).unwrap(), Some(2));
    assert_eq!(s.size().unwrap(), 2);
    assert_eq!(s.peek().unwrap(), ["b"]);
    assert_eq!(s.items().unwrap().len(), 2);
    assert_eq!(s.pop_with(forever(), StackPopOptions { n: Some(5) }).unwrap().len(), 2);
    assert!(s.pop(Wait::not()).unwrap().is_empty());
}

fn log(cluster: &Cluster) {
    let l = Log::new(cluster, &fresh());
    assert_eq!(l.append("a").unwrap(), 0);
    assert_eq!(l.append("b").unwrap(), 1);
    assert_eq!(l.read(Wait::not()).unwrap().next, 2);
    let behind = LogReadOptions { from: Some(2), limit: None };
    assert!(l.read_with(moment(), behind).unwrap().entries.is_empty());
    assert_eq!(l.trim(1).unwrap().first, 1);
}

fn ids(cluster: &Cluster) {
    let i = Ids::new(cluster, &fresh());
    assert_eq!(i.peek().unwrap(), 1);
    let next = i.next_with(IdsNextOptions { n: Some(3) }).unwrap();
    assert_eq!((next.first, next.last), (json!(1), json!(3)));
}

fn names(cluster: &Cluster) {
    let n = Names::new(cluster, &fresh());
    assert_eq!(n.set("www", json!({ "type": "A", "address": "10.0.0.1" })).unwrap().records, 1);
    assert_eq!(n.add("www", json!({ "type": "A", "address": "10.0.0.2" })).unwrap().records, 2);
    let of_www = NamesListOptions { name: Some("www".into()), ..NamesListOptions::default() };
    assert_eq!(n.list_with(of_www).unwrap().records.unwrap().len(), 2);
    assert_eq!(n.list().unwrap().names.unwrap()[0].name, "www");
    assert_eq!(n.remove("www").unwrap().records, 0);
}

fn ratelimiter(cluster: &Cluster) {
    let r = RateLimiter::new(cluster, &fresh());
    let slow = RateLimiterConfigureOptions { per_second: Some(1), burst: Some(2) };
    assert_eq!(r.configure_with(slow).unwrap().burst, 2);
    assert!(r.acquire(forever()).unwrap().granted);
    let two = RateLimiterAcquireOptions { n: Some(2), key: None };
    assert!(!r.acquire_with(Wait::not(), two).unwrap().granted);
    assert_eq!(r.peek_with(RateLimiterPeekOptions { key: Some("other".into()) }).unwrap().remaining, 2);
}

fn latch(cluster: &Cluster) {
    let l = Latch::new(cluster, &fresh());
    assert!(!l.wait(Wait::not()).unwrap());
    assert_eq!(l.count_down().unwrap(), 0);
    assert!(l.wait(forever()).unwrap());
    assert_eq!(l.reset().unwrap(), 1);
    assert_eq!(l.count().unwrap(), 1);
}

fn barrier(cluster: &Cluster) {
    let b = Barrier::new(cluster, &fresh());
    assert!(b.create(json!({ "parties": 1 })).unwrap());
    assert_eq!(b.wait(forever()).unwrap().index, Some(0));
    assert_eq!(b.reset().unwrap(), 1);
    let d = Barrier::new(cluster, &fresh());
    assert!(d.create(json!({ "parties": 1, "double": true })).unwrap());
    assert_eq!(d.enter(forever()).unwrap().index, Some(0));
    assert_eq!(d.state().unwrap().inside, 1);
    assert!(d.leave(forever()).unwrap());
}

fn lock(cluster: &Cluster) {
    let l = Lock::new(cluster, &fresh());
    let fence = l.acquire(forever()).unwrap().fence.unwrap();
    assert!(l.check(fence).unwrap());
    assert_eq!(l.holder().unwrap().fence, Some(fence));
    // The thread is the owner, and a lock lets its owner in once unless told otherwise.
    refused("reentry-limit", l.acquire(Wait::not()));
    let other = l.clone();
    let tried = std::thread::spawn(move || other.acquire(Wait::not())).join().unwrap();
    assert!(!tried.unwrap().acquired);
    let back = l.wait("changed", fence, moment()).unwrap();
    assert!(!back.signalled);
    assert_eq!(l.signal("changed").unwrap(), 0);
    assert_eq!(l.signal_all("changed").unwrap(), 0);
    refused("stale-fence", l.release(fence));
    assert_eq!(l.release(back.fence).unwrap(), 0);
    assert!(l.steal().unwrap() > back.fence);
}

fn rwlock(cluster: &Cluster) {
    let l = RwLock::new(cluster, &fresh());
    let (one, other) = (l.hold_read(forever()).unwrap(), l.hold_read(forever()).unwrap());
    assert_eq!(l.state().unwrap().readers, 2);
    one.release().unwrap();
    drop(other);
    let written = l.write(forever()).unwrap().fence.unwrap();
    let down = l.downgrade(written).unwrap();
    assert!(l.read(Wait::not()).unwrap().acquired);
    l.release(down).unwrap();
    let outcome = l.hold_write(Wait::not());
    assert!(
        matches!(&outcome, Err(error) if error.is("would-deadlock") || matches!(error, Error::NotAcquired))
    );
}

fn semaphore(cluster: &Cluster) {
    let s = Semaphore::new(cluster, &fresh());
    assert!(s.create(json!({ "permits": 3 })).unwrap());
    let got = s.acquire_with(forever(), SemaphoreAcquireOptions { n: Some(2) }).unwrap();
    assert_eq!(s.available().unwrap().available, 1);
    assert_eq!(s.release_with(SemaphoreReleaseOptions { fence: got.fence, n: None }).unwrap(), 2);
    assert_eq!(s.drain().unwrap().taken, 2);
    assert_eq!(s.resize(1).unwrap().permits, 4);
    s.hold(forever()).unwrap().release().unwrap();
}

fn membership(cluster: &Cluster) {
    let m = Membership::new(cluster, &fresh());
    let joined = m.join_with("a", MembershipJoinOptions { data: Some(json!(1)) }).unwrap();
    assert_eq!(joined.members[0].data, 1);
    let epoch = m.update("a", 2).unwrap();
    assert_eq!(m.members().unwrap().epoch, epoch);
    assert!(m.await_change(epoch - 1, forever()).unwrap().changed);
    assert!(m.await_size_with(forever(), MembershipAwaitSizeOptions { n: Some(1) }).unwrap().reached);
    assert!(!m.report(epoch, "nobody").unwrap().removed);
    assert_eq!(m.leave("a").unwrap(), epoch + 1);
}

fn election(cluster: &Cluster) {
    let e = Election::new(cluster, &fresh());
    let won = e.campaign("a", forever()).unwrap();
    let fence = won.fence.unwrap();
    assert_eq!(e.leader().unwrap().name.as_deref(), Some("a"));
    assert_eq!(Some(e.proclaim(fence, "x").unwrap()), won.term);
    assert_eq!(e.observe(forever()).unwrap().data, Some(json!("x")));
    assert!(e.candidates().unwrap().is_empty());
    assert!(e.resign(fence).unwrap());
    let held = e.lead("b", forever()).unwrap();
    assert_eq!(e.leader().unwrap().term, Some(held.fence()));
}

fn objects(cluster: &Cluster) {
    let name = format!("{} ä/ö?:x", fresh());
    let c = Counter::new(cluster, &name);
    assert!(c.create(json!({})).unwrap());
    assert!(!c.create(json!({})).unwrap());
    assert!(c.describe().unwrap().explicit);
    refused("exists", c.create(json!({ "start": 7 })));
    let results =
        c.batch(&[("increment", json!({ "by": 2 })), ("hop", json!({})), ("decrement", json!({}))]).unwrap();
    assert_eq!(results[0].as_ref().unwrap()["value"], 2);
    assert!(results[1].as_ref().is_err_and(|error| error.is("no-such-method")));
    assert_eq!(results[2].as_ref().unwrap()["value"], 1);
    let named = cluster.object("counter", &name);
    assert_eq!(named.query::<Json>("get", json!({})).unwrap()["value"], 1);
    assert!(cluster.names("counter", None, 1000).unwrap().0.contains(&name));
    c.delete().unwrap();
    refused("no-such-object", c.describe());
    let unknown = refused("no-such-method", c.call::<Json>("hop", json!({}), forever()));
    assert_eq!(unknown.effect, Effect::None);
    refused("bad-argument", c.call::<Json>("increment", json!([1]), forever()));
}
