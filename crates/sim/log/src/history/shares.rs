//! What members of the share group were given and what became of their acknowledgements (L56 to L60). A record is known by its
//! offset: what stands there is judged as everywhere.
//!
//! That a record has one holder is judged with one broker, while nothing happens that may take it from its holder: see
//! [`History::disturbed`]. A leader that has a successor, and does not know, may still give out what that one gives to others; of
//! their acknowledgements only one counts, and that is judged with several brokers, too.

use std::collections::BTreeMap;

use super::{History, Place};

/// How often a record is delivered at most: as brokers are configured.
pub(crate) const DELIVERIES_MAX: i16 = 10;
/// For how long a member has a record, milliseconds: as brokers are configured.
pub(crate) const LOCK_MS: u64 = 2_000;
/// How much later or earlier than by the world's clock a lock may end, milliseconds.
const SLACK_MS: u64 = 400;

/// Who asked for records, of which broker, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taking {
    pub(crate) member: u32,
    /// The place of the broker among all.
    pub(crate) broker: usize,
    pub(crate) moment: u64,
    pub(crate) ms: u64,
}

/// What is known of a record that was given to somebody.
#[derive(Debug, Default)]
struct Delivered {
    count: i16,
    /// The last time that it was given, and when that was told.
    last: Option<(Taking, u64)>,
    /// Who has it, as far as it is known.
    holder: Option<Taking>,
    /// How many requests that accept or reject it are outstanding, of members who were given it.
    asked: usize,
    /// When it was told that it is accepted or rejected.
    finished: Option<u64>,
    /// It may be: an answer was lost.
    may_be_finished: bool,
    /// How many answers had been lost, of those that may have given it.
    lost: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Shares {
    delivered: BTreeMap<(Place, i64), Delivered>,
    /// When something happened last that may take records from those who have them.
    disturbed: u64,
    /// There is one broker.
    is_alone: bool,
    /// How many answers were lost that may have given records.
    lost: BTreeMap<Place, u64>,
}

impl Shares {
    pub(super) fn new(is_alone: bool) -> Self {
        Self { is_alone, ..Self::default() }
    }

    /// Whether a member that was given a record then must have it still.
    fn has_still(&self, holder: Taking, now_ms: u64) -> bool {
        self.is_alone && self.disturbed < holder.moment && now_ms + SLACK_MS < holder.ms + LOCK_MS
    }
}

impl History {
    /// Something happens after which a broker may take records from members, or another one may give them out: a process ends or
    /// stands still, a connection breaks, another broker may lead, a disk has stood still for so long that a write is given up.
    pub(crate) fn disturbed(&mut self) {
        self.shares.disturbed = self.moment();
    }

    /// A member was given a record, for the time of that number.
    pub(crate) fn share_taken(&mut self, (place, offset): (Place, i64), count: i16, taking: Taking) {
        self.judge(58);
        if !(1..=DELIVERIES_MAX).contains(&count) {
            self.wrong(58, format!("{offset} of {place:?} was delivered for time {count}"));
        }
        let told = self.moment();
        let before = self.shares.delivered.remove(&(place, offset)).unwrap_or_default();
        self.judge_again((place, offset), count, &before, taking);
        self.known_now(place, offset);
        let lost = self.shares.lost.get(&place).copied().unwrap_or(0);
        let (last, holder) = (Some((taking, told)), Some(taking));
        self.shares.delivered.insert((place, offset), Delivered { count, last, holder, lost, ..before });
    }

    /// A record is given that was given before.
    fn judge_again(&mut self, (place, offset): (Place, i64), count: i16, before: &Delivered, taking: Taking) {
        self.judge(60);
        if before.finished.is_some_and(|finished| finished < taking.moment) {
            let (broker, last) = (taking.broker, before.last);
            let what = format!(
                "{offset} of {place:?}, taken by {last:?}, was finished, and is delivered again by broker {broker}: {taking:?}"
            );
            self.wrong(60, what);
        }
        // An answer may be late, of a time before.
        let Some((last, _)) = before.last.filter(|(_, told)| *told < taking.moment) else { return };
        if !self.shares.is_alone || self.shares.disturbed >= last.moment {
            return;
        }
        self.judge(57);
        let has_still = |holder: &Taking| self.shares.has_still(*holder, self.now_ms);
        if let Some(holder) = before.holder.filter(has_still) {
            self.wrong(57, format!("{offset} of {place:?} is given to {taking:?}, and {holder:?} has it"));
        }
        if count <= before.count {
            let of = before.count;
            self.wrong(
                58,
                format!("{offset} of {place:?} was delivered for time {of}, then for time {count}"),
            );
        }
    }

