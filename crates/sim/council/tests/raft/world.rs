//! A few councils, their disks and the network between them, driven from a seed.

use base::{LogIndex, Term};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use consensus_raft::{
    Change, Config, Entry, EntryKind, Envelope, HardState, MemberId, Membership, Message, Persist, RaftNode,
    Recovered, Role, SnapshotOffer, Step,
};
use sim_council::random::Random;

/// What a disk holds for good.
#[derive(Clone, Default)]
struct Disk {
    hard_state: HardState,
    snapshot: Option<(SnapshotOffer, Vec<Bytes>)>,
    founding: Membership,
    /// Entries behind the snapshot.
    entries: Vec<Entry>,
}

impl Disk {
    fn base(&self) -> LogIndex {
        self.snapshot.as_ref().map_or(LogIndex::ZERO, |(offer, _)| offer.index)
    }

    fn write(&mut self, persist: &Persist) {
        self.hard_state = persist.hard_state.unwrap_or(self.hard_state);
        let base = self.base();
        for entry in persist.entries.iter().filter(|entry| entry.index > base) {
            self.entries.truncate(entry.index.previous().since(base) as usize);
            self.entries.push(entry.clone());
        }
    }

    /// A snapshot takes the place of everything up to its index.
    fn put(&mut self, offer: SnapshotOffer, state: Vec<Bytes>) {
        let last = self.entries.last().map(|entry| (entry.index, entry.term));
        let holds = self.entries.iter().any(|entry| (entry.index, entry.term) == (offer.index, offer.term));
        if holds && last.is_some() {
            self.entries.retain(|entry| entry.index > offer.index);
        } else {
            self.entries.clear();
        }
        self.snapshot = Some((offer, state));
    }

    fn recovered(&self) -> Recovered {
        let (base_index, base_term, membership) = match &self.snapshot {
            Some((offer, _)) => (offer.index, offer.term, offer.membership.clone()),
            None => (LogIndex::ZERO, Term::ZERO, self.founding.clone()),
        };
        Recovered {
            hard_state: self.hard_state,
            membership,
            base_index,
            base_term,
            entries: self.entries.clone(),
        }
    }
}

struct Member {
    raft: RaftNode,
    persists: VecDeque<Persist>,
    /// Contents of the normal entries applied, in order: the member's whole state.
    state: Vec<Bytes>,
    applied: (LogIndex, Term),
}

pub(crate) struct World {
    random: Random,
    disks: BTreeMap<u64, Disk>,
    members: BTreeMap<u64, Member>,
    network: Vec<Envelope>,
    cut: BTreeSet<(u64, u64)>,
    /// What was applied anywhere, by index.
    truth: BTreeMap<LogIndex, Entry>,
    proposed: u64,
    snapshots: u64,
    changes: bool,
    changed: u64,
    starts: u64,
    trace: Vec<(u64, LogIndex, Term)>,
}

impl World {
    pub(crate) fn new(members: u64, random: Random) -> Self {
        let founding = Membership { voters: (1..=members).map(MemberId).collect(), ..Membership::default() };
        let disk = Disk { founding, ..Disk::default() };
        let mut world = Self {
            random,
            disks: (1..=members).map(|id| (id, disk.clone())).collect(),
            members: BTreeMap::new(),
            network: Vec::new(),
            cut: BTreeSet::new(),
            truth: BTreeMap::new(),
            proposed: 0,
            snapshots: 0,
            changes: false,
            changed: 0,
            starts: 0,
            trace: Vec::new(),
        };
        for id in 1..=members {
            world.start(id);
        }
        world
    }

    pub(crate) fn allow_changes(&mut self) {
        self.changes = true;
        // One more, which is no member yet.
        let id = self.disks.len() as u64 + 1;
        let founding = self.disks[&1].founding.clone();
        self.disks.insert(id, Disk { founding, ..Disk::default() });
        self.start(id);
    }

