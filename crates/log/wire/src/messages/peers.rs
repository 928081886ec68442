//! What brokers ask each other: in the form of Kafka's messages, and none of them. There is one version.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

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
    }

    /// The answer to [`MarkerCall`].
    struct MarkerAnswer {
        [0..] error_code: i16,
    }
}
