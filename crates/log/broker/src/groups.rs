//! The group coordinators that live here: one for each partition of the internal topic that this broker leads.
//!
//! A coordinator first reads its partition. Its records are appended like those of a client, and it hears when they are
//! committed.

use std::collections::{BTreeMap, VecDeque};

use base::Now;
use log_coordinators::{Answer, Effect, GroupCoordinator, Record, Request, Seq, Ticket};
use log_partition::{Isolation, Read, Source};
use log_wire::{Attributes, BatchBuilder, ErrorCode, Producer, TopicName};

use crate::broker::Broker;
use crate::catalog::NewTopic;
use crate::catalog_command::CatalogCommand;
use crate::coordination::{Coordination, GroupLoad, Unreadable, load_batches};
use crate::group_call::GroupCall;

/// The internal topic of groups.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// How many bytes of a partition are read at once by its coordinator.
const LOAD_BYTES: usize = 1 << 20;

impl Broker {
    /// The partition of the internal topic that coordinates a group, if that is known: as Kafka chooses it.
    pub(crate) fn coordinator_of(&self, group: &str) -> Option<i32> {
        let topic = self.catalog.find(TopicName::Name(OFFSETS_TOPIC)).ok()?;
        let partitions = i32::try_from(topic.partitions.len()).ok()?;
        let hash =
            group.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        (hash & i32::MAX).checked_rem(partitions)
    }

    /// Makes the internal topic if it is not there.
    pub(crate) fn make_offsets_topic(&mut self) {
        if self.catalog.find(TopicName::Name(OFFSETS_TOPIC)).is_ok() {
            return;
        }
        let settings = BTreeMap::from([("cleanup.policy".into(), "compact".into())]);
        let new =
            NewTopic { name: OFFSETS_TOPIC.into(), partitions: self.config.offsets_partitions, settings };
        let command = CatalogCommand::Create(new, None);
        if !self.catalog_commands.contains(&command) {
            self.catalog_commands.push(command);
        }
    }

    /// Whether the group is coordinated here.
    ///
    /// # Errors
    /// `COORDINATOR_NOT_AVAILABLE` while the internal topic is being made.
    pub(crate) fn coordinates(&self, group: &str) -> Result<i32, ErrorCode> {
        let partition = self.coordinator_of(group).ok_or(ErrorCode::CoordinatorNotAvailable)?;
        match self.groups.contains_key(&partition) {
            true => Ok(partition),
            false => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }

    /// A partition of the internal topic is served here: its coordinator begins to read it.
    pub(crate) fn begin_coordinator(&mut self, at: usize) {
        let Some(hosted) = self.hosted(at).filter(|hosted| &*hosted.topic == OFFSETS_TOPIC) else { return };
        let (index, start) = (hosted.id.index, hosted.partition.start());
        let seed = self.config.seed ^ u64::from(index.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let machine = GroupCoordinator::new(self.config.groups.clone(), seed);
        self.groups
            .insert(index, Coordination { machine, at, appends: VecDeque::new(), loading: Some(start) });
    }

    /// What coordinators want to read. Each is answered with [`Self::loaded`].
    #[must_use]
    pub fn next_load(&self) -> Option<GroupLoad> {
        let loads = self.groups.iter().filter(|(_, coordination)| coordination.loading.is_some());
        loads.take(1).find_map(|(index, coordination)| {
            let hosted = self.hosted(coordination.at)?;
            let read = hosted.partition.read(coordination.loading?, Isolation::ReadUncommitted, LOAD_BYTES);
            let source = read.map_or(Source::Nothing, |Read { source, .. }| source);
            Some(GroupLoad { coordinator: *index, id: hosted.id, source })
        })
    }

    /// A coordinator gets batches of its partition. None mean that it has read all. One that cannot read them does not
    /// serve: it answers that it is being loaded.
    pub fn loaded(&mut self, load: &GroupLoad, bytes: &[u8], now: Now) {
        let Some(coordination) = self.groups.get_mut(&load.coordinator) else { return };
        match load_batches(&mut coordination.machine, bytes) {
            Ok(Some(end)) => coordination.loading = Some(end),
            Ok(None) => {
                coordination.loading = None;
                coordination.machine.loaded(now);
            }
            Err(Unreadable) => coordination.loading = None,
        }
    }

    /// Asks a coordinator, in the name of a part of a client's request.
    pub(crate) fn ask_group(&mut self, partition: i32, request: Request, call: u64, part: usize, now: Now) {
        let ticket = self.ticket();
        self.group_tickets.insert(ticket, (call, part));
        if let Some(coordination) = self.groups.get_mut(&partition) {
            coordination.machine.handle(request, Ticket(ticket), now);
            self.after_group(partition, now);
        }
    }

    /// Does what a coordinator wants done.
    pub(crate) fn after_group(&mut self, partition: i32, now: Now) {
        loop {
            let Some(coordination) = self.groups.get_mut(&partition) else { return };
            let effects = coordination.machine.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Append { seq, records } => self.append_of_group(partition, seq, &records, now),
                    Effect::Reply { ticket, answer } => self.group_answer(ticket.0, answer),
                }
            }
        }
    }

