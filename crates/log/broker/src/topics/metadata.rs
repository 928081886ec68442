//! Metadata: brokers, topics and who leads their partitions; topics that are asked for may be made by that.

use log_metadata::PartitionNode;
use log_wire::{
    ErrorCode, Malformed, MetadataHead, MetadataPartition, MetadataRequest, MetadataTopic, MetadataTopicHead,
    NOT_ASKED, NodeEndpoint, TopicName, Writer, end_metadata_response, end_metadata_topic,
};

use crate::call::Call;
use crate::catalog::{TopicImage, is_internal, is_valid_name};
use crate::node::Node;
use crate::operations::{ALL_OF_CLUSTER, ALL_OF_TOPIC};
use crate::response::Response;
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
    let mut out = Vec::new();
    node.metadata(&request, &topics, (&mut Writer::new(&mut out, call.form.flexible), version));
    Ok(Response::Body(out))
}

impl Node {
    /// Writes the body of a response.
    fn metadata(
        &mut self,
        request: &MetadataRequest,
        topics: &[MetadataTopic<'_>],
        (writer, version): (&mut Writer<'_>, i16),
    ) {
        let count = if request.all_topics { self.catalog.topics().count() } else { topics.len() };
        self.write_head(count, (writer, version));
        let operations = if request.topic_operations { ALL_OF_TOPIC } else { NOT_ASKED };
        if request.all_topics {
            for topic in self.catalog.topics() {
                self.write_topic(topic, operations, (writer, version));
            }
        } else {
            for topic in topics {
                let error = self.asked_for(topic, request, (writer, version));
                if let Some(error) = error {
                    write_failed(topic, error, operations, (writer, version));
                }
            }
        }
        let operations = if request.cluster_operations { ALL_OF_CLUSTER } else { NOT_ASKED };
        end_metadata_response(writer, version, operations, ErrorCode::None);
    }

    fn write_head(&self, topics: usize, (writer, version): (&mut Writer<'_>, i16)) {
        let endpoint = NodeEndpoint {
            id: self.config.node_id,
            host: &self.config.advertised_host,
            port: i32::from(self.config.advertised_port),
            rack: self.config.rack.as_deref(),
        };
        let head = MetadataHead {
            throttle_ms: 0,
            brokers: &[endpoint],
            cluster_id: Some(&self.cluster_id),
            controller: self.config.node_id,
        };
        head.write(writer, version, topics);
    }

    /// Writes a topic, or gives what is wrong with it.
    fn asked_for(
        &mut self,
        asked: &MetadataTopic<'_>,
        request: &MetadataRequest,
        (writer, version): (&mut Writer<'_>, i16),
    ) -> Option<ErrorCode> {
        let name = asked.name.map_or(TopicName::Id(asked.id), TopicName::Name);
        let error = match self.catalog.find(name) {
            Ok(topic) => {
                let operations = if request.topic_operations { ALL_OF_TOPIC } else { NOT_ASKED };
                self.write_topic(topic, operations, (writer, version));
                return None;
            }
            Err(error) => error,
        };
        let Some(name) = asked.name else { return Some(error) };
        if !is_valid_name(name) {
            return Some(ErrorCode::InvalidTopic);
        }
        if request.may_create && self.config.auto_create_topics {
            self.make_topic_by_name(name);
        }
        Some(error)
    }

    /// The leader of a partition. One that this broker leads and does not serve yet has none: a client asks again.
    pub(super) fn leader_of(&self, topic: &TopicImage, index: i32, image: &PartitionNode) -> Option<i32> {
        let own = image.leader == self.config.node_id;
        let is_served = || self.find(TopicName::Id(topic.id), index).is_ok();
        (image.leader >= 0 && (!own || is_served())).then_some(image.leader)
    }

    fn write_topic(&self, topic: &TopicImage, operations: i32, (writer, version): (&mut Writer<'_>, i16)) {
        let (name, is_internal) = (Some(&*topic.name), topic.is_internal());
        let head = MetadataTopicHead { error: ErrorCode::None, name, id: topic.id, is_internal };
        head.write(writer, version, topic.partitions.len());
        for (index, image) in (0..).zip(&topic.partitions) {
            let leader = self.leader_of(topic, index, image);
            let partition = MetadataPartition {
                error: if leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable },
                partition: index,
                leader: leader.unwrap_or(-1),
                leader_epoch: image.epoch.0,
                replicas: &image.replicas,
                in_sync: &image.replicas,
                offline: &[],
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
