//! A system under measurement, as running servers: started over empty folders, asked to do a task, metered, mistreated,
//! and gone with everything that they wrote when this is dropped.
//!
//! Knows no experiment.

mod system;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use council_client::load::{Nodes, Patience, Servers};
use tools_testbed::fault::Network;
use tools_testbed::meter::Edges;
use tools_testbed::peer::{LoadProgram, Others, concoord, etcd};
use tools_testbed::{Ensemble, Failure, PeerError, Place, Server, Setting, Software, word};

pub use system::{Sources, System, named_addresses};

use crate::task::{self, Outcome, Task, driver};

/// How long an ensemble may be without a leader.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum StandError {
    /// A server could not be started, or ended.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// This machine lacks something that servers are to have.
    #[error("{0}")]
    Missing(String),
    /// Members did not do what they were told to.
    #[error("{0}")]
    Members(String),
    /// A file, a process or a connection failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// Why it could not.
        source: io::Error,
    },
}

impl From<Failure> for StandError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Missing(what) => Self::Missing(what),
            other => Self::Members(other.to_string()),
        }
    }
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> StandError {
    move |source| StandError::Io { what, source }
}

enum Running {
    Members(Box<Ensemble>),
    Others(Others),
    Elsewhere(Servers),
}

/// Running servers.
pub struct Stand {
    running: Running,
    network: Option<Network>,
    folder: PathBuf,
}

impl Stand {
    /// Starts them over an empty `folder`, and waits until all serve.
    ///
    /// # Errors
    /// They do not.
    pub fn start(system: &System, setting: &Setting, folder: &Path) -> Result<Self, StandError> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed("an old folder cannot be removed"))?;
        }
        fs::create_dir_all(folder).map_err(failed("a folder cannot be made"))?;
        let is_ours = !matches!(system, System::Elsewhere { .. });
        let network = (setting.can_be_cut && is_ours).then(|| Network::lay(setting.members())).transpose()?;
        let place = network.as_ref().map_or_else(Place::loopback, Network::place);
        let running = match system {
            System::ZooKeeper(distribution) => {
                Running::Members(members(Software::ZooKeeper(distribution.clone()), setting, folder, &place)?)
            }
            System::Diwan { program, .. } => {
                Running::Members(members(Software::Diwan(program.clone()), setting, folder, &place)?)
            }
            System::Etcd(program) => Running::Others(etcd::start(program, setting, folder, &place)?),
            System::ConCoord(package) => Running::Others(concoord::start(package, setting, folder, &place)?),
            System::Elsewhere { servers, .. } => Running::Elsewhere(servers.clone()),
        };
        Ok(Self { running, network, folder: folder.to_owned() })
    }

    /// Who can perform tasks here, while something is done to the servers.
    #[must_use]
    pub fn performer(&self) -> Performer {
        match &self.running {
            Running::Members(ensemble) => {
                let addresses: Vec<_> = ensemble.servers().map(Server::address).collect();
                Performer::ZooKeeper(addresses.into())
            }
            Running::Others(others) => {
                let clients = others.clients().iter().map(ToString::to_string).collect();
                Performer::Driver(others.load().clone(), clients)
            }
            Running::Elsewhere(servers) => Performer::ZooKeeper(servers.clone()),
        }
    }

    /// The processes, where they are ours.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        match &self.running {
            Running::Members(ensemble) => ensemble.servers().map(Server::pid).collect(),
            Running::Others(others) => others.pids(),
            Running::Elsewhere(_) => Vec::new(),
        }
    }

    /// Whether anything can be done to the servers.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        !matches!(self.running, Running::Elsewhere(_))
    }

    /// Takes away what an earlier load left on servers that are not ours, if nodes are to be made from the first on.
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub fn clear_if_foreign(&self, from: u32) -> Result<(), StandError> {
        let (Running::Elsewhere(servers), 0) = (&self.running, from) else { return Ok(()) };
        let members = |error: council_client::Error| StandError::Members(error.to_string());
        let client = servers.options().connect(&servers.connect_string(0));
        let client = client.map_err(|error| StandError::Members(error.to_string()))?;
        let children = |path: &str| match client.children(path).wait() {
            Err(error) if error.is(council_client::ErrorCode::NoNode) => Ok(Vec::new()),
            other => other.map_err(members),
        };
        for group in children(Nodes::PARENT)? {
            let group = format!("{}/{group}", Nodes::PARENT);
            let nodes: Vec<_> =
                children(&group)?.iter().map(|node| client.delete(&format!("{group}/{node}"), -1)).collect();
            // What cannot be removed shows when nodes are made.
            nodes.into_iter().for_each(|node| drop(node.wait()));
            let _ = client.delete(&group, -1).wait();
        }
        let _ = client.delete(Nodes::PARENT, -1).wait();
        Ok(())
    }

    /// Bytes of all files that the servers keep.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        fn of(folder: &Path) -> u64 {
            let Ok(entries) = fs::read_dir(folder) else { return 0 };
            let bytes = |entry: fs::DirEntry| match entry.metadata() {
                Ok(data) if data.is_dir() => of(&entry.path()),
                Ok(data) => std::os::unix::fs::MetadataExt::blocks(&data) * 512,
                // It was removed meanwhile.
                Err(_) => 0,
            };
            entries.flatten().map(bytes).sum()
        }
        of(&self.folder)
    }

    /// The number of whoever leads, counted from 1; waits until somebody does.
    ///
    /// # Errors
    /// Nobody does for long.
    pub fn leader(&self) -> Result<usize, StandError> {
        let began = Instant::now();
        loop {
            let leads = |number: &usize| match &self.running {
                Running::Members(ensemble) if ensemble.is_up(*number) => {
                    let answer = word(ensemble.address(*number), "srvr", Duration::from_secs(1));
                    answer.is_ok_and(|text| ["leader", "standalone"].iter().any(|mode| text.contains(mode)))
                }
                Running::Others(others) => others.leads(*number),
                _ => false,
            };
            if let Some(leader) = (1..=self.pids().len()).find(leads) {
                return Ok(leader);
            }
            if began.elapsed() > PATIENCE {
                return Err(StandError::Members(format!("nobody leads for {PATIENCE:?}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self, number: usize) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) => Ok(ensemble.kill(number)?),
            Running::Others(others) => Ok(others.kill(number)?),
            Running::Elsewhere(_) => Ok(()),
        }
    }

    /// SIGTERM, and until the process has ended.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self, number: usize) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) => Ok(ensemble.stop(number)?),
            Running::Others(others) => Ok(others.stop(number)?),
            Running::Elsewhere(_) => Ok(()),
        }
    }

    /// Starts one that is down and waits until it serves.
    ///
    /// # Errors
    /// It does not.
    pub fn restart(&mut self, number: usize) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) => Ok(ensemble.start(number).map(drop)?),
            Running::Others(others) => Ok(others.restart(number)?),
            Running::Elsewhere(_) => Ok(()),
        }
    }

    /// Stands still for so long.
    ///
    /// # Errors
    /// The host could not.
    pub fn pause(&mut self, number: usize, time: Duration) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) => {
                ensemble.pause(number)?;
                // How long it stands still is what is measured.
                std::thread::sleep(time);
                Ok(ensemble.resume(number)?)
            }
            Running::Others(others) => Ok(others.pause(number, time)?),
            Running::Elsewhere(_) => Ok(()),
        }
    }
}

