//! One server process with its folder: configuration written as `zoo.cfg`, started, waited for, killed, restarted.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::process::{self, CpuTime};
use super::zookeeper::Distribution;
use super::{PeerError, diwan};

/// How long a server may take until it answers: a cold JVM on a busy machine with two cores needs most of it.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// Between two questions to a server that is starting. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much of a log is shown when a start fails.
const LOG_TAIL_LINES: usize = 15;

/// Which program serves.
#[derive(Clone, Debug)]
pub enum Software {
    /// A real Apache ZooKeeper.
    ZooKeeper(Distribution),
    /// Diwan, by the path of its binary.
    Diwan(PathBuf),
}

impl Software {
    /// The name for reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Software::ZooKeeper(_) => "zookeeper",
            Software::Diwan(_) => "diwan",
        }
    }
}

/// How one server is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its folder: holds `zoo.cfg`, `data` and `log`. Made if absent.
    pub folder: PathBuf,
    /// Where clients connect: an address of loopback, or of `namespace`.
    pub client: SocketAddr,
    /// The network namespace the program runs in; none for our own.
    pub namespace: Option<String>,
    /// The heap limit of a JVM, in MiB; Diwan has none.
    pub heap_mb: u32,
    /// Further keys of `zoo.cfg`.
    pub keys: Vec<(String, String)>,
    /// Further arguments: of the JVM for ZooKeeper, of the command line for Diwan.
    pub flags: Vec<String>,
    /// What the program finds in its environment beside what we have in ours.
    pub environment: Vec<(String, OsString)>,
}

impl Config {
    /// Whether it names the servers of an ensemble.
    fn is_member(&self) -> bool {
        self.keys.iter().any(|(key, _)| key.starts_with("server."))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let data = self.folder.join("data");
        let _ = writeln!(text, "dataDir={}", data.display());
        let _ = writeln!(text, "clientPort={}\nclientPortAddress={}", self.client.port(), self.client.ip());
        for (key, value) in &self.keys {
            let _ = writeln!(text, "{key}={value}");
        }
        text
    }
}

/// A running server. Dropping it kills the process.
#[derive(Debug)]
pub struct Server {
    software: Software,
    config: Config,
    child: Child,
}

impl Server {
    /// Writes the configuration, starts the program and waits until it answers.
    ///
    /// # Errors
    /// The files cannot be written, or the program ends or stays silent.
    pub fn start(software: &Software, config: Config) -> Result<Server, PeerError> {
        let mut server = Server::launch(software, config)?;
        server.wait_until_serving()?;
        Ok(server)
    }

    /// Writes the configuration and starts the program: a member of an ensemble may serve only when others are there.
    ///
    /// # Errors
    /// The files cannot be written, or the program cannot be started.
    pub fn launch(software: &Software, config: Config) -> Result<Server, PeerError> {
        let data = config.folder.join("data");
        fs::create_dir_all(&data).map_err(PeerError::io(&data))?;
        let file = config.folder.join("zoo.cfg");
        fs::write(&file, config.text()).map_err(PeerError::io(&file))?;
        let child = spawn(software, &config)?;
        Ok(Server { software: software.clone(), config, child })
    }

    /// SIGKILL, then waits until the process is gone.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self) -> Result<(), PeerError> {
        self.child
            .kill()
            .and_then(|()| self.child.wait())
            .map(drop)
            .map_err(PeerError::io(self.software.name()))
    }

    /// SIGTERM, then waits until the process is gone.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self) -> Result<(), PeerError> {
        self.signal(Signal::TERM)?;
        self.child.wait().map(drop).map_err(PeerError::io(self.software.name()))
    }

    /// Sends any signal.
    ///
    /// # Errors
    /// The host could not.
    pub fn signal(&self, signal: Signal) -> Result<(), PeerError> {
        kill_process(Pid::from_child(&self.child), signal)
            .map_err(io::Error::from)
            .map_err(PeerError::io(self.software.name()))
    }

    /// Starts the program again over the same folder and port; the process must have been killed or stopped.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart(&mut self) -> Result<(), PeerError> {
        self.relaunch()?;
        self.wait_until_serving()
    }

    /// As [`Server::restart`], without waiting until it serves.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn relaunch(&mut self) -> Result<(), PeerError> {
        self.child = spawn(&self.software, &self.config)?;
        Ok(())
    }

    /// As [`Server::restart`], with other keys of `zoo.cfg`.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart_with(&mut self, keys: Vec<(String, String)>) -> Result<(), PeerError> {
        self.config.keys = keys;
        let file = self.config.folder.join("zoo.cfg");
        fs::write(&file, self.config.text()).map_err(PeerError::io(&file))?;
        self.restart()
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.config.client
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The program's name for reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.software.name()
    }

    /// The server's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.config.folder
    }

    /// CPU time since this process started.
    ///
    /// # Errors
    /// The process is gone.
    pub fn cpu_time(&self) -> io::Result<CpuTime> {
        process::cpu_time(self.pid())
    }

    /// Resident memory in bytes.
    ///
    /// # Errors
    /// The process is gone.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        process::resident_bytes(self.pid())
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The last lines of the server's log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let bytes = fs::read(self.config.folder.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    /// Waits until it answers clients.
    ///
    /// # Errors
    /// The program ends or stays silent.
    pub fn wait_until_serving(&mut self) -> Result<(), PeerError> {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.not_serving(format!("it ended with {status}")));
            }
            if word(self.address(), "srvr", LOOK_EVERY * 50).is_ok_and(|answer| answer.contains("Zxid:")) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.not_serving(format!("no answer within {START_DEADLINE:?}")));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn not_serving(&self, why: String) -> PeerError {
        PeerError::NotServing { name: self.name().into(), why, log: self.log_tail() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may be gone already: there is nobody left to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a four-letter word on a connection of its own and returns all that comes back.
///
/// # Errors
/// No connection, or no end of the answer within `deadline`.
pub(crate) fn word(address: SocketAddr, word: &str, deadline: Duration) -> io::Result<String> {
    let mut socket = TcpStream::connect_timeout(&address, deadline)?;
    socket.set_read_timeout(Some(deadline))?;
    socket.write_all(word.as_bytes())?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn spawn(software: &Software, config: &Config) -> Result<Child, PeerError> {
    let file = config.folder.join("zoo.cfg");
    let mut command = match software {
        Software::ZooKeeper(distribution) => {
            let mut command = distribution.command(config.is_member(), config.heap_mb, &config.flags);
            command.arg(&file);
            command
        }
        Software::Diwan(binary) => {
            let mut command = diwan::command(binary, &file);
            command.args(&config.flags);
            command
        }
    };
    if let Some(namespace) = &config.namespace {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", namespace]).arg(command.get_program()).args(command.get_args());
        command = inside;
    }
    command.envs(config.environment.iter().map(|(name, value)| (name, value)));
    let path = config.folder.join("log");
    let log = File::options().create(true).append(true).open(&path).map_err(PeerError::io(&path))?;
    let also = log.try_clone().map_err(PeerError::io(&path))?;
    let name = command.get_program().to_owned();
    command.stdin(Stdio::null()).stdout(log).stderr(also).spawn().map_err(PeerError::io(name))
}
