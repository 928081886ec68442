//! The core's thread from its beginning: it executes what the member's [`MemberLifecycle`] commands. Files, threads and
//! connections are here; in which order they are used is decided there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use consensus_replica::Fault;
use consensus_replica::journal_executor::ExecutorConfig;
use consensus_replica::lifecycle::{
    Claim, Command, DiskContent, Ending, Event, MemberLifecycle, NewMembership, Reason, Reminder, Setup,
};
use net_peers::{Established, PeerConnections};
use node_group::{
    CHUNKS_PER_READ, Inbox, JournalLinks, JournalMail, JournalPort, JournalSettings, SharedJournal, aside,
    ask_others,
};
use node_threads::{Mailbox, spawn};
use objects_replica::{Core, CoreConfig, ObjectsMessage};
use objects_state::guest::Engine;
use objects_state::{Problem, Slug};
use storage_dir_disk::DirDisk;
use storage_raft_log::{Identity, Journal, KeepPolicy};

use crate::config::{Announced, ObjectsConfig};
use crate::core_loop::{CoreLoop, End, Links, ObjectsTurns};
use crate::data::{self, Opened, Unloaded};
use crate::error::{StartError, system};
use crate::shared::{CHANNEL, CoreMail, Shared};

/// Why this member must stop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It could not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its core had a fault.
    #[error(transparent)]
    Core(#[from] Fault),
}

/// See the module.
pub(crate) struct Boot {
    config: ObjectsConfig,
    shared: Arc<Shared>,
    turns: Arc<ObjectsTurns>,
    /// Lent to each core.
    links: Option<Links>,
    peers: Option<PeerConnections>,
    lifecycle: MemberLifecycle,
    /// What commands leave to later ones.
    unloaded: Option<Unloaded>,
    opened: Option<Opened>,
    /// Made when a data directory is open for the first time.
    engine: Option<Arc<dyn Engine>>,
    failure: Option<Failure>,
}

impl Boot {
    /// # Errors
    /// The system has no randomness.
    pub(crate) fn new(
        config: ObjectsConfig,
        shared: Arc<Shared>,
        turns: Arc<ObjectsTurns>,
        links: Links,
        peers: Option<PeerConnections>,
    ) -> Result<Self, StartError> {
        let setup = match &config.group {
            None => Setup::Alone,
            Some(group) => Setup::OneOfSeveral { number: group.own, voters: group.voters() },
        };
        let lifecycle = MemberLifecycle::new(setup, random()?);
        Ok(Self {
            config,
            shared,
            turns,
            links: Some(links),
            peers,
            lifecycle,
            unloaded: None,
            opened: None,
            engine: None,
            failure: None,
        })
    }

