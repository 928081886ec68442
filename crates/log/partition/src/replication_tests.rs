//! Three replicas of a partition, with a network and disks that lose things, against what was ever committed.

use std::collections::{BTreeMap, BTreeSet};

use base::{Random, WallTime};
use bytes::Bytes;
use log_wire::{Attributes, Batch, BatchBuilder, Producer, RecordsHead};
use replication_appointed::{
    Answer, Append, Appended, Config, Diverged, Position, Refused, Reset, Round, Voters, choose,
};

use crate::test_support::{assigned, marker, plain, transactional};
use crate::{
    Change, Isolation, LeaderEpoch, NewBatch, NewEpoch, NewStart, Offset, Partition, PartitionConfig,
    PersistId, Replacement, ReplicaId, SegmentId, Source, Stale, State, StoredBatch, StoredEvent, Tables,
};

const REPLICAS: [ReplicaId; 3] = [ReplicaId(1), ReplicaId(2), ReplicaId(3)];
const DURABLE_ON: usize = 2;

fn config() -> PartitionConfig {
    PartitionConfig { segment_bytes: 1_500, batch_bytes_max: 1_000, ..PartitionConfig::default() }
}

/// What a disk was asked to do.
#[derive(Clone, Debug)]
enum Record {
    Change(Change, WallTime),
    State(State),
    /// The log begins at that offset.
    Start(Offset, Offset),
}

/// What a disk keeps, in the form that a start gives back.
#[derive(Clone, Debug, Default)]
struct Kept {
    created: Offset,
    state: Option<State>,
    batches: Vec<(NewBatch, WallTime)>,
    /// Epochs and starts behind the state, with the number of batches before.
    others: Vec<(usize, Other)>,
    /// The newest epoch that was ever promised durably.
    promised: Option<LeaderEpoch>,
}

/// Something that a disk keeps besides batches.
#[derive(Clone, Copy, Debug)]
enum Other {
    Epoch(LeaderEpoch, Option<Offset>),
    Start(Offset, Offset),
}

impl Other {
    /// Whether a state of the batches before that offset does not tell of it.
    fn is_behind(&self, end: Offset) -> bool {
        matches!(self, Self::Epoch(_, Some(begins)) if *begins > end)
    }
}

fn end_of(bytes: &Bytes) -> Offset {
    Offset(assigned(bytes).last_offset()).next()
}

impl Kept {
    fn take(&mut self, record: Record) {
        match record {
            Record::State(state) => {
                self.others.retain(|(_, other)| other.is_behind(state.end));
                self.state = Some(state);
            }
            Record::Change(Change::Start(new), _) => self.take(Record::Start(new.start, new.first_segment)),
            Record::Start(start, first) => self.others.push((self.batches.len(), Other::Start(start, first))),
            Record::Change(Change::State(state), _) => self.take(Record::State(state)),
            Record::Change(Change::Reset(created, promised), _) => {
                let others = vec![(0, Other::Epoch(promised, None))];
                let promised = self.promised.max(Some(promised));
                *self = Self { created, others, promised, ..Self::default() };
            }
            Record::Change(Change::Cut(cut), _) => {
                self.batches.retain(|(batch, _)| batch.end <= cut.end);
            }
            Record::Change(Change::Batch(new), now) => self.batches.push((new, now)),
            Record::Change(Change::Epoch(new), _) => {
                self.others.push((self.batches.len(), Other::Epoch(new.promised, new.begins)));
                self.promised = self.promised.max(Some(new.promised));
            }
        }
    }

    fn restore(&self) -> Partition {
        let known = self.state.as_ref().map_or(self.created, |state| state.end);
        let mut events = Vec::new();
        for at in 0..=self.batches.len() {
            let here = self.others.iter().filter(|(before, _)| (*before).min(self.batches.len()) == at);
            events.extend(here.map(|(_, other)| match *other {
                Other::Epoch(promised, begins) => StoredEvent::Epoch(promised, begins),
                Other::Start(start, first) => StoredEvent::Start(start, first),
            }));
            events.extend(self.batches.get(at).map(|(NewBatch { at, end, begun, bytes, .. }, now)| {
                let (at, now, is_behind_state) = (*at, *now, *end > known);
                StoredEvent::Batch(StoredBatch { at, now, is_behind_state, is_written: false, begun, bytes })
            }));
        }
        let state = self.state.as_ref().map(|state| state.bytes.as_slice());
        let restored = Partition::restore(config(), self.created, state, events.into_iter());
        let restored = restored.expect("it fits together");
        assert!(Some(restored.epoch()) >= self.promised, "a promise is forgotten");
        restored
    }
}

