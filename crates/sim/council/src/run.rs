//! One run of a seed: an ensemble under faults with clients, then everything heals, comes to rest, serves once more and
//! is looked over; then the rules are applied. The seed alone decides what happens. How runs are played, told and made
//! smaller is `sim_kit`'s.

mod calls;
mod config;
mod phase;
mod reached;
mod revival;

use std::collections::BTreeMap;
use std::time::Duration;

use council_tree::Policy;
use sim_kit::{Floor, Simulation, World, report, run_to_end};

use crate::ensemble::{Ensemble, Faults};
use crate::history::{Delivery, History};
use crate::load::{Appetite, Features, Load};
use crate::oracle::{Deed, Oracle};
use crate::random::Random;
use crate::record::Record;
use crate::rules::{CALM_ROOM_MS, Evidence, FLOORS, Judged, Known, Settings, Standing, judge};
use phase::Phase;
use revival::Loss;

pub use reached::REACHED;
pub use sim_kit::{Plan, Report};

/// An ensemble, its clients and its operator, and those who judge it.
pub struct Run {
    ensemble: Ensemble,
    load: Load,
    history: History,
    faults: Faults,
    appetite: Appetite,
    settings: Settings,
    setting: String,
    /// Whether a disk is full while all is calm, and what decides which.
    squeezes: Option<Random>,
    /// Whether the ensemble is lost but for one member.
    loss: Option<Loss>,
    /// What decides when the operator of a new ensemble looks for data of the old one.
    looks: Option<Random>,
    standings: Vec<Standing>,
    judged: BTreeMap<u32, Judged>,
    /// Simulated milliseconds under faults.
    faulty_ms: u64,
    phase: Phase,
    /// What is wrong so far.
    found: Vec<String>,
}

/// Plays a seed under no faults, with some clients and nobody who changes the members.
#[must_use]
pub fn quiet(founders: u64, seed: u64, simulated: Duration) -> Report {
    report(Run::quiet(founders, seed, simulated.as_millis() as u64))
}

/// Plays a seed. `hashes` is told the hash of everything so far once a simulated second.
#[must_use]
pub fn play(plan: &Plan, hashes: Option<fn(u64, u64)>) -> Report {
    sim_kit::play::<Run>(plan, hashes)
}

/// What a run leaves to those who judge.
#[derive(Clone, Debug)]
pub struct Remains {
    /// What clients saw.
    pub history: History,
    /// What members did.
    pub record: Record,
    /// Where all members stood in the end.
    pub standings: Vec<Standing>,
}

/// Plays a seed, and gives what is left; the lines of what is wrong if it was not clean.
///
/// # Errors
/// Something is wrong.
pub fn remains(plan: &Plan) -> Result<Remains, Vec<String>> {
    let mut run = Run::begin(plan);
    let wrongs = run_to_end(&mut run);
    let Run { history, ensemble, standings, .. } = run;
    if wrongs.is_empty() { Ok(Remains { history, record: ensemble.record, standings }) } else { Err(wrongs) }
}

impl World for Run {
    const COMMAND: &'static str = "cargo xtask sim";
    const LIGHT: &'static str =
        "three members under light load without faults: measures the speed of the simulator";
    const REACHED: &'static [&'static str] = REACHED;
    const FLOORS: &'static [Floor] = FLOORS;

    fn begin(plan: &Plan) -> Self {
        if plan.light {
            return Self::quiet(3, plan.seed, plan.faulty_ms);
        }
        let mut run = Self::of(Random::new(plan.seed), None, plan.faulty_ms);
        run.faults.leave_out(&plan.without);
        run.ensemble.sim.leave_out(plan.without.clone());
        run
    }

    fn setting(&self) -> String {
        self.setting.clone()
    }

    fn simulation(&self) -> &Simulation {
        &self.ensemble.sim
    }

    fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.ensemble.sim
    }

    fn step(&mut self) -> bool {
        self.next_moment();
        !matches!(self.phase, Phase::Broken | Phase::Over)
    }

    fn judge(&mut self) -> Vec<String> {
        let mut wrongs = std::mem::take(&mut self.found);
        if matches!(self.phase, Phase::Broken) {
            return wrongs;
        }
        self.history.ended_ms = self.ensemble.now_ms();
        self.history.link(&self.ensemble.sequences);
        if wrongs.is_empty() {
            self.standings = self.look_around();
        }
        wrongs.extend(self.verdict());
        wrongs
    }

    fn judged(&self) -> BTreeMap<u32, Judged> {
        self.judged.clone()
    }

    fn sum_up(&mut self) {
        calls::count(&self.history, &mut self.ensemble);
        let deliveries = self.history.connections.iter().flat_map(|connection| &connection.deliveries);
        let events = deliveries.filter(|(_, delivery)| matches!(delivery, Delivery::Event { .. }));
        self.ensemble.count("watch event", events.count() as u64);
    }
}

impl Run {
    fn quiet(founders: u64, seed: u64, simulated_ms: u64) -> Self {
        let mut run = Self::of(Random::new(seed), Some(founders), simulated_ms);
        (run.faults, run.appetite) = (Faults::NONE, Appetite::LIGHT);
        (run.squeezes, run.loss) = (None, None);
        run.load = Load::new(run.appetite, founders, Random::new(seed));
        run
    }

