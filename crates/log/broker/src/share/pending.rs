//! A ShareFetch or ShareAcknowledge that is not answered yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_coordinators::TopicId;
use log_share::{Acquired, SessionKey};
use log_wire::messages::Blob;
use log_wire::messages::share::{
    AcquiredRecords, ShareAcknowledgePartitionResponse, ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse, ShareFetchPartitionResponse, ShareFetchResponse, ShareFetchTopicResponse,
};
use log_wire::{ApiKey, ErrorCode};

use crate::client::Client;
use crate::response::{Form, Response};

/// A partition of a topic.
pub(super) type Place = (TopicId, i32);

/// What a request has come to for a partition.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) acknowledged: ErrorCode,
    pub(super) error: ErrorCode,
    pub(super) records: Vec<u8>,
    pub(super) acquired: Vec<Acquired>,
}

/// What a member wants to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) bytes_min: usize,
    pub(super) bytes_max: usize,
    pub(super) records_max: usize,
    pub(super) batch_size: usize,
    pub(super) is_strict: bool,
    /// Whether the time is over: what there is is given, and nothing is waited for.
    pub(super) is_over: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) api: ApiKey,
    pub(super) form: Form,
    pub(super) client: Arc<Client>,
    pub(super) session: SessionKey,
    /// Which request of its session it is.
    pub(super) turn: u32,
    pub(super) lock_ms: u64,
    pub(super) outcomes: BTreeMap<Place, Outcome>,
    /// Partitions whose acknowledgements are not durable.
    pub(super) open: BTreeSet<Place>,
    /// Nothing if it only acknowledges.
    pub(super) wanted: Option<Wanted>,
    /// The partitions in whose queues it is.
    pub(super) queued: BTreeSet<Place>,
    /// What is being read for it.
    pub(super) reading: Option<Place>,
    pub(super) bytes: usize,
    pub(super) records: usize,
}

impl Pending {
    /// Whether there is as much as was asked for, or something that is not to wait.
    pub(super) fn has_enough(&self, wanted: &Wanted) -> bool {
        let is_urgent = self.outcomes.values().any(|outcome| outcome.error != ErrorCode::None);
        is_urgent
            || self.records >= wanted.records_max
            || (self.records > 0 && self.bytes >= wanted.bytes_min.min(wanted.bytes_max))
    }

    /// The answer.
    pub(super) fn response(&self) -> Response {
        let lock_ms = i32::try_from(self.lock_ms).unwrap_or(i32::MAX);
        let by_topic = self.outcomes.iter().collect::<Vec<_>>();
        let by_topic = by_topic.chunk_by(|(one, _), (other, _)| one.0 == other.0);
        if self.api == ApiKey::ShareAcknowledge {
            let topics = by_topic.map(|of| ShareAcknowledgeTopicResponse {
                topic_id: of.first().map_or([0; 16], |(place, _)| place.0),
                partitions: of.iter().map(|(place, outcome)| acknowledged(place.1, outcome)).collect(),
            });
            return self.form.response(&ShareAcknowledgeResponse {
                acquisition_lock_timeout_ms: lock_ms,
                responses: topics.collect(),
                ..ShareAcknowledgeResponse::default()
            });
        }
        let topics = by_topic.map(|of| ShareFetchTopicResponse {
            topic_id: of.first().map_or([0; 16], |(place, _)| place.0),
            partitions: of.iter().map(|(place, outcome)| fetched(place.1, outcome)).collect(),
        });
        self.form.response(&ShareFetchResponse {
            acquisition_lock_timeout_ms: lock_ms,
            responses: topics.collect(),
            ..ShareFetchResponse::default()
        })
    }
}

/// The answer to a request of which nothing is done.
pub(super) fn refused(api: ApiKey, form: Form, error: ErrorCode) -> Response {
    let (error_code, error_message) = (error.code(), Some(String::from(why(error))));
    if api == ApiKey::ShareAcknowledge {
        form.response(&ShareAcknowledgeResponse { error_code, error_message, ..Default::default() })
    } else {
        form.response(&ShareFetchResponse { error_code, error_message, ..Default::default() })
    }
}

fn acknowledged(index: i32, outcome: &Outcome) -> ShareAcknowledgePartitionResponse {
    ShareAcknowledgePartitionResponse {
        partition_index: index,
        error_code: outcome.acknowledged.code(),
        error_message: message(outcome.acknowledged),
        ..ShareAcknowledgePartitionResponse::default()
    }
}

fn fetched(index: i32, outcome: &Outcome) -> ShareFetchPartitionResponse {
    let acquired = outcome.acquired.iter().map(|of| AcquiredRecords {
        first_offset: of.first,
        last_offset: of.last,
        delivery_count: of.delivery_count,
    });
    ShareFetchPartitionResponse {
        partition_index: index,
        error_code: outcome.error.code(),
        error_message: message(outcome.error),
        acknowledge_error_code: outcome.acknowledged.code(),
        acknowledge_error_message: message(outcome.acknowledged),
        records: Blob(outcome.records.clone()),
        acquired_records: acquired.collect(),
        ..ShareFetchPartitionResponse::default()
    }
}

fn message(error: ErrorCode) -> Option<String> {
    (error != ErrorCode::None).then(|| String::from(why(error)))
}

/// What a person reads in the log of the client.
const fn why(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::InvalidRecordState => "the member does not have these records any more",
        ErrorCode::InvalidRequest => "the request is not in order",
        ErrorCode::ShareSessionNotFound => "there is no such share session: begin another one",
        ErrorCode::InvalidShareSessionEpoch => "the share session has another epoch: begin another one",
        ErrorCode::ShareSessionLimitReached => "there are as many share sessions as there may be",
        ErrorCode::GroupAuthorizationFailed | ErrorCode::TopicAuthorizationFailed => {
            "the client has no right to"
        }
        ErrorCode::UnknownTopicId | ErrorCode::UnknownTopicOrPartition => "there is no such partition",
        ErrorCode::RequestTimedOut => "it was not durable in time",
        _ => "it cannot be done at the moment",
    }
}