    /// Runs until told to stop.
    ///
    /// # Errors
    /// Why this member must stop.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let mut command = Command::Open;
        loop {
            command = match command {
                Command::Stop => return self.failure.map_or(Ok(()), Err),
                Command::AskOthers(claim) => self.ask_others(claim).unwrap_or_else(|error| {
                    let event = self.failed(error.into());
                    self.lifecycle.step(event)
                }),
                command => {
                    let event = self.execute(command).unwrap_or_else(|failure| self.failed(failure));
                    self.lifecycle.step(event)
                }
            };
        }
    }

    fn failed(&mut self, failure: Failure) -> Event {
        let is_damage = matches!(&failure, Failure::Start(error) if error.is_damage());
        self.failure = Some(failure);
        if is_damage { Event::Damaged } else { Event::Failed }
    }

    fn execute(&mut self, command: Command) -> Result<Event, Failure> {
        match command {
            Command::Open => Ok(self.open()?),
            Command::Forget => {
                self.unloaded = None;
                data::forget(&self.config).map_err(Failure::Start)?;
                tracing::info!(
                    "this member's identity among the objects' members, which was never used, is removed: the group begins \
                     anew"
                );
                Ok(Event::Done)
            }
            Command::PutAside(reason) => Ok(self.put_aside(reason)?),
            Command::Write(new) => Ok(self.write(&new)?),
            Command::Load => {
                self.opened = Some(self.load()?);
                Ok(Event::Loaded)
            }
            Command::Run(identity) => self.run_core(identity),
            Command::Restore => unreachable!("no core asks for it"),
            Command::AskOthers(_) | Command::Stop => unreachable!("executed elsewhere"),
        }
    }

    fn open(&mut self) -> Result<Event, StartError> {
        let content = match data::open(&self.config)? {
            Some(unloaded) => {
                let content = unloaded.content();
                self.unloaded = Some(unloaded);
                content
            }
            None => DiskContent::Nothing { had_data: aside::holds_any(&data::directories(&self.config)) },
        };
        Ok(Event::Opened(content))
    }

    /// Loads, which takes long if modules are to be compiled first. Whoever asks for something meanwhile is refused.
    fn load(&mut self) -> Result<Opened, StartError> {
        let unloaded = self.unloaded.take().expect("a directory is open before it is loaded");
        let engine: &Arc<dyn Engine> = self.engine.get_or_insert_with(|| data::engine(&self.config));
        let (links, position) = (self.links.as_ref(), self.shared.standing.position());
        let is_loaded = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(links) = links.filter(|_| !is_loaded.load(Ordering::Acquire)) {
                    links.edges.refuse_all(position, &loading(engine.unfinished()));
                    std::thread::park_timeout(REFUSING);
                }
            });
            let opened = data::load(unloaded, &self.config, engine);
            is_loaded.store(true, Ordering::Release);
            opened
        })
    }

    fn put_aside(&mut self, reason: Reason) -> Result<Event, StartError> {
        // The directory is locked by its journal.
        self.unloaded = None;
        let why = why(reason, self.failure.take());
        let place = aside::put_aside(&data::directories(&self.config), &why, self.shared.clock.now().wall)?;
        tracing::warn!(place = %place.display(), "{why}; this member's objects are put aside, and come from the others");
        Ok(Event::Done)
    }

    fn write(&mut self, new: &NewMembership) -> Result<Event, StartError> {
        let unloaded = data::create(&self.config, new)?;
        let identity = unloaded.identity();
        self.unloaded = Some(unloaded);
        Ok(Event::Written(identity))
    }

    /// Hands what other members say, and the time, to the lifecycle until that has a next command.
    fn ask_others(&mut self, claim: Claim) -> Result<Command, StartError> {
        let (Some(peers), Some(links)) = (&mut self.peers, &self.links) else {
            unreachable!("only a member of several asks others")
        };
        tracing::info!(?claim, "no objects are here: waiting for the other members");
        let mut inbox = JoiningInbox { links, shared: &self.shared };
        let clock = self.shared.clock;
        ask_others::<ObjectsMessage>(&mut self.lifecycle, (peers, CHANNEL), &mut inbox, clock, remind)
            .map_err(system("poll the connections between the objects' members"))
    }

    fn run_core(&mut self, identity: Identity) -> Result<Event, Failure> {
        let opened = self.opened.take().expect("the data is loaded before a core runs");
        if let Some(peers) = &mut self.peers {
            peers.identity().begin_membership(identity.member, identity.cluster);
            peers.begin_anew(true);
        }
        let links = self.links.take().expect("one core runs at a time");
        let Opened { journal, seat, state } = opened;
        let config = self.core_config(identity, links.edges.answers.len());
        let wanted = self.config.group.as_ref().map(|_| self.shared.wanted());
        let core = Core::new(&config, &seat, &state, wanted, random()?, self.shared.clock.now());
        let (journal, thread) = self.start_journal(journal, &links)?;
        let port = JournalPort::new(journal, Arc::clone(&links.to_journal));
        let core = CoreLoop::new((core, state), links, port, Arc::clone(&self.shared), self.peers.take());
        let (core, outcome) = self.turns.run(core);
        let End { ending, links, peers } = core.end();
        self.links = Some(links);
        self.peers = peers;
        let links = self.links.as_ref().expect("it was just put back");
        links.to_journal.put(JournalMail::Stop);
        // A thread that panicked has been reported by the supervisor.
        let _ = thread.join();
        // The next core would take what this one's journal answered for answers to its own questions.
        links.from_journal.take_all(&mut Vec::new());
        links.edges.core_ended();
        links.names.iter().for_each(|names| names.refuse_all());
        let ending = self.ending(outcome.map(|()| ending))?;
        if let Some(peers) = self.peers.as_mut().filter(|_| ending != Ending::Stopped) {
            peers.identity().end_membership();
            peers.begin_anew(false);
        }
        Ok(Event::Ended(ending))
    }

    /// How a core has ended. One whose state is wrong is followed by another.
    fn ending(&mut self, outcome: Result<Ending, Fault>) -> Result<Ending, Failure> {
        match outcome {
            // The others have theirs.
            Err(fault @ Fault::Divergence { .. }) if self.config.group.is_some() => {
                tracing::error!(%fault, "this member's objects are another state than the others': it takes theirs");
                self.failure = Some(fault.into());
                Ok(Ending::Diverged)
            }
            Err(fault @ Fault::Rotten { .. }) => {
                tracing::error!(%fault, "this member's objects in memory have rotted: it reads them from its disk again");
                if let Some(engine) = &self.engine {
                    // Its copies of objects were made from that memory.
                    engine.forget_all();
                }
                Ok(Ending::Rotten)
            }
            outcome => Ok(outcome?),
        }
    }

    fn core_config(&self, identity: Identity, edges: usize) -> CoreConfig {
        let mut config = CoreConfig::new(identity.member, u16::try_from(edges).unwrap_or(u16::MAX));
        config.replica.cluster = identity.cluster;
        config.replica.snapshot_after_bytes = self.config.snapshot_after_bytes;
        config.replica.snapshot_after_commands = self.config.snapshot_after_commands;
        if let Announced::At(address) = &self.config.announced {
            config.serves_at = Some(address.clone());
        }
        if let Some(group) = &self.config.group {
            config.replica.election_tick_ms = group.election_tick_ms;
            config.replica.lease_ms = group.lease_ms;
        }
        config
    }

    fn start_journal(
        &self,
        journal: Journal<DirDisk>,
        links: &Links,
    ) -> Result<(Arc<SharedJournal<DirDisk>>, JoinHandle<()>), StartError> {
        let config = &self.config;
        let settings = JournalSettings {
            log_directory: config.data_dir.join("log"),
            executor: ExecutorConfig {
                snapshot_bytes_per_second: config.snapshot_bytes_per_second,
                chunks_per_read: CHUNKS_PER_READ,
                keep: KeepPolicy { snapshots: config.snapshots_kept.max(1), ..KeepPolicy::default() },
            },
            flush_warning: Duration::from_millis(config.flush_warning_ms),
        };
        let journal_links = JournalLinks {
            mail: Arc::clone(&links.to_journal),
            waker: Arc::clone(&links.journal_waker),
            answers: Arc::clone(&links.from_journal),
            metrics: Arc::clone(&self.shared.journal),
            snapshots: None,
        };
        let shared = SharedJournal::new(journal, settings, journal_links, self.shared.clock);
        let own = Arc::clone(&shared);
        let thread = spawn("objects journal", &self.shared.supervisor, move || own.run().map(drop))
            .map_err(system("start a thread"))?;
        Ok((shared, thread))
    }
}

