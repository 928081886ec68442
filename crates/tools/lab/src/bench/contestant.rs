//! Who is measured, and a running one of them.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use tools_process::Group;
use tools_testbed::meter::{self, CpuTime};
use tools_testbed::{Ensemble, Server};

use super::Failure;
use super::floor::Kind;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A real Apache ZooKeeper.
    ZooKeeper,
    /// Diwan.
    Diwan,
    /// What nobody can beat: a bare server or a bare disk.
    Floor,
}

impl Who {
    /// All, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::ZooKeeper, Self::Diwan, Self::Floor];

    /// The name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ZooKeeper => "ZooKeeper",
            Self::Diwan => "Diwan",
            Self::Floor => "floor",
        }
    }
}

/// Running servers that are one contestant. Dropping it ends the processes.
pub(super) enum Contestant {
    Peer(Box<Server>),
    Ensemble(Ensemble),
    Floor(Vec<FloorServer>),
}

impl Contestant {
    /// Where clients connect.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Peer(server) => vec![server.address()],
            Self::Ensemble(ensemble) => ensemble.servers().map(Server::address).collect(),
            Self::Floor(servers) => servers.iter().map(|server| server.address).collect(),
        }
    }

    /// CPU time of all its processes.
    pub(super) fn cpu_time(&self) -> io::Result<CpuTime> {
        match self {
            Self::Peer(server) => server.cpu_time(),
            Self::Ensemble(ensemble) => ensemble.servers().map(Server::cpu_time).sum(),
            Self::Floor(servers) => servers.iter().map(|server| meter::cpu_time(server.process.id())).sum(),
        }
    }
}

/// A bare server in a process of its own, so that the kernel counts its CPU time apart from the load's.
pub(super) struct FloorServer {
    process: Group,
    address: SocketAddr,
}

impl FloorServer {
    /// Starts `program floor KIND`, which prints its address.
    pub(super) fn start(program: &Path, kind: Kind) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(["floor", kind.name(), "127.0.0.1:0"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Group::spawn(&mut command).map_err(|error| Failure(error.to_string()))?;
        let mut line = String::new();
        if let Some(output) = process.take_stdout() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = line.trim().parse().map_err(|_| {
            Failure(format!("`{} floor` said `{}`, not its address", program.display(), line.trim()))
        })?;
        Ok(Self { process, address })
    }
}
