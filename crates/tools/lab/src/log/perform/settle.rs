//! Waiting until servers have done what the turn before left them: what they do with files of a topic that is deleted would count
//! for the next turn otherwise.

use std::thread;
use std::time::{Duration, Instant};

use tools_process::meter::cpu_time;

/// How long servers must have little to do.
const LOOK: Duration = Duration::from_millis(500);
/// What counts as little, of one processor: a JVM that serves nobody takes 1 to 3 %.
const LITTLE_PERCENT: u128 = 4;
/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until these processes have little to do, for a bounded time.
pub(super) fn settle(pids: &[u32]) {
    let began = Instant::now();
    while !pids.is_empty() && began.elapsed() < PATIENCE {
        let (before, looked) = (used(pids), Instant::now());
        thread::sleep(LOOK);
        let worked = used(pids).saturating_sub(before);
        if worked.as_micros() * 100 <= looked.elapsed().as_micros() * LITTLE_PERCENT {
            return;
        }
    }
}

/// The processor time of all that are there.
fn used(pids: &[u32]) -> Duration {
    pids.iter().filter_map(|pid| cpu_time(*pid).ok()).map(|time| time.total()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn process_that_works_is_waited_for() {
        let (stop, began) = (AtomicBool::new(false), Instant::now());
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                thread::sleep(LOOK * 3);
                stop.store(true, Ordering::Relaxed);
            });
            settle(&[std::process::id()]);
        });
        assert!(began.elapsed() >= LOOK * 3, "{:?}", began.elapsed());
        settle(&[]);
    }
}
