//! Metadata: brokers, topics and who leads their partitions; topics that are asked for may be made by that.

use std::collections::BTreeMap;

use log_wire::{
    ErrorCode, Malformed, MetadataHead, MetadataPartition, MetadataRequest, MetadataTopic, MetadataTopicHead,
    NOT_ASKED, NodeEndpoint, TopicName, Writer, end_metadata_response, end_metadata_topic,
};

use crate::call::Call;
use crate::catalog::{NewTopic, TopicImage};
use crate::node::Node;
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
