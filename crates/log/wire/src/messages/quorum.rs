//! The quorum of a KRaft cluster, and the levels of its features. Tools ask for both of a cluster that has no such quorum.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of DescribeQuorum.
    struct DescribeQuorumRequest {
        [0..] topics: Vec<DescribeQuorumTopicRequest>,
    }

    /// See [`DescribeQuorumRequest`].
    struct DescribeQuorumTopicRequest {
        [0..] topic_name: String,
        [0..] partitions: Vec<DescribeQuorumPartitionRequest>,
    }

    /// See [`DescribeQuorumRequest`].
    struct DescribeQuorumPartitionRequest {
        [0..] partition_index: i32,
    }

    /// The response of DescribeQuorum.
    struct DescribeQuorumResponse {
        [0..] error_code: i16,
        [2..] error_message: Option<String>,
        [0..] topics: Vec<DescribeQuorumTopic>,
        [2..] nodes: Vec<DescribeQuorumNode>,
    }

    /// See [`DescribeQuorumResponse`].
    struct DescribeQuorumTopic {
        [0..] topic_name: String,
        [0..] partitions: Vec<DescribeQuorumPartition>,
    }

    /// See [`DescribeQuorumResponse`].
    struct DescribeQuorumPartition {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [2..] error_message: Option<String>,
        [0..] leader_id: i32,
        [0..] leader_epoch: i32,
        [0..] high_watermark: i64,
        [0..] current_voters: Vec<DescribeQuorumReplica>,
        [0..] observers: Vec<DescribeQuorumReplica>,
    }

    /// See [`DescribeQuorumResponse`].
    struct DescribeQuorumReplica {
        [0..] replica_id: i32,
        [2..] replica_directory_id: [u8; 16],
        [0..] log_end_offset: i64,
        [1..] last_fetch_timestamp: i64 = -1,
        [1..] last_caught_up_timestamp: i64 = -1,
    }

    /// See [`DescribeQuorumResponse`].
    struct DescribeQuorumNode {
        [0..] node_id: i32,
        [0..] listeners: Vec<DescribeQuorumListener>,
    }

    /// See [`DescribeQuorumResponse`].
    struct DescribeQuorumListener {
        [0..] name: String,
        [0..] host: String,
        [0..] port: u16,
    }

    /// The request of UpdateFeatures.
    struct UpdateFeaturesRequest {
        [0..] timeout_ms: i32 = 60_000,
        [0..] feature_updates: Vec<FeatureUpdate>,
        [1..] validate_only: bool,
    }

    /// See [`UpdateFeaturesRequest`].
    struct FeatureUpdate {
        [0..] feature: String,
        [0..] max_version_level: i16,
        [0..1] allow_downgrade: bool,
        [1..] upgrade_type: i8 = 1,
    }

    /// The response of UpdateFeatures.
    struct UpdateFeaturesResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..2] results: Vec<UpdatableFeatureResult>,
    }

    /// See [`UpdateFeaturesResponse`].
    struct UpdatableFeatureResult {
        [0..] feature: String,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }
}
