//! What members say goes through the network, and arrives, or not.

use bytes::Bytes;
use council_replica::PeerMessage;
use council_replica::founding::{BLANK, Cluster, NUMBERS};

use super::machine::Life;
use super::network::Direction;
use super::{Ensemble, Faults};
use crate::random::Random;

impl Ensemble {
    pub(super) fn part(&mut self, chance: &mut Random) {
        let numbers = self.numbers();
        let (some, one_way) = (numbers[chance.below(numbers.len() as u64) as usize], chance.chance(30));
        if chance.chance(25) {
            let (these, those): (Vec<_>, Vec<_>) = numbers.iter().copied().partition(|_| chance.chance(50));
            self.network.split(&these, &those);
            self.tell(
                "part in halves",
                format_args!("between {these:?} and {those:?} nothing comes through"),
            );
        } else {
            self.network.part(some, &numbers, one_way, chance);
            if !one_way && chance.chance(40) {
                self.unreached.insert(some);
                self.count("clients cut off", 1);
            }
            self.tell(
                "part",
                format_args!("member {some} is cut off{}", if one_way { ", in one direction" } else { "" }),
            );
        }
        if one_way {
            self.count("one-way part", 1);
        }
        // Sooner or later the connections break.
        for (from, to) in self.network.cut.clone() {
            if chance.chance(50) {
                if !self.routes.are_connected(from, to) {
                    continue;
                }
                let id = self.id_of(from);
                if let Some(node) = self.node(to) {
                    node.link(id, false);
                }
                self.routes.broke(to, from);
            }
        }
        self.reroute();
    }

    /// Everything comes through again.
    pub fn mend(&mut self) {
        self.unreached.clear();
        self.routes.mend();
        self.reroute();
        for (from, to) in std::mem::take(&mut self.network.cut) {
            if !self.routes.are_connected(from, to) {
                continue;
            }
            let id = self.id_of(from);
            let same = self.cluster(from) == self.cluster(to);
            if let Some(node) = self.node(to).filter(|_| same) {
                node.link(id, true);
            }
        }
    }

    /// The next message arrives, if there is one.
    pub(super) fn deliver(&mut self, faults: &Faults) -> bool {
        let overtakes = faults.overtake > self.random.below(1000);
        let (now_ms, machines) = (self.now_ms, &self.machines);
        let is_deaf = |to| machines.get(&to).is_some_and(|machine| machine.is_paused(now_ms));
        let Some((direction, flight)) = self.network.arrive(now_ms, overtakes, is_deaf, &mut self.random)
        else {
            return false;
        };
        if faults.loss > self.random.below(1000) || self.network.cut.contains(&direction) {
            self.count("loss", 1);
            return true;
        }
        let repeats = faults.repeat > self.random.below(1000);
        self.count("overtaking", u64::from(overtakes));
        self.trace.step("message", &[flight.from, flight.to, now_ms]);
        self.trace.bytes(&flight.bytes);
        let bytes = Bytes::from(flight.bytes.clone());
        let message = PeerMessage::decode(bytes).expect("what a member encoded");
        if repeats {
            self.count("repeat", 1);
            self.network.again((direction, message.is_bulky()), flight.clone());
        }
        self.hand_over(direction, (flight.from, flight.to), message);
        true
    }

    /// From the id of a member on one machine to that of one on another.
    fn hand_over(&mut self, (source, number): Direction, (from, to): (u64, u64), message: PeerMessage) {
        let is_founding = matches!(message, PeerMessage::Founding(_));
        let are_strangers = !is_founding && self.cluster(source) != self.cluster(number);
        if are_strangers || !self.routes.are_connected(source, number) {
            return;
        }
        let is_outsider = |place: u64| self.machines.get(&place).is_some_and(|machine| machine.outsider);
        if !is_founding && is_outsider(source) != is_outsider(number) {
            self.record.crosses(source, number);
        }
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let seat = machine.seat.as_ref().map(|seat| seat.id);
        match (&mut machine.life, message) {
            (Life::Blank(member), PeerMessage::Founding(said)) => member.hear(from, said),
            // A message for an earlier life of this member's disk finds nobody.
            (Life::Seated(node), message) if seat == Some(to) || is_founding => {
                let taken = node.peer(from, message);
                taken.unwrap_or_else(|error| panic!("member {number}: {error:?}"));
            }
            _ => {}
        }
        self.collect(number);
    }

    pub(super) fn collect(&mut self, number: u64) {
        let from = self.id_of(number);
        let now_ms = self.now_ms;
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let (life, outsider) = (machine.born, machine.outsider);
        let Some(node) = machine.node() else { return };
        match outsider {
            true => self.record.look_at_outsider(number, life, node),
            false => self.record.look(now_ms, number, life, node),
        }
        let numbers = node.take_sequences().into_iter();
        self.sequences.extend(numbers.map(|(conn, xid, sequence)| ((life, conn, xid), sequence)));
        let (outgoing, counts) = (node.take_outgoing(), node.take_counts());
        let (unsent_bytes, cut_off) = node.take_unsent();
        self.record.unsent_bytes = self.record.unsent_bytes.max(unsent_bytes);
        for (to, message) in outgoing {
            let Some(place) = self.routes.place_of(number, to) else { continue };
            let (mut bytes, is_bulky) = (Vec::new(), message.is_bulky());
            message.encode(&mut bytes);
            let lane = ((number, place), is_bulky);
            self.network.send((from, to), lane, bytes, now_ms, &mut self.random);
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

    pub(super) fn id_of(&self, number: u64) -> u64 {
        let seat = self.machines.get(&number).and_then(|machine| machine.seat.as_ref());
        seat.map_or(BLANK | (number % NUMBERS), |seat| seat.id)
    }

    pub(super) fn cluster(&self, number: u64) -> Option<Cluster> {
        let machine = self.machines.get(&number)?;
        machine.seat.as_ref().map(|seat| seat.cluster)
    }
}
