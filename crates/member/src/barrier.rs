//! Barriers for `sync`: a read behind one is at least as new as the moment it was asked for. One question to the
//! leader serves all that wait.

use std::collections::{BTreeMap, VecDeque};

use jute::SessionId;

/// After how long without an answer a question is put again, milliseconds.
const PATIENCE_MS: u64 = 150;

/// What a read waits for besides its own session's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// Nothing.
    Open,
    /// The answer to this question or a later one.
    Asked(u64),
    /// That this index is applied.
    Index(u64),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    last: u64,
    /// The question that will be put at the next chance.
    gathering: bool,
    /// When the last question was put, while it is unanswered.
    asked_ms: Option<u64>,
    /// Who waits for answers, by question.
    waiting: VecDeque<(u64, SessionId)>,
    /// Who waits for an index.
    indexed: BTreeMap<u64, Vec<SessionId>>,
}

impl Barriers {
    /// A read of that session is to wait; gives what for.
    pub(crate) fn wait(&mut self, session: SessionId) -> Barrier {
        if !self.gathering {
            self.gathering = true;
            self.last += 1;
        }
        self.waiting.push_back((self.last, session));
        Barrier::Asked(self.last)
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

    /// An answer came: the sessions whose reads now wait for that index. It answers every earlier question too.
    pub(crate) fn answered(&mut self, question: u64, index: u64) -> Vec<SessionId> {
        let mut sessions = Vec::new();
        while let Some((_, session)) = self.waiting.pop_front_if(|(asked, _)| *asked <= question) {
            sessions.push(session);
        }
        if self.waiting.is_empty() {
            self.asked_ms = None;
        }
        if !sessions.is_empty() {
            self.indexed.entry(index).or_default().extend(&sessions);
        }
        sessions
    }

    /// Everything up to `index` is applied: whose reads may go on.
    pub(crate) fn applied(&mut self, index: u64) -> Vec<SessionId> {
        let mut sessions = Vec::new();
        while let Some(entry) = self.indexed.first_entry().filter(|entry| *entry.key() <= index) {
            sessions.append(&mut entry.remove());
        }
        sessions
    }

    /// When a question should be put again.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.asked_ms.map(|asked| asked + PATIENCE_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SessionId = SessionId(1);
    const B: SessionId = SessionId(2);

    #[test]
    fn one_question_serves_all_that_came_and_its_answer_all_before_it() {
        let mut barriers = Barriers::default();
        assert_eq!(barriers.question(0), None);
        assert_eq!((barriers.wait(A), barriers.wait(B)), (Barrier::Asked(1), Barrier::Asked(1)));
        assert_eq!((barriers.question(0), barriers.question(0)), (Some(1), None));
        assert_eq!(barriers.wait(A), Barrier::Asked(2));
        assert_eq!(barriers.question(1), Some(2));
        assert_eq!(barriers.answered(2, 70), [A, B, A]);
        assert!(barriers.applied(69).is_empty());
        assert_eq!(barriers.applied(70), [A, B, A]);
        assert_eq!(barriers.next_ms(), None);
    }

    #[test]
    fn a_question_without_an_answer_is_put_again_under_a_new_number() {
        let mut barriers = Barriers::default();
        barriers.wait(A);
        assert_eq!(barriers.question(10), Some(1));
        assert_eq!(barriers.question(10 + PATIENCE_MS - 1), None);
        assert_eq!(barriers.question(10 + PATIENCE_MS), Some(2));
        barriers.again();
        assert_eq!(barriers.question(11 + PATIENCE_MS), Some(3));
        assert_eq!(barriers.answered(3, 5), [A]);
    }
}
