//! One run of a seed: an ensemble under faults with clients, then everything heals, comes to rest, serves once more and
//! is looked over; then the rules are applied. The seed alone decides what happens.

mod calls;
mod revival;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use consensus_replica::MemberId;
use council_frontend::FrontConfig;
use council_replica::CoreConfig;
use council_tree::Policy;
use storage_raft_log::{JournalConfig, KeepPolicy};

use crate::ensemble::{Ensemble, Faults, Without};
use crate::history::{Delivery, History};
use crate::load::{Appetite, Features, Load, SUPER, Squeeze};
use crate::node::{NodeConfig, small_journal};
use crate::oracle::{Deed, Oracle, digest};
use crate::random::Random;
use crate::record::Record;
use crate::rules::{CALM_ROOM_MS, Evidence, Judged, Known, Settings, Standing, judge};
use revival::Loss;

/// The feature level of all builds here.
const LEVEL: u32 = 3;
/// How long everything may take to come to rest after it healed, milliseconds.
const REST_MAX_MS: u64 = 180_000;
/// How long all is calm after that: the longest timeout, and room, so that whoever left expires.
const CALM_MS: u64 = 20_000;

/// What some hundred seeds must have reached, or they tried nothing.
pub const REACHED: &[&str] = &[
    "ACL changed",
    "acknowledged write lost with its ensemble",
    "admission",
    "attach race",
    "back with old data",
    "bulk held up",
    "call unknown",
    "client ahead of a new ensemble",
    "client cut off past a lease",
    "came on an old connection",
    "clients cut off",
    "clients' delay",
    "connection out of date",
    "crash",
    "crash in a start",
    "damage found",
    "damage that did no harm",
    "delay",
    "disk fault",
    "election",
    "failing disk",
    "forced new ensemble",
    "full disk",
    "full disk in the calm",
    "install",
    "intrusion",
    "jump",
    "kill",
    "large value read",
    "large value written",
    "lesser pair",
    "loss",
    "lost name",
    "mere claim",
    "misdirected write",
    "newer build",
    "number changed hands",
    "node reaped",
    "nothing received",
    "number below 0",
    "one-way part",
    "overtaking",
    "part",
    "pair replaced",
    "pair silent",
    "part in halves",
    "part read or written",
    "pause",
    "put aside",
    "read judged",
    "reconfig",
    "refused at the door",
    "refused by ACL",
    "second machine let in",
    "repeat",
    "seen too much",
    "retired",
    "rot",
    "replaced while it lived",
    "seat lost",
    "seat lost to another machine",
    "session moved to another shard",
    "several reads at once",
    "several shards",
    "shard stall",
    "slow client cut off",
    "slow disk",
    "stall",
    "torn tail",
    "two machines of one number",
    "two servers at once",
    "verdict",
    "watch added",
    "watch event",
    "watch removed",
    "watches set again",
    "watches set again, persistent",
    "wipe",
    "write acknowledged",
];

/// What a run did and found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What is wrong; nothing if the run was clean.
    pub wrongs: Vec<String>,
    /// How much each rule judged.
    pub judged: BTreeMap<u32, Judged>,
    /// How often each thing happened.
    pub happened: BTreeMap<&'static str, u64>,
    /// Simulated milliseconds.
    pub simulated_ms: u64,
    /// The hash of every step.
    pub hash: u64,
    /// How many steps it is of.
    pub steps: u64,
    /// What happened last, in words.
    pub story: Vec<(u64, String)>,
    /// What the run was set to.
    pub setting: String,
    /// How many faults were to strike, those that were left out among them.
    pub struck: u64,
}

/// What a run is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// Simulated milliseconds under faults.
    pub faulty_ms: u64,
    /// Faults that are left out.
    pub without: Without,
}

impl Plan {
    /// With all that goes wrong.
    #[must_use]
    pub fn of(seed: u64, faulty_ms: u64) -> Self {
        Self { seed, faulty_ms, without: Without::default() }
    }
}

/// A run that is under way.
struct Run {
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
    hashes: Option<fn(u64, u64)>,
}

/// Plays a seed under no faults, with some clients and nobody who changes the members.
#[must_use]
pub fn quiet(founders: u64, seed: u64, simulated: Duration) -> Report {
    let mut run = Run::of(Random::new(seed), Some(founders));
    (run.faults, run.appetite) = (Faults::NONE, Appetite::LIGHT);
    (run.squeezes, run.loss) = (None, None);
    run.load = Load::new(run.appetite, founders, Random::new(seed));
    run.play(simulated.as_millis() as u64)
}