    /// A member does not have the record any more, or does not know.
    pub(crate) fn share_given_up(&mut self, (place, offset): (Place, i64), member: u32) {
        if let Some(delivered) = self.shares.delivered.get_mut(&(place, offset)) {
            delivered.holder = delivered.holder.filter(|holder| holder.member != member);
        }
    }

    /// What a member was given last may not count: its session is closed, or it was refused what it said of it.
    pub(crate) fn share_uncounted(&mut self, (place, offset): (Place, i64), member: u32) {
        self.share_given_up((place, offset), member);
        if let Some(delivered) = self.shares.delivered.get_mut(&(place, offset)) {
            delivered.count -= 1;
        }
    }

    /// A member that was given a record accepts or rejects it.
    pub(crate) fn share_asked(&mut self, at: (Place, i64)) {
        self.shares.delivered.entry(at).or_default().asked += 1;
    }

    /// That was answered, or its answer is lost.
    pub(crate) fn share_answered(&mut self, at: (Place, i64)) {
        let delivered = self.shares.delivered.entry(at).or_default();
        delivered.asked = delivered.asked.saturating_sub(1);
    }

    /// It was told that a record is accepted or rejected. If it was finished before, that had no effect: what lies before the start of
    /// the group is not looked at, as by Kafka.
    pub(crate) fn share_finished(&mut self, at: (Place, i64)) {
        let moment = self.moment();
        self.shares.delivered.entry(at).or_default().finished.get_or_insert(moment);
        self.acked += 1;
    }

    /// A member that has the record was told that it has not.
    pub(crate) fn share_refused(&mut self, (place, offset): (Place, i64), holder: Taking) {
        self.judge(57);
        if self.shares.has_still(holder, self.now_ms) {
            self.wrong(57, format!("{offset} of {place:?} is refused to {holder:?}, who has it"));
        }
    }

    /// It was told that a record is accepted that the member was never given. Of one that is finished already nobody minds; it may
    /// be, by another member who has not heard the answer.
    pub(crate) fn share_stolen(&mut self, (place, offset): (Place, i64)) {
        self.judge(57);
        let is_asked = self.shares.delivered.get(&(place, offset)).is_some_and(|of| of.asked > 0);
        if !is_asked && self.share_open(place).contains(&offset) {
            self.wrong(57, format!("{offset} of {place:?} was accepted by a member that was not given it"));
        }
    }

    /// Whether an acknowledgement is carried out is not known.
    pub(crate) fn share_unanswered(&mut self, (place, offset): (Place, i64)) {
        self.shares.delivered.entry((place, offset)).or_default().may_be_finished = true;
    }

    /// An answer was lost that may have given records of the partition.
    pub(crate) fn share_lost(&mut self, place: Place) {
        *self.shares.lost.entry(place).or_default() += 1;
    }

    /// The group has come to its end: what it was given of a partition, and all behind that, is finished (L56).
    pub(crate) fn share_ended(&mut self, place: Place) {
        let of_place = self.shares.delivered.range((place, 0)..=(place, i64::MAX));
        let given = of_place.filter(|(_, of)| of.last.is_some()).count();
        (0..given).for_each(|_| self.judge(56));
    }

    /// The records of a partition that the group has not finished, though it should have (L56): from the first one on that it was
    /// given, for it begins with what is written then. Some may have been archived, by as many deliveries as are allowed, of which
    /// the answers were lost.
    pub(crate) fn share_open(&self, place: Place) -> Vec<i64> {
        let lost = self.shares.lost.get(&place).copied().unwrap_or(0);
        let is_open = |offset: &i64| {
            let nothing = Delivered::default();
            let of = self.shares.delivered.get(&(place, *offset)).unwrap_or(&nothing);
            let may_be_archived = of.count.unsigned_abs() as u64 + lost - of.lost >= DELIVERIES_MAX as u64;
            of.finished.is_none() && !of.may_be_finished && !may_be_archived
        };
        // Of others it is only known that somebody tried to accept them.
        let mut of_place = self.shares.delivered.range((place, 0)..=(place, i64::MAX));
        let first = of_place.find(|(_, of)| of.last.is_some());
        let Some((begin, _)) = first else { return Vec::new() };
        let known = self.known.range(*begin..=(place, i64::MAX));
        known.map(|((_, offset), _)| *offset).filter(is_open).collect()
    }
}
