//! The wire of Kafka: primitive types, request headers, error codes, record batches of format 2, and the messages of
//! every client's main path.
//!
//! Decoding borrows from the bytes it reads and is bounded by them: no length that a peer writes makes this crate allocate or
//! loop beyond what is there. Encoding appends to a byte vector that the caller keeps and reuses.
//!
//! This crate knows the shape of messages and nothing of their meaning: which topics exist, who leads them and what may be
//! appended is decided above.
//!
//! The bodies of ApiVersions, Metadata, Produce and Fetch borrow from the request; all others are in [`messages`].
//!
//! # Not done, and what that costs
//! Share groups, delegation tokens and the changes of a KRaft quorum's voters have no bodies here.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

mod api;
mod api_versions;
mod batch;
mod batch_builder;
mod batch_head;
mod batch_rewrite;
mod error;
mod fetch;
mod frame;
mod header;
pub mod messages;
mod metadata;
mod produce;
mod reader;
mod record;
mod topic_name;
mod varint;
mod writer;

pub use api::{Api, ApiKey};
pub use api_versions::{ApiVersionsRequest, Feature, Features, ServedApi, write_api_versions_response};
pub use batch::{
    Attributes, BATCH_HEADER_BYTES, Batch, BatchError, Compression, Producer, TimestampType,
    stamp_append_time,
};
pub use batch_builder::BatchBuilder;
pub use batch_head::BatchHead;
pub use batch_rewrite::{RecordsHead, set_attributes, set_max_timestamp, write_record};
pub use error::{ErrorCode, Malformed};
pub use fetch::{
    Divergence, FetchOutcome, FetchPartition, FetchRequest, end_fetch_response, start_fetch_response,
    start_fetch_topic,
};
pub use frame::{FRAME_HEADER, Frame, end_frame, next_frame, start_frame, write_frame_length};
pub use header::{RequestHeader, write_response_header};
pub use metadata::{
    MetadataHead, MetadataPartition, MetadataRequest, MetadataTopic, MetadataTopicHead, NOT_ASKED,
    end_metadata_response, end_metadata_topic,
};
pub use produce::{
    CurrentLeader, NodeEndpoint, ProduceOutcome, ProducePartition, ProduceRequest, write_produce_response,
};
pub use reader::{Reader, TaggedFields};
pub use record::{Header, Record, Records};
pub use topic_name::TopicName;
pub use writer::Writer;
