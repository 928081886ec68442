//! Several members and the network between them: messages that are lost, repeated and overtaken, links that break,
//! members that crash, pause, lose their disk and come back, disks that stall, clocks that jump. What happens next is
//! decided by a seed. Knows no rule of what is right.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use member::founding::{BLANK, Founding, NUMBERS, Outcome};
use member::{Now, PeerMessage};
use tree::{Member, Roster};

use crate::disk::{Loss, SimDisk};
use crate::node::{Node, NodeConfig, STEPS, Step};
use crate::random::Random;

/// Messages on their way, beyond which the network drops some.
const IN_FLIGHT_MAX: usize = 2_000;

/// How often, of a thousand moments, a thing goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A message is lost.
    pub loss: u64,
    /// A message comes twice.
    pub repeat: u64,
    /// A message overtakes others.
    pub overtake: u64,
    /// A member crashes, and its disk with it.
    pub crash: u64,
    /// A crashed member comes back.
    pub restart: u64,
    /// The network falls apart.
    pub part: u64,
    /// The network comes together.
    pub mend: u64,
    /// A member stands still for a while.
    pub pause: u64,
    /// A member's disk stands still for a while.
    pub stall: u64,
    /// A member comes back with an empty disk.
    pub wipe: u64,
    /// A member's wall clock jumps.
    pub jump: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        loss: 0,
        repeat: 0,
        overtake: 0,
        crash: 0,
        restart: 0,
        part: 0,
        mend: 0,
        pause: 0,
        stall: 0,
        wipe: 0,
        jump: 0,
    };

    /// A draw of which faults there are at all, and how often.
    pub fn draw(random: &mut Random) -> Self {
        let mut often = |most: u64| if random.chance(50) { 1 + random.below(most) } else { 0 };
        Self {
            loss: often(100),
            repeat: often(50),
            overtake: often(300),
            crash: often(4),
            restart: 10,
            part: often(4),
            mend: 8,
            pause: often(4),
            stall: often(4),
            wipe: often(2),
            jump: often(3),
        }
    }
}

struct Flight {
    from: u64,
    to: u64,
    bytes: Vec<u8>,
}

/// What is written down of a member's seat.
#[derive(Clone)]
struct Seat {
    id: u64,
    cluster: [u8; 16],
    founders: Vec<u64>,
}

/// Several members, known by their numbers.
pub struct Ensemble {
    /// What decides everything.
    pub random: Random,
    config: NodeConfig,
    disks: BTreeMap<u64, SimDisk>,
    /// The id of each member that has a seat.
    seats: BTreeMap<u64, Seat>,
    nodes: BTreeMap<u64, Node<SimDisk>>,
    /// Members that run without a seat.
    blank: BTreeMap<u64, Founding>,
    /// Until when a member's disk stands still.
    stalled: BTreeMap<u64, u64>,
    /// Whose disk was emptied and who has not been seen to vote since.
    wiped: Option<u64>,
    flights: Vec<Flight>,
    /// Directions in which nothing comes through.
    cut: BTreeSet<(u64, u64)>,
    /// Until when a member stands still.
    paused: BTreeMap<u64, u64>,
    now_ms: u64,
    lives: u64,
    /// The number of each member's life.
    born: BTreeMap<u64, u64>,
    /// How often each thing happened.
    pub happened: BTreeMap<&'static str, u64>,
}

impl Ensemble {
    /// Members 1 to `members`, with blank disks.
    #[must_use]
    pub fn new(members: u64, config: NodeConfig, mut random: Random) -> Self {
        let disks = (1..=members).map(|id| (id, SimDisk::new(random.number()))).collect();
        let mut config = config;
        config.core.roster = Some(Roster::new((1..=members).map(|number| Member {
            number,
            host: format!("member{number}"),
            peer_port: 1,
            election_port: 0,
            votes: true,
            client: None,
        })));
        let mut ensemble = Self {
            random,
            config,
            disks,
            seats: BTreeMap::new(),
            nodes: BTreeMap::new(),
            blank: BTreeMap::new(),
            stalled: BTreeMap::new(),
            wiped: None,
            flights: Vec::new(),
            cut: BTreeSet::new(),
            paused: BTreeMap::new(),
            now_ms: 1_000,
            lives: 0,
            born: BTreeMap::new(),
            happened: BTreeMap::new(),
        };
        (1..=members).for_each(|id| ensemble.start(id));
        ensemble
    }

