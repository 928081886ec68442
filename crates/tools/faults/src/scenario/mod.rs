//! What is done to ensembles, each a story of its own; see `ALL`.

mod certificates;
mod chaos;
mod clocks;
mod cuts;
mod deaths;
mod forced;
mod pauses;
mod planted;
mod reconfig;
mod room;
mod same_number;
mod starts;
mod upgrade;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tools_testbed::{Ensemble, Failure, Place};

use crate::crowd::Crowd;
use crate::judge::judge;
use crate::verdict::{Case, Earlier};

/// What clients are granted; they look for another server after two thirds of it.
const SESSION: Duration = Duration::from_secs(8);
/// Clients of a scenario.
const WRITERS: usize = 6;

/// What every scenario is told.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The binary of the servers.
    pub diwan: PathBuf,
    /// An empty folder for this scenario.
    pub folder: PathBuf,
    /// How much the servers log.
    pub level: String,
    /// How often a fault is repeated, at least once.
    pub rounds: usize,
    /// What faults of all kinds are drawn from.
    pub seed: u64,
    /// Whether members speak encrypted to each other.
    pub encrypted: bool,
    /// An earlier build of the servers.
    pub previous: Option<PathBuf>,
    /// A build that says more in the log than `diwan`.
    pub next: Option<PathBuf>,
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
        name: "leader-killed",
        what: "the leader of three is killed and comes back, again and again",
        short: true,
        run: deaths::leader_killed,
    },
    Scenario {
        name: "all-killed",
        what: "all three are killed at once and started again",
        short: true,
        run: deaths::all_killed,
    },
    Scenario {
        name: "disk-wiped",
        what: "a member loses its disk and is let in again under load",
        short: true,
        run: deaths::disk_wiped,
    },
    Scenario {
        name: "leader-paused",
        what: "the leader stands still for 3 s",
        short: true,
        run: pauses::leader_paused,
    },
    Scenario {
        name: "late-founder",
        what: "two of three found the ensemble, the third comes later",
        short: true,
        run: starts::late_founder,
    },
    Scenario {
        name: "each-killed",
        what: "every member is killed in turn under load",
        short: true,
        run: deaths::each_killed,
    },
    Scenario {
        name: "rolling-restart",
        what: "every member is stopped and started in turn; no operation fails twice",
        short: true,
        run: deaths::rolling_restart,
    },
    Scenario {
        name: "two-of-five-killed",
        what: "the leader and another of five are killed",
        short: true,
        run: deaths::two_of_five_killed,
    },
    Scenario {
        name: "grown",
        what: "a server that was alone grows to three",
        short: true,
        run: starts::grown,
    },
    Scenario {
        name: "leader-cut-off",
        what: "the network between the leader and the others fails; its clients still reach it",
        short: true,
        run: cuts::leader_cut_off,
    },
    Scenario {
        name: "one-way",
        what: "packets to or from one member are lost, and get through the other way",
        short: true,
        run: cuts::one_way,
    },
    Scenario {
        name: "lossy",
        what: "every packet between members takes 50 ms, and 5 % are lost",
        short: true,
        run: cuts::lossy,
    },
    Scenario {
        name: "follower-disk-full",
        what: "a follower's disk is full, and is not full any more",
        short: true,
        run: room::follower_full,
    },
    Scenario {
        name: "leader-disk-full",
        what: "the leader's disk is full, and is not full any more",
        short: true,
        run: room::leader_full,
    },
    Scenario {
        name: "clock-jumps",
        what: "the leader's wall clock jumps ahead and back by an hour",
        short: true,
        run: clocks::clock_jumps,
    },
    Scenario {
        name: "encrypted",
        what: "members that speak TLS to each other are killed in turn, and one loses its disk",
        short: true,
        run: certificates::encrypted,
    },
    Scenario {
        name: "reconfig",
        what: "members are added, removed and given a vote while others are killed",
        short: true,
        run: reconfig::reconfig,
    },
    Scenario {
        name: "forced",
        what: "one of three begins a new ensemble by `force-new-ensemble`; the other two come back with their data",
        short: true,
        run: forced::forced,
    },
    Scenario {
        name: "same-number",
        what: "a copy of a member's disk runs at another address beside the member",
        short: true,
        run: same_number::elsewhere,
    },
    Scenario {
        name: "same-number-proved",
        what: "the same, and the copy can prove to be that member",
        short: true,
        run: same_number::proved,
    },
    Scenario {
        name: "same-number-empty",
        what: "a member's place is taken by an empty disk while it is cut off, and it comes back",
        short: true,
        run: same_number::emptied,
    },
    Scenario {
        name: "planted",
        what: "all disks are put back to an earlier state; passes if the clients notice",
        short: true,
        run: planted::planted,
    },
    Scenario {
        name: "upgrade",
        what: "an earlier build becomes this one, member by member, back and forth",
        short: true,
        run: upgrade::upgrade,
    },
    Scenario {
        name: "upgrade-level",
        what: "the log's feature level rises when the last member is of the next build",
        short: false,
        run: upgrade::upgrade_level,
    },
    Scenario {
        name: "five-killed-in-turn",
        what: "of five, each two neighbours are killed in turn",
        short: false,
        run: deaths::five_killed_in_turn,
    },
    Scenario {
        name: "leader-paused-long",
        what: "the leader stands still for 10 s, longer than its clients' sessions last",
        short: false,
        run: pauses::leader_paused_long,
    },
    Scenario {
        name: "follower-paused",
        what: "a follower stands still for 10 s",
        short: false,
        run: pauses::follower_paused,
    },
    Scenario {
        name: "chaos",
        what: "faults of all kinds beside each other among five, from a seed",
        short: false,
        run: chaos::chaos,
    },
];

