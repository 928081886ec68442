//! Topics, their partitions and records.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of CreateTopics.
    struct CreateTopicsRequest {
        [0..] topics: Vec<CreatableTopic>,
        [0..] timeout_ms: i32 = 60_000,
        [0..] validate_only: bool,
    }

    /// See [`CreateTopicsRequest`].
    struct CreatableReplicaAssignment {
        [0..] partition_index: i32,
        [0..] broker_ids: Vec<i32>,
    }

    /// See [`CreateTopicsRequest`].
    struct CreatableTopic {
        [0..] name: String,
        [0..] num_partitions: i32,
        [0..] replication_factor: i16,
        [0..] assignments: Vec<CreatableReplicaAssignment>,
        [0..] configs: Vec<CreatableTopicConfig>,
    }

    /// See [`CreateTopicsRequest`].
    struct CreatableTopicConfig {
        [0..] name: String,
        [0..] value: Option<String>,
    }

    /// The response of CreateTopics.
    struct CreateTopicsResponse {
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<CreatableTopicResult>,
    }

    /// See [`CreateTopicsResponse`].
    struct CreatableTopicConfigs {
        [5..] name: String,
        [5..] value: Option<String>,
        [5..] read_only: bool,
        [5..] config_source: i8 = -1,
        [5..] is_sensitive: bool,
    }

    /// See [`CreateTopicsResponse`].
    struct CreatableTopicResult {
        [0..] name: String,
        [7..] topic_id: [u8; 16],
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [5..] num_partitions: i32 = -1,
        [5..] replication_factor: i16 = -1,
        [5..] configs: Option<Vec<CreatableTopicConfigs>>,
        tag 0 [5..] topic_config_error_code: i16,
    }

    /// The request of DeleteTopics.
    struct DeleteTopicsRequest {
        [6..] topics: Vec<DeleteTopicState>,
        [0..6] topic_names: Vec<String>,
        [0..] timeout_ms: i32,
    }

    /// See [`DeleteTopicsRequest`].
    struct DeleteTopicState {
        [6..] name: Option<String>,
        [6..] topic_id: [u8; 16],
    }

    /// The response of DeleteTopics.
    struct DeleteTopicsResponse {
        [0..] throttle_time_ms: i32,
        [0..] responses: Vec<DeletableTopicResult>,
    }

    /// See [`DeleteTopicsResponse`].
    struct DeletableTopicResult {
        [0..] name: Option<String>,
        [6..] topic_id: [u8; 16],
        [0..] error_code: i16,
        [5..] error_message: Option<String>,
    }

    /// The request of CreatePartitions.
    struct CreatePartitionsRequest {
        [0..] topics: Vec<CreatePartitionsTopic>,
        [0..] timeout_ms: i32,
        [0..] validate_only: bool,
    }

    /// See [`CreatePartitionsRequest`].
    struct CreatePartitionsAssignment {
        [0..] broker_ids: Vec<i32>,
    }

    /// See [`CreatePartitionsRequest`].
    struct CreatePartitionsTopic {
        [0..] name: String,
        [0..] count: i32,
        [0..] assignments: Option<Vec<CreatePartitionsAssignment>>,
    }

    /// The response of CreatePartitions.
    struct CreatePartitionsResponse {
        [0..] throttle_time_ms: i32,
        [0..] results: Vec<CreatePartitionsTopicResult>,
    }

    /// See [`CreatePartitionsResponse`].
    struct CreatePartitionsTopicResult {
        [0..] name: String,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// The request of DeleteRecords.
    struct DeleteRecordsRequest {
        [0..] topics: Vec<DeleteRecordsTopic>,
        [0..] timeout_ms: i32,
    }

    /// See [`DeleteRecordsRequest`].
    struct DeleteRecordsPartition {
        [0..] partition_index: i32,
        [0..] offset: i64,
    }

    /// See [`DeleteRecordsRequest`].
    struct DeleteRecordsTopic {
        [0..] name: String,
        [0..] partitions: Vec<DeleteRecordsPartition>,
    }

    /// The response of DeleteRecords.
    struct DeleteRecordsResponse {
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<DeleteRecordsTopicResult>,
    }

    /// See [`DeleteRecordsResponse`].
    struct DeleteRecordsPartitionResult {
        [0..] partition_index: i32,
        [0..] low_watermark: i64,
        [0..] error_code: i16,
    }

    /// See [`DeleteRecordsResponse`].
    struct DeleteRecordsTopicResult {
        [0..] name: String,
        [0..] partitions: Vec<DeleteRecordsPartitionResult>,
    }

    /// The request of DescribeTopicPartitions.
    struct DescribeTopicPartitionsRequest {
        [0..] topics: Vec<DescribeTopicPartitionsTopicRequest>,
        [0..] response_partition_limit: i32 = 2000,
        [0..] cursor: Option<DescribeTopicPartitionsCursor>,
    }

    /// See [`DescribeTopicPartitionsRequest`].
    struct DescribeTopicPartitionsCursor {
        [0..] topic_name: String,
        [0..] partition_index: i32,
    }

    /// See [`DescribeTopicPartitionsRequest`].
    struct DescribeTopicPartitionsTopicRequest {
        [0..] name: String,
    }

    /// The response of DescribeTopicPartitions.
    struct DescribeTopicPartitionsResponse {
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<DescribeTopicPartitionsResponseTopic>,
        [0..] next_cursor: Option<DescribeTopicPartitionsCursor>,
    }

    /// See [`DescribeTopicPartitionsResponse`].
    struct DescribeTopicPartitionsResponsePartition {
        [0..] error_code: i16,
        [0..] partition_index: i32,
        [0..] leader_id: i32,
        [0..] leader_epoch: i32 = -1,
        [0..] replica_nodes: Vec<i32>,
        [0..] isr_nodes: Vec<i32>,
        [0..] eligible_leader_replicas: Option<Vec<i32>>,
        [0..] last_known_elr: Option<Vec<i32>>,
        [0..] offline_replicas: Vec<i32>,
    }

    /// See [`DescribeTopicPartitionsResponse`].
    struct DescribeTopicPartitionsResponseTopic {
        [0..] error_code: i16,
        [0..] name: Option<String>,
        [0..] topic_id: [u8; 16],
        [0..] is_internal: bool,
        [0..] partitions: Vec<DescribeTopicPartitionsResponsePartition>,
        [0..] topic_authorized_operations: i32 = i32::MIN,
    }
}
