//! Producer ids and transactions.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of InitProducerId.
    struct InitProducerIdRequest {
        [0..] transactional_id: Option<String>,
        [0..] transaction_timeout_ms: i32,
        [3..] producer_id: i64 = -1,
        [3..] producer_epoch: i16 = -1,
    }

    /// The response of InitProducerId.
    struct InitProducerIdResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] producer_id: i64 = -1,
        [0..] producer_epoch: i16,
        [6..] ongoing_txn_producer_id: i64 = -1,
        [6..] ongoing_txn_producer_epoch: i16 = -1,
    }

    /// The request of AddPartitionsToTxn.
    struct AddPartitionsToTxnRequest {
        [4..] transactions: Vec<AddPartitionsToTxnTransaction>,
        [0..4] v3_and_below_transactional_id: String,
        [0..4] v3_and_below_producer_id: i64,
        [0..4] v3_and_below_producer_epoch: i16,
        [0..4] v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
    }

    /// See [`AddPartitionsToTxnRequest`].
    struct AddPartitionsToTxnTopic {
        [0..] name: String,
        [0..] partitions: Vec<i32>,
    }

    /// See [`AddPartitionsToTxnRequest`].
    struct AddPartitionsToTxnTransaction {
        [4..] transactional_id: String,
        [4..] producer_id: i64,
        [4..] producer_epoch: i16,
        [4..] verify_only: bool,
        [4..] topics: Vec<AddPartitionsToTxnTopic>,
    }

    /// The response of AddPartitionsToTxn.
    struct AddPartitionsToTxnResponse {
        [0..] throttle_time_ms: i32,
        [4..] error_code: i16,
        [4..] results_by_transaction: Vec<AddPartitionsToTxnResult>,
        [0..4] results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
    }

    /// See [`AddPartitionsToTxnResponse`].
    struct AddPartitionsToTxnPartitionResult {
        [0..] partition_index: i32,
        [0..] partition_error_code: i16,
    }

    /// See [`AddPartitionsToTxnResponse`].
    struct AddPartitionsToTxnResult {
        [4..] transactional_id: String,
        [4..] topic_results: Vec<AddPartitionsToTxnTopicResult>,
    }

    /// See [`AddPartitionsToTxnResponse`].
    struct AddPartitionsToTxnTopicResult {
        [0..] name: String,
        [0..] results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
    }

    /// The request of AddOffsetsToTxn.
    struct AddOffsetsToTxnRequest {
        [0..] transactional_id: String,
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [0..] group_id: String,
    }

    /// The response of AddOffsetsToTxn.
    struct AddOffsetsToTxnResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
    }

    /// The request of EndTxn.
    struct EndTxnRequest {
        [0..] transactional_id: String,
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [0..] committed: bool,
    }

    /// The response of EndTxn.
    struct EndTxnResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [5..] producer_id: i64 = -1,
        [5..] producer_epoch: i16 = -1,
    }

    /// The request of TxnOffsetCommit.
    struct TxnOffsetCommitRequest {
        [0..] transactional_id: String,
        [0..] group_id: String,
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [3..] generation_id: i32 = -1,
        [3..] member_id: String,
        [3..] group_instance_id: Option<String>,
        [0..] topics: Vec<TxnOffsetCommitRequestTopic>,
    }

    /// See [`TxnOffsetCommitRequest`].
    struct TxnOffsetCommitRequestPartition {
        [0..] partition_index: i32,
        [0..] committed_offset: i64,
        [2..] committed_leader_epoch: i32 = -1,
        [0..] committed_metadata: Option<String>,
    }

    /// See [`TxnOffsetCommitRequest`].
    struct TxnOffsetCommitRequestTopic {
        [0..] name: String,
        [0..] partitions: Vec<TxnOffsetCommitRequestPartition>,
    }

    /// The response of TxnOffsetCommit.
    struct TxnOffsetCommitResponse {
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<TxnOffsetCommitResponseTopic>,
    }

    /// See [`TxnOffsetCommitResponse`].
    struct TxnOffsetCommitResponsePartition {
        [0..] partition_index: i32,
        [0..] error_code: i16,
    }

    /// See [`TxnOffsetCommitResponse`].
    struct TxnOffsetCommitResponseTopic {
        [0..] name: String,
        [0..] partitions: Vec<TxnOffsetCommitResponsePartition>,
    }

    /// The request of WriteTxnMarkers.
    struct WriteTxnMarkersRequest {
        [0..] markers: Vec<WritableTxnMarker>,
    }

    /// See [`WriteTxnMarkersRequest`].
    struct WritableTxnMarker {
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [0..] transaction_result: bool,
        [0..] topics: Vec<WritableTxnMarkerTopic>,
        [0..] coordinator_epoch: i32,
        [2..] transaction_version: i8,
    }

    /// See [`WriteTxnMarkersRequest`].
    struct WritableTxnMarkerTopic {
        [0..] name: String,
        [0..] partition_indexes: Vec<i32>,
    }

    /// The response of WriteTxnMarkers.
    struct WriteTxnMarkersResponse {
        [0..] markers: Vec<WritableTxnMarkerResult>,
    }

    /// See [`WriteTxnMarkersResponse`].
    struct WritableTxnMarkerPartitionResult {
        [0..] partition_index: i32,
        [0..] error_code: i16,
    }

    /// See [`WriteTxnMarkersResponse`].
    struct WritableTxnMarkerResult {
        [0..] producer_id: i64,
        [0..] topics: Vec<WritableTxnMarkerTopicResult>,
    }

    /// See [`WriteTxnMarkersResponse`].
    struct WritableTxnMarkerTopicResult {
        [0..] name: String,
        [0..] partitions: Vec<WritableTxnMarkerPartitionResult>,
    }

    /// The request of DescribeProducers.
    struct DescribeProducersRequest {
        [0..] topics: Vec<DescribeProducersTopicRequest>,
    }

    /// See [`DescribeProducersRequest`].
    struct DescribeProducersTopicRequest {
        [0..] name: String,
        [0..] partition_indexes: Vec<i32>,
    }

    /// The response of DescribeProducers.
    struct DescribeProducersResponse {
        [0..] throttle_time_ms: i32,
        [0..] topics: Vec<TopicResponse>,
    }

    /// See [`DescribeProducersResponse`].
    struct PartitionResponse {
        [0..] partition_index: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] active_producers: Vec<ProducerState>,
    }

    /// See [`DescribeProducersResponse`].
    struct ProducerState {
        [0..] producer_id: i64,
        [0..] producer_epoch: i32,
        [0..] last_sequence: i32 = -1,
        [0..] last_timestamp: i64 = -1,
        [0..] coordinator_epoch: i32,
        [0..] current_txn_start_offset: i64 = -1,
    }

    /// See [`DescribeProducersResponse`].
    struct TopicResponse {
        [0..] name: String,
        [0..] partitions: Vec<PartitionResponse>,
    }

    /// The request of DescribeTransactions.
    struct DescribeTransactionsRequest {
        [0..] transactional_ids: Vec<String>,
    }

    /// The response of DescribeTransactions.
    struct DescribeTransactionsResponse {
        [0..] throttle_time_ms: i32,
        [0..] transaction_states: Vec<DescribedTransaction>,
    }

    /// See [`DescribeTransactionsResponse`].
    struct TopicData {
        [0..] topic: String,
        [0..] partitions: Vec<i32>,
    }

    /// See [`DescribeTransactionsResponse`].
    struct DescribedTransaction {
        [0..] error_code: i16,
        [0..] transactional_id: String,
        [0..] transaction_state: String,
        [0..] transaction_timeout_ms: i32,
        [0..] transaction_start_time_ms: i64,
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [0..] topics: Vec<TopicData>,
    }

    /// The request of ListTransactions.
    struct ListTransactionsRequest {
        [0..] state_filters: Vec<String>,
        [0..] producer_id_filters: Vec<i64>,
        [1..] duration_filter: i64 = -1,
        [2..] transactional_id_pattern: Option<String>,
    }

    /// The response of ListTransactions.
    struct ListTransactionsResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] unknown_state_filters: Vec<String>,
        [0..] transaction_states: Vec<ListedTransaction>,
    }

    /// See [`ListTransactionsResponse`].
    struct ListedTransaction {
        [0..] transactional_id: String,
        [0..] producer_id: i64,
        [0..] transaction_state: String,
    }
}
