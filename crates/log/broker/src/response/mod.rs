//! What a request is answered with, before it is bytes.

mod fetch;
mod leaders;
mod offsets;
mod produce;

use std::sync::Arc;

use log_wire::messages::Field;
use log_wire::{Api, TopicName, Writer};

use crate::outgoing::Outgoing;
use crate::segment_reader::SegmentReader;
pub use fetch::{FetchResponse, FetchedPartition};
pub(crate) use leaders::ToldBrokers;
pub(crate) use offsets::Lookup;
pub use offsets::OffsetsResponse;
pub(crate) use produce::Outcomes;
pub use produce::ProduceResponse;

/// What the header of a request says that its answer needs.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The API.
    pub api: &'static Api,
    /// The version of the answer.
    pub version: i16,
    /// What the client calls the request.
    pub correlation_id: i32,
    /// How long the client is to wait after it, milliseconds.
    pub throttle_ms: u64,
}

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

/// What an outcome of Produce takes, about.
const OUTCOME_BYTES: usize = 100;

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
    /// Not an answer to a request: a token of an authentication, as a frame without a header.
    Bare(Vec<u8>),
    /// None: a request that has no answer is done.
    Nothing,
    /// The connection is to be closed: an error of a request that has no answer.
    Close,
}

impl Response {
    /// About how many bytes it keeps until it is written; nothing if it is read from partitions only then, or if nothing comes
    /// behind it: the next request waits.
    pub(crate) fn bytes_kept(&self) -> Option<usize> {
        match self {
            Self::Produce(produce) => Some(produce.outcomes() * OUTCOME_BYTES),
            Self::Body(body) | Self::Bare(body) => Some(body.len()),
            Self::Nothing | Self::Close | Self::Fetch(_) | Self::Offsets(_) => None,
        }
    }

    /// Writes the body. A fetch gives at most so many bytes of batches, but for the first one.
    pub fn write<R: SegmentReader>(
        &self,
        Head { api, version, throttle_ms, .. }: Head,
        reader: &mut R,
        out: &mut Outgoing<R::File>,
        fetch_bytes_max: usize,
    ) {
        let flexible = api.is_flexible(version);
        match self {
            Self::Produce(produce) => produce.write(&mut out.writer(flexible), version, throttle_ms),
            Self::Fetch(fetch) => fetch.write(reader, out, (version, flexible), fetch_bytes_max),
            Self::Offsets(offsets) => {
                offsets.complete(reader).write(&mut out.writer(flexible), version);
            }
            Self::Body(body) | Self::Bare(body) => out.bytes().extend_from_slice(body),
            Self::Nothing | Self::Close => {}
        }
    }
}
