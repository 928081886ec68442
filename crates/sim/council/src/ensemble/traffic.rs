//! What members say goes through the network, and arrives, or not.

use std::collections::BTreeMap;

use bytes::Bytes;
use council_replica::founding::{BLANK, Cluster, NUMBERS};
use council_replica::{MemberId, PeerMessage};

use super::machine::Machine;
use super::network::{Connection, Direction, EndState, Flight, Side};
use super::peers::At;
use super::process::Stage;
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
                self.break_pair(to, from);
            }
        }
    }

    /// Everything comes through again.
    pub fn mend(&mut self) {
        self.unreached.clear();
        self.network.cut.clear();
    }

    /// Whether a process looks at what has come on a connection; else it waits in the socket.
    fn is_read(machines: &BTreeMap<u64, Machine>, now_ms: u64, connection: &Connection, side: Side) -> bool {
        let end = connection.end(side);
        let Some(machine) = machines.get(&end.place) else { return true };
        let Some(process) = &machine.process else { return true };
        if machine.is_paused(now_ms) {
            return false;
        }
        // What was another process's is its system's to refuse.
        let is_its = process.started == end.process;
        match end.state {
            EndState::Greeting => true,
            EndState::Established => !is_its || end.closed,
            EndState::Taken(_) => !is_its || !matches!(process.stage, Stage::Next(_)),
        }
    }

    /// What comes next arrives, if there is anything.
    pub(super) fn deliver(&mut self, faults: &Faults) -> bool {
        let overtakes = faults.overtake > self.sim.random.below(1000);
        let (now_ms, machines) = (self.sim.now_ms(), &self.machines);
        let is_read =
            |connection: &Connection, side, _: &Flight| Self::is_read(machines, now_ms, connection, side);
        let Some((id, side, flight)) = self.network.arrive(now_ms, overtakes, is_read, &mut self.sim.random)
        else {
            return false;
        };
        let Some(direction) = self.network.connection(id).map(|connection| connection.direction(side)) else {
            return true;
        };
        let may_be_lost = matches!(flight, Flight::Message(_) | Flight::Ping);
        let is_lost = may_be_lost && faults.loss > self.sim.random.below(1000);
        if is_lost || self.network.cut.contains(&direction) {
            self.count("loss", 1);
            self.network.clear_up(id);
            return true;
        }
        if !self.machines.contains_key(&direction.1) {
            self.network.close((id, side), false, now_ms, &mut self.sim.random);
            return true;
        }
        match flight {
            Flight::Hello(hello) => self.greeted((id, side), hello),
            Flight::Close => self.hung_up((id, side)),
            Flight::Ping => self.receive((id, side), None),
            Flight::Message(bytes) => {
                self.count("overtaking", u64::from(overtakes));
                self.message((id, side), direction, bytes, faults);
            }
        }
        true
    }

    fn message(&mut self, at: At, (from, to): Direction, bytes: Vec<u8>, faults: &Faults) {
        self.sim.trace.step("message", &[from, to, self.sim.now_ms()]);
        self.sim.trace.bytes(&bytes);
        if faults.repeat > self.sim.random.below(1000) {
            self.count("repeat", 1);
            self.network.again(at, Flight::Message(bytes.clone()), self.sim.now_ms());
        }
        let message = PeerMessage::decode(Bytes::from(bytes)).expect("what a member encoded");
        self.receive(at, Some(message));
    }

    /// From one machine to another, whose pair is with the member of that id.
    pub(super) fn hand_over(&mut self, (source, number): Direction, from: u64, message: PeerMessage) {
        let is_founding = matches!(message, PeerMessage::Founding(_));
        let is_outsider = |place: u64| self.machines.get(&place).is_some_and(|machine| machine.outsider);
        if !is_founding && is_outsider(source) != is_outsider(number) {
            self.record.crosses(source, number);
        }
        let Some(process) = &mut self.machine(number).process else { return };
        match (&mut process.stage, message) {
            (Stage::Asking, PeerMessage::Founding(said)) => process.lifecycle.hear(from, said),
            (Stage::Running(node), message) => {
                let taken = node.peer(from, message);
                taken.unwrap_or_else(|error| panic!("member {number}: {error:?}"));
            }
            _ => {}
        }
        self.collect(number);
    }

    pub(super) fn collect(&mut self, number: u64) {
        let now_ms = self.sim.now_ms();
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
        let shards = node.take_shard_counts();
        self.record.unsent_bytes = self.record.unsent_bytes.max(shards.unsent_bytes_max);
        self.send_all(number, outgoing);
        self.count("slow client cut off", shards.slow_clients);
        self.count("client cut off past a lease", shards.past_lease);
        self.count("part read or written", shards.in_parts);
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

    /// Messages go where the table of pairs says; those to whom it knows nowhere are lost.
    fn send_all(&mut self, number: u64, outgoing: Vec<(u64, PeerMessage)>) {
        let now_ms = self.sim.now_ms();
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let Some(process) = &mut machine.process else { return };
        for (to, message) in outgoing {
            let Some((id, side)) = process.peers.table.connection(MemberId(to), message.lane()).copied()
            else {
                continue;
            };
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let flight = Flight::Message(bytes);
            let kept = self.network.send((id, side.other()), flight, now_ms, &mut self.sim.random);
            if let (false, Stage::Running(node)) = (kept, &mut process.stage) {
                let now = node.now();
                node.core().lost(MemberId(to), now);
            }
        }
    }

    pub(super) fn id_of(&self, number: u64) -> u64 {
        let identity = self.machines.get(&number).and_then(Machine::identity);
        identity.map_or(BLANK | (number % NUMBERS), |identity| identity.member)
    }

    pub(super) fn cluster(&self, number: u64) -> Option<Cluster> {
        self.machines.get(&number)?.identity().map(|identity| identity.cluster)
    }
}
