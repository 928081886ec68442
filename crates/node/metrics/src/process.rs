//! What the system knows of this process, from `/proc`. Figures that cannot be read are left out.

use std::fs;

use crate::sample::Sample;

/// Descriptors open now.
pub fn open_descriptors() -> Option<u64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}

/// Descriptors that may be open.
pub fn descriptors_max() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// Resident and virtual memory in bytes.
pub fn memory() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Some((field("VmRSS:")? * 1024, field("VmSize:")? * 1024))
}

/// Seconds of processor time, user and system together.
pub fn cpu_seconds() -> Option<f64> {
    Some(stat_seconds(11)? + stat_seconds(12)?)
}

/// When this process began, seconds since 1970.
pub fn start_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + stat_seconds(19)?)
}

/// A time among this process's figures. The kernel counts in hundredths.
fn stat_seconds(place: usize) -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in brackets, may hold anything.
    let ticks: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(place)?.parse().ok()?;
    Some(ticks / 100.0)
}

/// The machine's memory in bytes: free for use, and all of it.
pub fn machine_memory() -> Option<(u64, u64)> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Some((field("MemAvailable:")? * 1024, field("MemTotal:")? * 1024))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells() {
        assert!(open_descriptors().is_some_and(|open| open >= 3));
        assert!(descriptors_max().is_some_and(|max| max >= 3));
        assert!(memory().is_some_and(|(resident, all)| 0 < resident && resident <= all));
        assert!(cpu_seconds().is_some_and(|seconds| seconds >= 0.0));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        assert!(start_seconds().is_some_and(|start| 0.0 < start && start <= now.as_secs_f64() + 1.0));
        assert!(machine_memory().is_some_and(|(free, all)| free <= all));
    }
}
/// The figures of every process: its build, its processor time, its memory, its descriptors.
#[must_use]
pub fn samples() -> Vec<Sample> {
    let build = Sample::gauge("diwan_build_info", "Which build runs: always 1", 1);
    let mut list = vec![build.labelled("version", env!("CARGO_PKG_VERSION"))];
    if let Some(seconds) = cpu_seconds() {
        list.push(Sample::fraction("process_cpu_seconds_total", "Processor time, seconds", seconds));
    }
    if let Some(seconds) = start_seconds() {
        list.push(Sample::fraction(
            "process_start_time_seconds",
            "When it began, seconds since 1970",
            seconds,
        ));
    }
    if let Some((resident, all)) = memory() {
        list.push(Sample::gauge("process_resident_memory_bytes", "Resident memory", whole(resident)));
        list.push(Sample::gauge("process_virtual_memory_bytes", "Virtual memory", whole(all)));
    }
    if let (Some(open), Some(max)) = (open_descriptors(), descriptors_max()) {
        list.push(Sample::gauge("process_open_fds", "Descriptors open", whole(open)));
        list.push(Sample::gauge("process_max_fds", "Descriptors that may be open", whole(max)));
    }
    list
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
