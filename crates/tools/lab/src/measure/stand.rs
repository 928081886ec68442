//! A system under measurement, as running servers: addressed, metered, given faults, and gone when this is dropped,
//! with all that they wrote if their folder is the stand's own.
//!
//! Knows no load.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use council_client::load::{Nodes, Servers};
use tools_testbed::fault::Network;
use tools_testbed::meter::Reading;
use tools_testbed::peer::{LoadProgram, Others, concoord, etcd, hazelcast, redis};
use tools_testbed::{Ensemble, Failure, PeerError, Place, Server, Setting, Software};

use super::{BareServer, System, ensemble, objects};

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
    /// Members did not do what was asked.
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
    One(Box<Server>),
    Members(Box<Ensemble>),
    /// Members whose live objects are measured, with where clients call each.
    Objects(Box<Ensemble>, Vec<SocketAddr>),
    Others(Others),
    Bare(Vec<BareServer>),
    /// Floors under live objects.
    BareHttp(Vec<BareServer>),
    Elsewhere(Servers),
}

/// What loads servers: a client of their protocol.
#[derive(Clone, Debug)]
pub enum Speaks {
    /// ZooKeeper's protocol, which this crate's loads use.
    ZooKeeper(Servers),
    /// HTTP, which live objects are called by; also from here.
    Objects(Vec<String>),
    /// Another protocol, by a program of its own, at these addresses.
    Other(LoadProgram, Vec<String>),
}

/// Running servers.
pub struct Stand {
    running: Running,
    /// What loads them, if it is a client of another making than this crate's.
    load: Option<LoadProgram>,
    network: Option<Network>,
    /// What goes with them.
    folder: Option<PathBuf>,
}

impl From<Server> for Stand {
    fn from(server: Server) -> Self {
        Self { running: Running::One(Box::new(server)), load: None, network: None, folder: None }
    }
}

impl From<Ensemble> for Stand {
    fn from(ensemble: Ensemble) -> Self {
        Self { running: Running::Members(Box::new(ensemble)), load: None, network: None, folder: None }
    }
}

