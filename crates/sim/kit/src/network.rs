//! The network between machines: connections, and what is on its way on them. Each flight has the time at which it arrives,
//! each direction its own pace. What is sent on one connection comes in order, but for messages that overtake; connections
//! overtake each other. Directions are cut, become slow and mend again; single messages are lost and repeated by whoever
//! takes them out. Knows no message's meaning, and no rule of which connection is kept.
//!
//! `G` is what one side says of itself on a new connection, `M` a message, and `S` how far an end is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use net_peer_pairs::Lane;

use crate::random::Random;
use crate::simulation::Simulation;

/// Messages on their way on one connection in one direction, beyond which some are dropped.
const QUEUE_MAX: usize = 300;

/// What is on its way.
#[derive(Clone, Debug)]
pub enum Flight<G, M> {
    /// Who the dialler is, or the one that answers it.
    Greeting(G),
    /// A message.
    Message(M),
    /// A sign of life.
    Ping,
    /// The other end is closed.
    Close,
}

/// One of all connections.
pub type ConnId = u64;

/// Which of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That of the process that dialled.
    Dialler,
    /// That of the machine that was dialled.
    Answerer,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct End<S> {
    /// The machine.
    pub place: u64,
    /// The process; 0 until it has accepted.
    pub process: u64,
    /// How far it is.
    pub state: S,
    /// Whether its process has closed it, or is gone.
    pub closed: bool,
}

/// What is on its way in one direction of a connection, and when each arrives.
type Queue<G, M> = VecDeque<(Flight<G, M>, u64)>;

/// Something that arrived: on which connection, at which side, and what.
pub type Arrival<G, M> = (ConnId, Side, Flight<G, M>);

/// A connection between two processes.
#[derive(Debug)]
pub struct Connection<G, M, S> {
    /// What goes on it: what is bulky has a pace of its own.
    pub lane: Lane,
    /// Which of the dialler's attempts.
    pub attempt: u64,
    dialler: End<S>,
    answerer: End<S>,
    to_dialler: Queue<G, M>,
    to_answerer: Queue<G, M>,
}

/// Which pair a connection was made for, as those know who see both its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    /// The machine and the process that dialled.
    pub dialler: (u64, u64),
    /// Those that answered.
    pub answerer: (u64, u64),
    /// Which of the dialler's attempts.
    pub attempt: u64,
}

impl Attempt {
    /// Whether the same two processes made both.
    #[must_use]
    pub fn is_of_the_processes_of(&self, other: &Self) -> bool {
        let ends = (self.dialler, self.answerer);
        self != other && (ends == (other.dialler, other.answerer) || ends == (other.answerer, other.dialler))
    }
}

/// From one machine to another.
pub type Direction = (u64, u64);

/// How fast a direction is.
#[derive(Debug, Default)]
struct Pace {
    /// How long a flight takes at the least.
    base_ms: u64,
    extra_ms: u64,
    slow_until_ms: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Network<G, M, S> {
    connections: BTreeMap<ConnId, Connection<G, M, S>>,
    opened: ConnId,
    /// By direction; what is bulky has a pace of its own.
    paces: BTreeMap<(Direction, bool), Pace>,
    /// Directions in which nothing comes through.
    pub cut: BTreeSet<Direction>,
    /// The slowest direction's pace, milliseconds.
    base_max_ms: u64,
}

impl Side {
    /// The other end's.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Dialler => Self::Answerer,
            Self::Answerer => Self::Dialler,
        }
    }
}

impl<G, M, S> Connection<G, M, S> {
    /// One of its ends.
    #[must_use]
    pub const fn end(&self, side: Side) -> &End<S> {
        match side {
            Side::Dialler => &self.dialler,
            Side::Answerer => &self.answerer,
        }
    }

    /// One of its ends, to be changed.
    pub const fn end_mut(&mut self, side: Side) -> &mut End<S> {
        match side {
            Side::Dialler => &mut self.dialler,
            Side::Answerer => &mut self.answerer,
        }
    }

    const fn queue(&self, to: Side) -> &Queue<G, M> {
        match to {
            Side::Dialler => &self.to_dialler,
            Side::Answerer => &self.to_answerer,
        }
    }

    const fn queue_mut(&mut self, to: Side) -> &mut Queue<G, M> {
        match to {
            Side::Dialler => &mut self.to_dialler,
            Side::Answerer => &mut self.to_answerer,
        }
    }

    /// From where to where what is sent to that side goes.
    #[must_use]
    pub const fn direction(&self, to: Side) -> Direction {
        (self.end(to.other()).place, self.end(to).place)
    }

    /// Which attempt it was made in.
    #[must_use]
    pub const fn of_attempt(&self) -> Attempt {
        Attempt {
            dialler: (self.dialler.place, self.dialler.process),
            answerer: (self.answerer.place, self.answerer.process),
            attempt: self.attempt,
        }
    }

