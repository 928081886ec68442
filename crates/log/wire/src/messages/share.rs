//! Share groups of KIP-932, with what KIP-1206 (limits of records), KIP-1222 (renewal) and KIP-1226 (lag) added.

use alloc::string::String;
use alloc::vec::Vec;

use super::Blob;
use super::schema::messages;

messages! {
    /// The request of ShareGroupHeartbeat.
    struct ShareGroupHeartbeatRequest {
        [0..] group_id: String,
        [0..] member_id: String,
        [0..] member_epoch: i32,
        [0..] rack_id: Option<String>,
        [0..] subscribed_topic_names: Option<Vec<String>>,
    }

    /// The response of ShareGroupHeartbeat.
    struct ShareGroupHeartbeatResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] member_id: Option<String>,
        [0..] member_epoch: i32,
        [0..] heartbeat_interval_ms: i32,
        [0..] assignment: Option<ShareGroupHeartbeatAssignment>,
    }

    /// See [`ShareGroupHeartbeatResponse`].
    struct ShareGroupHeartbeatAssignment {
        [0..] topic_partitions: Vec<ShareGroupHeartbeatTopicPartitions>,
    }

    /// See [`ShareGroupHeartbeatResponse`].
    struct ShareGroupHeartbeatTopicPartitions {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<i32>,
    }

    /// The request of ShareGroupDescribe.
    struct ShareGroupDescribeRequest {
        [0..] group_ids: Vec<String>,
        [0..] include_authorized_operations: bool,
    }

    /// The response of ShareGroupDescribe.
    struct ShareGroupDescribeResponse {
        [0..] throttle_time_ms: i32,
        [0..] groups: Vec<DescribedShareGroup>,
    }

    /// See [`ShareGroupDescribeResponse`].
    struct DescribedShareGroup {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] group_id: String,
        [0..] group_state: String,
        [0..] group_epoch: i32,
        [0..] assignment_epoch: i32,
        [0..] assignor_name: String,
        [0..] members: Vec<ShareGroupDescribeMember>,
        [0..] authorized_operations: i32 = i32::MIN,
    }

    /// See [`ShareGroupDescribeResponse`].
    struct ShareGroupDescribeMember {
        [0..] member_id: String,
        [0..] rack_id: Option<String>,
        [0..] member_epoch: i32,
        [0..] client_id: String,
        [0..] client_host: String,
        [0..] subscribed_topic_names: Vec<String>,
        [0..] assignment: ShareGroupDescribeAssignment,
    }

    /// See [`ShareGroupDescribeResponse`].
    struct ShareGroupDescribeAssignment {
        [0..] topic_partitions: Vec<ShareGroupDescribeTopicPartitions>,
    }

    /// See [`ShareGroupDescribeResponse`].
    struct ShareGroupDescribeTopicPartitions {
        [0..] topic_id: [u8; 16],
        [0..] topic_name: String,
        [0..] partitions: Vec<i32>,
    }

    /// The request of ShareFetch.
    struct ShareFetchRequest {
        [0..] group_id: Option<String>,
        [0..] member_id: Option<String>,
        [0..] share_session_epoch: i32,
        [0..] max_wait_ms: i32,
        [0..] min_bytes: i32,
        [0..] max_bytes: i32 = i32::MAX,
        [1..] max_records: i32,
        [1..] batch_size: i32,
        [2..] share_acquire_mode: i8,
        [2..] is_renew_ack: bool,
        [0..] topics: Vec<ShareFetchTopic>,
        [0..] forgotten_topics_data: Vec<ShareFetchForgottenTopic>,
    }

    /// See [`ShareFetchRequest`].
    struct ShareFetchTopic {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<ShareFetchPartition>,
    }

    /// See [`ShareFetchRequest`].
    struct ShareFetchPartition {
        [0..] partition_index: i32,
        [0..1] partition_max_bytes: i32,
        [0..] acknowledgement_batches: Vec<AcknowledgementBatch>,
    }

    /// See [`ShareFetchRequest`] and [`ShareAcknowledgeRequest`].
    struct AcknowledgementBatch {
        [0..] first_offset: i64,
        [0..] last_offset: i64,
        [0..] acknowledge_types: Vec<i8>,
    }

    /// See [`ShareFetchRequest`].
    struct ShareFetchForgottenTopic {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<i32>,
    }

    /// The response of ShareFetch.
    struct ShareFetchResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [1..] acquisition_lock_timeout_ms: i32,
        [0..] responses: Vec<ShareFetchTopicResponse>,
        [0..] node_endpoints: Vec<ShareNodeEndpoint>,
    }

    /// See [`ShareFetchResponse`].
    struct ShareFetchTopicResponse {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<ShareFetchPartitionResponse>,
    }

    /// See [`ShareFetchResponse`].
    struct ShareFetchPartitionResponse {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] acknowledge_error_code: i16,
        [0..] acknowledge_error_message: Option<String>,
        [0..] current_leader: ShareLeader,
        [0..] records: Blob,
        [0..] acquired_records: Vec<AcquiredRecords>,
    }

    /// See [`ShareFetchResponse`] and [`ShareAcknowledgeResponse`].
    struct ShareLeader {
        [0..] leader_id: i32,
        [0..] leader_epoch: i32,
    }

    /// See [`ShareFetchResponse`].
    struct AcquiredRecords {
        [0..] first_offset: i64,
        [0..] last_offset: i64,
        [0..] delivery_count: i16,
    }

    /// See [`ShareFetchResponse`] and [`ShareAcknowledgeResponse`].
    struct ShareNodeEndpoint {
        [0..] node_id: i32,
        [0..] host: String,
        [0..] port: i32,
        [0..] rack: Option<String>,
    }

    /// The request of ShareAcknowledge.
    struct ShareAcknowledgeRequest {
        [0..] group_id: Option<String>,
        [0..] member_id: Option<String>,
        [0..] share_session_epoch: i32,
        [2..] is_renew_ack: bool,
        [0..] topics: Vec<ShareAcknowledgeTopic>,
    }

    /// See [`ShareAcknowledgeRequest`].
    struct ShareAcknowledgeTopic {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<ShareAcknowledgePartition>,
    }

    /// See [`ShareAcknowledgeRequest`].
    struct ShareAcknowledgePartition {
        [0..] partition_index: i32,
        [0..] acknowledgement_batches: Vec<AcknowledgementBatch>,
    }

    /// The response of ShareAcknowledge.
    struct ShareAcknowledgeResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [2..] acquisition_lock_timeout_ms: i32,
        [0..] responses: Vec<ShareAcknowledgeTopicResponse>,
        [0..] node_endpoints: Vec<ShareNodeEndpoint>,
    }

    /// See [`ShareAcknowledgeResponse`].
    struct ShareAcknowledgeTopicResponse {
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<ShareAcknowledgePartitionResponse>,
    }

    /// See [`ShareAcknowledgeResponse`].
    struct ShareAcknowledgePartitionResponse {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] current_leader: ShareLeader,
    }

    /// The request of DescribeShareGroupOffsets.
    struct DescribeShareGroupOffsetsRequest {
        [0..] groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
    }

    /// See [`DescribeShareGroupOffsetsRequest`].
    struct DescribeShareGroupOffsetsRequestGroup {
        [0..] group_id: String,
        [0..] topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
    }

    /// See [`DescribeShareGroupOffsetsRequest`].
    struct DescribeShareGroupOffsetsRequestTopic {
        [0..] topic_name: String,
        [0..] partitions: Vec<i32>,
    }

    /// The response of DescribeShareGroupOffsets.
    struct DescribeShareGroupOffsetsResponse {
        [0..] throttle_time_ms: i32,
        [0..] groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
    }

    /// See [`DescribeShareGroupOffsetsResponse`].
    struct DescribeShareGroupOffsetsResponseGroup {
        [0..] group_id: String,
        [0..] topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// See [`DescribeShareGroupOffsetsResponse`].
    struct DescribeShareGroupOffsetsResponseTopic {
        [0..] topic_name: String,
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
    }

    /// See [`DescribeShareGroupOffsetsResponse`].
    struct DescribeShareGroupOffsetsResponsePartition {
        [0..] partition_index: i32,
        [0..] start_offset: i64,
        [0..] leader_epoch: i32,
        [1..] lag: i64 = -1,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// The request of AlterShareGroupOffsets.
    struct AlterShareGroupOffsetsRequest {
        [0..] group_id: String,
        [0..] topics: Vec<AlterShareGroupOffsetsRequestTopic>,
    }

    /// See [`AlterShareGroupOffsetsRequest`].
    struct AlterShareGroupOffsetsRequestTopic {
        [0..] topic_name: String,
        [0..] partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
    }

    /// See [`AlterShareGroupOffsetsRequest`].
    struct AlterShareGroupOffsetsRequestPartition {
        [0..] partition_index: i32,
        [0..] start_offset: i64,
    }

    /// The response of AlterShareGroupOffsets.
    struct AlterShareGroupOffsetsResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] responses: Vec<AlterShareGroupOffsetsResponseTopic>,
    }

    /// See [`AlterShareGroupOffsetsResponse`].
    struct AlterShareGroupOffsetsResponseTopic {
        [0..] topic_name: String,
        [0..] topic_id: [u8; 16],
        [0..] partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
    }

    /// See [`AlterShareGroupOffsetsResponse`].
    struct AlterShareGroupOffsetsResponsePartition {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// The request of DeleteShareGroupOffsets.
    struct DeleteShareGroupOffsetsRequest {
        [0..] group_id: String,
        [0..] topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
    }

    /// See [`DeleteShareGroupOffsetsRequest`].
    struct DeleteShareGroupOffsetsRequestTopic {
        [0..] topic_name: String,
    }

    /// The response of DeleteShareGroupOffsets.
    struct DeleteShareGroupOffsetsResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
    }

    /// See [`DeleteShareGroupOffsetsResponse`].
    struct DeleteShareGroupOffsetsResponseTopic {
        [0..] topic_name: String,
        [0..] topic_id: [u8; 16],
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }
}
