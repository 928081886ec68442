//! The core's thread from its beginning: it executes what the member's [`MemberLifecycle`] commands. Files, threads and
//! connections are here; in which order they are used is decided there.

use node_threads::{Mailbox, ThreadWaker};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use consensus_replica::Fault;
use consensus_replica::journal_executor::ExecutorConfig;
use consensus_replica::lifecycle::{
    Claim, Command, DiskContent, Ending, Event, MemberLifecycle, NewMembership, Reason, Setup,
};
use council_frontend::FromCore;
use council_replica::{Core, CouncilMessage};
use council_tree::Tree;
use parking_lot::RwLock;
use storage_raft_log::{Identity, Journal};

use crate::config::{EnsembleConfig, ServerConfig};
use crate::core_loop::{CoreLinks, CoreLoop, CouncilTurns, End, Started};
use crate::disk::DirDisk;
use crate::error::StartError;
use crate::introspection::Introspection;
use crate::join::{self, CoreInbox};
use crate::messages::ShardMail;
use crate::peers::CHANNEL;
use crate::recovery::{self, Opened, Unloaded};
use crate::restore::Restoration;
use crate::{config_mapping, random, restore};
use net_peers::{LocalIdentity, PeerConnections};
use node_group::{
    CHUNKS_PER_READ, JournalLinks, JournalMail, JournalSettings, SharedJournal, SnapshotNews, aside,
    ask_others,
};
use node_threads::{Supervisor, spawn};

type OwnJournal = Arc<SharedJournal<DirDisk>>;

/// What the core's thread begins with.
pub(crate) struct Parts {
    pub(crate) overview: Arc<Introspection>,
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) links: CoreLinks,
    pub(crate) journal: Arc<Mailbox<JournalMail>>,
    pub(crate) journal_waker: Arc<ThreadWaker>,
    pub(crate) turns: Arc<CouncilTurns>,
    pub(crate) peers: Option<(PeerConnections, Arc<LocalIdentity>)>,
}

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
    overview: Arc<Introspection>,
    supervisor: Arc<Supervisor>,
    journal: Arc<Mailbox<JournalMail>>,
    journal_waker: Arc<ThreadWaker>,
    turns: Arc<CouncilTurns>,
    /// Lent to each core.
    links: Option<CoreLinks>,
    peers: Option<(PeerConnections, Arc<LocalIdentity>)>,
    lifecycle: MemberLifecycle,
    /// What commands leave to later ones.
    unloaded: Option<Unloaded>,
    opened: Option<Opened>,
    restoration: Option<Restoration>,
    failure: Option<Failure>,
}

impl Boot {
    /// # Errors
    /// The system has no randomness.
    pub(crate) fn new(parts: Parts) -> Result<Self, StartError> {
        let Parts { overview, supervisor, links, journal, journal_waker, turns, peers } = parts;
        let lifecycle = MemberLifecycle::new(setup(&overview.config), random::bytes()?);
        Ok(Self {
            overview,
            supervisor,
            journal,
            journal_waker,
            turns,
            links: Some(links),
            peers,
            lifecycle,
            unloaded: None,
            opened: None,
            restoration: None,
            failure: None,
        })
    }

    /// Runs until told to stop.
    ///
    /// # Errors
    /// Why the server must stop.
    pub(crate) fn run(mut self, started: &Started) -> Result<(), Failure> {
        let mut command = Command::Open;
        loop {
            command = match command {
                Command::Stop => return report(self.failure, started),
                Command::AskOthers(claim) => match self.ask_others(claim) {
                    Ok(command) => command,
                    Err(error) => {
                        let event = self.failed(error.into());
                        self.lifecycle.step(event)
                    }
                },
                command => {
                    let done = self.execute(command, started);
                    let event = done.unwrap_or_else(|failure| self.failed(failure));
                    self.lifecycle.step(event)
                }
            };
        }
    }

