//! Several members and the network between them: messages that are lost, repeated and overtaken, links that break,
//! members that crash, pause and come back. What happens next is decided by a seed. Knows no rule of what is right.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use member::{Now, PeerMessage};

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
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self =
        Self { loss: 0, repeat: 0, overtake: 0, crash: 0, restart: 0, part: 0, mend: 0, pause: 0 };

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
        }
    }
}

struct Flight {
    from: u64,
    to: u64,
    bytes: Vec<u8>,
}

/// Several members.
pub struct Ensemble {
    /// What decides everything.
    pub random: Random,
    config: NodeConfig,
    disks: BTreeMap<u64, SimDisk>,
    nodes: BTreeMap<u64, Node<SimDisk>>,
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
    /// Members 1 to `members`, founded together.
    #[must_use]
    pub fn new(members: u64, config: NodeConfig, mut random: Random) -> Self {
        let disks = (1..=members).map(|id| (id, SimDisk::new(random.number()))).collect();
        let config = NodeConfig { founders: (1..=members).collect(), ..config };
        let mut ensemble = Self {
            random,
            config,
            disks,
            nodes: BTreeMap::new(),
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
        *self.happened.entry(what).or_default() += 1;
    }

    /// Milliseconds that have passed.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The members that run.
    #[must_use]
    pub fn running(&self) -> Vec<u64> {
        self.nodes.keys().copied().collect()
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
    pub fn start(&mut self, id: u64) {
        let Some(disk) = self.disks.get(&id).cloned() else { return };
        self.lives += 1;
        self.born.insert(id, self.lives);
        let mut config = self.config.clone();
        config.core.member = id;
        config.seed = [(self.lives % 251) as u8; 32];
        config.seed[1] = id as u8;
        let now = Now { mono_ms: self.now_ms, wall_ms: 1_700_000_000_000 + self.now_ms as i64 };
        let node = Node::start(disk, &config, now);
        let node = node.unwrap_or_else(|error| panic!("member {id} does not come back: {error:?}"));
        self.nodes.insert(id, node);
        self.tell_links(id, true);
    }

    /// The power of a member fails.
    pub fn crash(&mut self, id: u64) {
        if self.nodes.remove(&id).is_none() {
            return;
        }
        self.count("crash");
        let loss = [Loss::All, Loss::Nothing, Loss::Some][self.random.below(3) as usize];
        if let Some(disk) = self.disks.get(&id) {
            disk.crash(loss);
        }
        self.paused.remove(&id);
        self.flights.retain(|flight| flight.to != id && (flight.from != id));
        self.tell_links(id, false);
    }

    fn tell_links(&mut self, id: u64, up: bool) {
        for (other, node) in &mut self.nodes {
            if *other != id {
                node.link(id, up);
            }
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
        if happens(&mut self.random, faults.restart) {
            let down = self.disks.keys().copied().find(|id| !self.nodes.contains_key(id));
            if let Some(id) = down {
                self.start(id);
            }
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
                && let Some(node) = self.nodes.get_mut(&to)
            {
                node.link(from, false);
            }
        }
    }

    /// Everything comes through again.
    pub fn mend(&mut self) {
        for (from, to) in std::mem::take(&mut self.cut) {
            if let Some(node) = self.nodes.get_mut(&to) {
                node.link(from, true);
            }
        }
    }

    fn deliver(&mut self, faults: &Faults) {
        if self.flights.is_empty() {
            return;
        }
        let overtakes = faults.overtake > self.random.below(1000);
        let at = if overtakes { self.random.below(self.flights.len() as u64) as usize } else { 0 };
        if self.flights.get(at).is_some_and(|flight| self.is_paused(flight.to)) {
            // It waits in the socket; another may have better luck.
            let flight = self.flights.remove(at);
            self.flights.push(flight);
            return;
        }
        let flight = self.flights.remove(at);
        if faults.loss > self.random.below(1000) || self.cut.contains(&(flight.from, flight.to)) {
            self.count("loss");
            return;
        }
        if faults.repeat > self.random.below(1000) {
            self.count("repeat");
            let Flight { from, to, .. } = flight;
            self.flights.push(Flight { from, to, bytes: flight.bytes.clone() });
        }
        let message = PeerMessage::decode(Bytes::from(flight.bytes)).expect("what a member encoded");
        if let Some(node) = self.nodes.get_mut(&flight.to) {
            let taken = node.peer(flight.from, message);
            taken.unwrap_or_else(|error| panic!("member {}: {error:?}", flight.to));
        }
        self.collect(flight.to);
    }

    fn is_paused(&self, id: u64) -> bool {
        self.paused.get(&id).is_some_and(|until| self.now_ms < *until)
    }

    /// A step of one member.
    pub fn step(&mut self, id: u64, step: Step) {
        if self.is_paused(id) {
            return;
        }
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.look_at_clock(self.now_ms);
        node.step(step).unwrap_or_else(|error| panic!("member {id}: {error:?}"));
        self.collect(id);
    }

    fn collect(&mut self, id: u64) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        for (to, message) in node.take_outgoing() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            self.flights.push(Flight { from: id, to, bytes });
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
    }

    /// All faults end: every member runs, everything comes through.
    pub fn heal(&mut self) {
        self.paused.clear();
        let down: Vec<_> = self.disks.keys().copied().filter(|id| !self.nodes.contains_key(id)).collect();
        down.into_iter().for_each(|id| self.start(id));
        self.mend();
    }
}
