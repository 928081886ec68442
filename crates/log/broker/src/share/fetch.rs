//! ShareFetch: a member takes records, and may give back what it has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::Now;
use log_coordinators::Text;
use log_share::{Acknowledgement, Release, SessionEpoch, SessionKey, ShareKey};
use log_wire::messages::share::{AcknowledgementBatch, ShareFetchRequest};
use log_wire::{ApiKey, ErrorCode, TopicName};

use super::pending::{Pending, Place, Wanted, refused};
use super::{Share, group_config};
use crate::call::Caller;
use crate::node::Node;
use crate::response::Response;
use crate::rights::{By, GROUP_READ, TOPIC_READ};
use crate::waits::Waiter;

/// How long a request may wait, milliseconds.
const WAIT_MS_MAX: u64 = 10 * 60 * 1_000;
/// How long the holder of a state may take: `share.coordinator.write.timeout.ms`.
const WRITE_MS: u64 = 5_000;
/// A session has no more partitions.
const PARTITIONS_MAX: usize = 10_000;
/// The mode in which no more records are given than were asked for (KIP-1206).
const RECORD_LIMIT: i8 = 1;

/// What a request acknowledges, by partition.
pub(super) type Acknowledged = Vec<(Place, Vec<Acknowledgement>)>;

/// What a request says of its session and its acknowledgements.
pub(super) struct Said {
    pub(super) group: Option<String>,
    pub(super) member: Option<String>,
    pub(super) epoch: i32,
    pub(super) acknowledged: Acknowledged,
    pub(super) may_renew: bool,
}

pub(super) fn acknowledgements(batches: Vec<AcknowledgementBatch>) -> Vec<Acknowledgement> {
    let each = batches.into_iter().map(|of| Acknowledgement {
        first: of.first_offset,
        last: of.last_offset,
        types: of.acknowledge_types,
    });
    each.collect()
}

