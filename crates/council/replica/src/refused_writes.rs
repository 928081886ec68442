//! Clients' commands that are refused for want of room, until they are handed on: one command of the log for a run of them,
//! so that what they take of the reserve depends on how many sessions have writes under way and not on how many those are.
//!
//! Knows no log: the caller puts the runs there, before anything else of their sessions.

use std::collections::BTreeMap;

use council_tree::{Command, Identities, Operation, Origin, Policy, REFUSED_MAX};
use council_wire::{ErrorCode, SessionId};

/// Commands of one connection, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    first: Origin,
    count: u32,
    policy: Policy,
}

impl Run {
    /// What the log says of them.
    pub(crate) fn command(&self) -> Command<'static> {
        let refusal = ErrorCode::SystemError;
        let operation = match self.count {
            1 => Operation::Refuse(refusal),
            count => Operation::RefuseMany { refusal, count },
        };
        Command { origin: Some(self.first), policy: self.policy, identities: Identities::NONE, operation }
    }

    fn takes(&mut self, origin: Origin) -> bool {
        let Origin { session, generation, sequence } = self.first;
        let next = Origin { session, generation, sequence: sequence + u64::from(self.count) };
        let is_next = origin == next && self.count < REFUSED_MAX;
        self.count += u32::from(is_next);
        is_next
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RefusedWrites {
    runs: BTreeMap<SessionId, Run>,
}

impl RefusedWrites {
    /// Refuses one more. Gives the session's run so far if it ends there.
    pub(crate) fn add(&mut self, origin: Origin, policy: Policy) -> Option<Run> {
        if self.runs.get_mut(&origin.session).is_some_and(|run| run.takes(origin)) {
            return None;
        }
        self.runs.insert(origin.session, Run { first: origin, count: 1, policy })
    }

    /// Takes the run of a session.
    pub(crate) fn take(&mut self, session: SessionId) -> Option<Run> {
        self.runs.remove(&session)
    }

    /// Takes any run.
    pub(crate) fn pop(&mut self) -> Option<Run> {
        self.runs.pop_first().map(|(_, run)| run)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(session: i64, generation: u32, sequence: u64) -> Origin {
        Origin { session: SessionId(session), generation, sequence }
    }

    fn counts(refused: &mut RefusedWrites) -> Vec<(i64, u64, u32)> {
        let runs = std::iter::from_fn(|| refused.pop());
        runs.map(|run| (run.first.session.0, run.first.sequence, run.count)).collect()
    }

    #[test]
    fn runs_of_sessions_between_each_other_stay_one_each() {
        let mut refused = RefusedWrites::default();
        for sequence in 5..2_000 {
            assert_eq!(refused.add(of(1, 1, sequence), Policy::standard()), None);
            assert_eq!(refused.add(of(2, 1, sequence), Policy::standard()), None);
        }
        assert_eq!(counts(&mut refused), [(1, 5, 1_995), (2, 5, 1_995)]);
        assert!(refused.is_empty());
    }

    #[test]
    fn run_ends_at_a_gap_at_another_connection_and_at_its_greatest_length() {
        let mut refused = RefusedWrites::default();
        let mut ended = Vec::new();
        for origin in [of(1, 1, 5), of(1, 1, 7), of(1, 2, 8)] {
            ended.extend(refused.add(origin, Policy::standard()).map(|run| run.count));
        }
        (9..=8 + u64::from(REFUSED_MAX)).for_each(|sequence| {
            ended.extend(refused.add(of(1, 2, sequence), Policy::standard()).map(|run| run.count));
        });
        assert_eq!(ended, [1, 1, REFUSED_MAX]);
        assert_eq!(counts(&mut refused), [(1, 8 + u64::from(REFUSED_MAX), 1)]);
    }
}
