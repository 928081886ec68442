//! What clients did and were told, and the rules that follow from it. It knows nothing of a coordinator's code or state.

use std::collections::{BTreeMap, BTreeSet};

use log_coordinators::Producer;

use crate::partition::Partition;

/// Values of attempt `n` are `10 n` to `10 n + 9`; its offset is `n`.
pub(crate) const fn attempt_of(value: i64) -> u64 {
    (value / 10) as u64
}

/// One transaction as its client sees it.
pub(crate) struct Attempt {
    pub(crate) id: usize,
    /// Values that were acknowledged, and where.
    pub(crate) acked: Vec<(usize, i64)>,
    /// The offset was acknowledged.
    pub(crate) offset_acked: bool,
    /// The client has asked for the commit at least once.
    pub(crate) commit_sent: bool,
    /// What the client was told for certain.
    pub(crate) committed: Option<bool>,
}

/// What can be seen of an attempt: its values by partition, and its offset.
pub(crate) type Seen = (BTreeSet<(usize, i64)>, bool);

#[derive(Default)]
pub(crate) struct Oracle {
    pub(crate) attempts: BTreeMap<u64, Attempt>,
    /// To which incarnation each producer was given.
    given: BTreeMap<Producer, u64>,
    /// The answers to EndTxn.
    ended: BTreeMap<u64, (bool, Producer)>,
    /// What was visible of an attempt when a later InitProducerId was answered.
    frozen: BTreeMap<u64, Seen>,
}

impl Oracle {
    /// A client is this producer from now on.
    pub(crate) fn given(&mut self, producer: Producer, incarnation: u64) {
        let first = *self.given.entry(producer).or_insert(incarnation);
        assert_eq!(first, incarnation, "{producer:?} was given to another client (L22, L42)");
    }

    /// EndTxn was answered with success, perhaps to a copy that nobody waits for.
    pub(crate) fn end_answered(&mut self, attempt: u64, commit: bool, next: Producer) {
        let first = *self.ended.entry(attempt).or_insert((commit, next));
        assert_eq!(first, (commit, next), "two answers for attempt {attempt} (L41)");
        self.decided(attempt, commit);
    }

    pub(crate) fn decided(&mut self, attempt: u64, commit: bool) {
        let told = &mut self.attempts.get_mut(&attempt).expect("it began").committed;
        assert!(told.is_none_or(|told| told == commit), "attempt {attempt} has two outcomes (L40, L41)");
        *told = Some(commit);
    }

    /// A client holds a new producer: nothing that older ones of the id did may become visible any more.
    pub(crate) fn freeze(&mut self, id: usize, before: u64, see: impl Fn(u64) -> Seen) {
        for (attempt, _) in self.attempts.range(..before).filter(|(_, attempt)| attempt.id == id) {
            self.frozen.entry(*attempt).or_insert_with(|| see(*attempt));
        }
    }

    /// An offset was read.
    pub(crate) fn offset_read(&self, id: usize, value: i64, floor: i64) {
        assert!(value >= floor, "offset {value} of id {id} was read after {floor} was committed (L45)");
        if value >= 0 {
            let attempt = &self.attempts[&(value as u64)];
            assert!(attempt.commit_sent, "offset {value} was read before its commit (L45)");
            assert_ne!(attempt.committed, Some(false), "offset {value} was read after its abort (L45)");
        }
    }

    /// The newest offset whose commit was answered.
    pub(crate) fn floor(&self, id: usize) -> i64 {
        let mut committed = self.attempts.iter().filter(|(_, attempt)| {
            attempt.id == id && attempt.committed == Some(true) && attempt.offset_acked
        });
        committed.next_back().map_or(-1, |(number, _)| *number as i64)
    }

    /// All faults have ended and everything is decided.
    pub(crate) fn check(&self, partitions: &[Partition], see: impl Fn(u64) -> Seen) {
        let mut ways: BTreeMap<u64, bool> = BTreeMap::new();
        for (value, commit) in partitions.iter().flat_map(|partition| &partition.ended) {
            let first = *ways.entry(attempt_of(*value)).or_insert(*commit);
            assert_eq!(first, *commit, "attempt {} was decided twice (L40)", attempt_of(*value));
        }
        for (number, attempt) in &self.attempts {
            let (values, offset) = see(*number);
            let all = attempt.acked.iter().all(|acked| values.contains(acked))
                && offset == attempt.offset_acked
                && (attempt.offset_acked || !attempt.acked.is_empty());
            let none = values.is_empty() && !offset;
            match attempt.committed {
                Some(true) => assert!(all, "attempt {number} was committed and is not whole (L37)"),
                Some(false) => assert!(none, "attempt {number} was aborted and shows (L37)"),
                None if !attempt.commit_sent => {
                    assert!(none, "attempt {number} shows without a commit (L37)")
                }
                None => assert!(all || none, "attempt {number} is torn (L37)"),
            }
        }
        for (number, seen) in &self.frozen {
            assert_eq!(*seen, see(*number), "attempt {number} of a fenced producer took effect (L42)");
        }
    }
}
