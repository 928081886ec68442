//! Whole members of the objects' group under faults: the shipped cores with their edges, journals, starts and recovery, on
//! simulated disks, networks and clocks. Clients send requests of HTTP to `objects_http`. One seed decides everything.
//!
//! # Who judges
//! When everything has healed and come to rest, the log, as the members have applied it, is played into the sequential models
//! of [`crate::model`] and into a state that never saw a snapshot, under the rules of [`crate::rules`]. What each client was
//! told must be what the log says of its request; each member's digest must be that state's at the same position. Every query
//! is evaluated again at the position that its answer names.
//!
//! # Not done, and what that costs
//! - Types of users in words are run by the engine of the state's own tests, and no model knows them: there the log is played
//!   into a state alone, which keeps no memory between runs. Those in WebAssembly have models ([`crate::guests`]), and the
//!   built-in types beside them have none.
//! - No process dies while a version is compiled, or a timer or an end runs.
//! - Where there are types of users there are no quotas but those of calls per second: their models know none.
//! - Streams of events are opened and keep their sessions; what they say is not compared.
//! - Members are changed while all are there, one change at a time; all of them vote. Bytes on disks do not rot.
//! - That a member's engine or memory is not as the others' is in tests alone (`uneven.rs`): until it is found its clients may be
//!   told what is wrong.

mod backup;
mod client;
#[allow(clippy::disallowed_types, reason = "an engine is shared with its threads")]
mod deaths;
pub(crate) mod edge;
#[path = "../../../../objects/state/tests/support/engine.rs"]
#[allow(dead_code, reason = "a part of it is used here")]
#[allow(clippy::disallowed_types, reason = "its locks are never waited for")]
mod engine;
mod faults;
pub(crate) mod history;
mod judge;
mod machine;
mod node;
mod operator;
mod process;
mod record;
mod setting;
mod traffic;
mod travel;
mod uneven;
#[allow(clippy::disallowed_types, reason = "an engine is shared with its threads")]
mod wasm;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use base::{MemberNumber, Random};
use consensus_replica::WantedMembers;
use consensus_replica::lifecycle::Ending;
use sim_group::NodeError;
use sim_kit::Simulation;
use sim_kit::network::Network;
use sim_kit::peers::{self, Peering};

use edge::FromClient;
use faults::Faults;
use machine::{Machine, Stage};
use node::{Node, NodeConfig, Step};
use operator::Operator;
use record::Record;

pub use world::MembersWorld;

/// The machines, and what lies between them.
struct Members {
    sim: Simulation,
    config: NodeConfig,
    machines: BTreeMap<u64, Machine>,
    peering: Peering,
    /// The numbers of those that begin.
    founders: Vec<u64>,
    /// The numbers of those that are to be members.
    wanted: Vec<u64>,
    /// Who changes that, if anybody does.
    operator: Option<Operator>,
    /// There is only one, which never looks for others.
    is_alone: bool,
    /// Members that no client reaches.
    unreached: BTreeSet<u64>,
    /// Members whose clients are far away: how much longer everything takes, and until when.
    client_delays: BTreeMap<u64, (u64, u64)>,
    /// A disk was lost, and its member has not come back.
    is_disk_lost: bool,
    /// When all faults ended.
    healed_ms: Option<u64>,
    /// Whether a change of members may be under way.
    is_changing: bool,
    lives: u64,
    /// Members whose engines come to other results, and by how much.
    uneven: BTreeMap<u64, u8>,
    /// Whether a member may be found to differ from the others; otherwise that is wrong.
    may_differ: bool,
    /// Members that were, and how their cores ended.
    differed: Vec<(u64, Ending)>,
    record: Record,
}

impl Members {
    /// Members 1 to `count`, with blank disks.
    fn new(count: u64, config: NodeConfig, mut random: Random) -> Self {
        let (drifts, proven) = (random.chance(70), random.chance(80));
        let base_max_ms = [0, 2, 20][random.below(3) as usize];
        let level = config.core.replica.feature_level;
        let machine = |number| (number, Machine::new(number, &mut random, drifts, level));
        let machines = (1..=count).map(machine).collect();
        let mut members = Self {
            sim: Simulation::new(random),
            config,
            machines,
            peering: Peering::new(Network::new(base_max_ms), proven),
            founders: (1..=count).collect(),
            wanted: (1..=count).collect(),
            operator: None,
            is_alone: count == 1,
            unreached: BTreeSet::new(),
            client_delays: BTreeMap::new(),
            is_disk_lost: false,
            healed_ms: None,
            is_changing: false,
            lives: 0,
            uneven: BTreeMap::new(),
            may_differ: false,
            differed: Vec::new(),
            record: Record::default(),
        };
        (1..=count).for_each(|number| members.start(number));
        members
    }

