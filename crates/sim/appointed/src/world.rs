//! A few replicas of one log, with all around them, and each step that they can take.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use replication_appointed::{
    Answer, Append, Appended, Config, Diverged, Epoch, EpochStart, Fence, PersistId, Position, Received,
    Refused, Replica, ReplicaId, Reset, Round, Seq, Stored, Voters, choose,
};

use crate::action::Action;
use crate::disk::{Disk, Entry, Operation};
use crate::violation::Violation;

/// How much may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Replicas, numbered from 1.
    pub replicas: u32,
    /// Sets of voters; the first is that of the beginning, the others may be asked for.
    pub voters: Vec<Voters>,
    /// Values that leaders append.
    pub proposals: u8,
    /// The highest epoch that a controller begins.
    pub epochs: u32,
    /// Controllers that begin.
    pub attempts: u8,
    /// Processes that die.
    pub crashes: u8,
    /// Connections that are lost.
    pub reconnects: u8,
    /// Times that other voters are asked for.
    pub changes: u8,
    /// Times that a replica removes what is committed.
    pub cuts: u8,
    /// Times that a leader deletes what is committed for a client.
    pub deletions: u8,
    /// Times that a leader asks whether it still leads.
    pub confirmations: u8,
    /// Messages on their way at once.
    pub messages: usize,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Left {
    attempts: u8,
    crashes: u8,
    reconnects: u8,
    changes: u8,
    cuts: u8,
    deletions: u8,
    confirmations: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Packet {
    from: ReplicaId,
    to: ReplicaId,
    body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Body {
    Append(Sent, Vec<Entry>),
    Appended(u32, u64, u64, u64),
    Diverged(u32, u32, u64),
    Refused(u32),
}

/// An [`Append`] that can be sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sent {
    epoch: Epoch,
    epoch_start: Seq,
    after: Position,
    to: Seq,
    starts: Vec<(Epoch, Seq)>,
    committed: Seq,
    start: Seq,
    resets: Option<Reset>,
    probes: bool,
    round: Round,
}

/// A process with its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) replica: Option<Replica>,
    /// The entries in memory, from the start of the log.
    entries: Vec<Entry>,
    pub(crate) disk: Disk,
    queue: VecDeque<Operation>,
    /// Voters that it has asked for, and whether it has written them.
    pub(crate) asked: Option<usize>,
    written: bool,
    /// What it is to delete for a client, and has not answered.
    pub(crate) deletion: Option<Seq>,
    /// The round in which it asks whether it still leads, and the newest epoch that had a leader when it asked.
    pub(crate) question: Option<(Round, Epoch)>,
}

impl Node {
    pub(crate) fn entry(&self, at: Seq) -> Option<Entry> {
        let start = self.replica.as_ref()?.log().start();
        self.entries.get(at.0.checked_sub(start.0)? as usize).copied()
    }

    /// Entries before that one go, as the replica cuts them off. It gives nothing if they are gone.
    fn cut_start(&mut self, to: Seq, cut: impl FnOnce(&mut Replica) -> Option<PersistId>) {
        let Some(replica) = &mut self.replica else { return };
        let start = replica.log().start();
        if cut(replica).is_some() {
            self.entries.drain(..(to.0 - start.0) as usize);
            self.queue.extend([Operation::CutStart(to), Operation::Tell]);
        }
    }

    /// A follower takes the start of its leader, a new leader that of a follower.
    fn take_start(&mut self) {
        if let Some(start) = self.replica.as_ref().and_then(Replica::start_to_take) {
            self.cut_start(start, |replica| Some(replica.cut_start(start)));
        }
    }
}

