//! A producer of one partition. An idempotent one numbers its records and has several requests outstanding; it sends what is not
//! acknowledged again, in order, as Kafka's clients do. Another one has one request outstanding, and may send it again or not.

use std::collections::VecDeque;

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{InitProducerIdRequest, ProduceRequest, ProduceResponse};
use uuid::Uuid;

use super::batch::{draw, encode};
use super::operator::{NAMES, SHARE_TOPIC, topic_name};
use super::{Around, Link, Target};
use crate::history::{Place, Value};

const BY_NAME: i16 = 9;
const BY_ID: i16 = 13;
const INIT: i16 = 4;
/// How long a client waits for an answer, milliseconds.
const PATIENCE_MS: u64 = 4_000;
const OUTSTANDING_MAX: usize = 5;
/// After these a batch is sent again.
const RETRIABLE: [i16; 11] = [2, 3, 5, 6, 7, 19, 20, 56, 74, 75, 100];
/// A batch before it failed, and this one is to be sent again behind it.
const OUT_OF_ORDER: i16 = 45;
const UNKNOWN_TOPIC: [i16; 2] = [3, 100];
/// The batch is not in the log for certain.
const DEFINITE: [i16; 7] = [2, 10, 17, 18, 19, 32, 87];

#[derive(Clone, Debug)]
struct Batch {
    values: Vec<Value>,
    sequence: i32,
    /// How many batches were made before it.
    number: usize,
    bytes: Bytes,
    /// It is outstanding now.
    is_sent: bool,
    was_sent: bool,
    /// It was sent when all before it were acknowledged.
    is_first: bool,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Id,
    /// The batch with that sequence number; or the only one.
    Batch(i32),
}

/// See the module.
pub(crate) struct Producer {
    number: u32,
    link: Link<Asked>,
    is_idempotent: bool,
    by_id: bool,
    acks: i16,
    name: &'static str,
    partition: i32,
    /// The topic that its batches are of.
    topic: Option<[u8; 16]>,
    id: Option<(i64, i16)>,
    batches: VecDeque<Batch>,
    next_sequence: i32,
    made: usize,
    next_value: Value,
    /// The next request is sent then.
    rests_until_ms: u64,
}

impl Producer {
    pub(crate) fn new(number: u32, around: &mut Around<'_>) -> Self {
        let is_replicated = around.brokers.len() > 1;
        let random = &mut *around.random;
        let is_idempotent = random.chance(60);
        Self {
            number,
            link: Link::new(),
            is_idempotent,
            by_id: random.chance(70),
            acks: if random.chance(50) || (is_idempotent && is_replicated) { -1 } else { 1 },
            name: NAMES[random.below(2) as usize],
            partition: random.below(around.topics.partitions as u64) as i32,
            topic: None,
            id: None,
            batches: VecDeque::new(),
            next_sequence: 0,
            made: 0,
            next_value: u64::from(number) << 32,
            rests_until_ms: 0,
        }
    }

    /// One that writes into the topic of the share group.
    pub(crate) fn of_shares(number: u32, around: &mut Around<'_>) -> Self {
        Self { name: SHARE_TOPIC, ..Self::new(number, around) }
    }

    /// Whether nothing of it is under way.
    pub(crate) fn is_done(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        while let Some(answer) = self.link.receive(around) {
            match answer.of {
                Asked::Id => {
                    let answer = answer.read::<InitProducerIdRequest>();
                    if answer.error_code == 0 {
                        self.got_id(around, (answer.producer_id.0, answer.producer_epoch));
                    }
                }
                Asked::Batch(sequence) => self.answered(around, sequence, &answer.read::<ProduceRequest>()),
            }
        }
        if self.link.broken(around).is_some() {
            self.parted(around);
        }
        if self.link.waits_since_ms().is_some_and(|since| since + PATIENCE_MS < around.now_ms) {
            self.link.leave(around);
            self.parted(around);
        }
        self.follow_topic(around);
        if around.now_ms >= self.rests_until_ms && self.link.connect(around) {
            self.send(around);
        }
    }

