//! Several members and what lies between them: a network that loses, delays, repeats and reorders, links that break,
//! members that crash, pause, lose their disk and come back, disks that stall, fail and fill up, clocks that drift and
//! jump, machines that are added and turned off. What happens next is decided by a seed. Knows no rule of what is right.

mod damage;
mod faults;
mod machine;
mod network;
mod strikes;

pub use faults::{DRIFT_MAX_PPM, Faults};
pub use strikes::{OF_MESSAGES, Without};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;

use bytes::Bytes;
use front::ConnId;
use member::founding::{BLANK, Cluster, Founding, NUMBERS, Outcome};
use member::{PeerMessage, Tenure};
use tree::{Member, Roster};

use crate::disk::SimDisk;
use crate::node::{Node, NodeConfig, NodeError, STEPS, Step};
use crate::random::Random;
use crate::record::Record;
use crate::trace::Trace;
use machine::{Life, Machine, Seat};
use network::Network;
use strikes::Strikes;

/// Lines of the story that are kept.
const STORY_MAX: usize = 400;

/// Several members, known by their numbers.
pub struct Ensemble {
    /// What decides everything.
    pub random: Random,
    config: NodeConfig,
    machines: BTreeMap<u64, Machine>,
    network: Network,
    /// Whether clocks run at paces of their own.
    drifts: bool,
    /// A disk was lost and is not made good yet.
    wiped: bool,
    /// A change of members may be under way, as whoever asks for one says.
    pub changing: bool,
    now_ms: u64,
    moments: u64,
    strikes: Strikes,
    lives: u64,
    /// How often each thing happened.
    pub happened: BTreeMap<&'static str, u64>,
    /// What the members did, for those who judge.
    pub record: Record,
    /// Requests that became commands: the member's life, the connection and the request, and the command's number.
    pub sequences: BTreeMap<(u64, ConnId, i32), u64>,
    /// The hash of all steps.
    pub trace: Trace,
    /// What happened lately, in words.
    story: Vec<(u64, String)>,
}

impl Ensemble {
    /// Members 1 to `members`, with blank disks.
    #[must_use]
    pub fn new(members: u64, mut config: NodeConfig, mut random: Random) -> Self {
        config.core.roster = Some(Roster::new((1..=members).map(member_of)));
        let drifts = random.chance(70);
        let base_max_ms = [0, 2, 20][random.below(3) as usize];
        let machines =
            (1..=members).map(|number| (number, Machine::new(&mut random, drifts, true))).collect();
        let mut ensemble = Self {
            random,
            config,
            machines,
            network: Network::new(base_max_ms),
            drifts,
            wiped: false,
            changing: false,
            now_ms: 1_000,
            moments: 0,
            strikes: Strikes::default(),
            lives: 0,
            happened: BTreeMap::new(),
            record: Record::default(),
            sequences: BTreeMap::new(),
            trace: Trace::default(),
            story: Vec::new(),
        };
        (1..=members).for_each(|number| ensemble.start(number));
        ensemble
    }

    /// Counts that something happened, and tells it.
    pub(crate) fn tell(&mut self, what: &'static str, words: Arguments<'_>) {
        self.count(what, 1);
        self.trace.step(what, &[self.now_ms]);
        if self.story.len() == STORY_MAX {
            self.story.remove(0);
        }
        let fault =
            self.strikes.present.take().map_or_else(String::new, |number| format!("fault {number}: "));
        self.story.push((self.now_ms, format!("{fault}{words}")));
    }

    /// These faults do not strike.
    pub fn leave_out(&mut self, without: Without) {
        self.strikes.without = without;
    }

    /// How many faults were to strike, those that are left out among them.
    #[must_use]
    pub const fn struck(&self) -> u64 {
        self.strikes.count
    }

    /// Counts something. What never happened is not there.
    pub fn count(&mut self, what: &'static str, more: u64) {
        if more > 0 {
            *self.happened.entry(what).or_default() += more;
        }
    }

    /// Milliseconds that have passed.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// What happened lately: when, and in words.
    #[must_use]
    pub fn story(&self) -> &[(u64, String)] {
        &self.story
    }

    /// The members that run and have a seat.
    #[must_use]
    pub fn running(&self) -> Vec<u64> {
        let seated = self.machines.iter().filter(|(_, machine)| matches!(machine.life, Life::Seated(_)));
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
        let nodes = self.machines.values_mut().filter_map(Machine::node);
        let farthest = nodes.max_by_key(|node| node.applied_index())?;
        if farthest.applied_index() < self.record.entries.len() as u64 {
            return None;
        }
        farthest.core().roster().cloned()
    }

