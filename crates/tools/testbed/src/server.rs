//! One server process with its folder: configuration written as `zoo.cfg`, started, waited for, killed, restarted.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tools_process::Service;

use crate::PeerError;
use crate::meter::{self, CpuTime};
use crate::peer::diwan;
use crate::peer::zookeeper::Distribution;
use crate::place::within;

/// How long a server may take until it answers: a cold JVM on a busy machine with two cores needs most of it.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// How long a server may take to answer whether it serves.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_secs(1);

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
    /// Further variables of the program's environment.
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
    service: Service,
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
        let (command, log) = (command(software, &config), config.folder.join("log"));
        let service = Service::start(software.name(), command, &log)?;
        Ok(Server { software: software.clone(), config, service })
    }

    /// SIGKILL, then waits until the process is gone.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self) -> Result<(), PeerError> {
        Ok(self.service.kill()?)
    }

    /// SIGTERM, then waits until the process is gone.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self) -> Result<(), PeerError> {
        Ok(self.service.stop()?)
    }

    /// Sends SIGSTOP, then waits until all its threads are stopped.
    ///
    /// # Errors
    /// The host could not.
    pub fn pause(&mut self) -> Result<(), PeerError> {
        Ok(self.service.pause()?)
    }

    /// SIGCONT.
    ///
    /// # Errors
    /// The host could not.
    pub fn resume(&mut self) -> Result<(), PeerError> {
        Ok(self.service.resume()?)
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
        Ok(self.service.start_again()?)
    }

    /// As [`Server::restart`], with other keys of `zoo.cfg`.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart_with(&mut self, keys: Vec<(String, String)>) -> Result<(), PeerError> {
        self.config.keys = keys;
        let file = self.config.folder.join("zoo.cfg");
        fs::write(&file, self.config.text()).map_err(PeerError::io(&file))?;
        self.service.set_command(command(&self.software, &self.config));
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
        self.service.id()
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
        meter::cpu_time(self.pid())
    }

    /// Resident memory in bytes.
    ///
    /// # Errors
    /// The process is gone.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        meter::resident_bytes(self.pid())
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.service.has_ended()
    }

    /// The last lines of the server's log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.service.log_tail()
    }

    /// Whether it answers clients now.
    #[must_use]
    pub fn serves(&self) -> bool {
        serves(self.address())
    }

    /// Waits until it answers clients.
    ///
    /// # Errors
    /// The program ends or stays silent.
    pub fn wait_until_serving(&mut self) -> Result<(), PeerError> {
        let address = self.address();
        Ok(self.service.wait_until(START_DEADLINE, || serves(address))?)
    }
}

/// Whether the server at that address serves requests: it answers other four-letter words earlier.
pub(crate) fn serves(address: SocketAddr) -> bool {
    word(address, "srvr", ANSWER_DEADLINE).is_ok_and(|answer| answer.contains("Zxid:"))
}

/// Sends a four-letter word on a connection of its own and returns all that comes back.
///
/// # Errors
/// No connection, or no end of the answer within `deadline`.
pub fn word(address: SocketAddr, word: &str, deadline: Duration) -> io::Result<String> {
    let mut socket = TcpStream::connect_timeout(&address, deadline)?;
    socket.set_read_timeout(Some(deadline))?;
    socket.write_all(word.as_bytes())?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What starts it.
fn command(software: &Software, config: &Config) -> Command {
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
    command.envs(config.environment.iter().map(|(name, value)| (name, value)));
    within(config.namespace.as_deref(), command)
}