    fn failed(&mut self, failure: Failure) -> Event {
        let is_damage = matches!(&failure, Failure::Start(error) if recovery::is_damage(error));
        self.failure = Some(failure);
        if is_damage { Event::Damaged } else { Event::Failed }
    }

    fn execute(&mut self, command: Command, started: &Started) -> Result<Event, Failure> {
        let storage = &self.overview.config.storage;
        match command {
            Command::Open => Ok(self.open()?),
            Command::Forget => {
                self.unloaded = None;
                recovery::forget(storage)?;
                tracing::info!(
                    "this member's identity, which was never used, is removed: the ensemble begins anew"
                );
                Ok(Event::Done)
            }
            Command::PutAside(reason) => Ok(self.put_aside(reason)?),
            Command::Write(new) => Ok(self.write(&new)?),
            Command::Load => Ok(self.load()?),
            Command::Run(identity) => self.run_core(identity, started),
            Command::Restore => Ok(self.restore()),
            Command::AskOthers(_) | Command::Stop => unreachable!("executed elsewhere"),
        }
    }

    fn ensemble(&self) -> Option<&EnsembleConfig> {
        self.overview.config.ensemble.as_ref()
    }

    fn open(&mut self) -> Result<Event, StartError> {
        let storage = &self.overview.config.storage;
        restore::clear_up(&storage.data_dir);
        let content = match recovery::open(storage, self.ensemble())? {
            Some(unloaded) => {
                let content = unloaded.content();
                self.unloaded = Some(unloaded);
                content
            }
            None => DiskContent::Nothing { had_data: aside::holds_any(&storage.directories()) },
        };
        Ok(Event::Opened(content))
    }

    fn put_aside(&mut self, reason: Reason) -> Result<Event, StartError> {
        // The directory is locked by its journal.
        self.unloaded = None;
        let (why, level) = why(reason, self.failure.take());
        let overview = &self.overview;
        let directories = overview.config.storage.directories();
        let place = aside::put_aside(&directories, &why, overview.clock.now().wall)?;
        let place = place.display();
        match level {
            Level::Error => {
                tracing::error!(%place, "{why}; this member's data is put aside, to be looked at")
            }
            Level::Warn => tracing::warn!(%place, "{why}; this member's data is put aside"),
        }
        Ok(Event::Done)
    }

    fn write(&mut self, new: &NewMembership) -> Result<Event, StartError> {
        let unloaded = recovery::create(&self.overview.config.storage, self.ensemble(), new)?;
        let identity = unloaded.identity();
        self.unloaded = Some(unloaded);
        Ok(Event::Written(identity))
    }

    fn load(&mut self) -> Result<Event, StartError> {
        let unloaded = self.unloaded.take().expect("a directory is open before it is loaded");
        let config = &self.overview.config;
        let (ensemble, history_bytes_max) = (config.ensemble.as_ref(), config.beyond.history_bytes_max);
        self.opened = Some(recovery::load(unloaded, ensemble, history_bytes_max, self.overview.clock)?);
        Ok(Event::Loaded)
    }

    /// Hands what other members say, and the time, to the lifecycle until that has a next command.
    fn ask_others(&mut self, claim: Claim) -> Result<Command, StartError> {
        let config = &self.overview.config;
        let (Some((switchboard, _)), Some(ensemble), Some(links)) =
            (&mut self.peers, &config.ensemble, &self.links)
        else {
            unreachable!("only a member of an ensemble asks others")
        };
        if let Claim::Unconfirmed(_) = claim {
            tracing::info!(
                "the ensemble that this member was to found has not come into being: asking whether there is another"
            );
        } else {
            tracing::info!(
                member = ensemble.number.0,
                voters = ?ensemble.roster().participants(),
                "the data directory is empty: waiting for the other members"
            );
        }
        ask_others::<CouncilMessage>(
            &mut self.lifecycle,
            (switchboard, CHANNEL),
            &mut CoreInbox(links),
            self.overview.clock,
            join::remind,
        )
        .map_err(|source| StartError::System { action: "poll the members' connections", source })
    }

