//! What applying counts besides the tree itself: for metrics only, so nothing here decides anything.

use base::WallTime;
use council_frontend::{Namespaces, Tally};
use council_tree::{Change, Command, Operation, Outcome, SubOutcome};
use council_wire::{ErrorCode, MultiOperation, Request};

use crate::CoreStatus;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApplyMetrics {
    /// See [`crate::CoreStatus::writes`].
    writes: Namespaces,
    /// See [`crate::CoreStatus::quota_refusals`].
    quota_refusals: Namespaces,
    /// See [`crate::CoreStatus::propagation_ms`].
    propagation_ms: Tally,
    /// See [`crate::CoreStatus::dropped`].
    dropped: u64,
}

impl ApplyMetrics {
    /// Puts it into a picture of the core.
    pub(crate) fn report(&self, status: &mut CoreStatus) {
        let Self { writes, quota_refusals, propagation_ms, dropped } = self.clone();
        (status.writes, status.quota_refusals) = (writes, quota_refusals);
        (status.propagation_ms, status.dropped) = (propagation_ms, dropped);
    }

    /// Counts a command that came twice, late or under an old generation.
    pub(crate) const fn dropped(&mut self) {
        self.dropped += 1;
    }

    /// Counts what a command changed.
    pub(crate) fn written(&mut self, changes: &[Change]) {
        for change in changes {
            self.writes.record(&change.path, change.data_bytes as u64);
        }
    }

    /// Counts a command that a hard quota refused.
    pub(crate) fn refused(&mut self, command: &Command<'_>, outcome: &Outcome) {
        let path = match outcome {
            Outcome::Refused(ErrorCode::QuotaExceeded) => blamed(command, 0),
            Outcome::Multi(results) => {
                let to_blame = SubOutcome::Failed(ErrorCode::QuotaExceeded);
                results.iter().position(|result| *result == to_blame).and_then(|at| blamed(command, at))
            }
            _ => None,
        };
        if let Some(path) = path {
            self.quota_refusals.record(path, 0);
        }
    }

    /// Counts how long commands with this stamp took to be applied, unless clocks were set meanwhile.
    pub(crate) fn propagated(&mut self, stamp: WallTime, now: WallTime, commands: u64) {
        if let Ok(took_ms) = u64::try_from(now.since(stamp)) {
            self.propagation_ms.record_many(took_ms, commands);
        }
    }
}

/// The path that a client's write, or the operation of this number in a multi, is about.
fn blamed<'a>(command: &Command<'a>, at: usize) -> Option<&'a str> {
    let Operation::Client { opcode, body } = command.operation else { return None };
    match Request::decode(opcode, body).ok()? {
        Request::Create(create) | Request::CreateTtl(create, _) => Some(create.path),
        Request::SetData { path, .. } => Some(path),
        Request::Multi(multi) => match multi.operations.get(at)? {
            MultiOperation::Create(_, create, _) => Some(create.path),
            MultiOperation::SetData { path, .. } => Some(path),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use council_wire::{OpCode, Writer};

    use super::*;

    #[test]
    fn refusal_counts_for_the_namespace_of_its_path() {
        let mut body = Vec::new();
        Writer::new(&mut body).text("/kafka/x").buffer(None).i32(-1);
        let command = Command::internal(Operation::Client { opcode: OpCode::SetData, body: &body });
        let mut metrics = ApplyMetrics::default();
        metrics.refused(&command, &Outcome::Refused(ErrorCode::QuotaExceeded));
        metrics.refused(&command, &Outcome::Refused(ErrorCode::NoNode));
        let counts: Vec<_> = metrics.quota_refusals.iter().map(|(name, tally)| (name, tally.count)).collect();
        assert_eq!(counts, [("kafka", 1)]);
    }

    #[test]
    fn clock_that_was_set_back_counts_nothing() {
        let mut metrics = ApplyMetrics::default();
        metrics.propagated(WallTime::of_ms(100), WallTime::of_ms(90), 1);
        metrics.propagated(WallTime::of_ms(100), WallTime::of_ms(107), 2);
        assert_eq!((metrics.propagation_ms.count, metrics.propagation_ms.sum), (2, 14));
    }
}
