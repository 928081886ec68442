//! Numbers of requests in ranges, few of them: what a session's client has acknowledged above its floor.

use crate::codec::{Cursor, Field, Malformed, put_varint};

/// Ranges that one session's client may have acknowledged above the floor, and that one request may name. A session has no
/// more than 64 requests under way, and so many gaps at the most.
pub const RANGES_MAX: usize = 64;

/// See the module. In order, and apart: between two of them at least one number is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// No numbers.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is one of the numbers.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let place = self.0.partition_point(|(first, _)| *first <= number);
        place.checked_sub(1).and_then(|place| self.0.get(place)).is_some_and(|(_, last)| *last >= number)
    }

    /// The ranges, each with its first and its last number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds the numbers from `first` to `last`, if there is room for them. Nothing changes if there is none, or if they are
    /// no numbers of requests.
    pub fn insert(&mut self, first: u64, last: u64) -> bool {
        if first == 0 || first > last {
            return false;
        }
        let from = self.0.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = self.0.partition_point(|(start, _)| *start <= last.saturating_add(1));
        if from == to && self.0.len() >= RANGES_MAX {
            return false;
        }
        let joined = self.0.get(from..to).unwrap_or_default();
        let first = joined.first().map_or(first, |(start, _)| first.min(*start));
        let last = joined.last().map_or(last, |(_, end)| last.max(*end));
        self.0.splice(from..to, [(first, last)]);
        true
    }

    /// The floor is this one at the least: it rises through what is above it without a gap, and that is no range any more.
    pub(crate) fn raise(&mut self, floor: u64) -> u64 {
        let mut raised = floor;
        self.0.retain_mut(|(first, last)| {
            if *first <= raised.saturating_add(1) {
                raised = raised.max(*last);
                return false;
            }
            true
        });
        raised
    }
}

/// Nothing at all if there are no numbers: the last field of its record, or one that is never empty. Records without it are
/// those of builds that did not know it.
impl Field for Ranges {
    fn put(&self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        put_varint(out, self.0.len() as u64);
        let mut before = 0;
        for (first, last) in &self.0 {
            put_varint(out, first - before);
            put_varint(out, last - first);
            before = *last;
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        if cursor.rest().is_empty() {
            return Ok(Self::new());
        }
        let count = cursor.varint()?;
        if !(1..=RANGES_MAX as u64).contains(&count) {
            return Err(Malformed("ranges: none, or too many"));
        }
        let mut ranges = Vec::new();
        let mut before = 0_u64;
        for place in 0..count {
            let (gap, length) = (cursor.varint()?, cursor.varint()?);
            // Ranges that touch are one: otherwise two texts of one record would have two digests.
            let is_apart = gap > u64::from(place > 0);
            let first = before.checked_add(gap).filter(|_| is_apart);
            let last = first.and_then(|first| first.checked_add(length));
            let (Some(first), Some(last)) = (first, last) else {
                return Err(Malformed("ranges: not in order, or not apart"));
            };
            ranges.push((first, last));
            before = last;
        }
        Ok(Self(ranges))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::codec::{decoded, encoded};

    fn of(ranges: &[(u64, u64)]) -> Ranges {
        let mut made = Ranges::new();
        ranges.iter().for_each(|(first, last)| assert!(made.insert(*first, *last)));
        made
    }

    #[test]
    fn ranges_are_the_numbers_that_were_added() {
        let mut random = base::Random::new(3);
        for _ in 0..300 {
            let (mut ranges, mut numbers) = (Ranges::new(), BTreeSet::new());
            for _ in 0..random.below(12) {
                let first = 1 + random.below(60);
                let last = first + random.below(6);
                assert!(ranges.insert(first, last));
                numbers.extend(first..=last);
            }
            let floor = random.below(70);
            (0..80).for_each(|number| assert_eq!(ranges.contains(number), numbers.contains(&number)));
            assert!(ranges.0.windows(2).all(|two| two[0].1 + 1 < two[1].0), "{ranges:?}");
            assert_eq!(decoded(&encoded(&ranges)), Ok(ranges.clone()));
            let raised = ranges.raise(floor);
            let due = (floor..).find(|number| !numbers.contains(&(number + 1))).expect("one");
            assert_eq!(raised, due, "{numbers:?} {floor}");
            (raised + 1..80)
                .for_each(|number| assert_eq!(ranges.contains(number), numbers.contains(&number)));
            assert!(ranges.iter().all(|(first, _)| first > raised + 1));
        }
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut ranges = Ranges::new();
        assert!((1..=RANGES_MAX as u64).all(|place| ranges.insert(2 * place, 2 * place)));
        let full = ranges.clone();
        for (first, last) in [(1_000, 1_001), (0, 3), (7, 6)] {
            assert!(!ranges.insert(first, last));
        }
        assert_eq!(ranges, full);
        assert!(ranges.insert(1, u64::MAX), "one is left");
        assert_eq!((ranges.raise(0), ranges.is_empty()), (u64::MAX, true));
    }

    #[test]
    fn ranges_have_one_form() {
        let bytes = encoded(&of(&[(3, 5), (9, u64::MAX)]));
        assert_eq!(decoded(&bytes), Ok(of(&[(9, u64::MAX), (3, 5)])));
        for malformed in [&[0][..], &[1, 0, 4], &[2, 3, 2, 1, 0], &[2, 3, 2, 0, 0], &[65], &[1, 3]] {
            assert!(decoded::<Ranges>(malformed).is_err(), "{malformed:?}");
        }
        let mut beyond = vec![2, 9, 0];
        put_varint(&mut beyond, u64::MAX);
        beyond.push(0);
        assert!(decoded::<Ranges>(&beyond).is_err());
    }
}
