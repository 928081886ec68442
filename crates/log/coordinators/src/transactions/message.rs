//! Requests to a transaction coordinator, its answers and its effects, without the form of any version of the wire.

use base::WallTime;
use log_partition::{Marker, ProducerEpoch, ProducerId};
use log_wire::ErrorCode;

use crate::pattern::Pattern;
use crate::{Record, Seq, Text, Ticket, Topic};

/// A producer id with an epoch: who may act in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Producer {
    /// The id.
    pub id: ProducerId,
    /// The epoch.
    pub epoch: ProducerEpoch,
}

/// Who speaks, in the name of which transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRef {
    /// The transactional id.
    pub transactional_id: Text,
    /// The producer that the client believes to be.
    pub producer: Producer,
}

/// What takes part in a transaction and gets a marker at its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Participant {
    /// A partition of a topic.
    Partition(Topic, i32),
    /// A partition of the group coordinators' internal topic.
    Offsets(i32),
}

/// InitProducerId with a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitProducerId {
    /// The transactional id.
    pub transactional_id: Text,
    /// `transaction.timeout.ms` of the client.
    pub timeout_ms: i32,
    /// The producer that the client was until now (KIP-360): it goes on under a new epoch unless another has followed it.
    pub producer: Option<Producer>,
}

/// AddPartitionsToTxn of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddPartitions {
    /// Who asks.
    pub who: TransactionRef,
    /// The partitions, each with what the broker found: an error if there is no such partition, or if it is not the client's.
    pub partitions: Vec<(Participant, ErrorCode)>,
}

/// AddPartitionsToTxn of a broker, for one transaction: may records, or offsets, of this producer enter these partitions?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyPartitions {
    /// The producer of the records.
    pub who: TransactionRef,
    /// The partitions.
    pub partitions: Vec<Participant>,
    /// Partitions that are missing are added (transaction version 2). Otherwise they are refused.
    pub add: bool,
}

/// EndTxn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndTransaction {
    /// Who ends it.
    pub who: TransactionRef,
    /// Whether it is to be committed; otherwise it is to be aborted.
    pub commit: bool,
    /// The version of the request: from 5 on, each transaction has an epoch of its own (KIP-890).
    pub version: i16,
}

/// Which transactions ListTransactions shows. What is empty or nothing restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionFilter {
    /// Those in one of these states.
    pub states: Vec<Text>,
    /// Those of one of these producer ids.
    pub producer_ids: Vec<ProducerId>,
    /// Those that began longer ago than this. One that has not begun did so before all times.
    pub duration_ms: Option<i64>,
    /// Those whose transactional id matches.
    pub pattern: Option<Pattern>,
}

/// The states that Kafka knows. A transaction is never seen in the last two here.
const STATES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

impl TransactionFilter {
    /// Its states that do not exist.
    pub fn unknown_states(&self) -> impl Iterator<Item = &Text> {
        self.states.iter().filter(|state| !STATES.contains(&&***state))
    }
}

/// What a client, or a broker, asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    /// InitProducerId.
    Init(InitProducerId),
    /// AddPartitionsToTxn of a client.
    Add(AddPartitions),
    /// AddOffsetsToTxn: the partition in which the group's offsets lie.
    AddOffsets(TransactionRef, i32),
    /// AddPartitionsToTxn of a broker.
    Verify(VerifyPartitions),
    /// EndTxn.
    End(EndTransaction),
    /// DescribeTransactions.
    Describe(Vec<Text>),
    /// ListTransactions.
    List(TransactionFilter),
}

impl TransactionRequest {
    /// How many things a client names in it.
    pub(crate) fn names(&self) -> usize {
        match self {
            Self::Add(add) => add.partitions.len(),
            Self::Verify(verify) => verify.partitions.len(),
            Self::Describe(ids) => ids.len(),
            Self::List(filter) => filter.states.len() + filter.producer_ids.len(),
            Self::Init(_) | Self::AddOffsets(..) | Self::End(_) => 0,
        }
    }

    pub(crate) fn transactional_id(&self) -> Option<&Text> {
        match self {
            Self::Init(init) => Some(&init.transactional_id),
            Self::Add(add) => Some(&add.who.transactional_id),
            Self::AddOffsets(who, _) => Some(&who.transactional_id),
            Self::Verify(verify) => Some(&verify.who.transactional_id),
            Self::End(end) => Some(&end.who.transactional_id),
            Self::Describe(_) | Self::List(_) => None,
        }
    }
}

/// A transaction as DescribeTransactions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionDescription {
    /// The producer: while markers are written, that of the markers.
    pub producer: Producer,
    /// The state, by Kafka's name.
    pub state: &'static str,
    /// Its timeout.
    pub timeout_ms: u32,
    /// When it began, or the one before if that has ended; nothing before the first.
    pub started_at: Option<WallTime>,
    /// Its participants.
    pub participants: Vec<Participant>,
}

/// A transaction as ListTransactions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionListing {
    /// The transactional id.
    pub transactional_id: Text,
    /// The producer id.
    pub producer_id: ProducerId,
    /// The state, by Kafka's name.
    pub state: &'static str,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionAnswer {
    /// The whole request failed.
    Failed(ErrorCode),
    /// AddOffsetsToTxn: done.
    Done,
    /// InitProducerId: the producer that the client is from now on.
    Initialized(Producer),
    /// EndTxn: the producer of the next transaction. Versions below 5 do not carry it.
    Ended(Producer),
    /// AddPartitionsToTxn: an error code for each partition, in the request's order.
    Each(Vec<ErrorCode>),
    /// DescribeTransactions: in the request's order.
    Described(Vec<Result<TransactionDescription, ErrorCode>>),
    /// ListTransactions.
    Listed(Vec<TransactionListing>),
}

/// Numbers the decisions whose markers one coordinator sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkersId(pub u64);

/// A marker to write to each of the participants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteMarkers {
    /// Of which decision they are.
    pub id: MarkersId,
    /// The transactional id.
    pub transactional_id: Text,
    /// The marker.
    pub marker: Marker,
    /// Where to write it.
    pub participants: Vec<Participant>,
}

/// What became of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerOutcome {
    /// It is durable, and whoever reads there sees its effect.
    Written,
    /// It has nothing to end any more: the topic is deleted, or the partition knows a newer epoch of the producer.
    Unneeded,
    /// It was not written and will not be: it has to be sent again.
    NotWritten,
    /// A newer coordinator has written there: this one must send no more for this transaction, and should resign.
    Fenced,
}

/// What the caller has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionEffect {
    /// Append the records as one batch, whole or not at all, behind all earlier ones; then call
    /// [`persisted`](crate::TransactionCoordinator::persisted) or [`refused`](crate::TransactionCoordinator::refused).
    Append {
        /// The number of the append.
        seq: Seq,
        /// The records.
        records: Vec<Record>,
    },
    /// Before what follows is done, make sure that no other broker coordinates this partition by now: what is answered comes from
    /// memory alone, and may be old.
    Confirm,
    /// Answer a request.
    Reply {
        /// The request.
        ticket: Ticket,
        /// The answer.
        answer: TransactionAnswer,
    },
    /// Write markers; then call [`markers_written`](crate::TransactionCoordinator::markers_written) once for each participant.
    WriteMarkers(WriteMarkers),
    /// Get a block of producer ids that nobody else gets; then call
    /// [`producer_ids`](crate::TransactionCoordinator::producer_ids), with nothing if it failed.
    AllocateProducerIds,
}
