//! Processor time of a process's threads, by their names, in nanoseconds as the kernel's scheduler counts them. Knows no
//! server's threads.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// By a thread's name: nanoseconds since it began.
pub(super) type ByName = BTreeMap<String, u64>;

/// Of all threads of a process; those of one name together.
pub(super) fn of_process(pid: u32) -> io::Result<ByName> {
    let mut all = ByName::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let folder = thread?.path();
        let read = |name| fs::read_to_string(folder.join(name));
        // One that has just ended spends nothing any more.
        let (Ok(name), Ok(schedule)) = (read("comm"), read("schedstat")) else { continue };
        *all.entry(name.trim().to_owned()).or_default() += running(&schedule)?;
    }
    Ok(all)
}

/// Of the thread that asks.
pub(super) fn of_this() -> io::Result<u64> {
    running(&fs::read_to_string("/proc/thread-self/schedstat")?)
}

/// The first of three numbers is for how long it ran.
fn running(schedule: &str) -> io::Result<u64> {
    let first = schedule.split(' ').next().and_then(|number| number.parse().ok());
    first.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unknown form of schedstat"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_thread_is_one_of_this_process() {
        // The kernel counts what a thread has run now and then: it runs until that is so.
        let own = std::iter::repeat_with(|| super::of_this().unwrap()).find(|own| *own > 0).unwrap();
        let all: u64 = super::of_process(std::process::id()).unwrap().values().sum();
        assert!(all >= own);
        assert!(super::running("nothing").is_err());
    }
}
