//! Where a run takes place: which contestants there are, how they are set up, where their data lies.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use council_client::load::{Load, Measured, Mix, Nodes, Pace, Patience};
use tools_process::ports;
use tools_testbed::meter::Machine;
use tools_testbed::peer::{default_cache, diwan};
use tools_testbed::{Config, Ensemble, PeerError, Place, Server, Setting, Software};

use super::floor::Kind;
use super::options::Scale;
use super::{Failure, Options, PEER, Row, Sheet, Who, probe};
use crate::measure::{
    BareServer, First, Meters, Phase, Sources, Stand, Turns, between_edges, ensemble, keys_of_every_server,
    raise_open_files,
};

/// The phase that a row measures.
const LOAD: &str = "load";
/// ZooKeeper's heap, MiB.
pub(super) const HEAP_MB: u32 = 2048;
/// Keys under which no snapshot is taken but those at a start. 0, which its documentation names for no limit of the
/// size, ends ZooKeeper 3.9.5 by a division by zero.
pub(super) const NO_SNAPSHOTS: [(&str, &str); 2] =
    [("snapCount", "2000000000"), ("snapSizeLimitInKb", "1000000000")];

/// A run's surroundings.
pub struct Bench {
    pub(super) options: Options,
    zookeeper: Option<Software>,
    diwan: Option<Software>,
    floor: PathBuf,
    folder: PathBuf,
    pub(super) machine: Machine,
}