struct Node {
    partition: Partition,
    kept: Kept,
    /// What is not durable yet, in order.
    waiting: Vec<(Option<PersistId>, Record)>,
    /// The batches of its log, also those of which it has deleted the records.
    content: Vec<(crate::Place, WallTime, Bytes)>,
}

#[derive(Clone, Debug)]
enum Message {
    Append(Append, Bytes),
    Appended(Appended),
    Diverged(Diverged),
    Refused(Refused),
}

struct World {
    random: Random,
    now: i64,
    nodes: BTreeMap<ReplicaId, Node>,
    network: Vec<(ReplicaId, ReplicaId, Message)>,
    /// The configuration.
    epoch: i32,
    /// Batches that were committed anywhere, by their first offset.
    committed: BTreeMap<Offset, Bytes>,
    producers: BTreeMap<i64, i32>,
    cuts: u32,
    /// Deletions that were asked of a leader and are not known to be done.
    deletions: Vec<(ReplicaId, LeaderEpoch, Offset)>,
    /// What is before that is deleted for good, and under which leader that was last told.
    gone: (LeaderEpoch, Offset),
    deleted: u32,
    /// New leaders that had to delete what a leader before had deleted.
    taken: u32,
    resets: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let node = || Node {
            partition: Partition::new(config(), Offset(0)),
            kept: Kept::default(),
            waiting: Vec::new(),
            content: Vec::new(),
        };
        Self {
            random: Random::new(seed),
            now: 1_000,
            nodes: REPLICAS.iter().map(|id| (*id, node())).collect(),
            network: Vec::new(),
            epoch: -1,
            committed: BTreeMap::new(),
            producers: BTreeMap::new(),
            cuts: 0,
            deletions: Vec::new(),
            gone: (LeaderEpoch(-1), Offset(0)),
            deleted: 0,
            taken: 0,
            resets: 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn any(&mut self) -> ReplicaId {
        REPLICAS[self.below(3)]
    }

    fn node(&mut self, id: ReplicaId) -> &mut Node {
        self.nodes.get_mut(&id).expect("it is there")
    }

    fn leader(&self) -> Option<ReplicaId> {
        let leads = |(id, node): (&ReplicaId, &Node)| {
            node.partition.leader().filter(|(leader, _)| leader == id).map(|(_, epoch)| (epoch, *id))
        };
        self.nodes.iter().filter_map(leads).max().map(|(_, id)| id)
    }

    fn begin_epoch(&mut self, id: ReplicaId, began: NewEpoch) {
        let now = WallTime::of_ms(self.now);
        let record = Record::Change(Change::Epoch(began), now);
        self.node(id).waiting.push((Some(began.persist), record));
    }

    /// Clients write.
    fn append(&mut self) {
        let Some(id) = self.leader() else { return };
        self.now += 1;
        let (now, producer) = (WallTime::of_ms(self.now), 1 + self.below(3) as i64);
        let sequence = *self.producers.entry(producer).or_default();
        if self.below(5) == 0 {
            return self.end_transaction(id, now);
        }
        let is_plain = self.below(4) == 0;
        let bytes = match is_plain {
            true => plain(0, self.now, 1 + self.below(3) as i32, self.below(300)),
            false => transactional(0, producer, 0, sequence, 2),
        };
        let appended = self.node(id).partition.append(&assigned(&bytes), now);
        let Ok(Some(new)) = appended.map(|appended| appended.new) else {
            // Its epoch was cut off: the producer begins anew with what the log knows.
            self.resequence(id);
            return;
        };
        if !is_plain {
            self.producers.insert(producer, sequence + 2);
        }
        self.stored(id, new, now);
    }

    fn resequence(&mut self, id: ReplicaId) {
        let known: Vec<(i64, i32)> = {
            let producers = &self.node(id).partition.tables.producers;
            producers
                .known()
                .map(|known| (known.id.0, known.last_sequence.map_or(0, |last| last.0 + 1)))
                .collect()
        };
        self.producers = known.into_iter().collect();
    }

    fn end_transaction(&mut self, id: ReplicaId, now: WallTime) {
        let open: Vec<_> = self.node(id).partition.tables.transactions.open().collect();
        let Some((producer, _)) = open.first().copied() else { return };
        let commit = self.below(2) == 0;
        let wanted = marker_of(producer, commit);
        if let Ok(Some(new)) = self.node(id).partition.append_marker(&wanted, now) {
            self.stored(id, new, now);
        }
    }

    fn stored(&mut self, id: ReplicaId, new: crate::NewBatch, now: WallTime) {
        let node = self.node(id);
        node.content.push((new.at, now, new.bytes.clone()));
        node.waiting.push((Some(new.persist), Record::Change(Change::Batch(new), now)));
    }

    /// The disk of a replica does some of what it was asked.
    fn persist(&mut self, id: ReplicaId) {
        let count = self.below(4);
        let node = self.node(id);
        for (persist, record) in node.waiting.drain(..count.min(node.waiting.len())).collect::<Vec<_>>() {
            node.kept.take(record);
            // Everything with the same number has to be.
            let is_last = node.waiting.first().is_none_or(|(next, _)| *next != persist);
            if let Some(persist) = persist.filter(|_| is_last) {
                node.partition.persisted(persist);
            }
        }
        let answer = node.partition.take_answer();
        if let Some((to, answer)) = answer {
            self.network.push((id, to, Message::Appended(answer)));
        }
        self.check(id);
    }

    /// A leader sends what the others lack.
    fn send(&mut self, id: ReplicaId) {
        for to in REPLICAS.into_iter().filter(|to| *to != id) {
            let most = 1 + self.below(2_000);
            let node = self.node(id);
            let Some(append) = node.partition.next_append(to) else { continue };
            let batches = match node.partition.batches_for(&append, most) {
                Source::Memory(batches) => batches,
                Source::Nothing => Vec::new(),
                Source::Segment(read) => panic!("nothing is in a segment: {read:?}"),
            };
            let after = Offset::of(append.after.end);
            let base = batches.first().map_or(after, |first| Offset(assigned(first).base_offset()));
            let append = node.partition.sent(to, append, base..batches.last().map_or(after, end_of));
            self.network.push((id, to, Message::Append(append, batches.concat().into())));
        }
    }

    fn deliver(&mut self) {
        if self.network.is_empty() {
            return;
        }
        let at = self.below(self.network.len());
        let (from, to, message) = match self.below(8) {
            0 => self.network[at].clone(),
            _ => self.network.remove(at),
        };
        let partition = &mut self.node(to).partition;
        match message {
            Message::Append(append, batches) => self.receive(from, to, &append, &batches),
            Message::Appended(answer) => partition.receive_appended(from, answer),
            Message::Diverged(answer) => partition.receive_diverged(from, answer),
            Message::Refused(answer) => partition.receive_refused(answer),
        }
        self.check(to);
    }

    fn receive(&mut self, from: ReplicaId, to: ReplicaId, append: &Append, batches: &Bytes) {
        let now = WallTime::of_ms(self.now);
        let node = self.node(to);
        let taken = node.partition.receive(from, append, batches, now);
        let taken = taken.unwrap_or_else(|bad| panic!("{bad:?}: {append:?}"));
        let (mut cuts, mut resets) = (0, 0);
        for change in taken.changes {
            match &change {
                Change::Cut(cut) => {
                    node.content.retain(|(_, _, bytes)| end_of(bytes) <= cut.end);
                    cuts += 1;
                }
                Change::Batch(new) => node.content.push((new.at, now, new.bytes.clone())),
                Change::Reset(..) => {
                    node.content.clear();
                    resets += 1;
                }
                Change::State(_) | Change::Epoch(_) | Change::Start(_) => {}
            }
            node.waiting.push((taken.persist, Record::Change(change, now)));
        }
        self.cuts += cuts;
        self.resets += resets;
        match taken.answer {
            Some(Answer::Diverged(answer)) => self.network.push((to, from, Message::Diverged(answer))),
            Some(Answer::Refused(answer)) => self.network.push((to, from, Message::Refused(answer))),
            None => {}
        }
    }

    /// A process dies, with what its disk did not do, and another begins.
    fn crash(&mut self, id: ReplicaId) {
        self.network.retain(|(from, to, _)| *from != id && *to != id);
        let node = self.node(id);
        node.waiting.clear();
        node.partition = node.kept.restore();
        let kept = node.kept.batches.iter();
        node.content = kept.map(|(new, now)| (new.at, *now, new.bytes.clone())).collect();
        for other in REPLICAS.into_iter().filter(|other| *other != id) {
            let partition = &mut self.node(other).partition;
            partition.send_again(id);
            partition.tell_again();
        }
        self.check(id);
    }

    /// A client deletes records of a leader: up to the beginning of a batch, or within one.
    fn delete(&mut self) {
        let Some(id) = self.leader() else { return };
        let high_watermark = self.node(id).partition.high_watermark();
        let before = Offset(self.below(high_watermark.0 as usize + 1) as i64);
        let Ok((before, new)) = self.node(id).partition.delete_records(before) else { return };
        let epoch = self.node(id).partition.epoch();
        self.deletions.push((id, epoch, before));
        self.cut_start(id, new);
        self.check(id);
    }

    /// The log of a replica begins later.
    fn cut_start(&mut self, id: ReplicaId, new: Option<NewStart>) {
        let record = |new: NewStart| (Some(new.persist), Record::Start(new.start, new.first_segment));
        self.node(id).waiting.extend(new.map(record));
    }

    /// A new leader may have to delete what a leader before has deleted. What was deleted for good stays so.
    fn follow_up(&mut self, id: ReplicaId) {
        let new = self.node(id).partition.take_start();
        self.taken += u32::from(new.is_some());
        self.cut_start(id, new);
        let partition = &self.nodes[&id].partition;
        let is_done = |(by, epoch, before): &(ReplicaId, LeaderEpoch, Offset)| {
            *by == id && *epoch == partition.epoch() && partition.is_deleted(*before)
        };
        let (done, open) = self.deletions.drain(..).partition(is_done);
        self.deletions = open;
        let done: Vec<(ReplicaId, LeaderEpoch, Offset)> = done;
        self.deleted += done.len() as u32;
        for (_, epoch, before) in done {
            self.gone = (self.gone.0.max(epoch), self.gone.1.max(before));
        }
        for node in self.nodes.values() {
            let is_later = node.partition.epoch() >= self.gone.0 && node.partition.replica().is_established();
            assert!(!is_later || node.partition.shown_start() >= self.gone.1, "what was deleted is shown");
        }
    }

    /// A state is kept.
    fn keep_state(&mut self, id: ReplicaId) {
        let node = self.node(id);
        let state = node.partition.state();
        node.waiting.push((None, Record::State(state)));
    }

    /// A controller appoints a leader.
    fn appoint(&mut self) {
        self.epoch += 1;
        let epoch = LeaderEpoch(self.epoch);
        let mut told = BTreeMap::new();
        for id in REPLICAS {
            if self.below(4) == 0 {
                continue;
            }
            let Ok(promised) = self.node(id).partition.fence(epoch) else { continue };
            self.begin_epoch(id, promised);
            while !self.node(id).waiting.is_empty() {
                self.persist(id);
            }
            told.extend(self.node(id).partition.fenced(epoch).map(|position| (id, position)));
        }
        let voters = Voters::new(REPLICAS, DURABLE_ON).expect("voters");
        let Some(leader) = choose(&voters, &told, &[]) else { return };
        let config = Config { epoch: epoch.epoch(), leader, voters, learners: BTreeSet::new(), chosen: true };
        let began = self.node(leader).partition.lead(leader, config).expect("it was chosen");
        self.begin_epoch(leader, began);
        self.resequence(leader);
    }

    /// What a replica knows must be a function of its log, and what is committed must be the same everywhere.
    fn check(&mut self, id: ReplicaId) {
        self.follow_up(id);
        let node = &self.nodes[&id];
        let partition = &node.partition;
        let mut tables = Tables::default();
        let mut bytes = 0;
        for (at, now, batch) in &node.content {
            tables.append(&assigned(batch), *now).expect("it stands there");
            bytes += if at.segment < partition.segments.first_base() { 0 } else { batch.len() as u64 };
        }
        tables.transactions.committed(partition.high_watermark());
        tables.truncate_start(partition.start());
        let ends = node.content.last().map_or(partition.start(), |(_, _, batch)| end_of(batch));
        assert_eq!((partition.end(), partition.bytes()), (ends, bytes));
        assert_eq!(&without_times(&tables), &without_times(partition.tables()));
        let segments: Vec<_> = partition.segments().collect();
        assert!(segments.windows(2).all(|pair| pair[0].end() <= pair[1].base()));
        for (_, _, batch) in &node.content {
            if end_of(batch) > partition.high_watermark() {
                break;
            }
            let known =
                self.committed.entry(Offset(assigned(batch).base_offset())).or_insert_with(|| batch.clone());
            assert_eq!(known, batch, "another batch is committed there");
        }
    }

    fn act(&mut self) {
        let id = self.any();
        match self.below(40) {
            0 => self.appoint(),
            1 if self.below(4) == 0 => self.crash(id),
            1 if self.below(3) == 0 => self.delete(),
            2 => self.keep_state(id),
            3..=10 => self.append(),
            11..=18 => self.send(id),
            19..=28 => self.persist(id),
            _ => self.deliver(),
        }
    }
}

fn marker_of(producer_id: crate::ProducerId, commit: bool) -> crate::Marker {
    crate::Marker {
        producer_id,
        epoch: crate::ProducerEpoch(0),
        coordinator_epoch: crate::CoordinatorEpoch(0),
        commit,
        version: crate::TransactionVersion::Classic,
    }
}

/// A follower takes batches later than its leader did: the times at which producers were heard differ.
fn without_times(tables: &Tables) -> String {
    let producers = tables.producers.known().map(|known| (known.id, known.epoch, known.last_sequence));
    format!("{:?} {:?}", producers.collect::<Vec<_>>(), tables.transactions)
}

#[test]
fn replicas_agree_on_what_is_committed_and_know_their_logs_whatever_is_lost() {
    let (mut committed, mut cuts, mut deleted, mut taken, mut resets) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let mut world = World::new(seed);
        world.appoint();
        for _ in 0..1_500 {
            world.act();
        }
        committed += world.committed.len();
        cuts += world.cuts;
        deleted += world.deleted;
        taken += world.taken;
        resets += world.resets;
    }
    assert!(committed > 5_000 && cuts > 300, "{committed} batches, {cuts} cuts");
    assert!(deleted > 400 && resets > 20, "{deleted} deletions, {resets} logs begun anew");
    assert!(taken > 20, "{taken} leaders deleted what a leader before had deleted");
}

