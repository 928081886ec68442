//! The process's surroundings, under the names that ZooKeeper shows them by. What only a Java machine has is there
//! as `<NA>`, the way ZooKeeper itself shows what is missing.

use std::{env, fs};

use crate::metrics::process;
use crate::version::version;

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
