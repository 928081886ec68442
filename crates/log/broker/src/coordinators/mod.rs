//! Coordinators that live here: one for each partition of an internal topic that this broker leads.
//!
//! A coordinator is a deterministic machine. It first reads its partition; until then it answers that it is loading. Its records
//! are appended like those of a client, and it hears when they are committed. This module knows no group and no transaction.

mod calls;
mod load;
mod machine;
mod topic;

use std::collections::{BTreeMap, VecDeque};

use base::Now;
use log_coordinators::{Record, Seq};
use log_partition::{Isolation, Offset, Source};
use log_wire::{Attributes, BatchBuilder, ErrorCode, Producer};
use replication_appointed::Round;

use crate::catalog::Catalog;
use crate::node::Node;
use crate::partitions::Slot;
use crate::segment_reader::SegmentFault;
pub(crate) use calls::{Calls, Parts};
pub use load::CoordinatorLoad;
pub(crate) use load::LoadOf;
use load::{Unreadable, Wanted, load_batches};
pub(crate) use machine::Machine;
use machine::Sorted;
pub(crate) use topic::{InternalTopic, OFFSETS, SHARE_STATE, TRANSACTIONS};

/// How many bytes of a partition are read at once by its coordinator.
const LOAD_BYTES: usize = 1 << 20;

/// A coordinator, and its records that are not committed.
#[derive(Debug)]
struct Coordination<M: Machine> {
    machine: M,
    /// Where its partition lives.
    slot: Slot,
    appends: VecDeque<(Seq, Offset)>,
    /// How far it has read its partition, while it reads.
    loading: Option<Offset>,
    /// The newest round in which it was asked whether the partition is still led here.
    asked: Option<Round>,
    /// What waits for such a round, in order.
    held: VecDeque<(Option<Round>, M::Effect)>,
}

/// The coordinators of one internal topic. See the module.
#[derive(Debug)]
pub(crate) struct Coordinators<M: Machine> {
    topic: &'static InternalTopic,
    by_partition: BTreeMap<i32, Coordination<M>>,
}

impl<M: Machine> Coordinators<M> {
    /// Of that internal topic.
    pub(crate) const fn new(topic: &'static InternalTopic) -> Self {
        Self { topic, by_partition: BTreeMap::new() }
    }

    /// Makes the internal topic if it is not there.
    pub(crate) fn make_topic(&self, node: &mut Node) {
        self.topic.make(node);
    }

    /// The partition whose coordinator a group or transactional id has, if that lives here.
    ///
    /// # Errors
    /// `NOT_COORDINATOR`, or `COORDINATOR_NOT_AVAILABLE` while the internal topic is being made.
    pub(crate) fn here(&self, catalog: &Catalog, key: &str) -> Result<i32, ErrorCode> {
        let partition = self.topic.partition_of(catalog, key).ok_or(ErrorCode::CoordinatorNotAvailable)?;
        let is_here = self.by_partition.contains_key(&partition);
        if is_here { Ok(partition) } else { Err(ErrorCode::NotCoordinator) }
    }

    /// The broker that coordinates a group or a transactional id.
    ///
    /// # Errors
    /// `COORDINATOR_NOT_AVAILABLE`: there is none at the moment.
    pub(crate) fn broker_of(&self, node: &Node, key: &str) -> Result<i32, ErrorCode> {
        let catalog = &node.catalog;
        let partition = self.topic.partition_of(catalog, key).ok_or(ErrorCode::CoordinatorNotAvailable)?;
        let leader = self.topic.leader_of(catalog, partition).ok_or(ErrorCode::CoordinatorNotAvailable)?;
        let is_there = match leader == node.config.node_id {
            true => self.by_partition.contains_key(&partition),
            false => !node.brokers.has_lost(leader),
        };
        if is_there { Ok(leader) } else { Err(ErrorCode::CoordinatorNotAvailable) }
    }

    /// The number of a partition of the internal topic that lives in that slot.
    pub(crate) fn partition_in(&self, node: &Node, slot: Slot) -> Option<i32> {
        let hosted = node.partitions.get(slot)?;
        (*hosted.topic == *self.topic.name).then_some(hosted.id.index)
    }