    /// Whether a disk was lost that is not made good yet.
    #[must_use]
    pub const fn has_lost_disk(&self) -> bool {
        self.wiped
    }

    fn is_member(&mut self, number: u64) -> bool {
        self.roster().is_some_and(|roster| roster.member(number).is_some())
    }

    /// Whether the members that are to be are those that there are: every one runs, has a seat in the same ensemble, and
    /// knows who votes and who only learns.
    pub fn is_whole(&mut self) -> bool {
        let Some(roster) = self.roster() else { return false };
        let votes: BTreeSet<_> = roster.participants().into_iter().collect();
        let all: BTreeSet<_> = roster.members().map(|member| member.number).collect();
        let clusters: BTreeSet<_> = all.iter().map(|number| self.cluster(*number)).collect();
        clusters.len() == 1
            && all.iter().all(|number| {
                let Some(node) = self.node(*number) else { return false };
                let id = node.core().id();
                let membership = node.core().membership();
                let numbers = |ids: &[u64]| ids.iter().map(|id| id % NUMBERS).collect::<BTreeSet<_>>();
                let is_seated = membership.voters.contains(&id) == votes.contains(number);
                is_seated
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
        self.machines
            .get(&number)
            .filter(|machine| matches!(machine.life, Life::Seated(_)))
            .map(|machine| machine.born)
    }

    /// A member, if it runs.
    pub fn node(&mut self, number: u64) -> Option<&mut Node<SimDisk>> {
        self.machines.get_mut(&number)?.node()
    }

    fn machine(&mut self, number: u64) -> &mut Machine {
        self.machines.get_mut(&number).expect("a machine of that number")
    }

    /// A machine of that number is there and runs: a new one with a blank disk, or the one that was turned off.
    pub fn install(&mut self, number: u64) {
        let (random, drifts) = (&mut self.random, self.drifts);
        let machine = self.machines.entry(number).or_insert_with(|| Machine::new(random, drifts, false));
        machine.off = false;
        if matches!(machine.life, Life::Down) {
            self.start(number);
        }
    }

    /// A member that is down comes back.
    pub fn start(&mut self, number: u64) {
        let Some(machine) = self.machines.get_mut(&number).filter(|machine| !machine.off) else { return };
        self.lives += 1;
        machine.born = self.lives;
        match machine.seat.clone() {
            Some(seat) => self.sit_down(number, &seat),
            None => {
                let founding = self.founding(number);
                self.machine(number).life = Life::Blank(Box::new(founding));
            }
        }
    }

    fn sit_down(&mut self, number: u64, seat: &Seat) {
        let mut config = self.config.clone();
        config.core.member = seat.id;
        config.core.cluster = seat.cluster;
        config.founders.clone_from(&seat.founders);
        config.seed = [(self.lives % 251) as u8; 32];
        config.seed[1] = number as u8;
        let now_ms = self.now_ms;
        let machine = self.machine(number);
        let mut node = match Node::start(machine.disk.clone(), &config, machine.now(now_ms)) {
            Ok(node) => node,
            Err(error) if machine.damaged => {
                machine.damaged = false;
                self.tell(
                    "damage found",
                    format_args!("member {number} puts its damaged data aside: {}", words_of(&error)),
                );
                self.empty(number);
                self.machine(number).founds = false;
                return self.start(number);
            }
            Err(error) if machine.failing || machine.full_until_ms.is_some() => {
                machine.life = Life::Down;
                machine.disk.repair();
                (machine.failing, machine.full_until_ms) = (false, None);
                return self.tell("no start", format_args!("member {number} does not start: {error:?}"));
            }
            Err(error) => panic!("member {number} does not come back: {error:?}"),
        };
        let others: Vec<_> = self.machines.values().filter_map(|machine| machine.seat.as_ref()).collect();
        for other in others.into_iter().filter(|other| other.id != seat.id) {
            node.core().understands(other.id, config.core.feature_level);
        }
        let torn = node.had_torn_tail();
        let machine = self.machine(number);
        let did_no_harm = std::mem::take(&mut machine.damaged);
        machine.life = Life::Seated(Box::new(node));
        let life = machine.born;
        self.record.begun(number, life);
        self.count("torn tail", u64::from(torn));
        self.count("damage that did no harm", u64::from(did_no_harm));
        self.tell(
            "start",
            format_args!("member {number} starts{}", if torn { ", its log torn at the end" } else { "" }),
        );
        self.tell_links(number, true);
        self.collect(number);
    }

    /// A member's outcome is written down before it is said.
    fn seat(&mut self, number: u64, outcome: Outcome) {
        let seat = match outcome {
            Outcome::Founded { cluster, voters } => {
                self.tell("founding", format_args!("member {number} founds an ensemble of {voters:?}"));
                Seat { id: number, cluster, founders: voters }
            }
            Outcome::Admitted { cluster, id } => {
                self.tell("admission", format_args!("member {number} is admitted as {id:x}"));
                Seat { id, cluster, founders: Vec::new() }
            }
            Outcome::Kept => {
                self.tell("doubt over", format_args!("member {number} keeps its seat"));
                let Some(seat) = self.machine(number).seat.clone() else { return };
                seat
            }
        };
        let machine = self.machine(number);
        if machine.seat.replace(seat.clone()).is_some_and(|before| before.cluster != seat.cluster) {
            // It had one in an ensemble that never came to be.
            machine.disk = SimDisk::new(seat.id);
            machine.founds = false;
        }
        self.sit_down(number, &seat);
    }

    /// The member stops, its disk keeps what was written.
    fn stop(&mut self, number: u64) {
        let machine = self.machine(number);
        machine.life = Life::Down;
        machine.disk.restart();
        machine.disk.repair();
        machine.full_until_ms = None;
        self.gone(number);
    }

    /// A member that stopped is heard of no more.
    fn gone(&mut self, number: u64) {
        let machine = self.machine(number);
        (machine.paused_until_ms, machine.stalled_until_ms, machine.slow_until_ms) = (0, 0, 0);
        (machine.flushed_ms, machine.failing) = (None, false);
        self.network.forget(number);
        self.tell_links(number, false);
    }

    fn empty(&mut self, number: u64) {
        self.crash(number);
        let disk = SimDisk::new(self.random.number());
        let machine = self.machine(number);
        (machine.disk, machine.seat) = (disk, None);
    }

    fn id_of(&self, number: u64) -> u64 {
        let seat = self.machines.get(&number).and_then(|machine| machine.seat.as_ref());
        seat.map_or(BLANK | number, |seat| seat.id)
    }

    fn cluster(&self, number: u64) -> Option<Cluster> {
        let machine = self.machines.get(&number)?;
        machine.seat.as_ref().map(|seat| seat.cluster)
    }

    fn tell_links(&mut self, number: u64, up: bool) {
        let (id, level) = (self.id_of(number), self.config.core.feature_level);
        let cluster = self.cluster(number);
        let mut links = Vec::new();
        for (other, machine) in &mut self.machines {
            let theirs = machine.seat.as_ref().map(|seat| seat.cluster);
            match &mut machine.life {
                // Members of two ensembles refuse each other.
                Life::Seated(_) if cluster.is_some() && theirs != cluster => {}
                Life::Seated(node) if *other != number => {
                    node.core().understands(id, level);
                    node.link(id, up);
                    links.extend(machine.seat.as_ref().map(|seat| seat.id));
                }
                Life::Blank(member) if up => member.meet(number),
                Life::Blank(member) => member.lost(number),
                _ => {}
            }
        }
        if let Some(node) = self.node(number) {
            links.into_iter().for_each(|other| node.link(other, true));
        }
    }

    /// One moment in which something happens, and time passes.
    pub fn moment(&mut self, faults: &Faults) {
        self.moments += 1;
        self.misfortune(faults);
        let most = 6 + self.network.in_flight() as u64 / 2;
        for _ in 0..1 + self.random.below(most) {
            if !self.deliver(faults) {
                break;
            }
        }
        for number in self.running() {
            let (step, twice) = (self.random.below(STEPS.len() as u64) as usize, self.random.chance(50));
            self.step(number, STEPS[step]);
            if twice {
                STEPS.into_iter().for_each(|step| self.step(number, step));
            }
        }
        if self.random.chance(60) {
            let passed = 1 + self.random.below(20);
            self.pass(passed);
        }
    }

    fn down(&self) -> Vec<u64> {
        let is_down = |machine: &Machine| matches!(machine.life, Life::Down) && !machine.off;
        self.machines.iter().filter(|(_, machine)| is_down(machine)).map(|(number, _)| *number).collect()
    }

    fn part(&mut self, chance: &mut Random) {
        let numbers = self.numbers();
        let (some, one_way) = (numbers[chance.below(numbers.len() as u64) as usize], chance.chance(30));
        self.network.part(some, &numbers, one_way, chance);
        self.tell(
            "part",
            format_args!("member {some} is cut off{}", if one_way { ", in one direction" } else { "" }),
        );
        if one_way {
            self.count("one-way part", 1);
        }
        // Sooner or later the connections break.
        for (from, to) in self.network.cut.clone() {
            if chance.chance(50) {
                let id = self.id_of(from);
                if let Some(node) = self.node(to) {
                    node.link(id, false);
                }
            }
        }
    }

    /// Everything comes through again.
    pub fn mend(&mut self) {
        for (from, to) in std::mem::take(&mut self.network.cut) {
            let id = self.id_of(from);
            let same = self.cluster(from) == self.cluster(to);
            if let Some(node) = self.node(to).filter(|_| same) {
                node.link(id, true);
            }
        }
    }

    /// The next message arrives, if there is one.
    fn deliver(&mut self, faults: &Faults) -> bool {
        let overtakes = faults.overtake > self.random.below(1000);
        let (now_ms, machines) = (self.now_ms, &self.machines);
        let is_deaf = |to| machines.get(&to).is_some_and(|machine| machine.is_paused(now_ms));
        let Some(flight) = self.network.arrive(now_ms, overtakes, is_deaf, &mut self.random) else {
            return false;
        };
        let direction = (flight.from % NUMBERS, flight.to % NUMBERS);
        if faults.loss > self.random.below(1000) || self.network.cut.contains(&direction) {
            self.count("loss", 1);
            return true;
        }
        if faults.repeat > self.random.below(1000) {
            self.count("repeat", 1);
            self.network.again(direction, flight.clone());
        }
        self.count("overtaking", u64::from(overtakes));
        self.trace.step("message", &[flight.from, flight.to, now_ms]);
        self.trace.bytes(&flight.bytes);
        let message = PeerMessage::decode(Bytes::from(flight.bytes)).expect("what a member encoded");
        self.hand_over(flight.from, flight.to, message);
        true
    }

    fn hand_over(&mut self, from: u64, to: u64, message: PeerMessage) {
        let number = to % NUMBERS;
        let is_founding = matches!(message, PeerMessage::Founding(_));
        if !is_founding && self.cluster(from % NUMBERS) != self.cluster(number) {
            return;
        }
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let seat = machine.seat.as_ref().map(|seat| seat.id);
        match (&mut machine.life, message) {
            (Life::Blank(member), PeerMessage::Founding(said)) => member.hear(from % NUMBERS, said),
            // A message for an earlier life of this member's disk finds nobody.
            (Life::Seated(node), message) if seat == Some(to) || is_founding => {
                let taken = node.peer(from, message);
                taken.unwrap_or_else(|error| panic!("member {number}: {error:?}"));
            }
            _ => {}
        }
        self.collect(number);
    }

    /// A step of one member.
    pub fn step(&mut self, number: u64, step: Step) {
        let now_ms = self.now_ms;
        let machine = self.machine(number);
        if machine.is_paused(now_ms) || (step == Step::Journal && machine.is_disk_busy(now_ms)) {
            return;
        }
        let mono_ms = machine.mono_ms(now_ms);
        let Some(node) = machine.node() else { return };
        node.look_at_clock(mono_ms);
        let stepped = node.step(step);
        self.trace.step("step", &[number, step as u64, now_ms]);
        self.collect(number);
        match stepped {
            Ok(()) => {}
            Err(NodeError::Fault(error)) if self.may_fail(number) => {
                self.tell("disk fault", format_args!("member {number} stops: {error}"));
                self.stop(number);
            }
            Err(error) => panic!("member {number}: {error:?}"),
        }
    }

    fn may_fail(&mut self, number: u64) -> bool {
        let machine = self.machine(number);
        machine.failing || machine.full_until_ms.is_some()
    }

    fn collect(&mut self, number: u64) {
        let from = self.id_of(number);
        let now_ms = self.now_ms;
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let life = machine.born;
        let Some(node) = machine.node() else { return };
        self.record.look(now_ms, number, life, node);
        let numbers = node.take_sequences().into_iter();
        self.sequences.extend(numbers.map(|(conn, xid, sequence)| ((life, conn, xid), sequence)));
        let (outgoing, counts) = (node.take_outgoing(), node.take_counts());
        let (unsent_bytes, cut_off) = node.take_unsent();
        self.record.unsent_bytes = self.record.unsent_bytes.max(unsent_bytes);
        for (to, message) in outgoing {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            self.network.send((from, to), (number, to % NUMBERS), bytes, now_ms, &mut self.random);
        }
        self.count("slow client cut off", cut_off);
        for (what, count) in counts {
            match (what, count) {
                (_, 0) => {}
                ("verdict", _) => {
                    self.record.verdicts_ms.push(now_ms);
                    self.count(what, count);
                }
                ("election", _) => self.tell(what, format_args!("member {number} leads")),
                ("install", _) => self.tell(what, format_args!("member {number} takes over a snapshot")),
                _ => self.count(what, count),
            }
        }
    }

    /// Time passes, for whoever does not stand still.
    pub fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        let now_ms = self.now_ms;
        let mut outcomes = Vec::new();
        for (number, machine) in &mut self.machines {
            let (paused, mono_ms) = (machine.is_paused(now_ms), machine.mono_ms(now_ms));
            match &mut machine.life {
                Life::Seated(node) if !paused => {
                    node.look_at_clock(mono_ms);
                    node.pass(0);
                }
                Life::Blank(member) => {
                    member.tick(mono_ms);
                    for (to, message) in member.take_outgoing() {
                        let mut bytes = Vec::new();
                        PeerMessage::Founding(message).encode(&mut bytes);
                        let ids = (BLANK | *number, BLANK | to);
                        self.network.send(ids, (*number, to), bytes, now_ms, &mut self.random);
                    }
                    outcomes.extend(member.outcome().map(|outcome| (*number, outcome.clone())));
                }
                _ => {}
            }
        }
        self.running().into_iter().for_each(|number| self.collect(number));
        outcomes.into_iter().for_each(|(number, outcome)| self.seat(number, outcome));
        for number in self.running() {
            match self.node(number).map_or(Tenure::Sound, |node| node.core().tenure()) {
                Tenure::Sound => {}
                Tenure::Doubtful => self.doubt(number),
                Tenure::Lost => {
                    self.tell(
                        "seat lost",
                        format_args!("member {number} has lost its seat, and begins anew"),
                    );
                    self.empty(number);
                    self.machine(number).founds = false;
                    self.start(number);
                }
            }
        }
    }

    /// A member asks whether there is another ensemble than the one that it was to found.
    fn doubt(&mut self, number: u64) {
        self.tell("doubt", format_args!("member {number} doubts that its ensemble comes to be"));
        self.stop(number);
        self.lives += 1;
        let (born, founding) = (self.lives, self.founding(number));
        let machine = self.machine(number);
        machine.born = born;
        if let Some(seat) = &machine.seat {
            machine.life = Life::Blank(Box::new(founding.holding(seat.cluster)));
        }
    }

    /// A member without a seat.
    fn founding(&self, number: u64) -> Founding {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.lives.to_le_bytes());
        let founds = self.machines.get(&number).is_some_and(|machine| machine.founds);
        let mut founding = Founding::new(number, self.numbers(), founds, name, name);
        self.numbers().into_iter().filter(|other| *other != number).for_each(|other| founding.meet(other));
        founding
    }