    pub(crate) fn start(&mut self, id: u64) {
        self.starts += 1;
        let recovered = self.disks[&id].recovered();
        let mut config = Config::new(MemberId(id), id * 1_000_003 + self.starts);
        config.append_bytes_max = 200;
        let state = self.disks[&id].snapshot.as_ref().map(|(_, state)| state.clone()).unwrap_or_default();
        let applied = (recovered.base_index, recovered.base_term);
        let mut raft = RaftNode::new(&config, &recovered, applied.0);
        raft.offer_snapshot(self.disks[&id].snapshot.as_ref().map(|(offer, _)| offer.clone()));
        self.members.insert(id, Member { raft, persists: VecDeque::new(), state, applied });
    }

    pub(crate) fn crash(&mut self, id: u64) {
        self.members.remove(&id);
    }

    pub(crate) fn forget_log(&mut self, id: u64) {
        if let Some(disk) = self.disks.get_mut(&id) {
            disk.entries.clear();
            disk.hard_state.commit = LogIndex::ZERO;
        }
    }

    pub(crate) fn committed(&self) -> LogIndex {
        LogIndex(self.truth.len() as u64)
    }

    pub(crate) const fn snapshots_taken_over(&self) -> u64 {
        self.snapshots
    }

    pub(crate) const fn changes_applied(&self) -> u64 {
        self.changed
    }

    pub(crate) fn trace(self) -> Vec<(u64, LogIndex, Term)> {
        self.trace
    }

    fn any(&mut self) -> Option<u64> {
        let ids: Vec<_> = self.members.keys().copied().collect();
        ids.get(self.random.below(ids.len() as u64) as usize).copied()
    }

    /// So many steps of anything.
    pub(crate) fn live(&mut self, steps: u64) {
        for _ in 0..steps {
            match self.random.below(100) {
                0..35 => self.deliver(true),
                35..55 => self.flush_one(),
                55..80 => self.tick_one(),
                80..90 => self.propose(),
                90..92 => self.sometimes_crash(),
                92..94 => self.sometimes_cut(),
                94..96 => self.compact(),
                96..98 if self.changes => self.propose_change(),
                _ => self.start_one(),
            }
            self.turn_all();
        }
    }

    fn sometimes_crash(&mut self) {
        if self.random.chance(30)
            && let Some(id) = self.any()
        {
            self.crash(id);
        }
    }

    fn start_one(&mut self) {
        let down = self.disks.keys().copied().find(|id| !self.members.contains_key(id));
        if let Some(id) = down
            && self.random.chance(50)
        {
            self.start(id);
        }
    }

    fn sometimes_cut(&mut self) {
        if self.random.chance(60) {
            self.cut.clear();
        } else if let (Some(one), Some(other)) = (self.any(), self.any()) {
            self.cut.insert((one, other));
        }
    }

    /// Takes one message from anywhere in the network; it may be lost or come again.
    fn deliver(&mut self, faults: bool) {
        if self.network.is_empty() {
            return;
        }
        let at = if faults { self.random.below(self.network.len() as u64) as usize } else { 0 };
        let envelope = self.network.remove(at);
        let from = envelope.message.from().0;
        if faults && (self.random.chance(10) || self.cut.contains(&(from, envelope.to.0))) {
            self.lost(from, &envelope);
            return;
        }
        if faults && self.random.chance(5) {
            self.network.push(envelope.clone());
        }
        self.arrive(from, &envelope);
    }

    fn lost(&mut self, from: u64, envelope: &Envelope) {
        let Some(sender) = self.members.get_mut(&from) else { return };
        if envelope.message.snapshot().is_some() {
            sender.raft.snapshot_sent(envelope.to, false);
        } else {
            sender.raft.unreachable(envelope.to);
        }
    }

    /// Members that work never send each other what is refused, however old it is or how often it comes.
    fn arrive(&mut self, from: u64, envelope: &Envelope) {
        let mut bytes = Vec::new();
        envelope.message.encode(&mut bytes);
        let message = Message::decode(Bytes::from(bytes)).expect("what was encoded");
        if let Some(offer) = message.snapshot() {
            let arrived = self.take_over(from, envelope.to.0, message, &offer);
            if let Some(sender) = self.members.get_mut(&from) {
                sender.raft.snapshot_sent(envelope.to, arrived);
            }
        } else if let Some(receiver) = self.members.get_mut(&envelope.to.0) {
            receiver.raft.step(message).expect("a member that works sends it");
        }
    }

