//! Transactional batches: which of them the coordinator of their transaction is asked about, and what its answer means.
//!
//! A partition whose producer has a transaction open there needs no question: its coordinator knew it when the first batch came.

use std::collections::BTreeMap;
use std::sync::Arc;

use log_coordinators::{Participant, Producer, Topic, TransactionRef, VerifyPartitions};
use log_partition::{BatchRefused, PartitionId, ProducerEpoch, ProducerId};
use log_wire::{Batch, ErrorCode, ProducePartition, ProduceRequest};

use crate::node::Node;
use crate::partitions::Hosted;
use crate::question::Verdict;
use crate::rights::{By, TOPIC_WRITE, TRANSACTION_WRITE};

/// The first versions that know `TRANSACTION_ABORTABLE`, and that add partitions by themselves (KIP-890).
const KNOWS_ABORTABLE: i16 = 11;
pub(super) const ADDS: i16 = 12;

/// What the coordinator has said of partitions.
pub(super) type Verified = BTreeMap<PartitionId, ErrorCode>;

/// What the coordinator is to be asked before a request is carried out, if anything, and about which partitions.
///
/// # Errors
/// Nothing of the request is carried out. `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`: transactional batches, and no transactional id,
/// or one that the client may not use. `INVALID_PRODUCER_ID_MAPPING`: transactional batches of more than one producer.
pub(super) fn question(
    node: &Node,
    by: By<'_>,
    (request, version): (&ProduceRequest<'_>, i16),
    partitions: &[ProducePartition<'_>],
) -> Result<Option<(VerifyPartitions, Vec<PartitionId>)>, ErrorCode> {
    let batches = partitions.iter().filter_map(|partition| Some((partition, transactional(partition)?)));
    let (mut producer, mut is_allowed) = (None, false);
    let (mut participants, mut asked) = (Vec::new(), Vec::new());
    for (partition, batch) in batches {
        if !is_allowed {
            node.may(by, TRANSACTION_WRITE, request.transactional_id.ok_or(TRANSACTION_WRITE.lack)?)?;
            is_allowed = true;
        }
        if node.may_on_topic(by, TOPIC_WRITE, partition.topic).is_err() {
            continue;
        }
        let Some(of) = producer_of(&batch) else { continue };
        if *producer.get_or_insert(of) != of {
            return Err(ErrorCode::InvalidProducerIdMapping);
        }
        let Ok((_, hosted)) = node.find(partition.topic, partition.partition) else { continue };
        if !hosted.partition.has_open_transaction(of.id, of.epoch) && !asked.contains(&hosted.id) {
            let topic = Topic { name: Arc::clone(&hosted.topic), id: hosted.id.topic };
            participants.push(Participant::Partition(topic, hosted.id.index));
            asked.push(hosted.id);
        }
    }
    let (Some(producer), Some(id)) = (producer, request.transactional_id) else { return Ok(None) };
    let who = TransactionRef { transactional_id: id.into(), producer };
    let verify = VerifyPartitions { who, partitions: participants, add: version >= ADDS };
    Ok((!asked.is_empty()).then_some((verify, asked)))
}

/// Whether a batch may be appended, as far as its transaction is concerned.
///
/// # Errors
/// What the coordinator has said; `INVALID_TXN_STATE` if the transaction ended, or the topic was made anew, since it was asked;
/// `OUT_OF_ORDER_SEQUENCE_NUMBER` if a client that begins each transaction under an epoch of its own does not begin it here with
/// its first batch: that one was refused, and is still to come.
pub(super) fn check(
    hosted: &Hosted,
    batch: &Batch<'_>,
    version: i16,
    verified: &Verified,
) -> Result<(), BatchRefused> {
    if !batch.attributes().is_transactional() {
        return Ok(());
    }
    let Some(Producer { id, epoch }) = producer_of(batch) else { return Ok(()) };
    let said = verified.get(&hosted.id).copied();
    if hosted.partition.has_open_transaction(id, epoch) && said.unwrap_or_default() == ErrorCode::None {
        return Ok(());
    }
    match said {
        Some(ErrorCode::None) => {}
        Some(error) => return Err(BatchRefused { message: unverified(error), ..error.into() }),
        None => return Err(ErrorCode::InvalidTxnState.into()),
    }
    let is_unknown = hosted.partition.tables().producers.epoch(id).is_none();
    if version >= ADDS && is_unknown && batch.base_sequence() != 0 {
        return Err(ErrorCode::OutOfOrderSequenceNumber.into());
    }
    Ok(())
}

/// What a client is told besides the error that the coordinator has said.
const fn unverified(error: ErrorCode) -> Option<&'static str> {
    match error {
        ErrorCode::InvalidTxnState => Some("the partition is not one of the transaction"),
        ErrorCode::NotEnoughReplicas => {
            Some("the coordinator of the transaction cannot be asked at the moment")
        }
        _ => None,
    }
}

/// What the coordinator has said of each partition, with the errors that clients of Produce know.
pub(super) fn verified(asked: &[PartitionId], verdict: &Verdict, version: i16) -> Verified {
    let codes = verdict.as_ref().map_or(&[][..], Vec::as_slice);
    let failed = verdict.as_ref().err().copied().unwrap_or(ErrorCode::UnknownServerError);
    let code = |at: usize| known(codes.get(at).copied().unwrap_or(failed), version);
    asked.iter().enumerate().map(|(at, id)| (*id, code(at))).collect()
}

const fn known(error: ErrorCode, version: i16) -> ErrorCode {
    match error {
        // Another producer has followed, or the coordinator itself after a timeout.
        ErrorCode::ProducerFenced | ErrorCode::UnknownProducerId => ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionAbortable if version < KNOWS_ABORTABLE => ErrorCode::InvalidTxnState,
        // Clients retry this one, and do not ask who leads the partition.
        ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator => ErrorCode::NotEnoughReplicas,
        ErrorCode::ConcurrentTransactions if version < ADDS => ErrorCode::NotEnoughReplicas,
        error => error,
    }
}

/// The batch of a partition, if it is one that belongs to a transaction.
fn transactional<'r>(partition: &ProducePartition<'r>) -> Option<Batch<'r>> {
    let (batch, _) = Batch::read(partition.records?).ok()?;
    batch.attributes().is_transactional().then_some(batch)
}

fn producer_of(batch: &Batch<'_>) -> Option<Producer> {
    let (id, epoch) = (ProducerId(batch.producer_id()), ProducerEpoch(batch.producer_epoch()));
    (id.0 >= 0).then_some(Producer { id, epoch })
}
