//! What is done to the brokers, each a story of its own; see [`ALL`].

mod environment;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tools_testbed::dice::Dice;
use tools_testbed::{BrokerCluster, BrokerConfig, BrokerSoftware, Failure, Surroundings};

use crate::crowd::Crowd;

const BROKERS: usize = 3;
const IDS: [i32; BROKERS] = [1, 2, 3];
/// How long clients work between two faults.
const CALM: Duration = Duration::from_millis(500);
/// How long a broker stands still: longer than its leads take to be given to others.
const PAUSE: Duration = Duration::from_secs(3);
/// Faults of a run of `chaos`.
const CHAOS: usize = 12;

/// What every scenario is told.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The binary of the brokers.
    pub diwan: PathBuf,
    /// An empty folder for this scenario.
    pub folder: PathBuf,
    /// How often a fault is repeated, at least once.
    pub rounds: usize,
    /// What faults of all kinds are drawn from.
    pub seed: u64,
}

/// One story.
pub struct Scenario {
    /// How it is chosen.
    pub name: &'static str,
    /// What happens.
    pub what: &'static str,
    /// Whether it is among those that are always run; the others take longer.
    pub short: bool,
    /// Plays it; what was measured on the way.
    pub run: fn(&Setting) -> Result<Vec<String>, Failure>,
}

/// All scenarios, short ones first.
pub const ALL: &[Scenario] = &[
    Scenario {
        name: "each-killed",
        what: "every broker is killed in turn and started again",
        short: true,
        run: each_killed,
    },
    Scenario {
        name: "leader-stopped",
        what: "the leader of a partition, and of the offsets, stands still for 3 s, again and again",
        short: true,
        run: leader_stopped,
    },
    Scenario {
        name: "all-killed",
        what: "all three are killed at once and started again",
        short: true,
        run: all_killed,
    },
    Scenario {
        name: "links-cut",
        what: "the leader is cut off from the other brokers for 3 s, in both directions and in one",
        short: true,
        run: environment::links_cut,
    },
    Scenario {
        name: "clock-jumps",
        what: "the wall clock of the leader goes an hour ahead, and an hour back",
        short: true,
        run: environment::clock_jumps,
    },
    Scenario {
        name: "disk-full",
        what: "the disk of the leader is full for a while",
        short: true,
        run: environment::disk_full,
    },
    Scenario {
        name: "disk-wiped",
        what: "a broker comes back with an empty disk, is refused, and takes its former place under another number",
        short: true,
        run: environment::disk_wiped,
    },
    Scenario {
        name: "council-lost",
        what: "the whole council is killed, and there again after 6 s: everybody goes on meanwhile",
        short: true,
        run: |setting| environment::council_lost(setting, Duration::from_secs(6)),
    },
    Scenario {
        name: "council-lost-for-long",
        what: "the same for a minute",
        short: false,
        run: |setting| environment::council_lost(setting, Duration::from_secs(60)),
    },
    Scenario {
        name: "chaos",
        what: "brokers are killed, stopped and started as a seed says, up to two at a time",
        short: false,
        run: chaos,
    },
];

/// Brokers with their clients.
struct Play {
    cluster: BrokerCluster,
    crowd: Crowd,
    notes: Vec<String>,
}

impl Play {
    fn open(setting: &Setting) -> Result<Self, Failure> {
        Self::open_in(setting, &Surroundings::default())
    }

    /// Elsewhere, or otherwise.
    fn open_in(setting: &Setting, around: &Surroundings) -> Result<Self, Failure> {
        Self::open_with(setting, &BrokerSoftware::Whole(setting.diwan.clone()), around)
    }

    fn open_with(
        setting: &Setting,
        software: &BrokerSoftware,
        around: &Surroundings,
    ) -> Result<Self, Failure> {
        let config = BrokerConfig {
            users: Vec::new(),
            folder: setting.folder.clone(),
            heap_mb: 0,
            settings: Vec::new(),
            flags: Vec::new(),
        };
        let began = Instant::now();
        let cluster = BrokerCluster::start_in(software, &config, BROKERS, around)?;
        let crowd = Crowd::start(&cluster.addresses())?;
        let mut play = Self { cluster, crowd, notes: Vec::new() };
        play.note("all clients at work after", began.elapsed());
        Ok(play)
    }

    fn note(&mut self, what: &str, time: Duration) {
        self.notes.push(format!("{what} {} ms", time.as_millis()));
    }

    /// Waits until everybody goes on; notes how long that took.
    fn go_on(&mut self, what: &str) -> Result<(), Failure> {
        let began = Instant::now();
        self.crowd.all_go_on()?;
        self.note(what, began.elapsed());
        self.crowd.work_for(CALM)
    }

    /// Stops the clients, and judges what is there: as it is, and with each broker away in turn, so that others lead.
    fn close(mut self) -> Result<Vec<String>, Failure> {
        self.crowd.all_go_on()?;
        let (outcome, notes) = self.crowd.stop()?;
        for id in IDS {
            self.cluster.kill(id)?;
            outcome.judge()?;
            self.cluster.restart(id)?;
        }
        if let Some(log) = self.cluster.has_ended() {
            return Err(Failure::broken(format!("a broker has ended by itself:\n{log}")));
        }
        Ok(self.notes.into_iter().chain(notes).collect())
    }
}

fn each_killed(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting)?;
    for _ in 0..setting.rounds {
        for id in IDS {
            play.cluster.kill(id)?;
            play.go_on(&format!("{id} killed, until everybody went on"))?;
            play.cluster.restart(id)?;
            play.go_on(&format!("{id} started, until everybody went on"))?;
        }
    }
    play.close()
}

fn leader_stopped(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting)?;
    for _ in 0..setting.rounds * BROKERS {
        let leader = play.crowd.leader()?;
        play.cluster.pause(leader)?;
        play.crowd.work_for(PAUSE)?;
        play.cluster.resume(leader)?;
        play.go_on(&format!("{leader} stopped for {PAUSE:?}, then until everybody went on"))?;
    }
    play.close()
}

fn all_killed(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting)?;
    for _ in 0..setting.rounds {
        IDS.iter().try_for_each(|id| play.cluster.kill(*id))?;
        IDS.iter().try_for_each(|id| play.cluster.launch(*id))?;
        play.go_on("all killed and started, until everybody went on")?;
    }
    play.close()
}

/// What a broker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Serves,
    Stopped,
    Dead,
}

fn chaos(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting)?;
    let mut dice = Dice::new(setting.seed);
    let mut states = [State::Serves; BROKERS];
    for _ in 0..setting.rounds * CHAOS {
        let place = dice.below(BROKERS);
        let id = IDS[place];
        states[place] = match (states[place], dice.once_in(2)) {
            (State::Serves, true) => {
                play.cluster.kill(id)?;
                State::Dead
            }
            (State::Serves, false) => {
                play.cluster.pause(id)?;
                State::Stopped
            }
            (state, _) => revive(&mut play.cluster, id, state)?,
        };
        play.crowd.work_for(Duration::from_millis(200 + dice.below(2_000) as u64))?;
    }
    for (id, state) in IDS.into_iter().zip(states) {
        revive(&mut play.cluster, id, state)?;
    }
    play.go_on("all is well again, until everybody went on")?;
    play.close()
}

/// A broker is to serve again.
fn revive(cluster: &mut BrokerCluster, id: i32, state: State) -> Result<State, Failure> {
    match state {
        State::Serves => {}
        State::Stopped => cluster.resume(id)?,
        State::Dead => cluster.launch(id)?,
    }
    Ok(State::Serves)
}
