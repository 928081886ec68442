//! A ShareFetch or ShareAcknowledge that is not answered yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_coordinators::TopicId;
use log_share::{Acquired, SessionKey};
use log_wire::messages::Blob;
use log_wire::messages::share::{
    AcquiredRecords, ShareAcknowledgePartitionResponse, ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse, ShareFetchPartitionResponse, ShareFetchResponse, ShareFetchTopicResponse,
    ShareLeader,
};
use log_wire::{ApiKey, ErrorCode, TopicName};

use crate::client::Client;
use crate::node::Node;
use crate::response::{Form, Response, ToldBrokers};

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
    /// The partition of which the other replicas have just said that it is led here.
    pub(super) led: Option<Place>,
    /// It was given the time that a write may take, behind its own.
    pub(super) has_longer: bool,
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
    pub(super) fn response(&self, node: &Node) -> Response {
        let acquisition_lock_timeout_ms = i32::try_from(self.lock_ms).unwrap_or(i32::MAX);
        let mut leaders = ToldBrokers::default();
        if self.api == ApiKey::ShareAcknowledge {
            let responses = self.by_topic(|place, outcome| {
                acknowledged(place.1, outcome, self.leader(node, &mut leaders, place, outcome.acknowledged))
            });
            let topic = |(topic_id, partitions)| ShareAcknowledgeTopicResponse { topic_id, partitions };
            return self.form.response(&ShareAcknowledgeResponse {
                acquisition_lock_timeout_ms,
                responses: responses.into_iter().map(topic).collect(),
                node_endpoints: leaders.into_share_endpoints(),
                ..ShareAcknowledgeResponse::default()
            });
        }
        let responses = self.by_topic(|place, outcome| {
            fetched(place.1, outcome, self.leader(node, &mut leaders, place, outcome.error))
        });
        let topic = |(topic_id, partitions)| ShareFetchTopicResponse { topic_id, partitions };
        self.form.response(&ShareFetchResponse {
            acquisition_lock_timeout_ms,
            responses: responses.into_iter().map(topic).collect(),
            node_endpoints: leaders.into_share_endpoints(),
            ..ShareFetchResponse::default()
        })
    }

    /// What the answer says of each partition, by topic.
    fn by_topic<P>(&self, mut told: impl FnMut(&Place, &Outcome) -> P) -> Vec<(TopicId, Vec<P>)> {
        let mut topics: Vec<(TopicId, Vec<P>)> = Vec::new();
        for (place, outcome) in &self.outcomes {
            if topics.last().is_none_or(|(topic, _)| *topic != place.0) {
                topics.push((place.0, Vec::new()));
            }
            if let Some((_, partitions)) = topics.last_mut() {
                partitions.push(told(place, outcome));
            }
        }
        topics
    }

    /// Who leads a partition, if that is what is wrong.
    fn leader(&self, node: &Node, leaders: &mut ToldBrokers, place: &Place, error: ErrorCode) -> ShareLeader {
        let of = (TopicName::Id(place.0), place.1);
        let leader = node.tell_leader(leaders, self.client.listener, of, error);
        leader.map_or_else(ShareLeader::default, |leader| ShareLeader {
            leader_id: leader.id,
            leader_epoch: leader.epoch,
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

fn acknowledged(
    index: i32,
    outcome: &Outcome,
    current_leader: ShareLeader,
) -> ShareAcknowledgePartitionResponse {
    ShareAcknowledgePartitionResponse {
        partition_index: index,
        error_code: outcome.acknowledged.code(),
        error_message: message(outcome.acknowledged),
        current_leader,
    }
}

fn fetched(index: i32, outcome: &Outcome, current_leader: ShareLeader) -> ShareFetchPartitionResponse {
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
        current_leader,
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
