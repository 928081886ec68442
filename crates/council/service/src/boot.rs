//! The core's thread from its beginning: it takes the member's seat, loads the data, starts the journal beside it, and
//! runs the core.

use node_threads::{Doorbell, Mailbox};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use council_frontend::FromCore;
use council_replica::founding::{Cluster, Outcome};
use council_replica::journal_executor::ExecutorConfig;
use council_replica::{Core, Tenure};
use council_tree::Tree;
use parking_lot::RwLock;
use storage_raft_log::{Identity, Journal};

use crate::aside;
use crate::core_loop::{CoreLinks, CoreLoop, Ending, Reason};
use crate::disk::DirDisk;
use crate::error::StartError;
use crate::journal_loop::{CHUNKS_PER_READ, JournalLinks, JournalLoop, JournalMail, JournalSettings};
use crate::net::shard::ShardMail;
use crate::overview::Overview;
use crate::peers::credentials::Badge;
use crate::peers::seat::{self, Claim};
use crate::peers::switchboard::Switchboard;
use crate::recovery::{self, Found, NewSeat, Opened};
use crate::restore::Restoration;
use crate::{random, restore, settings};
use node_threads::{Supervisor, spawn};

/// What the core's thread begins with.
pub(crate) struct Boot {
    pub(crate) overview: Arc<Overview>,
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) links: CoreLinks,
    pub(crate) journal: Arc<Mailbox<JournalMail>>,
    pub(crate) journal_bell: Arc<Doorbell>,
    pub(crate) peers: Option<(Switchboard, Arc<Badge>)>,
    /// The seat that is kept only if there is no other ensemble.
    pub(crate) doubted: Option<Cluster>,
}

/// A start that failed: told to whoever waits for it, else a fault of the running server.
pub(crate) type Started = Sender<Result<(), StartError>>;

impl Boot {
    /// Runs until told to stop.
    ///
    /// # Errors
    /// Why the server must stop.
    pub(crate) fn run(mut self, started: &Started) -> Result<(), String> {
        let tell = |error: StartError| match started.send(Err(error)) {
            Ok(()) => Ok(()),
            Err(unheard) => Err(unheard.0.map_or_else(|error| error.to_string(), |()| String::new())),
        };
        loop {
            let opened = match self.open() {
                Ok(Some(opened)) => opened,
                Ok(None) => return Ok(()),
                Err(error) => return tell(error),
            };
            let (core, journal) = match self.furnish(opened) {
                Ok(both) => both,
                Err(error) => return tell(error),
            };
            let overview = Arc::clone(&self.overview);
            let cluster = core.cluster();
            let (badge, peers) = self.peers.take().map(|(peers, badge)| (badge, peers)).unzip();
            let metrics = (Arc::clone(&overview.core_metrics), Arc::clone(&overview.reign));
            let standing = Arc::clone(&overview.standing);
            let core_loop =
                CoreLoop::new(core, self.links, metrics, standing, overview.clock, peers, started.clone());
            let outcome = core_loop.run();
            self.journal.put(JournalMail::Stop);
            // A thread that panicked has been reported by the supervisor.
            let _ = journal.join();
            let Ending::Next(links, reason) = outcome.map_err(|fault| fault.to_string())? else {
                return Ok(());
            };
            // The next core would take what this life's journal answered for answers to its own questions.
            links.from_journal.take_all(&mut Vec::new());
            self.links = links;
            let (mut peers, tenure) = match reason {
                Reason::Unseated(peers, tenure) => (*peers, tenure),
                Reason::Restored(restoration) => {
                    self.restore(*restoration);
                    continue;
                }
            };
            let Some(badge) = badge else { return Ok(()) };
            if tenure == Tenure::Doubtful {
                tracing::info!(
                    "nothing has come of the ensemble that was to be founded: asking whether there is another"
                );
                self.doubted = Some(cluster);
            } else {
                let why = "a majority of the voters said that this member's number was given to another disk";
                let place = put_aside(&overview, why).map_err(|error| error.to_string())?;
                tracing::warn!(
                    place = %place.display(),
                    "{why}: its data is put aside, and it asks to be let in anew"
                );
            }
            badge.stand_up();
            peers.stand_up();
            self.peers = Some((peers, badge));
        }
    }

    /// Lays a tree down in the place of all that there is, and cuts everybody off: what the last core was asked and has
    /// not answered, nobody will.
    fn restore(&self, Restoration { tree, done }: Restoration) {
        let overview = &self.overview;
        let before = overview.tree.read();
        let zxid = before.last_zxid();
        let outcome = restore::put(&overview.config.storage, tree, &before, overview.clock.now().wall_ms);
        drop(before);
        for shard in &self.links.to_shards {
            shard.put(FromCore::TreeReplaced { zxid });
        }
        match &outcome {
            Ok(zxid) => {
                tracing::warn!(zxid, "a snapshot was restored by command: all that was there before is gone");
            }
            Err(error) => tracing::error!(error, "nothing was restored; the server goes on with what it had"),
        }
        // Whoever asked may have given up.
        let _ = done.send(outcome);
    }

