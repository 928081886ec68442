//! Produce: batches are judged and appended partition by partition, and answered when they are committed. Before that, it may have
//! to be known who leads, and the coordinator of their transaction may have to be asked.

mod batch;
mod held;
mod leader_waits;
mod outcome;
mod pending;
mod refusal;
mod refused;
mod transactional;

use std::collections::VecDeque;

use base::{MonoTime, Now};
use log_partition::{Appended, BatchRefused, Offset, ProducerEpoch, ProducerId};
use log_wire::{
    ApiKey, Batch, Compression, ErrorCode, Malformed, ProduceOutcome, ProducePartition, ProduceRequest,
    Reader, TopicName,
};

use net_event_loop::ConnId;
use replication_appointed::Round;
use smallvec::SmallVec;

use crate::call::{Call, Handled};
use crate::catalog::is_internal;
use crate::node::Node;
use crate::partitions::{BySlot, Hosted, Slot};
use crate::question::{Asker, Question, Verdict};
use crate::response::{ProduceResponse, Response};
use crate::rights::{By, TOPIC_WRITE};
use crate::waits::{Waiter, Waits};
use batch::{error_of, only_batch};
use held::{Asked, Held, Kept};
use leader_waits::LeaderWaits;
use outcome::{OutcomePlace, unknown};
use pending::{DoubtedBatch, PendingProduce, Slots, WaitingBatch};
use refusal::Refused;
use refused::{Named, RefusedFirst};
use transactional::Verified;

/// The first version in which a batch may be compressed by zstd.
const ZSTD: i16 = 7;
/// Acknowledged by nobody, by the leader, by all replicas in sync.
const OF_LEADER: i16 = 1;
const OF_ALL: i16 = -1;
const ACKS: core::ops::RangeInclusive<i16> = -1..=1;

/// How long a request waits for the coordinator of its transaction, milliseconds: `request.timeout.ms`.
const COORDINATOR_MS: u64 = 30_000;

/// What a request has for partitions, most often for one.
type Parts<'r> = SmallVec<[ProducePartition<'r>; 1]>;
/// Batches of a request that were appended, most often one.
type Missing = SmallVec<[(Slot, WaitingBatch); 1]>;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::Produce];

/// Produce requests that wait. See the module.
#[derive(Debug, Default)]
pub(crate) struct Produces {
    waits: Waits<PendingProduce>,
    /// The batches of each partition that are not committed, in the order of their offsets.
    batches: BySlot<VecDeque<WaitingBatch>>,
    /// Those that wait for the leader's own disk alone.
    alone: BySlot<VecDeque<WaitingBatch>>,
    /// Those that were refused, if this broker still led then.
    doubted: BySlot<VecDeque<DoubtedBatch>>,
    held: Waits<Held>,
    held_bytes: usize,
    leader_waits: LeaderWaits,
    refused: RefusedFirst,
}

impl Produces {
    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(&mut self, node: &mut Node, call: Call<'_>) -> Result<Handled, Malformed> {
        let Call { form, waiter, client, now, .. } = call;
        self.begin(node, &Asked { client, form, body: call.body.rest(), waiter, now }, None)
    }

    /// Begins with a request. One that has waited for leaders before may do so again until that time.
    fn begin(
        &mut self,
        node: &mut Node,
        asked: &Asked<'_>,
        until: Option<MonoTime>,
    ) -> Result<Handled, Malformed> {
        let (mut partitions, version) = (Parts::new(), asked.form.version);
        let mut reader = Reader::new(asked.body, asked.form.flexible);
        let request = ProduceRequest::read(&mut reader, version, &mut partitions)?;
        if self.leader_waits.keep(node, asked, (&request, &partitions), until) {
            return Ok(Handled::Waits);
        }
        let answered = match transactional::question(node, asked.by(), (&request, version), &partitions) {
            Ok(None) => self.produce(node, asked, (&request, version), (&partitions, &Verified::new())),
            Ok(Some((verify, of))) => {
                let held = Held { request: asked.keep(), asked: of, has_answer: request.acks != 0 };
                self.hold(held, asked.waiter, asked.now);
                node.questions.push(Question { asker: Asker::Produce(asked.waiter), verify });
                return Ok(Handled::Waits);
            }
            Err(error) => Some(failed(node, &request, &partitions, error)),
        };
        Ok(match answered {
            Some(response) => Handled::Done(response),
            None if request.acks == 0 => Handled::Silent,
            None => Handled::Pipelined,
        })
    }