    fn run_core(&mut self, identity: Identity, started: &Started) -> Result<Event, Failure> {
        let opened = self.opened.take().expect("the data is loaded before a core runs");
        if let Some((switchboard, local)) = &mut self.peers {
            local.begin_membership(identity.member, identity.cluster);
            switchboard.begin_anew(true);
            tracing::info!(number = local.number.0, id = identity.member.0, "this member has its identity");
        }
        let (core, journal, journal_thread) = self.furnish(opened)?;
        let overview = &self.overview;
        let (peers, local) = self.peers.take().unzip();
        let metrics = (Arc::clone(&overview.core_metrics), Arc::clone(&overview.leadership));
        let (standing, clock) = (Arc::clone(&overview.standing), overview.clock);
        let links = self.links.take().expect("one core runs at a time");
        let core = CoreLoop::new(core, (links, journal), metrics, standing, clock, peers, started.clone());
        let (core, outcome) = self.turns.run(core);
        self.journal.put(JournalMail::Stop);
        // A thread that panicked has been reported by the supervisor.
        let _ = journal_thread.join();
        outcome?;
        let End { ending, links, peers, restoration } = core.end();
        // The next core would take what this one's journal answered for answers to its own questions.
        links.from_journal.take_all(&mut Vec::new());
        (self.links, self.restoration) = (Some(links), restoration);
        self.peers = peers.zip(local);
        if let Some((switchboard, local)) = self.peers.as_mut().filter(|_| ending != Ending::Stopped) {
            local.end_membership();
            switchboard.begin_anew(false);
        }
        Ok(Event::Ended(ending))
    }

    /// Replaces all data by the tree that was sent, and cuts every client off: what the last core was asked and has not
    /// answered, no core will.
    fn restore(&mut self) -> Event {
        let Restoration { tree, done } = self.restoration.take().expect("a core has ended for it");
        let overview = &self.overview;
        let before = overview.tree.read();
        let zxid = before.last_zxid();
        let outcome = restore::put(&overview.config.storage, tree, &before, overview.clock.now().wall);
        drop(before);
        for shard in self.links.iter().flat_map(|links| &links.to_shards) {
            shard.put(FromCore::TreeReplaced { zxid });
        }
        match &outcome {
            Ok(zxid) => {
                tracing::warn!(
                    zxid = zxid.0,
                    "a snapshot was restored by command: all that was there before is gone"
                );
            }
            Err(error) => {
                tracing::error!(%error, "nothing was restored; the server goes on with what it had")
            }
        }
        // Whoever asked may have given up.
        let _ = done.send(outcome);
        Event::Done
    }

    /// The core, and beside it the journal's thread.
    fn furnish(&self, opened: Opened) -> Result<(Core, OwnJournal, JoinHandle<()>), StartError> {
        let overview = &self.overview;
        let (config, clock) = (&overview.config, overview.clock);
        let opened_us = clock.mono_us();
        let shards = u16::try_from(overview.shards.len()).unwrap_or(u16::MAX);
        let core_config = config_mapping::core(config, opened.journal.identity(), shards);
        let core = Core::new(&core_config, &opened.seat, &opened.tree, random::bytes()?, clock.now());
        drop(overview.tree.write().replace(opened.tree));
        if let Some((saved, seconds)) = opened.snapshot {
            *overview.first_snapshot.lock() = Some((saved.zxid, seconds));
            overview.snapshots.saved(saved.index, saved.zxid.0);
        }
        self.remember(&opened.history);
        let (journal, thread) = self.start_journal(opened.journal)?;
        let figures = crate::counters::StartFigures {
            log_load_ms: opened.figures.log_load_ms + (clock.mono_us() - opened_us) / 1000,
            total_ms: clock.mono_us() / 1000,
            ..opened.figures
        };
        let _ = overview.start.set(figures);
        tracing::info!(
            snapshot_ms = figures.snapshot_load_ms,
            log_ms = figures.log_load_ms,
            entries = figures.entries_loaded,
            "the data is loaded"
        );
        Ok((core, journal, thread))
    }

