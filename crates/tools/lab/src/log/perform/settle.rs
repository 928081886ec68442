//! Waiting until servers have done what the turn before left them: what they do with files of a topic that is deleted would count
//! for the next turn otherwise.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tools_process::meter::cpu_time;

/// How long servers must have little to do.
const LOOK: Duration = Duration::from_millis(500);
/// What counts as little, of one processor: a JVM that serves nobody takes 1 to 3 %.
const LITTLE_PERCENT: u128 = 4;
/// A file that is deleted and open, and has more bytes, is being given back to the file system: that costs too little to be seen as work.
const BYTES_LEFT: u64 = 1 << 20;
/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until these processes have little to do and have given back the files of what is deleted, for a bounded time.
pub(super) fn settle(pids: &[u32]) {
    let began = Instant::now();
    while !pids.is_empty() && began.elapsed() < PATIENCE {
        let (before, looked) = (used(pids), Instant::now());
        thread::sleep(LOOK);
        let worked = used(pids).saturating_sub(before);
        let is_little = worked.as_micros() * 100 <= looked.elapsed().as_micros() * LITTLE_PERCENT;
        if is_little && !pids.iter().any(|pid| deletes(*pid)) {
            return;
        }
    }
}

/// The processor time of all that are there.
fn used(pids: &[u32]) -> Duration {
    pids.iter().filter_map(|pid| cpu_time(*pid).ok()).map(|time| time.total()).sum()
}

/// Whether a process has a large file open that is deleted. Of what cannot be seen, nothing is open.
fn deletes(pid: u32) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    open.flatten().any(|file| is_left(&file.path()))
}

/// Whether that is a large file that is deleted.
fn is_left(open: &Path) -> bool {
    let to = fs::read_link(open);
    let is_deleted = to.is_ok_and(|to| to.as_os_str().as_encoded_bytes().ends_with(b" (deleted)"));
    is_deleted && fs::metadata(open).is_ok_and(|of| of.is_file() && of.len() > BYTES_LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;
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

    #[test]
    fn process_that_gives_a_deleted_file_back_is_waited_for() {
        let path = std::env::temp_dir().join(format!("diwan-lab-deleted-{}", std::process::id()));
        let file = fs::File::create(&path).expect("there is room");
        fs::remove_file(&path).expect("it is there");
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        file.set_len(BYTES_LEFT).expect("there is room");
        assert!(!is_left(Path::new(&open)));
        file.set_len(BYTES_LEFT + 1).expect("there is room");
        assert!(is_left(Path::new(&open)) && deletes(std::process::id()));
    }
}
