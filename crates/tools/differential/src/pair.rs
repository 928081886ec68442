//! Two servers under one configuration, kept alive over many scripts and started afresh when a script leaves them apart.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tools_process::ports;
use tools_testbed::{Config, PeerError, Server, Software};

use super::keeper::SUPER_DIGEST;
use super::play::{Addresses, Record, play};
use super::script::{Profile, Script};

/// Enough for scripts; small, so that two of them fit beside everything else.
const HEAP_MB: u32 = 512;

/// The two kinds of server, and where they keep their data.
#[derive(Clone, Debug)]
pub struct Contestants {
    /// The left one.
    pub left: Software,
    /// The right one.
    pub right: Software,
    /// A folder for both.
    pub folder: PathBuf,
    /// How long a server may take to answer.
    pub deadline: Duration,
}

/// Both servers, running.
pub struct Pair {
    contestants: Contestants,
    profile: Profile,
    servers: [(Server, Addresses); 2],
}

impl Pair {
    /// Starts both on empty folders.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn start(contestants: &Contestants, profile: Profile) -> Result<Pair, PeerError> {
        let [left, right] = both(
            || start(&contestants.left, contestants.folder.join("left"), profile),
            || start(&contestants.right, contestants.folder.join("right"), profile),
        );
        Ok(Pair { contestants: contestants.clone(), profile, servers: [left?, right?] })
    }

    /// Starts both again with nothing in them.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn afresh(&mut self) -> Result<(), PeerError> {
        for (server, _) in &mut self.servers {
            server.kill()?;
        }
        *self = Pair::start(&self.contestants, self.profile)?;
        Ok(())
    }

    /// The configuration.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Plays a script on both at the same time. An error of one does not affect the other.
    pub fn play(&self, script: &Script) -> [io::Result<Record>; 2] {
        let deadline = self.contestants.deadline;
        let [left, right] = [self.servers[0].1, self.servers[1].1];
        both(|| play(script, left, deadline), || play(script, right, deadline))
    }

    /// The end of both logs, for a report about a server that stopped answering.
    #[must_use]
    pub fn logs(&self) -> [String; 2] {
        [self.servers[0].0.log_tail(), self.servers[1].0.log_tail()]
    }
}

/// The keys of `zoo.cfg` for a profile, beyond folder and port.
#[must_use]
pub fn keys(profile: Profile) -> Vec<(String, String)> {
    let mut keys = vec![
        // Sessions end when a script ends them: with a long tick none expires on a busy machine.
        ("tickTime", "20000"),
        ("maxClientCnxns", "0"),
        ("4lw.commands.whitelist", "*"),
        ("admin.enableServer", "true"),
        ("admin.serverAddress", "127.0.0.1"),
        ("DigestAuthenticationProvider.superDigest", SUPER_DIGEST),
    ];
    if profile != Profile::Plain {
        keys.extend([
            ("extendedTypesEnabled", "true"),
            ("enforceQuota", "true"),
            ("reconfigEnabled", "true"),
        ]);
    }
    keys.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// One server under a profile's configuration, on an empty folder.
///
/// # Errors
/// It does not start.
pub fn start(
    software: &Software,
    folder: PathBuf,
    profile: Profile,
) -> Result<(Server, Addresses), PeerError> {
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(PeerError::io(&folder))?;
    }
    let [client_port, admin_port] = ports::free().map_err(PeerError::io("a port"))?;
    let mut keys = keys(profile);
    keys.push(("admin.serverPort".to_owned(), admin_port.to_string()));
    // Nothing is reaped behind a script's back.
    let interval_ms = if profile == Profile::Reaping { "100" } else { "2000000000" };
    let reap = format!("znode.container.checkIntervalMs={interval_ms}");
    let flags = match software {
        Software::ZooKeeper(_) => {
            // Thousands of small writes: what is compared does not depend on the disk's patience.
            keys.push(("forceSync".to_owned(), "no".to_owned()));
            // Not a key of `zoo.cfg` there, but a property of the JVM.
            vec![format!("-D{reap}")]
        }
        Software::Diwan(_) => {
            let catch_up = format!("council.watches.catch-up={}", profile == Profile::Full);
            let set = |key: &str| ["-D".to_owned(), key.to_owned()];
            [set(&reap), set(&catch_up), set("metrics.listen=off"), set("node.shards=2")].concat()
        }
    };
    let client = (Ipv4Addr::LOCALHOST, client_port).into();
    let config =
        Config { folder, client, namespace: None, heap_mb: HEAP_MB, keys, flags, environment: Vec::new() };
    let server = Server::start(software, config)?;
    let addresses = Addresses { client: server.address(), admin: (Ipv4Addr::LOCALHOST, admin_port).into() };
    Ok((server, addresses))
}

fn both<T: Send>(left: impl FnOnce() -> T + Send, right: impl FnOnce() -> T + Send) -> [T; 2] {
    thread::scope(|scope| {
        let other = scope.spawn(right);
        let one = left();
        match other.join() {
            Ok(other) => [one, other],
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
