//! Produce: batches are judged and appended partition by partition, and answered when they are committed.

use base::Now;
use log_partition::Appended;
use log_wire::{
    Batch, BatchError, Compression, ErrorCode, ProduceOutcome, ProducePartition, ProduceRequest, TopicName,
};

use crate::broker::Broker;
use crate::catalog::is_internal;
use crate::hosted::WaitingBatch;
use crate::pending_produce::PendingProduce;
use crate::response::{ProduceResponse, Response, TopicKey};
use crate::waits::Waiter;

/// The first version in which a batch may be compressed by zstd.
const ZSTD: i16 = 7;
/// Acknowledged by nobody, by the leader, by all replicas in sync.
const ACKS: core::ops::RangeInclusive<i16> = -1..=1;

impl Broker {
    /// Handles a request. The answer comes later if there is none now.
    pub fn produce(
        &mut self,
        (request, version): (&ProduceRequest<'_>, i16),
        partitions: &[ProducePartition<'_>],
        waiter: Waiter,
        now: Now,
    ) -> Option<Response> {
        let ticket = self.ticket();
        let mut response = ProduceResponse::default();
        let (mut missing, mut failed) = (Vec::new(), false);
        for partition in partitions {
            let place = response.place_for(partition.topic);
            let done = self.append(request, version, partition, now);
            let outcome = match &done {
                Ok((at, appended)) => self.appended(*at, partition.partition, appended),
                Err(error) => ProduceOutcome { error: *error, ..unknown(partition.partition) },
            };
            failed |= done.is_err();
            response.push(place.0, outcome);
            if let Ok((at, appended)) = done {
                missing.push((at, WaitingBatch { end: appended.end, ticket, place }));
            }
        }
        if request.acks == 0 {
            return failed.then_some(Response::Close);
        }
        let missing = self.wait_for_batches(missing);
        if missing == 0 {
            return Some(Response::Produce(response));
        }
        let deadline = now.mono().plus_ms(u64::try_from(request.timeout_ms).unwrap_or(0));
        self.produces.insert(ticket, deadline, PendingProduce { waiter, response, missing });
        None
    }

    /// Enters batches that are not committed with their partitions. Gives how many.
    fn wait_for_batches(&mut self, batches: Vec<(usize, WaitingBatch)>) -> usize {
        let mut missing = 0;
        for (at, batch) in batches {
            let Some(hosted) = self.hosted_mut(at) else { continue };
            if batch.end > hosted.partition.high_watermark() {
                // A retry of an earlier batch waits for less than those before it.
                let behind = hosted.produces.partition_point(|other| other.end <= batch.end);
                hosted.produces.insert(behind, batch);
                missing += 1;
            }
        }
        missing
    }

    fn append(
        &mut self,
        request: &ProduceRequest<'_>,
        version: i16,
        partition: &ProducePartition<'_>,
        now: Now,
    ) -> Result<(usize, Appended), ErrorCode> {
        let (at, _) = self.find(partition.topic, partition.partition)?;
        let batch = only_batch(partition.records)?;
        if batch.attributes().compression() == Some(Compression::Zstd) && version < ZSTD {
            return Err(ErrorCode::UnsupportedCompressionType);
        }
        if !ACKS.contains(&request.acks) {
            return Err(ErrorCode::InvalidRequiredAcks);
        }
        if self.hosted(at).is_some_and(|hosted| is_internal(&hosted.topic)) {
            return Err(ErrorCode::InvalidTopic);
        }
        self.reserve(batch.bytes().len())?;
        let hosted = self.hosted_mut(at).ok_or(ErrorCode::NotLeaderOrFollower)?;
        let mut appended = hosted.partition.append(&batch, now.wall)?;
        if let Some(new) = appended.new.take() {
            self.store(at, new, now);
        }
        Ok((at, appended))
    }

    fn appended(&self, at: usize, index: i32, appended: &Appended) -> ProduceOutcome<'static> {
        let start = self.hosted(at).map_or(-1, |hosted| hosted.partition.start().0);
        ProduceOutcome {
            base_offset: appended.base.0,
            log_append_time: appended.append_time_ms,
            log_start_offset: start,
            ..unknown(index)
        }
    }

    /// Answers requests whose batches are all committed by now.
    pub(crate) fn answer_produces(&mut self, at: usize) {
        let Some(Some(hosted)) = self.hosted.get_mut(at) else { return };
        let committed = hosted.partition.high_watermark();
        while let Some(batch) = hosted.produces.pop_front_if(|batch| batch.end <= committed) {
            if let Some(pending) = self.produces.get_mut(batch.ticket) {
                pending.missing -= 1;
                if pending.missing == 0
                    && let Some(pending) = self.produces.remove(batch.ticket)
                {
                    self.done.push((pending.waiter, Response::Produce(pending.response)));
                }
            }
        }
    }

    /// A batch will not be committed here.
    pub(crate) fn fail_produce(&mut self, batch: WaitingBatch, error: ErrorCode) {
        let Some(pending) = self.produces.get_mut(batch.ticket) else { return };
        pending.response.fail(batch.place, error);
        pending.missing -= 1;
        if pending.missing == 0
            && let Some(pending) = self.produces.remove(batch.ticket)
        {
            self.done.push((pending.waiter, Response::Produce(pending.response)));
        }
    }

    /// Answers requests whose time is over. Their batches stay, and may be committed later.
    pub(crate) fn expire_produces(&mut self, now: Now) {
        while let Some(ticket) = self.produces.overdue(now.mono()) {
            let Some(mut pending) = self.produces.remove(ticket) else { break };
            for hosted in self.hosted.iter_mut().flatten() {
                hosted.produces.retain(|batch| {
                    let own = batch.ticket == ticket;
                    if own {
                        pending.response.set_error(batch.place, ErrorCode::RequestTimedOut);
                    }
                    !own
                });
            }
            self.done.push((pending.waiter, Response::Produce(pending.response)));
        }
    }
}

const fn unknown(partition: i32) -> ProduceOutcome<'static> {
    ProduceOutcome {
        partition,
        error: ErrorCode::None,
        base_offset: -1,
        log_append_time: -1,
        log_start_offset: -1,
        record_errors: &[],
        message: None,
        leader: None,
    }
}

