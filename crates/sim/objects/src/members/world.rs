//! One run: members under faults with their clients; then everything heals and comes to rest, clients are served while all is
//! calm, they leave, and their sessions end; then the rules are applied.

use std::collections::BTreeMap;

use base::Random;
use sim_kit::{Floor, Judged, Plan, Simulation, World};

use super::client::{Admin, Clients, Mood, Run};
use super::faults::Faults;
use super::history::History;
use super::judge::{self, Evidence};
use super::node::{Modules, NodeConfig};
use super::operator::Operator;
use super::{Members, setting};
use crate::guests;

/// Seeds of runs with tokens and rights come from here.
const ACCESS_SEED: u64 = 0xacce_55ed;
/// Those of runs with modules in WebAssembly.
const WASM_SEED: u64 = 0xa53b_11e5;
/// Those of runs whose members change.
const OPERATOR_SEED: u64 = 0x0be7_a702;
/// Those of runs in which clients ask for backups.
const BACKUP_SEED: u64 = 0xbac0_0bac;
/// How long everything may take to come to rest after it healed, milliseconds.
const REST_MAX_MS: u64 = 180_000;
/// How long clients are served while all is calm, milliseconds.
const SERVED_MS: u64 = 8_000;
/// How long nobody asks for anything then: as long as a client waits, the longest time to live, and room.
const CALM_MS: u64 = 22_000;

/// What a hundred seeds of a minute must have judged: about a fifth of what they do.
const FLOORS: &[Floor] = &[
    (1, "answers and ends", 8_000),
    (1, "answers of guests", 200),
    (2, "calls of objects that are not there", 20),
    (2, "linearizable queries", 800),
    (2, "queries of guests", 150),
    (2, "renewals", 500),
    (2, "stale queries", 550),
    (3, "commands of members", 8_000),
    (3, "copies passed over", 120),
    (3, "repeats", 900),
    (4, "repeats", 900),
    (4, "repeats to guests", 150),
    (4, "replies", 3_500),
    (5, "answers", 7_000),
    (5, "requests", 5_000),
    (5, "tickets", 180),
    (6, "late requests", 15),
    (7, "answers", 7_000),
    (8, "answers without effect", 2_500),
    (8, "unknown outcomes", 12),
    (9, "objects with holders", 9_000),
    (10, "grants", 300),
    (11, "expiries", 500),
    (12, "sessions that end in the calm", 250),
    (13, "ends of sessions", 550),
    (13, "ends of sessions of which guests hear", 30),
    (13, "later acts", 30),
    (14, "calls that guests wake", 10),
    (14, "grants", 70),
    (15, "ends", 400),
    (15, "waits cancelled by members", 6),
    (16, "grants", 70),
    (17, "timeouts", 240),
    (17, "timers of guests", 10),
    (17, "waits that run out in the calm", 100),
    (18, "returns", 4),
    (19, "states of members", 25_000),
    (20, "runs of guests that fail", 200),
    (21, "objects of guests", 5_000),
    (21, "runs that take long, or wait for one", 30),
    (22, "calls of what is stopped", 80),
    (23, "constructors that kill", 2),
    (23, "deaths in queries", 5),
    (23, "deaths in runs", 30),
    (23, "imports that kill", 1),
    (24, "backups", 100),
    (24, "exports of guests", 15),
    (24, "imports of guests", 2),
    (24, "states behind another member's snapshot", 1_500),
    (26, "moves", 20),
    (26, "moves that fail", 8),
    (26, "tried moves", 3),
    (26, "tried moves that are refused", 8),
    (26, "ways back", 5),
    (27, "objects of guests that are created", 70),
    (27, "verdicts", 100),
    (30, "messages", 500),
    (30, "messages that are refused", 100),
    (31, "calls let in by a rate", 250),
    (31, "calls refused by a rate", 250),
    (31, "objects", 4_500),
    (31, "quotas", 3_000),
    (31, "sessions", 2_800),
    (32, "acts by revoked tokens", 8),
    (32, "answers behind a revocation", 30),
    (32, "principals in the log", 4_000),
    (32, "queries that are refused", 25),
    (32, "refusals by members", 150),
    (32, "shown rights and quotas", 80),
    (32, "waits that end forbidden", 3),
    (34, "runs that came to rest", 90),
];

