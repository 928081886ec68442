//! A consumer of some partitions, from given offsets on. What transactions have not committed it does not see.
//!
//! # The nearest replica
//! A consumer that says in which rack it stands is sent to a replica there by the leader. It reads that one as long as it has
//! records. Then, or if it fails, the leader is asked again: it alone knows where a partition ends, and sends the consumer elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use log_wire::messages::data::{
    AbortedTransaction, FetchBody, FetchBodyPartition, FetchBodyTopic, FetchResponsePartition,
};
use log_wire::{Batch, ErrorCode};

use crate::cluster::Cluster;
use crate::error::{Error, Result, is_retriable};
use crate::record::{ConsumedRecord, read_batches};
use crate::topics::{End, TopicPartition};

const FETCH_BYTES: i32 = 8 << 20;
const PARTITION_BYTES: i32 = 1 << 20;
const READ_COMMITTED: i8 = 1;

/// See the module.
#[derive(Debug)]
pub struct Consumer {
    cluster: Cluster,
    positions: BTreeMap<TopicPartition, i64>,
    /// Where each ended when it was looked at last.
    ends: BTreeMap<TopicPartition, i64>,
    rack: String,
    /// The replicas to which leaders have sent it.
    nearest: BTreeMap<TopicPartition, i32>,
}

impl Consumer {
    /// Of these partitions.
    #[must_use]
    pub const fn new(cluster: Cluster, positions: BTreeMap<TopicPartition, i64>) -> Self {
        Self { cluster, positions, ends: BTreeMap::new(), rack: String::new(), nearest: BTreeMap::new() }
    }

    /// It stands in this rack, and reads replicas there if the brokers have it so (`replica.selector.class`).
    #[must_use]
    pub fn in_rack(self, rack: &str) -> Self {
        Self { rack: rack.to_owned(), ..self }
    }

    /// What it is to read from now on.
    pub fn assign(&mut self, positions: BTreeMap<TopicPartition, i64>) {
        self.positions = positions;
        self.ends.clear();
        self.nearest.clear();
    }

    /// The next offset of each partition.
    #[must_use]
    pub const fn positions(&self) -> &BTreeMap<TopicPartition, i64> {
        &self.positions
    }

    /// Whether it has read each partition up to this offset, or as far as records are committed.
    #[must_use]
    pub fn has_reached(&self, until: &BTreeMap<TopicPartition, i64>) -> bool {
        self.positions.iter().all(|(partition, next)| {
            let reached =
                |ends: &BTreeMap<TopicPartition, i64>| ends.get(partition).is_some_and(|end| next >= end);
            reached(until) || reached(&self.ends)
        })
    }

    /// The brokers.
    pub const fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// Records that there are, or that come within `wait`.
    ///
    /// # Errors
    /// A broker refuses. A leader that has moved is looked for, and nothing is given meanwhile. If other brokers have given records,
    /// these are given, and the error comes with the next call.
    pub fn poll(&mut self, wait: Duration) -> Result<Vec<ConsumedRecord>> {
        let mut records = Vec::new();
        match self.poll_all(wait, &mut records) {
            Err(error) if records.is_empty() => Err(error),
            _ => Ok(records),
        }
    }