/// Plays a seed. `hashes` is told the hash of everything so far once a simulated second.
#[must_use]
pub fn play(plan: &Plan, hashes: Option<fn(u64, u64)>) -> Report {
    let mut run = Run::of(Random::new(plan.seed), None);
    run.hashes = hashes;
    run.faults = plan.without.apply(run.faults);
    run.ensemble.leave_out(plan.without.clone());
    run.play(plan.faulty_ms)
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
    let mut run = Run::of(Random::new(plan.seed), None);
    run.faults = plan.without.apply(run.faults);
    run.ensemble.leave_out(plan.without.clone());
    let wrongs = run.all(plan.faulty_ms);
    let Run { history, ensemble, standings, .. } = run;
    if wrongs.is_empty() { Ok(Remains { history, record: ensemble.record, standings }) } else { Err(wrongs) }
}

impl Run {
    fn play(mut self, faulty_ms: u64) -> Report {
        // Members and rules panic over what must never be; that is a finding as well.
        let done = catch_unwind(AssertUnwindSafe(|| self.all(faulty_ms)));
        let wrongs = done.unwrap_or_else(|panic| vec![format!("it broke: {}", words_of(&*panic))]);
        let Run { mut ensemble, history, setting, judged, .. } = self;
        calls::count(&history, &mut ensemble);
        let deliveries = history.connections.iter().flat_map(|connection| &connection.deliveries);
        let events = deliveries.filter(|(_, delivery)| matches!(delivery, Delivery::Event { .. }));
        ensemble.count("watch event", events.count() as u64);
        Report {
            wrongs,
            judged,
            simulated_ms: ensemble.now_ms(),
            hash: ensemble.trace.hash(),
            steps: ensemble.trace.steps(),
            story: ensemble.story().to_vec(),
            struck: ensemble.struck(),
            happened: ensemble.happened,
            setting,
        }
    }

