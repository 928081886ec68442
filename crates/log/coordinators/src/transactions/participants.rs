//! What takes part in a transaction: partitions that clients and brokers add, and the question of a broker whether a record may
//! enter a partition. A participant is durable before its addition is answered, so no record enters a partition that gets no
//! marker (L43, L44).

use std::collections::BTreeSet;

use log_wire::ErrorCode;

use super::end::check_producer;
use super::transaction::{State, Transaction};
use super::{
    AddPartitions, Participant, Producer, TransactionAnswer, TransactionCoordinator, TransactionRef,
    VerifyPartitions,
};
use crate::Text;

impl TransactionCoordinator {
    pub(crate) fn add_partitions(&mut self, add: AddPartitions) -> Result<TransactionAnswer, ErrorCode> {
        if add.partitions.iter().any(|(_, found)| *found != ErrorCode::None) {
            // All or none.
            let innocent = |found| match found {
                ErrorCode::None => ErrorCode::OperationNotAttempted,
                found => found,
            };
            return Ok(each(add.partitions.iter().map(|(_, found)| innocent(*found))));
        }
        let count = add.partitions.len();
        let added = add.partitions.into_iter().map(|(participant, _)| participant).collect();
        self.add(&add.who, added)?;
        Ok(each(std::iter::repeat_n(ErrorCode::None, count)))
    }

    pub(crate) fn add_offsets(
        &mut self,
        who: &TransactionRef,
        partition: i32,
    ) -> Result<TransactionAnswer, ErrorCode> {
        self.add(who, vec![Participant::Offsets(partition)])?;
        Ok(TransactionAnswer::Done)
    }

    pub(crate) fn verify(&mut self, verify: VerifyPartitions) -> Result<TransactionAnswer, ErrorCode> {
        let count = verify.partitions.len();
        if verify.add {
            self.add(&verify.who, verify.partitions)?;
            return Ok(each(std::iter::repeat_n(ErrorCode::None, count)));
        }
        let transaction = self.open_for(&verify.who.transactional_id, verify.who.producer)?;
        let code = |participant| {
            let known = transaction.state == State::Ongoing && transaction.participants.contains(participant);
            if known { ErrorCode::None } else { ErrorCode::TransactionAbortable }
        };
        Ok(each(verify.partitions.iter().map(code)))
    }

    /// The transaction of this producer, if none before it is still ending.
    ///
    /// # Errors
    /// As [`check_producer`] of a client without an epoch for each transaction: a record of a transaction that timed out is
    /// refused with UNKNOWN_PRODUCER_ID, so that whoever asked can tell that from a partition that was not added.
    fn open_for(&self, id: &Text, producer: Producer) -> Result<&Transaction, ErrorCode> {
        let transaction = self.transaction(id).ok_or(ErrorCode::InvalidProducerIdMapping)?;
        check_producer(transaction, producer, false)?;
        match transaction.state {
            State::Ending { .. } => Err(ErrorCode::ConcurrentTransactions),
            _ => Ok(transaction),
        }
    }

    fn add(&mut self, who: &TransactionRef, added: Vec<Participant>) -> Result<(), ErrorCode> {
        let transaction = self.open_for(&who.transactional_id, who.producer)?;
        let added: BTreeSet<_> = added.into_iter().collect();
        let new: Vec<_> = added.difference(&transaction.participants).cloned().collect();
        // Also an addition of nothing begins a transaction.
        if new.is_empty() && transaction.state == State::Ongoing {
            return Ok(());
        }
        if transaction.participants.len() + new.len() > self.limits.partitions_per_transaction_max {
            return Err(ErrorCode::PolicyViolation);
        }
        let mut transaction = transaction.clone();
        transaction.add(new, self.wall);
        self.put(&who.transactional_id, transaction);
        Ok(())
    }
}

fn each(codes: impl IntoIterator<Item = ErrorCode>) -> TransactionAnswer {
    TransactionAnswer::Each(codes.into_iter().collect())
}