impl Bench {
    /// Finds the contestants; `floor` is the program whose `floor` command is the bare server.
    ///
    /// # Errors
    /// A contestant that is asked for is missing.
    pub fn new(options: Options, floor: PathBuf) -> Result<Self, PeerError> {
        let path = || options.diwan_path.clone().map_or_else(diwan::find, Ok);
        let sources = Sources {
            diwan: if options.diwan { path()? } else { PathBuf::new() },
            other: None,
            cache: options.cache.clone().unwrap_or_else(default_cache),
            addresses: Vec::new(),
            brokers: Vec::new(),
        };
        let found = |takes_part: bool, name: &str| match takes_part {
            true => sources.find(name).map(|system| system.software()),
            false => Ok(None),
        };
        let zookeeper = found(options.zookeeper, "zookeeper")?;
        let diwan = found(options.diwan, "diwan")?;
        let parent = options.data.clone().unwrap_or_else(std::env::temp_dir);
        let folder = parent.join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|source| PeerError::Io { what: folder.clone(), source })?;
        let machine = Machine::look(&folder);
        raise_open_files();
        Ok(Self { options, zookeeper, diwan, floor, folder, machine })
    }

    /// Measures a row.
    ///
    /// # Errors
    /// A server or a connection failed.
    pub fn measure(&self, row: &Row) -> Result<Sheet, Failure> {
        let mut sheet = Sheet::new(row.figures);
        let measured = (row.run)(self, &mut sheet);
        self.clear()?;
        measured.map(|()| sheet)
    }

    /// How much of everything.
    pub(super) fn scale(&self) -> &Scale {
        &self.options.scale
    }

    /// The contestants that take part, without the floor.
    pub(super) fn servers(&self) -> Vec<Who> {
        let present = |who: &Who| self.software(*who).is_some();
        Who::ALL.into_iter().filter(present).collect()
    }

    /// Whether the contestant takes part.
    pub(super) fn has(&self, who: Who) -> bool {
        who == Who::Floor || self.software(who).is_some()
    }

    fn software(&self, who: Who) -> Option<&Software> {
        match who {
            Who::Peer => self.zookeeper.as_ref(),
            Who::Diwan => self.diwan.as_ref(),
            Who::Floor => None,
        }
    }

    /// The folder of one server's files.
    pub(super) fn folder(&self, who: Who) -> PathBuf {
        self.folder.join(who.name(PEER).to_lowercase())
    }

    /// The folder that holds all servers' files.
    pub(super) fn disk(&self) -> &Path {
        &self.folder
    }

    /// Removes what servers left.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        fs::remove_dir_all(&self.folder)?;
        Ok(fs::create_dir_all(&self.folder)?)
    }

    /// A server over an empty folder, with further keys of `zoo.cfg`.
    pub(super) fn fresh(&self, who: Who, keys: &[(&str, &str)]) -> Result<Server, Failure> {
        let folder = self.folder(who);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        self.over(who, HEAP_MB, keys)
    }

    /// A server over the present content of its folder.
    pub(super) fn over(&self, who: Who, heap_mb: u32, keys: &[(&str, &str)]) -> Result<Server, Failure> {
        let software = self.software(who).ok_or_else(|| Failure(format!("no {}", who.name(PEER))))?;
        let [client_port] = ports::free()?;
        let config = Config {
            folder: self.folder(who),
            client: (Ipv4Addr::LOCALHOST, client_port).into(),
            namespace: None,
            heap_mb,
            flags: Vec::new(),
            keys: keys_of_every_server(keys),
            environment: Vec::new(),
        };
        Ok(Server::start(software, config)?)
    }

    /// A bare server.
    fn floor(&self, kind: Kind) -> Result<BareServer, Failure> {
        Ok(BareServer::start(&self.floor, kind.name())?)
    }

    /// Members of one ensemble over empty folders, none of them started, with further keys of `zoo.cfg`.
    pub(super) fn members(
        &self,
        who: Who,
        members: usize,
        heap_mb: u32,
        keys: &[(&str, &str)],
    ) -> Result<Ensemble, Failure> {
        let folder = self.folder(who);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let software = self.software(who).ok_or_else(|| Failure(format!("no {}", who.name(PEER))))?.clone();
        let setting = Setting { heap_mb, ..Setting::of(members) };
        Ok(ensemble(software, &setting, &folder, &Place::loopback(), keys))
    }

    /// As [`Self::members`], all serving.
    pub(super) fn ensemble(
        &self,
        who: Who,
        members: usize,
        heap_mb: u32,
        keys: &[(&str, &str)],
    ) -> Result<Ensemble, Failure> {
        let mut ensemble = self.members(who, members, heap_mb, keys)?;
        ensemble.start_all()?;
        Ok(ensemble)
    }

    /// All contestants with so many servers, fresh, each with its nodes, and as many bare ones if `floor` says which.
    pub(super) fn all(
        &self,
        servers: usize,
        nodes: Nodes,
        floor: Option<Kind>,
    ) -> Result<Vec<(Who, Stand)>, Failure> {
        let mut started = Vec::new();
        for who in self.servers() {
            let stand: Stand = match servers {
                1 => self.fresh(who, &[])?.into(),
                _ => self.ensemble(who, servers, HEAP_MB, &[])?.into(),
            };
            council_client::load::prepare(stand.addresses()[0], nodes)?;
            started.push((who, stand));
        }
        if let Some(kind) = floor {
            let floor: Result<Vec<_>, _> = (0..servers).map(|_| self.floor(kind)).collect();
            started.push((Who::Floor, floor?.into()));
        }
        Ok(started)
    }

    /// A load on 1 KiB values.
    pub(super) fn load(&self, on: &Stand, connections: usize, pace: Pace, mix: Mix) -> Load {
        Load {
            servers: on.addresses().into(),
            connections,
            pace,
            mix,
            nodes: self.few_kib(),
            seed: 1,
            checks: false,
        }
    }

    /// The small tree with values of 1 KiB.
    pub(super) fn few_kib(&self) -> Nodes {
        Nodes { count: self.scale().few, value_bytes: 1024 }
    }

    /// Warms a fresh server up: what a JVM has not compiled yet says nothing.
    pub(super) fn warm_up(&self, load: &Load) -> Result<(), Failure> {
        council_client::load::run(load, std::time::Duration::ZERO, self.scale().first_warm_up, || {})?;
        Ok(())
    }

    /// Runs a load, and gives the servers' CPU time an operation, microseconds, beside what the load saw.
    pub(super) fn run(&self, on: &Stand, load: &Load) -> Result<(Phase, f64), Failure> {
        let (mut meters, mut gone) = (Meters::default(), None);
        let Scale { warm_up, measure, .. } = *self.scale();
        let edges = &mut |edge, phase: &str| match on.reading() {
            Ok(reading) => meters.edge(edge, phase, reading),
            Err(error) => gone = Some(error),
        };
        let measured = between_edges(load, (warm_up, measure), &Patience::default(), LOAD, edges)?;
        if let Some(error) = gone {
            return Err(error.into());
        }
        if measured.operations == 0 || measured.errors > 0 {
            let Measured { operations, errors, .. } = measured;
            return Err(Failure(format!("{operations} operations were answered well, {errors} with errors")));
        }
        let phase = Phase::of(LOAD, &measured);
        let spent = meters.spent([LOAD].into_iter());
        let each = phase.each(spent.cpu.as_secs_f64() * 1e6);
        Ok((phase, each))
    }

    /// Says what is going on, on standard error.
    pub(super) fn say(&self, text: &str) {
        eprintln!("  {text}");
    }

    /// Each repeat, each of `who` in turn, on a disk that has finished the work of the one before.
    pub(super) fn in_turn<T>(
        &self,
        among: &mut [T],
        mut turn: impl FnMut(&mut T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let repeats = u32::try_from(self.options.repeats).unwrap_or(u32::MAX);
        let turns = Turns { first: First::Same, repetitions: repeats };
        for repeat in turns.repetitions() {
            let began = Instant::now();
            for place in turns.order(repeat, among.len()) {
                if !probe::settle(&self.folder)? {
                    self.say("the disk is busy with something else: tails and durable writes may suffer");
                }
                turn(&mut among[place])?;
            }
            let took = began.elapsed().as_secs_f64();
            self.say(&format!("repeat {repeat} of {repeats}: {took:.1} s"));
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Data of servers that are gone: what cannot be removed stays in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The keys for a restart.
pub(super) fn keys(further: &[(&str, &str)]) -> Vec<(String, String)> {
    keys_of_every_server(further)
}