#[test]
fn promise_is_kept_in_the_step_in_which_a_log_begins_anew() {
    let mut follower = Partition::new(config(), Offset(0));
    let promised = LeaderEpoch(4);
    let after = Position { epoch: LeaderEpoch(3).epoch(), end: Offset(10).seq() };
    let append = Append {
        epoch: promised.epoch(),
        epoch_start: Offset(10).seq(),
        after,
        to: after.end,
        starts: Vec::new(),
        committed: after.end,
        start: after.end,
        resets: Some(Reset { always: false, thinned_to: Offset(7).seq() }),
        probes: true,
        round: Round(0),
    };
    let taken = follower.receive(REPLICAS[0], &append, &Bytes::new(), WallTime::of_ms(1)).expect("it is one");
    let mut kept = Kept::default();
    kept.take(Record::Change(taken.changes[0].clone(), WallTime::of_ms(1)));
    // The disk has done no more than that.
    let restored = kept.restore();
    assert_eq!((restored.epoch(), restored.start(), restored.end()), (promised, Offset(10), Offset(10)));
}

#[test]
fn log_that_was_copied_from_a_compacted_one_comes_back_with_its_holes() {
    let batches = [10, 100, 102].map(|base| Bytes::from(plain(base, 500, 2, 40)));
    let mut position = 0;
    let events = batches.iter().map(|bytes| {
        let at = crate::Place { segment: Offset(0), position };
        position += bytes.len() as u64;
        let (now, is_behind_state, is_written) = (WallTime::of_ms(1), true, true);
        StoredEvent::Batch(StoredBatch { at, now, is_behind_state, is_written, begun: &[], bytes })
    });
    let events: Vec<_> = events.collect();
    let restored =
        Partition::restore(config(), Offset(0), None, events.into_iter()).expect("holes are no damage");
    assert_eq!(restored.end(), Offset(104));
    assert!(restored.segments.iter().all(crate::Segment::may_have_holes));
    let back = [&batches[1], &batches[0]].map(|bytes| {
        let (at, now) = (crate::Place { segment: Offset(0), position: 0 }, WallTime::of_ms(1));
        StoredEvent::Batch(StoredBatch {
            at,
            now,
            is_behind_state: true,
            is_written: true,
            begun: &[],
            bytes,
        })
    });
    assert!(Partition::restore(config(), Offset(0), None, back.into_iter()).is_err());
}

