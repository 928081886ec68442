//! What a request is answered with, before it is bytes.

use std::sync::Arc;

use log_partition::{PartitionId, Source};
use log_wire::messages::Field;
use log_wire::{
    CurrentLeader, Divergence, ErrorCode, FetchOutcome, ProduceOutcome, TopicName, Writer,
    end_fetch_response, start_fetch_response, start_fetch_topic, write_produce_response,
};

use crate::front::Head;
use crate::offsets::OffsetsResponse;
use crate::segment_reader::{SegmentReader, read_source};

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The version.
    pub version: i16,
    /// Whether it is a flexible one.
    pub flexible: bool,
}

impl Form {
    /// The answer with this body.
    #[must_use]
    pub fn response(self, body: &impl Field) -> Response {
        let mut out = Vec::new();
        body.write(&mut Writer::new(&mut out, self.flexible), self.version);
        Response::Body(out)
    }
}

/// How a request named a topic, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicKey {
    /// By its name.
    Name(Arc<str>),
    /// By its id.
    Id([u8; 16]),
}

impl TopicKey {
    pub(crate) fn of(name: TopicName<'_>) -> Self {
        match name {
            TopicName::Name(name) => Self::Name(name.into()),
            TopicName::Id(id) => Self::Id(id),
        }
    }

    /// As the protocol names it.
    #[must_use]
    pub fn name(&self) -> TopicName<'_> {
        match self {
            Self::Name(name) => TopicName::Name(name),
            Self::Id(id) => TopicName::Id(*id),
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Response {
    /// To Produce.
    Produce(ProduceResponse),
    /// To Fetch.
    Fetch(FetchResponse),
    /// To ListOffsets.
    Offsets(OffsetsResponse),
    /// Any other: its body.
    Body(Vec<u8>),
    /// The connection is to be closed: an error of a request that has no answer.
    Close,
}

impl Response {
    /// Writes the body. A fetch gives at most so many bytes of batches, but for the first one.
    pub fn write(
        &self,
        Head { api, version, .. }: Head,
        reader: &mut impl SegmentReader,
        out: &mut Vec<u8>,
        fetch_bytes_max: usize,
    ) {
        let flexible = api.is_flexible(version);
        match self {
            Self::Produce(produce) => produce.write(&mut Writer::new(out, flexible), version),
            Self::Fetch(fetch) => fetch.write(reader, out, (version, flexible), fetch_bytes_max),
            Self::Offsets(offsets) => {
                offsets.complete(reader).write(&mut Writer::new(out, flexible), version);
            }
            Self::Body(body) => out.extend_from_slice(body),
            Self::Close => {}
        }
    }
}

/// An answer to Produce: outcomes by topic, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct ProduceResponse {
    pub(crate) topics: Vec<(TopicKey, Vec<ProduceOutcome<'static>>)>,
}

impl ProduceResponse {
    /// Writes the body.
    pub fn write(&self, writer: &mut Writer<'_>, version: i16) {
        let topics: Vec<_> =
            self.topics.iter().map(|(topic, outcomes)| (topic.name(), outcomes.as_slice())).collect();
        write_produce_response(writer, version, &topics, 0, &[]);
    }
}

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
    /// First offsets of aborted transactions, by producer, with the offsets of their markers; nothing for a client that reads
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
                if left > 0 || nothing_yet {
                    read_source(&partition.source, partition.id, reader, &mut batches);
                }
                if batches.len() > left.min(partition.bytes_max) && !nothing_yet {
                    batches.clear();
                }
                left = left.saturating_sub(batches.len());
                partition.write(&batches, &mut Writer::new(out, flexible), version);
            }
            Writer::new(out, flexible).no_tagged_fields();
        }
        end_fetch_response(&mut Writer::new(out, flexible), version, &[]);
    }
}

impl FetchedPartition {
    fn write(&self, batches: &[u8], writer: &mut Writer<'_>, version: i16) {
        let outcome = FetchOutcome {
            partition: self.index,
            error: self.error,
            high_watermark: self.high_watermark,
            last_stable_offset: self.last_stable,
            log_start_offset: self.start,
            aborted: self.aborted.as_deref(),
            preferred_read_replica: -1,
            divergence: self.divergence,
            leader: self.leader,
        };
        outcome.start(writer, version, batches.len());
        writer.raw(batches);
        outcome.end(writer, version);
    }
}
