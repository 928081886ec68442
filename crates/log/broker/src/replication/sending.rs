//! What goes to other brokers: batches for followers, answers to leaders, and what machines say to each other.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Now};
use bytes::Bytes;
use log_partition::{Offset, Partition, PartitionId, SegmentRead, Source};
use log_wire::Batch;
use replication_appointed::{Append, ReplicaId};
use replication_controller::PartitionId as ReplicatedId;
use replication_node::Reply;
use replication_wire::{BATCH_BYTES_MAX, Call, Full, ReplicaMessage, ReplicasWriter};

use super::Replication;
use super::throttle::Holds;
use crate::node::Node;
use crate::notice::Notice;
use crate::partitions::{partition_of, replicated};
use crate::segment_reader::{SegmentFault, SegmentReader, read_source};

/// How many bytes of batches one message asks for.
const BATCHES_BYTES: usize = 512 << 10;
/// How many bytes of batches wait here for one broker until its messages are taken. One batch may be longer.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// When batches are read again that could not be read, milliseconds.
const AGAIN_MS: u64 = 1_000;

/// A message for another broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerMessage {
    /// The broker.
    pub to: i32,
    /// Whether it has batches: those do not go before what keeps leaders and controllers alive.
    pub is_bulky: bool,
    /// The message.
    pub bytes: Vec<u8>,
}

/// Batches that are to be read from a segment for a follower.
#[derive(Clone, Debug)]
pub struct ReplicaRead {
    to: ReplicaId,
    id: PartitionId,
    append: Append,
    read: SegmentRead,
}

impl ReplicaRead {
    /// Reads them.
    ///
    /// # Errors
    /// [`SegmentFault`].
    pub fn read(&self, reader: &mut impl SegmentReader) -> Result<Vec<u8>, SegmentFault> {
        let mut bytes = Vec::new();
        read_source(&Source::Segment(self.read), self.id, reader, &mut bytes)?;
        Ok(bytes)
    }
}

/// What waits to be taken.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    messages: Vec<PeerMessage>,
    reads: Vec<ReplicaRead>,
    /// What is being read: for whom, and of which partition.
    reading: BTreeSet<(ReplicaId, PartitionId)>,
    /// What could not be read, and when it is tried again.
    failed: BTreeMap<(ReplicaId, PartitionId), MonoTime>,
    /// Bytes of batches for each broker that were not taken, those that are being read included.
    waiting_bytes: BTreeMap<ReplicaId, usize>,
    /// Brokers that take no batches at the moment.
    full: BTreeSet<ReplicaId>,
    /// Partitions of which a follower is to be sent something once there is room.
    deferred: BTreeSet<(ReplicaId, ReplicatedId)>,
}

impl Outbox {
    /// A message of machines.
    pub(super) fn say(&mut self, to: ReplicaId, bytes: &[u8]) {
        self.push(to, false, bytes.to_vec());
    }

    fn push(&mut self, to: ReplicaId, is_bulky: bool, bytes: Vec<u8>) {
        if is_bulky {
            *self.waiting_bytes.entry(to).or_default() += bytes.len();
        }
        self.messages.push(PeerMessage { to: to.0.cast_signed(), is_bulky, bytes });
    }

    /// There is no connection to that broker.
    pub(super) fn forget(&mut self, peer: ReplicaId) {
        self.messages.retain(|message| message.to != peer.0.cast_signed());
        self.reads.retain(|read| read.to != peer);
        self.reading.retain(|(to, _)| *to != peer);
        self.failed.retain(|(to, _), _| *to != peer);
        self.deferred.retain(|(to, _)| *to != peer);
        self.waiting_bytes.remove(&peer);
        self.full.remove(&peer);
    }

    fn has_room(&self, to: ReplicaId) -> bool {
        let waiting = self.waiting_bytes.get(&to).copied().unwrap_or_default();
        waiting < WAITING_BYTES_MAX && !self.full.contains(&to)
    }