    /// A partition may be served here, or led elsewhere, from now on.
    pub(crate) const fn leaders_changed(&mut self) {
        self.leader_waits.touch();
    }

    /// Requests go on that need not wait for leaders any more. To be called once for all that has happened in a turn. Gives whether
    /// there were any.
    pub(crate) fn go_on(&mut self, node: &mut Node, now: Now) -> bool {
        let ready = self.leader_waits.take_ready(node);
        let any = !ready.is_empty();
        for (waiter, request, until) in ready {
            self.again(node, (waiter, &request), until, now);
        }
        any
    }

    /// Begins again with a request that has waited.
    fn again(&mut self, node: &mut Node, (waiter, request): (Waiter, &Kept), until: MonoTime, now: Now) {
        match self.begin(node, &request.asked(waiter, now), Some(until)) {
            Ok(Handled::Done(response)) => node.reply(waiter, response),
            Ok(Handled::Silent) => node.reply(waiter, Response::Nothing),
            // It was read before.
            Ok(Handled::Waits | Handled::Pipelined) | Err(_) => {}
        }
    }

    /// The coordinator of its transaction has said whether the batches of a request may be appended.
    pub(crate) fn verified(&mut self, node: &mut Node, waiter: Waiter, verdict: &Verdict, now: Now) {
        let Some(held) = self.release(waiter) else { return };
        let asked = held.request.asked(waiter, now);
        let (mut partitions, version) = (Parts::new(), asked.form.version);
        let mut reader = Reader::new(asked.body, asked.form.flexible);
        let Ok(request) = ProduceRequest::read(&mut reader, version, &mut partitions) else { return };
        let verified = transactional::verified(&held.asked, verdict, version);
        match self.produce(node, &asked, (&request, version), (&partitions, &verified)) {
            Some(response) => node.reply(waiter, response),
            None if !held.has_answer => node.reply(waiter, Response::Nothing),
            None => {}
        }
    }

    fn hold(&mut self, held: Held, waiter: Waiter, now: Now) {
        self.held_bytes += held.request.body.len();
        self.held.insert(waiter, now.mono().plus_ms(COORDINATOR_MS), held);
    }

    fn release(&mut self, waiter: Waiter) -> Option<Held> {
        let held = self.held.remove(waiter)?;
        self.held_bytes -= held.request.body.len();
        Some(held)
    }

