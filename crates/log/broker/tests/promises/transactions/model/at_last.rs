//! What holds once all faults have ended and everything is decided.

use std::collections::BTreeMap;

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::{DescribeProducersRequest, ListTransactionsRequest, TopicName};
use log_wire::Batch;

use super::super::requests::{self, OFFSET_FETCH, Seen, TOPIC};
use super::world::World;
use super::{IDS, PARTITIONS};
use crate::bench::text;

/// A batch of the log, or a marker.
#[derive(Debug)]
struct Entry {
    offset: i64,
    id: i64,
    epoch: i16,
    /// What a marker says of records that stand before it under an older epoch.
    decides_older: Option<bool>,
    is_marker: bool,
}

impl World {
    fn read_all(&mut self, partition: i32, committed: bool) -> Vec<Seen> {
        let (mut from, mut all) = (0, Vec::new());
        loop {
            let (records, next) = requests::seen(&self.fetch(partition, from, committed), from);
            all.extend(records);
            if next == from {
                return all;
            }
            from = next;
        }
    }

    /// Everything is decided.
    pub(crate) fn check(&mut self) {
        self.read();
        let logs: Vec<_> = (0..PARTITIONS).map(|partition| self.read_all(partition, false)).collect();
        let committed: Vec<_> = (0..PARTITIONS).map(|partition| self.read_all(partition, true)).collect();
        let offsets: Vec<i64> = (0..IDS).map(|id| self.offset_at_last(id)).collect();
        self.oracle.check(&logs, &committed, &offsets);
        self.check_nothing_hangs();
        self.check_fences();
    }

    fn offset_at_last(&mut self, id: usize) -> i64 {
        let known = self.oracle.offset_known.get(&id).copied().unwrap_or(0);
        let answer = self.bench.call(OFFSET_FETCH, &requests::fetch_offset(id as i32));
        let (group, error, offset) = requests::offset_of(&answer);
        assert_eq!((group, error), (0, 0), "an offset is undecided for ever (L44)");
        self.oracle.reads_offset(id, known, offset);
        offset
    }

    fn check_nothing_hangs(&mut self) {
        for partition in 0..PARTITIONS {
            let answer = self.fetch(partition, 0, true);
            let of = &answer.responses[0].partitions[0];
            assert_eq!(of.last_stable_offset, of.high_watermark, "a transaction hangs (L44)");
            let topic = TopicRequest::default()
                .with_name(TopicName(text(TOPIC)))
                .with_partition_indexes(vec![partition]);
            let request = DescribeProducersRequest::default().with_topics(vec![topic]);
            let answer = self.bench.call(0, &request);
            let producers = &answer.topics[0].partitions[0].active_producers;
            assert!(producers.iter().all(|producer| producer.current_txn_start_offset == -1));
        }
        let listed = self.bench.call(2, &ListTransactionsRequest::default());
        for state in &listed.transaction_states {
            let is_over = ["Empty", "CompleteCommit", "CompleteAbort"].contains(&&*state.transaction_state);
            assert!(is_over, "{state:?} (L44)");
        }
    }

    /// What a producer wrote under an older epoch than one that was given away stood in the log before that (L42), and all markers
    /// of a transaction say the same (L40).
    fn check_fences(&mut self) {
        let mut decisions = BTreeMap::<(i64, i16), bool>::new();
        for partition in 0..PARTITIONS {
            for batch in self.entries(partition) {
                let too_late = self.fences.iter().find(|(id, epoch, ends)| {
                    batch.id == *id && batch.epoch < *epoch && batch.offset >= ends[partition as usize]
                });
                assert!(too_late.is_none() || batch.is_marker, "{batch:?} came behind {too_late:?} (L42)");
                if let Some(commit) = batch.decides_older {
                    let before = *decisions.entry((batch.id, batch.epoch)).or_insert(commit);
                    assert_eq!(before, commit, "a transaction ends in two ways (L40): {batch:?}");
                }
            }
        }
    }

    fn entries(&mut self, partition: i32) -> Vec<Entry> {
        let (mut from, mut entries, mut open) = (0, Vec::new(), BTreeMap::new());
        loop {
            let answer = self.fetch(partition, from, false);
            let bytes = answer.responses[0].partitions[0].records.clone().unwrap_or_default();
            let (mut rest, before): (&[u8], i64) = (&bytes, from);
            while !rest.is_empty() {
                let (batch, behind) = Batch::read(rest).expect("batches are whole");
                entries.push(entry(&batch, &mut open));
                (rest, from) = (behind, batch.last_offset() + 1);
            }
            if from == before {
                return entries;
            }
        }
    }
}

/// `open` has the epoch of what is open of each producer.
fn entry(batch: &Batch<'_>, open: &mut BTreeMap<i64, i16>) -> Entry {
    let (id, epoch, is_marker) =
        (batch.producer_id(), batch.producer_epoch(), batch.attributes().is_control());
    let mut decides_older = None;
    if is_marker {
        let older = open.remove(&id).is_some_and(|of| of < epoch);
        decides_older = older.then(|| !requests::is_abort(batch));
    } else {
        open.insert(id, epoch);
    }
    Entry { offset: batch.base_offset(), id, epoch, decides_older, is_marker }
}