    /// All faults end: every member runs, everything comes through.
    pub fn heal(&mut self) {
        self.tell("heal", format_args!("all faults end"));
        self.machines.values_mut().for_each(Machine::heal);
        self.down().into_iter().for_each(|number| self.start(number));
        self.network.speed_up(self.now_ms);
        self.mend();
    }
}

/// What a configuration says of a member.
#[must_use]
pub fn member_of(number: u64) -> Member {
    Member {
        number,
        host: format!("member{number}"),
        peer_port: 1,
        election_port: 0,
        votes: true,
        client: None,
    }
}

/// Why a member does not start, in one line.
fn words_of(error: &NodeError) -> String {
    let words = match error {
        NodeError::Open(error) => error.to_string(),
        NodeError::Read(error) => error.to_string(),
        NodeError::Fault(words) => words.clone(),
    };
    words.lines().next().unwrap_or_default().to_owned()
}

/// A member is asked for more, and its power fails while its disk is busy.
fn die_while_asked(node: &mut Node<SimDisk>, disk: &SimDisk, operations: u64) {
    let asked = [Step::Shard, Step::Core, Step::Advance].into_iter().try_for_each(|step| node.step(step));
    if asked.is_ok() {
        disk.crash_at(disk.operations() + operations);
        let _ = node.step(Step::Journal);
    }
}
