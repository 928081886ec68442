//! Waits: they end in time, are cancelled, and hold up nobody.

use std::thread;
use std::time::{Duration, Instant};

use diwan_objects::{Cancel, Cluster, Counter, Error, Lock, Membership, Queue, Wait};

use crate::harness::{Test, connect, eventually, fresh, together};

pub(crate) const TESTS: &[Test] = &[
    ("waits.cancelled_wait_leaves_no_waiter", cancelled_wait),
    ("waits.cancelled_grant_is_given_back", cancelled_grant),
    ("waits.wait_ends_in_time", wait_ends),
    ("waits.queue_gives_each_item_once", items_once),
    ("waits.call_that_waits_holds_up_no_commands", waiting_commands),
    ("waits.call_that_waits_holds_up_no_call_of_its_session", waiting_session),
    ("waits.many_calls_that_wait_hold_up_no_call_that_frees_them", full_window),
    ("waits.parallel_first_calls_open_one_session", one_session),
    ("waits.dropped_guard_gives_back", dropped_guard),
];

fn cancelled_wait(cluster: &Cluster) {
    let lock = Lock::new(cluster, &fresh());
    let held = lock.hold(Wait::forever()).unwrap();
    let cancel = Cancel::new();
    let began = thread::scope(|scope| {
        let waiting = scope.spawn(|| lock.acquire(Wait::forever().until(&cancel)));
        eventually(|| lock.holder().unwrap().waiting == 1);
        let began = Instant::now();
        cancel.cancel();
        assert!(matches!(waiting.join().unwrap(), Err(Error::Cancelled)));
        began
    });
    assert!(began.elapsed() < Duration::from_secs(1), "it ends at once");
    eventually(|| lock.holder().unwrap().waiting == 0);
    assert!(matches!(lock.acquire(Wait::forever().until(&cancel)), Err(Error::Cancelled)), "for good");
    held.release().unwrap();
}

fn cancelled_grant(cluster: &Cluster) {
    let lock = Lock::new(cluster, &fresh());
    for delay_ms in [0, 1, 2, 5, 10] {
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                if let Ok(got) = lock.acquire(Wait::forever().until(&cancel)) {
                    lock.release(got.fence.unwrap()).unwrap();
                }
            });
            thread::sleep(Duration::from_millis(delay_ms));
            cancel.cancel();
            waiting.join().unwrap();
        });
        lock.hold(Wait::at_most(Duration::from_secs(10))).unwrap().release().unwrap();
    }
}

fn wait_ends(cluster: &Cluster) {
    let lock = Lock::new(cluster, &fresh());
    let held = lock.hold(Wait::forever()).unwrap();
    let took = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let began = Instant::now();
            let outcome = lock.hold(Duration::from_millis(500).into());
            assert!(matches!(outcome, Err(Error::NotAcquired)));
            began.elapsed()
        });
        waiting.join().unwrap()
    });
    assert!(took >= Duration::from_millis(450), "{took:?}");
    held.release().unwrap();
}

fn items_once(cluster: &Cluster) {
    let queue = Queue::new(cluster, &fresh());
    let mut got: Vec<_> = thread::scope(|scope| {
        scope.spawn(|| (0..10).for_each(|n| assert!(queue.put(n, Wait::forever()).unwrap().is_some())));
        together(10, |_| queue.take(Wait::forever()).unwrap()[0].item.as_i64().unwrap())
    });
    got.sort_unstable();
    assert_eq!(got, (0..10).collect::<Vec<_>>());
}

fn waiting_commands(cluster: &Cluster) {
    let (queue, counter) = (Queue::new(cluster, &fresh()), Counter::new(cluster, &fresh()));
    thread::scope(|scope| {
        let taking = scope.spawn(|| queue.take(Wait::forever()).unwrap().len());
        for n in 1..=150 {
            assert_eq!(counter.increment().unwrap(), n);
        }
        queue.put(1, Wait::forever()).unwrap();
        assert_eq!(taking.join().unwrap(), 1);
    });
    let mut values = together(200, |_| counter.increment().unwrap());
    values.sort_unstable();
    assert_eq!(values, (151..=350).collect::<Vec<_>>());
}

fn waiting_session(cluster: &Cluster) {
    let (other, name) = (connect(Duration::from_secs(5)), fresh());
    let (wanted, mine) = (Lock::new(cluster, &name), Lock::new(cluster, &fresh()));
    let held = Lock::new(&other, &name).hold(Wait::forever()).unwrap();
    let mut session = None;
    thread::scope(|scope| {
        let acquiring = scope.spawn(|| wanted.acquire(Wait::forever()).unwrap().acquired);
        eventually(|| wanted.holder().unwrap().waiting == 1);
        for _ in 0..100 {
            let got = mine.acquire(Wait::at_most(Duration::from_secs(10))).unwrap();
            session = mine.holder().unwrap().session;
            assert_eq!(mine.release(got.fence.unwrap()).unwrap(), 0);
        }
        assert_eq!(wanted.holder().unwrap().waiting, 1);
        held.release().unwrap();
        assert!(acquiring.join().unwrap());
    });
    assert_eq!(wanted.holder().unwrap().session, session);
}

/// More calls wait than a session may have without an answer; the one that wakes them is not among the waiting.
fn full_window(cluster: &Cluster) {
    let queue = Queue::new(cluster, &fresh());
    let taken = thread::scope(|scope| {
        let taking: Vec<_> =
            (0..70).map(|_| scope.spawn(|| queue.take(Wait::forever()).unwrap().len())).collect();
        eventually(|| queue.describe().is_ok_and(|told| told.waiting >= 40));
        let other = connect(Duration::from_secs(5));
        let same = Queue::new(&other, queue.name());
        (0..70).for_each(|n| assert!(same.put(n, Wait::forever()).unwrap().is_some()));
        assert!(Counter::new(cluster, &fresh()).increment().unwrap() == 1, "commands go on");
        taking.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!(taken, 70);
}

fn one_session(_: &Cluster) {
    let cluster = connect(Duration::from_secs(5));
    let group = Membership::new(&cluster, &fresh());
    together(30, |place| group.join(&format!("m{place}")).unwrap());
    let members = group.members().unwrap().members;
    assert_eq!(members.len(), 30);
    assert!(members.iter().all(|member| member.session == members[0].session));
}

fn dropped_guard(cluster: &Cluster) {
    let lock = Lock::new(cluster, &fresh());
    let fence = {
        let held = lock.hold(Wait::forever()).unwrap();
        assert!(!held.is_lost());
        held.fence()
    };
    assert!(!lock.check(fence).unwrap());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _held = lock.hold(Wait::forever()).unwrap();
        std::panic::resume_unwind(Box::new("a panic of the user's"));
    }));
    assert!(panicked.is_err());
    assert_eq!(lock.holder().unwrap().holds, 0);
}