/// A controller that appoints a leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Attempt {
    epoch: Epoch,
    /// What the council said when it began.
    read: Config,
    asked: BTreeSet<ReplicaId>,
    told: BTreeMap<ReplicaId, Position>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    pub(crate) bounds: Arc<Bounds>,
    left: Left,
    nodes: Vec<Node>,
    council: Config,
    packets: BTreeSet<Packet>,
    attempts: Vec<Attempt>,
    values: u8,
    /// Values that leaders have shown as committed.
    pub(crate) committed: Vec<Entry>,
    /// The latest start of the log that a leader has answered a client's deletion with, and its epoch.
    pub(crate) deleted: (Epoch, Seq),
    /// How many leaders have heard that they still led when they asked.
    pub(crate) confirmed: usize,
    /// Who led which epoch.
    pub(crate) leaders: BTreeMap<Epoch, ReplicaId>,
    /// What the council has said of each epoch.
    pub(crate) appointed: BTreeMap<Epoch, Config>,
}

impl core::hash::Hash for World {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.left.hash(state);
        self.nodes.hash(state);
        self.council.hash(state);
        self.packets.hash(state);
        self.attempts.hash(state);
        self.values.hash(state);
        self.committed.hash(state);
        self.deleted.hash(state);
        self.leaders.hash(state);
    }
}

