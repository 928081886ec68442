//! Offsets: of partitions, and those that groups have committed.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of ListOffsets.
    struct ListOffsetsRequest {
        [0..] replica_id: i32,
        [2..] isolation_level: i8,
        [0..] topics: Vec<ListOffsetsTopic>,
        [10..] timeout_ms: i32,
    }

    /// See [`ListOffsetsRequest`].
    struct ListOffsetsPartition {
        [0..] partition_index: i32,
        [4..] current_leader_epoch: i32 = -1,
        [0..] timestamp: i64,
    }

    /// See [`ListOffsetsRequest`].
    struct ListOffsetsTopic {
        [0..] name: String,
        [0..] partitions: Vec<ListOffsetsPartition>,
    }

    /// The response of ListOffsets.
    struct ListOffsetsResponse {
        [2..] throttle_time_ms: i32,
        [0..] topics: Vec<ListOffsetsTopicResponse>,
    }

    /// See [`ListOffsetsResponse`].
    struct ListOffsetsPartitionResponse {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [0..] timestamp: i64 = -1,
        [0..] offset: i64 = -1,
        [4..] leader_epoch: i32 = -1,
    }

    /// See [`ListOffsetsResponse`].
    struct ListOffsetsTopicResponse {
        [0..] name: String,
        [0..] partitions: Vec<ListOffsetsPartitionResponse>,
    }

    /// The request of OffsetForLeaderEpoch.
    struct OffsetForLeaderEpochRequest {
        [3..] replica_id: i32 = -2,
        [0..] topics: Vec<OffsetForLeaderTopic>,
    }

    /// See [`OffsetForLeaderEpochRequest`].
    struct OffsetForLeaderPartition {
        [0..] partition: i32,
        [0..] current_leader_epoch: i32 = -1,
        [0..] leader_epoch: i32,
    }

    /// See [`OffsetForLeaderEpochRequest`].
    struct OffsetForLeaderTopic {
        [0..] topic: String,
        [0..] partitions: Vec<OffsetForLeaderPartition>,
    }

    /// The response of OffsetForLeaderEpoch.
    struct OffsetForLeaderEpochResponse {
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<OffsetForLeaderTopicResult>,
    }

    /// See [`OffsetForLeaderEpochResponse`].
    struct EpochEndOffset {
        [0..] error_code: i16,
        [0..] partition: i32,
        [0..] leader_epoch: i32 = -1,
        [0..] end_offset: i64 = -1,
    }

    /// See [`OffsetForLeaderEpochResponse`].
    struct OffsetForLeaderTopicResult {
        [0..] topic: String,
        [0..] partitions: Vec<EpochEndOffset>,
    }

    /// The request of OffsetCommit.
    struct OffsetCommitRequest {
        [0..] group_id: String,
        [0..] generation_id_or_member_epoch: i32 = -1,
        [0..] member_id: String,
        [7..] group_instance_id: Option<String>,
        [0..5] retention_time_ms: i64 = -1,
        [0..] topics: Vec<OffsetCommitRequestTopic>,
    }

    /// See [`OffsetCommitRequest`].
    struct OffsetCommitRequestPartition {
        [0..] partition_index: i32,
        [0..] committed_offset: i64,
        [6..] committed_leader_epoch: i32 = -1,
        [0..] committed_metadata: Option<String>,
    }

    /// See [`OffsetCommitRequest`].
    struct OffsetCommitRequestTopic {
        [0..10] name: String,
        [10..] topic_id: [u8; 16],
        [0..] partitions: Vec<OffsetCommitRequestPartition>,
    }

    /// The response of OffsetCommit.
    struct OffsetCommitResponse {
        [3..] throttle_time_ms: i32,
        [0..] topics: Vec<OffsetCommitResponseTopic>,
    }

    /// See [`OffsetCommitResponse`].
    struct OffsetCommitResponsePartition {
        [0..] partition_index: i32,
        [0..] error_code: i16,
    }

    /// See [`OffsetCommitResponse`].
    struct OffsetCommitResponseTopic {
        [0..10] name: String,
        [10..] topic_id: [u8; 16],
        [0..] partitions: Vec<OffsetCommitResponsePartition>,
    }

    /// The request of OffsetFetch.
    struct OffsetFetchRequest {
        [0..8] group_id: String,
        [0..8] topics: Option<Vec<OffsetFetchRequestTopic>>,
        [8..] groups: Vec<OffsetFetchRequestGroup>,
        [7..] require_stable: bool,
    }

    /// See [`OffsetFetchRequest`].
    struct OffsetFetchRequestGroup {
        [8..] group_id: String,
        [9..] member_id: Option<String>,
        [9..] member_epoch: i32 = -1,
        [8..] topics: Option<Vec<OffsetFetchRequestTopics>>,
    }

    /// See [`OffsetFetchRequest`].
    struct OffsetFetchRequestTopic {
        [0..8] name: String,
        [0..8] partition_indexes: Vec<i32>,
    }

    /// See [`OffsetFetchRequest`].
    struct OffsetFetchRequestTopics {
        [8..10] name: String,
        [10..] topic_id: [u8; 16],
        [8..] partition_indexes: Vec<i32>,
    }

    /// The response of OffsetFetch.
    struct OffsetFetchResponse {
        [3..] throttle_time_ms: i32,
        [0..8] topics: Vec<OffsetFetchResponseTopic>,
        [2..8] error_code: i16,
        [8..] groups: Vec<OffsetFetchResponseGroup>,
    }

    /// See [`OffsetFetchResponse`].
    struct OffsetFetchResponseGroup {
        [8..] group_id: String,
        [8..] topics: Vec<OffsetFetchResponseTopics>,
        [8..] error_code: i16,
    }

    /// See [`OffsetFetchResponse`].
    struct OffsetFetchResponsePartition {
        [0..8] partition_index: i32,
        [0..8] committed_offset: i64,
        [5..8] committed_leader_epoch: i32 = -1,
        [0..8] metadata: Option<String>,
        [0..8] error_code: i16,
    }

    /// See [`OffsetFetchResponse`].
    struct OffsetFetchResponsePartitions {
        [8..] partition_index: i32,
        [8..] committed_offset: i64,
        [8..] committed_leader_epoch: i32 = -1,
        [8..] metadata: Option<String>,
        [8..] error_code: i16,
    }

    /// See [`OffsetFetchResponse`].
    struct OffsetFetchResponseTopic {
        [0..8] name: String,
        [0..8] partitions: Vec<OffsetFetchResponsePartition>,
    }

    /// See [`OffsetFetchResponse`].
    struct OffsetFetchResponseTopics {
        [8..10] name: String,
        [10..] topic_id: [u8; 16],
        [8..] partitions: Vec<OffsetFetchResponsePartitions>,
    }

    /// The request of OffsetDelete.
    struct OffsetDeleteRequest {
        [0..] group_id: String,
        [0..] topics: Vec<OffsetDeleteRequestTopic>,
    }

    /// See [`OffsetDeleteRequest`].
    struct OffsetDeleteRequestPartition {
        [0..] partition_index: i32,
    }

    /// See [`OffsetDeleteRequest`].
    struct OffsetDeleteRequestTopic {
        [0..] name: String,
        [0..] partitions: Vec<OffsetDeleteRequestPartition>,
    }

    /// The response of OffsetDelete.
    struct OffsetDeleteResponse {
        [0..] error_code: i16,
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<OffsetDeleteResponseTopic>,
    }

    /// See [`OffsetDeleteResponse`].
    struct OffsetDeleteResponsePartition {
        [0..] partition_index: i32,
        [0..] error_code: i16,
    }

    /// See [`OffsetDeleteResponse`].
    struct OffsetDeleteResponseTopic {
        [0..] name: String,
        [0..] partitions: Vec<OffsetDeleteResponsePartition>,
    }
}