impl From<Vec<BareServer>> for Stand {
    fn from(servers: Vec<BareServer>) -> Self {
        Self { running: Running::Bare(servers), load: None, network: None, folder: None }
    }
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
                members(Software::ZooKeeper(distribution.clone()), setting, folder, &place)?
            }
            System::Diwan { program, .. } => {
                members(Software::Diwan(program.clone()), setting, folder, &place)?
            }
            System::Curator { on, .. } => members(on.clone(), setting, folder, &place)?,
            System::Objects(program) => members_with_objects(program, setting, folder, &place)?,
            System::Etcd(program) => Running::Others(etcd::start(program, setting, folder, &place)?),
            System::ConCoord(package) => Running::Others(concoord::start(package, setting, folder, &place)?),
            System::Hazelcast(recipes) => {
                Running::Others(hazelcast::start(recipes, setting, folder, &place)?)
            }
            System::Redis(package, recipes) => {
                Running::Others(redis::start(package, recipes, setting, folder, &place)?)
            }
            System::BareHttp(program) => {
                let start = |_| BareServer::start(program, "http").map_err(failed("the bare server"));
                Running::BareHttp((0..setting.members()).map(start).collect::<Result<_, _>>()?)
            }
            System::Elsewhere { servers, .. } => Running::Elsewhere(servers.clone()),
        };
        let load = match system {
            System::Curator { load, .. } => Some(load.clone()),
            _ => None,
        };
        Ok(Self { running, load, network, folder: Some(folder.to_owned()) })
    }

    /// What can load them while a fault is done to the servers.
    #[must_use]
    pub fn speaks(&self) -> Speaks {
        match &self.running {
            Running::Others(others) => {
                let clients = others.clients().iter().map(ToString::to_string).collect();
                Speaks::Other(others.load().clone(), clients)
            }
            Running::Objects(..) | Running::BareHttp(_) => {
                Speaks::Objects(self.addresses().iter().map(ToString::to_string).collect())
            }
            Running::Elsewhere(servers) => Speaks::ZooKeeper(servers.clone()),
            _ => match &self.load {
                Some(load) => {
                    let clients = self.addresses().iter().map(ToString::to_string).collect();
                    Speaks::Other(load.clone(), clients)
                }
                None => Speaks::ZooKeeper(self.addresses().into()),
            },
        }
    }

    /// Where clients connect, if the servers are ours.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match &self.running {
            Running::One(server) => vec![server.address()],
            Running::Members(ensemble) => ensemble.servers().map(Server::address).collect(),
            Running::Objects(_, clients) => clients.clone(),
            Running::Others(others) => others.clients().to_vec(),
            Running::Bare(servers) | Running::BareHttp(servers) => {
                servers.iter().map(BareServer::address).collect()
            }
            Running::Elsewhere(_) => Vec::new(),
        }
    }

    /// What all processes have used since they started.
    ///
    /// # Errors
    /// One of them is gone.
    pub fn reading(&self) -> io::Result<Reading> {
        Reading::of_all(&self.pids())
    }

    /// The processes, if they are ours.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        match &self.running {
            Running::One(server) => vec![server.pid()],
            Running::Members(ensemble) | Running::Objects(ensemble, _) => {
                ensemble.servers().map(Server::pid).collect()
            }
            Running::Others(others) => others.pids(),
            Running::Bare(servers) | Running::BareHttp(servers) => {
                servers.iter().map(BareServer::pid).collect()
            }
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
        self.folder.as_deref().map_or(0, of)
    }

    /// The leader's number, counted from 1; waits until there is one.
    ///
    /// # Errors
    /// There is no leader for long.
    pub fn leader(&self) -> Result<usize, StandError> {
        let others = match &self.running {
            Running::Members(ensemble) => return Ok(ensemble.leader_as_asked(&ensemble.all())?),
            Running::Objects(ensemble, _) => return objects::leader(ensemble),
            Running::Others(others) => others,
            _ => return Ok(1),
        };
        let began = Instant::now();
        loop {
            if let Some(leader) = (1..=others.clients().len()).find(|number| others.leads(*number)) {
                return Ok(leader);
            }
            if began.elapsed() > PATIENCE {
                return Err(StandError::Members(format!("no member leads for {PATIENCE:?}")));
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
            Running::Members(ensemble) | Running::Objects(ensemble, _) => Ok(ensemble.kill(number)?),
            Running::Others(others) => Ok(others.kill(number)?),
            _ => Ok(()),
        }
    }

    /// SIGTERM, and until the process has ended.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self, number: usize) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) | Running::Objects(ensemble, _) => Ok(ensemble.stop(number)?),
            Running::Others(others) => Ok(others.stop(number)?),
            _ => Ok(()),
        }
    }

    /// Starts one that is down and waits until it serves.
    ///
    /// # Errors
    /// It does not.
    pub fn restart(&mut self, number: usize) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) => Ok(ensemble.start(number).map(drop)?),
            Running::Objects(ensemble, clients) => {
                ensemble.start(number)?;
                objects::wait_until_ready(&clients[number - 1..number])
            }
            Running::Others(others) => Ok(others.restart(number)?),
            _ => Ok(()),
        }
    }

    /// Stops (SIGSTOP) for so long.
    ///
    /// # Errors
    /// The host could not.
    pub fn pause(&mut self, number: usize, time: Duration) -> Result<(), StandError> {
        match &mut self.running {
            Running::Members(ensemble) | Running::Objects(ensemble, _) => {
                ensemble.pause(number)?;
                // No synchronisation: the length of the stop is what is measured.
                std::thread::sleep(time);
                Ok(ensemble.resume(number)?)
            }
            Running::Others(others) => Ok(others.pause(number, time)?),
            _ => Ok(()),
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
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Members of an ensemble, all serving, whose live objects are ready.
fn members_with_objects(
    program: &Path,
    setting: &Setting,
    folder: &Path,
    place: &Place,
) -> Result<Running, StandError> {
    if setting.observers > 0 {
        return Err(StandError::Missing(String::from("objects have no members without a vote")));
    }
    let (mut ensemble, clients) = objects::ensemble_with_objects(program, setting, folder, place);
    ensemble.start_all()?;
    objects::wait_until_ready(&clients)?;
    Ok(Running::Objects(Box::new(ensemble), clients))
}

/// Members of an ensemble, all serving.
fn members(
    software: Software,
    setting: &Setting,
    folder: &Path,
    place: &Place,
) -> Result<Running, StandError> {
    let mut ensemble = ensemble(software, setting, folder, place, &[("minSessionTimeout", "4000")]);
    ensemble.start_all()?;
    Ok(Running::Members(Box::new(ensemble)))
}