/// What a member that has no core yet hears from this process.
struct JoiningInbox<'a> {
    links: &'a Links,
    shared: &'a Shared,
}

impl Inbox for JoiningInbox<'_> {
    fn take(&mut self) -> bool {
        self.links.edges.refuse_all(self.shared.standing.position(), &joining());
        self.links.names.iter().for_each(|names| names.refuse_all());
        let mut mail = Vec::new();
        self.links.mail.take_all(&mut mail);
        mail.into_iter().any(|mail| match mail {
            CoreMail::Stop => true,
            CoreMail::StepAside | CoreMail::Members => false,
        })
    }

    fn is_empty(&self) -> bool {
        self.links.mail.is_empty() && !self.links.edges.have_mail()
    }

    fn established(&self) -> &Mailbox<Established> {
        &self.links.established
    }
}

/// How often requests are refused that come while a member loads.
const REFUSING: Duration = Duration::from_millis(20);

/// What a client is told while there is no core yet.
fn joining() -> Problem {
    Problem::new(Slug::NoLeader, "this member waits for the others before it has objects")
}

/// What a client is told while the data is loaded, for which so many versions of types are still to be compiled.
fn loading(versions: usize) -> Problem {
    let detail = match versions {
        0 => String::from("this member loads its objects"),
        versions => {
            format!("this member loads its objects, and compiles {versions} versions of types for that")
        }
    };
    Problem { retry_after_ms: Some(1_000), ..Problem::new(Slug::TypeNotReady, detail) }
}

/// What is written beside data that is put aside.
fn why(reason: Reason, failure: Option<Failure>) -> String {
    match reason {
        Reason::Damaged => {
            let error =
                failure.map_or_else(|| String::from("it cannot be read"), |failure| failure.to_string());
            format!("it was damaged: {error}")
        }
        Reason::Diverged => {
            let fault = failure.map_or_else(String::new, |failure| format!(": {failure}"));
            format!("its state was another than that on which a majority agrees{fault}")
        }
        Reason::Evicted => {
            String::from("a majority of the voters said that this member's number was given to another disk")
        }
        Reason::AnotherEnsemble => String::from("another group came to be than this member was to found"),
        Reason::NothingReceived => String::from(
            "this member was let into the group and received nothing before it ended, or for 20 s",
        ),
    }
}

/// Says what this member waits for, and what to do about it.
fn remind(Reminder { heard, ensembles }: &Reminder) {
    let members: Vec<_> = heard
        .iter()
        .map(|(number, is_member)| format!("{number} ({})", if *is_member { "has objects" } else { "empty" }))
        .collect();
    tracing::warn!(
        heard = members.join(", "),
        groups = ensembles.len(),
        "this member waits for the other members of the objects' group: it begins with a majority of empty members, and an \
         emptied member joins once its leader lets it in; hint: start the other members, with objects switched on"
    );
}

/// From the system.
pub(crate) fn random() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|source| StartError::System { action: "read randomness", source: source.into() })?;
    Ok(bytes)
}

/// A name that nothing else has.
pub(crate) fn name() -> Result<[u8; 16], StartError> {
    let drawn = random()?;
    let (name, _) = drawn.split_first_chunk().expect("32 bytes are more than 16");
    Ok(*name)
}