/// One scenario under way: an ensemble and the clients that use it.
struct Play {
    ensemble: Ensemble,
    crowd: Crowd,
    notes: Vec<String>,
}

impl Play {
    /// So many members, all serving, and clients at work.
    fn open(setting: &Setting, count: usize) -> Result<Self, Failure> {
        let mut ensemble = members(setting, count, &Place::loopback())?;
        let began = Instant::now();
        ensemble.start_all()?;
        let founded = began.elapsed();
        let mut play = Self::over(ensemble)?;
        play.note("founded", founded);
        Ok(play)
    }

    /// Clients at work with members that serve.
    fn over(ensemble: Ensemble) -> Result<Self, Failure> {
        let crowd = Crowd::start(&ensemble, &ensemble.all(), WRITERS, SESSION)?;
        crowd.work_for(Duration::from_millis(500))?;
        Ok(Self { ensemble, crowd, notes: Vec::new() })
    }

    /// Starts who is down, lets the clients finish, and judges.
    fn close(self) -> Result<Vec<String>, Failure> {
        self.close_behind(None)
    }

    /// The same, where a member's log goes on from an `earlier` one.
    fn close_behind(mut self, earlier: Option<&Earlier>) -> Result<Vec<String>, Failure> {
        self.ensemble.start_all()?;
        self.crowd.all_write()?;
        let (writes, slowest) = (self.crowd.writes(), self.crowd.slowest());
        let refused = self.crowd.refused();
        let (writers, testimony) = self.crowd.stop()?;
        let died = self.ensemble.died();
        if !died.is_empty() {
            return Err(Failure::Broken(died));
        }
        let ledgers: Vec<_> = writers.iter().map(|writer| &writer.ledger).collect();
        let nodes = judge(&self.ensemble, &self.ensemble.all(), &ledgers)?;
        writers.iter().for_each(|writer| writer.client.close());
        match Case::close(&mut self.ensemble, &testimony, earlier)? {
            Some(case) => {
                let words = case.describe();
                let wrongs = case.judge();
                if !wrongs.is_empty() {
                    return Err(Failure::Broken(wrongs));
                }
                self.notes.push(words);
            }
            None => {
                self.notes.push(String::from("nobody's log begins at its beginning: the rules judge nothing"))
            }
        }
        if refused > 0 {
            self.notes.push(format!("{refused} writes refused"));
        }
        self.notes.push(format!("{writes} writes, the slowest {} ms; {nodes} nodes", slowest.as_millis()));
        Ok(self.notes)
    }

    fn note(&mut self, what: &str, time: Duration) {
        self.notes.push(format!("{what} {} ms", time.as_millis()));
    }

    /// Notes several times of the same kind.
    fn note_all(&mut self, what: &str, times: &[Duration]) {
        let texts: Vec<_> = times.iter().map(|time| time.as_millis().to_string()).collect();
        self.notes.push(format!("{what} {} ms", texts.join(", ")));
    }

    /// How long from `since` to the first acknowledged write that was submitted after it.
    fn next_write(&self, since: Instant) -> Result<Duration, Failure> {
        self.crowd.next_write(since)
    }

    /// Waits until somebody else than `old` leads.
    fn next_leader(&self, old: usize) -> Result<usize, Failure> {
        loop {
            let leader = self.ensemble.leader()?;
            if leader != old {
                return Ok(leader);
            }
            self.crowd.work_for(Duration::from_millis(5))?;
        }
    }
}

/// Members in some place, none of them started.
fn members(setting: &Setting, count: usize, place: &Place) -> Result<Ensemble, Failure> {
    let words = [("4lw.commands.whitelist", "srvr,hash")];
    let mut ensemble = Ensemble::new(&setting.diwan, &setting.folder, count, place, &words, &setting.level);
    if setting.encrypted {
        certificates::encrypt(setting, &mut ensemble)?;
    }
    Ok(ensemble)
}

/// All that lies in one folder, also in another.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(Failure::io("a folder"))?;
    for entry in fs::read_dir(from).map_err(Failure::io("a data directory"))? {
        let entry = entry.map_err(Failure::io("a data directory"))?;
        let copied = Command::new("cp").arg("-a").arg(entry.path()).arg(to).status();
        if !copied.map_err(Failure::io("`cp`"))?.success() {
            return Err(Failure::broken("a data directory cannot be copied"));
        }
    }
    Ok(())
}
