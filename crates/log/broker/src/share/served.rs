//! A share partition that is served here: how it begins, and who waits for something in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{MonoTime, Now};
use log_config::{OffsetReset, QueueGroupConfig, ShareGroupConfig};
use log_coordinators::{Text, Ticket};
use log_partition::{Isolation, Offset, PartitionId};
use log_share::{
    Release, SessionKey, ShareKey, ShareLimits, SharePartition, ShareState, StateAnswer, StateRequest,
    StateUpdate,
};
use log_wire::{ErrorCode, TopicName};

use super::burial::Burial;
use super::doubts::{ASKING_MAX, Doubt};
use super::states::Asked;
use super::{Share, group_config, queue_config};
use crate::node::Node;
use crate::partitions::{Hosted, Slot};
use crate::waits::Waiter;

/// So many delayed records of a share partition do not count as in flight.
const DELAYED_MAX: u32 = 10_000;

/// Acknowledgements of a request that are not answered: their write is not durable.
#[derive(Debug)]
pub(super) struct OpenAcknowledgement {
    pub(super) waiter: Waiter,
    pub(super) write: Ticket,
}

/// Requests that wait for something to take, each once, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: BTreeMap<u64, Waiter>,
    /// The number of each.
    waiting: BTreeMap<Waiter, u64>,
    last: u64,
}

