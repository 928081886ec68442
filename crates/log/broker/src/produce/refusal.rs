//! A batch that was refused, and how its outcome says so.

use log_partition::{BatchRefused, Offset};
use log_wire::{ErrorCode, ProduceOutcome};

use super::outcome::unknown;

/// Why a batch was refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) why: BatchRefused,
    /// Where the log begins, if the log itself has refused it for a reason that does not pass.
    log_start: Option<Offset>,
}

impl Refused {
    /// It was refused before the log was asked.
    pub(super) fn before_log(why: impl Into<BatchRefused>) -> Self {
        Self { why: why.into(), log_start: None }
    }

    /// The log, which begins there, has refused it. Of sizes and of faults of the broker, Kafka says nothing more, and it gives a
    /// reason only with the records at fault.
    pub(super) fn by_log(mut why: BatchRefused, start: Offset) -> Self {
        let is_bare = matches!(
            why.error,
            ErrorCode::CorruptMessage
                | ErrorCode::MessageTooLarge
                | ErrorCode::RecordListTooLarge
                | ErrorCode::KafkaStorageError
                | ErrorCode::NotLeaderOrFollower
        );
        why.message = why.message.filter(|_| !why.records.is_empty());
        Self { why, log_start: (!is_bare).then_some(start) }
    }

    /// Whether it was refused for what the partition remembers of the producer or of its transaction. A leader that was stopped and
    /// has a successor remembers what was.
    pub(super) const fn is_from_memory(&self) -> bool {
        matches!(
            self.why.error,
            ErrorCode::OutOfOrderSequenceNumber
                | ErrorCode::InvalidProducerEpoch
                | ErrorCode::InvalidTxnState
        )
    }

    /// The outcome of the batch's partition.
    pub(super) fn outcome(&self, partition: i32) -> ProduceOutcome<'static> {
        let BatchRefused { error, records, message } = &self.why;
        ProduceOutcome {
            error: *error,
            log_start_offset: self.log_start.map_or(-1, |start| start.0),
            record_errors: records.clone(),
            message: *message,
            ..unknown(partition)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_says_where_the_log_begins_only_if_the_log_has_refused_the_batch() {
        let start_of = |refused: Refused| refused.outcome(0).log_start_offset;
        let by_log = |error: ErrorCode| Refused::by_log(error.into(), Offset(7));
        assert_eq!(start_of(by_log(ErrorCode::OutOfOrderSequenceNumber)), 7);
        assert_eq!(start_of(by_log(ErrorCode::MessageTooLarge)), -1);
        assert_eq!(start_of(Refused::before_log(ErrorCode::InvalidRecord)), -1);
    }

    #[test]
    fn reason_is_told_before_the_log_is_asked_and_of_records() {
        let why = |records: Vec<(i32, &'static str)>| {
            let error = ErrorCode::InvalidRecord;
            BatchRefused { error, records, message: Some("why") }
        };
        let is_told = |refused: Refused| refused.outcome(0).message.is_some();
        assert!(is_told(Refused::before_log(why(Vec::new()))));
        assert!(is_told(Refused::by_log(why(vec![(0, "no key")]), Offset(0))));
        assert!(!is_told(Refused::by_log(why(Vec::new()), Offset(0))));
    }
}
