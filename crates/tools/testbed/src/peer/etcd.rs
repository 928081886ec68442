//! etcd: built once from the Go module proxy together with its load, started and identified.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::others::{LoadProgram, Member, Others};
use crate::{Failure, PeerError, Place, Setting};

/// The Go module, whole: the binary alone is enough to build it.
const SOURCES: [(&str, &str); 8] = [
    ("go.mod", include_str!("../../peers/etcd/go.mod")),
    ("go.sum", include_str!("../../peers/etcd/go.sum")),
    ("main.go", include_str!("../../peers/etcd/main.go")),
    ("keys.go", include_str!("../../peers/etcd/keys.go")),
    ("mixed.go", include_str!("../../peers/etcd/mixed.go")),
    ("own.go", include_str!("../../peers/etcd/own.go")),
    ("recipes.go", include_str!("../../peers/etcd/recipes.go")),
    ("together.go", include_str!("../../peers/etcd/together.go")),
];
const CLIENT_PORT: u16 = 23_790;
const PEER_PORT: u16 = 23_800;
/// etcd refuses writes beyond 2 GB by default; 8 GiB is the most that it recommends.
const QUOTA: &str = "8589934592";

/// The program that is both etcd and the load for it.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

impl Program {
    /// From `cache`, or built if it is not there yet or of another source.
    ///
    /// # Errors
    /// `Missing` if there is no Go, or it cannot fetch or build.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        let folder = cache.join("etcd");
        let (program, stamp) = (folder.join("etcd"), folder.join("built"));
        let source = SOURCES.map(|(name, text)| format!("// {name}\n{text}")).concat();
        if program.is_file() && fs::read_to_string(&stamp).is_ok_and(|built| built == source) {
            return Ok(Self(program));
        }
        fs::create_dir_all(&folder).map_err(PeerError::io(&folder))?;
        for (name, text) in SOURCES {
            let path = folder.join(name);
            fs::write(&path, text).map_err(PeerError::io(path))?;
        }
        let output = Command::new("go")
            .args(["build", "-o", "etcd", "."])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                PeerError::Missing(format!("`go` cannot be run: {error}; etcd needs Go 1.26 or later"))
            })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.trim().lines().next_back().unwrap_or("no output").to_owned();
            return Err(PeerError::Missing(format!("Go could not build etcd: {last}")));
        }
        fs::write(&stamp, source).map_err(PeerError::io(stamp))?;
        Ok(Self(program))
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The release of etcd's server.
    #[must_use]
    pub fn version(&self) -> String {
        let line = SOURCES[0].1.lines().find(|line| line.contains("etcd/server/v3"));
        format!("etcd {}", line.and_then(|line| line.split_whitespace().last()).unwrap_or("unknown"))
    }
}

/// Starts all members of a cluster and waits until each serves.
///
/// # Errors
/// `Missing` if etcd cannot be set up so; otherwise a member does not serve.
#[expect(clippy::too_many_lines, reason = "the command line of a member, option by option")]
pub fn start(program: &Program, setting: &Setting, folder: &Path, place: &Place) -> Result<Others, Failure> {
    if setting.observers > 0 {
        return Err(Failure::Missing(String::from("it has no observers")));
    }
    let client = |number| SocketAddr::new(place.address(number), CLIENT_PORT);
    let peer = |number| format!("http://{}", SocketAddr::new(place.address(number), PEER_PORT));
    let numbers = 1..=setting.servers;
    let all: Vec<_> = numbers.clone().map(|number| format!("m{number}={}", peer(number))).collect();
    let mut members = Vec::new();
    for number in numbers.clone() {
        let url = format!("http://{}", client(number));
        let data = folder.join(format!("m{number}"));
        let mut arguments = vec![
            String::from("server"),
            format!("--name=m{number}"),
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls={url}"),
            format!("--advertise-client-urls={url}"),
            format!("--listen-peer-urls={}", peer(number)),
            format!("--initial-advertise-peer-urls={}", peer(number)),
            format!("--initial-cluster={}", all.join(",")),
            String::from("--initial-cluster-state=new"),
            format!("--quota-backend-bytes={QUOTA}"),
            String::from("--log-level=error"),
        ];
        if let Some(every) = setting.snapshot_every {
            arguments.push(format!("--snapshot-count={every}"));
        }
        let mut command = Command::new(program.path());
        command.args(arguments);
        let (name, log) = (format!("etcd {number}"), folder.join(format!("m{number}.log")));
        members.push(Member::start(name, place.command(number, command), &log)?);
    }
    let mut cluster = Others {
        members,
        clients: numbers.clone().map(client).collect(),
        load: LoadProgram::new("etcd", program.path(), &["drive"]),
        serves,
        leads,
    };
    for number in numbers {
        cluster.wait(number)?;
    }
    Ok(cluster)
}

fn serves(client: SocketAddr) -> bool {
    ask(client, "/health").is_some_and(|text| text.contains("\"health\":\"true\""))
}

fn leads(cluster: &Others, number: usize) -> bool {
    let answer = || ask(cluster.client(number), "/metrics");
    cluster.is_up(number) && answer().is_some_and(|text| text.contains("\netcd_server_is_leader 1"))
}

/// What a member answers to a GET; nothing if it does not.
fn ask(address: SocketAddr, path: &str) -> Option<String> {
    let second = Duration::from_secs(1);
    let mut socket = TcpStream::connect_timeout(&address, second).ok()?;
    socket.set_read_timeout(Some(second)).ok()?;
    write!(socket, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    socket.read_to_string(&mut text).ok()?;
    Some(text)
}
