//! DeleteRecords: a log begins later than before. It is answered when that is durable on so many replicas that every later leader
//! learns of it: what is gone stays gone (L69).
//!
//! That an offset is beyond the end of a partition is said once the other replicas have answered that it is led here still: a leader that
//! has a successor, and does not know, lacks what is there.

use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_partition::Offset;
use log_wire::messages::topics::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopicResult,
};
use log_wire::{ApiKey, ErrorCode, Malformed, TopicName};
use net_event_loop::ConnId;
use replication_appointed::Round;

use crate::call::{Call, Handled};
use crate::node::Node;
use crate::partitions::{BySlot, Slot};
use crate::response::{Form, Response};
use crate::rights::{By, TOPIC_DELETE};
use crate::waits::{Waiter, Waits};

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::DeleteRecords];

/// How long an answer is waited for at least, milliseconds. For Kafka deletion takes no time, so its clients may give none.
const WAIT_MS_MIN: i32 = 1_000;
/// The low watermark where there is an error.
const NO_WATERMARK: i64 = -1;

/// A partition of a request that has no result yet: where that stands, and what it waits for.
#[derive(Debug)]
struct Open {
    place: (usize, usize),
    slot: Slot,
    awaited: Awaited,
}

#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// Records before that are deleted for good.
    Deleted(Offset),
    /// The partition was led here when the question of that round was asked: the offset is beyond its end.
    Led(Round),
}

#[derive(Debug)]
struct Pending {
    form: Form,
    response: DeleteRecordsResponse,
    open: Vec<Open>,
}

/// Requests that wait. See the module.
#[derive(Debug, Default)]
pub(crate) struct RecordDeletions {
    waits: Waits<Pending>,
    waiting: BySlot<Vec<Waiter>>,
}

impl RecordDeletions {
    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(&mut self, node: &mut Node, mut call: Call<'_>) -> Result<Handled, Malformed> {
        let (request, by) = (call.body()?, call.by());
        Ok(Handled::of(self.delete_records(node, by, &request, (call.form, call.waiter), call.now)))
    }

    fn delete_records(
        &mut self,
        node: &mut Node,
        by: By<'_>,
        request: &DeleteRecordsRequest,
        (form, waiter): (Form, Waiter),
        now: Now,
    ) -> Option<Response> {
        // A partition that is named more than once is judged by the last offset.
        let mut wanted = BTreeMap::<&str, BTreeMap<i32, i64>>::new();
        for topic in request.topics.iter().filter(|topic| !topic.partitions.is_empty()) {
            let of_topic = wanted.entry(&topic.name).or_default();
            of_topic.extend(topic.partitions.iter().map(|of| (of.partition_index, of.offset)));
        }
        let (mut response, mut open) = (DeleteRecordsResponse::default(), Vec::new());
        for (name, partitions) in wanted {
            let may = node.may(by, TOPIC_DELETE, name);
            let mut topic = DeleteRecordsTopicResult { name: name.into(), partitions: Vec::new() };
            for (partition_index, offset) in partitions {
                let place = (response.topics.len(), topic.partitions.len());
                let judged = may.and_then(|()| node.delete_records(name, partition_index, Offset(offset)));
                let mut result = DeleteRecordsPartitionResult {
                    partition_index,
                    low_watermark: NO_WATERMARK,
                    error_code: 0,
                };
                match judged {
                    Ok((slot, before)) => match node.partitions.low_watermark(slot, before) {
                        Some(low_watermark) => result.low_watermark = low_watermark.0,
                        None => open.push(Open { place, slot, awaited: Awaited::Deleted(before) }),
                    },
                    Err(ErrorCode::OffsetOutOfRange)
                        if let Some((slot, round)) = node.confirm(name, partition_index) =>
                    {
                        open.push(Open { place, slot, awaited: Awaited::Led(round) });
                    }
                    Err(error) => result.error_code = error.code(),
                }
                topic.partitions.push(result);
            }
            response.topics.push(topic);
        }
        if open.is_empty() {
            return Some(form.response(&response));
        }
        open.iter().for_each(|open| self.waiting.of(open.slot).push(waiter));
        let wait_ms = u64::from(request.timeout_ms.max(WAIT_MS_MIN).unsigned_abs());
        self.waits.insert(waiter, now.mono().plus_ms(wait_ms), Pending { form, response, open });
        None
    }

