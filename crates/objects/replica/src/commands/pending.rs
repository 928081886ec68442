//! Commands of this member, from their arrival until they are applied here. Each is given to the present leader, and again
//! to the next one; the state lets each number take effect once.

use std::collections::VecDeque;

use base::MonoTime;
use objects_state::{Origin, Source};

use crate::{entry, incarnation};

/// A command that is not applied here yet.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) sequence: u64,
    /// As the log has it.
    pub(crate) encoded: Vec<u8>,
    /// Who waits for its answer. Nobody: it is the member's own, or was answered already.
    pub(crate) origin: Option<Origin>,
    /// Whether the state carries it out once however often it comes, so that it may be given again under a new number.
    pub(crate) repeatable: bool,
    pub(crate) since: MonoTime,
    /// Whether any leader may have been given it under its present number.
    given: bool,
    /// Whether it may have taken effect under an earlier one, which the state had passed before this member saw it.
    in_doubt: bool,
}

impl Pending {
    const fn may_have_an_effect(&self) -> bool {
        self.given || self.in_doubt
    }
}

/// See the module. Their numbers rise from the front to the back.
#[derive(Debug)]
pub(crate) struct Queue {
    member: u8,
    incarnation: u64,
    /// The number of the latest command.
    last: u64,
    waiting: VecDeque<Pending>,
    bytes: usize,
    /// How many from the front on the present leader has been given.
    given: usize,
    /// Whoever waited for commands below this number has been told that their outcome is unknown.
    next_unanswered: u64,
}

impl Queue {
    pub(crate) const fn new(member: u8, incarnation: u64) -> Self {
        let waiting = VecDeque::new();
        Self { member, incarnation, last: 0, waiting, bytes: 0, given: 0, next_unanswered: 0 }
    }

    const fn source(&self, sequence: u64) -> Source {
        Source { member: self.member, incarnation: self.incarnation, sequence }
    }

    /// Whether that source is this process.
    pub(crate) const fn is_own(&self, source: Source) -> bool {
        source.member == self.member && source.incarnation == self.incarnation
    }

    /// The number that the next command gets.
    pub(crate) const fn next_source(&self) -> Source {
        self.source(self.last + 1)
    }

    /// Takes a command in, encoded under [`Self::next_source`].
    pub(crate) fn push(
        &mut self,
        encoded: Vec<u8>,
        origin: Option<Origin>,
        repeatable: bool,
        since: MonoTime,
    ) {
        self.last += 1;
        self.bytes += encoded.len();
        let sequence = self.last;
        self.waiting.push_back(Pending {
            sequence,
            encoded,
            origin,
            repeatable,
            since,
            given: false,
            in_doubt: false,
        });
    }

    /// The next command that the present leader is to be given.
    pub(crate) fn next_to_give(&mut self) -> Option<(Source, &[u8])> {
        let (member, incarnation) = (self.member, self.incarnation);
        let next = self.waiting.get_mut(self.given)?;
        self.given += 1;
        next.given = true;
        let source = Source { member, incarnation, sequence: next.sequence };
        Some((source, &next.encoded))
    }

    /// How many the present leader has not been given.
    pub(crate) fn ungiven(&self) -> usize {
        self.waiting.len() - self.given
    }

    /// All are to be given again: the leader is another, or may have lost something.
    pub(crate) const fn give_again(&mut self) {
        self.given = 0;
    }

    /// The command of that number was applied. Gives it if it waited. Those before it, which were not applied before it,
    /// never will be: they get new numbers.
    pub(crate) fn applied(&mut self, sequence: u64) -> Option<Pending> {
        let mut found = None;
        while let Some(front) = self.waiting.front()
            && front.sequence <= sequence
        {
            let Some(pending) = self.pop_front() else { break };
            if pending.sequence == sequence {
                found = Some(pending);
            } else {
                self.push_again(pending);
            }
        }
        found
    }

    fn pop_front(&mut self) -> Option<Pending> {
        let pending = self.waiting.pop_front()?;
        self.bytes -= pending.encoded.len();
        self.given = self.given.saturating_sub(1);
        Some(pending)
    }

    /// Under a new number it is a command that no leader has been given.
    fn push_again(&mut self, mut pending: Pending) {
        let source = self.next_source();
        entry::renumber(&mut pending.encoded, source);
        self.last = source.sequence;
        self.bytes += pending.encoded.len();
        self.waiting.push_back(Pending { sequence: source.sequence, given: false, ..pending });
    }