    fn count(&mut self, what: &'static str) {
        self.count_more(what, 1);
    }

    fn count_more(&mut self, what: &'static str, more: u64) {
        *self.happened.entry(what).or_default() += more;
    }

    /// Milliseconds that have passed.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The members that run and have a seat.
    #[must_use]
    pub fn running(&self) -> Vec<u64> {
        self.nodes.keys().copied().collect()
    }

    /// Whether every member runs, has a seat, and votes as far as every one knows.
    pub fn is_whole(&mut self) -> bool {
        let all: BTreeSet<_> = self.disks.keys().copied().collect();
        self.nodes.len() == all.len()
            && self.nodes.values_mut().all(|node| {
                let membership = node.core().membership();
                let voters: BTreeSet<_> = membership.voters.iter().map(|id| id % NUMBERS).collect();
                voters == all && membership.learners.is_empty() && membership.voters_outgoing.is_empty()
            })
    }

    /// Which of all lives a member has now; a connection does not outlast it.
    #[must_use]
    pub fn life(&self, id: u64) -> Option<u64> {
        self.nodes.contains_key(&id).then(|| self.born.get(&id).copied().unwrap_or(0))
    }

    /// A member, if it runs.
    pub fn node(&mut self, id: u64) -> Option<&mut Node<SimDisk>> {
        self.nodes.get_mut(&id)
    }

    /// A member that is down comes back.
    pub fn start(&mut self, number: u64) {
        if !self.disks.contains_key(&number) {
            return;
        }
        self.lives += 1;
        self.born.insert(number, self.lives);
        match self.seats.get(&number).cloned() {
            Some(seat) => self.sit_down(number, &seat),
            None => {
                let participants = self.disks.keys().copied().collect();
                let mut name = [0; 16];
                name[..8].copy_from_slice(&self.lives.to_le_bytes());
                self.blank.insert(number, Founding::new(number, participants, true, name, name));
            }
        }
    }

    fn sit_down(&mut self, number: u64, seat: &Seat) {
        let Some(disk) = self.disks.get(&number).cloned() else { return };
        let mut config = self.config.clone();
        config.core.member = seat.id;
        config.core.cluster = seat.cluster;
        config.founders.clone_from(&seat.founders);
        config.seed = [(self.lives % 251) as u8; 32];
        config.seed[1] = number as u8;
        let now = Now { mono_ms: self.now_ms, wall_ms: 1_700_000_000_000 + self.now_ms as i64 };
        let node = Node::start(disk, &config, now);
        let mut node = node.unwrap_or_else(|error| panic!("member {number} does not come back: {error:?}"));
        self.count_more("torn tail", u64::from(node.had_torn_tail()));
        for other in self.seats.values().filter(|other| other.id != seat.id) {
            node.core().understands(other.id, config.core.feature_level);
        }
        self.nodes.insert(number, node);
        self.tell_links(number, true);
    }

    /// A member's outcome is written down before it is said.
    fn seat(&mut self, number: u64, outcome: Outcome) {
        self.blank.remove(&number);
        let seat = match outcome {
            Outcome::Founded { cluster, voters } => Seat { id: number, cluster, founders: voters },
            Outcome::Admitted { cluster, id } => {
                self.count("admission");
                Seat { id, cluster, founders: Vec::new() }
            }
        };
        self.seats.insert(number, seat.clone());
        self.sit_down(number, &seat);
    }

    /// The power of a member fails.
    pub fn crash(&mut self, number: u64) {
        if let Some(mut node) = self.nodes.remove(&number) {
            if let Some(disk) = self.disks.get(&number).filter(|_| self.random.chance(50)) {
                // It dies in the middle of what its disk is asked.
                let mut asked = || {
                    [Step::Shard, Step::Core, Step::Advance].into_iter().try_for_each(|step| node.step(step))
                };
                if asked().is_ok() {
                    disk.crash_at(disk.operations() + self.random.below(3));
                    let _ = node.step(Step::Journal);
                }
            }
        } else if self.blank.remove(&number).is_none() {
            return;
        }
        self.count("crash");
        let loss = [Loss::All, Loss::Nothing, Loss::Some][self.random.below(3) as usize];
        if let Some(disk) = self.disks.get(&number) {
            disk.crash(loss);
        }
        self.paused.remove(&number);
        self.stalled.remove(&number);
        self.flights.retain(|flight| flight.to % NUMBERS != number && flight.from % NUMBERS != number);
        self.tell_links(number, false);
    }