    const fn is_bulky(&self) -> bool {
        matches!(self.lane, Lane::Bulk)
    }

    /// Whether nothing is left of it. An end that no process has accepted holds nothing.
    fn is_over(&self) -> bool {
        self.dialler.closed
            && (self.answerer.closed || self.answerer.process == 0)
            && self.to_dialler.is_empty()
            && self.to_answerer.is_empty()
    }
}

impl<G, M, S: Copy + Default> Network<G, M, S> {
    /// A network in which each direction takes so long at the most, before anything goes wrong.
    #[must_use]
    pub const fn new(base_max_ms: u64) -> Self {
        Self {
            connections: BTreeMap::new(),
            opened: 0,
            paces: BTreeMap::new(),
            cut: BTreeSet::new(),
            base_max_ms,
        }
    }

    /// A process of a machine dials another machine, which takes it when the first thing arrives.
    pub fn open(&mut self, dialler: (u64, u64), place: u64, lane: Lane, attempt: u64) -> ConnId {
        self.opened += 1;
        let end = |place, process| End { place, process, state: S::default(), closed: false };
        let connection = Connection {
            lane,
            attempt,
            dialler: end(dialler.0, dialler.1),
            answerer: end(place, 0),
            to_dialler: VecDeque::new(),
            to_answerer: VecDeque::new(),
        };
        self.connections.insert(self.opened, connection);
        self.opened
    }

    /// A connection, while anything is left of it.
    #[must_use]
    pub fn connection(&self, id: ConnId) -> Option<&Connection<G, M, S>> {
        self.connections.get(&id)
    }

    /// As [`Self::connection`], to be changed.
    pub fn connection_mut(&mut self, id: ConnId) -> Option<&mut Connection<G, M, S>> {
        self.connections.get_mut(&id)
    }

    /// Something sets out to that side. False when too much was on its way already, and something was dropped.
    pub fn send(&mut self, (id, to): (ConnId, Side), flight: Flight<G, M>, sim: &mut Simulation) -> bool {
        let (now_ms, random) = (sim.now_ms(), &mut sim.random);
        let Some(connection) = self.connections.get_mut(&id) else { return true };
        let base_max_ms = self.base_max_ms;
        let pace = self.paces.entry((connection.direction(to), connection.is_bulky()));
        let pace = pace.or_insert_with(|| Pace { base_ms: random.below(base_max_ms + 1), ..Pace::default() });
        let extra_ms = if now_ms < pace.slow_until_ms { pace.extra_ms } else { 0 };
        let due_ms = now_ms + pace.base_ms + extra_ms + random.below(3);
        let queue = connection.queue_mut(to);
        // In order, also when the direction has just become faster.
        let due_ms = queue.back().map_or(due_ms, |(_, last_ms)| due_ms.max(*last_ms));
        queue.push_back((flight, due_ms));
        if queue.len() <= QUEUE_MAX {
            return true;
        }
        let at = random.below(QUEUE_MAX as u64) as usize;
        if matches!(queue.get(at), Some((Flight::Message(_), _))) {
            queue.remove(at);
            return false;
        }
        true
    }

    /// Something that has arrived, and at which side. `overtakes` says whether a later message comes before it. What
    /// `is_read` denies waits in the socket.
    pub fn arrive(
        &mut self,
        overtakes: bool,
        is_read: impl Fn(&Connection<G, M, S>, Side) -> bool,
        sim: &mut Simulation,
    ) -> Option<Arrival<G, M>> {
        let (now_ms, random) = (sim.now_ms(), &mut sim.random);
        let is_ready = |connection: &Connection<G, M, S>, to: Side| {
            let first = connection.queue(to).front();
            first.is_some_and(|(_, due_ms)| *due_ms <= now_ms && is_read(connection, to))
        };
        let mut ready = Vec::new();
        for (id, connection) in &self.connections {
            let sides = [Side::Dialler, Side::Answerer].into_iter();
            ready.extend(sides.filter(|to| is_ready(connection, *to)).map(|to| (*id, to)));
        }
        let (id, to) = *ready.get(random.below(ready.len() as u64) as usize)?;
        let connection = self.connections.get_mut(&id)?;
        let queue = connection.queue_mut(to);
        let may_be_overtaken = |(flight, due_ms): &&(Flight<G, M>, u64)| {
            *due_ms <= now_ms && matches!(flight, Flight::Message(_) | Flight::Ping)
        };
        let due = queue.iter().take_while(may_be_overtaken).count() as u64;
        let at = if overtakes && due > 0 { random.below(due) as usize } else { 0 };
        let (flight, _) = queue.remove(at)?;
        Some((id, to, flight))
    }

