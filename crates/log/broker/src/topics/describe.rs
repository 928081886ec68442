//! DescribeTopicPartitions: partitions of topics, as many at a time as a client wants, from a cursor on.
//!
//! Topics come by name, each once; those that are asked for and are not there with an error.

use core::ops::Bound;
use std::collections::BTreeSet;

use log_access::acl::ResourceType;
use log_metadata::PartitionNode;
use log_wire::messages::topics::{
    DescribeTopicPartitionsCursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use log_wire::{ErrorCode, NOT_ASKED, TopicName};

use crate::catalog::{TopicImage, is_internal, is_valid_name};
use crate::node::Node;
use crate::rights::{By, TOPIC_DESCRIBE};

/// Handles a request.
pub(super) fn describe_partitions(
    node: &Node,
    by: By<'_>,
    request: &DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let asked: BTreeSet<&str> = request.topics.iter().map(|topic| topic.name.as_str()).collect();
    let cursor = request.cursor.as_ref();
    let is_of_all = asked.is_empty();
    let is_wrong = |cursor: &DescribeTopicPartitionsCursor| {
        cursor.partition_index < 0 || !(is_of_all || asked.contains(cursor.topic_name.as_str()))
    };
    if cursor.is_some_and(is_wrong) {
        return all_refused(request);
    }
    let from = cursor.map_or("", |cursor| cursor.topic_name.as_str());
    let limit = request.response_partition_limit.min(node.config.described_partitions_max).max(1);
    let mut page = Page { left: usize::try_from(limit).unwrap_or(1), ..Page::default() };
    // As by Kafka, they come last, on every page.
    let mut unseen = Vec::new();
    let first = |name: &str| cursor.filter(|cursor| cursor.topic_name == name);
    let first = |name: &str| first(name).map_or(0, |cursor| cursor.partition_index);
    if is_of_all {
        let seen = |topic: &&TopicImage| node.may(by, TOPIC_DESCRIBE, &topic.name).is_ok();
        for topic in node.catalog.topics_from(from).filter(seen) {
            if !page.add((node, by), topic, first(&topic.name)) {
                break;
            }
        }
    } else {
        for name in asked.range::<str, _>((Bound::Included(from), Bound::Unbounded)) {
            if let Err(error) = node.may(by, TOPIC_DESCRIBE, name) {
                unseen.push(failed(name, error, NOT_ASKED));
                continue;
            }
            let goes_on = match node.catalog.find(TopicName::Name(name)) {
                Ok(topic) => page.add((node, by), topic, first(name)),
                Err(error) => page.add_failed((node, by), name, error),
            };
            if !goes_on {
                break;
            }
        }
    }
    page.topics.append(&mut unseen);
    DescribeTopicPartitionsResponse { topics: page.topics, next_cursor: page.next, ..Default::default() }
}

/// The request asks for no place that there is.
fn all_refused(request: &DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let refused = request.topics.iter();
    let refused = refused.map(|topic| failed(&topic.name, ErrorCode::InvalidRequest, NOT_ASKED));
    DescribeTopicPartitionsResponse { topics: refused.collect(), ..Default::default() }
}

/// What fits into one answer.
#[derive(Default)]
struct Page {
    topics: Vec<DescribeTopicPartitionsResponseTopic>,
    left: usize,
    next: Option<DescribeTopicPartitionsCursor>,
}

impl Page {
    /// Whether there is room for more. Otherwise the next page begins with that topic.
    fn has_room(&mut self, name: &str) -> bool {
        if self.left == 0 {
            self.next = Some(cursor(name, 0));
        }
        self.left > 0
    }

    /// Adds a topic that is not there. Gives whether another one may follow.
    fn add_failed(&mut self, (node, by): (&Node, By<'_>), name: &str, error: ErrorCode) -> bool {
        let has_room = self.has_room(name);
        if has_room {
            let error = if is_valid_name(name) { error } else { ErrorCode::InvalidTopic };
            self.topics.push(failed(name, error, operations(node, by, name)));
        }
        has_room
    }

    /// Adds partitions of a topic, from one on. Gives whether another topic may follow.
    fn add(&mut self, (node, by): (&Node, By<'_>), topic: &TopicImage, first: i32) -> bool {
        if !self.has_room(&topic.name) {
            return false;
        }
        let first = usize::try_from(first).unwrap_or(0);
        let partitions: Vec<_> = (0..)
            .zip(&topic.partitions)
            .skip(first)
            .take(self.left)
            .map(|(index, image)| node.described_partition(topic, index, image))
            .collect();
        self.left -= partitions.len();
        let end = first.saturating_add(partitions.len());
        self.topics.push(DescribeTopicPartitionsResponseTopic {
            error_code: 0,
            name: Some(topic.name.to_string()),
            topic_id: topic.id,
            is_internal: topic.is_internal(),
            partitions,
            topic_authorized_operations: operations(node, by, &topic.name),
        });
        if end < topic.partitions.len() {
            self.next = Some(cursor(&topic.name, i32::try_from(end).unwrap_or(i32::MAX)));
        }
        end >= topic.partitions.len()
    }
}

fn operations(node: &Node, by: By<'_>, topic: &str) -> i32 {
    node.operations(by.client, (ResourceType::Topic, topic))
}

fn cursor(topic: &str, partition_index: i32) -> DescribeTopicPartitionsCursor {
    DescribeTopicPartitionsCursor { topic_name: topic.into(), partition_index }
}

fn failed(
    name: &str,
    error: ErrorCode,
    topic_authorized_operations: i32,
) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        error_code: error.code(),
        name: Some(name.into()),
        is_internal: is_internal(name),
        topic_authorized_operations,
        ..Default::default()
    }
}

impl Node {
    fn described_partition(
        &self,
        topic: &TopicImage,
        index: i32,
        image: &PartitionNode,
    ) -> DescribeTopicPartitionsResponsePartition {
        let leader = self.leader_of(topic, index, image);
        let states = self.shown_states(topic, index, image);
        // As by Kafka, those who may lead next are named while too few are in sync.
        let wanted = (topic.config.min_insync_replicas as usize).min(image.replicas.len());
        let is_short = states.in_sync.len() < wanted;
        let last_known = if states.in_sync.is_empty() { vec![image.leader] } else { Vec::new() };
        DescribeTopicPartitionsResponsePartition {
            // As by Kafka, also while nobody leads.
            error_code: ErrorCode::None.code(),
            partition_index: index,
            leader_id: leader.unwrap_or(-1),
            leader_epoch: image.epoch.0,
            replica_nodes: image.replicas.clone(),
            isr_nodes: states.in_sync,
            eligible_leader_replicas: Some(if is_short { states.eligible } else { Vec::new() }),
            last_known_elr: Some(last_known),
            offline_replicas: self.offline_replicas(image),
        }
    }
}
