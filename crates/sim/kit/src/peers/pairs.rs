//! The pairs of connections that a process keeps: it feeds its table ([`net_peer_pairs`]), and does what that decides.
//! Knows no rule of which pair is kept.

use base::MemberNumber;
use net_peer_pairs::{Dropped, Lane, Offer, Pair, PairRef, Pulse, Refusal, Verdict};

use super::dial::{courtesy_ms, dial_others};
use super::{At, EndState, Parts, PeerMachine, PeerWorld, Peering, judge};
use crate::network::{Attempt, Connection, Flight};

/// Time has passed for a process that does not stand still: it dials, looks at what was established, pings, and gives up what
/// is silent.
pub fn tend(world: &mut impl PeerWorld, place: u64) {
    dial_others(world, place);
    let Parts { peering, machines, .. } = world.parts();
    if peering.processes.contains_key(&place) && !machines[&place].is_starting() {
        take_arrived(world, place);
        take_pulses(world, place);
    }
}

/// Looks at connections that were established meanwhile.
fn take_arrived(world: &mut impl PeerWorld, place: u64) {
    loop {
        let Parts { peering, sim, machines, .. } = world.parts();
        let mono = machines[&place].mono(sim.now_ms());
        let Some(peers) = peering.processes.get_mut(&place) else { return };
        let Some((offer, at)) = peers.arrived.pop_front() else { return };
        let number = offer.number.member();
        let standing = peers.table.pair_with(offer.number).and_then(|pair| peering.attempt_of(place, pair));
        let Some(peers) = peering.processes.get_mut(&place) else { return };
        match peers.table.offered(&offer, mono) {
            Verdict::Refused(why) => {
                judge::preference(world, at, standing.filter(|_| why == Refusal::Lesser), false);
                refuse(world, place, number, at, why);
                continue;
            }
            Verdict::Joins => {}
            Verdict::Replaces(dropped) => {
                judge::preference(world, at, standing, true);
                world.parts().sim.count("pair replaced", 1);
                end_pair(world, place, dropped);
            }
        }
        connect(world, place, &offer, at);
    }
}

fn refuse(world: &mut impl PeerWorld, place: u64, number: MemberNumber, at: At, why: Refusal) {
    let Parts { peering, sim, .. } = world.parts();
    sim.count(
        match why {
            Refusal::OutOfDate => "connection out of date",
            Refusal::NotOfThePair => "connection of no pair",
            Refusal::Lesser => "pair of lower precedence",
            Refusal::Claim => "unproven connection",
        },
        1,
    );
    peering.network.close(at, true, sim);
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    let connected = peers.table.pair_with(number.into()).is_some();
    peers.connected(number, connected, sim.now_ms() + courtesy_ms(place, number));
}

fn connect(world: &mut impl PeerWorld, place: u64, offer: &Offer, at: At) {
    let Parts { peering, sim, machines, .. } = world.parts();
    let mono = machines[&place].mono(sim.now_ms());
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    let (pair, up) = peers.table.connect(offer, at, mono);
    peers.connected(offer.number.member(), true, sim.now_ms());
    if let Some(connection) = peering.network.connection_mut(at.0) {
        connection.end_mut(at.1).state = EndState::Taken(pair);
    }
    if let Some((id, level)) = up {
        judge::up(world, place, at, id);
        world.connected(place, id, level);
    }
}

/// A pair ended: its connections are closed, and who was told of it is told so.
fn end_pair(world: &mut impl PeerWorld, place: u64, dropped: Dropped<At>) {
    judge::down(world, place, &dropped);
    let Parts { peering, sim, .. } = world.parts();
    let number = dropped.pair.number.member();
    for at in dropped.connections {
        peering.network.close(at, true, sim);
    }
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    peers.connected(number, false, sim.now_ms() + courtesy_ms(place, number));
    if let Some(id) = dropped.told_id {
        world.disconnected(place, id);
    }
}

/// A connection of a pair broke, which was made in that attempt.
pub(super) fn broke(world: &mut impl PeerWorld, place: u64, pair: PairRef, attempt: Option<Attempt>) {
    let Some(peers) = world.parts().peering.processes.get_mut(&place) else { return };
    let Some(dropped) = peers.table.disconnect(pair) else { return };
    judge::broken(world, place, &dropped, attempt);
    end_pair(world, place, dropped);
}

