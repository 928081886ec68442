//! The connections between the processes of a world: who dials whom, which connections each process keeps, and what comes on
//! them. Each process feeds a table of pairs ([`net_peer_pairs`]) as `net_peers::PeerConnections` does for a real one, and
//! does what the table decides. Knows no message's meaning, and no rule of which pair is kept.
//!
//! A world implements [`PeerWorld`]. It tells [`Peering`] when processes begin and end, and calls [`begin_anew`] whenever a
//! process gets its identity or loses it (until then it is connected as one without). It calls [`tend`] for each process
//! whenever time has passed, and [`deliver`] whenever something may arrive.

mod delivery;
mod dial;
mod judge;
mod pairs;

use std::collections::{BTreeMap, VecDeque};

use base::{MemberId, MemberNumber, MonoTime};
use net_peer_pairs::{Lane, Offer, PairRef, PeerPairs};

use crate::network::{Attempt, ConnId, Flight, Network, Side};
use crate::simulation::Simulation;

pub use delivery::deliver;
use dial::Dial;
use judge::PairJudge;
pub use judge::PairRecord;
pub use pairs::{begin_anew, break_pair, tend};

/// Members are told apart by their number, the low byte of their ids. Two machines may have one number: the place of the
/// second is so much higher.
pub const NUMBERS: u64 = 1 << u8::BITS;

/// By what members that belong together are known.
pub type Cluster = [u8; 16];

/// One of the two ends of a connection.
type At = (ConnId, Side);

/// What a member says of itself on a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    number: MemberNumber,
    identity: Option<(MemberId, Cluster)>,
    process: u64,
    level: u32,
}

/// How far an end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndState {
    /// It waits for the other side to say who it is.
    #[default]
    Greeting,
    /// Both have said who they are, and its process has not looked at it yet.
    Established,
    /// Its process has taken it into this pair.
    Taken(PairRef),
}

/// The network that peers talk over.
pub type PeerNetwork = Network<Hello, Vec<u8>, EndState>;

/// A machine, as far as its connections depend on it.
pub trait PeerMachine {
    /// Whether its process stands still: what comes waits in the socket.
    fn is_paused(&self, now_ms: u64) -> bool;
    /// Whether its process is busy with its own start, and takes no connection.
    fn is_starting(&self) -> bool;
    /// What its monotonic clock says.
    fn mono(&self, now_ms: u64) -> MonoTime;
    /// Its id among the others, and of which cluster, once it has one.
    fn identity(&self) -> Option<(MemberId, Cluster)>;
    /// The feature level of its build.
    fn level(&self) -> u32;
}

/// What of a world the connections work with, all at once.
pub struct Parts<'a, M> {
    /// The connections.
    pub peering: &'a mut Peering,
    /// The world's clock and random numbers.
    pub sim: &'a mut Simulation,
    /// Its machines, by place: a machine's number, or [`NUMBERS`] more.
    pub machines: &'a BTreeMap<u64, M>,
    /// What is judged of pairs.
    pub record: &'a mut PairRecord,
}

/// A world whose processes are connected with each other. The world is told what its processes would be, at once
/// and in that order.
pub trait PeerWorld {
    /// What it consists of.
    type Machine: PeerMachine;

    /// Its parts.
    fn parts(&mut self) -> Parts<'_, Self::Machine>;

    /// A process is told that a member is connected, which understands that feature level.
    fn connected(&mut self, place: u64, id: MemberId, level: u32);

    /// A process is told that a member is connected no more.
    fn disconnected(&mut self, place: u64, id: MemberId);

    /// A message of a member comes to a process, from one place to another.
    fn received(&mut self, from: u64, to: u64, id: MemberId, message: Vec<u8>);
}