/// What some hundred seeds must have reached.
const OF_MEMBERS: &[&str] = &[
    "admission",
    "answered by a ticket",
    "backup",
    "bulk delay",
    "call of a guest in a batch",
    "client gives up waiting",
    "clients cut off",
    "clients' delay",
    "clock jump",
    "connection broken",
    "constructor refused",
    "constructor that kills",
    "creation behind one that killed",
    "crash",
    "crash in a start",
    "delay",
    "disk fault",
    "disk stall",
    "disk wiped",
    "edge stall",
    "election",
    "failing disk",
    "full disk",
    "guest heard of a session's end",
    "guest moved",
    "guest moved with its memory",
    "guest ran for long",
    "guest released",
    "guest stopped",
    "guest woke a call",
    "kill",
    "killed in a run",
    "log without room",
    "long run that was called off",
    "loss",
    "member added",
    "member comes back",
    "member removed",
    "member turned off",
    "members changed",
    "membership lost",
    "move of a busy guest",
    "move that failed",
    "one-way partition",
    "overtaking",
    "partition",
    "partition in halves",
    "pause",
    "repeat",
    "repeat of what was answered",
    "repeat to a guest",
    "session found silent",
    "session left without a word",
    "slow disk",
    "snapshot installed",
    "timer of a guest",
    "version deleted",
    "version rejected",
    "version released",
    "way back by a move",
    "way back with its memory",
    "way back that loses commands",
    "way back to the memory of before",
];

/// The same, and what the guests must have come to.
const REACHED: &[&str] = &joined::<{ OF_MEMBERS.len() + guests::REACHED.len() }>(OF_MEMBERS, guests::REACHED);

const fn joined<const COUNT: usize>(some: &[&'static str], others: &[&'static str]) -> [&'static str; COUNT] {
    let mut all = [""; COUNT];
    let mut index = 0;
    while index < COUNT {
        all[index] = if index < some.len() { some[index] } else { others[index - some.len()] };
        index += 1;
    }
    all
}

/// What a run is at.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Everything goes wrong.
    Faults,
    /// Clients end what they have begun, and everything comes to rest, until then at the latest.
    Rest {
        until_ms: u64,
    },
    /// All is calm, and clients are served.
    Served {
        until_ms: u64,
    },
    /// They have left.
    Calm {
        until_ms: u64,
    },
    /// Everything comes to rest once more.
    LastRest {
        until_ms: u64,
    },
    Over,
}

/// See the module.
pub struct MembersWorld {
    members: Members,
    clients: Clients,
    history: History,
    /// There are tokens and rights.
    has_access: bool,
    /// There are quotas.
    has_quotas: bool,
    faults: Faults,
    faulty_ms: u64,
    phase: Phase,
    wrongs: Vec<String>,
    judged: BTreeMap<u32, Judged>,
    setting: String,
}

