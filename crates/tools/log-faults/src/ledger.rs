//! What writers have asked for and were told, and what a partition must hold then.

use std::collections::BTreeMap;
use std::fmt;

/// One writer's records in one partition are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) writer: usize,
    pub(crate) partition: i32,
}

/// A record: its series, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) series: Series,
    pub(crate) number: u64,
}

/// How far a series has come: what was sent, and what of that was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(BTreeMap<Series, Progress>);

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { series: Series { writer, partition }, number } = self;
        write!(f, "{writer} {partition} {number}")
    }
}

impl Entry {
    /// The entry that a record holds; nothing if it is none of ours.
    pub(crate) fn read(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        let mut words = text.split(' ');
        let mut word = || words.next();
        let (writer, partition) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let number = word()?.parse().ok()?;
        Some(Self { series: Series { writer, partition }, number })
    }
}

impl Ledger {
    /// The next record of a series, which is about to be sent.
    pub(crate) fn next(&mut self, series: Series) -> Entry {
        let progress = self.0.entry(series).or_default();
        progress.sent += 1;
        Entry { series, number: progress.sent }
    }

    /// Everything that was sent is acknowledged.
    pub(crate) fn acknowledged(&mut self) {
        self.0.values_mut().for_each(|progress| progress.acknowledged = progress.sent);
    }

    /// Takes over the series of another.
    pub(crate) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many records were acknowledged.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(|progress| progress.acknowledged).sum()
    }

    /// What does not hold of these partitions, each of which is given with its records in their order.
    pub(crate) fn judge(&self, partitions: &BTreeMap<i32, BTreeMap<i64, Entry>>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut found = BTreeMap::<Series, u64>::new();
        for (partition, records) in partitions {
            for (offset, entry) in records {
                let last = found.entry(entry.series).or_default();
                if entry.series.partition != *partition || entry.number != *last + 1 {
                    wrong.push(format!(
                        "offset {offset} of {partition} holds `{entry}`, behind number {last}"
                    ));
                }
                *last = entry.number;
            }
        }
        for (series, progress) in &self.0 {
            let last = found.remove(series).unwrap_or(0);
            if last < progress.acknowledged || last > progress.sent {
                wrong.push(format!("{series:?} ends with {last}: {progress:?}"));
            }
        }
        wrong.extend(found.into_keys().map(|series| format!("nobody has written {series:?}")));
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: Series = Series { writer: 3, partition: 1 };

    fn ledger(acknowledged: u64, sent: u64) -> Ledger {
        Ledger(BTreeMap::from([(SERIES, Progress { sent, acknowledged })]))
    }

    fn judged(ledger: &Ledger, numbers: &[u64]) -> usize {
        let records = (0..).zip(numbers).map(|(at, number)| (at, Entry { series: SERIES, number: *number }));
        ledger.judge(&BTreeMap::from([(1, records.collect())])).len()
    }

    #[test]
    fn record_is_read_as_it_was_written() {
        let entry = Entry { series: SERIES, number: 70 };
        assert_eq!(Entry::read(entry.to_string().as_bytes()), Some(entry));
        assert_eq!([&b"1 2"[..], b"x 1 2", b"\xff"].map(Entry::read), [None; 3]);
    }

    #[test]
    fn what_was_acknowledged_is_there_once_and_in_order_and_no_more_than_was_sent() {
        assert_eq!(judged(&ledger(2, 3), &[1, 2]), 0);
        assert_eq!(judged(&ledger(2, 3), &[1, 2, 3]), 0);
        assert_eq!(judged(&ledger(2, 3), &[1]), 1, "lost");
        assert_eq!(judged(&ledger(2, 3), &[1, 2, 2]), 1, "twice");
        assert_eq!(judged(&ledger(2, 3), &[2, 1]), 3, "in another order, and the last lost");
        assert_eq!(judged(&ledger(2, 3), &[1, 2, 3, 4]), 1, "never sent");
        assert_eq!(judged(&Ledger::default(), &[1]), 1, "nobody's");
        let elsewhere = BTreeMap::from([(0, BTreeMap::from([(0, Entry { series: SERIES, number: 1 })]))]);
        assert_eq!(ledger(1, 1).judge(&elsewhere).len(), 1, "in another partition");
    }
}
