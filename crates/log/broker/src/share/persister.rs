//! Requests to the holder of states on their way, wherever it is: here or on another broker.
//!
//! A share partition has a *lane*. Its first request is under way; what comes meanwhile waits, and writes that wait become one. A
//! holder that has moved, or is loading, is asked again after a moment, until [`GIVE_UP_MS`] after the first time. A write that
//! was done and whose answer was lost is done again: that changes nothing, because no other write of the lane came between.
//!
//! Invariants: a lane has one request under way; a failed write fails all that wait behind it, which were computed from it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{MonoTime, Now};
use log_coordinators::Ticket;
use log_share::{ShareKey, StateAnswer, StateRequest};
use log_wire::ErrorCode;

/// How long a holder on another broker may take, and how long one that has moved is looked for, milliseconds: as long as
/// `share.coordinator.write.timeout.ms` is by default.
const GIVE_UP_MS: u64 = 5_000;
/// After how many milliseconds a holder that has moved is looked for again.
const AGAIN_MS: u64 = 50;
/// More requests do not wait in a lane.
const WAITING_MAX: usize = 64;

/// A request, and all that waits for its answer.
#[derive(Debug)]
struct Queued {
    request: StateRequest,
    tickets: Vec<Ticket>,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Queued>,
    /// The attempt of the first request that is under way.
    attempt: Option<Ticket>,
    /// When the first request is given up; nothing until it was sent.
    gives_up: Option<MonoTime>,
    /// When something is to be done although nothing happens.
    due: Option<MonoTime>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Persister {
    lanes: BTreeMap<ShareKey, Lane>,
    /// Whose attempt each ticket is.
    attempts: BTreeMap<Ticket, ShareKey>,
    /// Lanes whose first request is to be sent.
    ready: VecDeque<ShareKey>,
    due: BTreeSet<(MonoTime, ShareKey)>,
}

impl Persister {
    /// A request of a share partition. False if too many wait.
    pub(super) fn push(&mut self, key: &ShareKey, request: StateRequest, ticket: Ticket) -> bool {
        let lane = self.lanes.entry(key.clone()).or_default();
        // What is under way, or was, is not changed any more.
        let is_first = lane.queue.len() == 1 && lane.gives_up.is_some();
        if !is_first && lane.queue.back_mut().is_some_and(|last| join(last, &request, ticket)) {
            return true;
        }
        if lane.queue.len() >= WAITING_MAX {
            return false;
        }
        lane.queue.push_back(Queued { request, tickets: vec![ticket] });
        if lane.queue.len() == 1 {
            self.ready.push_back(key.clone());
        }
        true
    }

    /// The next lane whose request is to be sent.
    pub(super) fn next(&mut self) -> Option<(ShareKey, StateRequest)> {
        while let Some(key) = self.ready.pop_front() {
            if let Some(first) = self.lanes.get(&key).and_then(|lane| lane.queue.front()) {
                let request = first.request.clone();
                return Some((key, request));
            }
        }
        None
    }

    /// The first request of a lane was sent under that ticket. One that is held here takes as long as the disk takes.
    pub(super) fn sent(&mut self, key: &ShareKey, attempt: Ticket, is_here: bool, now: Now) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        let gives_up = *lane.gives_up.get_or_insert(now.mono().plus_ms(GIVE_UP_MS));
        lane.attempt = Some(attempt);
        self.attempts.insert(attempt, key.clone());
        self.set_due(key, (!is_here).then_some(gives_up));
    }

    /// An attempt is answered. Gives who waits for that, with the answer of each.
    pub(super) fn answered(
        &mut self,
        attempt: Ticket,
        answer: StateAnswer,
        now: Now,
    ) -> Vec<(Ticket, StateAnswer)> {
        let Some(key) = self.attempts.remove(&attempt) else { return Vec::new() };
        let Some(lane) = self.lanes.get_mut(&key).filter(|lane| lane.attempt == Some(attempt)) else {
            return Vec::new();
        };
        lane.attempt = None;
        let is_read = lane.queue.front().is_some_and(|of| matches!(of.request, StateRequest::Read { .. }));
        let is_over = lane.gives_up.is_none_or(|gives_up| gives_up <= now.mono());
        if may_pass(&answer) && !is_read && !is_over {
            self.set_due(&key, Some(now.mono().plus_ms(AGAIN_MS)));
            return Vec::new();
        }
        self.finish(&key, &answer)
    }