/// The connections of one process.
struct Peers {
    /// Which of all processes: a later one has a higher number.
    process: u64,
    table: PeerPairs<At>,
    dials: BTreeMap<MemberNumber, Dial>,
    attempts: u64,
    /// Connections on which both sides have said who they are, and which were not looked at yet.
    arrived: VecDeque<(Offer, At)>,
    judge: PairJudge,
}

impl Peers {
    fn new(number: MemberNumber, process: u64) -> Self {
        Self {
            process,
            table: PeerPairs::new(number.into()),
            dials: BTreeMap::new(),
            attempts: 0,
            arrived: VecDeque::new(),
            judge: PairJudge::default(),
        }
    }

    /// The member of that number is connected, or is not.
    fn connected(&mut self, number: MemberNumber, connected: bool, due_ms: u64) {
        if let Some(dial) = self.dials.get_mut(&number) {
            dial.connected(connected, due_ms);
        }
    }
}

/// What became of something that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    OnItsWay,
    /// Too much was on its way: something was dropped, and the sender knows it.
    Dropped,
    /// The table knows no connection for it: it is lost.
    NotConnected,
}

/// The connections of all processes.
pub struct Peering {
    /// What is on its way.
    pub network: PeerNetwork,
    proven: bool,
    /// By place.
    processes: BTreeMap<u64, Peers>,
    /// With which machine each was connected last under which number.
    last_places: BTreeMap<(u64, MemberNumber), u64>,
    /// Of two pairs of the same two processes: which one of them prefers.
    preferred: BTreeMap<(Attempt, Attempt), Attempt>,
}

impl Peering {
    /// Nothing runs yet. `proven` says whether members prove to each other who they are.
    #[must_use]
    pub const fn new(network: PeerNetwork, proven: bool) -> Self {
        Self {
            network,
            proven,
            processes: BTreeMap::new(),
            last_places: BTreeMap::new(),
            preferred: BTreeMap::new(),
        }
    }

    /// A process begins on a machine. `process` is not 0, and higher than that of any before it.
    pub fn begin(&mut self, place: u64, process: u64) {
        self.processes.insert(place, Peers::new(MemberNumber::of(place), process));
    }

    /// A process has ended, and with it all its connections. The others hear of it unless the power failed.
    pub fn end(&mut self, place: u64, told: bool, sim: &mut Simulation) {
        let Some(peers) = self.processes.remove(&place) else { return };
        for at in self.network.ends_of(place, peers.process) {
            self.network.close(at, told, sim);
        }
    }

    /// A process sends to a member.
    pub fn send(
        &mut self,
        place: u64,
        to: MemberId,
        lane: Lane,
        message: Vec<u8>,
        sim: &mut Simulation,
    ) -> Sent {
        let at = self.processes.get_mut(&place).and_then(|peers| peers.table.connection(to, lane).copied());
        self.send_on(at, message, sim)
    }

    /// A process sends to the member of that number, also if that has no id.
    pub fn send_to_number(
        &mut self,
        place: u64,
        number: MemberNumber,
        message: Vec<u8>,
        sim: &mut Simulation,
    ) -> Sent {
        let at = self.processes.get_mut(&place).and_then(|peers| peers.table.control(number.into()).copied());
        self.send_on(at, message, sim)
    }

    fn send_on(&mut self, at: Option<At>, message: Vec<u8>, sim: &mut Simulation) -> Sent {
        let Some((id, side)) = at else { return Sent::NotConnected };
        match self.network.send((id, side.other()), Flight::Message(message), sim) {
            true => Sent::OnItsWay,
            false => Sent::Dropped,
        }
    }

    /// Whether members prove to each other who they are.
    #[must_use]
    pub const fn is_proven(&self) -> bool {
        self.proven
    }

    /// What a process says of itself now.
    fn hello(&self, place: u64, machine: &impl PeerMachine) -> Hello {
        let process = self.processes.get(&place).map_or(0, |peers| peers.process);
        let (identity, level) = (machine.identity(), machine.level());
        Hello { number: MemberNumber::of(place), identity, process, level }
    }
}
