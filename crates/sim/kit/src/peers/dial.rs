//! A process dials other members, and answers those who dial: what threads and handshakes do in `net_peers`.
//! Knows no rule of which connection is kept.

use std::collections::BTreeSet;

use base::MemberNumber;
use net_peer_pairs::{Lane, Offer, is_outdated};

use super::{At, EndState, Hello, NUMBERS, Parts, PeerWorld, Peering, pairs};
use crate::network::{Flight, Side};

/// How long a connection may take until both sides have said who they are, milliseconds.
const HANDSHAKE_MS: u64 = 5_000;
/// Between attempts, at first and at last, milliseconds.
const PAUSE_MS: (u64, u64) = (50, 500);
/// By how much the lower number lets the higher one go first, milliseconds.
const COURTESY_MS: u64 = 150;

/// The dialling of one other member.
pub(super) struct Dial {
    /// No member of that number is connected.
    wanted: bool,
    due_ms: u64,
    pause_ms: u64,
    trying: Option<Trying>,
}

/// An attempt.
struct Trying {
    at: At,
    /// Whether this member said that it has an id.
    as_member: bool,
    until_ms: u64,
    /// The first of the two connections, once it is there.
    first: Option<(Offer, At)>,
}

impl Dial {
    fn new(due_ms: u64) -> Self {
        Self { wanted: true, due_ms, pause_ms: PAUSE_MS.0, trying: None }
    }

    /// The member is connected, or is not: then it is dialled from that time on.
    pub(super) const fn connected(&mut self, connected: bool, due_ms: u64) {
        if !connected && !self.wanted {
            self.due_ms = due_ms;
        }
        self.wanted = !connected;
    }
}

/// How long a number waits before it dials another.
pub(super) const fn courtesy_ms(own: u64, other: MemberNumber) -> u64 {
    if MemberNumber::of(own).0 < other.0 { COURTESY_MS } else { 0 }
}

/// Members that are not connected are dialled.
pub(super) fn dial_others(world: &mut impl PeerWorld, place: u64) {
    let Parts { sim, machines, .. } = world.parts();
    let now_ms = sim.now_ms();
    let own = MemberNumber::of(place);
    let others: BTreeSet<_> = machines.keys().map(|other| MemberNumber::of(*other)).collect();
    for other in others.into_iter().filter(|other| *other != own) {
        let Some(peers) = world.parts().peering.processes.get_mut(&place) else { return };
        let due_ms = now_ms + courtesy_ms(place, other);
        let attempt = peers.dials.entry(other).or_insert_with(|| Dial::new(due_ms));
        match &attempt.trying {
            Some(trying) if now_ms >= trying.until_ms => give_up(world, place, other),
            None if attempt.wanted && now_ms >= attempt.due_ms => dial(world, place, other, None),
            _ => {}
        }
    }
}

/// Dials the machine of that number, or one of two. Behind the `first` connection of an attempt comes the second.
fn dial(world: &mut impl PeerWorld, place: u64, other: MemberNumber, first: Option<(Offer, At)>) {
    let Parts { peering, sim, machines, .. } = world.parts();
    let places = [other.into(), NUMBERS + u64::from(other)].into_iter();
    let places: Vec<_> = places.filter(|there| machines.contains_key(there)).collect();
    let to = places[sim.random.below(places.len() as u64) as usize];
    let hello = peering.hello(place, &machines[&place]);
    let peers = peering.processes.get_mut(&place).expect("it runs");
    let attempt = match &first {
        Some((offer, _)) => offer.attempt,
        None => {
            peers.attempts += 1;
            peers.attempts
        }
    };
    let lane = if first.is_some() { Lane::Bulk } else { Lane::Control };
    let id = peering.network.open((place, hello.process), to, lane, attempt);
    let at = (id, Side::Dialler);
    let until_ms = sim.now_ms() + HANDSHAKE_MS;
    let trying = Trying { at, as_member: hello.identity.is_some(), until_ms, first };
    if let Some(dial) = peers.dials.get_mut(&other) {
        dial.trying = Some(trying);
    }
    peering.network.send((id, Side::Answerer), Flight::Greeting(hello), sim);
}

/// An attempt has failed.
fn give_up(world: &mut impl PeerWorld, place: u64, other: MemberNumber) {
    let Parts { peering, sim, .. } = world.parts();
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    let Some(dial) = peers.dials.get_mut(&other) else { return };
    let Some(trying) = dial.trying.take() else { return };
    dial.due_ms = sim.now_ms() + dial.pause_ms + courtesy_ms(place, other);
    dial.pause_ms = (2 * dial.pause_ms).min(PAUSE_MS.1);
    for at in [Some(trying.at), trying.first.map(|(_, at)| at)].into_iter().flatten() {
        peering.network.close(at, true, sim);
    }
}

