//! One batch for each partition of a topic, whichever brokers lead them: says when all are acknowledged. It goes on until each is, so
//! it measures how long some partitions are led by nobody.
//!
//! Each partition has one batch in flight. What is refused for now, or lost with its connection, is sent again with its sequence
//! number to whoever leads then.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use log_wire::Producer;
use log_wire::messages::Blob;
use log_wire::messages::data::{
    MetadataBody, MetadataBodyTopic, MetadataBroker, ProduceBody, ProduceBodyPartition, ProduceBodyTopic,
};

use super::requests::batch;
use super::steady::{is_taken, producer_id};
use crate::connection::Connection;

/// Between two looks who leads, and before what was refused is sent again. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long one broker may take for an answer; a partition whose leader stands still would be waited for longer.
const ANSWER: Duration = Duration::from_secs(5);

/// A producer of all partitions of a topic.
#[derive(Debug)]
pub struct Everywhere {
    topic: String,
    partitions: i32,
    message_bytes: usize,
    producer: (i64, i16),
    /// Batches that each partition has acknowledged.
    rounds: i32,
}

/// When partitions of a topic were led, and when they were written to.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// When Metadata named another leader of each.
    pub known: Instant,
    /// When a batch was acknowledged by each.
    pub acknowledged: Instant,
}

impl Everywhere {
    /// Of a topic with so many partitions, with messages of so many bytes. A producer id is asked of the first of the `brokers`.
    ///
    /// # Errors
    /// The broker gives none.
    pub fn start(
        brokers: &[SocketAddr],
        topic: &str,
        partitions: i32,
        message_bytes: usize,
    ) -> io::Result<Self> {
        let producer = producer_id(brokers)?;
        Ok(Self { topic: topic.into(), partitions, message_bytes, producer, rounds: 0 })
    }

    /// Messages that were acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        u64::from(self.rounds.unsigned_abs()) * u64::from(self.partitions.unsigned_abs())
    }

    /// Writes a message to each partition, once each is led, and none by the broker with the id `except`. Brokers at `brokers` are
    /// asked who leads, the first that answers.
    ///
    /// # Errors
    /// A batch was refused for good, or not all were acknowledged `within` that time.
    pub fn round(
        &mut self,
        brokers: &[SocketAddr],
        except: Option<i32>,
        within: Duration,
    ) -> io::Result<Reached> {
        let until = Instant::now() + within;
        let mut left: BTreeSet<i32> = (0..self.partitions).collect();
        let (mut connections, mut known) = (BTreeMap::new(), None);
        loop {
            let led = self.leaders(brokers, except).unwrap_or_default();
            let count: usize = led.values().map(|(_, partitions)| partitions.len()).sum();
            if known.is_none() && i32::try_from(count).is_ok_and(|count| count == self.partitions) {
                known = Some(Instant::now());
            }
            if let Some(known) = known {
                self.write(&led, &mut connections, &mut left)?;
                if left.is_empty() {
                    self.rounds += 1;
                    return Ok(Reached { known, acknowledged: Instant::now() });
                }
            }
            if Instant::now() > until {
                let what = match known {
                    Some(_) => {
                        format!("{} partitions have acknowledged nothing within {within:?}", left.len())
                    }
                    None => format!("{count} of {} partitions are led after {within:?}", self.partitions),
                };
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The brokers that lead, but one, with what each leads.
    fn leaders(&self, brokers: &[SocketAddr], except: Option<i32>) -> io::Result<Leaders> {
        let name = MetadataBodyTopic { name: Some(self.topic.clone()), ..MetadataBodyTopic::default() };
        let request = MetadataBody { topics: Some(vec![name]), ..MetadataBody::default() };
        let mut failed = io::ErrorKind::NotFound.into();
        for broker in brokers {
            let answer = open(*broker).and_then(|mut of| of.call(&request).map_err(io::Error::other));
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    failed = error;
                    continue;
                }
            };
            let address = |broker: &MetadataBroker| {
                Some((broker.node_id, format!("{}:{}", broker.host, broker.port).parse().ok()?))
            };
            let addresses: BTreeMap<i32, SocketAddr> = answer.brokers.iter().filter_map(address).collect();
            let mut led = Leaders::new();
            for of in answer.topics.into_iter().flat_map(|topic| topic.partitions) {
                if let (Some(address), true) = (addresses.get(&of.leader_id), Some(of.leader_id) != except) {
                    led.entry(of.leader_id).or_insert((*address, Vec::new())).1.push(of.partition_index);
                }
            }
            return Ok(led);
        }
        Err(failed)
    }

    /// Sends each leader one request with the batches of the partitions that it leads and that are left, and takes the answers.
    fn write(
        &self,
        led: &Leaders,
        connections: &mut BTreeMap<i32, Connection>,
        left: &mut BTreeSet<i32>,
    ) -> io::Result<()> {
        let mut asked = Vec::new();
        for (leader, (address, partitions)) in led {
            let due: Vec<i32> = partitions.iter().copied().filter(|of| left.contains(of)).collect();
            if due.is_empty() {
                continue;
            }
            let connection = match connections.remove(leader).map_or_else(|| open(*address), Ok) {
                Ok(mut connection) => connection.send(&self.request(&due)).is_ok().then_some(connection),
                Err(_) => None,
            };
            asked.extend(connection.map(|connection| (*leader, connection)));
        }
        for (leader, mut connection) in asked {
            // A connection that failed is not kept.
            let Ok(answer) = connection.receive::<ProduceBody>() else { continue };
            for of in answer.responses.into_iter().flat_map(|topic| topic.partition_responses) {
                if is_taken(of.error_code)? {
                    left.remove(&of.index);
                }
            }
            connections.insert(leader, connection);
        }
        Ok(())
    }

    fn request(&self, partitions: &[i32]) -> ProduceBody {
        let (id, epoch) = self.producer;
        let batch = batch(1, self.message_bytes, Producer { id, epoch, base_sequence: self.rounds });
        let partition = |index: &i32| ProduceBodyPartition { index: *index, records: Blob(batch.clone()) };
        let partition_data = partitions.iter().map(partition).collect();
        let topic =
            ProduceBodyTopic { name: self.topic.clone(), partition_data, ..ProduceBodyTopic::default() };
        ProduceBody { acks: -1, timeout_ms: 30_000, topic_data: vec![topic], ..ProduceBody::default() }
    }
}

/// By the ids of brokers: where each is, and the partitions that it leads.
type Leaders = BTreeMap<i32, (SocketAddr, Vec<i32>)>;

fn open(address: SocketAddr) -> io::Result<Connection> {
    let mut connection =
        Connection::open(&address.to_string(), "log-load", None).map_err(io::Error::other)?;
    connection.set_patience(ANSWER).map_err(io::Error::other)?;
    Ok(connection)
}
