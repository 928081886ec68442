//! A broker that runs over an empty folder, which goes with it; or several that are one cluster.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use log_client::Cluster;
use tools_testbed::{Broker, BrokerCluster, BrokerConfig, QueueServer};

use super::Contestant;
use crate::measure::{BareServer, StandError};

/// See the module. Dropping it ends the broker and removes its files.
pub struct Stand {
    contestant: Contestant,
    running: Running,
    folder: PathBuf,
    heap_mb: u32,
    /// Whether an ActiveMQ flushes its journal.
    is_flushed: bool,
    pids: Pids,
}

/// The processes of a broker, which change when it is started again.
#[derive(Clone, Debug, Default)]
pub struct Pids(Rc<RefCell<Vec<u32>>>);

impl Pids {
    /// Those that run now.
    #[must_use]
    pub fn now(&self) -> Vec<u32> {
        self.0.borrow().clone()
    }
}

/// Replicas of the topics of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replicas {
    /// Of each partition.
    pub(super) count: i16,
}

impl Replicas {
    /// On that many brokers: one on each of up to three.
    fn on(brokers: usize) -> Self {
        Self { count: i16::try_from(brokers.min(3)).unwrap_or(3) }
    }

    /// The setting of a topic that says how many must have a record, if there are several: all but one.
    pub(super) fn setting(self) -> Option<(&'static str, &'static str)> {
        (self.count >= 3).then_some(("min.insync.replicas", "2"))
    }
}

enum Running {
    Broker(Box<Broker>),
    Cluster(Box<BrokerCluster>),
    Queue(Box<QueueServer>),
    Bare(BareServer),
    /// It runs without us.
    Elsewhere(SocketAddr),
    /// Between the end of the broker and that of the stand.
    Nothing,
}

/// How long the brokers of a cluster may take until each knows all others: three cold JVMs on two cores need most of it.
const JOINED_WITHIN: Duration = Duration::from_secs(120);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> StandError {
    move |source| StandError::Io { what, source }
}

impl Stand {
    /// Starts it, or a cluster of so many, over an empty `folder`, and waits until it serves.
    ///
    /// # Errors
    /// It does not, or no cluster of it can be started here.
    pub fn start(
        contestant: &Contestant,
        brokers: usize,
        heap_mb: u32,
        folder: &Path,
    ) -> Result<Self, StandError> {
        make_empty(folder)?;
        let mut stand = Self {
            contestant: contestant.clone(),
            running: Running::Nothing,
            folder: folder.to_owned(),
            heap_mb,
            is_flushed: false,
            pids: Pids::default(),
        };
        let config = BrokerConfig {
            users: Vec::new(),
            folder: folder.to_owned(),
            heap_mb,
            settings: settings(contestant),
            flags: flags(contestant, heap_mb),
        };
        stand.running = match (contestant.software(), contestant) {
            (Some(software), _) if brokers > 1 => {
                let cluster = BrokerCluster::start(&software, &config, brokers)?;
                joined(&cluster).map_err(failed("the brokers are no cluster"))?;
                Running::Cluster(Box::new(cluster))
            }
            (None, _) if brokers > 1 => {
                return Err(StandError::Missing(String::from("the laboratory starts no cluster of it")));
            }
            (Some(software), _) => Running::Broker(Box::new(Broker::start(&software, &config)?)),
            (None, Contestant::Bare(program)) => {
                let server = BareServer::start(program, "bare").map_err(failed("the bare server"))?;
                Running::Bare(server)
            }
            (None, Contestant::Resting(program)) => {
                let server = BareServer::start(program, "resting").map_err(failed("the bare server"))?;
                Running::Bare(server)
            }
            (None, Contestant::Elsewhere { address, .. }) => Running::Elsewhere(*address),
            (None, _) => stand.queue()?,
        };
        stand.look();
        Ok(stand)
    }

    fn queue(&self) -> Result<Running, StandError> {
        let software = self.contestant.queue_software(self.heap_mb, self.is_flushed);
        let software = software.ok_or_else(|| StandError::Missing(String::from("it is no server")))?;
        Ok(Running::Queue(Box::new(QueueServer::start(&software, &self.folder)?)))
    }

    /// Gives a server of queues the mode that all its messages have. ActiveMQ is started again for another one.
    ///
    /// # Errors
    /// It does not start.
    pub fn be_flushed(&mut self, is_flushed: bool) -> Result<(), StandError> {
        if matches!(self.contestant, Contestant::ActiveMq(_)) && self.is_flushed != is_flushed {
            self.stop()?;
            self.is_flushed = is_flushed;
            self.running = self.queue()?;
            self.look();
        }
        Ok(())
    }