    /// A run of so many founders, or of as many as are drawn.
    #[expect(clippy::too_many_lines, reason = "all draws of a run, in the order that a seed means")]
    fn of(mut random: Random, founders: Option<u64>) -> Self {
        let drawn = [1, 2, 3, 3, 3, 3, 4, 4, 5, 5][random.below(10) as usize];
        let founders = founders.unwrap_or(drawn);
        // What a run may lack is drawn apart: where it does, all else is as it always was.
        let mut apart = random.clone().fork();
        let mut config = config(&mut random);
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
            hashes: None,
        }
    }

    fn all(&mut self, faulty_ms: u64) -> Vec<String> {
        let before = self.go_wrong(faulty_ms);
        if !before.is_empty() {
            return before;
        }
        self.ensemble.heal();
        self.history.healed_ms = Some(self.ensemble.now_ms());
        let mut wrongs = self.rest();
        if wrongs.is_empty()
            && let Some(chance) = self.squeezes.take()
        {
            self.squeeze(chance);
            wrongs = self.rest();
        }
        if wrongs.is_empty() {
            self.history.served_ms = Some(self.ensemble.now_ms());
            self.history.served_from = self.history.calls.len();
            self.load.serve(&mut self.ensemble, &mut self.history);
            let until_ms = self.ensemble.now_ms() + CALM_MS;
            while self.ensemble.now_ms() < until_ms {
                self.calm_moment();
            }
            wrongs = self.rest();
        }
        self.history.ended_ms = self.ensemble.now_ms();
        self.history.link(&self.ensemble.sequences);
        if wrongs.is_empty() {
            self.standings = self.look_around();
        }
        wrongs.extend(self.verdict());
        wrongs
    }

    /// Everything goes wrong for so long. Gives what is wrong with an ensemble that was lost meanwhile.
    fn go_wrong(&mut self, faulty_ms: u64) -> Vec<String> {
        let mut wrongs = Vec::new();
        while self.ensemble.now_ms() < faulty_ms && wrongs.is_empty() {
            let faults = self.faults;
            self.moment(&faults);
            self.load.moment(&mut self.ensemble, &mut self.history);
            self.look_for_outsiders();
            let now_ms = self.ensemble.now_ms();
            if let Some(loss) = self.loss.take_if(|loss| loss.is_due(now_ms, faulty_ms)) {
                wrongs = self.lose(loss);
            }
        }
        wrongs
    }

    /// What the rules find in the end.
    fn verdict(&mut self) -> Vec<String> {
        let record = std::mem::take(&mut self.ensemble.record);
        let oracle = Oracle::of(&record);
        let reaped = oracle.transactions.iter().filter(|done| matches!(done.deed, Some(Deed::Reaped(..))));
        self.ensemble.count("node reaped", reaped.count() as u64);
        let wrongs = self.judge(&record, &oracle);
        self.ensemble.record = record;
        wrongs
    }

    fn judge(&mut self, record: &Record, oracle: &Oracle) -> Vec<String> {
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

    fn moment(&mut self, faults: &Faults) {
        let before = self.ensemble.now_ms() / 1000;
        self.ensemble.moment(faults);
        let now = self.ensemble.now_ms() / 1000;
        if let Some(tell) = self.hashes.filter(|_| now > before) {
            tell(now, self.ensemble.trace.hash());
        }
    }

    fn calm_moment(&mut self) {
        self.moment(&Faults::NONE);
        self.load.wait(&mut self.ensemble, &mut self.history);
    }

    /// One member's disk is full, for a while.
    fn squeeze(&mut self, mut chance: Random) {
        let members = self.members();
        let Some(member) = members.get(chance.below(members.len() as u64) as usize) else { return };
        let (clients, recovery_ms) = (self.appetite.clients, self.settings.recovery_max_ms());
        let Some(mut squeeze) = Squeeze::begin(&mut self.ensemble, *member, clients, recovery_ms) else {
            return;
        };
        while !squeeze.is_over() {
            self.calm_moment();
            squeeze.moment(&mut self.ensemble, &mut self.history);
        }
    }

    /// Everything comes to rest: gives what does not.
    fn rest(&mut self) -> Vec<String> {
        let until_ms = self.ensemble.now_ms() + REST_MAX_MS;
        while self.ensemble.now_ms() < until_ms {
            self.calm_moment();
            if self.load.is_done() && self.ensemble.is_whole() && self.is_settled() {
                return Vec::new();
            }
        }
        vec![format!("it does not come to rest:{}", self.describe())]
    }

    /// The members that are to be: all that runs, but those that were removed.
    fn members(&mut self) -> Vec<u64> {
        let Some(roster) = self.ensemble.roster() else { return Vec::new() };
        roster.members().map(|member| member.number).collect()
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
        text + &format!("\nmembers that are to be: {:?}", self.members())
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

/// Settings drawn so that everything that has a bound meets it.
fn config(random: &mut Random) -> NodeConfig {
    let mut core = CoreConfig { tick_ms: 100, reconfig_enabled: true, ..CoreConfig::new(MemberId(1), 1) };
    core.replica.election_tick_ms = 20 + random.below(40);
    core.replica.feature_level = LEVEL;
    core.replica.lease_ms = 1_500 + random.below(2_000);
    core.resubmit_ms = 300 + random.below(1_000);
    core.replica.entry_bytes_max = 300 + random.below(4_000) as usize;
    core.replica.snapshot_after_bytes = 10_000 + random.below(60_000);
    core.replica.window_bytes_max = 2_000 + random.below(60_000) as usize;
    // As good as drawn, and what else is drawn stays what it was.
    core.replica.lag_entries = 2 + core.resubmit_ms % 40;
    // What is worked on at a time is drawn apart: in most runs it is less than a command, so that everything is cut.
    let mut apart = random.clone().fork();
    let cut = |apart: &mut Random, few: u64, most: usize| match apart.chance(70) {
        true => (few + apart.below(8 * few)) as usize,
        false => most,
    };
    core.replica.apply_bytes_max = cut(&mut apart, 100, core.replica.apply_bytes_max);
    core.replica.snapshot_chunk_bytes = cut(&mut apart, 200, core.replica.snapshot_chunk_bytes);
    let chunks_at_once = 1 + apart.below(4) as usize;
    let record_bytes_max = cut(&mut apart, 300, 1 << 20);
    core.replica.chunks_unwritten_max = apart.below(5) as usize;
    if apart.chance(40) {
        core.epoch_transactions_max = 20 + apart.below(300) as u32;
    }
    core.under_way_max = cut(&mut apart, 300, 2 << 20) as u64;
    let snapshot_bytes_per_second = [u64::MAX, 200_000, 30_000][apart.below(3) as usize];
    let mut front = FrontConfig { timeout_min_ms: 200, timeout_max_ms: 60_000, ..FrontConfig::default() };
    front.policy = front.policy | Policy::RECONFIG_ENABLED | Policy::EXTENDED_TYPES;
    front.auth.super_digest = Some(digest::id_of(SUPER));
    NodeConfig {
        core,
        front,
        journal: JournalConfig { record_bytes_max, ..small_journal() },
        chunks_at_once,
        snapshot_bytes_per_second,
        journal_seed: None,
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        seed: [0; 32],
        founders: Vec::new(),
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests;
