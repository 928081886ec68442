//! What clients have written, and what of it a compacted log must still say. It knows nothing of segments.

use std::collections::{BTreeMap, BTreeSet};

use log_wire::Batch;

/// A record as its producer gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) timestamp_ms: i64,
    /// The producer whose transaction it belongs to.
    pub(crate) transaction: Option<i64>,
}

/// What the header of a batch must still say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) base: i64,
    pub(crate) last: i64,
    pub(crate) producer: (i64, i16, i32),
}

impl Frame {
    pub(crate) fn of(batch: &Batch<'_>) -> Self {
        let producer = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence());
        Self { base: batch.base_offset(), last: batch.last_offset(), producer }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// By offset.
    pub(crate) records: BTreeMap<i64, Written>,
    /// By first offset: batches of records, and control batches.
    pub(crate) frames: BTreeMap<i64, Frame>,
    /// Control batches: the producer, and whether it commits.
    pub(crate) markers: BTreeMap<i64, (i64, bool)>,
    /// When a pass met a record or the end of a transaction first, milliseconds.
    pub(crate) met_ms: BTreeMap<i64, i64>,
}

/// A log as a reader finds it: all records by offset, and the headers.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) records: BTreeMap<i64, Written>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) markers: BTreeSet<i64>,
    /// Where the reader stopped.
    pub(crate) end: i64,
}

impl History {
    /// A crash took what is not below that offset.
    pub(crate) fn cut(&mut self, end: i64) {
        self.records.split_off(&end);
        self.frames.split_off(&end);
        self.markers.split_off(&end);
        self.met_ms.split_off(&end);
    }

    /// Offsets of records whose transactions are not committed: aborted ones, and open ones.
    pub(crate) fn uncommitted(&self) -> (BTreeSet<i64>, BTreeSet<i64>) {
        let (mut aborted, mut open) = (BTreeSet::new(), BTreeMap::<i64, Vec<i64>>::new());
        let mut before = 0;
        for (&end, &(producer, commits)) in &self.markers {
            open_transactions(self.records.range(before..end), &mut open);
            let of = open.remove(&producer).unwrap_or_default();
            aborted.extend(of.into_iter().filter(|_| !commits));
            before = end;
        }
        open_transactions(self.records.range(before..), &mut open);
        (aborted, open.into_values().flatten().collect())
    }

    /// The value of each key that a reader of what is committed comes to.
    fn fold<'h>(
        records: impl Iterator<Item = (&'h i64, &'h Written)>,
        hidden: &BTreeSet<i64>,
    ) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut values = BTreeMap::new();
        for (_, record) in records.filter(|(offset, _)| !hidden.contains(offset)) {
            match &record.value {
                Some(value) => drop(values.insert(record.key.clone(), value.clone())),
                None => drop(values.remove(&record.key)),
            }
        }
        values
    }

    /// A compacted log from `start` on says the same as all that was written.
    pub(crate) fn check(&self, found: &Found, start: i64, stable: i64) {
        let (aborted, open) = self.uncommitted();
        let hidden: BTreeSet<i64> = aborted.union(&open).copied().collect();
        for (offset, record) in &found.records {
            assert_eq!(Some(record), self.records.get(offset), "the record at {offset} is another");
        }
        for frame in &found.frames {
            assert_eq!(Some(frame), self.frames.get(&frame.base), "a batch has changed its place");
        }
        assert!(found.frames.is_sorted_by(|a, b| a.last < b.base), "batches overlap");
        for (offset, record) in self.records.range(stable.max(start)..) {
            assert!(found.records.contains_key(offset), "{record:?} at {offset} is not stable and is gone");
        }
        if start == 0 {
            let all = Self::fold(self.records.iter(), &hidden);
            assert_eq!(Self::fold(found.records.iter(), &hidden), all, "the log says something else");
        }
    }

    /// A reader that began when a record was met first, and reads for less than `retention_ms`, learns that a key is deleted.
    pub(crate) fn check_tombstones(&self, found: &Found, start: i64, now_ms: i64, retention_ms: i64) {
        let (aborted, open) = self.uncommitted();
        let mut newest = BTreeMap::new();
        for (offset, record) in &self.records {
            if !aborted.contains(offset) && !open.contains(offset) {
                newest.insert(&record.key, *offset);
            }
        }
        for offset in newest.into_values().filter(|offset| *offset >= start) {
            let is_gone = self.records[&offset].value.is_none() && !found.records.contains_key(&offset);
            let met = self.met_ms.get(&offset).copied();
            assert!(
                !is_gone || met.is_some_and(|met| met + retention_ms <= now_ms),
                "the tombstone at {offset}, met at {met:?}, is gone at {now_ms}"
            );
        }
    }

    /// The end of a transaction is left for as long after a pass has met it.
    pub(crate) fn check_ends_stay(&self, found: &Found, start: i64, now_ms: i64, retention_ms: i64) {
        for end in self.markers.range(start..found.end).map(|(offset, _)| *offset) {
            let is_gone = !found.markers.contains(&end);
            let met = self.met_ms.get(&end).copied();
            let may_go = met.is_some_and(|met| met + retention_ms <= now_ms);
            assert!(!is_gone || may_go, "the end at {end}, met at {met:?}, is gone at {now_ms}");
            let producer = self.markers[&end].0;
            let before = self.markers.range(..end).rfind(|(_, (id, _))| *id == producer);
            let mut own = found.records.range(before.map_or(0, |(offset, _)| *offset)..end);
            let is_left = own.any(|(_, record)| record.transaction == Some(producer));
            assert!(
                !is_gone || !is_left,
                "the end at {end} is gone, and records of its transaction are left"
            );
        }
    }

    /// Below an offset each key occurs once, and nothing aborted is left.
    pub(crate) fn check_is_compact(&self, found: &Found, below: i64) {
        let (aborted, _) = self.uncommitted();
        let mut keys = BTreeSet::new();
        for (offset, record) in found.records.range(..below) {
            assert!(keys.insert(&record.key), "key {:?} occurs again at {offset} of {below}", record.key);
            assert!(!aborted.contains(offset), "the record at {offset} was aborted");
        }
    }

    /// Below an offset the end of a transaction is left only with a batch of that transaction.
    pub(crate) fn check_ends(&self, found: &Found, below: i64) {
        for end in found.markers.range(..below) {
            let producer = self.markers[end].0;
            let before = self.markers.range(..end).rfind(|(_, (id, _))| *id == producer);
            let before = before.map_or(-1, |(offset, _)| *offset);
            let is_own =
                |frame: &Frame| frame.producer.0 == producer && (before + 1..*end).contains(&frame.base);
            assert!(found.frames.iter().any(is_own), "the end at {end} is alone");
        }
    }
}

/// Adds the records that belong to transactions to those of their producers.
fn open_transactions<'h>(
    records: impl Iterator<Item = (&'h i64, &'h Written)>,
    open: &mut BTreeMap<i64, Vec<i64>>,
) {
    for (offset, record) in records {
        if let Some(producer) = record.transaction {
            open.entry(producer).or_default().push(*offset);
        }
    }
}