    /// What runs.
    #[must_use]
    pub const fn contestant(&self) -> &Contestant {
        &self.contestant
    }

    /// Where clients connect; of a cluster, with its first broker.
    ///
    /// # Errors
    /// Nothing runs.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.addresses().first().copied().ok_or_else(|| io::Error::other("no broker runs"))
    }

    /// Where clients connect with each broker, in the order of their ids from 1 on.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match &self.running {
            Running::Broker(broker) => vec![broker.address()],
            Running::Cluster(cluster) => cluster.addresses(),
            Running::Queue(server) => vec![server.address()],
            Running::Bare(server) => vec![server.address()],
            Running::Elsewhere(address) => vec![*address],
            Running::Nothing => Vec::new(),
        }
    }

    /// The same as clients are told it: `HOST:PORT,HOST:PORT`.
    ///
    /// # Errors
    /// Nothing runs.
    pub fn bootstrap(&self) -> io::Result<String> {
        self.address()?;
        Ok(bootstrap(&self.addresses()))
    }

    /// Replicas that the topics of its jobs get.
    pub(super) fn replicas(&self) -> Replicas {
        Replicas::on(self.addresses().len())
    }

    /// The processes of the broker, at any time.
    #[must_use]
    pub fn live_pids(&self) -> Pids {
        self.pids.clone()
    }

    /// The processes of the broker.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.pids.now()
    }

    /// Looks which processes run.
    fn look(&self) {
        *self.pids.0.borrow_mut() = match &self.running {
            Running::Broker(broker) => vec![broker.pid()],
            Running::Cluster(cluster) => cluster.pids(),
            Running::Queue(server) => server.pids(),
            Running::Bare(server) => vec![server.pid()],
            Running::Elsewhere(_) | Running::Nothing => Vec::new(),
        };
    }

    /// Files, sockets and pipes that all its processes have open.
    #[must_use]
    pub fn open_files(&self) -> usize {
        let of = |pid: u32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        self.pids().into_iter().map(of).sum()
    }

    /// The folder below which everything of it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes on the disk of all its data, without what it logs about itself.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        fn of(folder: &Path) -> u64 {
            let Ok(entries) = fs::read_dir(folder) else { return 0 };
            let bytes = |entry: fs::DirEntry| match entry.metadata() {
                Ok(data) if data.is_dir() => of(&entry.path()),
                Ok(data) => data.blocks() * 512,
                // It was removed meanwhile.
                Err(_) => 0,
            };
            entries.flatten().map(bytes).sum()
        }
        match &self.running {
            Running::Cluster(cluster) => cluster.data().iter().map(|data| of(data)).sum(),
            _ => of(&self.folder.join("data")),
        }
    }

    /// SIGTERM, and until the broker has ended.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self) -> Result<(), StandError> {
        match &mut self.running {
            Running::Broker(broker) => Ok(broker.stop()?),
            Running::Queue(server) => Ok(server.stop()?),
            _ => Ok(()),
        }
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self) -> Result<(), StandError> {
        self.broker().map_or(Ok(()), |broker| Ok(broker.kill()?))
    }

    /// SIGKILL for one broker of a cluster, by its id.
    ///
    /// # Errors
    /// The host could not, or it is no cluster.
    pub fn kill_one(&mut self, id: i32) -> Result<(), StandError> {
        Ok(self.cluster()?.kill(id)?)
    }

    /// SIGTERM for one broker of a cluster, by its id, and until it has ended.
    ///
    /// # Errors
    /// The host could not, or it is no cluster.
    pub fn stop_one(&mut self, id: i32) -> Result<(), StandError> {
        Ok(self.cluster()?.stop(id)?)
    }

    /// SIGSTOP for one broker of a cluster, by its id.
    ///
    /// # Errors
    /// The host could not, or it is no cluster.
    pub fn pause_one(&mut self, id: i32) -> Result<(), StandError> {
        Ok(self.cluster()?.pause(id)?)
    }

    /// SIGCONT for one broker of a cluster, by its id.
    ///
    /// # Errors
    /// The host could not, or it is no cluster.
    pub fn resume_one(&mut self, id: i32) -> Result<(), StandError> {
        Ok(self.cluster()?.resume(id)?)
    }

    /// Starts one broker of a cluster that was killed or stopped over what it has, and waits until it answers.
    ///
    /// # Errors
    /// It does not, or it is no cluster.
    pub fn restart_one(&mut self, id: i32) -> Result<(), StandError> {
        let started = self.cluster()?.restart(id);
        self.look();
        Ok(started?)
    }

    /// Starts it again over what it has, and waits until it answers.
    ///
    /// # Errors
    /// It does not.
    pub fn restart(&mut self) -> Result<(), StandError> {
        let started = match &mut self.running {
            Running::Broker(broker) => Ok(broker.restart()?),
            Running::Queue(server) => Ok(server.restart()?),
            _ => Ok(()),
        };
        self.look();
        started
    }

    /// Starts it again over what it has, and does not wait.
    ///
    /// # Errors
    /// The host could not.
    pub fn launch_again(&mut self) -> Result<(), StandError> {
        let started = self.broker().map_or(Ok(()), |broker| Ok(broker.launch_again()?));
        self.look();
        started
    }

    /// The end of its log, if it has ended by itself.
    pub fn has_ended(&mut self) -> Option<String> {
        match &mut self.running {
            Running::Broker(broker) => broker.has_ended().then(|| broker.log_tail()),
            Running::Cluster(cluster) => cluster.has_ended(),
            Running::Queue(server) => server.has_ended().then(|| server.log_tail()),
            _ => None,
        }
    }

    fn cluster(&mut self) -> Result<&mut BrokerCluster, StandError> {
        match &mut self.running {
            Running::Cluster(cluster) => Ok(cluster),
            _ => Err(StandError::Missing(String::from("it is no cluster"))),
        }
    }

    fn broker(&mut self) -> Option<&mut Broker> {
        match &mut self.running {
            Running::Broker(broker) => Some(broker),
            _ => None,
        }
    }
}

