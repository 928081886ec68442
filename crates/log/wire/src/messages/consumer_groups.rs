//! Consumer groups of KIP-848.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of ConsumerGroupHeartbeat.
    struct ConsumerGroupHeartbeatRequest {
        [0..] group_id: String,
        [0..] member_id: String,
        [0..] member_epoch: i32,
        [0..] instance_id: Option<String>,
        [0..] rack_id: Option<String>,
        [0..] rebalance_timeout_ms: i32 = -1,
        [0..] subscribed_topic_names: Option<Vec<String>>,
        [1..] subscribed_topic_regex: Option<String>,
        [0..] server_assignor: Option<String>,
        [0..] topic_partitions: Option<Vec<ConsumerGroupHeartbeatTopicPartitions>>,
    }

    /// See [`ConsumerGroupHeartbeatRequest`].
    struct ConsumerGroupHeartbeatTopicPartitions {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<i32>,
    }

    /// The response of ConsumerGroupHeartbeat.
    struct ConsumerGroupHeartbeatResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] member_id: Option<String>,
        [0..] member_epoch: i32,
        [0..] heartbeat_interval_ms: i32,
        [0..] assignment: Option<ConsumerGroupHeartbeatAssignment>,
    }

    /// See [`ConsumerGroupHeartbeatResponse`].
    struct ConsumerGroupHeartbeatAssignment {
        [0..] topic_partitions: Vec<ConsumerGroupHeartbeatTopicPartitions>,
    }

    /// The request of ConsumerGroupDescribe.
    struct ConsumerGroupDescribeRequest {
        [0..] group_ids: Vec<String>,
        [0..] include_authorized_operations: bool,
    }

    /// The response of ConsumerGroupDescribe.
    struct ConsumerGroupDescribeResponse {
        [0..] throttle_time_ms: i32,
        [0..] groups: Vec<DescribedConsumerGroup>,
    }

    /// See [`ConsumerGroupDescribeResponse`].
    struct ConsumerGroupDescribeAssignment {
        [0..] topic_partitions: Vec<ConsumerGroupDescribeTopicPartitions>,
    }

    /// See [`ConsumerGroupDescribeResponse`].
    struct DescribedConsumerGroup {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] group_id: String,
        [0..] group_state: String,
        [0..] group_epoch: i32,
        [0..] assignment_epoch: i32,
        [0..] assignor_name: String,
        [0..] members: Vec<Member>,
        [0..] authorized_operations: i32 = i32::MIN,
    }

    /// See [`ConsumerGroupDescribeResponse`].
    struct Member {
        [0..] member_id: String,
        [0..] instance_id: Option<String>,
        [0..] rack_id: Option<String>,
        [0..] member_epoch: i32,
        [0..] client_id: String,
        [0..] client_host: String,
        [0..] subscribed_topic_names: Vec<String>,
        [0..] subscribed_topic_regex: Option<String>,
        [0..] assignment: ConsumerGroupDescribeAssignment,
        [0..] target_assignment: ConsumerGroupDescribeAssignment,
        [1..] member_type: i8 = -1,
    }

    /// See [`ConsumerGroupDescribeResponse`].
    struct ConsumerGroupDescribeTopicPartitions {
        [0..] topic_id: [u8; 16],
        [0..] topic_name: String,
        [0..] partitions: Vec<i32>,
    }
}