    /// As a member does with an offer; whether the sender need not offer it again.
    fn take_over(&mut self, from: u64, to: u64, message: Message, offer: &SnapshotOffer) -> bool {
        let given = self.disks.get(&from).and_then(|disk| disk.snapshot.clone());
        let given = given.filter(|(held, _)| held.index == offer.index);
        let Some(receiver) = self.members.get_mut(&to) else { return false };
        if !receiver.raft.may_take(&message).expect("a leader that works offers it") {
            return false;
        }
        if offer.index <= receiver.raft.committed() {
            receiver.raft.has_already(message).expect("what is committed is the same everywhere");
            return true;
        }
        let Some((offer, state)) = given else { return false };
        // What was persisting stands before the snapshot: one thread writes both.
        while self.members.get(&to).is_some_and(|member| !member.persists.is_empty()) {
            self.flush(to);
        }
        self.disks.get_mut(&to).expect("a disk").put(offer, state);
        if let Some(receiver) = self.members.get_mut(&to) {
            // Where the log has come as far by itself meanwhile, it stays.
            receiver.raft.install(message);
        }
        true
    }

    fn flush_one(&mut self) {
        if let Some(id) = self.any() {
            self.flush(id);
        }
    }

    fn flush(&mut self, id: u64) {
        let Some(member) = self.members.get_mut(&id) else { return };
        if let Some(persist) = member.persists.pop_front() {
            self.disks.get_mut(&id).expect("a disk").write(&persist);
            member.raft.persisted(persist.number);
        }
    }

    fn tick_one(&mut self) {
        let id = self.any();
        if let Some(member) = id.and_then(|id| self.members.get_mut(&id)) {
            member.raft.tick();
        }
    }

    fn leader(&mut self) -> Option<&mut Member> {
        let leads = |member: &&mut Member| member.raft.role() == Role::Leader;
        self.members.values_mut().filter(leads).max_by_key(|member| member.raft.term())
    }

    pub(crate) fn propose(&mut self) {
        self.proposed += 1;
        let first = Bytes::from(format!("{} {}", self.proposed, "x".repeat(self.proposed as usize % 90)));
        let second = Bytes::from(format!("{} again", self.proposed));
        if let Some(leader) = self.leader() {
            let _ = leader.raft.propose(vec![first, second]);
        }
    }

    fn propose_change(&mut self) {
        let extra = self.disks.len() as u64;
        let swap = self.random.below(extra) + 1;
        let kind = self.random.below(4);
        let Some(leader) = self.leader() else { return };
        let (new, old) = (MemberId(extra), MemberId(swap.min(extra - 1)));
        let change = match kind {
            0 => Change { steps: vec![Step::Learner(new)] },
            1 => Change { steps: vec![Step::Voter(new)] },
            2 => Change { steps: vec![Step::Voter(new), Step::Remove(old)] },
            _ => Change { steps: (1..extra).map(|id| Step::Voter(MemberId(id))).collect() },
        };
        let _ = leader.raft.propose_change(&change);
    }

    /// The leader changes the members so.
    pub(crate) fn change(&mut self, steps: Vec<Step>) {
        let leader = self.leader().expect("somebody leads");
        leader.raft.propose_change(&Change { steps }).expect("no other change is under way");
    }

    /// Every member does what it has to do, and nobody hears of it.
    pub(crate) fn work_unheard(&mut self) {
        for _ in 0..10 {
            self.turn_all();
            let ids: Vec<_> = self.members.keys().copied().collect();
            ids.into_iter().for_each(|id| self.flush(id));
            self.network.clear();
        }
    }

    /// Every member snapshots what it has applied and forgets the log before it.
    pub(crate) fn compact(&mut self) {
        for (id, member) in &mut self.members {
            let disk = self.disks.get_mut(id).expect("a disk");
            let durable = disk.entries.last().map_or(disk.base(), |entry| entry.index);
            let (index, term) = member.applied;
            // Nothing may wait for the disk that the snapshot would overtake.
            if index <= disk.base() || index > durable || !member.persists.is_empty() {
                continue;
            }
            let offer = SnapshotOffer { index, term, membership: member.raft.membership() };
            disk.put(offer.clone(), member.state.clone());
            member.raft.compact(index, 0, usize::MAX);
            member.raft.offer_snapshot(Some(offer));
        }
    }

