//! InitProducerId: who is the producer of a transactional id from now on. Every answer fences all producers before it (L42).

use log_wire::ErrorCode;

use super::transaction::{State, Transaction};
use super::{InitProducerId, Producer, TransactionAnswer, TransactionCoordinator};

impl TransactionCoordinator {
    pub(crate) fn init(&mut self, init: &InitProducerId) -> Result<TransactionAnswer, ErrorCode> {
        let id = &init.transactional_id;
        let timeout_ms = u32::try_from(init.timeout_ms).unwrap_or(0);
        if timeout_ms == 0 || timeout_ms > self.limits.transaction_timeout_max_ms {
            return Err(ErrorCode::InvalidTransactionTimeout);
        }
        let Some(transaction) = self.transaction(id).cloned() else {
            return self.init_unknown(init, timeout_ms);
        };
        let continues = init.producer == Some(transaction.producer);
        let repeats = init.producer.is_some_and(|producer| transaction.follower_of(producer).is_some());
        if init.producer.is_some() && !continues && !repeats {
            return Err(ErrorCode::ProducerFenced);
        }
        match transaction.state {
            // A retry from before the transaction began. The client has its answer, or it could not have begun.
            State::Ongoing if repeats => Err(ErrorCode::ProducerFenced),
            State::Ongoing => Err(self.fence(init, transaction, continues)),
            State::Ending { .. } => Err(ErrorCode::ConcurrentTransactions),
            State::Empty | State::Complete { .. } if repeats => {
                self.init_repeated(init, transaction, timeout_ms)
            }
            State::Empty | State::Complete { .. } => {
                let producer = self.next_producer(transaction.producer)?;
                let mut next = transaction;
                next.initialize(producer, continues, timeout_ms);
                self.put(id, next);
                Ok(TransactionAnswer::Initialized(producer))
            }
        }
    }

    fn init_unknown(
        &mut self,
        init: &InitProducerId,
        timeout_ms: u32,
    ) -> Result<TransactionAnswer, ErrorCode> {
        if self.journal.table().len() >= self.limits.transactional_ids_max {
            return Err(ErrorCode::ThrottlingQuotaExceeded);
        }
        let producer = Producer::first(self.new_producer_id()?);
        let mut transaction = Transaction::new(producer, timeout_ms, self.wall);
        // The id has expired. A retry of this request finds what it was given.
        transaction.previous = init.producer.map(|before| (before, super::transaction::FollowedBy::Init));
        self.put(&init.transactional_id, transaction);
        Ok(TransactionAnswer::Initialized(producer))
    }

    /// The client did not get the answer to its last request, and gets it again.
    fn init_repeated(
        &mut self,
        init: &InitProducerId,
        mut transaction: Transaction,
        timeout_ms: u32,
    ) -> Result<TransactionAnswer, ErrorCode> {
        let renew = !self.is_usable(transaction.producer);
        if renew {
            transaction.producer = Producer::first(self.new_producer_id()?);
        }
        let producer = transaction.producer;
        if renew || transaction.timeout_ms != timeout_ms {
            transaction.timeout_ms = timeout_ms;
            self.put(&init.transactional_id, transaction);
        }
        Ok(TransactionAnswer::Initialized(producer))
    }

    /// Aborts what is open under an epoch that nobody has. The client comes back until that is done.
    fn fence(&mut self, init: &InitProducerId, mut transaction: Transaction, own: bool) -> ErrorCode {
        let how = own.then_some(super::transaction::FollowedBy::Init);
        transaction.decide_raised(false, how, None);
        self.put(&init.transactional_id, transaction);
        ErrorCode::ConcurrentTransactions
    }

    /// The producer that follows this one: under the next epoch, or with a new id if that is the last one.
    fn next_producer(&mut self, producer: Producer) -> Result<Producer, ErrorCode> {
        let raised = producer.raised();
        if self.is_usable(raised) { Ok(raised) } else { self.new_producer_id().map(Producer::first) }
    }
}
