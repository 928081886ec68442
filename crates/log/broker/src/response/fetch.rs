//! An answer to Fetch: its batches are read when it is written.

use bytes::Bytes;
use log_partition::{PartitionId, Source};
use log_storage::SegmentRange;
use log_wire::{
    CurrentLeader, Divergence, ErrorCode, FetchOutcome, end_fetch_response, start_fetch_response,
    start_fetch_topic,
};

use super::{ToldBrokers, TopicKey};
use crate::outgoing::Outgoing;
use crate::segment_reader::{SegmentFault, SegmentReader};

/// An answer to Fetch: partitions by topic, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct FetchResponse {
    pub(crate) error: ErrorCode,
    /// The session that the client goes on with; 0 for none.
    pub(crate) session_id: i32,
    pub(crate) topics: Vec<(TopicKey, Vec<FetchedPartition>)>,
    /// Where the leaders are that partitions name.
    pub(crate) leaders: ToldBrokers,
}

/// What a partition gives.
#[derive(Clone, Debug)]
pub struct FetchedPartition {
    pub(crate) id: PartitionId,
    pub(crate) index: i32,
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: i64,
    pub(crate) last_stable: i64,
    pub(crate) start: i64,
    /// Producers and first offsets of aborted transactions that may overlap with the batches; nothing for a client that reads
    /// all.
    pub(crate) aborted: Option<Vec<(i64, i64)>>,
    pub(crate) divergence: Option<Divergence>,
    pub(crate) leader: Option<CurrentLeader>,
    /// The replica that the client had better ask: it stands where the client does.
    pub(crate) nearest: Option<i32>,
    /// More bytes of batches are not given.
    pub(crate) bytes_max: usize,
    pub(crate) source: Source,
}

impl FetchedPartition {
    pub(crate) const fn failed(index: i32, error: ErrorCode) -> Self {
        Self {
            id: PartitionId { topic: [0; 16], index },
            index,
            error,
            high_watermark: -1,
            last_stable: -1,
            start: -1,
            aborted: None,
            divergence: None,
            leader: None,
            nearest: None,
            bytes_max: usize::MAX,
            source: Source::Nothing,
        }
    }
}

impl FetchResponse {
    /// The whole request failed.
    pub(crate) fn failed(error: ErrorCode) -> Self {
        Self { error, ..Self::default() }
    }

    /// Looks for the batches and writes the body, with at most so many bytes of batches but for the first ones.
    pub(crate) fn write<R: SegmentReader>(
        &self,
        reader: &mut R,
        out: &mut Outgoing<R::File>,
        (version, flexible): (i16, bool),
        bytes_max: usize,
    ) {
        let mut left = bytes_max;
        let topics = self.topics.len();
        start_fetch_response(&mut out.writer(flexible), version, 0, self.error, self.session_id, topics);
        for (topic, partitions) in &self.topics {
            start_fetch_topic(&mut out.writer(flexible), topic.name(), partitions.len());
            for partition in partitions {
                let is_first = left == bytes_max;
                let most = if is_first { usize::MAX } else { left.min(partition.bytes_max) };
                let found = partition.batches(reader, most);
                left = left.saturating_sub(partition.write(found, reader, out, (version, flexible)));
            }
            out.writer(flexible).no_tagged_fields();
        }
        end_fetch_response(&mut out.writer(flexible), version, &self.leaders.endpoints());
    }
}

/// Where the batches of a partition stand.
enum Batches<'s, F> {
    Nothing,
    Memory(&'s [Bytes]),
    File(SegmentRange<F>),
}

impl<F> Batches<'_, F> {
    fn length(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Memory(batches) => batches.iter().map(Bytes::len).sum(),
            Self::File(range) => range.length as usize,
        }
    }
}

impl FetchedPartition {
    /// The batches, unless they are more than so many bytes.
    fn batches<R: SegmentReader>(
        &self,
        reader: &mut R,
        bytes_max: usize,
    ) -> Result<Batches<'_, R::File>, SegmentFault> {
        let batches = match &self.source {
            Source::Segment(read) if bytes_max > 0 => {
                reader.range(self.id, read)?.map_or(Batches::Nothing, Batches::File)
            }
            Source::Memory(batches) => Batches::Memory(batches),
            Source::Segment(_) | Source::Nothing => Batches::Nothing,
        };
        Ok(if batches.length() > bytes_max { Batches::Nothing } else { batches })
    }

    /// Writes the partition with its batches, or why they cannot be read. Gives how many bytes of batches it has.
    fn write<R: SegmentReader>(
        &self,
        found: Result<Batches<'_, R::File>, SegmentFault>,
        reader: &mut R,
        out: &mut Outgoing<R::File>,
        (version, flexible): (i16, bool),
    ) -> usize {
        let begin = out.bytes().len();
        let written = found.and_then(|batches| {
            let length = batches.length();
            self.outcome(self.error).start(&mut out.writer(flexible), version, length);
            match batches {
                Batches::Nothing => {}
                Batches::Memory(batches) => {
                    batches.iter().for_each(|batch| out.bytes().extend_from_slice(batch));
                }
                Batches::File(range) if out.takes_part(range.length) => out.part(range),
                Batches::File(range) => reader.copy(&range, out.bytes())?,
            }
            Ok(length)
        });
        let written = written.unwrap_or_else(|fault: SegmentFault| {
            out.bytes().truncate(begin);
            self.outcome(fault.error()).start(&mut out.writer(flexible), version, 0);
            0
        });
        self.outcome(self.error).end(&mut out.writer(flexible), version);
        written
    }

    fn outcome(&self, error: ErrorCode) -> FetchOutcome<'_> {
        FetchOutcome {
            partition: self.index,
            error,
            high_watermark: self.high_watermark,
            last_stable_offset: self.last_stable,
            log_start_offset: self.start,
            aborted: self.aborted.as_deref(),
            preferred_read_replica: self.nearest.unwrap_or(-1),
            divergence: self.divergence,
            leader: self.leader,
        }
    }
}
