use base::Now;
use log_coordinators::Text;
use log_wire::ErrorCode;

use super::{
    Acknowledgement, AcquireTerms, Acquired, DeadLetters, Fate, LogBatch, Release, ShareLimits,
    SharePartition,
};
use crate::state::{DeadReason, DeliveryState, ShareState, StateBatch};

const LIMITS: ShareLimits = ShareLimits {
    lock_ms: 1_000,
    delivery_count_max: 2,
    locks_max: 10,
    delayed_max: 5,
    has_dead_letters: false,
};
const ALL: AcquireTerms = AcquireTerms { records_max: 100, is_strict: false, batch_size: 100 };

fn at(ms: u64) -> Now {
    Now::of_ms(ms, 0)
}

fn member(name: &str) -> Text {
    name.into()
}

fn new(start: i64) -> SharePartition {
    SharePartition::new(&ShareState::new(0, start), LIMITS)
}

fn batch(first: i64, last: i64) -> LogBatch {
    LogBatch { first, last, fate: Fate::Delivered }
}

fn take(partition: &mut SharePartition, name: &str, batches: &[LogBatch], ms: u64) -> Vec<(i64, i64, i16)> {
    let Some(from) = partition.next_offset() else { return Vec::new() };
    let until = batches.last().map_or(from, |batch| batch.last + 1);
    let acquired = partition.acquire(&member(name), (from, until), batches, ALL, at(ms));
    acquired.iter().map(|of| (of.first, of.last, of.delivery_count)).collect()
}

fn say(partition: &mut SharePartition, name: &str, first: i64, last: i64, kind: i8) -> Result<(), ErrorCode> {
    let of = Acknowledgement { first, last, types: vec![kind] };
    partition.acknowledge(name, &[of], true, at(0))
}

#[test]
fn a_record_is_with_one_member_at_a_time() {
    let mut partition = new(0);
    assert_eq!(take(&mut partition, "a", &[batch(0, 4)], 0), [(0, 4, 1)]);
    assert_eq!(partition.next_offset(), Some(5));
    assert_eq!(say(&mut partition, "b", 0, 0, 1), Err(ErrorCode::InvalidRecordState));
    assert_eq!(say(&mut partition, "a", 0, 1, 1), Ok(()));
    assert_eq!(say(&mut partition, "a", 3, 3, 2), Ok(()));
    assert_eq!(take(&mut partition, "b", &[batch(0, 4)], 0), [(3, 3, 2)]);
    let available = StateBatch { first: 3, last: 3, state: DeliveryState::Available, delivery_count: 1 };
    let update = partition.take_update().expect("it has changed");
    assert_eq!((update.start, update.batches), (2, vec![available]));
}

#[test]
fn a_lock_ends_and_the_delivery_count_is_limited() {
    let mut partition = new(0);
    take(&mut partition, "a", &[batch(0, 0)], 0);
    assert_eq!(partition.next_deadline(), Some(at(1_000).mono()));
    partition.tick(at(999));
    assert_eq!(partition.next_offset(), Some(1));
    partition.tick(at(1_000));
    assert_eq!(take(&mut partition, "b", &[batch(0, 0)], 1_000), [(0, 0, 2)]);
    partition.tick(at(2_000));
    assert_eq!((partition.start(), partition.next_offset()), (1, Some(1)));
}

#[test]
fn a_renewed_lock_ends_later() {
    let mut partition = new(0);
    take(&mut partition, "a", &[batch(0, 0)], 0);
    let of = Acknowledgement { first: 0, last: 0, types: vec![4] };
    assert_eq!(
        partition.acknowledge("a", std::slice::from_ref(&of), false, at(500)),
        Err(ErrorCode::InvalidRequest)
    );
    assert_eq!(partition.acknowledge("a", &[of], true, at(500)), Ok(()));
    partition.tick(at(1_400));
    assert_eq!(partition.next_offset(), Some(1));
    partition.tick(at(1_500));
    assert_eq!(partition.next_offset(), Some(0));
}

#[test]
fn gaps_and_markers_are_nobodys() {
    let mut partition = new(0);
    let marker = LogBatch { first: 3, last: 3, fate: Fate::Skipped };
    assert_eq!(take(&mut partition, "a", &[batch(1, 2), marker, batch(6, 6)], 0), [(1, 2, 1), (6, 6, 1)]);
    assert_eq!(partition.start(), 1);
    say(&mut partition, "a", 1, 2, 1).expect("it has them");
    assert_eq!(partition.start(), 6);
}

#[test]
fn the_window_is_limited() {
    let mut partition = new(0);
    assert_eq!(take(&mut partition, "a", &[batch(0, 6), batch(7, 14)], 0), [(0, 6, 1), (7, 9, 1)]);
    assert_eq!(partition.next_offset(), None);
    say(&mut partition, "a", 0, 0, 1).expect("it has it");
    assert_eq!(take(&mut partition, "b", &[batch(7, 14)], 0), [(10, 10, 1)]);
}

#[test]
fn a_strict_limit_takes_a_batch_in_parts() {
    let mut partition = new(0);
    let strict = AcquireTerms { records_max: 3, is_strict: true, batch_size: 2 };
    let acquired = partition.acquire(&member("a"), (0, 8), &[batch(0, 7)], strict, at(0));
    let of = |first, last| Acquired { first, last, delivery_count: 1 };
    assert_eq!(acquired, [of(0, 1), of(2, 2)]);
    assert_eq!(partition.next_offset(), Some(3));
}