    fn got_id(&mut self, around: &mut Around<'_>, id: (i64, i16)) {
        around.history.new_producer_id(id);
        self.id = Some(id);
        self.next_sequence = 0;
    }

    /// The topic was made anew: what was for the old one is over.
    fn follow_topic(&mut self, around: &mut Around<'_>) {
        let present = around.topics.ids.get(self.name).copied();
        if present.is_some() && present != self.topic {
            self.topic = present;
            self.batches.clear();
            self.next_sequence = 0;
            // Some of what was for the old one may have gone to the new one, by its name.
            self.id = self.id.filter(|_| self.by_id);
            self.link.leave(around);
            let place = self.topic.map(|topic| Place { topic, partition: self.partition });
            place.into_iter().for_each(|place| self.link.aim(around, Target::Leader(place)));
        }
    }

    fn send(&mut self, around: &mut Around<'_>) {
        let Some(topic) = self.topic else { return };
        if self.is_idempotent && self.id.is_none() {
            if self.link.outstanding() == 0 {
                let request = InitProducerIdRequest::default()
                    .with_transactional_id(None)
                    .with_producer_id((-1).into())
                    .with_producer_epoch(-1);
                self.link.send(around, INIT, &request, Asked::Id);
            }
            return;
        }
        let window = if self.is_idempotent { OUTSTANDING_MAX } else { 1 };
        // A partition knows a producer's last five batches: what is sent again must be one of them.
        let oldest = self.batches.front().map_or(self.made, |batch| batch.number);
        if around.is_busy && self.made - oldest < window && around.random.chance(40) {
            self.make_batch(around, topic);
        }
        let waiting = self.batches.iter().position(|batch| !batch.is_sent);
        let Some(at) = waiting.filter(|_| self.link.outstanding() < window) else { return };
        let batch = &mut self.batches[at];
        if std::mem::replace(&mut batch.was_sent, true) {
            batch.values.iter().for_each(|value| around.history.sent_again(*value));
            around.sim.count("batch sent again", 1);
        }
        batch.is_sent = true;
        batch.is_first = at == 0;
        let (of, bytes) = (Asked::Batch(batch.sequence), batch.bytes.clone());
        let request = self.request(topic, bytes);
        self.link.send(around, if self.by_id { BY_ID } else { BY_NAME }, &request, of);
    }

    fn request(&self, topic: [u8; 16], records: Bytes) -> ProduceRequest {
        let data = PartitionProduceData::default().with_index(self.partition).with_records(Some(records));
        let of_topic = TopicProduceData::default().with_partition_data(vec![data]);
        let of_topic = match self.by_id {
            true => of_topic.with_topic_id(Uuid::from_bytes(topic)),
            false => of_topic.with_name(topic_name(self.name)),
        };
        ProduceRequest::default()
            .with_transactional_id(None)
            .with_acks(self.acks)
            .with_timeout_ms(1_500)
            .with_topic_data(vec![of_topic])
    }

    fn make_batch(&mut self, around: &mut Around<'_>, topic: [u8; 16]) {
        let count = 1 + around.random.below(4);
        let place = Place { topic, partition: self.partition };
        let values: Vec<Value> = (0..count).map(|index| self.next_value + index).collect();
        self.next_value += count;
        let is_compacted = around.topics.is_compacted(&topic);
        let records = draw(&values, is_compacted, around);
        for new in &records {
            around.history.sent(*new, place, self.number, (self.is_idempotent, self.by_id), None);
        }
        let bytes = encode(
            &records,
            self.id.map(|id| (id, self.next_sequence)),
            false,
            around.random.below(80) as usize,
        );
        let sequence = self.next_sequence;
        self.next_sequence += count as i32;
        self.batches.push_back(Batch {
            values,
            sequence,
            number: self.made,
            bytes,
            is_sent: false,
            was_sent: false,
            is_first: false,
        });
        self.made += 1;
    }

    fn acknowledged(&mut self, around: &mut Around<'_>, at: usize, base: i64) {
        let Some(batch) = self.batches.remove(at) else { return };
        around.sim.count("batch acknowledged", 1);
        // By its name the batch may have gone to a topic that was made anew.
        if self.by_id || around.topics.ids.get(self.name) == self.topic.as_ref() {
            // What one replica alone has acknowledged may be lost with it.
            match self.acks == 1 && around.brokers.len() > 1 {
                true => around.sim.count("batch acknowledged by its leader alone", 1),
                false => around.history.acked(&batch.values, base),
            }
        }
    }

