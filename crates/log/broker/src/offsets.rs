//! ListOffsets and OffsetForLeaderEpoch.

use std::collections::BTreeMap;

use log_partition::{Isolation, LeaderEpoch, PartitionId, TimeLookup};
use log_wire::messages::offsets::{
    EpochEndOffset, ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest,
    ListOffsetsResponse, ListOffsetsTopicResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition, OffsetForLeaderTopicResult,
};
use log_wire::{ApiKey, ErrorCode, Malformed, TopicName};

use crate::call::{Call, Handled};
use crate::node::Node;
use crate::response::{Lookup, OffsetsResponse, Response};
use crate::rights::{By, TOPIC_DESCRIBE, TOPIC_FOLLOW};

/// Times that are none, and the first version that knows each.
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const HIGHEST: i64 = -3;
const HIGHEST_FROM: i16 = 7;
const EARLIEST_LOCAL: i64 = -4;
const EARLIEST_LOCAL_FROM: i16 = 8;
const LAST_TIERED: i64 = -5;
const LAST_TIERED_FROM: i16 = 9;
const EARLIEST_PENDING: i64 = -6;
const EARLIEST_PENDING_FROM: i16 = 11;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::ListOffsets, ApiKey::OffsetForLeaderEpoch];

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(node: &Node, key: ApiKey, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let (form, by) = (call.form, call.by());
    Ok(Handled::Done(match key {
        ApiKey::ListOffsets => Response::Offsets(node.list_offsets(by, &call.body()?, form.version)),
        _ => form.response(&node.offset_for_leader_epoch(by, &call.body()?)),
    }))
}

impl Node {
    /// Handles a request.
    fn list_offsets(&self, by: By<'_>, request: &ListOffsetsRequest, version: i16) -> OffsetsResponse {
        let isolation =
            if request.isolation_level == 1 { Isolation::ReadCommitted } else { Isolation::ReadUncommitted };
        let mut answer = OffsetsResponse { response: ListOffsetsResponse::default(), lookups: Vec::new() };
        // Of a topic without partitions only a client that may not see it is told.
        let judged = request.topics.iter().map(|topic| (topic, self.may(by, TOPIC_DESCRIBE, &topic.name)));
        let judged = judged.filter(|(topic, may)| may.is_err() || !topic.partitions.is_empty());
        for (at, (topic, may)) in judged.enumerate() {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            let mut times = BTreeMap::<i32, usize>::new();
            topic.partitions.iter().for_each(|wanted| *times.entry(wanted.partition_index).or_default() += 1);
            for (index, wanted) in topic.partitions.iter().enumerate() {
                let found = may.and_then(|()| match times.get(&wanted.partition_index) {
                    Some(1) => self.offset_of(&topic.name, wanted, version, isolation),
                    _ => Err(ErrorCode::InvalidRequest),
                });
                let (partition, lookup) = found.unwrap_or_else(|error| (failed(wanted, error), None));
                answer.lookups.extend(lookup.map(|(id, lookup)| Lookup { place: (at, index), id, lookup }));
                partitions.push(partition);
            }
            answer.response.topics.push(ListOffsetsTopicResponse { name: topic.name.clone(), partitions });
        }
        answer
    }

    fn offset_of(
        &self,
        topic: &str,
        wanted: &ListOffsetsPartition,
        version: i16,
        isolation: Isolation,
    ) -> Result<(ListOffsetsPartitionResponse, Option<(PartitionId, TimeLookup)>), ErrorCode> {
        // What a version does not have is refused before the partition is looked for.
        if !has_time(wanted.timestamp, version) {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let (_, hosted) = self.find(TopicName::Name(topic), wanted.partition_index)?;
        let (id, partition) = (hosted.id, &hosted.partition);
        partition.check_epoch(LeaderEpoch(wanted.current_leader_epoch))?;
        let epoch = partition.epoch().0;
        let mut answer = failed(wanted, ErrorCode::None);
        let lookup = match wanted.timestamp {
            LATEST => {
                (answer.offset, answer.leader_epoch) = (partition.readable_end(isolation).0, epoch);
                return Ok((answer, None));
            }
            EARLIEST => {
                let start = partition.shown_start();
                answer.offset = start.0;
                // The epoch of records that are being deleted is not known any more.
                if start >= partition.start() {
                    answer.leader_epoch = partition.epochs().epoch_at(start).map_or(epoch, |first| first.0);
                }
                return Ok((answer, None));
            }
            EARLIEST_LOCAL => {
                (answer.offset, answer.leader_epoch) = (partition.shown_start().0, epoch);
                return Ok((answer, None));
            }
            LAST_TIERED | EARLIEST_PENDING => return Ok((answer, None)),
            HIGHEST => partition.look_for_newest(isolation),
            time => Some(partition.look_for_time(time, isolation)),
        };
        Ok((answer, lookup.map(|lookup| (id, lookup))))
    }

    /// Handles a request.
    fn offset_for_leader_epoch(
        &self,
        by: By<'_>,
        request: &OffsetForLeaderEpochRequest,
    ) -> OffsetForLeaderEpochResponse {
        let topics = request.topics.iter().map(|topic| {
            let may = self.may(by, TOPIC_FOLLOW, &topic.topic);
            let end = |wanted| self.epoch_end(may, &topic.topic, wanted);
            OffsetForLeaderTopicResult {
                topic: topic.topic.clone(),
                partitions: topic.partitions.iter().map(end).collect(),
            }
        });
        OffsetForLeaderEpochResponse { topics: topics.collect(), ..OffsetForLeaderEpochResponse::default() }
    }

    fn epoch_end(
        &self,
        may: Result<(), ErrorCode>,
        topic: &str,
        wanted: &OffsetForLeaderPartition,
    ) -> EpochEndOffset {
        let mut answer = EpochEndOffset { partition: wanted.partition, ..EpochEndOffset::default() };
        let found =
            may.and_then(|()| self.find(TopicName::Name(topic), wanted.partition)).and_then(|(_, hosted)| {
                hosted.partition.check_epoch(LeaderEpoch(wanted.current_leader_epoch))?;
                Ok(&hosted.partition)
            });
        match found {
            Ok(partition) => {
                if let Some(end) = partition.epochs().end_of(LeaderEpoch(wanted.leader_epoch)) {
                    (answer.leader_epoch, answer.end_offset) = (end.epoch.0, end.end.0);
                }
            }
            Err(error) => answer.error_code = error.code(),
        }
        answer
    }
}

/// Whether a version of ListOffsets has that time: a time of records, or one of those with a meaning of their own.
const fn has_time(time: i64, version: i16) -> bool {
    match time {
        LATEST | EARLIEST => true,
        HIGHEST => version >= HIGHEST_FROM,
        EARLIEST_LOCAL => version >= EARLIEST_LOCAL_FROM,
        LAST_TIERED => version >= LAST_TIERED_FROM,
        EARLIEST_PENDING => version >= EARLIEST_PENDING_FROM,
        time => time >= 0,
    }
}

fn failed(wanted: &ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: wanted.partition_index,
        error_code: error.code(),
        ..ListOffsetsPartitionResponse::default()
    }
}