impl Share {
    /// Handles a request.
    pub(super) fn fetch(
        &mut self,
        node: &mut Node,
        request: ShareFetchRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let quota = node.access.fetch_bytes_max(of.by.client, of.client_id);
        let bytes_max = quota.unwrap_or(usize::MAX).min(node.config.fetch_bytes_max);
        let positive = |number: i32| usize::try_from(number).unwrap_or(0);
        let wanted = Wanted {
            bytes_min: positive(request.min_bytes),
            bytes_max: positive(request.max_bytes).min(bytes_max),
            records_max: positive(request.max_records),
            batch_size: positive(request.batch_size).max(1),
            is_strict: request.share_acquire_mode == RECORD_LIMIT,
            is_over: request.max_wait_ms <= 0,
        };
        let wait_ms = u64::try_from(request.max_wait_ms).unwrap_or(0).min(WAIT_MS_MAX);
        let (mut more, mut acknowledged) = (Vec::new(), Vec::new());
        for topic in request.topics {
            for partition in topic.partitions {
                let place = (topic.topic_id, partition.partition_index);
                more.push(place);
                if !partition.acknowledgement_batches.is_empty() {
                    acknowledged.push((place, acknowledgements(partition.acknowledgement_batches)));
                }
            }
        }
        let forgotten = request.forgotten_topics_data.iter();
        let less: Vec<Place> = forgotten
            .flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic_id, *index)))
            .collect();
        let said = Said {
            group: request.group_id,
            member: request.member_id,
            epoch: request.share_session_epoch,
            acknowledged,
            may_renew: request.is_renew_ack,
        };
        let takes = request.share_session_epoch != -1 && wanted.records_max > 0 && !request.is_renew_ack;
        self.enter(node, said, (&more, &less), (takes.then_some(wanted), wait_ms), of, now)
    }

    /// A request of a session comes, of either kind.
    pub(super) fn enter(
        &mut self,
        node: &mut Node,
        said: Said,
        (more, less): (&[Place], &[Place]),
        (wanted, wait_ms): (Option<Wanted>, u64),
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let epoch = SessionEpoch::of(said.epoch);
        // A member that has come back does not lose what it is given now.
        self.end_lost(node);
        let session = match self.session_of(node, &said, epoch, of) {
            Ok(session) => session,
            Err(error) => return Some(refused(of.by.api, of.form, error)),
        };
        if self.sessions.partitions(&session).len() + more.len() > PARTITIONS_MAX {
            return Some(refused(of.by.api, of.form, ErrorCode::InvalidRequest));
        }
        self.sessions.change(&session, more, less);
        let has_writes = !said.acknowledged.is_empty();
        // One that waits for records, too, gets the time of its writes when its own is over.
        let waits_for_writes = has_writes && wanted.is_none_or(|wanted| wanted.is_over);
        let pending = Pending {
            api: of.by.api,
            form: of.form,
            client: Arc::clone(of.by.client),
            lock_ms: group_config(node, &session.0).record_lock_ms,
            session: session.clone(),
            turn: u32::try_from(said.epoch).unwrap_or(0),
            outcomes: BTreeMap::new(),
            open: BTreeSet::new(),
            wanted,
            queued: BTreeSet::new(),
            reading: None,
            led: None,
            has_longer: waits_for_writes,
            bytes: 0,
            records: 0,
        };
        let deadline_ms = if waits_for_writes { wait_ms.max(WRITE_MS) } else { wait_ms };
        self.pending.insert(of.waiter, now.mono().plus_ms(deadline_ms), pending);
        self.acknowledge_all(node, of, &session, said, now);
        if epoch == SessionEpoch::End {
            self.end_session(node, &session, Release::Closed);
            self.connections.ended(&session);
        }
        self.ready.push_back((of.waiter, None));
        None
    }

    /// Whose session it is, and whether it may go on.
    fn session_of(
        &mut self,
        node: &Node,
        said: &Said,
        epoch: SessionEpoch,
        of: Caller<'_>,
    ) -> Result<SessionKey, ErrorCode> {
        let (Some(group), Some(member)) = (&said.group, &said.member) else {
            return Err(ErrorCode::InvalidRequest);
        };
        node.may(of.by, GROUP_READ, group)?;
        let begins_oddly = epoch == SessionEpoch::Begin && !said.acknowledged.is_empty();
        if begins_oddly || group.is_empty() || member.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        if epoch == SessionEpoch::Begin && of.by.api == ApiKey::ShareAcknowledge {
            return Err(ErrorCode::InvalidShareSessionEpoch);
        }
        let session: SessionKey = (group.as_str().into(), member.as_str().into());
        let is_first = epoch == SessionEpoch::Begin && !self.sessions.has_group(group);
        self.sessions.enter(&session, epoch)?;
        if is_first {
            self.begin_group(&session.0);
        }
        self.connections.uses(&session, (of.waiter.shard, of.waiter.conn));
        Ok(session)
    }

    /// A request goes on: with the next partition, or to its answer.
    pub(super) fn go_on(&mut self, node: &mut Node, waiter: Waiter, now: Now) {
        loop {
            let Some(pending) = self.pending.get_mut(waiter) else { return };
            if !pending.open.is_empty() || pending.reading.is_some() {
                return;
            }
            let Some(wanted) = pending.wanted else { return self.answer(node, waiter) };
            // One that has been told that this broker leads reads, whatever became of its other partitions meanwhile.
            if pending.led.is_none() && pending.has_enough(&wanted) {
                return self.answer(node, waiter);
            }
            match self.next_place(node, waiter) {
                Some(place) => {
                    if !self.read(node, waiter, place, now) {
                        return;
                    }
                }
                None if wanted.is_over || self.has_something(waiter) => return self.answer(node, waiter),
                None => return,
            }
        }
    }

    /// Answers requests whose time is over.
    pub(super) fn expire_requests(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, mut pending)) = self.pending.pop_overdue(now.mono()) {
            if let Some(wanted) = &mut pending.wanted {
                wanted.is_over = true;
            }
            let is_under_way = pending.reading.is_some() || !pending.open.is_empty();
            if is_under_way && !pending.has_longer {
                pending.has_longer = true;
                self.pending.insert(waiter, now.mono().plus_ms(WRITE_MS), pending);
                continue;
            }
            for place in std::mem::take(&mut pending.open) {
                pending.outcomes.entry(place).or_default().acknowledged = ErrorCode::RequestTimedOut;
            }
            self.leave_queues(waiter, &pending);
            if let Some((topic, partition)) = pending.reading {
                let key = ShareKey { group: pending.session.0.clone(), topic, partition };
                self.withdraw_doubt(&key, waiter);
            }
            node.reply(waiter, pending.response(node));
        }
    }

    /// A request waits for no partition any more.
    fn leave_queues(&mut self, waiter: Waiter, pending: &Pending) {
        for (topic, partition) in &pending.queued {
            let key = ShareKey { group: pending.session.0.clone(), topic: *topic, partition: *partition };
            if let Some(served) = self.served.get_mut(&key) {
                served.queue.remove(waiter);
            }
        }
        self.asks_again.remove(&waiter);
    }

    /// A request is not to be answered any more.
    pub(super) fn abandon(&mut self, waiter: Waiter, pending: &Pending) {
        self.leave_queues(waiter, pending);
        if let Some((topic, partition)) = pending.reading {
            let key = ShareKey { group: pending.session.0.clone(), topic, partition };
            if self.withdraw_doubt(&key, waiter) {
                return self.wake(&key);
            }
            self.reads.abandon(&key);
            if let Some(served) = self.served.get_mut(&key) {
                served.is_read = false;
            }
            self.wake(&key);
        }
    }

    fn answer(&mut self, node: &mut Node, waiter: Waiter) {
        if let Some(pending) = self.pending.remove(waiter) {
            self.leave_queues(waiter, &pending);
            node.reply(waiter, pending.response(node));
        }
    }

    fn has_something(&mut self, waiter: Waiter) -> bool {
        self.pending.get_mut(waiter).is_some_and(|pending| pending.records > 0)
    }

    /// The next partition that has something for a request. It waits in the queues of those that have nothing.
    fn next_place(&mut self, node: &mut Node, waiter: Waiter) -> Option<Place> {
        let pending = self.pending.get_mut(waiter)?;
        let (group, client) = (Text::clone(&pending.session.0), Arc::clone(&pending.client));
        let has_some = |place: &&Place| pending.outcomes.get(place).is_none_or(|of| of.acquired.is_empty());
        let places = self.sessions.partitions(&pending.session).iter();
        let mut places: Vec<Place> = places.filter(has_some).copied().collect();
        let turn = pending.turn;
        self.order(node, &group, turn, &mut places);
        for place in places {
            let key = ShareKey { group: Text::clone(&group), topic: place.0, partition: place.1 };
            let by = By { client: &client, api: ApiKey::ShareFetch };
            let may = node.may_on_topic(by, TOPIC_READ, TopicName::Id(place.0));
            if let Err(error) = may.and_then(|()| self.serve(node, &key)) {
                if let Some(pending) = self.pending.get_mut(waiter) {
                    pending.outcomes.entry(place).or_default().error = error;
                }
                continue;
            }
            self.trim(node, &key);
            let Some(served) = self.served.get_mut(&key) else { continue };
            let readable =
                node.partitions.get(served.slot).map(|of| of.partition.readable_end(served.isolation()));
            let next = served.machine.as_ref().and_then(log_share::SharePartition::next_offset);
            match (next, readable) {
                (Some(next), Some(end)) if next < end.0 && !served.is_read => return Some(place),
                _ => {
                    served.queue.push(waiter);
                    let is_read = served.is_read;
                    if let Some(pending) = self.pending.get_mut(waiter) {
                        pending.queued.insert(place);
                        // What it waits for may come long after it was asked who leads.
                        pending.led = pending.led.filter(|led| is_read || *led != place);
                    }
                }
            }
        }
        None
    }
}
