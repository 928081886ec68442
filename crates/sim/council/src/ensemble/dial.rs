//! A process dials other members, and answers those who dial: what threads and handshakes do in `net_peers`.
//! Knows no rule of which connection is kept.

use std::collections::BTreeSet;

use council_replica::MemberId;
use council_replica::founding::NUMBERS;
use net_peer_pairs::{Lane, Offer, is_outdated};

use super::Ensemble;
use super::network::{EndState, Flight, Hello, Side};
use super::peers::At;

/// How long a connection may take until both sides have said who they are, milliseconds.
const HANDSHAKE_MS: u64 = 5_000;
/// Between attempts, at first and at last, milliseconds.
const PAUSE_MS: (u64, u64) = (50, 500);
/// By how much the lower number lets the higher one go first, milliseconds.
const COURTESY_MS: u64 = 150;

/// The dialling of one other member.
pub(super) struct Dial {
    /// Nobody of that number is connected.
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
pub(super) const fn courtesy_ms(own: u64, other: u64) -> u64 {
    if own % NUMBERS < other { COURTESY_MS } else { 0 }
}

impl Ensemble {
    /// Whoever is not connected is dialled.
    pub(super) fn dial_others(&mut self, place: u64) {
        let now_ms = self.sim.now_ms();
        let own = place % NUMBERS;
        let others: BTreeSet<_> = self.machines.keys().map(|other| other % NUMBERS).collect();
        for other in others.into_iter().filter(|other| *other != own) {
            let Some(process) = &mut self.machine(place).process else { return };
            let due_ms = now_ms + courtesy_ms(own, other);
            let dial = process.peers.dials.entry(other).or_insert_with(|| Dial::new(due_ms));
            match &dial.trying {
                Some(trying) if now_ms >= trying.until_ms => self.give_up(place, other),
                None if dial.wanted && now_ms >= dial.due_ms => self.dial(place, other, None),
                _ => {}
            }
        }
    }

    /// Dials the machine of that number, or one of two. Behind the `first` connection of an attempt comes the second.
    fn dial(&mut self, place: u64, other: u64, first: Option<(Offer, At)>) {
        let places = [other, NUMBERS + other].into_iter();
        let places: Vec<_> = places.filter(|there| self.machines.contains_key(there)).collect();
        let to = places[self.sim.random.below(places.len() as u64) as usize];
        let (hello, now_ms) = (self.hello(place), self.sim.now_ms());
        let peers = &mut self.machine(place).process.as_mut().expect("it runs").peers;
        let attempt = match &first {
            Some((offer, _)) => offer.attempt,
            None => {
                peers.attempts += 1;
                peers.attempts
            }
        };
        let lane = if first.is_some() { Lane::Bulk } else { Lane::Control };
        let id = self.network.open((place, hello.process), to, lane, attempt);
        let at = (id, Side::Dialler);
        let until_ms = now_ms + HANDSHAKE_MS;
        let trying = Trying { at, as_member: hello.identity.is_some(), until_ms, first };
        let peers = &mut self.machine(place).process.as_mut().expect("it runs").peers;
        if let Some(dial) = peers.dials.get_mut(&other) {
            dial.trying = Some(trying);
        }
        self.network.send((id, Side::Answerer), Flight::Hello(hello), now_ms, &mut self.sim.random);
    }

    /// An attempt has failed.
    fn give_up(&mut self, place: u64, other: u64) {
        let now_ms = self.sim.now_ms();
        let Some(process) = &mut self.machine(place).process else { return };
        let Some(dial) = process.peers.dials.get_mut(&other) else { return };
        let Some(trying) = dial.trying.take() else { return };
        dial.due_ms = now_ms + dial.pause_ms + courtesy_ms(place, other);
        dial.pause_ms = (2 * dial.pause_ms).min(PAUSE_MS.1);
        for at in [Some(trying.at), trying.first.map(|(_, at)| at)].into_iter().flatten() {
            self.network.close(at, true, now_ms, &mut self.sim.random);
        }
    }

    /// What a process says of itself now.
    fn hello(&self, place: u64) -> Hello {
        let machine = &self.machines[&place];
        let identity = machine.identity().map(|identity| (identity.member, identity.cluster));
        let process = machine.process.as_ref().map_or(0, |process| process.started);
        Hello { number: place % NUMBERS, identity, process, level: machine.level }
    }