    fn append_of_group(&mut self, partition: i32, seq: Seq, records: &[Record], now: Now) {
        let Some(at) = self.groups.get(&partition).map(|coordination| coordination.at) else { return };
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        for record in records {
            builder.push(now.wall.ms(), Some(&record.key), record.value.as_deref(), &[]);
        }
        let room = self.reserve(builder.len());
        let batch = builder.finish();
        let new = self.hosted_mut(at).ok_or(ErrorCode::NotLeaderOrFollower);
        let new = room.and(new).and_then(|hosted| hosted.partition.append_own(batch, now.wall));
        let Some(coordination) = self.groups.get_mut(&partition) else { return };
        match new {
            Ok(new) => {
                coordination.appends.push_back((seq, new.end));
                self.store(at, new, now);
            }
            Err(_) => coordination.machine.refused(seq, now),
        }
    }

    /// Records of a partition are committed: its coordinator hears of it.
    pub(crate) fn committed_of_group(&mut self, at: usize, now: Now) {
        let Some(hosted) = self.hosted(at).filter(|hosted| &*hosted.topic == OFFSETS_TOPIC) else { return };
        let (index, committed) = (hosted.id.index, hosted.partition.high_watermark());
        let Some(coordination) = self.groups.get_mut(&index) else { return };
        while let Some((seq, _)) = coordination.appends.pop_front_if(|(_, end)| *end <= committed) {
            coordination.machine.persisted(seq, now);
        }
        self.after_group(index, now);
    }

    pub(crate) fn tick_groups(&mut self, now: Now) {
        let due: Vec<i32> = self
            .groups
            .iter()
            .filter(|(_, coordination)| {
                coordination.machine.next_deadline().is_some_and(|at| at <= now.mono())
            })
            .map(|(index, _)| *index)
            .collect();
        for index in due {
            if let Some(coordination) = self.groups.get_mut(&index) {
                coordination.machine.tick(now);
            }
            self.after_group(index, now);
        }
    }

    fn group_answer(&mut self, ticket: u64, answer: Answer) {
        let Some((call, part)) = self.group_tickets.remove(&ticket) else { return };
        let Some(pending) = self.group_calls.get_mut(&call) else { return };
        if let Some(response) = GroupCall::answered(pending, part, answer) {
            let waiter = pending.waiter;
            self.group_calls.remove(&call);
            self.done.push((waiter, response));
        }
    }

    /// The partitions of the internal topic whose coordinators live here.
    pub(crate) fn coordinators(&self) -> Vec<i32> {
        self.groups.keys().copied().collect()
    }
}
