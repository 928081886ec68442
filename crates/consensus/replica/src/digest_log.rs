//! What the state's digest was at every 128th transaction: two members, or a server and its copy, can be compared at a
//! transaction that both have passed. Memory only: a restart begins anew.

use std::collections::VecDeque;

/// How far apart the transactions are whose digests are kept.
const INTERVAL: i64 = 128;
/// How many are kept.
const KEPT_MAX: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct DigestLog {
    kept: VecDeque<(i64, u64)>,
}

impl DigestLog {
    /// A command was applied that is a transaction of this number. One that is none is not told of, so
    /// that a digest belongs to the moment right behind its own transaction.
    pub(crate) fn applied(&mut self, position: i64, digest: impl FnOnce() -> u64) {
        if position == 0
            || position % INTERVAL != 0
            || self.kept.back().is_some_and(|(last, _)| *last == position)
        {
            return;
        }
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((position, digest()));
    }

    /// The roundest behind that transaction, the later one of two. Members that look at different times find the same one more
    /// often than the same latest one.
    pub(crate) fn roundest_behind(&self, position: i64) -> Option<(i64, u64)> {
        let behind = self.kept.iter().rev().take_while(|(kept, _)| *kept > position);
        behind.max_by_key(|(kept, _)| (kept.trailing_zeros(), *kept)).copied()
    }

    /// The digest right behind that transaction, if it is kept.
    pub(crate) fn at(&self, position: i64) -> Option<u64> {
        let place = self.kept.binary_search_by_key(&position, |(kept, _)| *kept).ok()?;
        self.kept.get(place).map(|(_, digest)| *digest)
    }

    /// All that are kept, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, u64)> {
        self.kept.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_128th_transaction_is_kept_once_and_the_oldest_make_room() {
        let mut log = DigestLog::default();
        for position in 1..=(INTERVAL * (KEPT_MAX as i64 + 2)) {
            log.applied(position, || position as u64);
            log.applied(position, || 0);
        }
        let kept: Vec<_> = log.iter().collect();
        assert_eq!(kept.len(), KEPT_MAX);
        assert_eq!(kept.first(), Some(&(3 * INTERVAL, 3 * INTERVAL as u64)));
    }

    #[test]
    fn members_that_look_at_different_times_find_the_same_digest() {
        let mut log = DigestLog::default();
        let applied = |log: &mut DigestLog, until: i64| {
            let next = log.iter().last().map_or(1, |(position, _)| position / INTERVAL + 1);
            (next..=until).for_each(|count| log.applied(count * INTERVAL, || count as u64));
        };
        applied(&mut log, 6);
        assert_eq!(log.roundest_behind(0), Some((4 * INTERVAL, 4)));
        assert_eq!(log.roundest_behind(4 * INTERVAL), Some((6 * INTERVAL, 6)));
        assert_eq!(log.roundest_behind(6 * INTERVAL), None);
        applied(&mut log, 11);
        assert_eq!(log.roundest_behind(6 * INTERVAL), Some((8 * INTERVAL, 8)));
        assert_eq!(log.roundest_behind(3 * INTERVAL), Some((8 * INTERVAL, 8)), "for one that looked before");
    }
}
