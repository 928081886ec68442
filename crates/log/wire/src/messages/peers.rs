//! What brokers ask each other: in the form of Kafka's messages, and none of them. There is one version.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{Blob, messages};

messages! {
    /// What takes part in a transaction: a partition of a topic; of that of groups if the id is zero.
    struct PeerParticipant {
        [0..] topic_id: [u8; 16],
        [0..] topic: String,
        [0..] index: i32,
    }

    /// May records of this producer enter these partitions?
    struct VerifyCall {
        [0..] transactional_id: String,
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [0..] add: bool,
        [0..] participants: Vec<PeerParticipant>,
    }

    /// The answer to [`VerifyCall`]: an error, or one for each of the partitions.
    struct VerifyAnswer {
        [0..] error_code: i16,
        [0..] error_codes: Vec<i16>,
    }

    /// A transaction ends at a participant.
    struct MarkerCall {
        [0..] participant: PeerParticipant,
        [0..] producer_id: i64,
        [0..] producer_epoch: i16,
        [0..] coordinator_epoch: i32,
        [0..] commit: bool,
        [0..] transaction_version: i8,
        [0..] leader_epoch: i32,
    }

    /// The answer to [`MarkerCall`].
    struct MarkerAnswer {
        [0..] error_code: i16,
    }

    /// A leader of a partition asks the holder of a share group's states. What a kind does not need has no meaning.
    struct ShareStateCall {
        [0..] kind: i8,
        [0..] group: String,
        [0..] topic_id: [u8; 16],
        [0..] index: i32,
        [0..] state_epoch: i32,
        [0..] leader_epoch: i32,
        [0..] start: i64,
        [0..] batches: Vec<PeerStateBatch>,
    }

    /// Records of a share partition in the same state.
    struct PeerStateBatch {
        [0..] first: i64,
        [0..] last: i64,
        [0..] state: i8,
        [0..] delivery_count: i16,
    }

    /// The answer to [`ShareStateCall`].
    struct ShareStateAnswer {
        [0..] error_code: i16,
        [0..] kind: i8,
        [0..] state_epoch: i32,
        [0..] leader_epoch: i32,
        [0..] start: i64,
        [0..] batches: Vec<PeerStateBatch>,
        [0..] summaries: Vec<PeerStateSummary>,
    }

    /// A share partition of a group, without its records.
    struct PeerStateSummary {
        [0..] topic_id: [u8; 16],
        [0..] index: i32,
        [0..] leader_epoch: i32,
        [0..] start: i64,
        [0..] finished: i64,
    }

    /// Share groups whose states the sender holds, to the broker that coordinates their members; or whose last state is gone.
    struct ShareGroupsCall {
        [0..] groups: Vec<String>,
        [0..] gone: Vec<String>,
    }

    /// Records for a partition that the other broker leads: as one batch, which is not compressed.
    struct AppendCall {
        [0..] topic_id: [u8; 16],
        [0..] index: i32,
        [0..] batch: Blob,
    }

    /// The answer to [`AppendCall`]: once the records are committed, or refused.
    struct AppendAnswer {
        [0..] error_code: i16,
    }
    /// What the sender has measured of partitions that it leads, and what it has: to the controller. There is no answer.
    struct LoadsCall {
        [0..] disk_bytes: i64,
        [0..] network_bytes_per_s: i64,
        [0..] partitions: Vec<PeerLoad>,
    }

    /// How fast a partition grows and is read.
    struct PeerLoad {
        [0..] topic_id: [u8; 16],
        [0..] index: i32,
        [0..] write_bytes_per_s: i64,
        [0..] read_bytes_per_s: i64,
        [0..] requests_per_s: i64,
        [0..] stored_bytes: i64,
    }

    /// Partitions of which the receiver leads copies to new replicas that nobody waits for: the controller moves them.
    struct MovesCall {
        [0..] partitions: Vec<PeerPartition>,
    }

    /// A partition.
    struct PeerPartition {
        [0..] topic_id: [u8; 16],
        [0..] index: i32,
    }

    /// Where do these partitions begin and end, which the receiver leads?
    struct EndsCall {
        [0..] partitions: Vec<PeerPartition>,
    }

    /// The answer to [`EndsCall`]: for each partition, in that order.
    struct EndsAnswer {
        [0..] partitions: Vec<PeerEnds>,
    }

    /// Where a partition begins, and ends for who reads what is committed. -1 if the sender does not lead it.
    struct PeerEnds {
        [0..] start: i64,
        [0..] end: i64,
    }
}
