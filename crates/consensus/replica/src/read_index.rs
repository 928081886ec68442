//! ReadIndex: what waits behind one finds a state at least as new as the moment it came. One question to the leader
//! serves all that wait.
//!
//! A leader may answer late: once enough voters have told it that it leads. By then this member may have another process, to which the
//! answer names an index that is too old. So the questions of each process begin at a random number, and an answer to one that this
//! process has not put counts for nothing.

use base::{MonoTime, Random};
use consensus_raft::LogIndex;
use std::collections::{BTreeMap, VecDeque};

/// After how long without an answer a question is put again, milliseconds.
const TIMEOUT_MS: u64 = 150;

/// Numbers of questions come from other random numbers than everything else that comes of the engine's seed.
const SEED_OF_QUESTIONS: u64 = 0x7265_6164_696e_6465;

/// What waits for a read index.
#[derive(Debug)]
pub(crate) enum Waiter<W> {
    /// This member itself, before it serves.
    Serve,
    /// Something of the machine's.
    Machine(W),
}

/// See the module. `T` is what waits.
#[derive(Debug)]
pub(crate) struct ReadIndex<T> {
    /// The number before those of this process's questions, and the last one of them.
    before: u64,
    last: u64,
    /// The question that will be put at the next chance.
    gathering: bool,
    /// When the last question was put, while it is unanswered.
    asked: Option<MonoTime>,
    /// Who waits for answers, by question.
    waiting: VecDeque<(u64, T)>,
    /// Who waits for an index.
    indexed: BTreeMap<LogIndex, Vec<T>>,
}

impl<T> ReadIndex<T> {
    /// Of a process, whose seed no other has.
    pub(crate) const fn new(seed: u64) -> Self {
        // None comes to the end of the numbers.
        let before = Random::new(seed ^ SEED_OF_QUESTIONS).number() >> 1;
        Self {
            before,
            last: before,
            gathering: false,
            asked: None,
            waiting: VecDeque::new(),
            indexed: BTreeMap::new(),
        }
    }

    /// `who` is to wait.
    pub(crate) fn wait(&mut self, who: T) {
        if !self.gathering {
            self.gathering = true;
            self.last += 1;
        }
        self.waiting.push_back((self.last, who));
    }

    /// The question to put now, if any: for those who came since, or again for those who wait too long.
    pub(crate) fn question(&mut self, now: MonoTime) -> Option<u64> {
        let overdue = self.asked.is_some_and(|asked| now >= asked.plus_ms(TIMEOUT_MS));
        if !self.gathering && !overdue {
            return None;
        }
        if !self.gathering {
            self.last += 1;
        }
        self.gathering = false;
        self.asked = Some(now);
        Some(self.last)
    }

    /// The leader may be another: what was asked is asked again at once.
    pub(crate) fn again(&mut self) {
        if self.asked.is_some() {
            self.asked = Some(MonoTime::ZERO);
        }
    }

    /// An answer came: whoever waits for that question, or an earlier one, now waits for that index.
    pub(crate) fn answered(&mut self, question: u64, index: LogIndex) {
        if question <= self.before || question > self.last {
            return;
        }
        while let Some((_, who)) = self.waiting.pop_front_if(|(asked, _)| *asked <= question) {
            self.indexed.entry(index).or_default().push(who);
        }
        if self.waiting.is_empty() {
            self.asked = None;
        }
    }

    /// Everything up to `index` is applied: who may go on.
    pub(crate) fn applied(&mut self, index: LogIndex) -> Vec<T> {
        let mut free = Vec::new();
        while let Some(entry) = self.indexed.first_entry().filter(|entry| *entry.key() <= index) {
            free.append(&mut entry.remove());
        }
        free
    }

    /// Whether somebody waits for an index up to this one.
    pub(crate) fn is_due(&self, index: LogIndex) -> bool {
        self.indexed.first_key_value().is_some_and(|(first, _)| *first <= index)
    }

    /// When a question should be put again.
    pub(crate) fn next_question(&self) -> Option<MonoTime> {
        self.asked.map(|asked| asked.plus_ms(TIMEOUT_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of a process, and the number before its first question.
    fn begun(seed: u64) -> (ReadIndex<char>, u64) {
        let read_index = ReadIndex::new(seed);
        let before = read_index.before;
        (read_index, before)
    }

    #[test]
    fn question_serves_all_that_came_and_its_answer_all_before_it() {
        let (mut read_index, before) = begun(1);
        assert_eq!(read_index.question(MonoTime::of_ms(0)), None);
        read_index.wait('a');
        read_index.wait('b');
        assert_eq!(
            (read_index.question(MonoTime::of_ms(0)), read_index.question(MonoTime::of_ms(0))),
            (Some(before + 1), None)
        );
        read_index.wait('c');
        assert_eq!(read_index.question(MonoTime::of_ms(1)), Some(before + 2));
        read_index.answered(before + 2, LogIndex(70));
        assert!(read_index.applied(LogIndex(69)).is_empty());
        assert!(read_index.is_due(LogIndex(70)) && !read_index.is_due(LogIndex(69)));
        assert_eq!(read_index.applied(LogIndex(70)), ['a', 'b', 'c']);
        assert_eq!(read_index.next_question(), None);
    }

    #[test]
    fn answer_does_not_free_who_came_after_its_question() {
        let (mut read_index, before) = begun(1);
        read_index.wait('a');
        assert_eq!(read_index.question(MonoTime::of_ms(0)), Some(before + 1));
        read_index.wait('b');
        read_index.answered(before + 1, LogIndex(5));
        assert_eq!(read_index.applied(LogIndex(100)), ['a']);
    }

    #[test]
    fn question_without_an_answer_is_put_again_under_a_new_number() {
        let (mut read_index, before) = begun(1);
        read_index.wait('a');
        assert_eq!(read_index.question(MonoTime::of_ms(10)), Some(before + 1));
        assert_eq!(read_index.question(MonoTime::of_ms(10 + TIMEOUT_MS - 1)), None);
        assert_eq!(read_index.question(MonoTime::of_ms(10 + TIMEOUT_MS)), Some(before + 2));
        read_index.again();
        assert_eq!(read_index.question(MonoTime::of_ms(11 + TIMEOUT_MS)), Some(before + 3));
        read_index.answered(before + 3, LogIndex(5));
        assert_eq!(read_index.applied(LogIndex(5)), ['a']);
    }

    #[test]
    fn answer_to_a_question_of_another_process_counts_for_nothing() {
        for (one, other) in [(1, 2), (2, 1)] {
            let (mut former, _) = begun(one);
            former.wait('a');
            let question = former.question(MonoTime::of_ms(0)).expect("somebody waits");
            let (mut read_index, before) = begun(other);
            read_index.wait('b');
            assert_eq!(read_index.question(MonoTime::of_ms(5)), Some(before + 1));
            read_index.answered(question, LogIndex(3));
            assert!(read_index.applied(LogIndex(100)).is_empty());
            read_index.answered(before + 1, LogIndex(9));
            assert_eq!(read_index.applied(LogIndex(9)), ['b']);
        }
    }
}