impl World {
    /// The beginning: the first replica is appointed and does not know it.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let fresh = |_| Node { replica: Some(Replica::new(Seq(0))), ..Node::default() };
        let council = Config {
            epoch: Epoch(1),
            leader: ReplicaId(1),
            voters: bounds.voters[0].clone(),
            learners: BTreeSet::new(),
            chosen: true,
        };
        let left = Left {
            attempts: bounds.attempts,
            crashes: bounds.crashes,
            reconnects: bounds.reconnects,
            changes: bounds.changes,
            cuts: bounds.cuts,
            deletions: bounds.deletions,
            confirmations: bounds.confirmations,
        };
        Self {
            left,
            nodes: (1..=bounds.replicas).map(fresh).collect(),
            appointed: [(Epoch(1), council.clone())].into(),
            council,
            packets: BTreeSet::new(),
            attempts: Vec::new(),
            values: 0,
            committed: Vec::new(),
            deleted: (Epoch::NONE, Seq(0)),
            confirmed: 0,
            leaders: BTreeMap::new(),
            bounds: Arc::new(bounds),
        }
    }

    pub(crate) fn node(&self, id: ReplicaId) -> &Node {
        &self.nodes[id.0 as usize - 1]
    }

    pub(crate) fn node_mut(&mut self, id: ReplicaId) -> &mut Node {
        &mut self.nodes[id.0 as usize - 1]
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ReplicaId> + use<> {
        (1..=self.bounds.replicas).map(ReplicaId)
    }

    /// Everything that can happen now.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        let mut actions: Vec<Action> = (0..self.packets.len()).map(Action::Deliver).collect();
        for id in self.ids() {
            self.actions_of(id, &mut actions);
        }
        self.actions_of_controllers(&mut actions);
        actions
    }

    fn actions_of(&self, id: ReplicaId, out: &mut Vec<Action>) {
        let node = self.node(id);
        if !node.queue.is_empty() {
            out.push(Action::Disk(id));
        }
        let Some(replica) = &node.replica else { return out.push(Action::Restart(id)) };
        if self.left.crashes > 0 {
            out.push(Action::Crash(id));
        }
        if self.council.leader == id && self.council.epoch > replica.log().position().epoch {
            out.push(Action::ReadConfig(id));
        }
        if self.left.cuts > 0 && replica.committed() > replica.log().start() {
            out.push(Action::CutStart(id));
        }
        if self.left.deletions > 0 && replica.is_established() && replica.committed() > replica.log().start()
        {
            out.push(Action::Delete(id));
        }
        if replica.is_leading() {
            self.actions_of_leader(id, replica, out);
        }
    }

    fn actions_of_leader(&self, id: ReplicaId, replica: &Replica, out: &mut Vec<Action>) {
        let node = self.node(id);
        if self.values < self.bounds.proposals {
            out.push(Action::Propose(id));
        }
        if self.left.confirmations > 0 && replica.is_established() {
            out.push(Action::Confirm(id));
        }
        for other in self.ids().filter(|other| *other != id) {
            if self.packets.len() < self.bounds.messages && replica.next_append(other).is_some() {
                out.push(Action::Send(id, other));
            }
            if self.left.reconnects > 0 {
                out.push(Action::Reconnect(id, other));
            }
        }
        match node.asked {
            None if self.left.changes > 0 && replica.is_established() => {
                out.extend((0..self.bounds.voters.len()).map(|place| Action::AskForVoters(id, place)));
            }
            Some(_) if !node.written => {
                out.push(Action::GiveUpVoters(id));
                if replica.are_voters_ready() {
                    out.push(Action::WriteVoters(id));
                }
            }
            _ => {}
        }
    }

    fn actions_of_controllers(&self, out: &mut Vec<Action>) {
        if self.left.attempts > 0 {
            let next = self.council.epoch.0 + 1..=(self.council.epoch.0 + 2).min(self.bounds.epochs);
            out.extend(next.map(|epoch| Action::Begin(Epoch(epoch))));
        }
        for (number, attempt) in self.attempts.iter().enumerate() {
            for id in attempt.read.voters.replicas() {
                let Some(replica) = &self.node(*id).replica else { continue };
                if !attempt.asked.contains(id) {
                    out.push(Action::Fence(number, *id));
                } else if !attempt.told.contains_key(id) && replica.fenced(attempt.epoch).is_some() {
                    out.push(Action::Collect(number, *id));
                }
            }
            if choose(&attempt.read.voters, &attempt.told, &[]).is_some() {
                out.push(Action::Appoint(number));
            }
        }
    }

    /// Takes a step.
    ///
    /// # Errors
    /// Something is not as it must be.
    #[expect(clippy::too_many_lines, reason = "a list: a case for each action")]
    pub fn step(&mut self, action: Action) -> Result<(), Violation> {
        match action {
            Action::Propose(id) => self.propose(id),
            Action::Send(from, to) => self.send(from, to),
            Action::Deliver(place) => return self.deliver(place),
            Action::Reconnect(from, to) => {
                self.left.reconnects -= 1;
                self.reconnect(from, to);
            }
            Action::Disk(id) => return self.disk(id),
            Action::Crash(id) => {
                self.left.crashes -= 1;
                self.crash(id);
            }
            Action::Restart(id) => self.restart(id),
            Action::ReadConfig(id) => return self.read_config(id),
            Action::Begin(epoch) => {
                self.left.attempts -= 1;
                self.begin(epoch);
            }
            Action::Fence(number, id) => self.fence(number, id),
            Action::Collect(number, id) => {
                let epoch = self.attempts[number].epoch;
                let told = self.node(id).replica.as_ref().and_then(|replica| replica.fenced(epoch));
                self.attempts[number].told.extend(told.map(|position| (id, position)));
            }
            Action::Appoint(number) => self.appoint(number),
            Action::AskForVoters(id, place) => {
                self.left.changes -= 1;
                let voters = self.bounds.voters[place].clone();
                let node = self.node_mut(id);
                node.asked = Some(place);
                if let Some(replica) = &mut node.replica {
                    replica.ask_for_voters(voters);
                }
            }
            Action::WriteVoters(id) => self.write_voters(id),
            Action::GiveUpVoters(id) => {
                let node = self.node_mut(id);
                node.asked = None;
                if let Some(replica) = &mut node.replica {
                    replica.give_up_voters();
                }
                return self.check(id);
            }
            Action::CutStart(id) => {
                self.left.cuts -= 1;
                let node = self.node_mut(id);
                let committed = node.replica.as_ref().map_or(Seq(0), Replica::committed);
                node.cut_start(committed, |replica| Some(replica.cut_start(committed)));
                return self.check(id);
            }
            Action::Delete(id) => {
                self.left.deletions -= 1;
                let node = self.node_mut(id);
                let committed = node.replica.as_ref().map_or(Seq(0), Replica::committed);
                node.deletion = Some(committed);
                node.cut_start(committed, |replica| replica.delete_before(committed));
                return self.check(id);
            }
            Action::Confirm(id) => {
                self.left.confirmations -= 1;
                let newest = self.leaders.keys().next_back().copied().unwrap_or_default();
                let node = self.node_mut(id);
                let round = node.replica.as_mut().and_then(Replica::confirm);
                node.question = round.map(|round| (round, newest));
                return self.check(id);
            }
        }
        Ok(())
    }

    fn propose(&mut self, id: ReplicaId) {
        let value = self.values;
        self.values += 1;
        let node = self.node_mut(id);
        let Some(replica) = &mut node.replica else { return };
        let entry = Entry { epoch: replica.promised(), value };
        node.entries.push(entry);
        replica.appended(Seq(replica.log().end().0 + 1));
        node.queue.extend([Operation::Store(entry), Operation::Tell]);
    }

    fn send(&mut self, from: ReplicaId, to: ReplicaId) {
        let node = self.node_mut(from);
        let Some(replica) = &mut node.replica else { return };
        let Some(append) = replica.next_append(to) else { return };
        let append = replica.with_entries(append.clone(), append.after.end..replica.log().end());
        replica.sent(to, &append);
        let start = replica.log().start().0;
        let entries =
            node.entries[(append.after.end.0 - start) as usize..(append.to.0 - start) as usize].to_vec();
        self.packets.insert(Packet { from, to, body: Body::Append(Sent::of(append), entries) });
    }

    fn deliver(&mut self, place: usize) -> Result<(), Violation> {
        let Some(packet) = self.packets.iter().nth(place).cloned() else { return Ok(()) };
        self.packets.remove(&packet);
        let Packet { from, to, body } = packet;
        let answer = match body {
            Body::Append(append, entries) => self.receive(from, to, &append.whole(), &entries)?,
            Body::Appended(epoch, durable, start, round) => {
                let (epoch, durable, start) = (Epoch(epoch), Seq(durable), Seq(start));
                let answer = Appended { epoch, durable, start, round: Round(round) };
                self.with(to, |replica| replica.receive_appended(from, answer));
                None
            }
            Body::Diverged(epoch, common, end) => {
                let common = Position { epoch: Epoch(common), end: Seq(end) };
                self.with(to, |replica| {
                    replica.receive_diverged(from, Diverged { epoch: Epoch(epoch), common })
                });
                None
            }
            Body::Refused(promised) => {
                self.with(to, |replica| replica.receive_refused(Refused { promised: Epoch(promised) }));
                None
            }
        };
        if let Some(body) = answer {
            self.packets.insert(Packet { from: to, to: from, body });
        }
        self.node_mut(to).take_start();
        self.answer(to);
        self.check(to)
    }

    fn with(&mut self, id: ReplicaId, what: impl FnOnce(&mut Replica)) {
        if let Some(replica) = &mut self.node_mut(id).replica {
            what(replica);
        }
    }

    fn receive(
        &mut self,
        from: ReplicaId,
        to: ReplicaId,
        append: &Append,
        sent: &[Entry],
    ) -> Result<Option<Body>, Violation> {
        let node = self.node_mut(to);
        let Some(replica) = &mut node.replica else { return Ok(None) };
        match replica.receive_append(from, append).map_err(|bad| Violation::Refused(bad.0))? {
            Received::Nothing => Ok(None),
            Received::Answer(Answer::Refused(Refused { promised })) => Ok(Some(Body::Refused(promised.0))),
            Received::Answer(Answer::Diverged(Diverged { epoch, common })) => {
                Ok(Some(Body::Diverged(epoch.0, common.epoch.0, common.end.0)))
            }
            Received::Store(Stored { reset, cut, entries, .. }) => {
                (node.asked, node.written, node.deletion) = (None, false, None);
                let promised = Operation::Promise(replica.promised());
                node.queue.push_back(promised);
                if let Some(base) = reset {
                    node.entries.clear();
                    node.queue.push_back(Operation::Reset(base));
                }
                let start = replica.log().start().0;
                if let Some(cut) = cut {
                    node.entries.truncate((cut.0 - start) as usize);
                    node.queue.push_back(Operation::Cut(cut));
                }
                for at in entries.start.0..entries.end.0 {
                    let entry = sent[(at - append.after.end.0) as usize];
                    node.entries.push(entry);
                    node.queue.push_back(Operation::Store(entry));
                }
                if let Some(begun) = begun(replica) {
                    node.queue.push_back(Operation::Begin(begun));
                }
                node.queue.push_back(Operation::Tell);
                Ok(None)
            }
        }
    }

    /// What a follower has to tell its leader.
    fn answer(&mut self, id: ReplicaId) {
        let Some(replica) = &mut self.node_mut(id).replica else { return };
        if let Some((leader, Appended { epoch, durable, start, round })) = replica.take_answer() {
            let body = Body::Appended(epoch.0, durable.0, start.0, round.0);
            self.packets.insert(Packet { from: id, to: leader, body });
        }
    }

    fn reconnect(&mut self, one: ReplicaId, other: ReplicaId) {
        self.packets.retain(|packet| ![(one, other), (other, one)].contains(&(packet.from, packet.to)));
        for (id, peer) in [(one, other), (other, one)] {
            self.with(id, |replica| {
                replica.send_again(peer);
                if replica.leader().is_some_and(|(leader, _)| leader == peer) {
                    replica.tell_again();
                }
            });
            self.answer(id);
        }
    }

    fn disk(&mut self, id: ReplicaId) -> Result<(), Violation> {
        let node = self.node_mut(id);
        let Some(operation) = node.queue.pop_front() else { return Ok(()) };
        node.disk.apply(&operation);
        if operation == Operation::Tell
            && let Some(replica) = &mut node.replica
        {
            let waiting = node.queue.iter().filter(|later| **later == Operation::Tell).count() as u64;
            replica.persisted(PersistId(replica.last_persist().0 - waiting));
        }
        self.node_mut(id).take_start();
        self.answer(id);
        self.check(id)
    }

    fn crash(&mut self, id: ReplicaId) {
        let node = self.node_mut(id);
        *node = Node { disk: node.disk.clone(), ..Node::default() };
        self.packets.retain(|packet| packet.from != id && packet.to != id);
        for other in self.ids().filter(|other| *other != id) {
            self.with(other, |replica| {
                replica.send_again(id);
                if replica.leader().is_some_and(|(leader, _)| leader == id) {
                    replica.tell_again();
                }
            });
        }
    }

    fn restart(&mut self, id: ReplicaId) {
        let node = self.node_mut(id);
        node.replica = Some(Replica::restore(node.disk.read()));
        node.entries.clone_from(&node.disk.entries);
    }

    fn read_config(&mut self, id: ReplicaId) -> Result<(), Violation> {
        let config = self.council.clone();
        let node = self.node_mut(id);
        let Some(replica) = &mut node.replica else { return Ok(()) };
        // At first all logs are new, and empty: the leader needs no promise but its own.
        if config.epoch == Epoch(1) && matches!(replica.fence(config.epoch), Fence::Persist(_)) {
            node.queue.extend([Operation::Promise(config.epoch), Operation::Tell]);
        }
        if replica.lead(id, config).is_err() {
            return Ok(());
        }
        (node.asked, node.written) = (None, false);
        let known = EpochStart { epoch: replica.promised(), start: replica.log().end() };
        node.queue.extend([Operation::Promise(known.epoch), Operation::Begin(known), Operation::Tell]);
        self.check_leader(id)?;
        self.check(id)
    }

    fn begin(&mut self, epoch: Epoch) {
        let read = self.council.clone();
        self.attempts.push(Attempt { epoch, read, asked: BTreeSet::new(), told: BTreeMap::new() });
    }

    fn fence(&mut self, number: usize, id: ReplicaId) {
        let epoch = self.attempts[number].epoch;
        self.attempts[number].asked.insert(id);
        let node = self.node_mut(id);
        let Some(replica) = &mut node.replica else { return };
        if let Fence::Persist(_) = replica.fence(epoch) {
            node.queue.extend([Operation::Promise(epoch), Operation::Tell]);
        }
    }

    fn appoint(&mut self, number: usize) {
        let Attempt { epoch, read, told, .. } = self.attempts.remove(number);
        let Some(leader) = choose(&read.voters, &told, &[]) else { return };
        if self.council == read {
            self.council = Config { epoch, leader, chosen: true, ..read };
            self.appointed.insert(epoch, self.council.clone());
        }
    }

    fn write_voters(&mut self, id: ReplicaId) {
        let Some(place) = self.node(id).asked else { return };
        let epoch = self.node(id).replica.as_ref().map_or(Epoch::NONE, Replica::promised);
        self.node_mut(id).written = true;
        if self.council.epoch == epoch && self.council.leader == id {
            let voters = self.bounds.voters[place].clone();
            self.council =
                Config { epoch: Epoch(epoch.0 + 1), voters, chosen: false, ..self.council.clone() };
            self.appointed.insert(self.council.epoch, self.council.clone());
        }
    }
}