/// A batch that is in its segment, and of which no state tells.
fn in_its_segment(at: crate::Place, bytes: &Bytes) -> StoredEvent<'_> {
    let (now, begun) = (WallTime::of_ms(1), &[]);
    StoredEvent::Batch(StoredBatch { at, now, is_behind_state: true, is_written: true, begun, bytes })
}

#[test]
fn log_that_was_cut_off_behind_what_was_compacted_comes_back() {
    let (kept, next) = (Bytes::from(plain(0, 500, 2, 40)), Bytes::from(plain(2, 500, 1, 40)));
    let mut added = crate::Segment::new(SegmentId { base: Offset(0), generation: 1 });
    added.push(&assigned(&kept), WallTime::of_ms(1));
    let removed = vec![SegmentId::appended(Offset(0))];
    let replaced = Replacement { removed, added: Some(added), ..thinned_to(0) }.to_bytes();
    // A segment followed when this one was compacted. All of its batches were cut off.
    let batch = |segment, bytes| in_its_segment(crate::Place { segment, position: 0 }, bytes);
    let mut events = vec![batch(Offset(0), &kept), StoredEvent::Replaced(&replaced)];
    let restore = |events: &[StoredEvent<'_>]| {
        Partition::restore(config(), Offset(0), None, events.iter().copied()).expect("it fits together")
    };
    let restored = restore(&events);
    let segments: Vec<_> =
        restored.segments().map(|segment| (segment.id().generation, segment.end())).collect();
    assert_eq!((restored.end(), segments), (Offset(2), vec![(1, Offset(2)), (0, Offset(2))]));
    events.push(batch(Offset(2), &next));
    assert_eq!(restore(&events).end(), Offset(3));
}