    /// Tells the shards what lately changed, before anything new does.
    fn remember(&self, history: &council_frontend::History) {
        let (sender, heard) = channel();
        for shard in &self.overview.shards {
            let (history, sender) = (history.clone(), sender.clone());
            shard.put(ShardMail::Ask(Box::new(move |front| {
                front.remember(history);
                let _ = sender.send(());
            })));
        }
        drop(sender);
        for _ in &self.overview.shards {
            // A shard that has ended needs no history.
            let _ = heard.recv_timeout(Duration::from_secs(10));
        }
    }

    fn start_journal(&self, journal: Journal<DirDisk>) -> Result<(OwnJournal, JoinHandle<()>), StartError> {
        let overview = &self.overview;
        let storage = &overview.config.storage;
        let settings = JournalSettings {
            log_directory: storage.log_dir.as_ref().unwrap_or(&storage.data_dir).join("log"),
            executor: ExecutorConfig {
                snapshot_bytes_per_second: storage.snapshot_bytes_per_second,
                chunks_per_read: CHUNKS_PER_READ,
                keep: recovery::keep(storage),
            },
            flush_warning: Duration::from_millis(u64::from(storage.flush_warning_ms)),
        };
        let links = JournalLinks {
            mail: Arc::clone(&self.journal),
            waker: Arc::clone(&self.journal_waker),
            answers: Arc::clone(&self.links.as_ref().expect("no core runs yet").from_journal),
            metrics: Arc::clone(&overview.journal_metrics),
            snapshots: Some(Arc::clone(&overview.snapshots) as Arc<dyn SnapshotNews>),
        };
        let shared = SharedJournal::new(journal, settings, links, overview.clock);
        let own = Arc::clone(&shared);
        let run = move || own.run().map(drop);
        let thread = spawn("journal", &self.supervisor, run)
            .map_err(|source| StartError::System { action: "start a thread", source })?;
        Ok((shared, thread))
    }
}

enum Level {
    Warn,
    Error,
}

/// What is written beside data that is put aside, and how loud an operator is told.
fn why(reason: Reason, failure: Option<Failure>) -> (String, Level) {
    let text = match reason {
        Reason::Damaged => {
            let error =
                failure.map_or_else(|| String::from("it cannot be read"), |failure| failure.to_string());
            return (format!("it was damaged: {error}"), Level::Error);
        }
        Reason::Evicted => {
            "a majority of the voters said that this member's number was given to another disk"
        }
        Reason::Diverged => "its state was another than that on which a majority agrees",
        Reason::AnotherEnsemble => "another ensemble came to be than this member was to found",
        Reason::NothingReceived => {
            "this member was let into an ensemble and received nothing before it ended, or for 20 s"
        }
    };
    (text.to_owned(), Level::Warn)
}

/// Tells whoever waits for the start why this member stops; if nobody does any more, the caller.
fn report(failure: Option<Failure>, started: &Started) -> Result<(), Failure> {
    match failure {
        None => Ok(()),
        Some(Failure::Start(error)) => match started.send(Err(error)) {
            Ok(()) => Ok(()),
            Err(unheard) => unheard.0.map_err(Failure::Start),
        },
        Some(failure) => Err(failure),
    }
}

fn setup(config: &ServerConfig) -> Setup {
    match &config.ensemble {
        None => Setup::Alone,
        Some(ensemble) => {
            Setup::OneOfSeveral { number: ensemble.number, voters: ensemble.roster().participants() }
        }
    }
}

/// The tree that all threads share before any data is loaded.
pub(crate) fn empty_tree() -> Arc<RwLock<Tree>> {
    Arc::new(RwLock::new(Tree::new()))
}
