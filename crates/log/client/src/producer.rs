//! A producer: records gather in a batch for each partition, and are sent when a batch is full or when [`Producer::flush`] is
//! called. It is idempotent: what it sends again after a failure is in the log once. A leader that is silent for two seconds does
//! not hold it up if another one leads by then.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use log_wire::messages::Blob;
use log_wire::messages::data::{ProduceBody, ProduceBodyPartition, ProduceBodyTopic};
use log_wire::messages::transactions::InitProducerIdRequest;
use log_wire::{Attributes, BatchBuilder, Header, Producer as ProducerIds};

use crate::cluster::Cluster;
use crate::error::{Error, Result, is_retriable};
use crate::partitioner::partition_of;

/// A batch of this many bytes is sent.
const BATCH_BYTES: usize = 256 << 10;
/// How long a batch is sent again and again.
const PATIENCE: Duration = Duration::from_secs(120);
const REST: Duration = Duration::from_millis(50);
const TIMEOUT_MS: i32 = 30_000;

/// A record to be sent.
#[derive(Clone, Debug, Default)]
pub struct NewRecord {
    /// The partition; the one of the key if there is none here.
    pub partition: Option<i32>,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value; nothing for a tombstone.
    pub value: Option<Vec<u8>>,
    /// The headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

struct Open {
    batch: BatchBuilder,
    records: i32,
}

/// See the module.
pub struct Producer {
    cluster: Cluster,
    topic: String,
    partitions: i32,
    /// Where the next record without a key goes.
    next: i32,
    ids: (i64, i16),
    sequences: BTreeMap<i32, i32>,
    open: BTreeMap<i32, Open>,
    sent: u64,
}

impl Producer {
    /// Of a topic, which is made if it is not there and the brokers allow it.
    ///
    /// # Errors
    /// There is no such topic, or no broker answers.
    pub fn new(mut cluster: Cluster, topic: &str) -> Result<Self> {
        let found = cluster.topic(topic, true)?;
        let ids = producer_id(&mut cluster)?;
        let partitions = i32::try_from(found.partitions.len()).unwrap_or(i32::MAX);
        let (sequences, open) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { cluster, topic: topic.into(), partitions, next: 0, ids, sequences, open, sent: 0 })
    }

    /// How many records were acknowledged.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.sent
    }

    /// Adds a record. Full batches are sent, and acknowledged, before this returns.
    ///
    /// # Errors
    /// The brokers refuse a batch: it, and what follows, is not sent.
    pub fn send(&mut self, record: &NewRecord) -> Result<()> {
        let partition = match (record.partition, &record.key) {
            (Some(partition), _) => partition,
            (None, Some(key)) => partition_of(key, self.partitions),
            (None, None) => self.next,
        };
        let first = *self.sequences.entry(partition).or_default();
        let (id, epoch) = self.ids;
        let open = self.open.entry(partition).or_insert_with(|| Open {
            batch: BatchBuilder::new(Attributes(0), ProducerIds { id, epoch, base_sequence: first }),
            records: 0,
        });
        let headers: Vec<Header<'_>> = record
            .headers
            .iter()
            .map(|(name, value)| Header { key: name.as_bytes(), value: Some(value) })
            .collect();
        open.batch.push(now_ms(), record.key.as_deref(), record.value.as_deref(), &headers);
        open.records += 1;
        if open.batch.len() >= BATCH_BYTES {
            self.flush_partition(partition)?;
            if record.key.is_none() {
                self.next = (self.next + 1) % self.partitions.max(1);
            }
        }
        Ok(())
    }

    /// Sends everything, and waits until it is acknowledged.
    ///
    /// # Errors
    /// The brokers refuse a batch.
    pub fn flush(&mut self) -> Result<()> {
        while let Some(partition) = self.open.keys().next().copied() {
            self.flush_partition(partition)?;
        }
        self.next = (self.next + 1) % self.partitions.max(1);
        Ok(())
    }

    fn flush_partition(&mut self, partition: i32) -> Result<()> {
        let Some(Open { batch, records }) = self.open.remove(&partition) else { return Ok(()) };
        let data = ProduceBodyPartition { index: partition, records: Blob(batch.finish()) };
        let topic =
            ProduceBodyTopic { name: self.topic.clone(), partition_data: vec![data], ..Default::default() };
        let request = ProduceBody {
            acks: -1,
            timeout_ms: TIMEOUT_MS,
            topic_data: vec![topic],
            ..ProduceBody::default()
        };
        let began = Instant::now();
        loop {
            match self.try_send(partition, &request) {
                Ok(()) => break,
                Err(error) if error.is_retriable() && began.elapsed() < PATIENCE => {
                    thread::sleep(REST);
                    // Whoever leads it by now.
                    let _ = self.cluster.look(Some(std::slice::from_ref(&self.topic)), false);
                }
                Err(error) => return Err(error),
            }
        }
        let sequence = self.sequences.entry(partition).or_default();
        *sequence = sequence.checked_add(records).unwrap_or(0);
        self.sent += u64::from(records.unsigned_abs());
        Ok(())
    }

    fn try_send(&mut self, partition: i32, request: &ProduceBody) -> Result<()> {
        const LEADER_NOT_AVAILABLE: i16 = 5;
        let what = || format!("partition {partition} of `{}`", self.topic);
        let leader = self.cluster.leader(&self.topic, partition);
        let leader = leader.ok_or_else(|| Error::refused(what(), LEADER_NOT_AVAILABLE))?;
        let answer = self.cluster.call_leader(leader, (&self.topic, partition), request)?;
        let partition = answer.responses.into_iter().flat_map(|topic| topic.partition_responses).next();
        let partition = partition.unwrap_or_default();
        match partition.error_code {
            0 => Ok(()),
            code => Err(Error::Refused { what: what(), code, detail: partition.error_message }),
        }
    }
}

fn producer_id(cluster: &mut Cluster) -> Result<(i64, i16)> {
    let request =
        InitProducerIdRequest { producer_id: -1, producer_epoch: -1, ..InitProducerIdRequest::default() };
    let began = Instant::now();
    loop {
        let given = cluster.call_any(&request)?;
        match given.error_code {
            0 => return Ok((given.producer_id, given.producer_epoch)),
            code if is_retriable(code) && began.elapsed() < PATIENCE => thread::sleep(REST),
            code => return Err(Error::refused("an id for the producer", code)),
        }
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