    fn turn_all(&mut self) {
        let ids: Vec<_> = self.members.keys().copied().collect();
        for id in ids {
            self.turn(id);
        }
    }

    fn turn(&mut self, id: u64) {
        let Some(member) = self.members.get_mut(&id) else { return };
        while let Some(ready) = member.raft.ready() {
            if let Some(offer) = ready.snapshot {
                let (_, state) = self.disks[&id].snapshot.clone().expect("it was made durable first");
                member.state = state;
                member.applied = (offer.index, offer.term);
                member.raft.applied(offer.index);
                self.snapshots += 1;
            }
            member.persists.extend(ready.persist);
            for entry in ready.committed {
                assert_eq!(entry.index, member.applied.0.next(), "entries are applied one after the other");
                let known = self.truth.entry(entry.index).or_insert_with(|| entry.clone());
                assert_eq!(*known, entry, "members differ at index {}", entry.index);
                match entry.kind {
                    EntryKind::Normal => member.state.push(entry.data.clone()),
                    EntryKind::Membership => {
                        member.raft.apply_change(&entry).expect("a change of ours");
                        self.changed += 1;
                    }
                }
                member.applied = (entry.index, entry.term);
                self.trace.push((id, entry.index, entry.term));
                member.raft.applied(entry.index);
            }
        }
        self.network.append(member.raft.outbox());
        if self.network.len() > 500 {
            let at = self.random.below(self.network.len() as u64) as usize;
            let dropped = self.network.swap_remove(at);
            self.lost(dropped.message.from().0, &dropped);
        }
    }

    /// Time passes for all, everything is flushed and delivered.
    pub(crate) fn quiet_round(&mut self) {
        let ids: Vec<_> = self.members.keys().copied().collect();
        for id in ids {
            if let Some(member) = self.members.get_mut(&id) {
                member.raft.tick();
            }
        }
        for _ in 0..2000 {
            self.turn_all();
            let waiting: Vec<_> =
                self.members.iter().filter(|(_, m)| !m.persists.is_empty()).map(|(id, _)| *id).collect();
            if self.network.is_empty() && waiting.is_empty() {
                break;
            }
            waiting.into_iter().for_each(|id| self.flush(id));
            self.deliver(false);
        }
        if self.leader().is_some_and(|leader| leader.raft.wants_snapshot()) {
            self.compact();
        }
    }

    /// Ends all faults and waits until all voters have applied the same.
    pub(crate) fn heal(&mut self) {
        self.cut.clear();
        let down: Vec<_> = self.disks.keys().copied().filter(|id| !self.members.contains_key(id)).collect();
        down.into_iter().for_each(|id| self.start(id));
        for round in 0..400 {
            self.quiet_round();
            if round % 10 == 0 {
                self.propose();
            }
            if round > 60 && self.is_settled() {
                return;
            }
        }
        let told: Vec<_> = self
            .members
            .iter()
            .map(|(id, member)| {
                let raft = &member.raft;
                (id, raft.role(), raft.term(), raft.leader(), member.applied, raft.membership())
            })
            .collect();
        panic!("the members do not come together: {told:?}");
    }

    fn is_settled(&mut self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let (applied, last) = (leader.applied.0, leader.raft.last_index());
        let voters = leader.raft.membership().voters;
        let state = leader.state.clone();
        applied == last
            && voters.iter().all(|id| {
                self.members
                    .get(&id.0)
                    .is_some_and(|member| member.applied.0 == applied && member.state == state)
            })
    }

    /// Whether a member finds out that it lacks what it had acknowledged.
    pub(crate) fn finds_out_what_it_lacks(&mut self, id: u64) -> bool {
        (0..200).any(|_| {
            self.quiet_round();
            self.members.get(&id).is_some_and(|member| member.raft.lacks().is_some())
        })
    }
}