    /// What is to be done because time has passed: lanes are sent again by [`Self::next`], or their requests are given up.
    pub(super) fn tick(&mut self, now: Now) -> Vec<(Ticket, StateAnswer)> {
        let mut answers = Vec::new();
        while let Some(key) = pop_due(&mut self.due, now.mono()) {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            lane.due = None;
            match lane.attempt.take() {
                None => self.ready.push_back(key),
                Some(attempt) => {
                    self.attempts.remove(&attempt);
                    let failed = StateAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
                    answers.extend(self.finish(&key, &failed));
                }
            }
        }
        answers
    }

    /// Whether a ticket is that of an attempt.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.attempts.contains_key(&ticket)
    }

    pub(super) fn next_deadline(&self) -> Option<MonoTime> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The first request of a lane is done.
    fn finish(&mut self, key: &ShareKey, answer: &StateAnswer) -> Vec<(Ticket, StateAnswer)> {
        self.set_due(key, None);
        let Some(lane) = self.lanes.get_mut(key) else { return Vec::new() };
        lane.gives_up = None;
        let Some(done) = lane.queue.pop_front() else { return Vec::new() };
        let mut tickets = done.tickets;
        if matches!((&done.request, answer), (StateRequest::Write { .. }, StateAnswer::Failed(_))) {
            let is_write = |of: &mut Queued| matches!(of.request, StateRequest::Write { .. });
            while let Some(behind) = lane.queue.pop_front_if(is_write) {
                tickets.extend(behind.tickets);
            }
        }
        if lane.queue.is_empty() {
            self.lanes.remove(key);
        } else {
            self.ready.push_back(key.clone());
        }
        tickets.into_iter().map(|ticket| (ticket, answer.clone())).collect()
    }

    fn set_due(&mut self, key: &ShareKey, due: Option<MonoTime>) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        if let Some(before) = std::mem::replace(&mut lane.due, due) {
            self.due.remove(&(before, key.clone()));
        }
        self.due.extend(due.map(|due| (due, key.clone())));
    }
}

fn pop_due(due: &mut BTreeSet<(MonoTime, ShareKey)>, now: MonoTime) -> Option<ShareKey> {
    let is_due = due.first().is_some_and(|(due, _)| *due <= now);
    if is_due { due.pop_first().map(|(_, key)| key) } else { None }
}

/// Whether a holder may answer otherwise soon.
const fn may_pass(answer: &StateAnswer) -> bool {
    matches!(
        answer,
        StateAnswer::Failed(
            ErrorCode::NotCoordinator
                | ErrorCode::CoordinatorNotAvailable
                | ErrorCode::CoordinatorLoadInProgress
        )
    )
}