/// The other side of a connection says who it is.
pub(super) fn greeted(world: &mut impl PeerWorld, (id, side): At, hello: Hello) {
    let Parts { peering, sim, machines, .. } = world.parts();
    let Some(connection) = peering.network.connection(id) else { return };
    let (end, lane, attempt) = (*connection.end(side), connection.lane, connection.attempt);
    let (from, own) = (connection.end(side.other()).place, peering.hello(end.place, &machines[&end.place]));
    let dialled = side == Side::Dialler;
    if !peering.processes.contains_key(&end.place) {
        // Its system says so, or nothing does.
        let told = sim.random.chance(50);
        return peering.network.close((id, side), told, sim);
    }
    if !is_let_in(peering, own, end.place, from, hello, dialled) {
        sim.count("connection refused", 1);
        if dialled {
            return give_up(world, end.place, hello.number);
        }
        return peering.network.close((id, side), true, sim);
    }
    let offer = Offer {
        number: hello.number.into(),
        id: hello.identity.map(|(id, _)| id),
        process: hello.process,
        level: hello.level,
        lane,
        dialled,
        attempt,
        proven: peering.proven,
        as_member: own.identity.is_some(),
    };
    match dialled {
        true => answered(world, end.place, (id, side), offer),
        false => accept(world, (id, side), own, offer),
    }
}

/// Whether a process goes on with one that says this of itself.
fn is_let_in(peering: &Peering, own: Hello, place: u64, from: u64, hello: Hello, dialled: bool) -> bool {
    let Some(peers) = peering.processes.get(&place) else { return false };
    let is_apart =
        matches!((own.identity, hello.identity), (Some((_, own)), Some((_, theirs))) if own != theirs);
    // Where nothing is proved, a machine must come from the address of its number.
    let is_elsewhere = !peering.proven && (from >= NUMBERS || place >= NUMBERS);
    let connected = peers.table.process_of(hello.number.into());
    !is_apart && !is_elsewhere && (dialled || !is_outdated(hello.process, connected))
}

/// Lets one in that dialled, and says who this member is.
fn accept(world: &mut impl PeerWorld, (id, side): At, own: Hello, offer: Offer) {
    let Parts { peering, sim, .. } = world.parts();
    let Some(connection) = peering.network.connection_mut(id) else { return };
    let end = connection.end_mut(side);
    (end.process, end.state) = (own.process, EndState::Established);
    let place = end.place;
    peering.network.send((id, side.other()), Flight::Greeting(own), sim);
    if let Some(peers) = peering.processes.get_mut(&place) {
        peers.arrived.push_back((offer, (id, side)));
    }
}

/// A member that was dialled lets this one in.
fn answered(world: &mut impl PeerWorld, place: u64, at: At, offer: Offer) {
    let Parts { peering, sim, .. } = world.parts();
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    let Some(attempt) = peers.dials.get_mut(&offer.number.member()) else { return };
    let Some(trying) = attempt.trying.take_if(|trying| trying.at == at) else {
        return peering.network.close(at, true, sim);
    };
    let offer = Offer { as_member: trying.as_member, ..offer };
    if let Some(connection) = peering.network.connection_mut(at.0) {
        connection.end_mut(at.1).state = EndState::Established;
    }
    match trying.first {
        None => dial(world, place, offer.number.member(), Some((offer, at))),
        Some(first) => {
            (attempt.pause_ms, attempt.wanted) = (PAUSE_MS.0, false);
            peers.arrived.extend([first, (offer, at)]);
        }
    }
}

/// The other end of a connection is closed, or nothing is there that would answer.
pub(super) fn hung_up(world: &mut impl PeerWorld, (id, side): At) {
    let Parts { peering, .. } = world.parts();
    let Some(connection) = peering.network.connection(id) else { return };
    let (end, attempt) = (*connection.end(side), connection.of_attempt());
    let peers = peering.processes.get(&end.place);
    if let Some(peers) = peers.filter(|peers| peers.process == end.process) {
        let tries = |dial: &Dial| dial.trying.as_ref().is_some_and(|trying| trying.at == (id, side));
        let tried = peers.dials.iter().find(|(_, dial)| tries(dial)).map(|(other, _)| *other);
        match (end.state, tried) {
            (EndState::Taken(pair), _) => pairs::broke(world, end.place, pair, Some(attempt)),
            (_, Some(other)) => give_up(world, end.place, other),
            _ => {}
        }
    }
    let Parts { peering, sim, .. } = world.parts();
    peering.network.close((id, side), false, sim);
    peering.network.clear_up(id);
}
