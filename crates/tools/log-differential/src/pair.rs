//! Two brokers, kept alive over many scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tools_testbed::dice::Dice;
use tools_testbed::{Broker, BrokerConfig, BrokerSoftware, PeerError};

use crate::flags::flags;
use crate::play::{Record, Stage, play};
use crate::schema::Schemas;
use crate::script::{Fixture, Script};
use crate::served::Served;
use crate::settings;
use crate::story::Story;
use crate::trio::Trio;
use crate::users::{USERS, password};

/// Enough for scripts; small, so that two JVMs fit beside everything else.
const HEAP_MB: u32 = 768;
/// The two kinds of broker: the one that is right, and the one that is compared with it.
#[derive(Clone, Debug)]
pub struct Contestants {
    /// Both.
    pub software: [BrokerSoftware; 2],
    /// The messages.
    pub schemas: Schemas,
    /// A folder for both.
    pub folder: PathBuf,
    /// How long a broker may take to answer.
    pub deadline: Duration,
}

/// Both brokers, running.
pub struct Pair {
    schemas: Schemas,
    deadline: Duration,
    /// One of each.
    brokers: Option<[Broker; 2]>,
    /// Those that check rights, if scripts need them.
    secured: Option<[Broker; 2]>,
    /// The clusters, if scripts need them.
    trios: Option<[Trio; 2]>,
    served: [Served; 2],
    runs: AtomicU64,
}

impl Pair {
    /// Starts both, or both clusters, on empty folders and waits until each has what a fresh broker answers "not yet" about.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn start(contestants: &Contestants, first: Fixture) -> Result<Self, PeerError> {
        let Contestants { software, schemas, folder, deadline } = contestants;
        let mut pair = Self {
            schemas: schemas.clone(),
            deadline: *deadline,
            brokers: None,
            secured: None,
            trios: None,
            served: [Served::default(), Served::default()],
            runs: AtomicU64::new(1),
        };
        let addresses = if first == Fixture::Cluster {
            pair.trios.insert(start_trios(contestants)?).each_ref().map(Trio::first)
        } else {
            pair.brokers.insert(start_both(software, folder, false)?).each_ref().map(Broker::address)
        };
        let ask = |address| Served::ask(schemas, address, *deadline).map_err(failed);
        pair.served = [ask(addresses[0])?, ask(addresses[1])?];
        pair.await_first_answers(first)?;
        Ok(pair)
    }

    /// Starts the brokers that check rights, too.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn add_secured(&mut self, contestants: &Contestants) -> Result<(), PeerError> {
        let Contestants { software, folder, .. } = contestants;
        self.secured = Some(start_both(software, &folder.join("secured"), true)?);
        self.await_first_answers(Fixture::Secured)
    }

    /// Starts the clusters, too.
    ///
    /// # Errors
    /// One of them does not start, or its brokers do not lead what they should.
    pub fn add_clusters(&mut self, contestants: &Contestants) -> Result<(), PeerError> {
        if self.trios.is_none() {
            self.trios = Some(start_trios(contestants)?);
            self.await_first_answers(Fixture::Cluster)?;
        }
        Ok(())
    }

    fn await_first_answers(&self, fixture: Fixture) -> Result<(), PeerError> {
        let common = self.served[0].all_in_common(&self.served[1]);
        self.play(&first_answers(&common, &self.schemas, fixture)).map_err(failed)?;
        Ok(())
    }

    /// What the first serves, and the second.
    #[must_use]
    pub fn served(&self) -> &[Served; 2] {
        &self.served
    }

    /// The messages.
    #[must_use]
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// Plays a script on both at the same time.
    ///
    /// # Errors
    /// The script is none.
    pub fn play(&self, script: &Script) -> Result<[Record; 2], String> {
        let (run, now) = (self.runs.fetch_add(1, Ordering::Relaxed), now());
        let stage = Stage {
            schemas: &self.schemas,
            addresses: &[],
            cluster: None,
            deadline: self.deadline,
            run,
            now,
        };
        let [kafka, ours] = match script.fixture {
            Fixture::Cluster => {
                let trios = self.trios.as_ref().ok_or("no cluster was started")?;
                both(|| trios[0].play(script, stage), || trios[1].play(script, stage))
            }
            Fixture::Secured | Fixture::Alone => {
                let secured = self.secured.as_ref().filter(|_| script.fixture == Fixture::Secured);
                let brokers = secured.or(self.brokers.as_ref()).ok_or("no broker was started")?;
                let addresses = brokers.each_ref().map(|broker| [broker.address()]);
                let [kafka, ours] = addresses.each_ref().map(|addresses| Stage { addresses, ..stage });
                both(|| play(script, &kafka), || play(script, &ours))
            }
        };
        Ok([kafka?, ours?])
    }

    /// Starts again what has ended by itself; says which, with the end of its log.
    ///
    /// # Errors
    /// It does not start again.
    pub fn revive(&mut self) -> Result<Vec<String>, PeerError> {
        let mut ended = Vec::new();
        let names = ["the first broker", "the second broker"].into_iter().cycle();
        for (broker, name) in self.brokers.iter_mut().chain(&mut self.secured).flatten().zip(names) {
            if broker.has_ended() {
                ended.push(format!("{name} has ended:\n{}", broker.log_tail()));
                broker.restart()?;
            }
        }
        for trio in self.trios.iter_mut().flatten() {
            ended.extend(trio.revive()?);
        }
        Ok(ended)
    }
}

