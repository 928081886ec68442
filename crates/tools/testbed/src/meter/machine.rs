//! The machine of a measurement, in a line or two.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// The machine, as far as it matters to the figures.
#[derive(Clone, Debug)]
pub struct Machine {
    processor: String,
    cores: usize,
    memory_gib: f64,
    kernel: String,
    file_system: String,
    load: String,
}

impl Machine {
    /// Looks at this machine; `data` is where the servers keep their data.
    #[must_use]
    pub fn look(data: &Path) -> Self {
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = field(&memory, "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            processor: field(&cpu, "model name").unwrap_or("unknown processor").to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: kib.unwrap_or_default() / (1 << 20) as f64,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            file_system: file_system(&fs::read_to_string("/proc/mounts").unwrap_or_default(), data),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// Each of its traits by name.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "memory_gib": self.memory_gib,
            "kernel": self.kernel,
            "file_system": self.file_system,
            "load_average_before": self.load,
        })
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { processor, cores, memory_gib, kernel, file_system, load } = self;
        write!(
            f,
            "{processor}, {cores} cores that run servers and load alike, {memory_gib:.0} GiB of memory, \
             Linux {kernel}, data of all servers on one {file_system}; load average before the run {load}"
        )
    }
}

/// The value behind `name :` on a line of its own.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

/// The kind of file system that holds `folder`: that of the longest mount point before it.
fn file_system(mounts: &str, folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let fields = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    fields
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map_or_else(|| "unknown".to_owned(), |(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_point_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp")), "tmpfs");
        assert_eq!(file_system(mounts, Path::new("/srv-that-is-not-there")), "ext4");
        assert_eq!(field("a : 1\nMemTotal:  5 kB\n", "MemTotal"), Some("5 kB"));
    }
}