#[test]
fn what_a_closed_session_had_does_not_count() {
    let mut partition = new(0);
    take(&mut partition, "a", &[batch(0, 1)], 0);
    partition.release("a", Release::Closed);
    assert_eq!(take(&mut partition, "b", &[batch(0, 1)], 0), [(0, 1, 1)]);
    partition.release("b", Release::Lost);
    assert_eq!(take(&mut partition, "a", &[batch(0, 1)], 0), [(0, 1, 2)]);
}

#[test]
fn an_acknowledgement_is_done_whole_or_not_at_all() {
    let mut partition = new(0);
    take(&mut partition, "a", &[batch(0, 3)], 0);
    let of = |first, last, types: &[i8]| Acknowledgement { first, last, types: types.to_vec() };
    let bad = [of(0, 1, &[1]), of(2, 4, &[1])];
    assert_eq!(partition.acknowledge("a", &bad, true, at(0)), Err(ErrorCode::InvalidRecordState));
    assert_eq!((partition.start(), partition.take_update()), (0, None));
    for malformed in [of(1, 0, &[1]), of(0, 3, &[1, 1]), of(0, 0, &[5]), of(-1, 0, &[1]), of(0, 0, &[])] {
        assert_eq!(partition.acknowledge("a", &[malformed], true, at(0)), Err(ErrorCode::InvalidRequest));
    }
    assert_eq!(partition.acknowledge("a", &[of(0, 3, &[1, 0, 3, 2])], true, at(0)), Ok(()));
    assert_eq!((partition.start(), partition.next_offset()), (3, Some(3)));
}

fn with_dead_letters() -> SharePartition {
    SharePartition::new(&ShareState::new(0, 0), ShareLimits { has_dead_letters: true, ..LIMITS })
}

fn dead(first: i64, last: i64, reason: DeadReason, delivery_count: i16) -> Option<DeadLetters> {
    Some(DeadLetters { first, last, reason, delivery_count })
}

#[test]
fn a_record_is_archived_when_its_dead_letter_is_durable_and_not_before() {
    let mut partition = with_dead_letters();
    take(&mut partition, "a", &[batch(0, 4)], 0);
    assert_eq!(say(&mut partition, "a", 0, 2, 3), Ok(()));
    assert_eq!(say(&mut partition, "a", 3, 4, 1), Ok(()));
    let update = partition.take_update().expect("it has changed");
    assert_eq!((update.start, partition.start()), (0, 0), "the window waits for the letters");
    assert_eq!(partition.next_dead_letters(2), dead(0, 1, DeadReason::Rejected, 1));
    // The leader dies, and the next one goes on.
    let mut state = ShareState::new(0, 0);
    state.apply(&update);
    let limits = ShareLimits { has_dead_letters: true, ..LIMITS };
    let mut again = SharePartition::new(&state, limits);
    assert_eq!(again.next_dead_letters(9), dead(0, 2, DeadReason::Rejected, 1));
    assert_eq!(again.next_offset(), Some(5), "nobody gets them");
    again.archived(0, 1);
    assert_eq!((again.start(), again.next_dead_letters(9)), (2, dead(2, 2, DeadReason::Rejected, 1)));
    again.archived(0, 2);
    assert_eq!((again.start(), again.next_dead_letters(9)), (5, None));
    // Without dead letters they are archived at once.
    assert_eq!(SharePartition::new(&state, LIMITS).start(), 5);
}

#[test]
fn a_record_that_was_delivered_too_often_becomes_a_dead_letter() {
    let mut partition = with_dead_letters();
    for ms in [0, 1_000] {
        take(&mut partition, "a", &[batch(0, 0)], ms);
        partition.tick(at(ms + 1_000));
    }
    assert_eq!(partition.next_dead_letters(9), dead(0, 0, DeadReason::DeliveredTooOften, 2));
}

#[test]
fn expired_records_are_given_to_nobody_and_become_dead_letters_as_far_as_there_is_room() {
    let expired = LogBatch { fate: Fate::Expired, ..batch(0, 19) };
    let mut partition = new(0);
    assert_eq!(take(&mut partition, "a", &[expired, batch(20, 20)], 0), [(20, 20, 1)]);
    assert_eq!(partition.start(), 20);
    let mut partition = with_dead_letters();
    assert_eq!(take(&mut partition, "a", &[expired, batch(20, 20)], 0), []);
    assert_eq!(partition.next_dead_letters(99), dead(0, 9, DeadReason::Expired, 0));
    assert_eq!(partition.next_offset(), None, "there is no room for more");
    partition.archived(0, 9);
    assert_eq!(partition.next_offset(), Some(10));
}

#[test]
fn delayed_records_hold_up_nobody_until_there_are_too_many() {
    let mut partition = new(0);
    let until = |ms: u64| Fate::Delayed(at(ms).mono());
    let batches = [LogBatch { fate: until(500), ..batch(0, 2) }, batch(3, 3)];
    assert_eq!(take(&mut partition, "a", &batches, 0), [(3, 3, 1)]);
    assert_eq!(partition.next_deadline(), Some(at(500).mono()));
    partition.tick(at(499));
    assert_eq!(partition.next_offset(), Some(4));
    // Three are delayed: they do not count. A fourth to a twelfth: two more do not count, and ten locks are all there are.
    let more = LogBatch { fate: until(900), ..batch(4, 30) };
    assert_eq!(take(&mut partition, "a", &[more], 0), []);
    assert_eq!((partition.end(), partition.next_offset()), (15, None));
    partition.tick(at(500));
    assert_eq!(take(&mut partition, "b", &[batch(0, 3)], 500), [(0, 2, 1)]);
}