    /// Bytes of requests that wait for the coordinator of their transaction, or for a leader.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.held_bytes + self.leader_waits.bytes()
    }

    /// Carries out a request. The answer comes later if there is none now.
    fn produce(
        &mut self,
        node: &mut Node,
        asked: &Asked<'_>,
        (request, version): (&ProduceRequest<'_>, i16),
        (partitions, verified): (&[ProducePartition<'_>], &Verified),
    ) -> Option<Response> {
        let (by, waiter, now) = (asked.by(), asked.waiter, asked.now);
        let mut response = ProduceResponse::default();
        let (mut missing, mut doubted, mut failed) = (Missing::new(), Vec::new(), false);
        for partition in partitions {
            let place = response.place_for(partition.topic, &node.catalog);
            let done = self.append_in_order(node, by, (request, version), (partition, verified), now);
            response.push(place.0, outcome(node, partition, &done));
            match done {
                Ok((slot, appended)) => {
                    missing.push((slot, WaitingBatch { end: appended.end, waiter, place }));
                }
                Err(refused) => {
                    failed = true;
                    response.tell_leader(node, by.client.listener, place);
                    let in_doubt = refused.is_from_memory().then(|| in_doubt(node, partition)).flatten();
                    let batch = |(slot, round)| (slot, DoubtedBatch { round, waiter, place });
                    doubted.extend(in_doubt.map(batch));
                }
            }
        }
        if request.acks == 0 {
            return failed.then_some(Response::Close);
        }
        let mut slots = self.wait_for_batches(node, missing, request.acks == OF_LEADER);
        for (slot, batch) in doubted {
            self.doubted.of(slot).push_back(batch);
            slots.push(slot);
        }
        if slots.is_empty() {
            return Some(Response::Produce(response));
        }
        let deadline = now.mono().plus_ms(u64::try_from(request.timeout_ms).unwrap_or(0));
        let (listener, missing) = (by.client.listener, slots.len());
        let pending = PendingProduce { response, listener, missing, slots };
        self.waits.insert(waiter, deadline, pending);
        None
    }

    /// Appends a batch, but not one of a new producer before an earlier one that was refused.
    fn append_in_order(
        &mut self,
        node: &mut Node,
        by: By<'_>,
        request: (&ProduceRequest<'_>, i16),
        (partition, verified): (&ProducePartition<'_>, &Verified),
        now: Now,
    ) -> Result<(Slot, Appended), Refused> {
        let may = node.may_on_topic(by, TOPIC_WRITE, partition.topic).map_err(Refused::before_log);
        // Another broker may lead, and have taken what was refused here: then this one is wrong about the order.
        if may.is_ok()
            && !self.refused.is_empty()
            && node.find(partition.topic, partition.partition).is_ok()
            && let Some((named, batch)) = of_unknown_producer(node, partition)
        {
            self.refused.check(named, &batch, now.mono()).map_err(Refused::before_log)?;
        }
        let done = may.and_then(|()| append(node, request, (partition, verified), now));
        if done.as_ref().is_err_and(|refused| passes(refused.why.error))
            && let Some((named, batch)) = of_unknown_producer(node, partition)
        {
            self.refused.refused(named, &batch, now.mono());
        } else if !self.refused.is_empty()
            && done.is_ok()
            && let Ok(batch) = only_batch(partition.records)
            && let Some(named) = Named::new(partition.topic, partition.partition)
        {
            self.refused.taken(named, &batch);
        }
        done
    }

    /// Enters batches that are not committed, or not durable here, with their partitions. Gives the partitions of those.
    fn wait_for_batches(&mut self, node: &Node, batches: Missing, is_alone: bool) -> Slots {
        let mut slots = Slots::new();
        for (slot, batch) in batches {
            let Some(hosted) = node.partitions.get(slot) else { continue };
            let is_alone = is_alone && hosted.is_replicated;
            let done = if is_alone { durable_end(hosted) } else { hosted.partition.high_watermark() };
            if batch.end > done {
                // A retry of an earlier batch waits for less than those before it.
                let waiting = if is_alone { self.alone.of(slot) } else { self.batches.of(slot) };
                let behind = waiting.partition_point(|other| other.end <= batch.end);
                waiting.insert(behind, batch);
                slots.push(slot);
            }
        }
        slots
    }

    /// More of a partition is committed: answers requests whose batches are all committed by now.
    pub(crate) fn committed(&mut self, node: &mut Node, slot: Slot) {
        let Some(hosted) = node.partitions.get(slot) else { return };
        let committed = hosted.partition.high_watermark();
        let few = on_too_few(hosted, in_sync_min(node, hosted));
        while let Some(batch) = self.batches.of(slot).pop_front_if(|batch| batch.end <= committed) {
            let error = few.filter(|held| batch.end > *held);
            let error = error.map(|_| ErrorCode::NotEnoughReplicasAfterAppend);
            self.settle(node, (batch.waiter, batch.place), error);
        }
    }

    /// More of a partition is durable on the disk of this broker, which leads it.
    pub(crate) fn flushed(&mut self, node: &mut Node, slot: Slot) {
        let Some(durable) = node.partitions.get(slot).map(durable_end) else { return };
        while let Some(batch) = self.alone.of(slot).pop_front_if(|batch| batch.end <= durable) {
            self.settle(node, (batch.waiter, batch.place), None);
        }
    }

    /// A partition was still led here when that was asked: what was refused then is refused.
    pub(crate) fn confirmed(&mut self, node: &mut Node, slot: Slot) {
        let hosted = node.partitions.get(slot);
        let Some(confirmed) = hosted.and_then(|hosted| hosted.partition.replica().confirmed()) else {
            return;
        };
        while let Some(batch) = self.doubted.of(slot).pop_front_if(|batch| batch.round <= confirmed) {
            self.settle(node, (batch.waiter, batch.place), None);
        }
    }

    /// A partition is gone: its batches will not be committed here.
    pub(crate) fn gone(&mut self, node: &mut Node, slot: Slot) {
        self.fail(node, slot, ErrorCode::UnknownTopicOrPartition);
    }

    /// Another broker leads a partition, or nobody does: whether its batches will be committed is not known here.
    pub(crate) fn lost(&mut self, node: &mut Node, slot: Slot) {
        self.fail(node, slot, ErrorCode::NotLeaderOrFollower);
    }

    fn fail(&mut self, node: &mut Node, slot: Slot, error: ErrorCode) {
        let alone = std::mem::take(self.alone.of(slot));
        let waiting = std::mem::take(self.batches.of(slot)).into_iter().chain(alone);
        let waiting = waiting.map(|batch| (batch.waiter, batch.place));
        let doubted = std::mem::take(self.doubted.of(slot)).into_iter();
        for batch in waiting.chain(doubted.map(|batch| (batch.waiter, batch.place))) {
            self.settle(node, batch, Some(error));
        }
    }

    /// Answers requests whose time is over. Their batches stay, and may be committed later.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        self.refused.forget_old(now.mono());
        while let Some((waiter, mut pending)) = self.waits.pop_overdue(now.mono()) {
            for slot in std::mem::take(&mut pending.slots) {
                for waiting in [self.batches.of(slot), self.alone.of(slot)] {
                    waiting.retain(|batch| {
                        let own = batch.waiter == waiter;
                        if own {
                            pending.response.set_error(batch.place, ErrorCode::RequestTimedOut);
                        }
                        !own
                    });
                }
                // Whether it is refused is not known: it is to be sent again.
                self.doubted.of(slot).retain(|batch| {
                    let own = batch.waiter == waiter;
                    if own {
                        pending.response.set_error(batch.place, ErrorCode::RequestTimedOut);
                    }
                    !own
                });
            }
            node.reply(waiter, Response::Produce(pending.response));
        }
        while let Some(waiter) = self.held.next_overdue(now.mono()) {
            self.verified(node, waiter, &Err(ErrorCode::CoordinatorNotAvailable), now);
        }
        while let Some((waiter, request, until)) = self.leader_waits.take_overdue(now) {
            self.again(node, (waiter, &request), until, now);
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while let Some((waiter, pending)) = self.waits.pop_of(shard, conn) {
            for slot in pending.slots {
                self.batches.of(slot).retain(|batch| batch.waiter != waiter);
                self.alone.of(slot).retain(|batch| batch.waiter != waiter);
                self.doubted.of(slot).retain(|batch| batch.waiter != waiter);
            }
        }
        while let Some((_, held)) = self.held.pop_of(shard, conn) {
            self.held_bytes -= held.request.body.len();
        }
        self.leader_waits.disconnected(shard, conn);
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        let (held, leaders) = (self.held.next_deadline(), self.leader_waits.next_deadline());
        let deadlines = [self.waits.next_deadline(), held, leaders];
        deadlines.into_iter().flatten().min()
    }

    /// A batch has its outcome: that which stands in its response, or that error. Answers its request if it was the last one.
    fn settle(&mut self, node: &mut Node, batch: (Waiter, OutcomePlace), error: Option<ErrorCode>) {
        let (waiter, place) = batch;
        let is_last = |pending: &mut PendingProduce| {
            if let Some(error) = error {
                pending.response.fail(node, pending.listener, place, error);
            }
            pending.missing -= 1;
            pending.missing == 0
        };
        if let Some(pending) = self.waits.remove_if(waiter, is_last) {
            node.reply(waiter, Response::Produce(pending.response));
        }
    }
}

/// Whether this broker still leads a partition, several replicas of which there are, is being asked: where, and in which round.
fn in_doubt(node: &mut Node, partition: &ProducePartition<'_>) -> Option<(Slot, Round)> {
    let (slot, _) = node.find(partition.topic, partition.partition).ok()?;
    Some((slot, node.partitions.confirm(slot)?))
}

/// The answer to a request of which nothing is carried out.
fn failed(
    node: &Node,
    request: &ProduceRequest<'_>,
    partitions: &[ProducePartition<'_>],
    error: ErrorCode,
) -> Response {
    if request.acks == 0 {
        return Response::Close;
    }
    let mut response = ProduceResponse::default();
    for partition in partitions {
        let place = response.place_for(partition.topic, &node.catalog);
        response.push(place.0, ProduceOutcome { error, ..unknown(partition.partition) });
    }
    Response::Produce(response)
}

/// Whether a batch that is refused for that reason may come again, behind later ones. A topic may not be known here yet. The last two
/// are said of transactions.
const fn passes(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::NotLeaderOrFollower
            | ErrorCode::UnknownTopicId
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::KafkaStorageError
            | ErrorCode::NotEnoughReplicas
            | ErrorCode::ConcurrentTransactions
    )
}

/// The batch of a producer of which the partition knows neither this epoch nor a later one, as far as that can be told now.
fn of_unknown_producer<'r>(node: &Node, partition: &ProducePartition<'r>) -> Option<(Named, Batch<'r>)> {
    let batch = only_batch(partition.records).ok().filter(|batch| batch.producer_id() >= 0)?;
    let named = Named::new(partition.topic, partition.partition)?;
    let (producer, epoch) = (ProducerId(batch.producer_id()), ProducerEpoch(batch.producer_epoch()));
    let hosted = node.find(partition.topic, partition.partition);
    let is_known =
        hosted.is_ok_and(|(_, hosted)| hosted.partition.tables().producers.epoch(producer) >= Some(epoch));
    (!is_known).then_some((named, batch))
}

fn append(
    node: &mut Node,
    (request, version): (&ProduceRequest<'_>, i16),
    (partition, verified): (&ProducePartition<'_>, &Verified),
    now: Now,
) -> Result<(Slot, Appended), Refused> {
    let (slot, hosted) = node.find(partition.topic, partition.partition).map_err(Refused::before_log)?;
    let batch = only_batch(partition.records).map_err(Refused::before_log)?;
    if batch.attributes().compression() == Some(Compression::Zstd) && version < ZSTD {
        return Err(Refused::before_log(ErrorCode::UnsupportedCompressionType));
    }
    transactional::check(hosted, &batch, version, verified).map_err(Refused::before_log)?;
    if !ACKS.contains(&request.acks) {
        return Err(Refused::before_log(ErrorCode::InvalidRequiredAcks));
    }
    if is_internal(&hosted.topic) {
        return Err(Refused::before_log(ErrorCode::InvalidTopic));
    }
    let start = hosted.partition.shown_start();
    if request.acks == OF_ALL && !has_enough_in_sync(node, hosted) {
        return Err(Refused::by_log(ErrorCode::NotEnoughReplicas.into(), start));
    }
    append_to_log(node, slot, &batch, now).map_err(|why| {
        if let Some(hosted) = node.partitions.get_mut(slot) {
            hosted.traffic.refused += 1;
        }
        Refused::by_log(why, start)
    })
}

/// How many replicas have to be in sync: `min.insync.replicas`, and no more than are assigned to the partition.
pub(crate) fn in_sync_min(node: &Node, hosted: &Hosted) -> usize {
    let wanted = hosted.partition.config().min_insync_replicas as usize;
    let topic = node.catalog.find(TopicName::Id(hosted.id.topic)).ok();
    let index = usize::try_from(hosted.id.index).ok();
    let image = topic.and_then(|topic| topic.partitions.get(index?));
    image.map_or(wanted, |image| wanted.min(image.replicas.len()))
}

/// Whether as many replicas of a partition are in sync as a producer that waits for all of them asks for.
pub(crate) fn has_enough_in_sync(node: &Node, hosted: &Hosted) -> bool {
    let needed = in_sync_min(node, hosted);
    if needed <= 1 {
        return true;
    }
    let voters = hosted.partition.replica().leading_config().map(|config| config.voters.replicas().len());
    node.in_sync.count(hosted.id, voters.unwrap_or(1)) >= needed
}

/// If records of a partition commit on fewer disks than `min.insync.replicas` says, because that was raised a moment ago: up to
/// where they are on enough disks.
fn on_too_few(hosted: &Hosted, needed: usize) -> Option<Offset> {
    let replica = hosted.partition.replica();
    let config = replica.leading_config()?;
    if needed <= config.voters.durable_on() {
        return None;
    }
    let durable = config.voters.replicas().iter().filter_map(|id| replica.durable_on(*id));
    let mut ends: Vec<Offset> = durable.map(Offset::of).collect();
    ends.sort_unstable_by(|one, other| other.cmp(one));
    Some(ends.get(needed - 1).copied().unwrap_or(Offset::ZERO))
}

/// Up to where a partition is durable on the disk of this broker.
fn durable_end(hosted: &Hosted) -> Offset {
    Offset::of(hosted.partition.replica().durable().end)
}

/// The log of a partition takes a batch, or refuses it.
fn append_to_log(
    node: &mut Node,
    slot: Slot,
    batch: &Batch<'_>,
    now: Now,
) -> Result<(Slot, Appended), BatchRefused> {
    batch.check_from_client().map_err(error_of)?;
    let hosted = node.partitions.get(slot).filter(|hosted| !hosted.is_paused);
    let hosted = hosted.ok_or(ErrorCode::NotLeaderOrFollower)?;
    let prepared = hosted.partition.prepare(batch, now.wall)?;
    node.partitions.check_room(prepared.bytes())?;
    let hosted = node.partitions.get_mut(slot).ok_or(ErrorCode::NotLeaderOrFollower)?;
    let mut appended = hosted.partition.append_prepared(prepared, now.wall)?;
    if let Some(new) = appended.new.take() {
        let records = appended.end.0.saturating_sub(appended.base.0);
        hosted.traffic.records_in += u64::try_from(records).unwrap_or(0);
        hosted.traffic.bytes_in += batch.bytes().len() as u64;
        hosted.traffic.requests += 1;
        node.store(slot, new, now);
    }
    Ok((slot, appended))
}

fn outcome(
    node: &Node,
    partition: &ProducePartition<'_>,
    done: &Result<(Slot, Appended), Refused>,
) -> ProduceOutcome<'static> {
    let (slot, appended) = match done {
        Ok((slot, appended)) => (*slot, appended),
        Err(refused) => return refused.outcome(partition.partition),
    };
    let start = node.partitions.get(slot).map_or(-1, |hosted| hosted.partition.shown_start().0);
    ProduceOutcome {
        base_offset: appended.base.0,
        log_append_time: appended.append_time_ms,
        log_start_offset: start,
        ..unknown(partition.partition)
    }
}
