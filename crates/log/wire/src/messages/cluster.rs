//! The cluster: brokers, directories, replicas.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of DescribeCluster.
    struct DescribeClusterRequest {
        [0..] include_cluster_authorized_operations: bool,
        [1..] endpoint_type: i8 = 1,
        [2..] include_fenced_brokers: bool,
    }

    /// The response of DescribeCluster.
    struct DescribeClusterResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [1..] endpoint_type: i8 = 1,
        [0..] cluster_id: String,
        [0..] controller_id: i32 = -1,
        [0..] brokers: Vec<DescribeClusterBroker>,
        [0..] cluster_authorized_operations: i32 = i32::MIN,
    }

    /// See [`DescribeClusterResponse`].
    struct DescribeClusterBroker {
        [0..] broker_id: i32,
        [0..] host: String,
        [0..] port: i32,
        [0..] rack: Option<String>,
        [2..] is_fenced: bool,
    }

    /// The request of DescribeLogDirs.
    struct DescribeLogDirsRequest {
        [0..] topics: Option<Vec<DescribableLogDirTopic>>,
    }

    /// See [`DescribeLogDirsRequest`].
    struct DescribableLogDirTopic {
        [0..] topic: String,
        [0..] partitions: Vec<i32>,
    }

    /// The response of DescribeLogDirs.
    struct DescribeLogDirsResponse {
        [0..] throttle_time_ms: i32,
        [3..] error_code: i16,
        [0..] results: Vec<DescribeLogDirsResult>,
    }

    /// See [`DescribeLogDirsResponse`].
    struct DescribeLogDirsPartition {
        [0..] partition_index: i32,
        [0..] partition_size: i64,
        [0..] offset_lag: i64,
        [0..] is_future_key: bool,
    }

    /// See [`DescribeLogDirsResponse`].
    struct DescribeLogDirsResult {
        [0..] error_code: i16,
        [0..] log_dir: String,
        [0..] topics: Vec<DescribeLogDirsTopic>,
        [4..] total_bytes: i64 = -1,
        [4..] usable_bytes: i64 = -1,
        [5..] is_cordoned: bool,
    }

    /// See [`DescribeLogDirsResponse`].
    struct DescribeLogDirsTopic {
        [0..] name: String,
        [0..] partitions: Vec<DescribeLogDirsPartition>,
    }

    /// The request of AlterReplicaLogDirs.
    struct AlterReplicaLogDirsRequest {
        [0..] dirs: Vec<AlterReplicaLogDir>,
    }

    /// See [`AlterReplicaLogDirsRequest`].
    struct AlterReplicaLogDir {
        [0..] path: String,
        [0..] topics: Vec<AlterReplicaLogDirTopic>,
    }

    /// See [`AlterReplicaLogDirsRequest`].
    struct AlterReplicaLogDirTopic {
        [0..] name: String,
        [0..] partitions: Vec<i32>,
    }

    /// The response of AlterReplicaLogDirs.
    struct AlterReplicaLogDirsResponse {
        [0..] throttle_time_ms: i32,
        [0..] results: Vec<AlterReplicaLogDirTopicResult>,
    }

    /// See [`AlterReplicaLogDirsResponse`].
    struct AlterReplicaLogDirPartitionResult {
        [0..] partition_index: i32,
        [0..] error_code: i16,
    }

    /// See [`AlterReplicaLogDirsResponse`].
    struct AlterReplicaLogDirTopicResult {
        [0..] topic_name: String,
        [0..] partitions: Vec<AlterReplicaLogDirPartitionResult>,
    }

    /// The request of ElectLeaders.
    struct ElectLeadersRequest {
        [1..] election_type: i8,
        [0..] topic_partitions: Option<Vec<ElectLeadersTopicPartitions>>,
        [0..] timeout_ms: i32 = 60_000,
    }

    /// See [`ElectLeadersRequest`].
    struct ElectLeadersTopicPartitions {
        [0..] topic: String,
        [0..] partitions: Vec<i32>,
    }

    /// The response of ElectLeaders.
    struct ElectLeadersResponse {
        [0..] throttle_time_ms: i32,
        [1..] error_code: i16,
        [0..] replica_election_results: Vec<ReplicaElectionResult>,
    }

    /// See [`ElectLeadersResponse`].
    struct PartitionResult {
        [0..] partition_id: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// See [`ElectLeadersResponse`].
    struct ReplicaElectionResult {
        [0..] topic: String,
        [0..] partition_result: Vec<PartitionResult>,
    }

    /// The request of AlterPartitionReassignments.
    struct AlterPartitionReassignmentsRequest {
        [0..] timeout_ms: i32 = 60_000,
        [1..] allow_replication_factor_change: bool = true,
        [0..] topics: Vec<ReassignableTopic>,
    }

    /// See [`AlterPartitionReassignmentsRequest`].
    struct ReassignablePartition {
        [0..] partition_index: i32,
        [0..] replicas: Option<Vec<i32>>,
    }

    /// See [`AlterPartitionReassignmentsRequest`].
    struct ReassignableTopic {
        [0..] name: String,
        [0..] partitions: Vec<ReassignablePartition>,
    }

    /// The response of AlterPartitionReassignments.
    struct AlterPartitionReassignmentsResponse {
        [0..] throttle_time_ms: i32,
        [1..] allow_replication_factor_change: bool = true,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] responses: Vec<ReassignableTopicResponse>,
    }

    /// See [`AlterPartitionReassignmentsResponse`].
    struct ReassignablePartitionResponse {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// See [`AlterPartitionReassignmentsResponse`].
    struct ReassignableTopicResponse {
        [0..] name: String,
        [0..] partitions: Vec<ReassignablePartitionResponse>,
    }

    /// The request of ListPartitionReassignments.
    struct ListPartitionReassignmentsRequest {
        [0..] timeout_ms: i32 = 60_000,
        [0..] topics: Option<Vec<ListPartitionReassignmentsTopics>>,
    }

    /// See [`ListPartitionReassignmentsRequest`].
    struct ListPartitionReassignmentsTopics {
        [0..] name: String,
        [0..] partition_indexes: Vec<i32>,
    }

    /// The response of ListPartitionReassignments.
    struct ListPartitionReassignmentsResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] topics: Vec<OngoingTopicReassignment>,
    }

    /// See [`ListPartitionReassignmentsResponse`].
    struct OngoingPartitionReassignment {
        [0..] partition_index: i32,
        [0..] replicas: Vec<i32>,
        [0..] adding_replicas: Vec<i32>,
        [0..] removing_replicas: Vec<i32>,
    }

    /// See [`ListPartitionReassignmentsResponse`].
    struct OngoingTopicReassignment {
        [0..] name: String,
        [0..] partitions: Vec<OngoingPartitionReassignment>,
    }
}