/// A write joins the one before it, if both are of the same leader.
fn join(last: &mut Queued, request: &StateRequest, ticket: Ticket) -> bool {
    match (&mut last.request, request) {
        (
            StateRequest::Write { state_epoch, leader_epoch, update, .. },
            StateRequest::Write {
                state_epoch: later_state, leader_epoch: later_leader, update: later, ..
            },
        ) if (*state_epoch, *leader_epoch) == (*later_state, *later_leader) => {
            update.join(later);
            last.tickets.push(ticket);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use log_share::{DeliveryState, StateBatch, StateUpdate};

    use super::*;

    fn key() -> ShareKey {
        ShareKey { group: "g".into(), topic: [1; 16], partition: 0 }
    }

    fn at(ms: u64) -> Now {
        Now::of_ms(ms, 0)
    }

    fn write(offset: i64, leader_epoch: i32) -> StateRequest {
        let state = DeliveryState::Acknowledged;
        let batch = StateBatch { first: offset, last: offset, state, delivery_count: 1 };
        let update = StateUpdate { start: 0, batches: vec![batch] };
        StateRequest::Write { key: key(), state_epoch: 0, leader_epoch, update }
    }

    fn push(persister: &mut Persister, request: StateRequest, ticket: u64) {
        assert!(persister.push(&key(), request, Ticket(ticket)));
    }

    fn send(persister: &mut Persister, attempt: u64, ms: u64) -> Option<StateRequest> {
        let (key, request) = persister.next()?;
        persister.sent(&key, Ticket(attempt), false, at(ms));
        Some(request)
    }

    fn tickets(answers: &[(Ticket, StateAnswer)]) -> Vec<u64> {
        answers.iter().map(|(ticket, _)| ticket.0).collect()
    }

    fn moved() -> StateAnswer {
        StateAnswer::Failed(ErrorCode::NotCoordinator)
    }

    #[test]
    fn writes_that_wait_become_one_and_none_overtakes_another() {
        let mut persister = Persister::default();
        push(&mut persister, write(1, 0), 1);
        assert_eq!(send(&mut persister, 100, 0), Some(write(1, 0)));
        push(&mut persister, write(2, 0), 2);
        push(&mut persister, write(3, 0), 3);
        push(&mut persister, write(4, 1), 4);
        assert_eq!(send(&mut persister, 101, 0), None, "one is under way");
        assert_eq!(tickets(&persister.answered(Ticket(100), StateAnswer::Done, at(1))), [1]);
        let Some(StateRequest::Write { update, .. }) = send(&mut persister, 102, 1) else {
            panic!("a write")
        };
        assert_eq!(update.batches.len(), 1);
        assert_eq!((update.batches[0].first, update.batches[0].last), (2, 3));
        assert_eq!(tickets(&persister.answered(Ticket(102), StateAnswer::Done, at(2))), [2, 3]);
        assert_eq!(send(&mut persister, 103, 2), Some(write(4, 1)), "another leader epoch");
        assert_eq!(tickets(&persister.answered(Ticket(103), StateAnswer::Done, at(3))), [4]);
        assert!(persister.lanes.is_empty() && persister.due.is_empty() && persister.attempts.is_empty());
    }

    #[test]
    fn holder_that_has_moved_is_asked_again_until_the_time_is_over() {
        let mut persister = Persister::default();
        push(&mut persister, write(1, 0), 1);
        let mut ms = 0;
        for attempt in 100.. {
            if send(&mut persister, attempt, ms).is_none() {
                break;
            }
            let answers = persister.answered(Ticket(attempt), moved(), at(ms));
            if !answers.is_empty() {
                assert_eq!((tickets(&answers), ms), (vec![1], GIVE_UP_MS));
                break;
            }
            assert!(persister.tick(at(ms + AGAIN_MS - 1)).is_empty());
            assert_eq!(persister.next(), None, "not at once");
            ms += AGAIN_MS;
            assert!(persister.tick(at(ms)).is_empty());
        }
        assert_eq!(ms, GIVE_UP_MS);
        assert!(persister.lanes.is_empty());
    }

    #[test]
    fn write_that_fails_fails_those_behind_it_and_a_read_behind_them_is_sent() {
        let mut persister = Persister::default();
        push(&mut persister, write(1, 0), 1);
        send(&mut persister, 100, 0);
        push(&mut persister, write(2, 0), 2);
        let read = StateRequest::Read { key: key(), leader_epoch: 0 };
        push(&mut persister, read.clone(), 3);
        let failed = StateAnswer::Failed(ErrorCode::FencedLeaderEpoch);
        assert_eq!(tickets(&persister.answered(Ticket(100), failed, at(1))), [1, 2]);
        assert_eq!(send(&mut persister, 101, 1), Some(read));
        // A read is asked for again by who needs it.
        assert_eq!(tickets(&persister.answered(Ticket(101), moved(), at(2))), [3]);
    }

    #[test]
    fn holder_that_says_nothing_is_given_up_and_its_late_answer_counts_for_nothing() {
        let mut persister = Persister::default();
        push(&mut persister, write(1, 0), 1);
        send(&mut persister, 100, 0);
        assert!(persister.tick(at(GIVE_UP_MS - 1)).is_empty());
        assert_eq!(tickets(&persister.tick(at(GIVE_UP_MS))), [1]);
        assert!(
            !persister.has(Ticket(100))
                && persister.answered(Ticket(100), StateAnswer::Done, at(0)).is_empty()
        );
    }

    #[test]
    fn lane_is_bounded() {
        let mut persister = Persister::default();
        let pushed =
            (0..1_000).filter(|number| persister.push(&key(), StateRequest::Delete(key()), Ticket(*number)));
        assert_eq!(pushed.count(), WAITING_MAX);
    }
}
