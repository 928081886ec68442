//! A process's connections to other members: it feeds the table of pairs ([`net_peer_pairs`]) as the server's
//! `net_peers::Switchboard` does, and does what that decides. Knows no rule of which pair is kept.

use std::collections::{BTreeMap, VecDeque};

use council_replica::founding::NUMBERS;
use council_replica::{MemberId, PeerMessage};
use net_peer_pairs::{Dropped, Lane, Offer, Pair, PairRef, PeerPairs, Pulse, Refusal, Verdict};

use super::Ensemble;
use super::dial::{Dial, courtesy_ms};
use super::network::{Attempt, ConnId, Connection, EndState, Flight, Side};
use super::pair_judge::PairJudge;
use super::process::Stage;

/// One of the two ends of a connection.
pub(super) type At = (ConnId, Side);

/// See the module.
pub(super) struct Peers {
    pub(super) table: PeerPairs<At>,
    pub(super) dials: BTreeMap<u64, Dial>,
    pub(super) attempts: u64,
    /// Connections on which both sides have said who they are, and which were not looked at yet.
    pub(super) arrived: VecDeque<(Offer, At)>,
    pub(super) judge: PairJudge,
}

impl Peers {
    pub(super) fn new(number: u64) -> Self {
        Self {
            table: PeerPairs::new(number % NUMBERS),
            dials: BTreeMap::new(),
            attempts: 0,
            arrived: VecDeque::new(),
            judge: PairJudge::default(),
        }
    }

    /// The member of that number is connected, or is not.
    fn connected(&mut self, number: u64, connected: bool, due_ms: u64) {
        if let Some(dial) = self.dials.get_mut(&number) {
            dial.connected(connected, due_ms);
        }
    }
}

impl Ensemble {
    /// Time has passed for a process: it dials, looks at what was established, pings, and gives up what is silent.
    pub(super) fn tend_peers(&mut self, place: u64) {
        self.dial_others(place);
        let Some(process) = &self.machine(place).process else { return };
        if !matches!(process.stage, Stage::Next(_)) {
            self.take_arrived(place);
            self.take_pulses(place);
        }
    }

    /// Looks at connections that were established meanwhile.
    fn take_arrived(&mut self, place: u64) {
        let now_ms = self.sim.now_ms();
        loop {
            let Some(process) = &mut self.machine(place).process else { return };
            let Some((offer, at)) = process.peers.arrived.pop_front() else { return };
            let number = offer.number;
            let standing = process.peers.table.pair_with(number);
            let mono_ms = self.machine(place).mono_ms(now_ms);
            let standing = standing.and_then(|pair| self.attempt_of(place, pair));
            let Some(process) = &mut self.machine(place).process else { return };
            match process.peers.table.offered(&offer, mono_ms) {
                Verdict::Refused(why) => {
                    self.judge_preference(at, standing.filter(|_| why == Refusal::Lesser), false);
                    self.refuse(place, number, at, why);
                    continue;
                }
                Verdict::Joins => {}
                Verdict::Replaces(dropped) => {
                    self.judge_preference(at, standing, true);
                    self.count("pair replaced", 1);
                    self.end_pair(place, dropped);
                }
            }
            self.connect(place, &offer, at);
        }
    }

    fn refuse(&mut self, place: u64, number: u64, at: At, why: Refusal) {
        let now_ms = self.sim.now_ms();
        self.count(
            match why {
                Refusal::OutOfDate => "connection out of date",
                Refusal::NotOfThePair => "connection of no pair",
                Refusal::Lesser => "lesser pair",
                Refusal::Claim => "mere claim",
            },
            1,
        );
        self.network.close(at, true, now_ms, &mut self.sim.random);
        let Some(process) = &mut self.machine(place).process else { return };
        let connected = process.peers.table.pair_with(number).is_some();
        process.peers.connected(number, connected, now_ms + courtesy_ms(place, number));
    }

    fn connect(&mut self, place: u64, offer: &Offer, at: At) {
        let now_ms = self.sim.now_ms();
        let mono_ms = self.machine(place).mono_ms(now_ms);
        let Some(process) = &mut self.machine(place).process else { return };
        let (pair, up) = process.peers.table.connect(offer, at, mono_ms);
        process.peers.connected(offer.number, true, now_ms);
        if let Some(connection) = self.network.connection_mut(at.0) {
            connection.end_mut(at.1).state = EndState::Taken(pair);
        }
        if let Some((id, level)) = up {
            self.tell_up(place, at, id, level);
        }
    }

    fn tell_up(&mut self, place: u64, at: At, id: MemberId, level: u32) {
        self.judge_up(place, at, id.0);
        let Some(process) = &mut self.machine(place).process else { return };
        match &mut process.stage {
            Stage::Asking => process.lifecycle.connected(id.0),
            Stage::Running(node) => {
                node.core().understands(id, level);
                if !id.is_blank() {
                    node.link(id.0, true);
                }
            }
            Stage::Next(_) => {}
        }
    }

