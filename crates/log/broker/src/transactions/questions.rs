//! Questions of other areas that are with a coordinator, or that wait for a transaction to end.
//!
//! A client is told that its transaction has ended when that is decided. Its next one may come before all markers of the last are
//! written, and then its first records wait for a moment here, as with Kafka.

use std::collections::BTreeMap;

use base::MonoTime;
use log_coordinators::{Ticket, TransactionAnswer};
use log_wire::ErrorCode;

use crate::question::{Question, Verdict};

/// How long a question waits for the transaction before it, milliseconds: `add.partitions.to.txn.retry.backoff.max.ms`.
const ENDING_MS: u64 = 100;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// With a coordinator, and until when they may wait.
    asked: BTreeMap<Ticket, (Question, MonoTime)>,
    /// By coordinator: those that are asked again once it has changed something.
    waiting: BTreeMap<i32, Vec<(Question, MonoTime)>>,
}

/// Until when a question that comes now may wait.
pub(super) const fn deadline(now: MonoTime) -> MonoTime {
    now.plus_ms(ENDING_MS)
}

/// Whether the answer is likely to be another one soon: the transaction before is ending, and the client that asks begins the
/// next with this request.
pub(super) fn is_worth_waiting(question: &Question, verdict: &Verdict) -> bool {
    question.verify.add && *verdict == Err(ErrorCode::ConcurrentTransactions)
}

pub(super) fn verdict(answer: TransactionAnswer) -> Verdict {
    match answer {
        TransactionAnswer::Each(codes) => Ok(codes),
        TransactionAnswer::Failed(error) => Err(error),
        _ => Err(ErrorCode::UnknownServerError),
    }
}

impl Questions {
    /// A question goes to its coordinator.
    pub(super) fn asked(&mut self, ticket: Ticket, question: Question, until: MonoTime) {
        self.asked.insert(ticket, (question, until));
    }

    /// The question that a coordinator has answered.
    pub(super) fn answered(&mut self, ticket: Ticket) -> Option<(Question, MonoTime)> {
        self.asked.remove(&ticket)
    }

    /// A question waits for the transaction before it.
    pub(super) fn wait(&mut self, coordinator: i32, question: Question, until: MonoTime) {
        self.waiting.entry(coordinator).or_default().push((question, until));
    }

    /// Takes those that wait for a transaction of that coordinator.
    pub(super) fn take_waiting(&mut self, coordinator: i32) -> Vec<(Question, MonoTime)> {
        self.waiting.remove(&coordinator).unwrap_or_default()
    }

    /// Takes those that have waited long enough.
    pub(super) fn take_overdue(&mut self, now: MonoTime) -> Vec<Question> {
        let mut overdue = Vec::new();
        self.waiting.retain(|_, waiting| {
            overdue.extend(waiting.extract_if(.., |(_, until)| *until <= now).map(|(question, _)| question));
            !waiting.is_empty()
        });
        overdue
    }
}
