//! The broker: the partitions that live here, and the requests that wait for them.
//!
//! One for all threads that serve connections: a thread has it for itself for the requests of one turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use base::{MonoTime, Now};
use log_partition::{
    Damage, NewBatch, NewStart, Offset, Partition, PartitionConfig, PartitionId, StoredBatch, Tables,
};
use log_storage::Append;
use log_wire::{ErrorCode, TopicName};
use storage_wal::LogId;

use crate::catalog::{Catalog, TopicImage};
use crate::catalog_command::CatalogCommand;
use crate::config::BrokerConfig;
use crate::coordination::Coordination;
use crate::disk_work::{DiskCommand, DiskEvent, StoredPartition};
use crate::group_call::GroupCall;
use crate::hosted::Hosted;
use crate::pending_fetch::PendingFetch;
use crate::pending_produce::PendingProduce;
use crate::pending_topics::PendingTopics;
use crate::producer_ids::ProducerIds;
use crate::response::Response;
use crate::waits::{Waiter, Waits};

/// See the module.
#[derive(Debug)]
pub struct Broker {
    pub(crate) config: BrokerConfig,
    pub(crate) cluster_id: String,
    pub(crate) catalog: Catalog,
    pub(crate) hosted: Vec<Option<Hosted>>,
    by_id: BTreeMap<PartitionId, usize>,
    by_log: BTreeMap<LogId, usize>,
    /// Partitions that were on the disk at the start, and whose topics the council has not named yet.
    stored: BTreeMap<PartitionId, StoredPartition>,
    /// Partitions of which the disk holds something that cannot be used: they are not served, and nothing is made in their
    /// place.
    damaged: BTreeSet<PartitionId>,
    /// Partitions whose logs are being created.
    creating: BTreeMap<PartitionId, Arc<str>>,
    commands: Vec<DiskCommand>,
    /// How many commands were given.
    given: u64,
    /// What commits when so many commands are durable.
    in_flight: VecDeque<(u64, InFlight)>,
    unflushed_bytes: usize,
    /// Bytes of batches for which the disk has room.
    room_bytes: u64,
    pub(crate) catalog_commands: Vec<CatalogCommand>,
    pub(crate) produces: Waits<PendingProduce>,
    pub(crate) fetches: Waits<PendingFetch>,
    pub(crate) topic_calls: Waits<PendingTopics>,
    /// What holds for topics that do not say otherwise.
    pub(crate) topic_defaults: PartitionConfig,
    pub(crate) producer_ids: ProducerIds,
    /// Group coordinators, by the partitions of the internal topic.
    pub(crate) groups: BTreeMap<i32, Coordination>,
    /// Requests whose parts are with coordinators, and which part of which request each ticket stands for.
    pub(crate) group_calls: BTreeMap<u64, GroupCall>,
    pub(crate) group_tickets: BTreeMap<u64, (u64, usize)>,
    next_ticket: u64,
    pub(crate) done: Vec<(Waiter, Response)>,
    retention_due: MonoTime,
}

/// What a command stands for once it is durable.
#[derive(Clone, Copy, Debug)]
enum InFlight {
    /// Batches of a partition up to that offset, so many bytes.
    Batch(usize, Offset, usize),
    /// The beginning of a leader epoch.
    Epoch(usize),
}

/// How often retention is looked after, milliseconds: `log.retention.check.interval.ms`.
const RETENTION_MS: u64 = 300_000;

impl Broker {
    /// A broker with what its disk held.
    #[must_use]
    pub fn new(
        config: BrokerConfig,
        topic_defaults: PartitionConfig,
        cluster_id: String,
        stored: Vec<StoredPartition>,
    ) -> Self {
        Self {
            config,
            cluster_id,
            catalog: Catalog::default(),
            hosted: Vec::new(),
            by_id: BTreeMap::new(),
            by_log: BTreeMap::new(),
            stored: stored.into_iter().map(|stored| (stored.id, stored)).collect(),
            damaged: BTreeSet::new(),
            creating: BTreeMap::new(),
            commands: Vec::new(),
            given: 0,
            in_flight: VecDeque::new(),
            unflushed_bytes: 0,
            room_bytes: 0,
            catalog_commands: Vec::new(),
            produces: Waits::default(),
            fetches: Waits::default(),
            topic_calls: Waits::default(),
            topic_defaults,
            producer_ids: ProducerIds::default(),
            groups: BTreeMap::new(),
            group_calls: BTreeMap::new(),
            group_tickets: BTreeMap::new(),
            next_ticket: 0,
            done: Vec::new(),
            retention_due: MonoTime::ZERO,
        }
    }