    /// Takes what was deferred and has room now.
    fn take_deferred(&mut self) -> BTreeMap<ReplicaId, Vec<ReplicatedId>> {
        let all = std::mem::take(&mut self.deferred);
        let (ready, deferred) = all.into_iter().partition(|(to, _)| self.has_room(*to));
        self.deferred = deferred;
        let mut by_peer = BTreeMap::<_, Vec<_>>::new();
        let ready: BTreeSet<(ReplicaId, ReplicatedId)> = ready;
        ready.into_iter().for_each(|(to, id)| by_peer.entry(to).or_default().push(id));
        by_peer
    }

    /// Bytes that are being read for a follower.
    fn reading_bytes(&self, to: ReplicaId) -> usize {
        self.reading.iter().filter(|(reader, _)| *reader == to).count() * BATCHES_BYTES
    }

    /// Reads that, unless it could not be read a moment ago.
    fn begin(&mut self, read: ReplicaRead, now: MonoTime) {
        if self.failed.get(&(read.to, read.id)).is_some_and(|again| *again > now) {
            return;
        }
        if self.reading.insert((read.to, read.id)) {
            *self.waiting_bytes.entry(read.to).or_default() += BATCHES_BYTES;
            self.reads.push(read);
        }
    }
}

impl Replication {
    /// Takes what is for other brokers.
    pub(crate) fn take_messages(&mut self) -> Vec<PeerMessage> {
        if !self.outbox.messages.is_empty() {
            self.outbox.waiting_bytes.clear();
            let reads = self.outbox.reading.iter();
            for (to, _) in reads {
                *self.outbox.waiting_bytes.entry(*to).or_default() += BATCHES_BYTES;
            }
        }
        std::mem::take(&mut self.outbox.messages)
    }

    /// Sends a call of a service. False if that broker is not connected, or is asked something while nothing is heard of it. It is
    /// answered even then: whether it hears this one is another matter.
    pub(crate) fn call(&mut self, to: i32, call: &Call<'_>) -> bool {
        let to = ReplicaId(to.cast_unsigned());
        let is_sent = self.peers.contains_key(&to) && (call.is_answer || !self.silent.contains(&to));
        if is_sent {
            let mut bytes = Vec::new();
            call.encode(&mut bytes);
            self.outbox.push(to, false, bytes);
        }
        is_sent
    }

    /// Another broker takes no batches for now, or takes them again.
    pub(crate) fn is_full(&mut self, peer: ReplicaId, is_full: bool) {
        if is_full && self.peers.contains_key(&peer) {
            self.outbox.full.insert(peer);
        } else {
            self.outbox.full.remove(&peer);
        }
    }

    /// Sends what was deferred, as far as there is room.
    pub(crate) fn send_deferred(&mut self, node: &mut Node, now: Now) {
        let has = |to, id, end: Offset| {
            let hosted = node.partitions.slot_of(id).and_then(|slot| node.partitions.get(slot));
            let replica =
                hosted.map(|hosted| hosted.partition.replica()).filter(|replica| replica.is_leading());
            replica.is_none_or(|replica| replica.durable_on(to).is_some_and(|to| Offset::of(to) >= end))
        };
        for (to, partitions) in self.copies.settle(has, now.mono()) {
            self.send(node, to, &partitions, now);
        }
        for (to, partitions) in self.outbox.take_deferred() {
            self.send(node, to, &partitions, now);
        }
    }

    /// Followers whose batches could not be read are sent them again, if it is time.
    pub(super) fn read_again(&mut self, node: &mut Node, now: Now) {
        let outbox = &mut self.outbox;
        outbox.failed.retain(|(_, id), _| node.partitions.slot_of(*id).is_some());
        let due = outbox.failed.iter().filter(|(_, again)| **again <= now.mono());
        let due: Vec<(ReplicaId, PartitionId)> = due.map(|(key, _)| *key).collect();
        for (to, id) in due {
            self.outbox.failed.remove(&(to, id));
            self.send(node, to, &[replicated(id)], now);
            // That it failed is told once, until it succeeds.
            if self.outbox.reading.contains(&(to, id)) {
                self.outbox.failed.insert((to, id), now.mono().plus_ms(AGAIN_MS));
            }
        }
    }

    /// When [`Self::read_again`] is to be called.
    pub(super) fn read_again_at(&self) -> Option<MonoTime> {
        self.outbox.failed.values().min().copied()
    }

