//! Barriers: what waits behind one finds a tree at least as new as the moment it came. One question to the leader
//! serves all that wait. `sync` stands on it, and so does a client whose session is not known here yet.

use std::collections::{BTreeMap, VecDeque};

/// After how long without an answer a question is put again, milliseconds.
const PATIENCE_MS: u64 = 150;

/// See the module. `T` is what waits.
#[derive(Debug)]
pub(crate) struct Barriers<T> {
    last: u64,
    /// The question that will be put at the next chance.
    gathering: bool,
    /// When the last question was put, while it is unanswered.
    asked_ms: Option<u64>,
    /// Who waits for answers, by question.
    waiting: VecDeque<(u64, T)>,
    /// Who waits for an index.
    indexed: BTreeMap<u64, Vec<T>>,
}

impl<T> Barriers<T> {
    pub(crate) const fn new() -> Self {
        Self { last: 0, gathering: false, asked_ms: None, waiting: VecDeque::new(), indexed: BTreeMap::new() }
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
    pub(crate) fn question(&mut self, now_ms: u64) -> Option<u64> {
        let overdue = self.asked_ms.is_some_and(|asked| now_ms >= asked + PATIENCE_MS);
        if !self.gathering && !overdue {
            return None;
        }
        if !self.gathering {
            self.last += 1;
        }
        self.gathering = false;
        self.asked_ms = Some(now_ms);
        Some(self.last)
    }

    /// The leader may be another: what was asked is asked again at once.
    pub(crate) fn again(&mut self) {
        if self.asked_ms.is_some() {
            self.asked_ms = Some(0);
        }
    }

    /// An answer came: whoever waits for that question, or an earlier one, now waits for that index.
    pub(crate) fn answered(&mut self, question: u64, index: u64) {
        while let Some((_, who)) = self.waiting.pop_front_if(|(asked, _)| *asked <= question) {
            self.indexed.entry(index).or_default().push(who);
        }
        if self.waiting.is_empty() {
            self.asked_ms = None;
        }
    }

    /// Everything up to `index` is applied: who may go on.
    pub(crate) fn applied(&mut self, index: u64) -> Vec<T> {
        let mut free = Vec::new();
        while let Some(entry) = self.indexed.first_entry().filter(|entry| *entry.key() <= index) {
            free.append(&mut entry.remove());
        }
        free
    }

    /// Whether somebody waits for an index up to this one.
    pub(crate) fn is_due(&self, index: u64) -> bool {
        self.indexed.first_key_value().is_some_and(|(first, _)| *first <= index)
    }

    /// When a question should be put again.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.asked_ms.map(|asked| asked + PATIENCE_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_serves_all_that_came_and_its_answer_all_before_it() {
        let mut barriers = Barriers::new();
        assert_eq!(barriers.question(0), None);
        barriers.wait('a');
        barriers.wait('b');
        assert_eq!((barriers.question(0), barriers.question(0)), (Some(1), None));
        barriers.wait('c');
        assert_eq!(barriers.question(1), Some(2));
        barriers.answered(2, 70);
        assert!(barriers.applied(69).is_empty());
        assert!(barriers.is_due(70) && !barriers.is_due(69));
        assert_eq!(barriers.applied(70), ['a', 'b', 'c']);
        assert_eq!(barriers.next_ms(), None);
    }

    #[test]
    fn an_answer_does_not_free_who_came_after_its_question() {
        let mut barriers = Barriers::new();
        barriers.wait('a');
        assert_eq!(barriers.question(0), Some(1));
        barriers.wait('b');
        barriers.answered(1, 5);
        assert_eq!(barriers.applied(100), ['a']);
    }

    #[test]
    fn a_question_without_an_answer_is_put_again_under_a_new_number() {
        let mut barriers = Barriers::new();
        barriers.wait('a');
        assert_eq!(barriers.question(10), Some(1));
        assert_eq!(barriers.question(10 + PATIENCE_MS - 1), None);
        assert_eq!(barriers.question(10 + PATIENCE_MS), Some(2));
        barriers.again();
        assert_eq!(barriers.question(11 + PATIENCE_MS), Some(3));
        barriers.answered(3, 5);
        assert_eq!(barriers.applied(5), ['a']);
    }
}