/// The epoch that has begun at the end of a log, and has no entry.
fn begun(replica: &Replica) -> Option<EpochStart> {
    replica.log().history().starts().last().copied().filter(|known| known.start == replica.log().end())
}

impl Sent {
    fn of(append: Append) -> Self {
        let Append { epoch, epoch_start, after, to, starts, committed, start, resets, probes, round } =
            append;
        let starts = starts.into_iter().map(|known| (known.epoch, known.start)).collect();
        Self { epoch, epoch_start, after, to, starts, committed, start, resets, probes, round }
    }

    fn whole(&self) -> Append {
        let Self { epoch, epoch_start, after, to, ref starts, committed, start, resets, probes, round } =
            *self;
        let starts =
            starts.iter().map(|(epoch, start)| EpochStart { epoch: *epoch, start: *start }).collect();
        Append { epoch, epoch_start, after, to, starts, committed, start, resets, probes, round }
    }
}

/// After faults: everything that is needed for an end.
impl World {
    /// All processes run, all connections are new, and no replica waits for a message that is gone.
    pub(crate) fn heal(&mut self) {
        for id in self.ids() {
            if self.node(id).replica.is_none() {
                self.restart(id);
            }
        }
        self.packets.clear();
        self.attempts.clear();
        for one in self.ids() {
            for other in self.ids().filter(|other| *other > one) {
                self.reconnect(one, other);
            }
        }
    }

