//! EndTxn: how a transaction ends. Under transaction version 2 the epoch in the request says which transaction it means, so a
//! late request of one transaction never ends the next (L41).

use log_wire::ErrorCode;

use super::transaction::{FollowedBy, State, Transaction};
use super::{EndTransaction, Producer, TransactionAnswer, TransactionCoordinator};

/// The first version of EndTxn under which each transaction has an epoch of its own.
const EPOCH_PER_TRANSACTION: i16 = 5;

impl TransactionCoordinator {
    pub(crate) fn end(&mut self, end: &EndTransaction) -> Result<TransactionAnswer, ErrorCode> {
        let raises = end.version >= EPOCH_PER_TRANSACTION;
        let transaction = self.transaction(&end.who.transactional_id).cloned();
        let transaction = transaction.ok_or(ErrorCode::InvalidProducerIdMapping)?;
        match transaction.follower_of(end.who.producer) {
            None | Some(FollowedBy::Init) => {}
            Some(how) => return self.end_again(end, how, transaction, raises),
        }
        check_producer(&transaction, end.who.producer, raises)?;
        match transaction.state {
            State::Ongoing if raises => self.end_raised(end, transaction),
            State::Ongoing => Ok(self.end_classic(end, transaction)),
            // The client was given this epoch when the transaction before was decided: its own has not begun.
            State::Ending { .. } if raises => Err(ErrorCode::ConcurrentTransactions),
            State::Empty | State::Complete { .. } if raises && !end.commit => {
                self.end_raised(end, transaction)
            }
            State::Ending { commit, .. } | State::Complete { commit } if !raises && commit == end.commit => {
                Ok(TransactionAnswer::Ended(transaction.producer))
            }
            State::Empty | State::Ending { .. } | State::Complete { .. } => Err(ErrorCode::InvalidTxnState),
        }
    }

    fn end_classic(&mut self, end: &EndTransaction, mut transaction: Transaction) -> TransactionAnswer {
        transaction.decide(end.commit);
        let next = transaction.producer;
        self.put(&end.who.transactional_id, transaction);
        TransactionAnswer::Ended(next)
    }

    fn end_raised(
        &mut self,
        end: &EndTransaction,
        mut transaction: Transaction,
    ) -> Result<TransactionAnswer, ErrorCode> {
        let last = !self.is_usable(transaction.producer.raised());
        let new_id = if last { Some(self.new_producer_id()?) } else { None };
        let how = if end.commit { FollowedBy::Commit } else { FollowedBy::Abort };
        transaction.decide_raised(end.commit, Some(how), new_id);
        let next = transaction.producer;
        self.put(&end.who.transactional_id, transaction);
        Ok(TransactionAnswer::Ended(next))
    }

    /// The transaction of this producer was decided before: by a request of which this one is a copy, or by its timeout.
    fn end_again(
        &mut self,
        end: &EndTransaction,
        how: FollowedBy,
        mut transaction: Transaction,
        raises: bool,
    ) -> Result<TransactionAnswer, ErrorCode> {
        match (how, end.commit) {
            (FollowedBy::Timeout, true) => Err(aborted_by_timeout(raises)),
            (FollowedBy::Commit, true) | (FollowedBy::Abort | FollowedBy::Timeout, false) => {
                if !self.is_usable(transaction.producer) {
                    transaction.producer = Producer::first(self.new_producer_id()?);
                    self.put(&end.who.transactional_id, transaction.clone());
                }
                Ok(TransactionAnswer::Ended(transaction.producer))
            }
            _ => Err(ErrorCode::InvalidTxnState),
        }
    }
}

/// Whether the producer is the present one.
///
/// # Errors
/// - INVALID_PRODUCER_ID_MAPPING: another producer id has the transactional id.
/// - PRODUCER_FENCED: the epoch is another.
/// - what [`aborted_by_timeout`] says, if only the coordinator's own abort has followed it.
pub(crate) fn check_producer(
    transaction: &Transaction,
    producer: Producer,
    raises: bool,
) -> Result<(), ErrorCode> {
    if producer == transaction.producer {
        return Ok(());
    }
    match transaction.follower_of(producer) {
        Some(FollowedBy::Timeout) => Err(aborted_by_timeout(raises)),
        _ if producer.id != transaction.producer.id => Err(ErrorCode::InvalidProducerIdMapping),
        _ => Err(ErrorCode::ProducerFenced),
    }
}

/// What tells a client that its transaction is lost but it may go on: it aborts and gets a new epoch (L41). Clients of
/// transaction version 1 do so at UNKNOWN_PRODUCER_ID, and ask for the epoch themselves (KIP-360); many do not know
/// TRANSACTION_ABORTABLE, and INVALID_PRODUCER_ID_MAPPING ends newer Java producers.
pub(crate) const fn aborted_by_timeout(raises: bool) -> ErrorCode {
    if raises { ErrorCode::TransactionAbortable } else { ErrorCode::UnknownProducerId }
}