    fn answered(&mut self, around: &mut Around<'_>, sequence: i32, answer: &ProduceResponse) {
        let Some(partition) = answer.responses.first().and_then(|topic| topic.partition_responses.first())
        else {
            return around.history.wrong(79, String::from("an answer to Produce without its partition"));
        };
        let Some(at) = self.batches.iter().position(|batch| batch.sequence == sequence) else { return };
        let (error, base) = (partition.error_code, partition.base_offset);
        match error {
            0 => self.acknowledged(around, at, base),
            _ if self.may_be_of_no_topic(error) && !self.is_topic_alive(around) => {
                self.batches.clear();
                // The topic may turn out to be there still: those that follow do not follow what was given up.
                self.id = None;
                self.link.leave(around);
            }
            OUT_OF_ORDER
                if self.is_idempotent && self.batches.get(at).is_some_and(|batch| !batch.is_first) =>
            {
                self.again(around, at);
            }
            OUT_OF_ORDER if self.is_idempotent && self.is_volatile(around) => {
                self.link.leave(around);
                self.raise_epoch(around);
            }
            _ if RETRIABLE.contains(&error) => self.refused(around, at, error),
            _ => {
                around.history.wrong(
                    18,
                    format!(
                        "batch {sequence} of {:?} was answered with {error}, all before it were acknowledged",
                        self.id
                    ),
                );
                self.batches.remove(at);
            }
        }
    }

    /// The broker refused a batch for now. Who is not idempotent gives it up half the time.
    fn refused(&mut self, around: &mut Around<'_>, at: usize, error: i16) {
        around.sim.count("batch refused", 1);
        self.link.misled(around, error);
        if DEFINITE.contains(&error)
            && let Some(batch) = self.batches.get(at)
        {
            around.history.refused(&batch.values);
        }
        if self.is_idempotent || around.random.chance(50) {
            self.again(around, at);
        } else {
            self.batches.remove(at);
        }
    }

    /// Whether the power may have taken batches before this one.
    fn is_volatile(&self, around: &Around<'_>) -> bool {
        let place = self.topic.map(|topic| Place { topic, partition: self.partition });
        place.is_some_and(|place| around.history.is_volatile(place)) && around.history.power_failures() > 0
    }

    /// Whether the topic of a batch may have been deleted. By its name a later batch may have begun in a topic that was made anew.
    fn may_be_of_no_topic(&self, error: i16) -> bool {
        UNKNOWN_TOPIC.contains(&error) || (error == OUT_OF_ORDER && !self.by_id)
    }

    fn is_topic_alive(&self, around: &Around<'_>) -> bool {
        self.topic.is_some_and(|topic| around.history.must_be_there(&topic))
    }

    /// A batch is to be sent again, after a while.
    fn again(&mut self, around: &Around<'_>, at: usize) {
        if let Some(batch) = self.batches.get_mut(at) {
            batch.is_sent = false;
        }
        self.rests_until_ms = around.now_ms + 20;
    }

    /// The connection is gone: what was outstanding may be in the log.
    fn parted(&mut self, around: &mut Around<'_>) {
        if self.is_idempotent && !self.batches.is_empty() && around.random.chance(20) {
            return self.raise_epoch(around);
        }
        if self.is_idempotent || around.random.chance(50) {
            self.batches.iter_mut().for_each(|batch| batch.is_sent = false);
        } else {
            self.batches.clear();
        }
    }

    /// As Kafka's clients do when they give batches up: they count from 0 again under the next epoch (KIP-360). What is on
    /// its way still comes too late then.
    fn raise_epoch(&mut self, around: &mut Around<'_>) {
        around.sim.count("epoch raised by its client", 1);
        self.batches.clear();
        self.id = self.id.map(|(id, epoch)| (id, epoch + 1));
        self.next_sequence = 0;
    }
}
