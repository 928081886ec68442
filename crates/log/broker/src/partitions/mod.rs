//! The partitions that live on this broker, and their way to and from the disk.
//!
//! Commands to the disk are numbered; when the disk says that so many are durable, what they stand for has happened: a
//! partition is ready to be served, or more of it is committed. That goes out as [`PartitionEvent`]s. It knows no request.

mod by_slot;
mod hosted;
mod in_flight;
mod replica;
mod slots_by_id;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::Now;
use log_metadata::PartitionNode;
use log_partition::{
    CompactionJob, CompactionNeed, Damage, LeaderEpoch, NewBatch, NewStart, Offset, Partition, PartitionId,
    PersistId, Replacement, ReplicaId, Segment, State,
};
use log_storage::Append;
use log_wire::{ErrorCode, TopicName};
use storage_wal::LogId;

use crate::catalog::{Catalog, TopicImage};
use crate::disk_work::{DiskCommand, DiskEvent, StoredPartition};
use crate::notice::Notice;
pub(crate) use by_slot::BySlot;
pub(crate) use hosted::{Hosted, Slot};
use in_flight::{Awaited, InFlight};
pub(crate) use replica::{partition_of, replicated};
use slots_by_id::SlotsById;

/// What happened to a partition that lives here.
#[derive(Debug)]
pub(crate) enum PartitionEvent {
    /// It is served from now on.
    Ready(Slot),
    /// This broker leads it no more.
    Lost(Slot),
    /// It is not handed over any more: clients append again, if it is led here.
    Resumed,
    /// The copy here follows another leader than before, or none.
    Followed(Slot),
    /// A copy of it was made, with that promise.
    Made(PartitionId, LeaderEpoch),
    /// So many bytes more of it are committed. After the end of a transaction a reader of what is committed may read more
    /// than that: the number is [`usize::MAX`].
    Committed(Slot, usize),
    /// It is known that it was still led here when that was asked.
    Confirmed(Slot),
    /// More of it is durable on this broker, which leads it and is one of several that have it.
    Flushed(Slot),
    /// It begins later than before for clients, or more of it is deleted for good.
    StartMoved(Slot),
    /// It is gone with its topic: its slot may be used again.
    Gone(Slot),
}

impl PartitionEvent {
    /// Whether clients that wait for a leader may go on.
    pub(crate) const fn is_of_leaders(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::Gone(_) | Self::Lost(_) | Self::Resumed)
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Partitions {
    node_id: i32,
    hosted: Vec<Option<Hosted>>,
    free: Vec<Slot>,
    by_id: SlotsById,
    by_log: BTreeMap<LogId, Slot>,
    /// Partitions that were on the disk at the start, and whose topics the council has not named yet.
    stored: BTreeMap<PartitionId, StoredPartition>,
    /// Partitions of which the disk holds something that cannot be used: they are not served, and nothing is made in their
    /// place.
    damaged: BTreeSet<PartitionId>,
    /// Partitions whose logs are being created.
    creating: BTreeMap<PartitionId, Arc<str>>,
    /// What copies that are being created are to promise.
    promised: BTreeMap<PartitionId, LeaderEpoch>,
    /// Partitions with several replicas of which something is durable, or was appended, since that was asked last.
    touched: BTreeSet<PartitionId>,
    in_flight: InFlight,
    /// Bytes of batches for which the disk has room.
    room_bytes: u64,
    events: Vec<PartitionEvent>,
    /// Room for what becomes committed at once.
    committed: Vec<(Slot, usize)>,
}

impl Partitions {
    /// What the disk of this broker held.
    pub(crate) fn new(node_id: i32, stored: Vec<StoredPartition>) -> Self {
        Self {
            node_id,
            hosted: Vec::new(),
            free: Vec::new(),
            by_id: SlotsById::default(),
            by_log: BTreeMap::new(),
            stored: stored.into_iter().map(|stored| (stored.id, stored)).collect(),
            damaged: BTreeSet::new(),
            creating: BTreeMap::new(),
            promised: BTreeMap::new(),
            touched: BTreeSet::new(),
            in_flight: InFlight::default(),
            // The disk tells if it is full. Until it does, partitions may be served already.
            room_bytes: u64::MAX,
            events: Vec::new(),
            committed: Vec::new(),
        }
    }

