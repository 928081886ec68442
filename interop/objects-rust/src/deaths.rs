//! Leaders die by `kill -9` under calls: no wrong answer, each command once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use diwan_objects::{Cluster, Counter, Latch, Lock, Wait};

use crate::harness::{Test, connect, control, eventually, fresh, kills, together};

pub(crate) const TESTS: &[Test] = &[
    ("deaths.increment_and_get_are_right_while_leaders_die", counts),
    ("deaths.lock_is_held_by_one_while_leaders_die", one_holder),
    ("deaths.wait_outlives_the_leader", wait_outlives),
];

const LOOPS: usize = 3;
const BETWEEN: Duration = Duration::from_millis(500);

/// The longest time that a loop went without an answer, for each kill.
#[derive(Default)]
struct Gaps {
    open: Mutex<Duration>,
    of_kills: Mutex<Vec<Duration>>,
}

impl Gaps {
    fn answered(&self, since: Duration) {
        let mut open = self.open.lock().unwrap();
        *open = since.max(*open);
    }

    fn next_kill(&self) {
        let gap = std::mem::take(&mut *self.open.lock().unwrap());
        self.of_kills.lock().unwrap().push(gap);
    }

    fn told(&self) -> String {
        let mut gaps = self.of_kills.lock().unwrap().clone();
        gaps.sort_unstable();
        let (median, longest) = (gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
        format!("gap: median {} ms, longest {} ms", median.as_millis(), longest.as_millis())
    }
}

/// Kills the leader again and again, while something goes on.
fn under_kills<T: Send>(times: u32, gaps: &Gaps, work: impl Fn(&AtomicBool) -> T + Sync) -> Vec<T> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let killing = scope.spawn(|| {
            let _end = StopWhenDropped(&stop);
            for _ in (0..times).take_while(|_| !stop.load(Ordering::Acquire)) {
                thread::sleep(BETWEEN);
                *gaps.open.lock().unwrap() = Duration::ZERO;
                control(&["kill", "leader"]);
                control(&["start"]);
                thread::sleep(BETWEEN);
                gaps.next_kill();
            }
        });
        let results = together(LOOPS, |_| {
            // A wrong answer ends the kills.
            let _end = StopWhenDropped(&stop);
            work(&stop)
        });
        killing.join().expect("the killing fails");
        results
    })
}

struct StopWhenDropped<'a>(&'a AtomicBool);

impl Drop for StopWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn counts(_: &Cluster) {
    let gaps = Gaps::default();
    let counted = under_kills(kills(), &gaps, |stop| {
        let cluster = connect(Duration::from_secs(10));
        let counter = Counter::new(&cluster, &fresh());
        let (mut last, mut n) = (Instant::now(), 0);
        while !stop.load(Ordering::Acquire) {
            n += 1;
            assert_eq!(counter.increment().unwrap(), n, "increment");
            gaps.answered(last.elapsed());
            last = Instant::now();
            assert_eq!(counter.get().unwrap(), n, "get");
            gaps.answered(last.elapsed());
            last = Instant::now();
        }
        n
    });
    let calls = 2 * counted.iter().sum::<i64>();
    println!("# {calls} calls, 0 wrong answers over {} kills of leaders; {}", kills(), gaps.told());
    assert!(counted.iter().all(|&count| count > i64::from(kills())), "{counted:?}");
}

fn one_holder(_: &Cluster) {
    let (name, gaps) = (fresh(), Gaps::default());
    let (inside, fences) = (Mutex::new(0), Mutex::new(Vec::new()));
    under_kills(kills() / 2, &gaps, |stop| {
        let cluster = connect(Duration::from_secs(10));
        let lock = Lock::new(&cluster, &name);
        while !stop.load(Ordering::Acquire) {
            let held = lock.hold(Wait::forever()).unwrap();
            *inside.lock().unwrap() += 1;
            fences.lock().unwrap().push(held.fence());
            thread::sleep(Duration::from_millis(5));
            assert_eq!(*inside.lock().unwrap(), 1, "one is inside");
            *inside.lock().unwrap() -= 1;
            held.release().unwrap();
        }
    });
    let fences = fences.into_inner().unwrap();
    assert!(fences.len() > LOOPS && fences.is_sorted_by(|one, other| one < other), "fences rise");
}

fn wait_outlives(cluster: &Cluster) {
    let latch = Latch::new(cluster, &fresh());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| latch.wait(Wait::forever()).unwrap());
        eventually(|| latch.describe().is_ok_and(|told| told.waiting == 1));
        control(&["kill", "leader"]);
        control(&["start"]);
        latch.count_down().unwrap();
        assert!(waiting.join().unwrap());
    });
}