    /// A member loses its disk, if no other has lost its own and is not back yet: more than that nobody could bear.
    fn wipe(&mut self, number: u64) {
        if self.wiped.is_some() || !self.is_whole() || self.disks.len() < 3 {
            return;
        }
        self.count("wipe");
        self.empty(number);
        self.wiped = Some(number);
    }

    fn empty(&mut self, number: u64) {
        self.crash(number);
        let seed = self.random.number();
        self.disks.insert(number, SimDisk::new(seed));
        self.seats.remove(&number);
    }

    fn tell_links(&mut self, number: u64, up: bool) {
        let id = self.seats.get(&number).map_or(BLANK | number, |seat| seat.id);
        let level = self.config.core.feature_level;
        for (other, node) in &mut self.nodes {
            if *other != number {
                node.core().understands(id, level);
                node.link(id, up);
            }
        }
        if !up {
            self.blank.values_mut().for_each(|member| member.lost(number));
        }
    }

    /// One moment in which something happens, and time passes.
    pub fn moment(&mut self, faults: &Faults) {
        self.misfortune(faults);
        let most = 6 + self.flights.len() as u64 / 2;
        for _ in 0..1 + self.random.below(most) {
            self.deliver(faults);
        }
        let ids: Vec<_> = self.running();
        for id in ids {
            let (step, twice) = (self.random.below(STEPS.len() as u64) as usize, self.random.chance(50));
            self.step(id, STEPS[step]);
            if twice {
                STEPS.into_iter().for_each(|step| self.step(id, step));
            }
        }
        if self.random.chance(60) {
            let passed = 1 + self.random.below(20);
            self.pass(passed);
        }
    }

    fn misfortune(&mut self, faults: &Faults) {
        let happens = |random: &mut Random, often: u64| often > random.below(1000);
        if happens(&mut self.random, faults.crash)
            && let Some(id) = self.any()
        {
            self.crash(id);
        }
        if happens(&mut self.random, faults.restart)
            && let Some(number) = self.down().first().copied()
        {
            self.start(number);
        }
        if self.wiped.is_some() && self.is_whole() {
            self.wiped = None;
        }
        if happens(&mut self.random, faults.wipe)
            && let Some(number) = self.any()
        {
            self.wipe(number);
        }
        if happens(&mut self.random, faults.stall)
            && let Some(number) = self.any()
        {
            self.count("stall");
            let until = self.now_ms + 50 + self.random.below(5_000);
            self.stalled.insert(number, until);
        }
        if happens(&mut self.random, faults.jump)
            && let Some(number) = self.any()
            && let Some(node) = self.nodes.get_mut(&number)
        {
            node.jump(self.random.below(20_000) as i64 - 10_000);
            self.count("jump");
        }
        if happens(&mut self.random, faults.part) {
            self.part();
        }
        if happens(&mut self.random, faults.mend) {
            self.mend();
        }
        if happens(&mut self.random, faults.pause)
            && let Some(id) = self.any()
        {
            self.count("pause");
            let until = self.now_ms + 50 + self.random.below(6_000);
            self.paused.insert(id, until);
        }
    }

    fn down(&self) -> Vec<u64> {
        let is_down = |number: &u64| !self.nodes.contains_key(number) && !self.blank.contains_key(number);
        self.disks.keys().copied().filter(is_down).collect()
    }

    fn any(&mut self) -> Option<u64> {
        let ids = self.running();
        ids.get(self.random.below(ids.len() as u64) as usize).copied()
    }

    fn part(&mut self) {
        self.count("part");
        let members = self.disks.len() as u64;
        let (some, one_way) = (1 + self.random.below(members), self.random.chance(30));
        for id in (1..=members).filter(|id| *id != some) {
            if self.random.chance(70) {
                self.cut.insert((some, id));
                if !one_way {
                    self.cut.insert((id, some));
                }
            }
        }
        // Sooner or later the connections break.
        let broken: Vec<_> = self.cut.iter().copied().collect();
        for (from, to) in broken {
            if self.random.chance(50)
                && let Some(seat) = self.seats.get(&from)
                && let Some(node) = self.nodes.get_mut(&to)
            {
                node.link(seat.id, false);
            }
        }
    }

    /// Everything comes through again.
    pub fn mend(&mut self) {
        for (from, to) in std::mem::take(&mut self.cut) {
            if let Some(seat) = self.seats.get(&from)
                && let Some(node) = self.nodes.get_mut(&to)
            {
                node.link(seat.id, true);
            }
        }
    }