    /// Whether that command, of this member, is of another process that this one must go beyond.
    pub(crate) const fn is_overtaken_by(&self, source: Source) -> bool {
        source.member == self.member
            && (source.incarnation > self.incarnation
                || (source.incarnation == self.incarnation && source.sequence > self.last))
    }

    /// The state knows this as the last command of this member. Gives what may have been applied without this member's
    /// seeing how; all else that never will be applied under its number gets another one.
    pub(crate) fn state_knows(&mut self, last: Source) -> Vec<Pending> {
        if last.member != self.member || last.incarnation < self.incarnation {
            return Vec::new();
        }
        let is_newer = self.is_overtaken_by(last);
        let passed = if is_newer { u64::MAX } else { last.sequence };
        if is_newer {
            // This process began under a clock that was set back: nothing of it can be applied any more.
            self.incarnation = incarnation::beyond(last.incarnation, self.incarnation);
            (self.last, self.next_unanswered) = (0, 0);
        }
        let (mut unknown, mut again) = (Vec::new(), Vec::new());
        while let Some(front) = self.waiting.front()
            && front.sequence <= passed
        {
            let Some(mut pending) = self.pop_front() else { break };
            pending.in_doubt |= pending.given;
            let list = if pending.in_doubt && !pending.repeatable { &mut unknown } else { &mut again };
            list.push(pending);
        }
        again.into_iter().for_each(|pending| self.push_again(pending));
        unknown
    }

    /// Takes out those that came before that time and that no leader was ever given: they have no effect.
    pub(crate) fn take_ungiven(&mut self, before: MonoTime) -> Vec<Pending> {
        if self.waiting.get(self.given).is_none_or(|first| first.since >= before) {
            return Vec::new();
        }
        let is_taken = |pending: &Pending| {
            !pending.may_have_an_effect() && pending.origin.is_some() && pending.since < before
        };
        let (taken, kept): (VecDeque<_>, _) =
            core::mem::take(&mut self.waiting).into_iter().partition(is_taken);
        // None of those that the leader was given is among them, so it has been given as many as before.
        self.waiting = kept;
        self.bytes -= taken.iter().map(|pending| pending.encoded.len()).sum::<usize>();
        taken.into()
    }

    /// Those who have waited since before that time for what a leader was given: they are told that its outcome is
    /// unknown, and wait no more.
    pub(crate) fn take_unanswered(&mut self, before: MonoTime) -> Vec<Origin> {
        let from = self.waiting.partition_point(|pending| pending.sequence < self.next_unanswered);
        let mut unanswered = Vec::new();
        for pending in self.waiting.range_mut(from..) {
            if pending.since >= before || !pending.may_have_an_effect() {
                break;
            }
            unanswered.extend(pending.origin.take());
            self.next_unanswered = pending.sequence + 1;
        }
        unanswered
    }

    pub(crate) fn first_sequence(&self) -> u64 {
        self.waiting.front().map_or(self.last + 1, |front| front.sequence)
    }

    pub(crate) const fn last_sequence(&self) -> u64 {
        self.last
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) const fn incarnation(&self) -> u64 {
        self.incarnation
    }
}

#[cfg(test)]
mod tests {
    use objects_state::Command;

    use super::*;

    fn queue() -> Queue {
        let mut queue = Queue::new(2, 7);
        (0..4).for_each(|number| push(&mut queue, number));
        queue
    }

    fn push(queue: &mut Queue, number: u64) {
        let encoded = entry::of_member(queue.next_source(), &Command::Tick);
        let origin = Some(Origin { member: 2, number });
        queue.push(encoded, origin, number % 2 == 1, MonoTime::of_ms(10 * number));
    }

    fn give(queue: &mut Queue, count: usize) {
        (0..count).for_each(|_| assert!(queue.next_to_give().is_some()));
    }

    fn given(queue: &mut Queue) -> Vec<u64> {
        core::iter::from_fn(|| {
            queue.next_to_give().map(|(source, encoded)| {
                assert_eq!(entry::split(encoded).unwrap().0, Some(source));
                source.sequence
            })
        })
        .collect()
    }

    fn numbers(pending: impl IntoIterator<Item = Pending>) -> Vec<u64> {
        pending.into_iter().map(|pending| pending.origin.unwrap().number).collect()
    }

