//! Redis, the system's own or from Debian's packages: one server that takes writes, and replicas of it. It answers before it has replicated.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::debian;
use super::maven::program;
use super::others::{Member, Others};
use super::recipes::Recipes;
use crate::{Failure, PeerError, Place, Setting};

/// What is fetched: the server, and the libraries that it needs.
const PACKAGES: [&str; 7] =
    ["redis-server", "redis-tools", "libjemalloc2", "liblua5.1-0", "liblzf1", "lua-bitop", "lua-cjson"];
/// Written last.
const STAMP: &str = "unpacked";
const PORT: u16 = 21_840;

/// An installed or unpacked Redis.
#[derive(Clone, Debug)]
pub struct Package {
    server: PathBuf,
    /// Where its libraries are, if it is unpacked.
    libraries: Option<PathBuf>,
}

impl Package {
    /// The one on the path, or the one in `cache`, or through apt if neither is there.
    ///
    /// # Errors
    /// `Missing` if there is no apt, or it has no such packages.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        if let Some(server) = program("redis-server") {
            return Ok(Self { server, libraries: None });
        }
        let folder = cache.join("redis");
        let root = folder.join("root");
        let stamp = folder.join(STAMP);
        if !stamp.exists() {
            debian::unpack("Redis without `redis-server` on the path", &PACKAGES, &folder, &root)?;
            fs::write(&stamp, "").map_err(PeerError::io(&stamp))?;
        }
        let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        Ok(Self { server: root.join("usr/bin/redis-server"), libraries: Some(libraries) })
    }

    /// The release, as it says itself.
    #[must_use]
    pub fn version(&self) -> String {
        let said = self.command().arg("--version").output();
        let text =
            said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
        format!("Redis {}", version.unwrap_or("of unknown release"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.server);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }
}

/// Starts a server and replicas of it, and waits until these have its data.
///
/// # Errors
/// `Missing` if Redis cannot be set up so; otherwise a server does not serve.
pub fn start(
    package: &Package,
    recipes: &Recipes,
    setting: &Setting,
    folder: &Path,
    place: &Place,
) -> Result<Others, Failure> {
    if setting.observers > 0 {
        return Err(Failure::Missing(String::from("it has no observers")));
    }
    let client = |number| SocketAddr::new(place.address(number), PORT);
    let numbers = 1..=setting.servers;
    let mut members = Vec::new();
    for number in numbers.clone() {
        let data = folder.join(format!("m{number}"));
        fs::create_dir_all(&data).map_err(|error| Failure::from(PeerError::io(&data)(error)))?;
        let mut command = package.command();
        let port = PORT.to_string();
        command.args(["--port", &port, "--bind", &place.address(number).to_string(), "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "everysec", "--dir"]).arg(&data);
        if number > 1 {
            command.args(["--replicaof", &place.address(1).to_string(), &port]);
        }
        let (name, log) = (format!("Redis {number}"), folder.join(format!("m{number}.log")));
        members.push(Member::start(name, place.command(number, command), &log)?);
    }
    let mut servers = Others {
        members,
        clients: numbers.clone().map(client).collect(),
        load: recipes.load("Redis", "redis"),
        serves,
        leads: |_, number| number == 1,
    };
    for number in numbers {
        servers.wait(number)?;
    }
    Ok(servers)
}

/// Whether it takes writes, or has the data of the one that does.
fn serves(client: SocketAddr) -> bool {
    let said = ask(client).unwrap_or_default();
    said.contains("role:master") || said.contains("master_link_status:up")
}

fn ask(address: SocketAddr) -> Option<String> {
    let second = Duration::from_secs(1);
    let mut socket = TcpStream::connect_timeout(&address, second).ok()?;
    socket.set_read_timeout(Some(second)).ok()?;
    socket.write_all(b"INFO replication\r\nQUIT\r\n").ok()?;
    let mut text = String::new();
    socket.read_to_string(&mut text).ok()?;
    Some(text)
}
