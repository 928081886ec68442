//! A broker that runs over an empty folder, which goes with it.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tools_testbed::{Broker, BrokerConfig, QueueServer};

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

enum Running {
    Broker(Box<Broker>),
    Queue(Box<QueueServer>),
    Bare(BareServer),
    /// It runs without us.
    Elsewhere(SocketAddr),
    /// Between the end of the broker and that of the stand.
    Nothing,
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> StandError {
    move |source| StandError::Io { what, source }
}

impl Stand {
    /// Starts it over an empty `folder`, and waits until it serves.
    ///
    /// # Errors
    /// It does not.
    pub fn start(contestant: &Contestant, heap_mb: u32, folder: &Path) -> Result<Self, StandError> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed("an old folder cannot be removed"))?;
        }
        fs::create_dir_all(folder).map_err(failed("a folder cannot be made"))?;
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
            flags: flags(contestant),
        };
        stand.running = match (contestant.software(), contestant) {
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

    /// Where clients connect.
    ///
    /// # Errors
    /// Nothing runs.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match &self.running {
            Running::Broker(broker) => Ok(broker.address()),
            Running::Queue(server) => Ok(server.address()),
            Running::Bare(server) => Ok(server.address()),
            Running::Elsewhere(address) => Ok(*address),
            Running::Nothing => Err(io::Error::other("no broker runs")),
        }
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
        of(&self.folder.join("data"))
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
            Running::Queue(server) => server.has_ended().then(|| server.log_tail()),
            _ => None,
        }
    }

    fn broker(&mut self) -> Option<&mut Broker> {
        match &mut self.running {
            Running::Broker(broker) => Some(broker),
            _ => None,
        }
    }
}

/// What a broker is told beside what every one is.
fn settings(contestant: &Contestant) -> Vec<(String, String)> {
    let keys: &[(&str, &str)] = match contestant {
        // Topics that a load deleted make room soon.
        Contestant::Kafka(_) => {
            &[("log.segment.delete.delay.ms", "1000"), ("auto.create.topics.enable", "false")]
        }
        _ => &[("auto.create.topics.enable", "false")],
    };
    keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// How Kafka's own script starts its JVM.
fn flags(contestant: &Contestant) -> Vec<String> {
    let flags: &[&str] = match contestant {
        Contestant::Kafka(_) => &[
            "-Xms1g",
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