    /// The other side of a connection says who it is.
    pub(super) fn greeted(&mut self, (id, side): At, hello: Hello) {
        let Some(connection) = self.network.connection(id) else { return };
        let (end, lane, attempt) = (*connection.end(side), connection.lane, connection.attempt);
        let (from, own) = (connection.end(side.other()).place, self.hello(end.place));
        let dialled = side == Side::Dialler;
        if self.machine(end.place).is_down() {
            // Its system says so, or nothing does.
            let told = self.sim.random.chance(50);
            return self.network.close((id, side), told, self.sim.now_ms(), &mut self.sim.random);
        }
        if !self.is_let_in(end.place, from, hello, dialled) {
            self.count("refused at the door", 1);
            if dialled {
                return self.give_up(end.place, hello.number);
            }
            return self.network.close((id, side), true, self.sim.now_ms(), &mut self.sim.random);
        }
        let offer = Offer {
            number: hello.number,
            id: hello.identity.map(|(id, _)| MemberId(id)),
            process: hello.process,
            level: hello.level,
            lane,
            dialled,
            attempt,
            proven: self.proven,
            as_member: own.identity.is_some(),
        };
        match dialled {
            true => self.answered(end.place, (id, side), offer),
            false => self.accept((id, side), own, offer),
        }
    }

    /// Whether a process goes on with one that says this of itself.
    fn is_let_in(&self, place: u64, from: u64, hello: Hello, dialled: bool) -> bool {
        let Some(process) = &self.machines[&place].process else { return false };
        let own = self.hello(place).identity;
        let is_apart = matches!((own, hello.identity), (Some((_, own)), Some((_, theirs))) if own != theirs);
        // Where nothing is proved, a machine must come from the address of its number.
        let is_elsewhere = !self.proven && (from >= NUMBERS || place >= NUMBERS);
        let connected = process.peers.table.process_of(hello.number);
        !is_apart && !is_elsewhere && (dialled || !is_outdated(hello.process, connected))
    }

    /// Lets one in that dialled, and says who this member is.
    fn accept(&mut self, (id, side): At, own: Hello, offer: Offer) {
        let now_ms = self.sim.now_ms();
        let Some(connection) = self.network.connection_mut(id) else { return };
        let end = connection.end_mut(side);
        (end.process, end.state) = (own.process, EndState::Established);
        let place = end.place;
        self.network.send((id, side.other()), Flight::Hello(own), now_ms, &mut self.sim.random);
        if let Some(process) = &mut self.machine(place).process {
            process.peers.arrived.push_back((offer, (id, side)));
        }
    }

    /// A member that was dialled lets this one in.
    fn answered(&mut self, place: u64, at: At, offer: Offer) {
        let Some(process) = &mut self.machine(place).process else { return };
        let Some(dial) = process.peers.dials.get_mut(&offer.number) else { return };
        let Some(trying) = dial.trying.take_if(|trying| trying.at == at) else {
            return self.network.close(at, true, self.sim.now_ms(), &mut self.sim.random);
        };
        let offer = Offer { as_member: trying.as_member, ..offer };
        if let Some(connection) = self.network.connection_mut(at.0) {
            connection.end_mut(at.1).state = EndState::Established;
        }
        let Some(process) = &mut self.machine(place).process else { return };
        let peers = &mut process.peers;
        let Some(dial) = peers.dials.get_mut(&offer.number) else { return };
        match trying.first {
            None => self.dial(place, offer.number, Some((offer, at))),
            Some(first) => {
                (dial.pause_ms, dial.wanted) = (PAUSE_MS.0, false);
                peers.arrived.extend([first, (offer, at)]);
            }
        }
    }

    /// The other end of a connection is closed, or nothing is there that would answer.
    pub(super) fn hung_up(&mut self, (id, side): At) {
        let Some(connection) = self.network.connection(id) else { return };
        let (end, attempt) = (*connection.end(side), connection.of_attempt());
        let process = self.machine(end.place).process.as_ref();
        if let Some(process) = process.filter(|process| process.started == end.process) {
            let tries = |dial: &Dial| dial.trying.as_ref().is_some_and(|trying| trying.at == (id, side));
            let tried = process.peers.dials.iter().find(|(_, dial)| tries(dial)).map(|(other, _)| *other);
            match (end.state, tried) {
                (EndState::Taken(pair), _) => self.broke(end.place, pair, Some(attempt)),
                (_, Some(other)) => self.give_up(end.place, other),
                _ => {}
            }
        }
        self.network.close((id, side), false, self.sim.now_ms(), &mut self.sim.random);
        self.network.clear_up(id);
    }
}
