//! DescribeQuorum. The topic of Kafka's metadata is not here: the council has what would be in it. Tools that ask for its quorum
//! see a quorum of this broker alone, and the number of changes that it has seen as the length of the log.

use base::Now;
use log_wire::ErrorCode;
use log_wire::messages::quorum::{
    DescribeQuorumNode, DescribeQuorumPartition, DescribeQuorumReplica, DescribeQuorumRequest,
    DescribeQuorumResponse, DescribeQuorumTopic,
};

use crate::node::Node;
use crate::rights::{By, CLUSTER_DESCRIBE};

/// The only topic that has a quorum.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// Handles a request.
pub(super) fn describe_quorum(
    node: &Node,
    by: By<'_>,
    request: &DescribeQuorumRequest,
    now: Now,
) -> DescribeQuorumResponse {
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE) {
        let error_message = Some("the client has no right to that".into());
        return DescribeQuorumResponse { error_code: error.code(), error_message, ..Default::default() };
    }
    let is_known = match &request.topics[..] {
        [topic] => {
            topic.topic_name == METADATA_TOPIC
                && matches!(&topic.partitions[..], [one] if one.partition_index == 0)
        }
        _ => false,
    };
    let partition = |partition_index| match is_known {
        true => DescribeQuorumPartition { partition_index, ..the_quorum(node, now) },
        // So it is by Kafka: whatever else is named, nothing of the request is known.
        false => DescribeQuorumPartition {
            partition_index,
            error_code: ErrorCode::UnknownTopicOrPartition.code(),
            error_message: Some(String::new()),
            ..Default::default()
        },
    };
    let topics = request.topics.iter().map(|topic| DescribeQuorumTopic {
        topic_name: topic.topic_name.clone(),
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
    });
    let own = DescribeQuorumNode { node_id: node.config.node_id, listeners: Vec::new() };
    DescribeQuorumResponse {
        topics: topics.collect(),
        // A real Kafka's text is empty, too, and not left out.
        error_message: Some(String::new()),
        nodes: if is_known { vec![own] } else { Vec::new() },
        ..Default::default()
    }
}

fn the_quorum(node: &Node, now: Now) -> DescribeQuorumPartition {
    // There is never none: the log of a cluster begins with a record of its own.
    let end = i64::try_from(node.catalog.version()).unwrap_or(i64::MAX).saturating_add(1);
    let own = DescribeQuorumReplica {
        replica_id: node.config.node_id,
        log_end_offset: end,
        last_fetch_timestamp: now.wall.ms(),
        last_caught_up_timestamp: now.wall.ms(),
        ..Default::default()
    };
    DescribeQuorumPartition {
        leader_id: node.config.node_id,
        leader_epoch: 1,
        error_message: Some(String::new()),
        high_watermark: end,
        current_voters: vec![own],
        ..Default::default()
    }
}
