//! What the kernel says about a process: CPU time and resident memory, from `/proc`.

use std::fs;
use std::io;
use std::iter::Sum;
use std::time::Duration;

/// The kernel counts CPU time for user space in hundredths of a second on every Linux architecture we run on (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// CPU time of a process with all its threads, since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time in user space.
    pub user: Duration,
    /// Time in the kernel on its behalf.
    pub system: Duration,
}

impl CpuTime {
    /// utime + stime.
    #[must_use]
    pub fn total(self) -> Duration {
        self.user + self.system
    }

    /// What was spent since `earlier`.
    #[must_use]
    pub fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

impl Sum for CpuTime {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            user: sum.user + one.user,
            system: sum.system + one.system,
        })
    }
}

/// CPU time of process `pid`.
///
/// # Errors
/// The process is gone, or `/proc` is not Linux's.
pub fn cpu_time(pid: u32) -> io::Result<CpuTime> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat"))?)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unknown form of /proc/PID/stat"))
}

/// Resident memory of process `pid`, in bytes.
///
/// # Errors
/// The process is gone, or `/proc` is not Linux's.
pub fn resident_bytes(pid: u32) -> io::Result<u64> {
    parse_resident(&fs::read_to_string(format!("/proc/{pid}/status"))?)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unknown form of /proc/PID/status"))
}

/// Bytes that process `pid` caused to be written to disks, since it started.
///
/// # Errors
/// The process is gone, or belongs to another user.
pub fn written_bytes(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io"))?;
    text.lines()
        .find_map(|line| line.strip_prefix("write_bytes:")?.trim().parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unknown form of /proc/PID/io"))
}

/// Whether all threads of process `pid` are stopped.
///
/// # Errors
/// The process is gone.
pub fn is_stopped(pid: u32) -> io::Result<bool> {
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(thread?.path().join("stat"))?;
        let state = stat.rfind(')').and_then(|end| stat[end + 1..].trim_start().chars().next());
        if state != Some('T') {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All processes of a group, in no order.
#[must_use]
pub fn processes_of_group(group: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_in = |pid: &u32| {
        // One that has ended meanwhile is in no group.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        group_of(&stat) == Some(group)
    };
    numbers.filter(is_in).collect()
}

/// The group is field 5.
fn group_of(stat: &str) -> Option<u32> {
    stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// utime and stime are fields 14 and 15; field 2, the program's name, may hold spaces and brackets of its own.
fn parse_stat(stat: &str) -> Option<CpuTime> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u32>().ok().map(|ticks| TICK * ticks);
    Some(CpuTime { user: next()?, system: next()? })
}

fn parse_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let cpu = parse_stat("7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0 9 9 9").unwrap();
        assert_eq!((cpu.user, cpu.system), (Duration::from_millis(1500), Duration::from_millis(250)));
        assert_eq!(cpu.total(), Duration::from_millis(1750));
        assert_eq!(group_of("8 (a) b (c) S 1 7 7 0 -1"), Some(7));
    }

    #[test]
    fn our_own_process_has_memory() {
        assert!(resident_bytes(std::process::id()).unwrap() > 100_000);
        assert!(cpu_time(std::process::id()).is_ok());
        assert!(written_bytes(std::process::id()).is_ok());
    }
}