    #[test]
    fn commands_are_given_in_order_and_again_until_they_are_applied() {
        let mut queue = queue();
        assert_eq!(given(&mut queue), [1, 2, 3, 4]);
        assert_eq!(numbers(queue.applied(1)), [0]);
        push(&mut queue, 4);
        assert_eq!(given(&mut queue), [5]);
        queue.give_again();
        assert_eq!(given(&mut queue), [2, 3, 4, 5]);
        assert!(queue.applied(1).is_none());
        (2..=5).for_each(|sequence| assert!(queue.applied(sequence).is_some()));
        assert_eq!((queue.len(), queue.bytes(), queue.ungiven()), (0, 0, 0));
    }

    #[test]
    fn command_that_was_passed_over_gets_a_new_number() {
        let mut queue = queue();
        given(&mut queue);
        assert_eq!(numbers(queue.applied(3)), [2]);
        assert_eq!(given(&mut queue), [5, 6], "the first two, which were lost");
        assert_eq!(numbers(queue.applied(4)), [3]);
        assert_eq!(numbers([5, 6].into_iter().flat_map(|sequence| queue.applied(sequence))), [0, 1]);
    }

    #[test]
    fn snapshot_leaves_the_outcome_of_what_is_not_repeatable_unknown() {
        let mut queue = queue();
        give(&mut queue, 3);
        let unknown = queue.state_knows(Source { member: 2, incarnation: 7, sequence: 3 });
        assert_eq!(numbers(unknown), [0, 2]);
        assert_eq!(given(&mut queue), [4, 5], "the second may be repeated");
    }

    #[test]
    fn what_a_snapshot_may_hold_is_not_said_to_have_no_effect() {
        let mut queue = queue();
        give(&mut queue, 2);
        assert_eq!(numbers(queue.state_knows(Source { member: 2, incarnation: 7, sequence: 3 })), [0]);
        assert_eq!(given(&mut queue), [4, 5, 6]);
        assert_eq!(numbers(queue.applied(6)), [2]);
        // None of the others was applied under its new number, and the first of them may have been under its old one.
        assert_eq!(numbers(queue.take_ungiven(MonoTime::of_ms(99))), [3]);
        let unanswered = queue.take_unanswered(MonoTime::of_ms(99));
        assert_eq!(unanswered.into_iter().map(|origin| origin.number).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn process_whose_clock_was_set_back_takes_a_higher_number() {
        let mut queue = queue();
        queue.next_to_give();
        let unknown = queue.state_knows(Source { member: 2, incarnation: 9, sequence: 1 });
        assert_eq!(numbers(unknown), [0]);
        assert!(queue.incarnation() > 9);
        assert_eq!(given(&mut queue), [1, 2, 3]);
        let own = queue.incarnation();
        assert!(!queue.is_overtaken_by(Source { member: 2, incarnation: own, sequence: 3 }));
        // The process before was set back by the same clock, and took the number that this one has taken.
        queue.state_knows(Source { member: 2, incarnation: own, sequence: 4 });
        assert!(queue.incarnation() > own);
        assert!(queue.state_knows(Source { member: 1, incarnation: 99, sequence: 1 }).is_empty());
    }

    #[test]
    fn only_what_nobody_was_given_is_refused() {
        let mut queue = queue();
        give(&mut queue, 2);
        queue.give_again();
        assert!(queue.take_ungiven(MonoTime::of_ms(0)).is_empty());
        assert_eq!(numbers(queue.take_ungiven(MonoTime::of_ms(30))), [2]);
        assert_eq!(given(&mut queue), [1, 2, 4]);
    }

    #[test]
    fn nobody_is_told_twice_that_an_outcome_is_unknown() {
        let mut queue = queue();
        give(&mut queue, 3);
        let told = |queue: &mut Queue, ms| {
            queue
                .take_unanswered(MonoTime::of_ms(ms))
                .into_iter()
                .map(|origin| origin.number)
                .collect::<Vec<_>>()
        };
        assert_eq!((told(&mut queue, 15), told(&mut queue, 15)), (vec![0, 1], vec![]));
        assert_eq!(told(&mut queue, 99), [2], "nobody was given the last one");
        assert!(queue.applied(1).is_some_and(|pending| pending.origin.is_none()));
    }
}