    /// The council has committed this of a topic.
    ///
    /// # Errors
    /// What the disk holds of a partition cannot be used: it is not served, nor are those of the topic behind it until the
    /// topic is named again.
    pub fn topic_changed(&mut self, topic: TopicImage) -> Result<(), (PartitionId, Damage)> {
        if let Some(before) = self.catalog.put(topic.clone()).filter(|before| before.id != topic.id) {
            self.drop_partitions(&before);
        }
        for (index, image) in (0..).zip(&topic.partitions) {
            let id = topic.partition(index);
            if image.leader != self.config.node_id || self.damaged.contains(&id) {
                continue;
            }
            if let Some(at) = self.by_id.get(&id).copied() {
                self.set_config(at, topic.config);
            } else if let Some(stored) = self.stored.remove(&id) {
                let restored = restore(topic.config, &stored);
                let (partition, start) = restored.map_err(|damage| {
                    self.damaged.insert(id);
                    (id, damage)
                })?;
                if let Some(NewStart { start, first_segment }) = start {
                    self.command(DiskCommand::Start(stored.log, start, first_segment));
                }
                self.host(id, Arc::clone(&topic.name), stored.log, partition, &topic);
            } else if self.creating.insert(id, Arc::clone(&topic.name)).is_none() {
                self.command(DiskCommand::Create(id, Offset::ZERO));
            }
        }
        Ok(())
    }

    /// The topic is gone, with its records.
    pub fn topic_deleted(&mut self, name: &str) {
        if let Some(gone) = self.catalog.remove(name) {
            self.drop_partitions(&gone);
        }
    }

    /// Every topic of the council was named. Gives the partitions on the disk whose topics it does not know. They are kept: a
    /// council may have been brought back from a backup that is older than they are.
    #[must_use]
    pub fn catalog_complete(&self) -> Vec<PartitionId> {
        self.stored.keys().copied().collect()
    }

    /// Takes what the disk is to do, in order.
    pub fn take_disk_commands(&mut self) -> Vec<DiskCommand> {
        std::mem::take(&mut self.commands)
    }

    /// Takes what the council is asked for.
    pub fn take_catalog_commands(&mut self) -> Vec<CatalogCommand> {
        std::mem::take(&mut self.catalog_commands)
    }

    /// Takes answers to requests that waited.
    pub fn take_done(&mut self) -> Vec<(Waiter, Response)> {
        std::mem::take(&mut self.done)
    }

    /// Something happened on the disk.
    pub fn disk_event(&mut self, event: DiskEvent, now: Now) {
        match event {
            DiskEvent::Created(id, log) => self.created(id, log),
            DiskEvent::Durable(commands) => self.durable(commands, now),
            DiskEvent::Written(log, end) => {
                if let Some(hosted) = self.of_log(log) {
                    hosted.partition.written(end);
                }
            }
            DiskEvent::StatesAsked(logs) => {
                for log in logs {
                    if let Some(state) = self.state_of(log) {
                        self.command(DiskCommand::State(log, state));
                    }
                }
            }
            DiskEvent::Room(bytes) => self.room_bytes = bytes,
        }
    }

    /// Time passes.
    pub fn tick(&mut self, now: Now) {
        self.expire_produces(now);
        self.expire_fetches(now);
        self.expire_topic_calls(now);
        self.tick_groups(now);
        if self.retention_due <= now.mono() {
            self.retention_due = now.mono().plus_ms(RETENTION_MS);
            for at in 0..self.hosted.len() {
                self.retain(at, now);
            }
        }
    }

