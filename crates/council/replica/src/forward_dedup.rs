//! What a leader has put into the log of the commands that other members gave it, by session: members give everything
//! again that is not applied, and a log that took all of it each time would grow faster than a member that lags can read.
//!
//! Valid for one term, and as long as nothing that was put forward is refused: then it is cleared.

use council_tree::{Command, Operation, Origin};
use council_wire::SessionId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::Hash;

use crate::sessions::FIRST_GENERATION;

/// What is known of a session's present connection.
#[derive(Debug, Default)]
struct Forwarded {
    generation: u32,
    /// The last command that was applied, once one was in this term.
    applied: Option<u64>,
    /// Every command from the first that is not applied up to the one before this is in the log of this term.
    next: Option<u64>,
    /// Of those behind a gap one was let through: its member hears of the gap from it.
    gap_told: bool,
}

/// How many of each kind are remembered beyond what is known of sessions.
const RECENT_MAX: usize = 1 << 16;

/// The latest that was noted, by key.
#[derive(Debug)]
struct Recent<K, V> {
    known: HashMap<K, V, FixedState>,
    order: VecDeque<K>,
}

impl<K: Copy + Eq + Hash, V: Default> Recent<K, V> {
    /// What is noted under that key. Says whether it is new.
    fn note(&mut self, key: K) -> (&mut V, bool) {
        let is_new = !self.known.contains_key(&key);
        if is_new {
            self.order.push_back(key);
            if self.order.len() > RECENT_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        (self.known.entry(key).or_default(), is_new)
    }

    fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { known: HashMap::with_hasher(FixedState::default()), order: VecDeque::new() }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ForwardDedup {
    sessions: HashMap<SessionId, Forwarded, FixedState>,
    /// Beginnings of sessions' connections, by generation, that are in the log of this term.
    begun: Recent<(SessionId, u32), ()>,
    /// Sessions of whose earlier connections, those of lower generations, something came when it was too late.
    late: Recent<SessionId, u32>,
}

impl ForwardDedup {
    /// Whether a command belongs into the log: one of those that it stands for does, it begins a connection, or it has no
    /// place in one.
    pub(crate) fn admit_command(&mut self, command: &Command<'_>) -> bool {
        match command.operation {
            Operation::CreateSession { session, .. } => {
                return self.admit_beginning(session, FIRST_GENERATION);
            }
            Operation::Attach { session, generation, .. } => {
                return self.admit_beginning(session, generation);
            }
            _ => {}
        }
        let (Some(first), Some(last)) = (command.origin, command.last_sequence()) else { return true };
        if self.late.known.get(&first.session).is_some_and(|present| first.generation < *present) {
            return false;
        }
        // Each is taken note of, also behind one that is admitted.
        let admitted =
            (first.sequence..=last).filter(|sequence| self.admit(Origin { sequence: *sequence, ..first }));
        admitted.count() > 0
    }

    /// Whether the beginning of a session's connection belongs into the log. Its member waits for what becomes of it, so it
    /// comes into the log once, also when it is too late.
    fn admit_beginning(&mut self, session: SessionId, generation: u32) -> bool {
        self.begun.note((session, generation)).1
    }

    /// Whether a command of this number belongs into the log.
    fn admit(&mut self, origin: Origin) -> bool {
        let Origin { session, generation, sequence } = origin;
        let known = self.sessions.entry(session).or_default();
        if known.generation != generation {
            *known = Forwarded { generation, ..Forwarded::default() };
        }
        match known.next {
            // What it follows may be in the log already, or may not.
            None => {
                if known.applied.is_some_and(|applied| sequence == applied + 1) {
                    known.next = Some(sequence + 1);
                }
                true
            }
            Some(next) if sequence == next => {
                (known.next, known.gap_told) = (Some(next + 1), false);
                true
            }
            Some(next) => sequence > next && !std::mem::replace(&mut known.gap_told, true),
        }
    }

    /// A command was applied.
    pub(crate) fn applied(&mut self, origin: Origin) {
        if self.sessions.is_empty() {
            return;
        }
        if let Some(known) = self.sessions.get_mut(&origin.session)
            && known.generation == origin.generation
        {
            known.applied = Some(origin.sequence);
            if known.next.is_some_and(|next| next <= origin.sequence) {
                // It came into the log past us: this leader's own clients' commands do.
                (known.next, known.gap_told) = (Some(origin.sequence + 1), false);
            }
        }
    }

    /// Something was applied too late: the session's present connection is of this generation, or it has none if it has
    /// ended. (A member gives commands only of sessions that it has seen begin.)
    pub(crate) fn came_late(&mut self, session: SessionId, present: Option<u32>) {
        let (known, _) = self.late.note(session);
        *known = present.unwrap_or(u32::MAX).max(*known);
    }

    /// A session has ended.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// Another term begins, or something that was admitted did not come into the log.
    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
        self.begun.clear();
        self.late.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(generation: u32, sequence: u64) -> Origin {
        Origin { session: SessionId(7), generation, sequence }
    }

    fn admitted(
        dedup: &mut ForwardDedup,
        generation: u32,
        sequences: std::ops::RangeInclusive<u64>,
    ) -> Vec<u64> {
        sequences.filter(|sequence| dedup.admit(of(generation, *sequence))).collect()
    }

    #[test]
    fn nothing_is_kept_back_before_it_is_known_what_is_in_the_log() {
        let mut dedup = ForwardDedup::default();
        assert_eq!(admitted(&mut dedup, 1, 4..=6), [4, 5, 6]);
        assert_eq!(admitted(&mut dedup, 1, 4..=6), [4, 5, 6], "they may have been lost");
        dedup.applied(of(1, 4));
        // 5 follows what is applied: from here on all is known.
        assert_eq!(admitted(&mut dedup, 1, 5..=8), [5, 6, 7, 8]);
        assert_eq!(admitted(&mut dedup, 1, 5..=9), [9]);
    }

    #[test]
    fn of_what_comes_behind_a_gap_one_is_let_through() {
        let mut dedup = ForwardDedup::default();
        assert_eq!(admitted(&mut dedup, 1, 1..=1), [1]);
        dedup.applied(of(1, 1));
        assert_eq!(admitted(&mut dedup, 1, 2..=3), [2, 3]);
        assert_eq!(admitted(&mut dedup, 1, 6..=9), [6]);
        assert_eq!(admitted(&mut dedup, 1, 2..=9), [4, 5, 6, 7, 8, 9]);
        assert_eq!(admitted(&mut dedup, 1, 12..=13), [12]);
    }

    #[test]
    fn refusal_of_many_is_let_in_once_and_counts_for_each() {
        let refusal = council_wire::ErrorCode::SystemError;
        let many = |sequence, count| Command {
            origin: Some(of(1, sequence)),
            ..Command::internal(council_tree::Operation::RefuseMany { refusal, count })
        };
        let mut dedup = ForwardDedup::default();
        assert_eq!(admitted(&mut dedup, 1, 1..=1), [1]);
        dedup.applied(of(1, 1));
        assert_eq!([many(2, 5), many(2, 5)].map(|command| dedup.admit_command(&command)), [true, false]);
        assert_eq!(admitted(&mut dedup, 1, 5..=8), [7, 8]);
        assert!(dedup.admit_command(&many(8, 3)), "9 and 10 are new");
        assert_eq!(admitted(&mut dedup, 1, 10..=11), [11]);
    }

    #[test]
    fn what_came_into_the_log_another_way_leaves_no_gap() {
        let mut dedup = ForwardDedup::default();
        assert_eq!(admitted(&mut dedup, 1, 1..=1), [1]);
        dedup.applied(of(1, 1));
        assert_eq!(admitted(&mut dedup, 1, 2..=2), [2]);
        // 3 is none of those that were asked about.
        assert_eq!(admitted(&mut dedup, 1, 4..=5), [4]);
        (2..=4).for_each(|sequence| dedup.applied(of(1, sequence)));
        assert_eq!(admitted(&mut dedup, 1, 4..=7), [5, 6, 7]);
    }

    fn attach(generation: u32) -> Command<'static> {
        let session = SessionId(7);
        Command::internal(Operation::Attach { session, generation, timeout_ms: 4_000 })
    }

    #[test]
    fn beginning_of_a_connection_is_let_in_once() {
        let mut dedup = ForwardDedup::default();
        let created =
            Operation::CreateSession { session: SessionId(7), timeout_ms: 4_000, password: [0; 16] };
        let created = Command::internal(created);
        assert_eq!([(); 2].map(|()| dedup.admit_command(&created)), [true, false]);
        assert_eq!([2, 3, 2].map(|generation| dedup.admit_command(&attach(generation))), [true, true, false]);
        dedup.forget(SessionId(7));
        assert!(!dedup.admit_command(&created), "a member that lags has not seen its end");
        dedup.clear();
        assert!(dedup.admit_command(&attach(2)), "what another term knew counts for nothing");
    }

    #[test]
    fn only_the_latest_beginnings_are_remembered() {
        let mut dedup = ForwardDedup::default();
        let beginnings = RECENT_MAX as u32 + 2;
        assert!((2..beginnings + 2).all(|generation| dedup.admit_command(&attach(generation))));
        assert_eq!((dedup.begun.known.len(), dedup.begun.order.len()), (RECENT_MAX, RECENT_MAX));
        assert_eq!([4, 2].map(|generation| dedup.admit_command(&attach(generation))), [false, true]);
    }

    #[test]
    fn what_comes_of_an_earlier_connection_than_the_present_one_is_kept_out() {
        let mut dedup = ForwardDedup::default();
        let command = |generation| Command {
            origin: Some(of(generation, 1)),
            ..Command::internal(Operation::Client { opcode: council_wire::OpCode::SetData, body: b"" })
        };
        dedup.came_late(SessionId(7), Some(3));
        assert_eq!(
            [2, 3, 4].map(|generation| dedup.admit_command(&command(generation))),
            [false, true, true]
        );
        dedup.came_late(SessionId(7), None);
        dedup.forget(SessionId(7));
        assert!(!dedup.admit_command(&command(4)), "it has ended");
    }

    #[test]
    fn another_connection_another_term_and_another_session_begin_anew() {
        let mut dedup = ForwardDedup::default();
        dedup.admit(of(1, 1));
        dedup.applied(of(1, 1));
        assert_eq!(admitted(&mut dedup, 1, 2..=3), [2, 3]);
        assert_eq!(admitted(&mut dedup, 2, 2..=3), [2, 3]);
        dedup.applied(of(1, 3));
        assert_eq!(admitted(&mut dedup, 2, 4..=4), [4], "of the old connection that says nothing");
        assert_eq!(admitted(&mut dedup, 2, 4..=4), [4]);
        dedup.applied(of(2, 4));
        assert_eq!(admitted(&mut dedup, 2, 5..=5), [5]);
        assert_eq!(admitted(&mut dedup, 2, 5..=5), []);
        dedup.clear();
        assert_eq!(admitted(&mut dedup, 2, 5..=5), [5]);
        dedup.forget(SessionId(7));
        assert!(dedup.sessions.is_empty());
    }
}
