//! Ranges of offsets that have a value each: neighbours with equal values are one range.
//!
//! Invariant: ranges do not overlap, and none is empty.

use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs<T> {
    /// By the first offset of each: the last one, and the value.
    by_first: BTreeMap<i64, (i64, T)>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self { by_first: BTreeMap::new() }
    }
}

impl<T: Clone + PartialEq> Runs<T> {
    /// All offsets from `first` to `last` have this value from now on.
    pub(crate) fn set(&mut self, first: i64, last: i64, value: T) {
        self.clear(first, last);
        let (mut first, mut last) = (first, last);
        if let Some((before, (end, same))) = self.by_first.range(..first).next_back()
            && end.checked_add(1) == Some(first)
            && *same == value
        {
            first = *before;
        }
        let behind = last.checked_add(1).and_then(|next| self.by_first.get(&next).map(|run| (next, run)));
        if let Some((next, (end, same))) = behind
            && *same == value
        {
            last = *end;
            self.by_first.remove(&next);
        }
        self.by_first.insert(first, (last, value));
    }

    /// These offsets have no value any more.
    pub(crate) fn clear(&mut self, first: i64, last: i64) {
        self.split(first);
        if let Some(next) = last.checked_add(1) {
            self.split(next);
        }
        let gone: Vec<i64> = self.by_first.range(first..=last).map(|(first, _)| *first).collect();
        for first in gone {
            self.by_first.remove(&first);
        }
    }

    /// Offsets below this one have no value any more.
    pub(crate) fn clear_below(&mut self, start: i64) {
        self.split(start);
        self.by_first = self.by_first.split_off(&start);
    }

    /// All ranges: first and last offset, and value.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, i64, &T)> {
        self.by_first.iter().map(|(first, (last, value))| (*first, *last, value))
    }

    /// The ranges that have offsets between these, cut to them.
    pub(crate) fn within(&self, first: i64, last: i64) -> Vec<(i64, i64, T)> {
        let before = self.by_first.range(..first).next_back();
        let inside = self.by_first.range(first..=last.max(first));
        let all = before.into_iter().chain(inside);
        let cut = all.map(|(from, (to, value))| ((*from).max(first), (*to).min(last), value.clone()));
        cut.filter(|(from, to, _)| from <= to).collect()
    }

    /// The range that holds an offset ends before it, and another one begins there.
    fn split(&mut self, at: i64) {
        let Some((_, (last, value))) = self.by_first.range_mut(..at).next_back() else { return };
        if *last >= at {
            let rest = (*last, value.clone());
            *last = at - 1;
            self.by_first.insert(at, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(runs: &Runs<char>) -> Vec<(i64, i64, char)> {
        runs.iter().map(|(first, last, value)| (first, last, *value)).collect()
    }

    #[test]
    fn ranges_are_split_and_joined() {
        let mut runs = Runs::default();
        runs.set(0, 9, 'a');
        runs.set(3, 5, 'b');
        assert_eq!(shown(&runs), [(0, 2, 'a'), (3, 5, 'b'), (6, 9, 'a')]);
        runs.set(3, 5, 'a');
        assert_eq!(shown(&runs), [(0, 9, 'a')]);
        runs.clear_below(4);
        assert_eq!(shown(&runs), [(4, 9, 'a')]);
        assert_eq!(runs.within(0, 5), [(4, 5, 'a')]);
        runs.clear(5, 6);
        assert_eq!(shown(&runs), [(4, 4, 'a'), (7, 9, 'a')]);
    }
}