impl Stand {
    /// For so long no packet gets between one and the others, while clients reach all.
    pub fn cut_off(&self, number: usize, time: Duration) {
        if let Some(network) = &self.network {
            network.cut_off(number);
            // How long it is cut off is what is measured.
            std::thread::sleep(time);
            network.mend(number);
        }
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.running = Running::Elsewhere(Servers::default());
        // Data of servers that are gone: what cannot be removed stays in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Who performs tasks on servers, knowing nothing of them but where they are.
#[derive(Clone, Debug)]
pub enum Performer {
    /// The driver here.
    ZooKeeper(Servers),
    /// A driver that is a program of its own.
    Driver(LoadProgram, Vec<String>),
}

impl Performer {
    /// Performs a task; `only` names the one server that clients are to use.
    ///
    /// # Errors
    /// A connection failed, or a server was silent for too long.
    pub fn perform(
        &self,
        task: &Task,
        only: Option<usize>,
        patience: &Patience,
        edges: &mut Edges<'_>,
    ) -> io::Result<Outcome> {
        let patience = &Patience { silence: Duration::from_millis(task.patience_ms), ..patience.clone() };
        match self {
            Self::ZooKeeper(servers) => {
                let one = only.and_then(|number| servers.only(number - 1));
                task::perform(task, one.as_ref().unwrap_or(servers), patience, edges)
            }
            Self::Driver(load, endpoints) => {
                let one = only.and_then(|number| endpoints.get(number - 1)).map(std::slice::from_ref);
                driver::perform(load, task, one.unwrap_or(endpoints).to_vec(), patience, edges)
            }
        }
    }

    /// Whether the load runs in this process.
    #[must_use]
    pub const fn is_here(&self) -> bool {
        matches!(self, Self::ZooKeeper(_))
    }
}

/// Members of an ensemble, all serving.
fn members(
    software: Software,
    setting: &Setting,
    folder: &Path,
    place: &Place,
) -> Result<Box<Ensemble>, StandError> {
    let mut keys = vec![
        ("maxSessionTimeout", String::from("600000")),
        ("minSessionTimeout", String::from("4000")),
        ("initLimit", String::from("10")),
        ("syncLimit", String::from("5")),
    ];
    let is_diwan = matches!(software, Software::Diwan(_));
    if is_diwan {
        keys.retain(|(key, _)| !["initLimit", "syncLimit"].contains(key));
    }
    if let Some(every) = setting.snapshot_every {
        keys.push(("snapCount", every.to_string()));
    }
    let keys: Vec<_> = keys.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let flags: Vec<_> = match is_diwan {
        true => ["-D", "metrics.listen=off"].map(String::from).to_vec(),
        false => Vec::new(),
    };
    let count = setting.servers + setting.observers;
    let ensemble = Ensemble::of(software, folder, count, place, &keys, &flags);
    let mut ensemble = ensemble.with_heap(setting.heap_mb).with_observers(setting.observers);
    ensemble.start_all()?;
    Ok(Box::new(ensemble))
}