impl Queue {
    pub(super) fn push(&mut self, waiter: Waiter) {
        if !self.waiting.contains_key(&waiter) {
            self.last += 1;
            self.waiting.insert(waiter, self.last);
            self.order.insert(self.last, waiter);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Waiter> {
        let (_, first) = self.order.pop_first()?;
        self.waiting.remove(&first);
        Some(first)
    }

    /// A request does not wait any more.
    pub(super) fn remove(&mut self, waiter: Waiter) {
        if let Some(number) = self.waiting.remove(&waiter) {
            self.order.remove(&number);
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) slot: Slot,
    pub(super) id: PartitionId,
    pub(super) leader_epoch: i32,
    pub(super) config: ShareGroupConfig,
    pub(super) settings: QueueGroupConfig,
    pub(super) topic: Arc<str>,
    pub(super) burial: Burial,
    /// What the durable state said.
    state: Option<ShareState>,
    /// Nothing until the state is known, and has a start.
    pub(super) machine: Option<SharePartition>,
    /// Whether a read is under way.
    pub(super) is_read: bool,
    /// Requests for which it is being asked whether it is led here still.
    pub(super) doubts: Vec<Doubt>,
    pub(super) queue: Queue,
    pub(super) open: Vec<OpenAcknowledgement>,
    /// The latest change that was given to the holder of the state and is not durable: all before it are not known to be, either.
    under_way: Option<Ticket>,
}

impl Served {
    fn new((slot, hosted): (Slot, &Hosted), config: ShareGroupConfig, settings: QueueGroupConfig) -> Self {
        Self {
            slot,
            id: hosted.id,
            settings,
            topic: Arc::clone(&hosted.topic),
            burial: Burial::default(),
            leader_epoch: hosted.partition.epoch().0,
            config,
            state: None,
            machine: None,
            is_read: false,
            doubts: Vec::new(),
            queue: Queue::default(),
            open: Vec::new(),
            under_way: None,
        }
    }

    pub(super) const fn isolation(&self) -> Isolation {
        if self.config.reads_committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted }
    }

    /// The group has these settings from now on.
    pub(super) fn configure(&mut self, config: ShareGroupConfig, settings: QueueGroupConfig) {
        (self.config, self.settings) = (config, settings);
        self.burial.look_again();
        let limits = self.limits();
        if let Some(machine) = &mut self.machine {
            machine.limit(limits);
        }
    }

    /// Whether nothing of it is under way.
    fn is_idle(&self) -> bool {
        let has_dead_letters = |machine: &SharePartition| machine.next_dead_letters(1).is_some();
        let is_settled = self.machine.as_ref().is_some_and(|machine| !has_dead_letters(machine));
        is_settled && self.open.is_empty() && !self.is_read && self.doubts.is_empty() && self.burial.is_idle()
    }

    pub(super) fn next_deadline(&self) -> Option<MonoTime> {
        self.machine.as_ref()?.next_deadline()
    }

    fn limits(&self) -> ShareLimits {
        let dead_letters = self.settings.dead_letter_topic.as_deref();
        ShareLimits {
            lock_ms: self.config.record_lock_ms,
            delivery_count_max: self.config.delivery_count_max,
            locks_max: self.config.record_locks_max,
            delayed_max: DELAYED_MAX,
            // Letters to the topic itself would come back to the group for ever.
            has_dead_letters: dead_letters.is_some_and(|topic| *topic != *self.topic),
        }
    }

    /// It is served from now on.
    fn begin(&mut self) {
        let limits = self.limits();
        self.machine = self.state.as_ref().map(|state| SharePartition::new(state, limits));
    }
}

impl Share {
    /// A share partition is needed: begins to serve it, unless that is so.
    pub(super) fn serve(&mut self, node: &mut Node, key: &ShareKey) -> Result<(), ErrorCode> {
        if self.served.contains_key(key) {
            return Ok(());
        }
        let found = node.find(TopicName::Id(key.topic), key.partition)?;
        let served = Served::new(found, group_config(node, &key.group), queue_config(node, &key.group));
        let leader_epoch = served.leader_epoch;
        self.served.insert(key.clone(), served);
        self.groups_of.entry((key.topic, key.partition)).or_default().insert(key.group.clone());
        self.coordinators.make_topic(node);
        self.ask(node, StateRequest::Read { key: key.clone(), leader_epoch }, Asked::State(key.clone()));
        Ok(())
    }

    /// A share partition is not served any more as it was: what waits for it is told so, or looks again.
    pub(super) fn forget(&mut self, key: &ShareKey, error: ErrorCode) {
        let Some(mut gone) = self.remove(key) else { return };
        for open in gone.open {
            self.acknowledged(open.waiter, (key.topic, key.partition), error);
        }
        while let Some(waiter) = gone.queue.pop() {
            self.ready.push_back((waiter, None));
        }
    }

    fn remove(&mut self, key: &ShareKey) -> Option<Served> {
        if let Some(groups) = self.groups_of.get_mut(&(key.topic, key.partition)) {
            groups.remove(&key.group);
            if groups.is_empty() {
                self.groups_of.remove(&(key.topic, key.partition));
            }
        }
        let gone = self.served.remove(key)?;
        self.drop_doubts(&gone.doubts);
        Some(gone)
    }

    /// The state of a share partition is known, or not to be had.
    pub(super) fn state_read(&mut self, node: &mut Node, key: &ShareKey, answer: StateAnswer, now: Now) {
        let StateAnswer::State(state) = answer else {
            // Its requests go on waiting: they ask again with the next tick, or when the coordinator has read its log.
            if let Some(mut gone) = self.remove(key) {
                while let Some(waiter) = gone.queue.pop() {
                    self.asks_again.insert(waiter);
                }
            }
            return;
        };
        let Some(served) = self.served.get_mut(key) else { return };
        let has_start = state.start >= 0;
        served.state = Some(state);
        if has_start {
            served.begin();
            self.trim(node, key);
            self.wake(key);
            self.bury(node, key, now);
        } else {
            self.find_start(node, key, now);
        }
    }

    /// Nobody of the group has read the partition yet: where to begin is made durable before anything is delivered.
    fn find_start(&mut self, node: &mut Node, key: &ShareKey, now: Now) {
        let Some(served) = self.served.get(key) else { return };
        let Some(hosted) = node.partitions.get(served.slot).filter(|hosted| hosted.id == served.id) else {
            return;
        };
        let partition = &hosted.partition;
        match served.config.offset_reset {
            OffsetReset::Earliest => self.begin_at(node, key, partition.start().0),
            OffsetReset::Latest => self.begin_at(node, key, partition.high_watermark().0),
            OffsetReset::ByDuration(age) => {
                let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
                let since = now.wall.ms().saturating_sub(age_ms);
                let lookup = partition.look_for_time(since, served.isolation());
                self.reads.look_for_time(key, served.id, lookup);
            }
        }
    }

    /// The share partition begins there.
    pub(super) fn begin_at(&mut self, node: &mut Node, key: &ShareKey, start: i64) {
        let Some(served) = self.served.get_mut(key) else { return };
        let Some(state) = &mut served.state else { return };
        let update = StateUpdate { start, batches: Vec::new() };
        state.apply(&update);
        let (state_epoch, leader_epoch) = (state.state_epoch, served.leader_epoch);
        let request = StateRequest::Write { key: key.clone(), state_epoch, leader_epoch, update };
        self.ask(node, request, Asked::Start(key.clone()));
    }

    /// The start of a share partition is durable.
    pub(super) fn start_written(&mut self, key: &ShareKey, answer: &StateAnswer) {
        if let StateAnswer::Failed(_) = answer {
            return self.forget(key, ErrorCode::CoordinatorNotAvailable);
        }
        if let Some(served) = self.served.get_mut(key) {
            served.begin();
            self.wake(key);
        }
    }

    /// What was given back, or taken away, of a share partition is made durable. Gives the ticket of that, if there is anything.
    pub(super) fn write_changes(&mut self, node: &mut Node, key: &ShareKey) -> Option<Ticket> {
        let ticket = self.begin_write(node, key)?;
        if let Some(served) = self.served.get_mut(key) {
            served.under_way = Some(ticket);
        }
        Some(ticket)
    }

    /// The change behind which everything is durable that is known of a share partition here; nothing if all of it is.
    pub(super) fn under_way(&self, key: &ShareKey) -> Option<Ticket> {
        self.served.get(key)?.under_way
    }

    fn begin_write(&mut self, node: &mut Node, key: &ShareKey) -> Option<Ticket> {
        let served = self.served.get_mut(key)?;
        let machine = served.machine.as_mut()?;
        let update = machine.take_update()?;
        let (state_epoch, leader_epoch) = (served.state.as_ref()?.state_epoch, served.leader_epoch);
        let request = StateRequest::Write { key: key.clone(), state_epoch, leader_epoch, update };
        Some(self.ask(node, request, Asked::Write(key.clone())))
    }

    /// A change of a share partition is durable, or refused.
    pub(super) fn written(
        &mut self,
        node: &mut Node,
        key: &ShareKey,
        (ticket, answer): (Ticket, &StateAnswer),
        now: Now,
    ) {
        if let StateAnswer::Failed(error) = answer {
            let error = match error {
                ErrorCode::FencedLeaderEpoch | ErrorCode::FencedStateEpoch => ErrorCode::NotLeaderOrFollower,
                ErrorCode::NotCoordinator | ErrorCode::CoordinatorLoadInProgress => {
                    ErrorCode::CoordinatorNotAvailable
                }
                error => *error,
            };
            return self.forget(key, error);
        }
        let Some(served) = self.served.get_mut(key) else { return };
        served.under_way.take_if(|last| *last == ticket);
        let done: Vec<OpenAcknowledgement> =
            served.open.extract_if(.., |open| open.write == ticket).collect();
        for open in done {
            self.acknowledged(open.waiter, (key.topic, key.partition), ErrorCode::None);
        }
        self.bury(node, key, now);
    }

    /// The log of a share partition may begin later than before, or end earlier.
    pub(super) fn trim(&mut self, node: &Node, key: &ShareKey) {
        let Some(served) = self.served.get_mut(key) else { return };
        let Some(hosted) = node.partitions.get(served.slot).filter(|hosted| hosted.id == served.id) else {
            return;
        };
        if let Some(machine) = &mut served.machine {
            let Offset(end) = hosted.partition.end();
            machine.cut(end);
            machine.trim(hosted.partition.start().0);
        }
    }

    /// There may be something to take: the request that waits longest looks.
    pub(super) fn wake(&mut self, key: &ShareKey) {
        if let Some(served) = self.served.get_mut(key)
            && let Some(waiter) = served.queue.pop()
        {
            self.ready.push_back((waiter, Some(key.clone())));
        }
    }

    /// The request that was woken for a share partition may have found enough elsewhere: then the next one looks.
    pub(super) fn wake_next(&mut self, node: &Node, key: Option<&ShareKey>) {
        let Some((key, served)) = key.and_then(|key| Some((key, self.served.get(key)?))) else { return };
        let next = served.machine.as_ref().and_then(SharePartition::next_offset);
        let hosted = node.partitions.get(served.slot);
        let end = hosted.map(|hosted| hosted.partition.readable_end(served.isolation()).0);
        // As many as there are records for, at most.
        let left = next.zip(end).map_or(0, |(next, end)| usize::try_from(end - next).unwrap_or(0));
        if !served.is_read && served.doubts.len() < left.min(ASKING_MAX) {
            self.wake(key);
        }
    }

    /// Requests whose state could not be had ask for it again.
    pub(super) fn ask_again(&mut self) {
        let again = std::mem::take(&mut self.asks_again);
        self.ready.extend(again.into_iter().map(|waiter| (waiter, None)));
    }

    /// More of a partition is committed, or decided.
    pub(super) fn wake_partition(&mut self, (topic, index): ([u8; 16], i32)) {
        if self.groups_of.is_empty() {
            return;
        }
        let groups = self.groups_of.get(&(topic, index)).into_iter().flatten();
        let meant: Vec<ShareKey> =
            groups.map(|group| ShareKey { group: group.clone(), topic, partition: index }).collect();
        meant.iter().for_each(|key| self.wake(key));
    }

    /// Locks that are over end.
    pub(super) fn expire_locks(&mut self, node: &mut Node, now: Now) {
        let is_due = |served: &Served| served.next_deadline().is_some_and(|due| due <= now.mono());
        let due = self.served.iter().filter(|(_, served)| is_due(served));
        let due: Vec<ShareKey> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            if let Some(machine) = self.served.get_mut(&key).and_then(|served| served.machine.as_mut()) {
                machine.tick(now);
            }
            self.write_changes(node, &key);
            self.wake(&key);
        }
    }

    /// Share partitions of groups that nobody fetches for are not served any more.
    pub(super) fn forget_idle(&mut self) {
        let has_session = |key: &ShareKey| self.sessions.has_group(&key.group);
        let idle = self.served.iter().filter(|(key, served)| !has_session(key) && served.is_idle());
        let idle: Vec<ShareKey> = idle.map(|(key, _)| key.clone()).collect();
        for key in idle {
            self.remove(&key);
        }
    }

    /// The first session of a group begins: what is served of it is read again. Since its last session ended, an administrator may
    /// have altered by way of another broker where the group begins, and this broker was not told. What is not idle stays: its next
    /// write tells.
    pub(super) fn begin_group(&mut self, group: &Text) {
        let first = ShareKey { group: Text::clone(group), topic: [0; 16], partition: i32::MIN };
        let of_group = self.served.range(first..);
        let of_group = of_group.take_while(|(key, _)| key.group == *group);
        let idle = of_group.filter(|(_, served)| served.is_idle()).map(|(key, _)| key.clone());
        for key in idle.collect::<Vec<_>>() {
            self.forget(&key, ErrorCode::NotLeaderOrFollower);
        }
    }

    /// A member's session is over: others may take what it has.
    pub(super) fn end_session(&mut self, node: &mut Node, session: &SessionKey, how: Release) {
        self.sessions.end(session);
        let of_group = self.served.iter_mut().filter(|(key, _)| key.group == session.0);
        let mut changed = Vec::new();
        for (key, served) in of_group {
            if let Some(machine) = &mut served.machine {
                machine.release(&session.1, how);
                changed.push(key.clone());
            }
        }
        for key in changed {
            if self.write_changes(node, &key).is_some() {
                self.wake(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use net_event_loop::ConnId;

    use super::*;

    #[test]
    fn request_that_was_answered_is_in_no_queue_any_more() {
        let waiter = |request| Waiter { shard: 0, conn: ConnId { slot: 0, generation: 0 }, request };
        let mut queue = Queue::default();
        for request in [1, 2, 3, 2] {
            queue.push(waiter(request));
        }
        queue.remove(waiter(1));
        queue.remove(waiter(9));
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(waiter(2)), Some(waiter(3)), None]);
        assert!(queue.order.is_empty() && queue.waiting.is_empty());
    }
}