    /// The data directory's content; nothing when the server was stopped meanwhile.
    fn open(&mut self) -> Result<Option<Opened>, StartError> {
        let overview = Arc::clone(&self.overview);
        let (config, clock) = (&overview.config, overview.clock);
        let history_bytes_max = config.beyond.history_bytes_max;
        restore::clear_up(&config.storage.data_dir);
        let Some((switchboard, badge)) = &mut self.peers else {
            let new = NewSeat::alone(random::bytes()?);
            return match recovery::open(&config.storage, None, history_bytes_max, Some(&new), clock)? {
                Found::Data(opened) => Ok(Some(*opened)),
                Found::Nothing => unreachable!("a server that is alone has its seat"),
            };
        };
        let Some(ensemble) = &config.ensemble else { unreachable!("there are peers only in an ensemble") };
        let mut ask =
            |claim| seat::wait(switchboard, &self.links.mail, ensemble, claim, random::bytes()?, clock);
        let mut new = None;
        if let Some(cluster) = self.doubted.take() {
            let Some(outcome) = ask(Claim::Holds(cluster))? else { return Ok(None) };
            new = new_seat(outcome, ensemble.number)?;
            if new.is_some() {
                let why = "another ensemble came to be than this member was to found";
                let place = put_aside(&overview, why)?;
                tracing::warn!(place = %place.display(), "{why}: what it has, which is empty, is put aside");
            }
        }
        let found = recovery::open(&config.storage, Some(ensemble), history_bytes_max, new.as_ref(), clock);
        let found = found.or_else(|error| {
            if !recovery::is_damage(&error) {
                return Err(error);
            }
            let place = put_aside(&overview, &format!("it was damaged: {error}"))?;
            tracing::error!(
                %error,
                place = %place.display(),
                "this member's data is damaged: it is put aside, to be looked at, and the others are asked for theirs"
            );
            Ok(Found::Nothing)
        })?;
        let opened = match found {
            Found::Data(opened) => *opened,
            Found::Nothing => {
                let had_a_seat = aside::holds_any(&config.storage);
                let Some(outcome) = ask(if had_a_seat { Claim::Had } else { Claim::Blank })? else {
                    return Ok(None);
                };
                let new = new_seat(outcome, ensemble.number)?;
                match recovery::open(&config.storage, Some(ensemble), history_bytes_max, new.as_ref(), clock)?
                {
                    Found::Data(opened) => *opened,
                    Found::Nothing => unreachable!("the seat was written down"),
                }
            }
        };
        let identity = opened.journal.identity();
        badge.sit(identity.member, identity.cluster);
        switchboard.sit();
        tracing::info!(member = ensemble.number, id = identity.member, "this member has its seat");
        Ok(Some(opened))
    }

    /// The core, and beside it the journal's thread.
    fn furnish(&self, opened: Opened) -> Result<(Core, JoinHandle<()>), StartError> {
        let overview = &self.overview;
        let (config, clock) = (&overview.config, overview.clock);
        let opened_us = clock.mono_us();
        let shards = u16::try_from(self.links.to_shards.len()).unwrap_or(u16::MAX);
        let core_config = settings::core(config, opened.journal.identity(), shards);
        let core = Core::new(core_config, opened.seat, &opened.tree, random::bytes()?, clock.now());
        drop(overview.tree.write().replace(opened.tree));
        if let Some((saved, seconds)) = opened.snapshot {
            *overview.first_snapshot.lock() = Some((saved.zxid, seconds));
            overview.snapshots.saved(saved);
        }
        self.remember(&opened.history);
        let journal = self.start_journal(opened.journal)?;
        let figures = crate::metrics::StartMetrics {
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
        Ok((core, journal))
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

    fn start_journal(&self, journal: Journal<DirDisk>) -> Result<JoinHandle<()>, StartError> {
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
            bell: Arc::clone(&self.journal_bell),
            answers: Arc::clone(&self.links.from_journal),
            metrics: Arc::clone(&overview.journal_metrics),
            desk: Arc::clone(&overview.snapshots),
        };
        let journal_loop = JournalLoop::new(journal, settings, links, overview.clock);
        let run = move || journal_loop.run().map(drop).map_err(|fault| fault.to_string());
        spawn("journal", &self.supervisor, run)
            .map_err(|source| StartError::System { action: "start a thread", source })
    }
}

fn put_aside(overview: &Overview, why: &str) -> Result<PathBuf, StartError> {
    aside::put_aside(&overview.config.storage, why, overview.clock.now().wall_ms)
}

/// The seat to write down, unless the one that is held is kept.
fn new_seat(outcome: Outcome, number: u64) -> Result<Option<NewSeat>, StartError> {
    let random = random::bytes()?;
    let (incarnation, _) = random.split_first_chunk::<16>().expect("there are 32 bytes");
    let incarnation = *incarnation;
    let (cluster, member, founders) = match outcome {
        Outcome::Founded { cluster, voters } => (cluster, number, Some(voters)),
        Outcome::Admitted { cluster, id } => (cluster, id, None),
        Outcome::Kept => return Ok(None),
    };
    Ok(Some(NewSeat { identity: Identity { cluster, incarnation, member }, founders }))
}

/// The tree that all threads share before any data is loaded.
pub(crate) fn empty_tree() -> Arc<RwLock<Tree>> {
    Arc::new(RwLock::new(Tree::new()))
}