    /// A partition of the internal topic is served here: its coordinator begins to read it.
    pub(crate) fn begin(&mut self, node: &Node, slot: Slot, machine: M) {
        let Some(hosted) = node.partitions.get(slot) else { return };
        let loading = Some(hosted.partition.start());
        let (appends, held) = (VecDeque::new(), VecDeque::new());
        let coordination = Coordination { machine, slot, appends, loading, asked: None, held };
        self.by_partition.insert(hosted.id.index, coordination);
    }

    /// The partition in that slot is gone, with its coordinator. Gives which one that was, and what is left to be done.
    pub(crate) fn gone(&mut self, slot: Slot) -> Option<(i32, Vec<M::Effect>)> {
        let (partition, _) = self.by_partition.iter().find(|(_, of)| of.slot == slot)?;
        let partition = *partition;
        let of = self.by_partition.remove(&partition)?;
        let held = of.held.into_iter().filter_map(|(_, effect)| M::withdraw(effect));
        Some((partition, held.chain(of.machine.resign()).collect()))
    }

    /// What a coordinator wants to read next. It is answered with [`Self::loaded`].
    pub(crate) fn next_load(&self, node: &Node, of: LoadOf) -> Option<CoordinatorLoad> {
        self.by_partition.iter().find_map(|(partition, coordination)| {
            let from = coordination.loading?;
            let hosted = node.partitions.get(coordination.slot)?;
            let read = hosted.partition.read(from, Isolation::ReadUncommitted, LOAD_BYTES);
            let source = read.map_or(Source::Nothing, |read| read.source);
            let what = Wanted::Batches(source);
            Some(CoordinatorLoad { of, partition: *partition, id: hosted.id, from, what })
        })
    }

    /// A coordinator gets batches of its partition. None mean that it has read all. One that cannot read them does not serve:
    /// it goes on to answer that it is loading. What another thread has read for it meanwhile counts for nothing. If their
    /// segment is gone, another one has them by now.
    pub(crate) fn loaded(
        &mut self,
        node: &Node,
        load: &CoordinatorLoad,
        read: Result<Vec<u8>, SegmentFault>,
        now: Now,
    ) {
        let Some(coordination) = self.by_partition.get_mut(&load.partition) else { return };
        let lives = node.partitions.get(coordination.slot).is_some_and(|hosted| hosted.id == load.id);
        if !lives || coordination.loading != Some(load.from) {
            return;
        }
        let loaded = match read {
            Ok(bytes) => load_batches(&mut coordination.machine, &bytes),
            Err(SegmentFault::Gone) => return,
            Err(_) => Err(Unreadable),
        };
        match loaded {
            Ok(Some(end)) => coordination.loading = Some(end),
            Ok(None) => {
                coordination.loading = None;
                coordination.machine.loaded(now);
            }
            Err(Unreadable) => coordination.loading = None,
        }
    }

    /// Takes what a coordinator wants done besides its appends, which are made, in order. What it tells from memory comes once it is
    /// known that it still was the coordinator when it did: it may have been stopped for a while, and have a successor. Says also
    /// whether it has appended something.
    pub(crate) fn take_effects(
        &mut self,
        node: &mut Node,
        partition: i32,
        now: Now,
    ) -> (Vec<M::Effect>, bool) {
        let mut has_appended = false;
        while let Some(of) = self.by_partition.get_mut(&partition) {
            let effects = of.machine.take_effects();
            if effects.is_empty() {
                break;
            }
            let mut appends = true;
            for effect in effects {
                match M::sort(effect) {
                    Sorted::Append(seq, records) => {
                        appends = appends && self.append(node, partition, (seq, &records), now);
                        has_appended |= appends;
                    }
                    Sorted::Confirm => self.confirm(node, partition),
                    Sorted::Other(effect) => self.hold(partition, effect),
                }
            }
        }
        (self.release(node, partition), has_appended)
    }

