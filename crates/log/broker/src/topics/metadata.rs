//! Metadata: brokers, topics and who leads their partitions; topics that are asked for may be made by that.

use std::collections::BTreeSet;

use log_access::acl::ResourceType;
use log_metadata::PartitionNode;
use log_wire::{
    ErrorCode, Malformed, MetadataHead, MetadataPartition, MetadataRequest, MetadataTopic, MetadataTopicHead,
    NOT_ASKED, NodeEndpoint, TopicName, Writer, end_metadata_response, end_metadata_topic,
};

use crate::brokers::LiveBroker;
use crate::call::Call;
use crate::catalog::{TopicImage, is_internal, is_valid_name};
use crate::client::Client;
use crate::in_sync::ReplicaStates;
use crate::node::Node;
use crate::response::Response;
use crate::rights::{By, TOPIC_CREATE, TOPIC_DESCRIBE};
use crate::topics::metadata_names::{refused, select};

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(super) fn answer(node: &mut Node, mut call: Call<'_>) -> Result<Response, Malformed> {
    let mut topics = Vec::new();
    let version = call.form.version;
    let request = MetadataRequest::read(&mut call.body, version, &mut topics)?;
    if select(&mut topics, version).is_err() {
        return Ok(refused(&topics, call.form));
    }
    // Each is answered once: a small request that names a large topic very often would have a huge answer.
    let mut named = BTreeSet::new();
    topics.retain(|topic| named.insert((topic.name, topic.id)));
    let mut out = Vec::new();
    let writer = (&mut Writer::new(&mut out, call.form.flexible), version);
    node.metadata(&request, &topics, call.by(), writer);
    Ok(Response::Body(out))
}

/// A topic that is answered with an error, and what the client may do with it. As by Kafka, that is left out where it may not see
/// or make the topic, or named it by an id that none has.
struct Unwritten {
    error: ErrorCode,
    operations: i32,
}

impl From<ErrorCode> for Unwritten {
    fn from(error: ErrorCode) -> Self {
        Self { error, operations: NOT_ASKED }
    }
}