    /// A controller appoints a leader for an epoch above all.
    pub(crate) fn appoint_above_all(&mut self) -> Result<(), Violation> {
        let promised =
            self.nodes.iter().filter_map(|node| node.replica.as_ref()).map(Replica::promised).max();
        let epoch = Epoch(promised.unwrap_or_default().max(self.council.epoch).0 + 1);
        self.begin(epoch);
        let number = self.attempts.len() - 1;
        let voters: Vec<ReplicaId> = self.council.voters.replicas().iter().copied().collect();
        for id in &voters {
            self.fence(number, *id);
            while !self.node(*id).queue.is_empty() {
                self.disk(*id)?;
            }
            self.step(Action::Collect(number, *id))?;
        }
        self.appoint(number);
        if self.council.epoch == epoch { Ok(()) } else { Err(Violation::Stuck("no leader was appointed")) }
    }

    /// Whether everybody that the council names has the same log, all of it committed.
    pub(crate) fn is_settled(&self) -> bool {
        let leader = self.node(self.council.leader);
        let Some(leads) = leader.replica.as_ref().filter(|replica| replica.is_established()) else {
            return false;
        };
        let same = |id: &ReplicaId| {
            let node = self.node(*id);
            let Some(replica) = &node.replica else { return false };
            let start = replica.log().start().max(leads.log().start());
            let equal = (start.0..leads.log().end().0).all(|at| node.entry(Seq(at)) == leader.entry(Seq(at)));
            equal && replica.log().end() == leads.log().end() && replica.committed() == leads.log().end()
        };
        self.council.voters.replicas().iter().all(same)
    }

    /// How many entries leaders have committed.
    #[must_use]
    pub fn committed_count(&self) -> usize {
        self.committed.len()
    }

    /// How many leaders have heard that they still led when they asked.
    #[must_use]
    pub const fn confirmed_count(&self) -> usize {
        self.confirmed
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.packets.is_empty() && self.nodes.iter().all(|node| node.queue.is_empty())
    }
}