    fn poll_all(&mut self, wait: Duration, records: &mut Vec<ConsumedRecord>) -> Result<()> {
        let mut by_broker = BTreeMap::<i32, Vec<TopicPartition>>::new();
        for place @ (topic, partition) in self.positions.keys() {
            let nearest = self.nearest.get(place).copied();
            if let Some(broker) = nearest.or_else(|| self.cluster.leader(topic, *partition)) {
                by_broker.entry(broker).or_default().push(place.clone());
            }
        }
        if by_broker.values().map(Vec::len).sum::<usize>() < self.positions.len() {
            self.look_for_leaders()?;
        }
        let count = u32::try_from(by_broker.len().max(1)).unwrap_or(1);
        for (broker, partitions) in by_broker {
            let request = self.request(&partitions, wait / count);
            let Some((topic, partition)) = partitions.first() else { continue };
            match self.cluster.call_leader(broker, (topic, *partition), &request) {
                Ok(answer) => {
                    for topic in answer.responses {
                        for partition in topic.partitions {
                            self.take(&topic.topic, partition, records)?;
                        }
                    }
                }
                Err(error) if error.is_retriable() => {
                    self.nearest.retain(|place, _| !partitions.contains(place));
                    self.look_for_leaders()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn look_for_leaders(&mut self) -> Result<()> {
        let topics: BTreeSet<String> = self.positions.keys().map(|(topic, _)| topic.clone()).collect();
        self.cluster.look(Some(&topics.into_iter().collect::<Vec<_>>()), false).map(drop)
    }

    fn request(&self, partitions: &[TopicPartition], wait: Duration) -> FetchBody {
        let mut topics = BTreeMap::<&str, Vec<FetchBodyPartition>>::new();
        for (topic, partition) in partitions {
            let fetch_offset = self.positions.get(&(topic.clone(), *partition)).copied().unwrap_or(0);
            let wanted = FetchBodyPartition {
                partition: *partition,
                fetch_offset,
                partition_max_bytes: PARTITION_BYTES,
                ..FetchBodyPartition::default()
            };
            topics.entry(topic).or_default().push(wanted);
        }
        let topics = topics.into_iter().map(|(topic, partitions)| FetchBodyTopic {
            topic: topic.into(),
            partitions,
            ..FetchBodyTopic::default()
        });
        FetchBody {
            max_wait_ms: i32::try_from(wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: 1,
            max_bytes: FETCH_BYTES,
            isolation_level: READ_COMMITTED,
            topics: topics.collect(),
            rack_id: self.rack.clone(),
            ..FetchBody::default()
        }
    }

    fn take(
        &mut self,
        topic: &str,
        answer: FetchResponsePartition,
        out: &mut Vec<ConsumedRecord>,
    ) -> Result<()> {
        let place = (topic.to_owned(), answer.partition_index);
        let Some(next) = self.positions.get(&place).copied() else { return Ok(()) };
        let is_leaders = !self.nearest.contains_key(&place);
        if answer.error_code != 0 || answer.records.0.is_empty() {
            self.nearest.remove(&place);
        }
        match answer.error_code {
            0 => {}
            code if code == ErrorCode::OffsetOutOfRange.code() && is_leaders => {
                return self.begin_anew(&place);
            }
            // A replica that lags behind its leader.
            code if code == ErrorCode::OffsetOutOfRange.code() => return Ok(()),
            code if is_retriable(code) => return self.look_for_leaders(),
            code => return Err(Error::refused(format!("partition {} of `{topic}`", place.1), code)),
        }
        if is_leaders {
            self.ends.insert(place.clone(), answer.last_stable_offset.max(answer.log_start_offset));
        }
        if answer.preferred_read_replica >= 0 {
            self.nearest.insert(place, answer.preferred_read_replica);
            return Ok(());
        }
        let committed = without_aborted(&answer.records.0, answer.aborted_transactions.unwrap_or_default());
        let mut end = None;
        for batches in committed {
            end = read_batches((topic, place.1), batches, next, out)?.or(end);
        }
        let behind = last_offset(&answer.records.0).map(|last| last + 1).or(end);
        self.positions.insert(place, behind.unwrap_or(next).max(next));
        Ok(())
    }

    /// What was to be read is gone: the partition begins later.
    fn begin_anew(&mut self, place: &TopicPartition) -> Result<()> {
        let (topic, partition) = place;
        let begins = self.cluster.offsets(topic, &[*partition], End::Earliest)?;
        if let Some(begin) = begins.get(partition) {
            self.positions.insert(place.clone(), *begin);
        }
        Ok(())
    }
}

fn last_offset(mut bytes: &[u8]) -> Option<i64> {
    let mut last = None;
    while let Ok((batch, rest)) = Batch::read(bytes) {
        (bytes, last) = (rest, Some(batch.last_offset()));
    }
    last
}

/// The batches that are not of aborted transactions, one by one. A producer's batches are dropped from the first offset of an
/// aborted transaction until its marker.
fn without_aborted(mut bytes: &[u8], mut aborted: Vec<AbortedTransaction>) -> Vec<&[u8]> {
    aborted.sort_by_key(|transaction| transaction.first_offset);
    let mut waiting = aborted.into_iter().peekable();
    let mut dropped = BTreeSet::new();
    let mut kept = Vec::new();
    while let Ok((batch, rest)) = Batch::read(bytes) {
        bytes = rest;
        while let Some(begun) = waiting.next_if(|next| next.first_offset <= batch.last_offset()) {
            dropped.insert(begun.producer_id);
        }
        let attributes = batch.attributes();
        if attributes.is_control() {
            dropped.remove(&batch.producer_id());
        } else if !attributes.is_transactional() || !dropped.contains(&batch.producer_id()) {
            kept.push(batch.bytes());
        }
    }
    kept
}