/// When all that is committed was deleted, a batch behind it stood in the same segment, which stayed. That batch was cut off.
#[test]
fn log_that_was_cut_off_behind_what_was_deleted_comes_back() {
    let (gone, next) = (Bytes::from(plain(0, 500, 2, 40)), Bytes::from(plain(2, 500, 1, 40)));
    let batch = |position, bytes| in_its_segment(crate::Place { segment: Offset(0), position }, bytes);
    let restore = |first: i64, events: &[StoredEvent<'_>]| {
        let begins = StoredEvent::Start(Offset(2), Offset(first));
        let events = [batch(0, &gone), begins].into_iter().chain(events.iter().copied());
        Partition::restore(config(), Offset(0), None, events)
    };
    let bases = |partition: &Partition| partition.segments().map(|of| of.id().base.0).collect::<Vec<_>>();
    let restored = restore(0, &[batch(gone.len() as u64, &next)]).expect("it fits together");
    assert_eq!((restored.start(), restored.end(), bases(&restored)), (Offset(2), Offset(3), vec![0]));
    // Nothing was behind it: the segment is gone.
    let restored = restore(2, &[]).expect("it fits together");
    assert_eq!((restored.start(), restored.end(), bases(&restored)), (Offset(2), Offset(2), vec![2]));
    assert!(restore(2, &[batch(gone.len() as u64, &next)]).is_err());
}

