//! The main path as a client sees it: Metadata, Produce and Fetch. A broker reads and writes these by hand.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{Blob, messages};

messages! {
    /// The request of Metadata, without what older versions than 4 lack.
    struct MetadataBody {
        [4..] topics: Option<Vec<MetadataBodyTopic>>,
        [4..] allow_auto_topic_creation: bool,
        [8..11] include_cluster_authorized_operations: bool,
        [8..] include_topic_authorized_operations: bool,
    }

    /// See [`MetadataBody`].
    struct MetadataBodyTopic {
        [10..] topic_id: [u8; 16],
        [4..] name: Option<String>,
    }

    /// The response of Metadata.
    struct MetadataResponse {
        [4..] throttle_time_ms: i32,
        [4..] brokers: Vec<MetadataBroker>,
        [4..] cluster_id: Option<String>,
        [4..] controller_id: i32 = -1,
        [4..] topics: Vec<MetadataResponseTopic>,
        [8..11] cluster_authorized_operations: i32 = i32::MIN,
        [13..] error_code: i16,
    }

    /// See [`MetadataResponse`].
    struct MetadataBroker {
        [4..] node_id: i32,
        [4..] host: String,
        [4..] port: i32,
        [4..] rack: Option<String>,
    }

    /// See [`MetadataResponse`].
    struct MetadataResponseTopic {
        [4..] error_code: i16,
        [4..] name: Option<String>,
        [10..] topic_id: [u8; 16],
        [4..] is_internal: bool,
        [4..] partitions: Vec<MetadataResponsePartition>,
        [8..] topic_authorized_operations: i32 = i32::MIN,
    }

    /// See [`MetadataResponse`].
    struct MetadataResponsePartition {
        [4..] error_code: i16,
        [4..] partition_index: i32,
        [4..] leader_id: i32,
        [7..] leader_epoch: i32 = -1,
        [4..] replica_nodes: Vec<i32>,
        [4..] isr_nodes: Vec<i32>,
        [5..] offline_replicas: Vec<i32>,
    }

    /// The request of Produce.
    struct ProduceBody {
        [3..] transactional_id: Option<String>,
        [3..] acks: i16,
        [3..] timeout_ms: i32,
        [3..] topic_data: Vec<ProduceBodyTopic>,
    }

    /// See [`ProduceBody`].
    struct ProduceBodyTopic {
        [3..13] name: String,
        [13..] topic_id: [u8; 16],
        [3..] partition_data: Vec<ProduceBodyPartition>,
    }

    /// See [`ProduceBody`].
    struct ProduceBodyPartition {
        [3..] index: i32,
        [3..] records: Blob,
    }

    /// The response of Produce.
    struct ProduceResponse {
        [3..] responses: Vec<ProduceResponseTopic>,
        [3..] throttle_time_ms: i32,
    }

    /// See [`ProduceResponse`].
    struct ProduceResponseTopic {
        [3..13] name: String,
        [13..] topic_id: [u8; 16],
        [3..] partition_responses: Vec<ProduceResponsePartition>,
    }

    /// See [`ProduceResponse`].
    struct ProduceResponsePartition {
        [3..] index: i32,
        [3..] error_code: i16,
        [3..] base_offset: i64,
        [3..] log_append_time_ms: i64 = -1,
        [5..] log_start_offset: i64 = -1,
        [8..] record_errors: Vec<ProduceRecordError>,
        [8..] error_message: Option<String>,
    }

    /// See [`ProduceResponse`].
    struct ProduceRecordError {
        [8..] batch_index: i32,
        [8..] batch_index_error_message: Option<String>,
    }

    /// The request of Fetch. What replicas say in it is left out.
    struct FetchBody {
        [4..15] replica_id: i32 = -1,
        [4..] max_wait_ms: i32,
        [4..] min_bytes: i32,
        [4..] max_bytes: i32 = i32::MAX,
        [4..] isolation_level: i8,
        [7..] session_id: i32,
        [7..] session_epoch: i32 = -1,
        [4..] topics: Vec<FetchBodyTopic>,
        [7..] forgotten_topics_data: Vec<FetchBodyForgotten>,
        [11..] rack_id: String,
    }

    /// See [`FetchBody`].
    struct FetchBodyTopic {
        [4..13] topic: String,
        [13..] topic_id: [u8; 16],
        [4..] partitions: Vec<FetchBodyPartition>,
    }

    /// See [`FetchBody`].
    struct FetchBodyPartition {
        [4..] partition: i32,
        [9..] current_leader_epoch: i32 = -1,
        [4..] fetch_offset: i64,
        [12..] last_fetched_epoch: i32 = -1,
        [5..] log_start_offset: i64 = -1,
        [4..] partition_max_bytes: i32,
    }

    /// See [`FetchBody`].
    struct FetchBodyForgotten {
        [7..13] topic: String,
        [13..] topic_id: [u8; 16],
        [7..] partitions: Vec<i32>,
    }

    /// The response of Fetch.
    struct FetchResponse {
        [4..] throttle_time_ms: i32,
        [7..] error_code: i16,
        [7..] session_id: i32,
        [4..] responses: Vec<FetchResponseTopic>,
    }

    /// See [`FetchResponse`].
    struct FetchResponseTopic {
        [4..13] topic: String,
        [13..] topic_id: [u8; 16],
        [4..] partitions: Vec<FetchResponsePartition>,
    }

    /// See [`FetchResponse`].
    struct FetchResponsePartition {
        [4..] partition_index: i32,
        [4..] error_code: i16,
        [4..] high_watermark: i64,
        [4..] last_stable_offset: i64 = -1,
        [5..] log_start_offset: i64 = -1,
        [4..] aborted_transactions: Option<Vec<AbortedTransaction>>,
        [11..] preferred_read_replica: i32 = -1,
        [4..] records: Blob,
    }

    /// See [`FetchResponse`].
    struct AbortedTransaction {
        [4..] producer_id: i64,
        [4..] first_offset: i64,
    }
}
