//! etcd: built once from the Go module proxy together with its load, started, told apart and mistreated.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{LOOK_EVERY, PATIENCE, Setting, StandError, failed};
use crate::ensemble::Place;
use crate::peer::PeerError;

/// The Go module, whole: the binary alone is enough to build it.
const SOURCES: [(&str, &str); 7] = [
    ("go.mod", include_str!("../../etcd/go.mod")),
    ("go.sum", include_str!("../../etcd/go.sum")),
    ("main.go", include_str!("../../etcd/main.go")),
    ("keys.go", include_str!("../../etcd/keys.go")),
    ("mixed.go", include_str!("../../etcd/mixed.go")),
    ("own.go", include_str!("../../etcd/own.go")),
    ("together.go", include_str!("../../etcd/together.go")),
];
const CLIENT_PORT: u16 = 23_790;
const PEER_PORT: u16 = 23_800;
/// etcd refuses writes beyond 2 GB unless told otherwise; 8 GiB is the most that it recommends.
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

struct Member {
    namespace: Option<String>,
    command: Vec<String>,
    client: SocketAddr,
    log: PathBuf,
    child: Child,
    up: bool,
}

/// Running members of one cluster.
pub(super) struct Cluster {
    program: PathBuf,
    members: Vec<Member>,
}

impl Cluster {
    /// Starts all and waits until each serves.
    pub(super) fn start(
        program: &Program,
        setting: &Setting,
        folder: &Path,
        place: &Place,
    ) -> Result<Self, StandError> {
        let client = |number| SocketAddr::new(place.address(number), CLIENT_PORT);
        let peer = |number| format!("http://{}", SocketAddr::new(place.address(number), PEER_PORT));
        let numbers = 1..=setting.servers;
        let all: Vec<_> = numbers.clone().map(|number| format!("m{number}={}", peer(number))).collect();
        let mut members = Vec::new();
        for number in numbers {
            let url = format!("http://{}", client(number));
            let data = folder.join(format!("m{number}"));
            let mut command = vec![
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
                command.push(format!("--snapshot-count={every}"));
            }
            let log = folder.join(format!("m{number}.log"));
            let namespace = place.namespace(number);
            let child = spawn(program.path(), namespace.as_deref(), &command, &log)?;
            members.push(Member { namespace, command, client: client(number), log, child, up: true });
        }
        let mut cluster = Self { program: program.path().to_owned(), members };
        for number in 1..=setting.servers {
            cluster.wait(number)?;
        }
        Ok(cluster)
    }

    pub(super) fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.client.to_string()).collect()
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.child.id()).collect()
    }

    pub(super) fn leads(&self, number: usize) -> bool {
        let member = &self.members[number - 1];
        member.up
            && ask(member.client, "/metrics").is_some_and(|text| text.contains("\netcd_server_is_leader 1"))
    }

    pub(super) fn kill(&mut self, number: usize) -> Result<(), StandError> {
        let member = &mut self.members[number - 1];
        member.up = false;
        member
            .child
            .kill()
            .and_then(|()| member.child.wait().map(drop))
            .map_err(failed("etcd cannot be killed"))
    }

    pub(super) fn stop(&mut self, number: usize) -> Result<(), StandError> {
        self.signal(number, Signal::TERM)?;
        let member = &mut self.members[number - 1];
        member.up = false;
        member.child.wait().map(drop).map_err(failed("etcd cannot be stopped"))
    }

    pub(super) fn restart(&mut self, number: usize) -> Result<(), StandError> {
        let member = &mut self.members[number - 1];
        member.child = spawn(&self.program, member.namespace.as_deref(), &member.command, &member.log)?;
        member.up = true;
        self.wait(number)
    }

    pub(super) fn pause(&mut self, number: usize, time: Duration) -> Result<(), StandError> {
        self.signal(number, Signal::STOP)?;
        // How long it stands still is what is measured.
        std::thread::sleep(time);
        self.signal(number, Signal::CONT)
    }

    fn signal(&self, number: usize, signal: Signal) -> Result<(), StandError> {
        let pid = Pid::from_child(&self.members[number - 1].child);
        kill_process(pid, signal).map_err(|error| failed("etcd cannot be signalled")(error.into()))
    }

    /// Waits until a member serves.
    fn wait(&mut self, number: usize) -> Result<(), StandError> {
        let member = &mut self.members[number - 1];
        let began = Instant::now();
        loop {
            if ask(member.client, "/health").is_some_and(|text| text.contains("\"health\":\"true\"")) {
                return Ok(());
            }
            let ended = matches!(member.child.try_wait(), Ok(Some(_)));
            if ended || began.elapsed() > PATIENCE {
                let log = fs::read_to_string(&member.log).unwrap_or_default();
                let last = log.lines().next_back().unwrap_or("it said nothing");
                return Err(StandError::Members(format!("etcd {number} does not serve: {last}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in &mut self.members {
            // It may be gone already.
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}

fn spawn(
    program: &Path,
    namespace: Option<&str>,
    command: &[String],
    log: &Path,
) -> Result<Child, StandError> {
    let file = File::options().create(true).append(true).open(log).map_err(failed("etcd's log"))?;
    let also = file.try_clone().map_err(failed("etcd's log"))?;
    let mut start = match namespace {
        Some(namespace) => {
            let mut inside = Command::new("ip");
            inside.args(["netns", "exec", namespace]).arg(program);
            inside
        }
        None => Command::new(program),
    };
    start.args(command).stdin(Stdio::null()).stdout(file).stderr(also);
    start.spawn().map_err(failed("etcd cannot be started"))
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