    /// A run of so many founders, or of as many as are drawn.
    #[expect(clippy::too_many_lines, reason = "all draws of a run, in the order that a seed means")]
    fn of(mut random: Random, founders: Option<u64>, faulty_ms: u64) -> Self {
        let drawn = [1, 2, 3, 3, 3, 3, 4, 4, 5, 5][random.below(10) as usize];
        let founders = founders.unwrap_or(drawn);
        // What a run may lack is drawn apart: where it does, all else is as it always was.
        let mut apart = random.clone().fork();
        let mut config = config::draw(&mut random);
        let (faults, mut appetite) = (Faults::draw(&mut random), Appetite::draw(&mut random));
        appetite.features = Features::draw(&mut apart);
        config.core.reap_interval_ms = 300 + apart.below(1_500);
        if appetite.features.mortals && apart.chance(50) {
            config.core.never_used_ms = 2_000;
        }
        if apart.chance(30) {
            config.front.policy = config.front.policy | Policy::ENFORCE_QUOTA;
        }
        appetite.patient = apart.chance(30);
        if apart.chance(30) {
            config.front.timeout_min_ms = 4_000 + apart.below(2_000) as i32;
        }
        if apart.chance(30) {
            config.front.timeout_max_ms = 6_000 + apart.below(2_000) as i32;
        }
        if appetite.features.sleepers {
            config.front.output_bytes_max = 300 + apart.below(500) as usize;
            config.front.output_bytes_close_max = 1_000 + apart.below(1_500) as usize;
            config.front.history_bytes_max = 10_000 + apart.below(100_000) as usize;
        }
        let settings = Settings {
            lease_ms: config.core.replica.lease_ms,
            tick_ms: config.core.tick_ms,
            reap_interval_ms: config.core.reap_interval_ms,
            room_ms: CALM_ROOM_MS,
            news_ms: 0,
            strangers: false,
            timeouts_ms: Some((config.front.timeout_min_ms as u64, config.front.timeout_max_ms as u64)),
            history_bytes_max: config.front.history_bytes_max,
            policy: Some(config.front.policy.bits()),
            unsent_bytes_max: config.front.output_bytes_close_max,
        };
        let squeezes = if apart.chance(40) { Some(apart.fork()) } else { None };
        let is_lost = apart.chance(15) && founders > 1;
        let loss = is_lost.then(|| Loss::draw(apart.fork()));
        let setting = format!("{founders} founders, {appetite:?}, {faults:?}");
        Self {
            ensemble: Ensemble::new(founders, config, random.fork()),
            load: Load::new(appetite, founders, random.fork()),
            history: History::default(),
            faults,
            appetite,
            settings,
            setting,
            squeezes,
            loss,
            looks: None,
            standings: Vec::new(),
            judged: BTreeMap::new(),
            faulty_ms,
            phase: Phase::Faults,
            found: Vec::new(),
        }
    }

    /// What the rules find in the end.
    fn verdict(&mut self) -> Vec<String> {
        let record = std::mem::take(&mut self.ensemble.record);
        let oracle = Oracle::of(&record);
        let reaped = oracle.transactions.iter().filter(|done| matches!(done.deed, Some(Deed::Reaped(..))));
        self.ensemble.count("node reaped", reaped.count() as u64);
        let wrongs = self.apply_rules(&record, &oracle);
        self.ensemble.record = record;
        wrongs
    }

    fn apply_rules(&mut self, record: &Record, oracle: &Oracle) -> Vec<String> {
        let verdict = judge(&Evidence {
            history: &self.history,
            record,
            oracle,
            standings: &self.standings,
            settings: self.settings,
            known: Known::default(),
        });
        for (rule, all) in verdict.judged {
            let judged = self.judged.entry(rule).or_default();
            all.into_iter().for_each(|(what, count)| *judged.entry(what).or_default() += count);
        }
        verdict.wrongs
    }

    /// The members that are to be: all that runs, but those that were removed.
    fn members(&mut self) -> Vec<u64> {
        let Some(roster) = self.ensemble.roster() else { return Vec::new() };
        roster.members().map(|member| member.number.into()).collect()
    }

    fn is_settled(&mut self) -> bool {
        let (mut all, members) = (Vec::new(), self.members());
        // What every member's build understands.
        let expected = self.ensemble.level_of(&members);
        for number in members {
            let Some(node) = self.ensemble.node(number) else { return false };
            let status = node.core().status();
            let (digest, level) = (node.tree().digest(), node.tree().feature_level());
            let ready = status.serving && status.writable && status.pending_bytes == 0 && level == expected;
            all.push((status.applied_index, digest, ready));
        }
        all.iter().all(|one| one.2 && *one == all[0])
    }

    fn describe(&mut self) -> String {
        let mut text = self.load.describe();
        for number in self.ensemble.running() {
            if let Some(node) = self.ensemble.node(number) {
                text += &format!("\nmember {number}: {:?}", node.core().status());
            }
        }
        for (number, doing) in self.ensemble.describe() {
            text += &format!("\nmember {number} is {doing}");
        }
        for line in self.ensemble.peering.describe() {
            text += &format!("\nconnections of {line}");
        }
        text + &format!("\nwanted members: {:?}", self.members())
    }

    /// Everything that the members hold.
    fn look_around(&mut self) -> Vec<Standing> {
        let numbers = self.members();
        let standing = |member| {
            let node = self.ensemble.node(member)?;
            Some(Standing::of(member, node.applied_index(), node.tree()))
        };
        numbers.into_iter().filter_map(standing).collect()
    }
}

#[cfg(test)]
mod tests;
