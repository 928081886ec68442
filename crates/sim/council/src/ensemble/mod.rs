//! Several members and what lies between them: a network that loses, delays, repeats and reorders, links that break,
//! members that crash, pause, lose their disk and come back, disks that stall, fail and fill up, clocks that drift and
//! jump, machines that are added and turned off. What happens next is decided by a seed. Knows no rule of what is right.

mod damage;
mod double;
mod faults;
mod machine;
mod process;
mod revival;
mod starts;
mod traffic;

pub use faults::Faults;
pub use revival::{Forced, force};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;

use base::{MemberId, MemberNumber};
use consensus_replica::founding::FoundingMessage;
use consensus_replica::lifecycle::{Command, Ending};
use council_replica::PeerMessage;
use council_tree::{Member, Roster};
use sim_kit::Simulation;
use sim_kit::network::Network;
use sim_kit::peers::{self, Peering};

use crate::disk::SimDisk;
use crate::node::{Node, NodeConfig, NodeError, STEPS, SocketId, Step};
use crate::random::Random;
use crate::record::Record;
use machine::Machine;
use process::Stage;

/// After how long without faults an operator looks after members that wait for one, milliseconds.
const OPERATOR_MS: u64 = 15_000;

/// Several members, known by their numbers.
pub struct Ensemble {
    /// The clock, the random numbers, the faults and the story.
    pub sim: Simulation,
    config: NodeConfig,
    machines: BTreeMap<u64, Machine>,
    /// The network between members, and the connections that they keep.
    pub(crate) peering: Peering,
    /// The number that there are two machines of, and the last that there were.
    doubled: Option<u64>,
    was_doubled: Option<u64>,
    /// Members that no client reaches.
    unreached: BTreeSet<u64>,
    /// Members whose clients are far away: how much longer everything takes, and until when.
    client_delays: BTreeMap<u64, (u64, u64)>,
    /// Whether clocks run at paces of their own.
    drifts: bool,
    /// A disk was lost and is not made good yet.
    wiped: bool,
    /// A change of members may be under way, as whoever asks for one says.
    pub changing: bool,
    /// When all faults ended.
    healed_ms: Option<u64>,
    moments: u64,
    lives: u64,
    /// What the members did, for those who judge.
    pub record: Record,
    /// Requests that became commands: the member's life, the connection and the request, and the command's number.
    pub sequences: BTreeMap<(u64, SocketId, i32), u64>,
}

impl Ensemble {
    /// Members 1 to `members`, with blank disks.
    #[must_use]
    pub fn new(members: u64, mut config: NodeConfig, mut random: Random) -> Self {
        config.core.roster = Some(Roster::new((1..=members).map(member_of)));
        let drifts = random.chance(70);
        let proven = random.chance(80);
        let base_max_ms = [0, 2, 20][random.below(3) as usize];
        // Founders of an older build are given the newer one when they start again.
        let newest = config.core.replica.feature_level;
        let level = if random.chance(30) { newest - 1 } else { newest };
        let machines =
            (1..=members).map(|number| (number, Machine::new(&mut random, drifts, true, level))).collect();
        let mut ensemble = Self {
            sim: Simulation::new(random),
            config,
            machines,
            peering: Peering::new(Network::new(base_max_ms), proven),
            doubled: None,
            was_doubled: None,
            unreached: BTreeSet::new(),
            client_delays: BTreeMap::new(),
            drifts,
            wiped: false,
            changing: false,
            healed_ms: None,
            moments: 0,
            lives: 0,
            record: Record::default(),
            sequences: BTreeMap::new(),
        };
        (1..=members).for_each(|number| ensemble.start(number));
        ensemble
    }

    /// Counts that something happened, and tells it.
    pub(crate) fn tell(&mut self, what: &'static str, words: Arguments<'_>) {
        self.sim.tell(what, words);
    }

    /// Counts something.
    pub fn count(&mut self, what: &'static str, more: u64) {
        self.sim.count(what, more);
    }