fn bootstrap(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Waits until each broker of a cluster knows all others: topics get replicas on brokers that are known.
fn joined(cluster: &BrokerCluster) -> io::Result<()> {
    let (addresses, began) = (cluster.addresses(), Instant::now());
    for address in &addresses {
        loop {
            let known = Cluster::connect(&address.to_string(), "diwan-lab").map(|of| of.brokers().len());
            match known {
                Ok(known) if known == addresses.len() => break,
                _ if began.elapsed() < JOINED_WITHIN => thread::sleep(LOOK_EVERY),
                Ok(known) => {
                    let what = format!("{address} knows {known} of {} brokers", addresses.len());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
    Ok(())
}

fn make_empty(folder: &Path) -> Result<(), StandError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed("an old folder cannot be removed"))?;
    }
    fs::create_dir_all(folder).map_err(failed("a folder cannot be made"))
}

/// What a broker is told beside what every one is.
fn settings(contestant: &Contestant) -> Vec<(String, String)> {
    const ALL: &[(&str, &str)] = &[
        ("auto.create.topics.enable", "false"),
        // What a group of an experiment sets itself.
        ("group.consumer.min.heartbeat.interval.ms", "10"),
        ("group.consumer.min.session.timeout.ms", "500"),
    ];
    let own: &[(&str, &str)] = match contestant {
        // Topics that a load deleted make room soon.
        Contestant::Kafka(_) => &[("log.segment.delete.delay.ms", "1000")],
        // The laboratory says who leads.
        _ => &[("diwan.balance", "off")],
    };
    ALL.iter().chain(own).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// How Kafka's own script starts its JVM.
fn flags(contestant: &Contestant, heap_mb: u32) -> Vec<String> {
    let least = format!("-Xms{heap_mb}m");
    let flags: &[&str] = match contestant {
        Contestant::Kafka(_) => &[
            &least,
            "-XX:+UseG1GC",
            "-XX:MaxGCPauseMillis=20",
            "-XX:InitiatingHeapOccupancyPercent=35",
            "-XX:+ExplicitGCInvokesConcurrent",
        ],
        _ => &[],
    };
    flags.iter().map(ToString::to_string).collect()
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.running = Running::Nothing;
        // What cannot be removed stays in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_as_many_as_brokers_and_two_of_three_must_have_a_record() {
        assert_eq!((Replicas::on(1).count, Replicas::on(1).setting()), (1, None));
        assert_eq!((Replicas::on(3).count, Replicas::on(5).count), (3, 3));
        assert_eq!(Replicas::on(3).setting(), Some(("min.insync.replicas", "2")));
    }
}