impl World for MembersWorld {
    const COMMAND: &'static str = "cargo xtask sim-objects --members";
    const LIGHT: &'static str = "without faults: measures the speed of the simulator";
    const OWN_OPTION: &'static str = "  --members      plays whole members of the group, under faults";
    const REACHED: &'static [&'static str] = REACHED;
    const FLOORS: &'static [Floor] = FLOORS;

    fn begin(plan: &Plan) -> Self {
        let mut random = Random::new(plan.seed.wrapping_mul(0x9e37_79b9).wrapping_add(3));
        let count = setting::draw_members(&mut random);
        let mut config = setting::draw(&mut random);
        let mut faults = Faults::draw(&mut random);
        faults.of_messages = plan.without.apply(faults.of_messages);
        if plan.light {
            faults = Faults::default();
        }
        let has_access = draw_access(plan.seed, &mut config);
        let admin = Admin::of(plan.seed, Run::of(config.modules, has_access));
        let has_quotas = admin.has_quotas();
        let mut clients = Clients::new((config.modules, has_access), admin, random.fork());
        let has_backups = clients.may_ask_for_backups(Random::new(plan.seed ^ BACKUP_SEED));
        let mut operator = Random::new(plan.seed ^ OPERATOR_SEED);
        let has_operator = count >= 3 && !plan.light && operator.chance(25);
        let setting = format!(
            "{count} members, changed {has_operator}, modules {:?}, tokens {has_access}, backups {has_backups}, {}, {faults:?}",
            config.modules,
            clients.setting()
        );
        let mut members = Members::new(count, config, random.fork());
        members.sim.leave_out(plan.without.clone());
        members.operator = has_operator.then(|| Operator::new(operator));
        let faulty_ms = members.sim.now_ms() + plan.faulty_ms;
        Self {
            members,
            clients,
            history: History::default(),
            has_access,
            has_quotas,
            faults,
            faulty_ms,
            phase: Phase::Faults,
            wrongs: Vec::new(),
            judged: BTreeMap::new(),
            setting,
        }
    }

    fn setting(&self) -> String {
        self.setting.clone()
    }

    fn simulation(&self) -> &Simulation {
        &self.members.sim
    }

    fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.members.sim
    }

    fn step(&mut self) -> bool {
        let now_ms = self.members.sim.now_ms();
        match self.phase {
            Phase::Faults if now_ms < self.faulty_ms => self.moment(true, Mood::Busy),
            Phase::Faults => {
                self.members.heal();
                self.phase = Phase::Rest { until_ms: now_ms + REST_MAX_MS };
            }
            Phase::Rest { until_ms } => {
                self.moment(false, Mood::Ending);
                if self.comes_to_rest(until_ms) {
                    self.history.calm_from_ms = Some(now_ms);
                    self.phase = Phase::Served { until_ms: now_ms + SERVED_MS };
                }
            }
            Phase::Served { until_ms } if now_ms < until_ms => self.moment(false, Mood::Busy),
            Phase::Served { .. } => {
                self.clients.leave_all(&mut self.members, &mut self.history);
                self.phase = Phase::Calm { until_ms: now_ms + CALM_MS };
            }
            Phase::Calm { until_ms } if now_ms < until_ms => self.moment(false, Mood::Ending),
            Phase::Calm { .. } => self.phase = Phase::LastRest { until_ms: now_ms + REST_MAX_MS },
            Phase::LastRest { until_ms } => {
                self.moment(false, Mood::Ending);
                if self.comes_to_rest(until_ms) {
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => {}
        }
        !matches!(self.phase, Phase::Over)
    }

    fn judge(&mut self) -> Vec<String> {
        let mut wrongs = std::mem::take(&mut self.wrongs);
        self.history.ended_ms = self.members.sim.now_ms();
        let replica = &self.members.config.core;
        let evidence = Evidence {
            record: &self.members.record,
            history: &self.history,
            lease_ms: replica.replica.lease_ms,
            tick_ms: replica.tick_ms,
            modules: self.members.config.modules,
            has_access: self.has_access,
            has_quotas: self.has_quotas,
        };
        let findings = judge::judge(&evidence);
        self.judged = findings.judged;
        findings.reached.iter().for_each(|(what, count)| self.members.sim.count(what, *count));
        wrongs.extend(findings.wrongs);
        wrongs
    }

    fn judged(&self) -> BTreeMap<u32, Judged> {
        self.judged.clone()
    }

    fn sum_up(&mut self) {
        let sim = &mut self.members.sim;
        sim.count("call", self.history.calls.len() as u64);
        sim.count("attempt", self.history.attempts.len() as u64);
        sim.count("entry of the log", self.members.record.entries.len() as u64);
    }
}

/// Whether there are tokens and rights, or types of users in WebAssembly: no model knows guests and their rights. Drawn apart, so that
/// a seed without it takes the steps that it always took.
fn draw_access(seed: u64, config: &mut NodeConfig) -> bool {
    let is_plain = config.modules == Modules::None;
    let has_access = is_plain && Random::new(seed ^ ACCESS_SEED).chance(40);
    let mut wasm = Random::new(seed ^ WASM_SEED);
    if is_plain && !has_access && wasm.chance(60) {
        config.modules = Modules::WebAssembly(wasm.number());
    }
    has_access
}

impl MembersWorld {
    fn moment(&mut self, is_faulty: bool, mood: Mood) {
        self.members.moment(is_faulty.then_some(&self.faults));
        self.clients.moment(&mut self.members, &mut self.history, mood);
    }

    /// Whether everything has come to rest. If it does not in time, the run is over.
    fn comes_to_rest(&mut self, until_ms: u64) -> bool {
        if self.members.sim.now_ms() >= until_ms {
            let words = format!(
                "it does not come to rest:{}{}",
                self.members.describe(),
                self.clients.describe(&self.history)
            );
            self.wrongs.push(words);
            self.phase = Phase::Over;
            return false;
        }
        self.clients.are_done() && self.members.is_at_rest()
    }
}