    /// The council has committed this of a topic: its partitions that this broker leads live here from now on.
    ///
    /// # Errors
    /// What the disk holds of a partition cannot be used: it is not served, nor are those of the topic behind it until the
    /// topic is named again.
    pub(crate) fn topic_changed(&mut self, topic: &TopicImage) -> Result<(), (PartitionId, Damage)> {
        for (index, image) in (0..).zip(&topic.partitions) {
            let id = topic.partition(index);
            let is_wanted = image.leader == self.node_id || image.is_replicated();
            if !is_wanted || self.damaged.contains(&id) {
                continue;
            }
            if let Some(slot) = self.by_id.get(id) {
                if let Some(hosted) = self.get_mut(slot) {
                    hosted.partition.set_config(topic.config);
                    // It gets more replicas. It leads alone until its record says otherwise, and goes on from there.
                    hosted.is_replicated |= image.is_replicated();
                }
            } else if let Some(damage) = self.stored.get(&id).and_then(|stored| stored.damage) {
                self.damaged.insert(id);
                return Err((id, damage));
            } else if let Some(StoredPartition { log, partition: Some(mut partition), .. }) =
                self.stored.remove(&id)
            {
                partition.set_config(topic.config);
                if image.is_replicated() {
                    self.host_stored(id, log, partition, topic);
                } else if !self.host(id, log, partition, topic) {
                    self.damaged.insert(id);
                    return Err((id, Damage::Content("its leader epoch is above that of the council")));
                }
            } else if !image.is_replicated() && self.creating.insert(id, Arc::clone(&topic.name)).is_none() {
                self.in_flight.give(DiskCommand::Create(id, Offset::ZERO));
            }
        }
        Ok(())
    }

    /// Those of its partitions that live here act on what the topic says by now.
    pub(crate) fn configure(&mut self, topic: &TopicImage) {
        for index in (0..).take(topic.partitions.len()) {
            let slot = self.by_id.get(topic.partition(index));
            if let Some(hosted) = slot.and_then(|slot| self.get_mut(slot)) {
                hosted.partition.set_config(topic.config);
            }
        }
    }

    /// The topic is gone, with its records.
    pub(crate) fn drop_topic(&mut self, topic: &TopicImage) {
        for index in (0..).take(topic.partitions.len()) {
            let id = topic.partition(index);
            self.creating.remove(&id);
            let Some(slot) = self.by_id.remove(id) else { continue };
            let Some(gone) = self.hosted.get_mut(slot.0).and_then(Option::take) else { continue };
            self.by_log.remove(&gone.log);
            self.in_flight.give(DiskCommand::Drop(gone.log));
            self.in_flight.forget(slot);
            self.free.push(slot);
            self.events.push(PartitionEvent::Gone(slot));
        }
    }

    /// Something happened on the disk. `catalog` has the topics that there are by now.
    pub(crate) fn disk_event(&mut self, event: DiskEvent, catalog: &Catalog) {
        match event {
            DiskEvent::Created(id, log) => self.created(id, log, catalog),
            DiskEvent::Durable(commands) => self.durable(commands),
            DiskEvent::Early(commands) => self.early(&commands),
            DiskEvent::Written(log, end, cuts) => {
                if let Some(hosted) = self.by_log.get(&log).copied().and_then(|slot| self.get_mut(slot)) {
                    hosted.partition.written(end, cuts);
                }
            }
            DiskEvent::StatesAsked(logs) => {
                for log in logs {
                    if let Some(state) = self.state_of(log) {
                        self.in_flight.give(DiskCommand::State(log, state));
                    }
                }
            }
            DiskEvent::Room(bytes) => self.room_bytes = bytes,
            // It is the node's.
            DiskEvent::Volume(_) => {}
        }
    }

    /// Whether something has happened to partitions.
    pub(crate) const fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes what happened to partitions, in order.
    pub(crate) fn take_events(&mut self) -> Vec<PartitionEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was taken is done: its room is used again.
    pub(crate) fn give_room(&mut self, done: Vec<PartitionEvent>) {
        if self.events.is_empty() {
            self.events = done;
        }
    }