    /// Milliseconds that have passed.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.sim.now_ms()
    }

    /// The members that run and have a seat.
    #[must_use]
    pub fn running(&self) -> Vec<u64> {
        let seated = self.machines.iter().filter(|(_, machine)| machine.is_running());
        seated.map(|(number, _)| *number).collect()
    }

    /// The numbers of all machines that there are.
    #[must_use]
    pub fn numbers(&self) -> Vec<u64> {
        self.machines.keys().copied().collect()
    }

    /// The members that are to be, as the member knows that has come farthest. Nothing while none has come as far as
    /// somebody once had: what that one knew may have been a change of members.
    #[must_use]
    pub fn roster(&mut self) -> Option<Roster> {
        self.farthest()?.core().roster().cloned()
    }

    fn farthest(&mut self) -> Option<&mut Node<SimDisk>> {
        let whole_index = self.record.whole_index;
        let machines = self.machines.values_mut().filter(|machine| !machine.outsider);
        let nodes = machines.filter_map(Machine::node);
        let farthest = nodes.max_by_key(|node| node.applied_index())?;
        (farthest.applied_index() >= whole_index).then_some(farthest)
    }

    /// Whether a disk was lost that is not made good yet.
    #[must_use]
    pub const fn has_lost_disk(&self) -> bool {
        self.wiped
    }

    /// The highest level that the builds of all these members understand.
    #[must_use]
    pub fn level_of(&self, members: &[u64]) -> u32 {
        let machines = members.iter().filter_map(|number| self.machines.get(number));
        machines.map(|machine| machine.level).min().unwrap_or(0)
    }

    /// Whether anything comes through between a member and clients.
    #[must_use]
    pub fn is_reached(&self, number: u64) -> bool {
        !self.unreached.contains(&number)
    }

    /// How much longer what goes between a member and its clients takes now, milliseconds.
    #[must_use]
    pub fn client_delay_ms(&self, number: u64) -> u64 {
        let delay = self.client_delays.get(&number).filter(|(_, until_ms)| self.sim.now_ms() < *until_ms);
        delay.map_or(0, |(extra_ms, _)| *extra_ms)
    }

    /// When a member's shard last began to stand still in this life; 0 if it never did.
    #[must_use]
    pub fn stood_still_from_ms(&self, number: u64, shard: u16) -> u64 {
        self.machines.get(&number).map_or(0, |machine| machine.stood_still_from_ms(shard))
    }

    /// Whether a member's shard stands still now.
    #[must_use]
    pub fn stands_still(&self, number: u64, shard: u16) -> bool {
        let now_ms = self.sim.now_ms();
        let stands =
            |machine: &Machine| machine.host.is_paused(now_ms) || machine.is_shard_stalled(shard, now_ms);
        self.machines.get(&number).is_some_and(stands)
    }

    fn is_member(&mut self, number: u64) -> bool {
        let Ok(number) = MemberNumber::try_from(number) else { return false };
        self.roster().is_some_and(|roster| roster.member(number).is_some())
    }

    /// Whether the members that are to be are those that there are: every one runs, has a seat in the same ensemble, and
    /// knows who votes and who only learns.
    pub fn is_whole(&mut self) -> bool {
        if self.doubled.is_some() {
            return false;
        }
        let Some(roster) = self.roster() else { return false };
        // One that was replaced while it lived takes itself for a member as long as nobody tells it otherwise.
        let seats = self.farthest().map(|node| node.core().membership().clone()).unwrap_or_default();
        let votes: BTreeSet<u64> = roster.participants().into_iter().map(u64::from).collect();
        let all: BTreeSet<u64> = roster.members().map(|member| member.number.into()).collect();
        let clusters: BTreeSet<_> = all.iter().map(|number| self.cluster(*number)).collect();
        clusters.len() == 1
            && all.iter().all(|number| {
                let Some(node) = self.node(*number) else { return false };
                let id = node.core().id();
                let membership = node.core().membership();
                let numbers =
                    |ids: &[MemberId]| ids.iter().map(|id| id.number().into()).collect::<BTreeSet<u64>>();
                let is_seated = membership.voters.contains(&id) == votes.contains(number);
                is_seated
                    && seats.contains(id)
                    && membership.voters_outgoing.is_empty()
                    && membership.learners_next.is_empty()
                    && numbers(&membership.voters) == votes
                    && numbers(&membership.learners) == &all - &votes
                    && node.core().roster() == Some(&roster)
            })
    }

    /// Which of all lives a member has now; a connection does not outlast it.
    #[must_use]
    pub fn life(&self, number: u64) -> Option<u64> {
        self.machines.get(&number).filter(|machine| machine.is_running()).map(|machine| machine.born)
    }

    /// A member, if it runs.
    pub fn node(&mut self, number: u64) -> Option<&mut Node<SimDisk>> {
        self.machines.get_mut(&number)?.node()
    }

    fn machine(&mut self, number: u64) -> &mut Machine {
        self.machines.get_mut(&number).expect("a machine of that number")
    }

    /// One moment in which something happens, and time passes.
    pub fn moment(&mut self, faults: &Faults) {
        self.moments += 1;
        self.misfortune(faults);
        self.execute_commands(faults);
        let most = 6 + self.peering.network.in_flight() as u64 / 2;
        for _ in 0..1 + self.sim.random.below(most) {
            if !peers::deliver(self, faults.of_messages()) {
                break;
            }
        }
        for number in self.running() {
            let (step, twice) =
                (self.sim.random.below(STEPS.len() as u64) as usize, self.sim.random.chance(50));
            self.step(number, STEPS[step]);
            if twice {
                STEPS.into_iter().for_each(|step| self.step(number, step));
            }
        }
        if self.sim.random.chance(60) {
            let passed = 1 + self.sim.random.below(20);
            self.pass(passed);
        }
        self.sim.end_moment();
    }

    /// The shard of a member that a client is given to: its listener gives each to the next.
    pub fn shard_for_client(&mut self, number: u64) -> u16 {
        let shards = self.node(number).map_or(1, |node| node.shard_count());
        self.sim.random.below(u64::from(shards)) as u16
    }

    /// A step of one member. Its shards are threads of their own: some make a round now, and of some the core takes
    /// what they have sent.
    pub fn step(&mut self, number: u64, step: Step) {
        let of: fn(u16) -> Step = match step {
            Step::Shards => Step::Shard,
            Step::Core => Step::CoreOf,
            other => return self.step_one(number, other),
        };
        let shards = self.node(number).map_or(0, |node| node.shard_count());
        for shard in 0..shards {
            let comes = shards == 1 || self.sim.random.chance(60);
            let now_ms = self.sim.now_ms();
            let stalls = step == Step::Shards && self.machine(number).is_shard_stalled(shard, now_ms);
            if comes && !stalls {
                self.step_one(number, of(shard));
            }
        }
    }

    fn step_one(&mut self, number: u64, step: Step) {
        let now_ms = self.sim.now_ms();
        let machine = self.machine(number);
        if machine.host.is_paused(now_ms) || (step == Step::Journal && machine.host.is_disk_stalled(now_ms)) {
            return;
        }
        machine.pace_flushes(now_ms);
        let mono = machine.host.mono(now_ms);
        let Some(node) = machine.node() else { return };
        node.look_at_clock(mono);
        let stepped = node.step(step);
        self.sim.trace.step("step", &[number, step.number(), now_ms]);
        self.collect(number);
        match stepped {
            Ok(()) => {}
            Err(NodeError::Fault(error)) if self.may_fail(number) || tells_of_no_room(&error) => {
                self.tell("disk fault", format_args!("member {number} stops: {error}"));
                self.stop(number);
            }
            Err(NodeError::Fault(error)) if self.is_outdated(number) && error.contains("feature level") => {
                // It was not there when the others went on; its operator does what it says.
                self.machine(number).level = self.config.core.replica.feature_level;
                self.tell("newer build", format_args!("member {number} stops and gets a newer build"));
                self.stop(number);
                self.start(number);
            }
            Err(error) => panic!("member {number}: {error:?}"),
        }
    }

    fn is_outdated(&mut self, number: u64) -> bool {
        self.machine(number).level < self.config.core.replica.feature_level
    }

    fn may_fail(&mut self, number: u64) -> bool {
        let machine = self.machine(number);
        machine.host.may_fail()
    }

    /// Time passes, for whoever does not stand still.
    #[expect(clippy::too_many_lines, reason = "a moment of all machines, in the order that a seed means")]
    pub fn pass(&mut self, ms: u64) {
        self.sim.pass(ms);
        let now_ms = self.sim.now_ms();
        for number in self.numbers() {
            if !self.machine(number).host.is_paused(now_ms) {
                peers::tend(self, number);
            }
        }
        let mut commands = Vec::new();
        for (number, machine) in &mut self.machines {
            let (paused, mono) = (machine.host.is_paused(now_ms), machine.host.mono(now_ms));
            let Some(process) = machine.process.as_mut().filter(|_| !paused) else { continue };
            match &mut process.stage {
                Stage::Running(node) => {
                    node.look_at_clock(mono);
                    node.pass(0);
                }
                Stage::Asking => {
                    let command = process.lifecycle.tick(mono);
                    for (to, message) in process.lifecycle.take_outgoing() {
                        self.record.claims_told += 1;
                        if machine.was_member
                            && matches!(message, FoundingMessage::Blank { founds: true, .. })
                        {
                            let words =
                                format!("member {number} had an identity, and says that it may bootstrap");
                            self.record.misused_memberships.push(words);
                        }
                        let mut bytes = Vec::new();
                        PeerMessage::Founding(message).encode(&mut bytes);
                        self.peering.send_to_number(*number, to, bytes, &mut self.sim);
                    }
                    commands.extend(command.map(|command| (*number, command)));
                }
                Stage::Next(_) => {}
            }
        }
        self.running().into_iter().for_each(|number| self.collect(number));
        for (number, command) in commands {
            if command == Command::Open {
                self.tell("membership confirmed", format_args!("member {number} keeps its membership"));
            }
            self.follow(number, command);
        }
        for number in self.running() {
            match self.node(number).and_then(|node| Ending::of(node.core().tenure())) {
                None => self.look_after(number),
                Some(ending) => self.core_ended(number, ending),
            }
        }
        self.watch_double();
    }

    /// A member that was replaced while it was away, and of whose ensemble too few are left to tell it so, waits for its
    /// operator, as docs/ensembles.md says: no software can tell it from a member whose ensemble was taken over. The operator
    /// does what it logs, and does so only there: a member that can be told has to mend itself, or there is no rest.
    fn look_after(&mut self, number: u64) {
        let calm = self.healed_ms.is_some_and(|healed_ms| self.sim.now_ms() >= healed_ms + OPERATOR_MS);
        if calm && self.waits_for_operator(number) {
            self.tell(
                "operator empties a disk",
                format_args!(
                    "member {number} was replaced and cannot know it: the operator empties its disk"
                ),
            );
            self.empty(number);
            self.machine(number).founder = false;
            self.start(number);
        }
    }

    /// Whether a member is told that it was replaced, and fewer run of those that it knows than it has to be told by. One
    /// that waits in the same way tells nobody.
    fn waits_for_operator(&mut self, number: u64) -> bool {
        let Some(node) = self.node(number) else { return false };
        let denials = node.core().denials();
        if denials.numbers.is_empty() {
            return false;
        }
        let id = node.core().id();
        let others = node.core().membership().others(id);
        let known: BTreeSet<_> = others.iter().map(|id| u64::from(id.number())).collect();
        let Some(farthest) = self.farthest() else { return false };
        let seats = farthest.core().membership().clone();
        let tells =
            |other: &u64| *other != number && known.contains(other) && seats.contains(self.id_of(*other));
        self.running().iter().filter(|other| tells(other)).count() < denials.needed
    }

    /// All faults end: every member runs, everything comes through.
    pub fn heal(&mut self) {
        self.tell("faults end", format_args!("all faults end"));
        self.healed_ms = Some(self.sim.now_ms());
        self.end_double();
        self.empty_outsiders();
        self.machines.values_mut().for_each(Machine::heal);
        self.start_all();
        self.peering.network.speed_up(self.sim.now_ms());
        self.client_delays.clear();
        self.mend();
    }
}

/// What a configuration says of a member.
#[must_use]
pub fn member_of(number: u64) -> Member {
    Member {
        number: MemberNumber::of(number),
        host: format!("member{number}"),
        peer_port: 1,
        election_port: 0,
        votes: true,
        client: None,
    }
}

/// A disk says so only while it is full; the core may hear of it when there is room again.
fn tells_of_no_room(error: &str) -> bool {
    error.contains("no space")
}

/// A member is asked for more, and its power fails while its disk is busy.
fn die_while_asked(node: &mut Node<SimDisk>, disk: &SimDisk, operations: u64) {
    let asked = [Step::Shards, Step::Core, Step::Advance].into_iter().try_for_each(|step| node.step(step));
    if asked.is_ok() {
        disk.crash_at(disk.operations() + operations);
        let _ = node.step(Step::Journal);
    }
}
