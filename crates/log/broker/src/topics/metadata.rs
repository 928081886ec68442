//! Metadata: brokers, topics and who leads their partitions; topics that are asked for may be made by that.

use std::collections::{BTreeMap, BTreeSet};

use log_wire::{
    ErrorCode, Malformed, MetadataHead, MetadataPartition, MetadataRequest, MetadataTopic, MetadataTopicHead,
    NOT_ASKED, NodeEndpoint, TopicName, Writer, end_metadata_response, end_metadata_topic,
};

use crate::call::Call;
use crate::catalog::{NewTopic, TopicImage};
use crate::client::Client;
use crate::node::Node;
use crate::response::Response;

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(super) fn answer(node: &mut Node, mut call: Call<'_>) -> Result<Response, Malformed> {
    let mut topics = Vec::new();
    let version = call.form.version;
    let request = MetadataRequest::read(&mut call.body, version, &mut topics)?;
    // Each is answered once: a small request that names a large topic very often would have a huge answer.
    let mut named = BTreeSet::new();
    topics.retain(|topic| named.insert((topic.name, topic.id)));
    let mut out = Vec::new();
    let writer = (&mut Writer::new(&mut out, call.form.flexible), version);
    node.metadata(&request, &topics, call.client, writer);
    Ok(Response::Body(out))
}

impl Node {
    /// Writes the body of a response.
    fn metadata(
        &mut self,
        request: &MetadataRequest,
        topics: &[MetadataTopic<'_>],
        client: &Client,
        (writer, version): (&mut Writer<'_>, i16),
    ) {
        let count = if request.all_topics { self.catalog.topics().count() } else { topics.len() };
        self.write_head(client, count, (writer, version));
        if request.all_topics {
            for topic in self.catalog.topics() {
                self.write_topic(topic, writer, version);
            }
        } else {
            for topic in topics {
                let error = self.asked_for(topic, request.may_create, (writer, version));
                if let Some(error) = error {
                    write_failed(topic, error, writer, version);
                }
            }
        }
        end_metadata_response(writer, version, NOT_ASKED, ErrorCode::None);
    }

    fn write_head(&self, client: &Client, topics: usize, (writer, version): (&mut Writer<'_>, i16)) {
        let (host, port) = self.endpoint(client.listener);
        let (id, rack) = (self.config.node_id, self.config.rack.as_deref());
        let endpoint = NodeEndpoint { id, host, port, rack };
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
        may_create: bool,
        (writer, version): (&mut Writer<'_>, i16),
    ) -> Option<ErrorCode> {
        let name = asked.name.map_or(TopicName::Id(asked.id), TopicName::Name);
        let error = match self.catalog.find(name) {
            Ok(topic) => {
                self.write_topic(topic, writer, version);
                return None;
            }
            Err(error) => error,
        };
        let Some(name) = asked.name else { return Some(error) };
        if let Err(invalid) = self.catalog.check_name(name) {
            return Some(invalid);
        }
        if may_create && self.config.auto_create_topics {
            let partitions = self.config.partitions;
            self.make_topic(&NewTopic { name: name.into(), partitions, settings: BTreeMap::new() });
        }
        Some(error)
    }

    /// A partition that this broker leads and does not serve yet has no leader: a client asks again.
    fn write_topic(&self, topic: &TopicImage, writer: &mut Writer<'_>, version: i16) {
        let (name, is_internal) = (Some(&*topic.name), topic.is_internal());
        let head = MetadataTopicHead { error: ErrorCode::None, name, id: topic.id, is_internal };
        head.write(writer, version, topic.partitions.len());
        for (index, image) in (0..).zip(&topic.partitions) {
            let own = image.leader == self.config.node_id;
            let has_leader = image.leader >= 0 && (!own || self.find(TopicName::Id(topic.id), index).is_ok());
            let partition = MetadataPartition {
                error: if has_leader { ErrorCode::None } else { ErrorCode::LeaderNotAvailable },
                partition: index,
                leader: if has_leader { image.leader } else { -1 },
                leader_epoch: image.epoch.0,
                replicas: &image.replicas,
                in_sync: &image.replicas,
                offline: &[],
            };
            partition.write(writer, version);
        }
        end_metadata_topic(writer, version, NOT_ASKED);
    }
}

fn write_failed(asked: &MetadataTopic<'_>, error: ErrorCode, writer: &mut Writer<'_>, version: i16) {
    let head = MetadataTopicHead { error, name: asked.name, id: asked.id, is_internal: false };
    head.write(writer, version, 0);
    end_metadata_topic(writer, version, NOT_ASKED);
}