    /// Takes what the disk is to do, in order; `into` is empty and gives its room in exchange.
    pub(crate) fn take_disk_commands(&mut self, into: &mut Vec<DiskCommand>) {
        self.in_flight.take_commands(into);
    }

    fn is_replicated(&self, slot: Slot) -> bool {
        self.get(slot).is_some_and(|hosted| hosted.is_replicated)
    }

    /// Sends a batch that was appended to the disk.
    pub(crate) fn store(&mut self, slot: Slot, new: NewBatch, now: Now) {
        let Some(hosted) = self.get(slot) else { return };
        let (log, id, is_replicated) = (hosted.log, hosted.id, hosted.is_replicated);
        if is_replicated {
            self.touched.insert(id);
        }
        let (bytes, awaited) = (new.bytes.len(), Awaited::Batch(slot, new.persist));
        let NewBatch { at, end, bytes: batch, begun, commit, index, .. } = new;
        let append = Append { log, at, end, now: now.wall, begun, batch, commit, index };
        self.in_flight.give_awaited(DiskCommand::Append(append), bytes, awaited);
    }

    /// Old segments are dropped, and producers that were silent for too long. Gives what keeps segments from growing old.
    pub(crate) fn retain(&mut self, now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        for slot in (0..self.hosted.len()).map(Slot) {
            let Some(hosted) = self.get_mut(slot) else { continue };
            let future = hosted.partition.future_timestamp(now.wall).filter(|_| !hosted.is_future_told);
            if let Some(time) = future {
                hosted.is_future_told = true;
                notices.push(Notice::FutureTimestamp(hosted.id, time));
            }
            hosted.partition.expire_producers(now.wall);
            if let Some(new) = hosted.partition.retain(now.wall) {
                self.move_start(slot, new);
            }
        }
        notices
    }

    /// The partition that needs compaction most, of those that may be compacted, and what a pass over it has to know.
    pub(crate) fn neediest(
        &mut self,
        now: Now,
        map_bytes_max: usize,
        may_be: impl Fn(LogId) -> bool,
    ) -> Option<(LogId, PartitionId, CompactionJob)> {
        let mut neediest: Option<(Slot, CompactionNeed)> = None;
        for (at, hosted) in self.hosted.iter_mut().enumerate() {
            let Some(hosted) = hosted.as_mut().filter(|hosted| may_be(hosted.log)) else { continue };
            let Some(need) = hosted.partition.compaction_need(now.wall) else { continue };
            if neediest.is_none_or(|(_, other)| other.is_less_than(&need)) {
                neediest = Some((Slot(at), need));
            }
        }
        let hosted = self.get(neediest?.0)?;
        let job = hosted.partition.compaction_job(now.wall, map_bytes_max)?;
        Some((hosted.log, hosted.id, job))
    }

    /// Compaction has made a segment that takes the place of others, which it has read. Whether it does: the partition may have
    /// changed since.
    pub(crate) fn replace(&mut self, log: LogId, by: &Replacement, read: &[Segment]) -> bool {
        let Some(hosted) = self.by_log.get(&log).copied().and_then(|slot| self.get_mut(slot)) else {
            return false;
        };
        let partition = &mut hosted.partition;
        if partition.config().compaction.is_none()
            || !partition.is_of(by, read)
            || partition.replaced(by).is_err()
        {
            return false;
        }
        let (removed, added) = (by.removed.clone(), by.added.as_ref().map(Segment::id));
        self.in_flight.give(DiskCommand::Replace { log, change: by.to_bytes(), removed, added });
        true
    }

    /// The partition of a log that is served here.
    pub(crate) fn id_of(&self, log: LogId) -> Option<PartitionId> {
        self.by_log.get(&log).and_then(|slot| self.get(*slot)).map(|hosted| hosted.id)
    }