    /// Takes what is to be read for followers.
    pub(crate) fn next_read(&mut self) -> Option<ReplicaRead> {
        self.outbox.reads.pop()
    }

    /// That was read. Whatever has happened to the partition meanwhile is seen by what would be sent now.
    pub(crate) fn was_read(
        &mut self,
        node: &mut Node,
        read: &ReplicaRead,
        bytes: Result<Vec<u8>, SegmentFault>,
        now: Now,
    ) {
        let ReplicaRead { to, id, append, read } = read;
        self.outbox.reading.remove(&(*to, *id));
        let hosted = node.partitions.slot_of(*id).and_then(|slot| node.partitions.get_mut(slot));
        let Some(hosted) = hosted.filter(|_| self.peers.contains_key(to)) else { return };
        let bytes = match bytes {
            Ok(bytes) if hosted.partition.cuts() == read.cuts => bytes,
            // It is asked for again as it is now.
            Ok(_) | Err(SegmentFault::Gone) => Vec::new(),
            Err(SegmentFault::Damaged | SegmentFault::Failed) => {
                let again = now.mono().plus_ms(AGAIN_MS);
                let is_told = self.outbox.failed.insert((*to, *id), again).is_some();
                node.notices.extend((!is_told).then_some(Notice::NotSent(*id)));
                return;
            }
        };
        self.outbox.failed.remove(&(*to, *id));
        // That more is committed by now, that the log begins later or a newer round is said with it. If it were read again for that, a follower that
        // lags behind a partition with many writes would never be sent anything.
        let next = hosted.partition.next_append(*to);
        if let Some(next) = next.filter(|next| {
            let (committed, start, round) = (append.committed, append.start, append.round);
            *append == Append { committed, start, round, ..next.clone() }
        }) && let Some(range) = range_of(&bytes)
        {
            self.copies.sent(*to, (*id, range.end), bytes.len(), now.mono());
            let append = hosted.partition.sent(*to, next, range);
            let holds = self.throttled(node, *id, *to);
            holds.into_iter().for_each(|holds| self.throttle.sent(holds, *to, bytes.len(), now.mono()));
            let mut out = Vec::new();
            let mut writer = ReplicasWriter::new(&mut out, BATCH_BYTES_MAX);
            let _ = writer.put_append(replicated(*id), &append, &[&bytes]);
            self.outbox.push(*to, true, out);
        }
        self.machine.follow_up(replicated(*id), now.mono(), &mut node.partitions);
        self.carry_out(node, now);
    }

    /// A follower is sent what there is of these partitions.
    pub(super) fn send(&mut self, node: &mut Node, to: ReplicaId, partitions: &[ReplicatedId], now: Now) {
        if !self.peers.contains_key(&to) {
            return;
        }
        let (mut frames, mut bytes) = (Frames::default(), 0);
        for partition in partitions {
            let Some(id) = partition_of(*partition) else { continue };
            if bytes >= WAITING_BYTES_MAX || !self.outbox.has_room(to) {
                self.outbox.deferred.insert((to, *partition));
                continue;
            }
            let holds = self.throttled(node, id, to);
            if holds.is_some_and(|holds| self.throttle.holds_back(holds, (to, *partition), now.mono())) {
                continue;
            }
            let hosted = node.partitions.slot_of(id).and_then(|slot| node.partitions.get_mut(slot));
            let Some(hosted) = hosted else { continue };
            match next_of(&mut hosted.partition, to) {
                Some(Next::Send(append, batches)) => {
                    let length = batches.iter().map(Bytes::len).sum::<usize>();
                    holds.into_iter().for_each(|holds| self.throttle.sent(holds, to, length, now.mono()));
                    bytes += length;
                    frames.0.push((*partition, Item::Append(append, batches)));
                    self.machine.follow_up(*partition, now.mono(), &mut node.partitions);
                }
                Some(Next::Read(append, read)) => {
                    self.copies.begin(to, id, Offset::of(append.after.end));
                    if self.copies.has_room(to, self.outbox.reading_bytes(to)) {
                        self.outbox.begin(ReplicaRead { to, id, append, read }, now.mono());
                    } else {
                        self.copies.wait(to, *partition);
                    }
                }
                None => {}
            }
        }
        frames.finish().into_iter().for_each(|bytes| self.outbox.push(to, true, bytes));
    }