    fn numbers(&self) -> Vec<u64> {
        self.machines.keys().copied().collect()
    }

    /// The members whose cores run.
    fn running(&self) -> Vec<u64> {
        self.machines.iter().filter(|(_, machine)| machine.is_running()).map(|(number, _)| *number).collect()
    }

    fn down(&self) -> Vec<u64> {
        let is_down = |machine: &Machine| machine.process.is_none() && !machine.off;
        self.machines.iter().filter(|(_, machine)| is_down(machine)).map(|(number, _)| *number).collect()
    }

    fn machine(&mut self, number: u64) -> &mut Machine {
        self.machines.get_mut(&number).expect("a machine of that number")
    }

    fn node(&mut self, number: u64) -> Option<&mut Node> {
        self.machines.get_mut(&number)?.node()
    }

    /// Which of all lives a member has now; a connection does not outlast it.
    fn life(&self, number: u64) -> Option<u64> {
        self.machines.get(&number).filter(|machine| machine.is_running()).map(|machine| machine.life)
    }

    /// Who is to be a member.
    fn wanted(&self) -> WantedMembers {
        self.wanted.iter().map(|number| (MemberNumber::of(*number), true)).collect()
    }

    /// Whether all that are to be members run, vote, and know each other.
    fn is_whole(&mut self) -> bool {
        let wanted = self.wanted.clone();
        let mut seen = Vec::new();
        for number in &wanted {
            let Some(node) = self.node(*number) else { return false };
            let (id, membership) = (node.core().id(), node.core().membership().clone());
            if !membership.voters.contains(&id) || !membership.voters_outgoing.is_empty() {
                return false;
            }
            let voters: BTreeSet<_> = membership.voters.into_iter().collect();
            seen.push((node.core().cluster(), voters));
        }
        let is_same = |one: &(_, BTreeSet<_>)| *one == seen[0] && one.1.len() == wanted.len();
        seen.iter().all(is_same)
    }

    /// One moment in which something happens, and time passes.
    fn moment(&mut self, faults: Option<&Faults>) {
        if let Some(faults) = faults {
            self.misfortune(faults);
        }
        self.operate(faults.is_some());
        self.restart_the_killed();
        self.execute_commands(faults.is_some_and(Faults::may_crash));
        let of_messages = faults.map(|faults| faults.of_messages).unwrap_or_default();
        let most = 6 + self.peering.network.in_flight() as u64 / 2;
        for _ in 0..1 + self.sim.random.below(most) {
            if !peers::deliver(self, of_messages) {
                break;
            }
        }
        for number in self.running() {
            self.work(number);
        }
        if self.sim.random.chance(60) {
            let passed_ms = 1 + self.sim.random.below(20);
            self.pass(passed_ms);
        }
        self.sim.end_moment();
    }

    /// A member takes one of its steps, or each of them.
    fn work(&mut self, number: u64) {
        let edges = self.node(number).map_or(1, |node| u64::from(node.edges()));
        let edge = self.sim.random.below(edges) as u16;
        let steps = [Step::Edge(edge), Step::CoreOf(edge), Step::Advance, Step::Journal, Step::Apply];
        let (one, all) = (self.sim.random.below(steps.len() as u64) as usize, self.sim.random.chance(50));
        self.step(number, steps[one]);
        if all {
            for edge in 0..edges as u16 {
                self.step(number, Step::Edge(edge));
                self.step(number, Step::CoreOf(edge));
            }
            steps[2..].iter().for_each(|step| self.step(number, *step));
        }
    }

    fn step(&mut self, number: u64, step: Step) {
        let now_ms = self.sim.now_ms();
        let machine = self.machine(number);
        let stands_still = match step {
            Step::Journal => machine.host.is_disk_stalled(now_ms),
            Step::Edge(edge) => machine.is_edge_stalled(edge, now_ms),
            _ => false,
        };
        if stands_still || machine.host.is_paused(now_ms) {
            return;
        }
        machine.pace_flushes(now_ms);
        let mono = machine.host.mono(now_ms);
        let stepped = self.at_node(number, |node| {
            node.look_at_clock(mono);
            node.step(step)
        });
        let Some(stepped) = stepped else { return };
        self.sim.trace.step("step", &[number, step.number(), now_ms]);
        self.collect(number);
        self.open_backups(number);
        let differs = self.node(number).and_then(|node| node.differs());
        if let Some(ending) = differs.filter(|_| self.may_differ) {
            self.differed.push((number, ending));
            self.sim.tell("member that differs", format_args!("member {number} differs: {ending:?}"));
            return self.core_ended(number, ending);
        }
        match stepped {
            Ok(()) => {}
            // A disk says so only while it is full; the core may hear of it when there is room again.
            Err(NodeError::Fault(error)) if self.may_fail(number) || error.contains("no space") => {
                self.sim.tell("disk fault", format_args!("member {number} stops: {error}"));
                self.stop(number);
            }
            Err(error) => panic!("member {number}: {error:?}"),
        }
    }