/// A leader of epoch 0 whose own disk suffices, with so many batches of five records each.
fn leader_with(batches: i64) -> Partition {
    let mut leader = Partition::new(config(), Offset(0));
    let epoch = LeaderEpoch(0);
    let promised = leader.fence(epoch).expect("it has promised nothing");
    leader.persisted(promised.persist);
    let voters = Voters::new(REPLICAS, 1).expect("voters");
    let config = Config { voters, ..Config::alone(REPLICAS[0], epoch.epoch()) };
    let began = leader.lead(REPLICAS[0], config).expect("it was chosen");
    leader.persisted(began.persist);
    for _ in 0..batches {
        append_five(&mut leader);
    }
    leader
}

fn append_five(leader: &mut Partition) {
    let appended = leader.append(&assigned(&plain(0, 500, 5, 40)), WallTime::of_ms(500));
    leader.persisted(appended.expect("there is room").new.expect("it is new").persist);
}

/// Both exchange messages until nothing is left to be sent.
fn exchange(leader: &mut Partition, follower: &mut Partition) {
    let (from, to) = (REPLICAS[0], REPLICAS[1]);
    for _ in 0..10 {
        let Some(append) = leader.next_append(to) else { return };
        let batches = match leader.batches_for(&append, usize::MAX) {
            Source::Memory(batches) => batches,
            other => {
                assert_eq!(other, Source::Nothing);
                Vec::new()
            }
        };
        let after = Offset::of(append.after.end);
        let base = batches.first().map_or(after, |first| Offset(assigned(first).base_offset()));
        let append = leader.sent(to, append, base..batches.last().map_or(after, end_of));
        let taken = follower.receive(from, &append, &batches.concat().into(), WallTime::of_ms(600));
        let taken = taken.unwrap_or_else(|bad| panic!("a leader sends that, {bad:?}: {append:?}"));
        taken.persist.into_iter().for_each(|persist| follower.persisted(persist));
        match taken.answer {
            Some(Answer::Diverged(answer)) => leader.receive_diverged(to, answer),
            Some(Answer::Refused(answer)) => leader.receive_refused(answer),
            None => {}
        }
        follower.take_answer().into_iter().for_each(|(_, answer)| leader.receive_appended(to, answer));
    }
    panic!("there is no end");
}

/// What a follower has kept, and nothing else, makes it what it was.
fn assert_comes_back(follower: &Partition) {
    let state = follower.state();
    assert_eq!(state.end, follower.end(), "all of it is committed");
    let back = Partition::restore(config(), Offset(0), Some(&state.bytes), core::iter::empty());
    let back = back.expect("the state is whole");
    assert_eq!((back.start(), back.replica().log()), (follower.start(), follower.replica().log()));
}

#[test]
fn leader_whose_log_begins_within_the_first_batch_of_its_epoch_is_followed() {
    let mut leader = leader_with(1);
    leader.delete_records(Offset(2)).expect("it is committed");
    let mut follower = Partition::new(config(), Offset(0));
    exchange(&mut leader, &mut follower);
    assert_eq!((follower.end(), follower.high_watermark()), (Offset(5), Offset(5)));
    assert_comes_back(&follower);
    append_five(&mut leader);
    exchange(&mut leader, &mut follower);
    assert_eq!((follower.end(), follower.high_watermark()), (Offset(10), Offset(10)));
}