    /// Asks whether the partition is still led here.
    fn confirm(&mut self, node: &mut Node, partition: i32) {
        if let Some(of) = self.by_partition.get_mut(&partition) {
            of.asked = node.partitions.confirm(of.slot);
        }
    }

    fn hold(&mut self, partition: i32, effect: M::Effect) {
        if let Some(of) = self.by_partition.get_mut(&partition) {
            of.held.push_back((of.asked, effect));
        }
    }

    /// What waits no more.
    fn release(&mut self, node: &Node, partition: i32) -> Vec<M::Effect> {
        let Some(of) = self.by_partition.get_mut(&partition) else { return Vec::new() };
        let (slot, mut released) = (of.slot, Vec::new());
        let may = |(round, _): &mut (Option<Round>, M::Effect)| {
            round.is_none_or(|round| node.partitions.is_confirmed(slot, round))
        };
        while let Some((_, effect)) = of.held.pop_front_if(may) {
            released.push(effect);
        }
        released
    }

    /// Appends records of a coordinator as one batch, and tells it if that is refused. Says whether they were appended: if not,
    /// appends that it asked for behind this one must not be done.
    #[must_use]
    fn append(
        &mut self,
        node: &mut Node,
        partition: i32,
        (seq, records): (Seq, &[Record]),
        now: Now,
    ) -> bool {
        let Some(coordination) = self.by_partition.get_mut(&partition) else { return false };
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        for record in records {
            builder.push(now.wall.ms(), Some(&record.key), record.value.as_deref(), &[]);
        }
        let room = node.partitions.check_room(builder.len());
        let hosted = node.partitions.get_mut(coordination.slot).ok_or(ErrorCode::NotLeaderOrFollower);
        let new = room.and(hosted).and_then(|hosted| hosted.partition.append_own(builder.finish(), now.wall));
        match new {
            Ok(new) => {
                coordination.appends.push_back((seq, new.end));
                node.store(coordination.slot, new, now);
                true
            }
            Err(_) => {
                coordination.machine.refused(seq, now);
                false
            }
        }
    }

    /// Records of the partition in that slot are committed: its coordinator hears of its own. Gives which one that is.
    pub(crate) fn committed(&mut self, node: &Node, slot: Slot, now: Now) -> Option<i32> {
        let partition = self.partition_in(node, slot)?;
        let committed = node.partitions.get(slot)?.partition.high_watermark();
        let coordination = self.by_partition.get_mut(&partition)?;
        while let Some((seq, _)) = coordination.appends.pop_front_if(|(_, end)| *end <= committed) {
            coordination.machine.persisted(seq, now);
        }
        Some(partition)
    }

    /// Time passes for those that wait for it. Gives which these are.
    pub(crate) fn tick(&mut self, now: Now) -> Vec<i32> {
        let is_due = |machine: &M| machine.next_deadline().is_some_and(|at| at <= now.mono());
        let due = self.by_partition.iter_mut().filter(|(_, coordination)| is_due(&coordination.machine));
        due.map(|(partition, coordination)| {
            coordination.machine.tick(now);
            *partition
        })
        .collect()
    }

    /// The coordinator of a group or transactional id, if it lives here.
    pub(crate) fn of_key(&mut self, catalog: &Catalog, key: &str) -> Option<&mut M> {
        let partition = self.topic.partition_of(catalog, key)?;
        self.get_mut(partition)
    }

    pub(crate) fn get_mut(&mut self, partition: i32) -> Option<&mut M> {
        self.by_partition.get_mut(&partition).map(|coordination| &mut coordination.machine)
    }

    pub(crate) fn get(&self, partition: i32) -> Option<&M> {
        self.by_partition.get(&partition).map(|coordination| &coordination.machine)
    }

    /// All that live here.
    pub(crate) fn machines(&self) -> impl Iterator<Item = &M> {
        self.by_partition.values().map(|coordination| &coordination.machine)
    }

    /// The partitions whose coordinators live here.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = i32> {
        self.by_partition.keys().copied()
    }
}
