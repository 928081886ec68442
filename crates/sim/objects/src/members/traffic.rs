//! What members say goes through the network, and arrives, or not; and what is noted of them.

use bytes::Bytes;
use consensus_replica::MemberId;
use consensus_replica::founding::FoundingMessage;
use consensus_replica::lifecycle::MemberLifecycle;
use net_peer_pairs::Lane;
use objects_replica::PeerMessage;
use sim_kit::peers::{self, Parts, PeerWorld, Sent};

use super::Members;
use super::machine::{Machine, Stage};

impl PeerWorld for Members {
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
        if let Some(lifecycle) = self.asking(place) {
            return lifecycle.connected(id);
        }
        self.at_node(place, |node| {
            node.core().understands(id, level);
            if !id.is_blank() {
                node.link(id, true);
            }
        });
    }

    fn disconnected(&mut self, place: u64, id: MemberId) {
        if let Some(lifecycle) = self.asking(place) {
            lifecycle.disconnected(id);
        } else if !id.is_blank() {
            self.at_node(place, |node| node.link(id, false));
        }
        self.collect(place);
    }

    fn received(&mut self, _: u64, to: u64, id: MemberId, message: Vec<u8>) {
        let message = PeerMessage::decode(Bytes::from(message)).expect("what a member encoded");
        let Some(process) = &mut self.machine(to).process else { return };
        match (&mut process.stage, message) {
            (Stage::Asking, PeerMessage::Founding(said)) => process.lifecycle.hear(id, said),
            (Stage::Running(_), message) => {
                let taken = self.at_node(to, |node| node.peer(id, message));
                taken.unwrap_or(Ok(())).unwrap_or_else(|error| panic!("member {to}: {error:?}"));
            }
            _ => {}
        }
        self.collect(to);
    }
}

impl Members {
    /// What a process that asks the others for its place goes by.
    fn asking(&mut self, number: u64) -> Option<&mut MemberLifecycle> {
        let process = self.machine(number).process.as_mut()?;
        matches!(process.stage, Stage::Asking).then_some(&mut process.lifecycle)
    }

    /// Notes what happened at a member, and sends what it says.
    pub(super) fn collect(&mut self, number: u64) {
        let now_ms = self.sim.now_ms();
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let life = machine.life;
        let Some(node) = machine.node() else { return };
        let (news, incarnation) = (node.take_news(), node.core().status().incarnation);
        for (to, message) in &news.outgoing {
            self.send(number, *to, message);
        }
        self.sim.count("snapshot abandoned", news.abandoned);
        self.sim.count("log without room", news.without_room);
        self.sim.count("session found silent", news.condemned);
        if news.won > 0 {
            self.sim.tell("election", format_args!("member {number} leads"));
        }
        if news.replaced > 0 {
            self.sim.tell("snapshot installed", format_args!("member {number} installs a snapshot"));
        }
        self.record.look(now_ms, (number, life, incarnation), news);
    }

    /// A message goes where the table of pairs says; if it knows nowhere, it is lost.
    fn send(&mut self, number: u64, to: MemberId, message: &PeerMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let sent = self.peering.send(number, to, Lane::of(message.is_bulky()), bytes, &mut self.sim);
        if matches!(sent, Sent::Dropped) {
            self.at_node(number, |node| node.lost(to));
        }
    }

    /// A process without a core asks the others, as time passes.
    pub(super) fn ask_others(&mut self, number: u64) {
        let now_ms = self.sim.now_ms();
        let machine = self.machine(number);
        let mono = machine.host.mono(now_ms);
        let Some(process) = machine.process.as_mut() else { return };
        if !matches!(process.stage, Stage::Asking) {
            return;
        }
        let command = process.lifecycle.tick(mono);
        let said: Vec<(_, FoundingMessage)> = process.lifecycle.take_outgoing();
        for (to, message) in said {
            let mut bytes = Vec::new();
            PeerMessage::Founding(message).encode(&mut bytes);
            self.peering.send_to_number(number, to, bytes, &mut self.sim);
        }
        if let Some(command) = command {
            self.follow(number, command);
        }
    }

    /// The network falls apart.
    pub(super) fn part(&mut self, chance: &mut base::Random) {
        let numbers = self.numbers();
        let (some, one_way) = (numbers[chance.below(numbers.len() as u64) as usize], chance.chance(30));
        let way = if one_way { ", in one direction" } else { "" };
        if chance.chance(25) {
            let (these, those): (Vec<_>, Vec<_>) = numbers.iter().copied().partition(|_| chance.chance(50));
            self.peering.network.split(&these, &those);
            self.sim.tell("partition in halves", format_args!("members {these:?} and {those:?} are apart"));
        } else {
            self.peering.network.part(some, &numbers, one_way, chance);
            if !one_way && chance.chance(40) {
                self.unreached.insert(some);
                self.sim.count("clients cut off", 1);
            }
            self.sim.tell("partition", format_args!("member {some} is cut off{way}"));
        }
        self.sim.count("one-way partition", u64::from(one_way));
        // Sooner or later the connections break.
        for (from, to) in self.peering.network.cut.clone() {
            if chance.chance(50) {
                peers::break_pair(self, to, from);
            }
        }
    }

    /// Everything comes through again.
    pub(super) fn mend(&mut self) {
        self.unreached.clear();
        self.peering.network.cut.clear();
    }
}