#[test]
fn follower_that_begins_anew_within_the_epoch_of_its_leader_comes_back() {
    let mut leader = leader_with(2);
    leader.delete_records(Offset(5)).expect("it is committed");
    let mut follower = Partition::new(config(), Offset(0));
    exchange(&mut leader, &mut follower);
    assert_eq!((follower.start(), follower.end()), (Offset(5), Offset(10)));
    assert_comes_back(&follower);
    assert_eq!(follower.epochs().epoch_at(Offset(5)), Some(LeaderEpoch(0)));
}

/// A batch of one record of that key, perhaps without a value.
fn keyed(key: &[u8], value: Option<&[u8]>) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(500, Some(key), value, &[]);
    builder.finish()
}

/// It appends these batches of a client.
fn append_all(leader: &mut Partition, batches: &[Vec<u8>]) {
    for bytes in batches {
        let appended = leader.append(&assigned(bytes), WallTime::of_ms(500));
        leader.persisted(appended.expect("there is room").new.expect("it is new").persist);
    }
}

/// What a pass has come to that has removed a record without a value before that offset, and nothing else.
fn thinned_to(offset: i64) -> Replacement {
    Replacement {
        removed: Vec::new(),
        added: None,
        removed_aborts: Vec::new(),
        thinned_to: Offset(offset),
        pass: None,
    }
}

#[test]
fn follower_that_ends_before_a_removed_tombstone_begins_anew() {
    let value = || keyed(b"key", Some(b"value"));
    let mut leader = leader_with(0);
    append_all(&mut leader, &[value()]);
    let mut follower = Partition::new(config(), Offset(0));
    exchange(&mut leader, &mut follower);
    assert_eq!(follower.end(), Offset(1));
    // It is away, and another epoch begins: the leader has not heard of it in this one.
    append_all(&mut leader, &[keyed(b"key", None), keyed(b"other", Some(b"value"))]);
    let mut leader = leads_again(&leader);
    leader.replaced(&thinned_to(2)).expect("no replica is being sent what goes");
    let kept = exchange_and_note(&mut leader, &mut follower);
    assert!(kept.iter().any(|change| matches!(change, Change::Reset(Offset(0), _))), "{kept:?}");
    assert_eq!((follower.end(), follower.high_watermark()), (Offset(3), Offset(3)));
    assert_eq!(follower.replica().thinned_to(), Offset(2).seq(), "it lacks what its leader lacks");
    assert_comes_back(&follower);
}

#[test]
fn follower_that_has_the_tombstone_goes_on() {
    let mut leader = leader_with(2);
    let mut follower = Partition::new(config(), Offset(0));
    exchange(&mut leader, &mut follower);
    append_five(&mut leader);
    let mut leader = leads_again(&leader);
    leader.replaced(&thinned_to(10)).expect("no replica is being sent what goes");
    let kept = exchange_and_note(&mut leader, &mut follower);
    assert!(!kept.iter().any(|change| matches!(change, Change::Reset(..))), "{kept:?}");
    assert_eq!(follower.end(), Offset(15));
}

#[test]
fn tombstone_that_a_follower_is_being_sent_stays() {
    let mut leader = leader_with(1);
    let mut follower = Partition::new(config(), Offset(0));
    exchange(&mut leader, &mut follower);
    append_five(&mut leader);
    assert_eq!(leader.replaced(&thinned_to(6)), Err(Stale), "the follower ends at 5");
    exchange(&mut leader, &mut follower);
    assert_eq!(leader.replaced(&thinned_to(6)), Ok(()));
}

/// The same log, whose leader has begun another epoch and has heard of nobody.
fn leads_again(leader: &Partition) -> Partition {
    let state = leader.state();
    let back = Partition::restore(config(), Offset(0), Some(&state.bytes), core::iter::empty());
    let mut leader = back.expect("the state is whole");
    let epoch = LeaderEpoch(1);
    let promised = leader.fence(epoch).expect("it is a higher one");
    leader.persisted(promised.persist);
    let voters = Voters::new(REPLICAS, 1).expect("voters");
    let config = Config { voters, ..Config::alone(REPLICAS[0], epoch.epoch()) };
    let began = leader.lead(REPLICAS[0], config).expect("it was chosen");
    leader.persisted(began.persist);
    leader
}