/// A machine notices that its connection with another is gone, and that one does not.
pub fn break_pair(world: &mut impl PeerWorld, place: u64, with: u64) {
    let Parts { peering, .. } = world.parts();
    let Some(peers) = peering.processes.get(&place) else { return };
    let Some(pair) = peers.table.pair_with(MemberNumber::of(with).into()) else { return };
    let attempt = peering.attempt_of(place, pair);
    if attempt.is_some_and(|attempt| [attempt.dialler.0, attempt.answerer.0].contains(&with)) {
        broke(world, place, pair, attempt);
    }
}

impl Peering {
    /// The connections of each process and how their other ends are, for people.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (place, peers) in &self.processes {
            for pair in peers.table.iter() {
                let ends = pair.connections().map(|(id, side)| match self.network.connection(*id) {
                    Some(one) => {
                        let other = one.end(side.other());
                        let how = if other.closed { "closed" } else { "open" };
                        format!(
                            "{id} to {} of process {} ({how}, {:?})",
                            other.place, other.process, other.state
                        )
                    }
                    None => format!("{id} is gone"),
                });
                let ends: Vec<_> = ends.collect();
                let who = pair.reference().number;
                lines.push(format!("{place} with {who}: {}", ends.join(", ")));
            }
        }
        lines
    }

    /// Which attempt a pair that stands came of.
    fn attempt_of(&mut self, place: u64, pair: PairRef) -> Option<Attempt> {
        let at = *self.processes.get_mut(&place)?.table.current(pair)?.connections().next()?;
        self.network.connection(at.0).map(Connection::of_attempt)
    }
}

fn take_pulses(world: &mut impl PeerWorld, place: u64) {
    let Some(peers) = world.parts().peering.processes.get(&place) else { return };
    let pairs: Vec<_> = peers.table.iter().map(Pair::reference).collect();
    for pair in pairs {
        let Parts { peering, sim, machines, .. } = world.parts();
        let now_ms = sim.now_ms();
        let mono = machines[&place].mono(now_ms);
        let Peering { network, processes, .. } = peering;
        let Some(peers) = processes.get_mut(&place) else { return };
        let Some(current) = peers.table.current(pair) else { continue };
        if current.connections().any(|at| network.holds_unread(at.0, at.1, now_ms)) {
            current.heard(mono);
        }
        match current.pulse(mono) {
            Pulse::Well => {}
            Pulse::Ping => {
                if let Some((id, side)) = current.connection(Lane::Control).copied() {
                    network.send((id, side.other()), Flight::Ping, sim);
                }
            }
            Pulse::Silent => {
                sim.count("pair silent", 1);
                let attempt = peering.attempt_of(place, pair);
                broke(world, place, pair, attempt);
            }
        }
    }
}

/// A process got its identity, or lost it: all its pairs end, and nobody is there to be told.
pub fn begin_anew(world: &mut impl PeerWorld, place: u64, is_member: bool) {
    let Some(peers) = world.parts().peering.processes.get_mut(&place) else { return };
    let all = peers.table.begin_anew(is_member);
    peers.judge.begin_anew();
    for dropped in all {
        end_pair(world, place, Dropped { told_id: None, ..dropped });
    }
}

/// Something came on a connection: a message, or a sign of life.
pub(super) fn receive(world: &mut impl PeerWorld, (id, side): At, message: Option<Vec<u8>>) {
    let Parts { peering, sim, machines, .. } = world.parts();
    let Some(connection) = peering.network.connection(id) else { return };
    let (end, attempt) = (*connection.end(side), connection.of_attempt());
    let source = connection.end(side.other()).place;
    let place = end.place;
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    let pair = match end.state {
        EndState::Taken(pair) if peers.process == end.process => peers.table.current(pair),
        _ => None,
    };
    let Some(pair) = pair else {
        // Its system answers for what nobody has any more.
        peering.network.send((id, side.other()), Flight::Close, sim);
        return sim.count("message on an old connection", 1);
    };
    pair.heard(machines[&place].mono(sim.now_ms()));
    let from = pair.id();
    judge::receipt(world, place, from, attempt);
    if let Some(message) = message {
        world.received(source, place, from, message);
    }
}