    /// It comes once more.
    pub fn again(&mut self, (id, to): (ConnId, Side), flight: Flight<G, M>, now_ms: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let queue = connection.queue_mut(to);
        match queue.back() {
            Some((Flight::Close, _)) => {}
            last => {
                let due_ms = last.map_or(now_ms, |(_, last_ms)| *last_ms);
                queue.push_back((flight, due_ms));
            }
        }
    }

    /// Whether anything has arrived at that side that its process has not read. What was sent in a direction that is cut has
    /// not.
    #[must_use]
    pub fn holds_unread(&self, id: ConnId, side: Side, now_ms: u64) -> bool {
        let connection = self.connections.get(&id).filter(|one| !self.cut.contains(&one.direction(side)));
        connection.is_some_and(|one| one.queue(side).front().is_some_and(|(_, due_ms)| *due_ms <= now_ms))
    }

    /// An end is closed by its process, or with it. The other side hears of it unless it is not `told`.
    pub fn close(&mut self, at: (ConnId, Side), told: bool, sim: &mut Simulation) {
        let (id, side) = at;
        let Some(end) = self.connections.get_mut(&id).map(|one| one.end_mut(side)) else { return };
        if std::mem::replace(&mut end.closed, true) {
            return;
        }
        if told {
            self.send((id, side.other()), Flight::Close, sim);
        }
        self.clear_up(id);
    }

    /// Forgets a connection of which nothing is left.
    pub fn clear_up(&mut self, id: ConnId) {
        if self.connections.get(&id).is_some_and(Connection::is_over) {
            self.connections.remove(&id);
        }
    }

    /// The ends of connections that a process has.
    #[must_use]
    pub fn ends_of(&self, place: u64, process: u64) -> Vec<(ConnId, Side)> {
        let is_its =
            |end: &End<S>| end.place == place && end.process == process && process != 0 && !end.closed;
        let sides = [Side::Dialler, Side::Answerer];
        let all = self.connections.iter().flat_map(|(id, one)| sides.map(|side| (*id, side, one.end(side))));
        all.filter(|(.., end)| is_its(end)).map(|(id, side, _)| (id, side)).collect()
    }

    /// How many flights are on their way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.connections.values().map(|one| one.to_dialler.len() + one.to_answerer.len()).sum()
    }

    /// What is on its way to a machine is lost, for its power failed.
    pub fn forget(&mut self, place: u64) {
        for connection in self.connections.values_mut() {
            for to in [Side::Dialler, Side::Answerer] {
                if connection.end(to).place == place {
                    connection.queue_mut(to).clear();
                }
            }
        }
        self.connections.retain(|_, connection| !connection.is_over());
    }

    /// All that is on its way is lost.
    pub fn forget_all(&mut self) {
        self.connections.values_mut().for_each(|one| {
            one.to_dialler.clear();
            one.to_answerer.clear();
        });
        self.connections.retain(|_, connection| !connection.is_over());
    }

    /// One direction takes longer until then, or what is bulky there.
    pub fn slow_down(&mut self, direction: Direction, bulky: bool, extra_ms: u64, until_ms: u64) {
        for kind in [true, bulky] {
            if let Some(pace) = self.paces.get_mut(&(direction, kind)) {
                (pace.extra_ms, pace.slow_until_ms) = (extra_ms, until_ms);
            }
        }
    }

    /// Every direction is as fast as it ever was, also for what is on its way.
    pub fn speed_up(&mut self, now_ms: u64) {
        self.paces.values_mut().for_each(|pace| pace.slow_until_ms = 0);
        for connection in self.connections.values_mut() {
            for to in [Side::Dialler, Side::Answerer] {
                let pace = self.paces.get(&(connection.direction(to), connection.is_bulky()));
                let latest_ms = now_ms + pace.map_or(0, |pace| pace.base_ms);
                let queue = connection.queue_mut(to);
                queue.iter_mut().for_each(|(_, due_ms)| *due_ms = latest_ms.min(*due_ms));
            }
        }
    }

    /// Nothing comes through between these and those.
    pub fn split(&mut self, these: &[u64], those: &[u64]) {
        let pairs = these.iter().flat_map(|one| those.iter().map(move |other| (*one, *other)));
        self.cut.extend(pairs.flat_map(|(one, other)| [(one, other), (other, one)]));
    }

    /// Nothing comes through between that number and some others.
    pub fn part(&mut self, some: u64, others: &[u64], one_way: bool, random: &mut Random) {
        for other in others.iter().copied().filter(|other| *other != some) {
            if random.chance(70) {
                self.cut.insert((some, other));
                if !one_way {
                    self.cut.insert((other, some));
                }
            }
        }
    }
}