    /// Sends what throttles have held back, if it is time.
    pub(super) fn send_held(&mut self, node: &mut Node, now: Now) {
        for (to, partitions) in self.throttle.take_due(now.mono()) {
            self.send(node, to, &partitions, now);
        }
    }

    /// The throttles of what that follower is sent; nothing if somebody waits for it.
    fn throttled(&self, node: &Node, id: PartitionId, to: ReplicaId) -> Option<Holds> {
        let holds = self.throttle.holds(id, self.own, to)?;
        let hosted = node.partitions.slot_of(id).and_then(|slot| node.partitions.get(slot))?;
        let voters = &hosted.partition.replica().leading_config()?.voters;
        (!voters.replicas().contains(&to) || node.in_sync.does_without(id, to, voters)).then_some(holds)
    }

    /// A leader is answered.
    pub(super) fn reply(&mut self, to: ReplicaId, replies: &[(ReplicatedId, Reply)]) {
        let answer = |reply: &Reply| match reply {
            Reply::Appended(answer) => ReplicaMessage::Appended(*answer),
            Reply::Diverged(answer) => ReplicaMessage::Diverged(*answer),
            Reply::Refused(answer) => ReplicaMessage::Refused(*answer),
        };
        let items = replies.iter().map(|(partition, reply)| (*partition, Item::Answer(answer(reply))));
        Frames(items.collect()).finish().into_iter().for_each(|bytes| self.outbox.push(to, false, bytes));
    }
}

/// What a follower gets next.
enum Next {
    Send(Append, Vec<Bytes>),
    Read(Append, SegmentRead),
}

/// What that follower of a partition gets next; what can be sent at once counts as sent.
fn next_of(partition: &mut Partition, to: ReplicaId) -> Option<Next> {
    let append = partition.next_append(to)?;
    let batches = match partition.batches_for(&append, BATCHES_BYTES) {
        Source::Memory(batches) => batches,
        Source::Segment(read) => return Some(Next::Read(append, read)),
        Source::Nothing => Vec::new(),
    };
    let after = Offset::of(append.after.end);
    let first = batches.first().and_then(|bytes| range_of(bytes));
    let last = batches.last().and_then(|bytes| range_of(bytes));
    let range = first.zip(last).map_or(after..after, |(first, last)| first.start..last.end);
    let append = partition.sent(to, append, range);
    Some(Next::Send(append, batches))
}

/// The offsets of batches that follow each other; nothing if there is none.
fn range_of(bytes: &[u8]) -> Option<core::ops::Range<Offset>> {
    let (mut rest, mut range) = (bytes, None);
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).ok()?;
        let end = Offset(batch.last_offset()).next();
        let start = range.map_or(Offset(batch.base_offset()), |known: core::ops::Range<Offset>| known.start);
        (range, rest) = (Some(start..end), behind);
    }
    range
}

/// Something for one partition.
enum Item {
    Append(Append, Vec<Bytes>),
    Answer(ReplicaMessage<'static>),
}

/// Messages of several partitions, in as few frames as they need.
#[derive(Default)]
struct Frames(Vec<(ReplicatedId, Item)>);

impl Frames {
    fn finish(mut self) -> Vec<Vec<u8>> {
        // Messages of one partition keep their order.
        self.0.sort_by_key(|(id, _)| *id);
        let (mut frames, mut rest) = (Vec::new(), self.0.as_slice());
        while !rest.is_empty() {
            let mut frame = Vec::new();
            let mut writer = ReplicasWriter::new(&mut frame, BATCH_BYTES_MAX);
            let taken = rest.iter().take_while(|(id, item)| put(&mut writer, *id, item).is_ok()).count();
            rest = rest.get(taken..).unwrap_or_default();
            frames.push(frame);
        }
        frames
    }
}

fn put(writer: &mut ReplicasWriter<'_>, id: ReplicatedId, item: &Item) -> Result<(), Full> {
    match item {
        Item::Append(append, batches) => {
            let batches: Vec<&[u8]> = batches.iter().map(|batch| &**batch).collect();
            writer.put_append(id, append, &batches)
        }
        Item::Answer(answer) => writer.put(id, answer),
    }
}