    /// Deletes the records of a partition before an offset, for a client; -1 stands for all that are committed. Gives the offset.
    ///
    /// # Errors
    /// As [`Partition::delete_records`].
    pub(crate) fn delete_records(&mut self, slot: Slot, before: Offset) -> Result<Offset, ErrorCode> {
        let hosted = self.get_mut(slot).ok_or(ErrorCode::NotLeaderOrFollower)?;
        let (before, new) = hosted.partition.delete_records(before)?;
        if let Some(new) = new {
            self.move_start(slot, new);
        }
        Ok(before)
    }

    /// Where a log begins for clients, if the records before that offset are deleted for good.
    pub(crate) fn low_watermark(&self, slot: Slot, deleted: Offset) -> Option<Offset> {
        self.get(slot)?.partition.low_watermark(deleted)
    }

    /// A log begins later than before. Its followers are told.
    fn move_start(&mut self, slot: Slot, new: NewStart) {
        let Some(hosted) = self.get(slot) else { return };
        let (log, id, is_replicated) = (hosted.log, hosted.id, hosted.is_replicated);
        if is_replicated {
            self.touched.insert(id);
        }
        let command = DiskCommand::Start(log, new.start, new.first_segment);
        self.in_flight.give_awaited(command, 0, Awaited::Start(slot, new.persist));
        self.events.push(PartitionEvent::StartMoved(slot));
    }

    /// The partition of a request, if it is served here.
    ///
    /// # Errors
    /// `UNKNOWN_TOPIC_OR_PARTITION`, `UNKNOWN_TOPIC_ID` or `NOT_LEADER_OR_FOLLOWER`.
    pub(crate) fn find(
        &self,
        catalog: &Catalog,
        topic: TopicName<'_>,
        index: i32,
    ) -> Result<(Slot, &Hosted), ErrorCode> {
        let image = catalog.find(topic)?;
        let partition = usize::try_from(index).ok().and_then(|index| image.partitions.get(index));
        let partition = partition.ok_or(ErrorCode::UnknownTopicOrPartition)?;
        if partition.leader != self.node_id {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let slot = self.by_id.get(image.partition(index));
        let found = slot.and_then(|slot| Some((slot, self.get(slot)?)));
        found.filter(|(_, hosted)| hosted.is_ready).ok_or(ErrorCode::NotLeaderOrFollower)
    }

    /// The partition of a request, if a copy here follows a leader: it votes, and is of the epoch that the leader leads. Gives the
    /// leader, too.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(crate) fn find_followed(
        &self,
        catalog: &Catalog,
        topic: TopicName<'_>,
        index: i32,
    ) -> Result<(Slot, &Hosted, i32), ErrorCode> {
        let topic = catalog.find(topic)?;
        let image = usize::try_from(index).ok().and_then(|index| topic.partitions.get(index));
        let image = image.ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let votes = image.replicas.contains(&self.node_id) && !image.rest.learners.contains(&self.node_id);
        let slot = self.by_id.get(topic.partition(index));
        let hosted = slot.and_then(|slot| Some((slot, self.get(slot)?))).filter(|_| votes);
        let (slot, hosted) = hosted.ok_or(ErrorCode::NotLeaderOrFollower)?;
        let leader = hosted.partition.leader().map(|(leader, _)| leader.0.cast_signed());
        let leader = leader.filter(|leader| *leader != self.node_id && *leader == image.leader);
        Ok((slot, hosted, leader.ok_or(ErrorCode::NotLeaderOrFollower)?))
    }

    /// Whether the lead of a partition moves of which a copy is here, and the record says this: it is handed over, this broker does
    /// not serve yet, or a replica has promised what no record says. Gives the epoch in which that comes to an end.
    pub(crate) fn moves(&self, id: PartitionId, image: &PartitionNode) -> Option<LeaderEpoch> {
        let hosted = self.by_id(id).filter(|_| image.is_replicated())?;
        let (is_named, promised) = (image.leader == self.node_id, hosted.partition.epoch());
        let is_moving = match is_named {
            true => !hosted.is_ready || hosted.is_paused,
            false => promised > image.epoch,
        };
        is_moving.then_some(promised.max(image.epoch))
    }

    /// Clients may append nothing to a partition for a while, or again.
    pub(crate) fn pause(&mut self, id: PartitionId, is_paused: bool) {
        let Some(slot) = self.slot_of(id) else { return };
        if let Some(hosted) = self.get_mut(slot) {
            hosted.is_paused = is_paused;
            self.events.extend((!is_paused).then_some(PartitionEvent::Resumed));
        }
    }