    fn deliver(&mut self, faults: &Faults) {
        if self.flights.is_empty() {
            return;
        }
        let overtakes = faults.overtake > self.random.below(1000);
        let at = if overtakes { self.random.below(self.flights.len() as u64) as usize } else { 0 };
        if self.flights.get(at).is_some_and(|flight| self.is_paused(flight.to % NUMBERS)) {
            // It waits in the socket; another may have better luck.
            let flight = self.flights.remove(at);
            self.flights.push(flight);
            return;
        }
        let flight = self.flights.remove(at);
        if faults.loss > self.random.below(1000)
            || self.cut.contains(&(flight.from % NUMBERS, flight.to % NUMBERS))
        {
            self.count("loss");
            return;
        }
        if faults.repeat > self.random.below(1000) {
            self.count("repeat");
            let Flight { from, to, .. } = flight;
            self.flights.push(Flight { from, to, bytes: flight.bytes.clone() });
        }
        let message = PeerMessage::decode(Bytes::from(flight.bytes)).expect("what a member encoded");
        self.hand_over(flight.from, flight.to, message);
    }

    fn hand_over(&mut self, from: u64, to: u64, message: PeerMessage) {
        let number = to % NUMBERS;
        match (&message, self.blank.get_mut(&number)) {
            (PeerMessage::Founding(said), Some(member)) => return member.hear(from % NUMBERS, said.clone()),
            (_, Some(_)) => return,
            _ => {}
        }
        let is_founding = matches!(message, PeerMessage::Founding(_));
        // A message for an earlier life of this member's disk finds nobody.
        if self.seats.get(&number).is_some_and(|seat| seat.id == to || is_founding)
            && let Some(node) = self.nodes.get_mut(&number)
        {
            let taken = node.peer(from, message);
            taken.unwrap_or_else(|error| panic!("member {number}: {error:?}"));
        }
        self.collect(number);
    }

    fn is_paused(&self, id: u64) -> bool {
        self.paused.get(&id).is_some_and(|until| self.now_ms < *until)
    }

    /// A step of one member.
    pub fn step(&mut self, id: u64, step: Step) {
        let stalled = self.stalled.get(&id).is_some_and(|until| self.now_ms < *until);
        if self.is_paused(id) || (stalled && step == Step::Journal) {
            return;
        }
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.look_at_clock(self.now_ms);
        node.step(step).unwrap_or_else(|error| panic!("member {id}: {error:?}"));
        self.collect(id);
    }

    fn collect(&mut self, id: u64) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let from = self.seats.get(&id).map_or(BLANK | id, |seat| seat.id);
        for (to, message) in node.take_outgoing() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            self.flights.push(Flight { from, to, bytes });
        }
        for (what, count) in node.take_counts() {
            self.count_more(what, count);
        }
        while self.flights.len() > IN_FLIGHT_MAX {
            let at = self.random.below(self.flights.len() as u64) as usize;
            self.flights.remove(at);
        }
    }

    /// Time passes, for whoever does not stand still.
    pub fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        for (id, node) in &mut self.nodes {
            if self.paused.get(id).is_none_or(|until| self.now_ms >= *until) {
                node.look_at_clock(self.now_ms);
                node.pass(0);
            }
        }
        let ids = self.running();
        ids.into_iter().for_each(|id| self.collect(id));
        let mut outcomes = Vec::new();
        for (number, member) in &mut self.blank {
            member.tick(self.now_ms);
            for (to, message) in member.take_outgoing() {
                let mut bytes = Vec::new();
                PeerMessage::Founding(message).encode(&mut bytes);
                self.flights.push(Flight { from: BLANK | *number, to: BLANK | to, bytes });
            }
            outcomes.extend(member.outcome().map(|outcome| (*number, outcome.clone())));
        }
        outcomes.into_iter().for_each(|(number, outcome)| self.seat(number, outcome));
        for number in self.running() {
            if self.nodes.get_mut(&number).is_some_and(|node| node.core().has_lost_seat()) {
                self.count("seat lost");
                self.empty(number);
                self.start(number);
            }
        }
    }

    /// All faults end: every member runs, everything comes through.
    pub fn heal(&mut self) {
        self.paused.clear();
        self.stalled.clear();
        self.down().into_iter().for_each(|number| self.start(number));
        self.mend();
    }
}