impl Node {
    /// Writes the body of a response.
    fn metadata(
        &mut self,
        request: &MetadataRequest,
        topics: &[MetadataTopic<'_>],
        by: By<'_>,
        (writer, version): (&mut Writer<'_>, i16),
    ) {
        if request.all_topics {
            let may_see = |topic: &&TopicImage| self.may(by, TOPIC_DESCRIBE, &topic.name).is_ok();
            let seen: Vec<&TopicImage> = self.catalog.topics().filter(may_see).collect();
            self.write_head(by.client, seen.len(), (writer, version));
            for topic in seen {
                let operations = self.asked_operations(request, by, &topic.name);
                self.write_topic(topic, operations, (writer, version));
            }
        } else {
            self.write_head(by.client, topics.len(), (writer, version));
            for topic in topics {
                if let Err(Unwritten { error, operations }) =
                    self.asked_for(request, topic, by, (writer, version))
                {
                    write_failed(topic, error, operations, (writer, version));
                }
            }
        }
        let operations = request.cluster_operations.then(|| self.cluster_operations(by.client));
        end_metadata_response(writer, version, operations.unwrap_or(NOT_ASKED), ErrorCode::None);
    }

    fn write_head(&self, client: &Client, topics: usize, (writer, version): (&mut Writer<'_>, i16)) {
        let brokers = self.brokers.for_clients(client.listener).into_iter();
        let brokers: Vec<NodeEndpoint<'_>> = brokers
            .map(|LiveBroker { id, host, port, rack }| NodeEndpoint { id, host, port, rack })
            .collect();
        let head = MetadataHead {
            throttle_ms: 0,
            brokers: &brokers,
            cluster_id: Some(&self.cluster_id),
            controller: self.brokers.controller(),
        };
        head.write(writer, version, topics);
    }

    /// Writes a topic, or gives what is wrong with it.
    fn asked_for(
        &mut self,
        request: &MetadataRequest,
        asked: &MetadataTopic<'_>,
        by: By<'_>,
        (writer, version): (&mut Writer<'_>, i16),
    ) -> Result<(), Unwritten> {
        let name = asked.name.map_or(TopicName::Id(asked.id), TopicName::Name);
        self.may_on_topic(by, TOPIC_DESCRIBE, name)?;
        let error = match self.catalog.find(name) {
            Ok(topic) => {
                let operations = self.asked_operations(request, by, &topic.name);
                self.write_topic(topic, operations, (writer, version));
                return Ok(());
            }
            Err(error) => error,
        };
        let name = asked.name.ok_or(error)?;
        let is_made = request.may_create && self.config.auto_create_topics;
        if is_made {
            self.may(by, TOPIC_CREATE, name)?;
        }
        let operations = self.asked_operations(request, by, name);
        if !is_valid_name(name) {
            return Err(Unwritten { error: ErrorCode::InvalidTopic, operations });
        }
        if is_made {
            self.make_topic_by_name(name);
        }
        Err(Unwritten { error, operations })
    }

    /// What the client may do with a topic, if it asks.
    fn asked_operations(&self, request: &MetadataRequest, by: By<'_>, topic: &str) -> i32 {
        let resource = (ResourceType::Topic, topic);
        if request.topic_operations { self.operations(by.client, resource) } else { NOT_ASKED }
    }

    /// The leader of a partition. There is none if this broker leads and does not serve yet, or if the leader is not there, in
    /// which case its address is not told either: a client asks again.
    pub(crate) fn leader_of(&self, topic: &TopicImage, index: i32, image: &PartitionNode) -> Option<i32> {
        let is_there = match image.leader == self.config.node_id {
            true => self.find(TopicName::Id(topic.id), index).is_ok(),
            false => self.is_reached(image.leader),
        };
        is_there.then_some(image.leader)
    }

    /// How a partition's replicas are, as clients are told. Without a leader, those that are not there are in sync with nobody.
    pub(super) fn shown_states(
        &self,
        topic: &TopicImage,
        index: i32,
        image: &PartitionNode,
    ) -> ReplicaStates {
        let mut states = self.in_sync.of(topic.partition(index), image);
        if !self.is_reached(image.leader) {
            let (there, away) = states.in_sync.into_iter().partition(|id| self.is_reached(*id));
            states.in_sync = there;
            states.eligible.extend::<Vec<i32>>(away);
        }
        states
    }

    /// The replicas of a partition whose brokers are not there.
    pub(super) fn offline_replicas(&self, image: &PartitionNode) -> Vec<i32> {
        image.replicas.iter().copied().filter(|id| !self.is_reached(*id)).collect()
    }

    fn write_topic(&self, topic: &TopicImage, operations: i32, (writer, version): (&mut Writer<'_>, i16)) {
        let (name, is_internal) = (Some(&*topic.name), topic.is_internal());
        let head = MetadataTopicHead { error: ErrorCode::None, name, id: topic.id, is_internal };
        head.write(writer, version, topic.partitions.len());
        for (index, image) in (0..).zip(&topic.partitions) {
            let leader = self.leader_of(topic, index, image);
            let in_sync = self.shown_states(topic, index, image).in_sync;
            let partition = MetadataPartition {
                error: if leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable },
                partition: index,
                leader: leader.unwrap_or(-1),
                leader_epoch: image.epoch.0,
                replicas: &image.replicas,
                in_sync: &in_sync,
                offline: &self.offline_replicas(image),
            };
            partition.write(writer, version);
        }
        end_metadata_topic(writer, version, operations);
    }
}

fn write_failed(
    asked: &MetadataTopic<'_>,
    error: ErrorCode,
    operations: i32,
    (writer, version): (&mut Writer<'_>, i16),
) {
    let is_internal = asked.name.is_some_and(is_internal);
    let head = MetadataTopicHead { error, name: asked.name, id: asked.id, is_internal };
    head.write(writer, version, 0);
    end_metadata_topic(writer, version, operations);
}
