//! DescribeProducers: what partitions know of their producers.

use log_partition::Partition;
use log_wire::messages::transactions::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};
use log_wire::{ErrorCode, TopicName};

use crate::catalog::is_valid_name;
use crate::node::Node;
use crate::rights::{By, TOPIC_READ};

/// Handles a request.
pub(super) fn describe(
    node: &Node,
    by: By<'_>,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions =
            topic.partition_indexes.iter().map(|index| of_partition(node, by, (&topic.name, *index)));
        TopicResponse { partitions: partitions.collect(), name: topic.name }
    });
    DescribeProducersResponse { topics: topics.collect(), ..DescribeProducersResponse::default() }
}

fn of_partition(node: &Node, by: By<'_>, (topic, index): (&str, i32)) -> PartitionResponse {
    let mut response = PartitionResponse { partition_index: index, ..PartitionResponse::default() };
    let named = if is_valid_name(topic) { Ok(TopicName::Name(topic)) } else { Err(ErrorCode::InvalidTopic) };
    let allowed = named.and_then(|name| node.may_on_topic(by, TOPIC_READ, name).map(|()| name));
    match allowed.and_then(|name| node.find(name, index)) {
        Ok((_, hosted)) => response.active_producers = producers(&hosted.partition),
        Err(error) => {
            response.error_code = error.code();
            let is_missing = || node.catalog.find(TopicName::Name(topic)).is_err();
            response.error_message = match error == TOPIC_READ.lack {
                // Who may not read a topic is not told whether it is there.
                true => Some("the client has no right to that".into()),
                false => is_missing().then(|| "there is no such topic".into()),
            };
        }
    }
    response
}

fn producers(partition: &Partition) -> Vec<ProducerState> {
    let tables = partition.tables();
    let known = tables.producers.known().map(|producer| ProducerState {
        producer_id: producer.id.0,
        producer_epoch: i32::from(producer.epoch.0),
        last_sequence: producer.last_sequence.map_or(-1, |sequence| sequence.0),
        last_timestamp: producer.last_heard.ms(),
        coordinator_epoch: producer.coordinator_epoch.map_or(-1, |epoch| epoch.0),
        current_txn_start_offset: tables.transactions.first_offset(producer.id).map_or(-1, |first| first.0),
    });
    known.collect()
}