/// Both exchange messages, and the leader reads its batches from the log that it had: what the disk of the follower had to do.
fn exchange_and_note(leader: &mut Partition, follower: &mut Partition) -> Vec<Change> {
    let mut changes = Vec::new();
    let (from, to) = (REPLICAS[0], REPLICAS[1]);
    while let Some(append) = leader.next_append(to) {
        let after = Offset::of(append.after.end);
        let batches: Vec<Vec<u8>> = (after.0..leader.end().0).map(|at| stamped(leader, at)).collect();
        let append = leader.sent(to, append, after..leader.end());
        let taken = follower.receive(from, &append, &batches.concat().into(), WallTime::of_ms(600));
        let taken = taken.unwrap_or_else(|bad| panic!("a leader sends that, {bad:?}: {append:?}"));
        changes.extend(taken.changes);
        taken.persist.into_iter().for_each(|persist| follower.persisted(persist));
        match taken.answer {
            Some(Answer::Diverged(answer)) => leader.receive_diverged(to, answer),
            Some(Answer::Refused(answer)) => leader.receive_refused(answer),
            None => {}
        }
        follower.take_answer().into_iter().for_each(|(_, answer)| leader.receive_appended(to, answer));
        assert!(changes.len() < 100, "there is no end");
    }
    changes
}

/// A batch of one record, as it may stand at that offset of a log.
fn stamped(log: &Partition, at: i64) -> Vec<u8> {
    let mut bytes = keyed(b"key", Some(b"value"));
    let epoch = log.epochs().epoch_at(Offset(at)).expect("it is there");
    Batch::assign(&mut bytes, at, epoch.0);
    bytes
}

#[test]
fn follower_takes_a_marker_that_compaction_has_emptied() {
    let mut leader = leader_with(0);
    let mut follower = Partition::new(config(), Offset(0));
    let whole = marker(0, 7, 2, true);
    let batch = assigned(&whole);
    let head = RecordsHead {
        attributes: batch.attributes(),
        base_timestamp: -1,
        max_timestamp: batch.max_timestamp(),
        count: 0,
    };
    let emptied = Bytes::from(batch.with_records(head, &[]));
    append_all(&mut leader, &[keyed(b"key", Some(b"value"))]);
    let append = leader.next_append(REPLICAS[1]).expect("it is to be sent something");
    let append =
        Append { after: Position { end: Offset(0).seq(), ..append.after }, to: Offset(0).seq(), ..append };
    let append = Append { after: Position { epoch: Position::default().epoch, ..append.after }, ..append };
    let append = leader.sent(REPLICAS[1], append, Offset(0)..Offset(1));
    let taken =
        follower.receive(REPLICAS[0], &append, &emptied, WallTime::of_ms(600)).expect("a leader sends that");
    assert!(taken.changes.iter().any(|change| matches!(change, Change::Batch(_))), "{taken:?}");
    assert_eq!(follower.end(), Offset(1));
}

/// What a reader of decided records is told: where those end, and which transactions in the whole log were aborted.
fn decided(partition: &Partition) -> (i64, Vec<(i64, i64)>) {
    let end = partition.readable_end(Isolation::ReadCommitted);
    let aborted = partition.tables().transactions.aborted(Offset(0), end);
    (end.0, aborted.map(|aborted| (aborted.producer_id.0, aborted.first.0)).collect())
}

#[test]
fn follower_knows_what_is_decided_and_what_was_aborted() {
    let mut leader = leader_with(1);
    append_all(&mut leader, &[transactional(0, 7, 0, 0, 2), transactional(0, 8, 0, 0, 2)]);
    append_five(&mut leader);
    let mut follower = Partition::new(config(), Offset(0));
    exchange(&mut leader, &mut follower);
    assert_eq!((decided(&follower), follower.high_watermark()), ((5, vec![]), Offset(14)));
    for (id, commit, expected) in [(7, false, (7, vec![(7, 5)])), (8, true, (16, vec![(7, 5)]))] {
        let marker = marker_of(crate::ProducerId(id), commit);
        let new =
            leader.append_marker(&marker, WallTime::of_ms(500)).expect("it is open").expect("it is new");
        leader.persisted(new.persist);
        exchange(&mut leader, &mut follower);
        assert_eq!(decided(&follower), expected);
        assert_eq!(decided(&follower), decided(&leader));
    }
}

#[test]
fn leader_knows_from_where_to_where_a_follower_has_its_log() {
    let mut leader = leader_with(2);
    let mut follower = Partition::new(config(), Offset(0));
    let from = |leader: &Partition, at| leader.durable_from(REPLICAS[1], Offset(at));
    assert_eq!(from(&leader, 0), None, "nothing was heard of it");
    exchange(&mut leader, &mut follower);
    assert_eq!([0, 10].map(|at| from(&leader, at)), [Some(Offset(10)); 2]);
    append_five(&mut leader);
    assert_eq!((from(&leader, 10), from(&leader, 11)), (Some(Offset(10)), None));
    let start = leader.delete_records(Offset(5)).expect("they are committed").1.expect("they are there");
    leader.persisted(start.persist);
    exchange(&mut leader, &mut follower);
    assert_eq!((from(&leader, 4), from(&leader, 5)), (None, Some(Offset(15))));
    assert_eq!(follower.durable_from(REPLICAS[0], Offset(5)), None, "it does not lead");
}