/// The batch of a client for one partition: exactly one, whole and undamaged.
fn only_batch(records: Option<&[u8]>) -> Result<Batch<'_>, ErrorCode> {
    let records = records.filter(|records| !records.is_empty()).ok_or(ErrorCode::InvalidRecord)?;
    let (batch, rest) = Batch::read(records).map_err(error_of)?;
    if !rest.is_empty() {
        return Err(ErrorCode::InvalidRecord);
    }
    batch.verify().map_err(error_of)?;
    batch.check_from_client().map_err(error_of)?;
    Ok(batch)
}

const fn error_of(error: BatchError) -> ErrorCode {
    match error {
        BatchError::Length | BatchError::Checksum => ErrorCode::CorruptMessage,
        BatchError::Format(_) | BatchError::Invalid(_) => ErrorCode::InvalidRecord,
    }
}

impl ProduceResponse {
    /// Where the next outcome of a topic stands.
    fn place_for(&mut self, topic: TopicName<'_>) -> (usize, usize) {
        if self.topics.last().is_none_or(|(last, _)| last.name() != topic) {
            self.topics.push((TopicKey::of(topic), Vec::new()));
        }
        (self.topics.len() - 1, self.topics.last().map_or(0, |(_, outcomes)| outcomes.len()))
    }

    fn push(&mut self, topic: usize, outcome: ProduceOutcome<'static>) {
        if let Some((_, outcomes)) = self.topics.get_mut(topic) {
            outcomes.push(outcome);
        }
    }

    fn at(&mut self, (topic, partition): (usize, usize)) -> Option<&mut ProduceOutcome<'static>> {
        self.topics.get_mut(topic)?.1.get_mut(partition)
    }

    fn set_error(&mut self, place: (usize, usize), error: ErrorCode) {
        if let Some(outcome) = self.at(place) {
            outcome.error = error;
        }
    }

    fn fail(&mut self, place: (usize, usize), error: ErrorCode) {
        if let Some(outcome) = self.at(place) {
            *outcome = ProduceOutcome { error, ..unknown(outcome.partition) };
        }
    }
}