    /// A pair ended: its connections are closed, and who was told of it is told so.
    fn end_pair(&mut self, place: u64, dropped: Dropped<At>) {
        let (now_ms, number) = (self.sim.now_ms(), dropped.pair.number);
        self.judge_down(place, &dropped);
        for at in dropped.connections {
            self.network.close(at, true, now_ms, &mut self.sim.random);
        }
        let Some(process) = &mut self.machine(place).process else { return };
        process.peers.connected(number, false, now_ms + courtesy_ms(place, number));
        let Some(id) = dropped.told_id else { return };
        match &mut process.stage {
            Stage::Asking => process.lifecycle.disconnected(id.0),
            Stage::Running(node) if !id.is_blank() => node.link(id.0, false),
            _ => {}
        }
        self.collect(place);
    }

    /// A connection of a pair broke, which was made in that attempt.
    pub(super) fn broke(&mut self, place: u64, pair: PairRef, attempt: Option<Attempt>) {
        let Some(process) = &mut self.machine(place).process else { return };
        let Some(dropped) = process.peers.table.disconnect(pair) else { return };
        self.judge_break(place, &dropped, attempt);
        self.end_pair(place, dropped);
    }

    /// A machine notices that its connection with another is gone, and that one does not.
    pub(super) fn break_pair(&mut self, place: u64, with: u64) {
        let Some(process) = self.machines.get(&place).and_then(|machine| machine.process.as_ref()) else {
            return;
        };
        let Some(pair) = process.peers.table.pair_with(with % NUMBERS) else { return };
        let attempt = self.attempt_of(place, pair);
        if attempt.is_some_and(|attempt| [attempt.dialler.0, attempt.answerer.0].contains(&with)) {
            self.broke(place, pair, attempt);
        }
    }

    /// Which attempt a pair that stands came of.
    pub(super) fn attempt_of(&mut self, place: u64, pair: PairRef) -> Option<Attempt> {
        let peers = &mut self.machine(place).process.as_mut()?.peers;
        let at = *peers.table.current(pair)?.connections().next()?;
        self.network.connection(at.0).map(Connection::of_attempt)
    }

    fn take_pulses(&mut self, place: u64) {
        let now_ms = self.sim.now_ms();
        let mono_ms = self.machine(place).mono_ms(now_ms);
        let Some(process) = &self.machine(place).process else { return };
        let pairs: Vec<_> = process.peers.table.iter().map(Pair::reference).collect();
        for pair in pairs {
            let network = &self.network;
            let Some(process) = self.machines.get_mut(&place).and_then(|machine| machine.process.as_mut())
            else {
                return;
            };
            let Some(current) = process.peers.table.current(pair) else { continue };
            if current.connections().any(|at| network.holds_unread(at.0, at.1, now_ms)) {
                current.heard(mono_ms);
            }
            match current.pulse(mono_ms) {
                Pulse::Well => {}
                Pulse::Ping => {
                    if let Some((id, side)) = current.connection(Lane::Control).copied() {
                        self.network.send((id, side.other()), Flight::Ping, now_ms, &mut self.sim.random);
                    }
                }
                Pulse::Silent => {
                    self.count("pair silent", 1);
                    let attempt = self.attempt_of(place, pair);
                    self.broke(place, pair, attempt);
                }
            }
        }
    }

    /// What a member is has changed: all its pairs end, and nobody is there to be told.
    pub(super) fn begin_anew(&mut self, place: u64, is_member: bool) {
        let Some(process) = &mut self.machine(place).process else { return };
        let all = process.peers.table.begin_anew(is_member);
        process.peers.judge.begin_anew();
        for dropped in all {
            self.end_pair(place, Dropped { told_id: None, ..dropped });
        }
    }

    /// A process has ended, and with it all its connections. The others hear of it unless the power failed.
    pub(super) fn close_all(&mut self, place: u64, process: u64, told: bool) {
        for at in self.network.ends_of(place, process) {
            self.network.close(at, told, self.sim.now_ms(), &mut self.sim.random);
        }
    }

    /// Something came on a connection: a message, or a sign of life.
    pub(super) fn receive(&mut self, (id, side): At, message: Option<PeerMessage>) {
        let Some(connection) = self.network.connection(id) else { return };
        let (end, attempt) = (*connection.end(side), connection.of_attempt());
        let source = connection.end(side.other()).place;
        let place = end.place;
        let now_ms = self.sim.now_ms();
        let mono_ms = self.machine(place).mono_ms(now_ms);
        let Some(process) = &mut self.machine(place).process else { return };
        let pair = match end.state {
            EndState::Taken(pair) if process.started == end.process => process.peers.table.current(pair),
            _ => None,
        };
        let Some(pair) = pair else {
            // Its system answers for what nobody has any more.
            self.network.send((id, side.other()), Flight::Close, now_ms, &mut self.sim.random);
            return self.count("came on an old connection", 1);
        };
        pair.heard(mono_ms);
        let from = pair.id().0;
        self.judge_receipt(place, from, attempt);
        if let Some(message) = message {
            self.hand_over((source, place), from, message);
        }
    }
}