    /// More records of a partition are deleted for good.
    pub(crate) fn deleted(&mut self, node: &mut Node, slot: Slot) {
        self.settle(node, slot, |node, open| match open.awaited {
            Awaited::Deleted(before) => {
                node.partitions.low_watermark(slot, before).map(|low| (low.0, ErrorCode::None))
            }
            Awaited::Led(_) => None,
        });
    }

    /// A partition was still led here when that was asked.
    pub(crate) fn confirmed(&mut self, node: &mut Node, slot: Slot) {
        self.settle(node, slot, |node, open| match open.awaited {
            Awaited::Led(round) if node.partitions.is_confirmed(slot, round) => {
                Some((NO_WATERMARK, ErrorCode::OffsetOutOfRange))
            }
            _ => None,
        });
    }

    /// A partition is gone.
    pub(crate) fn gone(&mut self, node: &mut Node, slot: Slot) {
        self.settle(node, slot, |_, _| Some((NO_WATERMARK, ErrorCode::NotLeaderOrFollower)));
    }

    /// Ends what waits for a partition and can be ended.
    fn settle(
        &mut self,
        node: &mut Node,
        slot: Slot,
        end: impl Fn(&Node, &Open) -> Option<(i64, ErrorCode)>,
    ) {
        for waiter in std::mem::take(self.waiting.of(slot)) {
            let Some(pending) = self.waits.get_mut(waiter) else { continue };
            let Pending { response, open, .. } = pending;
            let mut stays = false;
            open.retain(|open| {
                let ended = if open.slot == slot { end(node, open) } else { None };
                let Some((low_watermark, error)) = ended else {
                    stays |= open.slot == slot;
                    return true;
                };
                if let Some(result) = result_at(response, open.place) {
                    (result.low_watermark, result.error_code) = (low_watermark, error.code());
                }
                false
            });
            let is_done = open.is_empty();
            if is_done && let Some(pending) = self.waits.remove(waiter) {
                node.reply(waiter, pending.form.response(&pending.response));
            }
            if stays {
                self.waiting.of(slot).push(waiter);
            }
        }
    }

    /// Answers requests whose time is over. What they asked for is done, or will be.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, mut pending)) = self.waits.pop_overdue(now.mono()) {
            for open in &pending.open {
                self.waiting.of(open.slot).retain(|other| *other != waiter);
                if let Some(result) = result_at(&mut pending.response, open.place) {
                    result.error_code = ErrorCode::RequestTimedOut.code();
                }
            }
            node.reply(waiter, pending.form.response(&pending.response));
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while let Some((waiter, pending)) = self.waits.pop_of(shard, conn) {
            for open in &pending.open {
                self.waiting.of(open.slot).retain(|other| *other != waiter);
            }
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.waits.next_deadline()
    }
}

fn result_at(
    response: &mut DeleteRecordsResponse,
    (topic, partition): (usize, usize),
) -> Option<&mut DeleteRecordsPartitionResult> {
    response.topics.get_mut(topic)?.partitions.get_mut(partition)
}

impl Node {
    /// Asks whether a partition is still led here, if another broker may lead it.
    fn confirm(&mut self, topic: &str, index: i32) -> Option<(Slot, Round)> {
        let (slot, _) = self.find(TopicName::Name(topic), index).ok()?;
        Some((slot, self.partitions.confirm(slot)?))
    }

    /// Deletes the records of a partition before an offset. Gives its place and the offset.
    fn delete_records(
        &mut self,
        topic: &str,
        index: i32,
        before: Offset,
    ) -> Result<(Slot, Offset), ErrorCode> {
        let image = self.catalog.find(TopicName::Name(topic))?;
        let has_partition = usize::try_from(index).is_ok_and(|index| index < image.partitions.len());
        if !has_partition {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        if image.is_internal() {
            return Err(ErrorCode::InvalidTopic);
        }
        let config = self.topic_config(&image.settings);
        let (slot, _) = self.find(TopicName::Name(topic), index)?;
        if config.compacts && !config.deletes {
            return Err(ErrorCode::PolicyViolation);
        }
        Ok((slot, self.partitions.delete_records(slot, before)?))
    }
}
