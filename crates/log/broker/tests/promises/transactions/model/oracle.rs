//! What clients asked for and were told, and what follows for what anybody may see.

use std::collections::{BTreeMap, BTreeSet};

use super::super::requests::Seen;

/// A transaction, as its client knows it.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) id: usize,
    /// Records by partition, in the order in which they were sent.
    pub(crate) sent: Vec<(i32, String)>,
    pub(crate) acked: BTreeSet<String>,
    pub(crate) offset_acked: bool,
    pub(crate) commit_sent: bool,
    /// What its client was told.
    pub(crate) committed: Option<bool>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) attempts: BTreeMap<u64, Attempt>,
    /// The newest transaction of each id whose offset is known to be committed.
    pub(crate) offset_known: BTreeMap<usize, u64>,
    /// What was read of each partition by whoever reads what is committed, by offset.
    seen: BTreeMap<(i32, i64), String>,
}

/// A value names its transaction.
pub(crate) fn value(attempt: u64, number: u64) -> String {
    format!("{attempt}/{number}")
}

fn attempt_of(value: &str) -> u64 {
    value.split('/').next().and_then(|attempt| attempt.parse().ok()).expect("a value of these tests")
}

impl Oracle {
    pub(crate) fn attempt(&mut self, attempt: u64) -> &mut Attempt {
        self.attempts.get_mut(&attempt).expect("it was begun")
    }

    /// A client was told how its transaction ended.
    pub(crate) fn decided(&mut self, attempt: u64, commit: bool) {
        let of = self.attempt(attempt);
        assert!(of.committed.is_none_or(|before| before == commit), "a transaction ends in two ways (L40)");
        of.committed = Some(commit);
        let (id, has_offset) = (of.id, of.offset_acked);
        if commit && has_offset {
            let known = self.offset_known.entry(id).or_default();
            *known = attempt.max(*known);
        }
    }

    /// Somebody who wants only what is committed has read this.
    pub(crate) fn reads(&mut self, partition: i32, record: &Seen) {
        let of = &self.attempts[&attempt_of(&record.value)];
        assert!(of.commit_sent, "a record of an open transaction is seen (L37): {record:?}");
        assert_ne!(of.committed, Some(false), "a record of an aborted transaction is seen (L37): {record:?}");
        let before = self.seen.insert((partition, record.offset), record.value.clone());
        assert!(before.is_none_or(|before| before == record.value), "what was seen is another (L5)");
    }

    /// Somebody has read an offset. `known` is what was known to be committed when that was asked for.
    pub(crate) fn reads_offset(&self, id: usize, known: u64, offset: i64) {
        if offset < 0 {
            return assert_eq!(known, 0, "an offset is lost (L45, L51)");
        }
        let of = &self.attempts[&(offset as u64)];
        assert_eq!(of.id, id);
        assert!(of.commit_sent, "an offset of an open transaction is seen (L45)");
        assert_ne!(of.committed, Some(false), "an offset of an aborted transaction is seen (L45)");
        assert!(offset as u64 >= known, "an old offset is seen (L45): {offset} after {known}");
    }

    /// Everything is decided. All that is in the log, and all that is committed of it, by partition.
    pub(crate) fn check(&self, logs: &[Vec<Seen>], committed: &[Vec<Seen>], offsets: &[i64]) {
        let mut places = BTreeMap::<&str, usize>::new();
        for log in logs {
            log.iter().for_each(|record| *places.entry(&record.value).or_default() += 1);
        }
        let twice: Vec<_> = places.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "records stand in the log twice (L16): {twice:?}");
        for ((partition, offset), value) in &self.seen {
            let is_there = committed[*partition as usize]
                .iter()
                .any(|record| record.offset == *offset && record.value == *value);
            assert!(is_there, "{value} was seen, and is gone (L5)");
        }
        let values: BTreeSet<&str> = committed.iter().flatten().map(|record| record.value.as_str()).collect();
        for (number, attempt) in &self.attempts {
            self.check_attempt(*number, attempt, &values, offsets[attempt.id]);
            Self::check_order(attempt, committed);
        }
        for record in committed.iter().flatten() {
            assert!(
                self.attempts[&attempt_of(&record.value)].commit_sent,
                "nobody wanted {record:?} committed"
            );
        }
    }

    fn check_attempt(&self, number: u64, attempt: &Attempt, values: &BTreeSet<&str>, offset: i64) {
        let mut acked = attempt.acked.iter();
        let seen = attempt.sent.iter().any(|(_, value)| values.contains(value.as_str()));
        let took_offset = attempt.offset_acked && offset == number as i64;
        match attempt.committed {
            Some(true) => {
                assert!(
                    acked.all(|value| values.contains(value.as_str())),
                    "{number}: a record is lost (L1, L37)"
                );
            }
            Some(false) => assert!(!seen && !took_offset, "{number} was aborted, and is seen (L37)"),
            None if seen || took_offset => {
                assert!(acked.all(|value| values.contains(value.as_str())), "{number} is torn (L37)");
                let later = self.offset_known.get(&attempt.id).is_some_and(|known| *known > number);
                let replaced = later || offset > number as i64;
                assert!(
                    !attempt.offset_acked || took_offset || replaced,
                    "{number}: its offset is torn off (L37)"
                );
            }
            None => {}
        }
    }

    /// Records of a transaction stand in each partition in the order in which they were sent (L12).
    fn check_order(attempt: &Attempt, committed: &[Vec<Seen>]) {
        for (partition, records) in committed.iter().enumerate() {
            let sent = attempt.sent.iter().filter(|(at, _)| *at as usize == partition);
            let order: Vec<_> = sent
                .filter_map(|(_, value)| records.iter().position(|record| record.value == *value))
                .collect();
            assert!(order.is_sorted(), "records have overtaken each other (L12): {attempt:?}");
        }
    }
}