    /// When to call [`Self::tick`], if nothing happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        [self.produces.next_deadline(), self.fetches.next_deadline()].into_iter().flatten().min()
    }

    /// A connection is gone: nothing waits for it any more.
    pub fn disconnected(&mut self, shard: u16, conn: net_event_loop::ConnId) {
        let own = |waiter: &Waiter| waiter.shard == shard && waiter.conn == conn;
        for ticket in self.fetches.find(|fetch| own(&fetch.waiter)) {
            self.fetches.remove(ticket);
        }
        for ticket in self.produces.find(|produce| own(&produce.waiter)) {
            self.produces.remove(ticket);
        }
        for ticket in self.topic_calls.find(|call| own(&call.waiter)) {
            self.topic_calls.remove(ticket);
        }
        self.group_calls.retain(|_, call| !own(&call.waiter));
        self.done.retain(|(waiter, _)| !own(waiter));
    }

    /// Whether so much is on its way to the disk that no more should be read from producers.
    #[must_use]
    pub const fn is_congested(&self) -> bool {
        self.unflushed_bytes > self.config.unflushed_bytes_max
    }

    /// The partition of a request, if it is served here.
    pub(crate) fn find(&self, topic: TopicName<'_>, index: i32) -> Result<(usize, PartitionId), ErrorCode> {
        let image = self.catalog.find(topic)?;
        let partition = usize::try_from(index).ok().and_then(|index| image.partitions.get(index));
        let partition = partition.ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let id = image.partition(index);
        if partition.leader != self.config.node_id {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let at = self.by_id.get(&id).copied().ok_or(ErrorCode::NotLeaderOrFollower)?;
        let is_ready = self.hosted.get(at).and_then(Option::as_ref).is_some_and(|hosted| hosted.is_ready);
        if is_ready { Ok((at, id)) } else { Err(ErrorCode::NotLeaderOrFollower) }
    }

    pub(crate) fn hosted(&self, at: usize) -> Option<&Hosted> {
        self.hosted.get(at).and_then(Option::as_ref)
    }

    pub(crate) fn hosted_mut(&mut self, at: usize) -> Option<&mut Hosted> {
        self.hosted.get_mut(at).and_then(Option::as_mut)
    }

    pub(crate) const fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// Whether a batch of so many bytes finds room on the disk.
    ///
    /// # Errors
    /// `KAFKA_STORAGE_ERROR`.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), ErrorCode> {
        let room = self.room_bytes.saturating_sub(self.unflushed_bytes as u64);
        if (bytes as u64) < room { Ok(()) } else { Err(ErrorCode::KafkaStorageError) }
    }

    /// Sends a batch that was appended to the disk.
    pub(crate) fn store(&mut self, at: usize, new: NewBatch, now: Now) {
        let Some(log) = self.hosted(at).map(|hosted| hosted.log) else { return };
        let bytes = new.bytes.len();
        let append = Append { log, at: new.at, end: new.end, now: now.wall, batch: new.bytes };
        self.unflushed_bytes += bytes;
        let number = self.command(DiskCommand::Append(append));
        self.in_flight.push_back((number, InFlight::Batch(at, new.end, bytes)));
    }

    /// Gives a command, and its number.
    fn command(&mut self, command: DiskCommand) -> u64 {
        self.commands.push(command);
        self.given += 1;
        self.given
    }

    /// The tables of a partition that lives here, or that nobody has asked for yet.
    fn state_of(&mut self, log: LogId) -> Option<Vec<u8>> {
        if let Some(hosted) = self.of_log(log) {
            return Some(hosted.partition.tables().to_bytes());
        }
        let stored = self.stored.values().find(|stored| stored.log == log)?;
        let (partition, _) = restore(self.topic_defaults, stored).ok()?;
        Some(partition.tables().to_bytes())
    }

    fn of_log(&mut self, log: LogId) -> Option<&mut Hosted> {
        let at = *self.by_log.get(&log)?;
        self.hosted_mut(at)
    }

    fn set_config(&mut self, at: usize, config: PartitionConfig) {
        if let Some(hosted) = self.hosted_mut(at) {
            hosted.partition.set_config(config);
        }
    }

    fn created(&mut self, id: PartitionId, log: LogId) {
        let Some(name) = self.creating.remove(&id) else { return };
        let topic =
            self.catalog.find(TopicName::Name(&name)).ok().filter(|topic| topic.id == id.topic).cloned();
        match topic {
            Some(topic) => {
                let partition = Partition::new(topic.config, Offset::ZERO);
                self.host(id, name, log, partition, &topic);
            }
            // It was deleted meanwhile.
            None => drop(self.command(DiskCommand::Drop(log))),
        }
    }

    /// A partition lives here from now on. It is served once the beginning of its leader epoch is durable.
    fn host(
        &mut self,
        id: PartitionId,
        name: Arc<str>,
        log: LogId,
        mut partition: Partition,
        topic: &TopicImage,
    ) {
        let image = usize::try_from(id.index).ok().and_then(|index| topic.partitions.get(index));
        if let Some(image) = image {
            partition.lead(image.epoch);
        }
        let state = partition.tables().to_bytes();
        let (produces, fetches) = (VecDeque::new(), Vec::new());
        let hosted = Hosted { id, topic: name, log, partition, produces, fetches, is_ready: false };
        let free = self.hosted.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.hosted.push(None);
            self.hosted.len() - 1
        });
        if let Some(place) = self.hosted.get_mut(at) {
            *place = Some(hosted);
        }
        self.by_id.insert(id, at);
        self.by_log.insert(log, at);
        let number = self.command(DiskCommand::State(log, state));
        self.in_flight.push_back((number, InFlight::Epoch(at)));
    }

    fn drop_partitions(&mut self, topic: &TopicImage) {
        for index in (0..).take(topic.partitions.len()) {
            let id = topic.partition(index);
            self.creating.remove(&id);
            let Some(at) = self.by_id.remove(&id) else { continue };
            let Some(gone) = self.hosted.get_mut(at).and_then(Option::take) else { continue };
            self.by_log.remove(&gone.log);
            self.command(DiskCommand::Drop(gone.log));
            for (_, waits) in &mut self.in_flight {
                if let InFlight::Batch(of, ..) | InFlight::Epoch(of) = waits
                    && *of == at
                {
                    *of = usize::MAX;
                }
            }
            for batch in &gone.produces {
                self.fail_produce(*batch, ErrorCode::UnknownTopicOrPartition);
            }
            for ticket in gone.fetches {
                self.answer_fetch(ticket);
            }
        }
    }

    /// Commits what is durable, and answers who waited for it.
    fn durable(&mut self, commands: u64, now: Now) {
        let mut touched = Vec::new();
        while let Some((_, what)) = self.in_flight.pop_front_if(|(number, _)| *number <= commands) {
            match what {
                InFlight::Batch(at, end, bytes) => {
                    self.unflushed_bytes -= bytes;
                    if let Some(hosted) = self.hosted_mut(at) {
                        hosted.partition.committed(end);
                        if touched.last() != Some(&at) {
                            touched.push(at);
                        }
                    }
                }
                InFlight::Epoch(at) => {
                    if let Some(hosted) = self.hosted_mut(at) {
                        hosted.is_ready = true;
                    }
                    self.begin_coordinator(at);
                }
            }
        }
        for at in touched {
            self.answer_produces(at);
            self.answer_fetches(at);
            self.committed_of_group(at, now);
        }
    }

    fn retain(&mut self, at: usize, now: Now) {
        let Some(hosted) = self.hosted_mut(at) else { return };
        hosted.partition.expire_producers(now.wall);
        if let Some(new) = hosted.partition.retain(now.wall) {
            let log = hosted.log;
            self.command(DiskCommand::Start(log, new.start, new.first_segment));
        }
    }
}

/// A partition from what the disk held, and where its log begins if segments before that were left behind.
fn restore(
    config: PartitionConfig,
    stored: &StoredPartition,
) -> Result<(Partition, Option<NewStart>), Damage> {
    let tables = stored.state.as_deref().map(Tables::of_bytes).transpose()?;
    let tables = tables.unwrap_or_else(|| Tables::new(Offset::ZERO));
    let batches = stored.batches.iter().map(|batch| StoredBatch {
        at: batch.at,
        now: batch.now,
        is_behind_tables: batch.is_behind_state,
        is_written: batch.is_written,
        bytes: &batch.batch,
    });
    let mut partition = Partition::restore(config, tables, stored.segments.clone(), batches)?;
    let start = stored.start.unwrap_or(Offset::ZERO).max(partition.start());
    let new = partition.truncate_start(start);
    let leftovers = stored.segments.first().is_some_and(|first| first.base() < new.first_segment);
    Ok((partition, leftovers.then_some(new)))
}
