//! Who is measured, and a running one of them.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::Failure;
use super::floor::Kind;
use crate::ensemble::Ensemble;
use crate::peer::Server;
use crate::peer::process::{self, CpuTime};

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
            Self::Floor(servers) => servers.iter().map(|server| process::cpu_time(server.child.id())).sum(),
        }
    }
}

/// A bare server in a process of its own, so that the kernel counts its CPU time apart from the load's.
pub(super) struct FloorServer {
    child: Child,
    address: SocketAddr,
}

impl FloorServer {
    /// Starts `program floor KIND`, which prints its address.
    pub(super) fn start(program: &Path, kind: Kind) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(["floor", kind.name(), "127.0.0.1:0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.trim().parse() {
            Ok(address) => Ok(Self { child, address }),
            Err(_) => {
                // It is of no use without its address.
                let _ = child.kill();
                let _ = child.wait();
                Err(Failure(format!("`{} floor` said `{}`, not its address", program.display(), line.trim())))
            }
        }
    }
}

impl Drop for FloorServer {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
