//! A client that reads all partitions from their beginnings, and what it has seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log_client::{Cluster, ConsumedRecord, Consumer, End, TopicPartition};

use crate::ledger::Entry;
use crate::shared::Shared;

/// How long it waits for records.
const WAIT: Duration = Duration::from_millis(100);
/// How long it may take to read everything.
const READ_MAX: Duration = Duration::from_secs(60);

/// The records of each partition, by their offsets.
pub(crate) type Seen = BTreeMap<i32, BTreeMap<i64, Entry>>;

pub(crate) struct Reader {
    consumer: Consumer,
    topic: String,
    seen: Seen,
}

impl Reader {
    pub(crate) fn new(cluster: Cluster, (topic, partitions): (&str, i32)) -> Self {
        let positions = (0..partitions).map(|partition| ((String::from(topic), partition), 0));
        let seen = (0..partitions).map(|partition| (partition, BTreeMap::new())).collect();
        Self { consumer: Consumer::new(cluster, positions.collect()), topic: topic.into(), seen }
    }

    /// Reads until it is told to stop. Gives what it has seen.
    pub(crate) fn work(mut self, number: usize, shared: &Arc<Shared>) -> Seen {
        while !shared.is_stopping() {
            let asked = Instant::now();
            match self.consumer.poll(WAIT) {
                Ok(records) if records.is_empty() => {}
                Ok(records) => match self.take(records) {
                    Ok(()) => shared.acknowledged(number, asked),
                    Err(what) => {
                        shared.complain(format!("reader {number}: {what}"));
                        break;
                    }
                },
                // Brokers die, and for a moment none may be there.
                Err(error) if error.is_retriable() => std::thread::sleep(WAIT),
                Err(error) => {
                    shared.complain(format!("reader {number} cannot go on: {error}"));
                    break;
                }
            }
        }
        self.seen
    }

    /// Reads everything that there is. Gives what it has seen.
    pub(crate) fn read_all(mut self) -> Result<Seen, String> {
        let deadline = Instant::now() + READ_MAX;
        let mut until = None;
        while Instant::now() < deadline {
            let found = match &until {
                Some(until) if self.consumer.has_reached(until) => return Ok(self.seen),
                Some(_) => self.consumer.poll(WAIT),
                None => self.ends().map(|ends| {
                    until = Some(ends);
                    Vec::new()
                }),
            };
            match found {
                Ok(records) => self.take(records)?,
                Err(error) if error.is_retriable() => std::thread::sleep(WAIT),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!("the records cannot be read within {READ_MAX:?}"))
    }

    /// Where each partition ends now.
    fn ends(&mut self) -> log_client::Result<BTreeMap<TopicPartition, i64>> {
        let partitions: Vec<i32> = self.seen.keys().copied().collect();
        self.consumer.cluster().look(Some(std::slice::from_ref(&self.topic)), false)?;
        let ends = self.consumer.cluster().offsets(&self.topic, &partitions, End::Latest)?;
        Ok(ends.into_iter().map(|(partition, end)| ((self.topic.clone(), partition), end)).collect())
    }

    /// # Errors
    /// A record is none of ours, or an offset comes twice or out of order.
    fn take(&mut self, records: Vec<ConsumedRecord>) -> Result<(), String> {
        for record in records {
            let at = format!("offset {} of {}", record.offset, record.partition);
            let entry = record.value.as_deref().and_then(Entry::read);
            let entry = entry.ok_or_else(|| format!("{at} holds {:?}", record.value))?;
            let seen = self.seen.entry(record.partition).or_default();
            if let Some((last, _)) = seen.last_key_value().filter(|(last, _)| **last >= record.offset) {
                return Err(format!("{at} comes behind {last}"));
            }
            seen.insert(record.offset, entry);
        }
        Ok(())
    }
}

/// What differs between what two have seen of the same offsets.
pub(crate) fn differences(one: &Seen, other: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    for (partition, records) in one {
        let Some(others) = other.get(partition) else { continue };
        for (offset, entry) in records {
            match others.get(offset) {
                Some(known) if known == entry => {}
                known => {
                    wrong.push(format!("offset {offset} of {partition} was `{entry}`, and is {known:?}"))
                }
            }
        }
    }
    wrong.truncate(10);
    wrong
}