    fn may_fail(&mut self, number: u64) -> bool {
        self.machine(number).host.may_fail()
    }

    /// Time passes, for whoever does not stand still.
    fn pass(&mut self, ms: u64) {
        self.sim.pass(ms);
        let now_ms = self.sim.now_ms();
        for number in self.numbers() {
            if self.machine(number).host.is_paused(now_ms) {
                continue;
            }
            peers::tend(self, number);
            self.ask_others(number);
            let mono = self.machine(number).host.mono(now_ms);
            self.at_node(number, |node| {
                node.look_at_clock(mono);
                node.pass();
            });
            self.collect(number);
            if let Some(ending) = self.node(number).and_then(|node| Ending::of(node.core().tenure())) {
                self.core_ended(number, ending);
            }
        }
    }

    /// Something of a client comes to an edge. False if that process is over.
    fn receive(&mut self, (number, life, edge): (u64, u64, u16), from: FromClient) -> bool {
        if self.life(number) != Some(life) {
            return false;
        }
        self.at_node(number, |node| node.receive(edge, from));
        true
    }

    /// The life of a member's core is over. `told`: its clients hear of it.
    fn end_life(&mut self, number: u64, told: bool) {
        let machine = self.machine(number);
        let had_core = matches!(machine.stage(), Some(Stage::Running(_)));
        let life = machine.life;
        // A process that died while it was asked has none any more.
        if had_core || machine.process.is_none() {
            self.record.ended.push((life, told));
            self.record.ended_ms.insert(life, self.sim.now_ms());
        }
    }

    /// What a member did last that died while it was asked: nothing of it left the machine.
    fn note_death(&mut self, number: u64, node: &mut Node) {
        let (now_ms, life) = (self.sim.now_ms(), self.machine(number).life);
        let incarnation = node.core().status().incarnation;
        let mut news = node.take_news();
        news.edges.iter_mut().for_each(|news| news.says.clear());
        news.outgoing.clear();
        self.record.look(now_ms, (number, life, incarnation), news);
    }

    /// How much longer what goes between a member and its clients takes now, milliseconds; nothing comes through if it is cut
    /// off.
    fn client_delay_ms(&self, number: u64) -> Option<u64> {
        if self.unreached.contains(&number) {
            return None;
        }
        let delay = self.client_delays.get(&number).filter(|(_, until_ms)| self.sim.now_ms() < *until_ms);
        Some(delay.map_or(0, |(extra_ms, _)| *extra_ms))
    }

    /// All faults end: every member runs, everything comes through.
    fn heal(&mut self) {
        self.sim.tell("faults end", format_args!("all faults end"));
        self.healed_ms = Some(self.sim.now_ms());
        for machine in self.machines.values_mut() {
            machine.stalled_edges.clear();
            machine.host.heal();
        }
        self.down().into_iter().for_each(|number| self.start(number));
        self.peering.network.speed_up(self.sim.now_ms());
        self.client_delays.clear();
        self.mend();
    }

    /// Whether all members serve, have the same, and nothing of clients is under way at them.
    fn is_at_rest(&mut self) -> bool {
        if !self.is_whole() {
            return false;
        }
        let mut seen = Vec::new();
        for number in self.wanted.clone() {
            let Some(node) = self.node(number) else { return false };
            let status = node.core().status();
            if !status.serving || !status.writable || !node.is_idle() {
                return false;
            }
            seen.push((status.applied_index, node.state().digest()));
        }
        seen.iter().all(|one| *one == seen[0])
    }

    /// How all members stand, for people.
    fn describe(&mut self) -> String {
        let mut text = String::new();
        for number in self.numbers() {
            let machine = self.machine(number);
            let doing = machine.process.as_ref().map(|process| process.lifecycle.describe());
            text += &format!("\nmember {number} is {}", doing.unwrap_or_else(|| "down".into()));
            if let Some(node) = self.node(number) {
                let is_idle = node.is_idle();
                text += &format!(", idle {is_idle}: {:?}", node.core().status());
            }
        }
        text
    }
}
