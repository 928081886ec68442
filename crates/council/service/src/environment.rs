//! The process's surroundings, under the names that ZooKeeper shows them by. What only a Java machine has is there
//! as `<NA>`, the way ZooKeeper itself shows what is missing.

use std::collections::BTreeMap;
use std::{env, fs, path};

use crate::version::version;
use node_metrics::process;

/// Names and values, in ZooKeeper's order.
pub(crate) fn environment() -> Vec<(&'static str, String)> {
    let missing = || String::from("<NA>");
    let file = |path: &str| fs::read_to_string(path).map(|text| String::from(text.trim())).ok();
    let variable = |name: &str| env::var(name).ok();
    let megabytes = |bytes: u64| format!("{}MB", bytes >> 20);
    let (free, total) = process::machine_memory().unwrap_or((0, 0));
    let (used, _) = process::memory().unwrap_or((0, 0));
    let user = variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(missing);
    vec![
        ("zookeeper.version", String::from(version())),
        ("host.name", file("/proc/sys/kernel/hostname").unwrap_or_else(|| String::from("localhost"))),
        ("java.version", missing()),
        ("java.vendor", missing()),
        ("java.home", missing()),
        ("java.class.path", missing()),
        ("java.library.path", missing()),
        ("java.io.tmpdir", env::temp_dir().display().to_string()),
        ("java.compiler", missing()),
        ("os.name", String::from(if cfg!(target_os = "linux") { "Linux" } else { env::consts::OS })),
        ("os.arch", String::from(if cfg!(target_arch = "x86_64") { "amd64" } else { env::consts::ARCH })),
        ("os.version", file("/proc/sys/kernel/osrelease").unwrap_or_else(missing)),
        ("user.name", user),
        ("user.home", variable("HOME").unwrap_or_else(missing)),
        ("user.dir", env::current_dir().map_or_else(|_| missing(), |path| path.display().to_string())),
        ("os.memory.free", megabytes(free)),
        ("os.memory.max", megabytes(total)),
        ("os.memory.total", megabytes(used)),
    ]
}

/// What is around the process under the names of Java's system properties, and the settings that were given: those with
/// ZooKeeper's names as ZooKeeper makes properties of them, by name.
pub(crate) fn properties(settings: &[(String, String)]) -> Vec<(String, String)> {
    let around = environment().into_iter().filter(|(name, value)| {
        let shown = ["os.name", "os.arch", "os.version", "java.io.tmpdir"].contains(name);
        (shown || name.starts_with("user.")) && value != "<NA>"
    });
    let own =
        [("file.separator", path::MAIN_SEPARATOR_STR), ("line.separator", "\n"), ("path.separator", ":")];
    let mut all: BTreeMap<String, String> = around.map(|(name, value)| (String::from(name), value)).collect();
    all.extend(own.map(|(name, value)| (String::from(name), String::from(value))));
    all.extend(settings.iter().cloned());
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_in_order_and_settings_among_them() {
        let given = [(String::from("zookeeper.skipACL"), String::from("no"))];
        let shown = properties(&given);
        assert!(shown.is_sorted() && shown.contains(&given[0]));
        assert!(shown.iter().any(|(name, value)| name == "user.dir" && value.starts_with('/')));
        assert!(shown.iter().all(|(_, value)| value != "<NA>"));
    }
}