    /// Whether the partitions of a topic that are to be served here are served, but for those that cannot be.
    pub(crate) fn serves(&self, topic: &TopicImage) -> bool {
        (0..).zip(&topic.partitions).all(|(index, image)| {
            let id = topic.partition(index);
            let is_ready = || self.by_id(id).is_some_and(|hosted| hosted.is_ready);
            image.leader != self.node_id || self.damaged.contains(&id) || is_ready()
        })
    }

    /// A partition that lives here, be it served already or not.
    pub(crate) fn by_id(&self, id: PartitionId) -> Option<&Hosted> {
        self.get(self.by_id.get(id)?)
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&Hosted> {
        self.hosted.get(slot.0).and_then(Option::as_ref)
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut Hosted> {
        self.hosted.get_mut(slot.0).and_then(Option::as_mut)
    }

    /// Whether a batch of so many bytes finds room on the disk.
    ///
    /// # Errors
    /// `KAFKA_STORAGE_ERROR`.
    pub(crate) fn check_room(&self, bytes: usize) -> Result<(), ErrorCode> {
        let room = self.room_bytes.saturating_sub(self.unflushed_bytes() as u64);
        if (bytes as u64) <= room { Ok(()) } else { Err(ErrorCode::KafkaStorageError) }
    }

    /// All that live here.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Hosted> {
        self.hosted.iter().flatten()
    }

    /// Bytes of batches that are appended and not durable.
    pub(crate) const fn unflushed_bytes(&self) -> usize {
        self.in_flight.bytes()
    }

    /// How many partitions on the disk there are whose topics the council does not know.
    pub(crate) fn unclaimed(&self, catalog: &Catalog) -> usize {
        self.stored.keys().filter(|id| catalog.find(TopicName::Id(id.topic)).is_err()).count()
    }

    /// The state of a partition that lives here, or that nobody has asked for yet.
    fn state_of(&self, log: LogId) -> Option<State> {
        if let Some(hosted) = self.by_log.get(&log).and_then(|slot| self.get(*slot)) {
            return Some(hosted.partition.state());
        }
        let stored = self.stored.values().find(|stored| stored.log == log)?;
        stored.partition.as_ref().map(Partition::state)
    }

    fn created(&mut self, id: PartitionId, log: LogId, catalog: &Catalog) {
        let Some(name) = self.creating.remove(&id) else { return };
        let topic = catalog.find(TopicName::Name(&name)).ok().filter(|topic| topic.id == id.topic);
        match topic {
            Some(topic) => match self.promised.remove(&id) {
                Some(promised) => self.made(id, log, promised, topic),
                None => drop(self.host(id, log, Partition::new(topic.config, Offset::ZERO), topic)),
            },
            // It was deleted meanwhile.
            None => self.in_flight.give(DiskCommand::Drop(log)),
        }
    }

    /// A partition lives here from now on. It is served once the beginning of its leader epoch is durable. Gives whether it may
    /// lead under the epoch that the council says.
    fn host(&mut self, id: PartitionId, log: LogId, mut partition: Partition, topic: &TopicImage) -> bool {
        let image = usize::try_from(id.index).ok().and_then(|index| topic.partitions.get(index));
        let Some(epoch) = image.map(|image| image.epoch) else { return false };
        let Ok(broker) = u32::try_from(self.node_id).map(ReplicaId) else { return false };
        let Ok(began) = partition.lead_alone(broker, epoch) else { return false };
        partition.set_seed(seed_of(id));
        let slot = self.place(Hosted::new(id, &topic.name, log, partition, false));
        let command = DiskCommand::Epoch(log, began.promised, began.begins);
        self.in_flight.give_awaited(command, 0, Awaited::Epoch(slot, began.persist));
        true
    }

    /// It has a place from now on.
    fn place(&mut self, hosted: Hosted) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.hosted.push(None);
            Slot(self.hosted.len() - 1)
        });
        self.by_id.insert(hosted.id, slot);
        self.by_log.insert(hosted.log, slot);
        if let Some(place) = self.hosted.get_mut(slot.0) {
            *place = Some(hosted);
        }
        slot
    }

    /// The newest leader epochs of the partitions of a topic that the disk has and that are not served yet, by number.
    pub(crate) fn stored_epochs(&self, topic: &TopicImage) -> BTreeMap<i32, LeaderEpoch> {
        let of = |index: i32| {
            let stored = self.stored.get(&topic.partition(index))?;
            Some((index, stored.partition.as_ref()?.epoch()))
        };
        (0..).take(topic.partitions.len()).filter_map(of).collect()
    }

    /// Commits what is durable.
    fn durable(&mut self, commands: u64) {
        let mut committed = std::mem::take(&mut self.committed);
        while let Some((awaited, bytes)) = self.in_flight.next_durable(commands) {
            self.happened(awaited, bytes, &mut committed);
        }
        self.tell_committed(committed);
    }

    /// Commits what counts as committed before it is durable.
    fn early(&mut self, commands: &[u64]) {
        let mut committed = std::mem::take(&mut self.committed);
        for command in commands {
            if let Some((awaited, bytes)) = self.in_flight.take_early(*command) {
                self.happened(awaited, bytes, &mut committed);
            }
        }
        self.tell_committed(committed);
    }

    fn tell_committed(&mut self, mut committed: Vec<(Slot, usize)>) {
        let events = committed.drain(..).map(|(slot, bytes)| PartitionEvent::Committed(slot, bytes));
        self.events.extend(events);
        self.committed = committed;
    }

    /// What a command stands for has happened. Batches of a partition that follow each other are told together.
    fn happened(&mut self, awaited: Awaited, bytes: usize, committed: &mut Vec<(Slot, usize)>) {
        match awaited {
            Awaited::Batch(slot, persist)
            | Awaited::Replica(slot, persist)
            | Awaited::Start(slot, persist)
                if self.is_replicated(slot) =>
            {
                self.copy_persisted(slot, persist);
            }
            Awaited::Batch(slot, persist) => {
                let Some(hosted) = self.get_mut(slot) else { return };
                let readable = commit(&mut hosted.partition, persist, bytes);
                match committed.last_mut() {
                    Some((last, sum)) if *last == slot => *sum = sum.saturating_add(readable),
                    _ => committed.push((slot, readable)),
                }
            }
            // It has got several replicas meanwhile.
            Awaited::Epoch(slot, persist) if self.is_replicated(slot) => self.copy_persisted(slot, persist),
            Awaited::Epoch(slot, persist) => {
                if let Some(hosted) = self.get_mut(slot) {
                    hosted.partition.persisted(persist);
                    hosted.is_ready = true;
                    self.events.push(PartitionEvent::Ready(slot));
                }
            }
            Awaited::Start(slot, persist) => {
                if let Some(hosted) = self.get_mut(slot) {
                    hosted.partition.persisted(persist);
                    self.events.push(PartitionEvent::StartMoved(slot));
                }
            }
            Awaited::Made(slot, persist) => {
                self.copy_persisted(slot, persist);
                let made = self.get(slot).map(|hosted| (hosted.id, hosted.partition.epoch()));
                self.events.extend(made.map(|(id, promised)| PartitionEvent::Made(id, promised)));
            }
            // It has one replica since. What it needs to serve may have been on its way to the disk.
            Awaited::Replica(slot, persist) => self.copy_persisted(slot, persist),
            Awaited::Gone => {}
        }
    }
}

/// A number that is no other partition's.
fn seed_of(id: PartitionId) -> u64 {
    let (words, _) = id.topic.as_chunks::<8>();
    words.iter().fold(u64::from(id.index.cast_unsigned()), |seed, word| seed ^ u64::from_le_bytes(*word))
}

/// What has that number in a partition is durable: a batch of so many bytes. Gives how many more can be read.
fn commit(partition: &mut Partition, persist: PersistId, bytes: usize) -> usize {
    let undecided = |partition: &Partition| partition.high_watermark().0 - partition.last_stable().0;
    let before = undecided(partition);
    partition.persisted(persist);
    if undecided(partition) < before { usize::MAX } else { bytes }
}
