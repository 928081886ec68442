//! How a transaction ends: as its client asks for, or because its coordinator or the client has given it up.

use kafka_protocol::messages::{EndTxnRequest, EndTxnResponse};

use super::{Asked, COORDINATOR_RETRIABLE, END, ENDED, Stage, TransactionalProducer, version};
use crate::user::Around;

impl TransactionalProducer {
    pub(super) fn end(&mut self, around: &mut Around<'_>, commit: bool) {
        let (Some((producer, epoch)), Some(transaction)) = (self.who, self.transaction) else { return };
        if !self.is_idle(around) {
            return;
        }
        if commit {
            around.history.commit_asked(transaction);
        }
        let request = EndTxnRequest::default()
            .with_transactional_id(self.id.clone())
            .with_producer_id(producer.into())
            .with_producer_epoch(epoch)
            .with_committed(commit);
        self.coordinator.send(around, version(self.has_own_epochs, END), &request, Asked::End(commit));
    }

    pub(super) fn answered_end(&mut self, around: &mut Around<'_>, commit: bool, answer: &EndTxnResponse) {
        let Some(transaction) = self.transaction.filter(|_| self.stage == Stage::Ending(commit)) else {
            return;
        };
        match answer.error_code {
            0 => {
                let what = if commit { "transaction committed" } else { "transaction aborted" };
                around.sim.count(what, 1);
                self.tell(around, what);
                around.history.ended(transaction, commit);
                self.offsets.ended(commit);
                let is_clean = self.batches.is_empty();
                self.may_be_behind |= !commit && self.open_ms(around) >= self.timeout_ms / 2;
                self.close(around);
                if self.has_own_epochs {
                    self.take_epoch(around, (answer.producer_id.0, answer.producer_epoch));
                    self.stage = Stage::Ready;
                } else {
                    // What is on its way still must not join the next transaction, nor end it.
                    self.stage = if is_clean && !self.may_be_behind { Stage::Ready } else { Stage::Fresh };
                    self.continues = around.random.chance(50);
                }
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.coordinator.misled(around, error);
                self.rest(around);
            }
            error => self.was_ended(around, error),
        }
    }

    /// For how long the transaction may have been open.
    pub(super) fn open_ms(&self, around: &Around<'_>) -> u64 {
        self.began_ms.map_or(0, |began_ms| around.now_ms - began_ms)
    }

    /// The coordinator has ended the transaction, which it does not before its timeout (L41).
    pub(super) fn was_ended(&mut self, around: &mut Around<'_>, error: i16) {
        around.sim.count("transaction timed out", 1);
        let open_ms = self.open_ms(around);
        let is_late = around.now_ms < self.fences_itself_until_ms;

        if (open_ms < self.timeout_ms / 2 && !is_late) || !ENDED.contains(&error) {
            let (id, timeout_ms) = (self.transaction, self.timeout_ms);
            around.history.wrong(
                41,
                format!(
                    "{id:?} was answered with {error} after {open_ms} of {timeout_ms} ms ({:?})",
                    self.stage
                ),
            );
        }
        if is_late && self.stage == Stage::Ending(true) {
            // It may have been committed before, and only the answer to the retry is lost.
            self.transaction = None;
            self.offsets.forget();
        }
        self.give_up(around);
    }

    /// The transaction is not committed, and its client begins anew.
    pub(super) fn give_up(&mut self, around: &mut Around<'_>) {
        around.history.gave_up_ms = Some(around.now_ms);
        if let Some(transaction) = self.transaction {
            around.history.ended(transaction, false);
        }
        self.tell(around, "gives up");
        self.offsets.ended(false);
        self.close(around);
        (self.stage, self.continues) = (Stage::Fresh, false);
    }

    pub(super) fn close(&mut self, around: &mut Around<'_>) {
        self.transaction = None;
        for link in self.data.values_mut().filter(|link| link.outstanding() > 0) {
            link.leave(around);
        }
        self.batches.clear();
        self.added.clear();
    }
}