fn start_trios(contestants: &Contestants) -> Result<[Trio; 2], PeerError> {
    let Contestants { software, folder, .. } = contestants;
    let start = |index: usize, name: &str| Trio::start(&software[index], &folder.join(name));
    let [kafka, ours] = both(|| start(0, "kafkas"), || start(1, "all-of-ours"));
    Ok([kafka?, ours?])
}

/// Both on empty folders of their own.
fn start_both(
    software: &[BrokerSoftware; 2],
    folder: &Path,
    secured: bool,
) -> Result<[Broker; 2], PeerError> {
    let start = |index: usize, name: &str| start(&software[index], folder.join(name), secured);
    let [kafka, ours] = both(|| start(0, "kafka"), || start(1, "ours"));
    Ok([kafka?, ours?])
}

/// One broker on an empty folder, which checks rights or not.
///
/// # Errors
/// It does not start.
pub fn start(software: &BrokerSoftware, folder: PathBuf, secured: bool) -> Result<Broker, PeerError> {
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(PeerError::io(&folder))?;
    }
    let flags = flags(software);
    let users = USERS.iter().filter(|_| secured).map(|user| ((*user).to_owned(), password(user).to_owned()));
    let settings = settings::OF_ALL.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let config = BrokerConfig {
        folder,
        users: users.collect(),
        heap_mb: HEAP_MB,
        settings: settings.collect(),
        flags,
    };
    Broker::start(software, &config)
}

pub(crate) fn failed(what: String) -> PeerError {
    PeerError::Io { what: "the first requests".into(), source: std::io::Error::other(what) }
}

/// Asks until all that a fresh broker answers with "not yet" is there: coordinators, and a block of producer ids.
pub(crate) fn first_answers(served: &Served, schemas: &Schemas, fixture: Fixture) -> Script {
    let mut story = Story::new(Dice::new(0), served, schemas);
    match fixture {
        Fixture::Cluster => crate::scene::first_answers_of_a_cluster(&mut story),
        Fixture::Secured => crate::scene::first_answers(story.log_in(0, USERS[0])),
        Fixture::Alone => crate::scene::first_answers(&mut story),
    }
    let script = story.end(0, 0, "first answers").unwrap_or_default();
    Script { fixture, ..script }
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(0)
}

fn both<T: Send>(left: impl FnOnce() -> T + Send, right: impl FnOnce() -> T + Send) -> [T; 2] {
    thread::scope(|scope| {
        let other = scope.spawn(right);
        let one = left();
        match other.join() {
            Ok(other) => [one, other],
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
