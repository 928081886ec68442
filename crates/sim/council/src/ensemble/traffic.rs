//! What members say goes through the network, and arrives, or not.

use bytes::Bytes;
use consensus_replica::founding::Cluster;
use consensus_replica::{MemberId, MemberNumber};
use council_replica::PeerMessage;
use net_peer_pairs::Lane;
use sim_kit::peers::{self, Parts, PeerWorld, Sent};

use super::Ensemble;
use super::machine::Machine;
use super::process::Stage;
use crate::random::Random;

impl PeerWorld for Ensemble {
    type Machine = Machine;

    fn parts(&mut self) -> Parts<'_, Machine> {
        Parts {
            peering: &mut self.peering,
            sim: &mut self.sim,
            machines: &self.machines,
            record: &mut self.record.pairs,
        }
    }

    fn connected(&mut self, place: u64, id: MemberId, level: u32) {
        let Some(process) = &mut self.machine(place).process else { return };
        match &mut process.stage {
            Stage::Asking => process.lifecycle.connected(id),
            Stage::Running(node) => {
                node.core().understands(id, level);
                if !id.is_blank() {
                    node.link(id, true);
                }
            }
            Stage::Next(_) => {}
        }
    }

    fn disconnected(&mut self, place: u64, id: MemberId) {
        let Some(process) = &mut self.machine(place).process else { return };
        match &mut process.stage {
            Stage::Asking => process.lifecycle.disconnected(id),
            Stage::Running(node) if !id.is_blank() => node.link(id, false),
            _ => {}
        }
        self.collect(place);
    }

    fn received(&mut self, from: u64, to: u64, id: MemberId, message: Vec<u8>) {
        let message = PeerMessage::decode(Bytes::from(message)).expect("what a member encoded");
        let is_founding = matches!(message, PeerMessage::Founding(_));
        let is_outsider = |place: u64| self.machines.get(&place).is_some_and(|machine| machine.outsider);
        if !is_founding && is_outsider(from) != is_outsider(to) {
            self.record.crosses(from, to);
        }
        let Some(process) = &mut self.machine(to).process else { return };
        match (&mut process.stage, message) {
            (Stage::Asking, PeerMessage::Founding(said)) => process.lifecycle.hear(id, said),
            (Stage::Running(node), message) => {
                let taken = node.peer(id, message);
                taken.unwrap_or_else(|error| panic!("member {to}: {error:?}"));
            }
            _ => {}
        }
        self.collect(to);
    }
}

impl Ensemble {
    pub(super) fn part(&mut self, chance: &mut Random) {
        let numbers = self.numbers();
        let (some, one_way) = (numbers[chance.below(numbers.len() as u64) as usize], chance.chance(30));
        if chance.chance(25) {
            let (these, those): (Vec<_>, Vec<_>) = numbers.iter().copied().partition(|_| chance.chance(50));
            self.peering.network.split(&these, &those);
            self.tell(
                "partition in halves",
                format_args!("members {these:?} and {those:?} cannot reach each other"),
            );
        } else {
            self.peering.network.part(some, &numbers, one_way, chance);
            if !one_way && chance.chance(40) {
                self.unreached.insert(some);
                self.count("clients cut off", 1);
            }
            self.tell(
                "partition",
                format_args!("member {some} is cut off{}", if one_way { ", in one direction" } else { "" }),
            );
        }
        if one_way {
            self.count("one-way partition", 1);
        }
        // Sooner or later the connections break.
        for (from, to) in self.peering.network.cut.clone() {
            if chance.chance(50) {
                peers::break_pair(self, to, from);
            }
        }
    }

    /// Everything comes through again.
    pub fn mend(&mut self) {
        self.unreached.clear();
        self.peering.network.cut.clear();
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
        self.count("socket took or gave a part", shards.in_parts);
        for (what, count) in counts {
            match (what, count) {
                (_, 0) => {}
                ("expiry decided", _) => {
                    self.record.verdicts_ms.push(now_ms);
                    self.count(what, count);
                }
                ("election", _) => self.tell(what, format_args!("member {number} leads")),
                ("snapshot installed", _) => {
                    self.tell(what, format_args!("member {number} installs a snapshot"))
                }
                _ => self.count(what, count),
            }
        }
    }

    /// Messages go where the table of pairs says; those to whom it knows nowhere are lost.
    fn send_all(&mut self, number: u64, outgoing: Vec<(MemberId, PeerMessage)>) {
        for (to, message) in outgoing {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let sent = self.peering.send(number, to, Lane::of(message.is_bulky()), bytes, &mut self.sim);
            if let (Sent::Dropped, Some(node)) = (sent, self.node(number)) {
                let now = node.now();
                node.core().lost(to, now);
            }
        }
    }

    pub(super) fn id_of(&self, number: u64) -> MemberId {
        let identity = self.machines.get(&number).and_then(Machine::identity);
        identity.map_or(MemberId::blank(MemberNumber::of(number)), |identity| identity.member)
    }

    pub(super) fn cluster(&self, number: u64) -> Option<Cluster> {
        self.machines.get(&number)?.identity().map(|identity| identity.cluster)
    }
}
