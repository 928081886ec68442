//! An answer to Fetch: its batches are read when it is written.

use log_partition::{PartitionId, Source};
use log_wire::{
    Batch, CurrentLeader, Divergence, ErrorCode, FetchOutcome, Writer, end_fetch_response,
    start_fetch_response, start_fetch_topic,
};

use super::TopicKey;
use crate::segment_reader::{SegmentFault, SegmentReader, read_source};

/// An answer to Fetch: partitions by topic, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct FetchResponse {
    pub(crate) error: ErrorCode,
    /// The session that the client goes on with; 0 for none.
    pub(crate) session_id: i32,
    pub(crate) topics: Vec<(TopicKey, Vec<FetchedPartition>)>,
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

    /// Reads the batches and writes the body, with at most so many bytes of batches but for the first ones.
    pub fn write(
        &self,
        reader: &mut impl SegmentReader,
        out: &mut Vec<u8>,
        (version, flexible): (i16, bool),
        bytes_max: usize,
    ) {
        let mut left = bytes_max;
        let mut batches = Vec::new();
        start_fetch_response(
            &mut Writer::new(out, flexible),
            version,
            0,
            self.error,
            self.session_id,
            self.topics.len(),
        );
        for (topic, partitions) in &self.topics {
            start_fetch_topic(&mut Writer::new(out, flexible), topic.name(), partitions.len());
            for partition in partitions {
                batches.clear();
                let nothing_yet = left == bytes_max;
                let mut error = partition.error;
                if left > 0 || nothing_yet {
                    let read = read_source(&partition.source, partition.id, reader, &mut batches);
                    error = read.map_or_else(SegmentFault::error, |()| error);
                }
                if batches.len() > left.min(partition.bytes_max) && !nothing_yet {
                    batches.clear();
                }
                left = left.saturating_sub(batches.len());
                partition.write(error, &batches, &mut Writer::new(out, flexible), version);
            }
            Writer::new(out, flexible).no_tagged_fields();
        }
        end_fetch_response(&mut Writer::new(out, flexible), version, &[]);
    }
}

impl FetchedPartition {
    fn write(&self, error: ErrorCode, batches: &[u8], writer: &mut Writer<'_>, version: i16) {
        let aborted = self.aborted.as_ref().map(|aborted| begun_in(aborted, batches));
        let outcome = FetchOutcome {
            partition: self.index,
            error,
            high_watermark: self.high_watermark,
            last_stable_offset: self.last_stable,
            log_start_offset: self.start,
            aborted: aborted.as_deref(),
            preferred_read_replica: -1,
            divergence: self.divergence,
            leader: self.leader,
        };
        outcome.start(writer, version, batches.len());
        writer.raw(batches);
        outcome.end(writer, version);
    }
}

/// Those of the aborted transactions that begin before the end of the batches. Where these end is known only once they are read.
fn begun_in(aborted: &[(i64, i64)], batches: &[u8]) -> Vec<(i64, i64)> {
    if aborted.is_empty() {
        return Vec::new();
    }
    let (mut rest, mut last) = (batches, -1);
    while let Ok((batch, behind)) = Batch::read(rest) {
        (rest, last) = (behind, batch.last_offset());
    }
    aborted.iter().filter(|(_, first)| *first <= last).copied().collect()
}
