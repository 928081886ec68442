//! Produce: record batches for partitions, and where each came to stand.

use alloc::vec::Vec;

use crate::{ErrorCode, Malformed, Reader, TopicName, Writer};

/// The first version with topic ids.
const TOPIC_IDS: i16 = 13;
/// The first version whose response names a record that was refused.
const RECORD_ERRORS: i16 = 8;
/// The first version whose response says where the log begins.
const LOG_START: i16 = 5;
/// The first version whose response says who leads (KIP-951).
const LEADERS: i16 = 10;

/// The least bytes of a topic, and of a partition, in a request.
const TOPIC_BYTES_MIN: usize = 2;
const PARTITION_BYTES_MIN: usize = 5;

/// A request without its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProduceRequest<'a> {
    /// Who has a transaction open.
    pub transactional_id: Option<&'a str>,
    /// How many replicas must have it: -1 for all in sync, 0 for no answer at all.
    pub acks: i16,
    /// How long it may take, milliseconds.
    pub timeout_ms: i32,
}

/// What is for one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducePartition<'a> {
    /// Its topic.
    pub topic: TopicName<'a>,
    /// Its number.
    pub partition: i32,
    /// Batches, as they came.
    pub records: Option<&'a [u8]>,
}

impl<'a> ProduceRequest<'a> {
    /// Reads a request's body. `partitions` takes what it holds for each partition, in order.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(
        reader: &mut Reader<'a>,
        version: i16,
        partitions: &mut impl Extend<ProducePartition<'a>>,
    ) -> Result<Self, Malformed> {
        let transactional_id = reader.nullable_text()?;
        let (acks, timeout_ms) = (reader.i16()?, reader.i32()?);
        for _ in 0..reader.count(TOPIC_BYTES_MIN)? {
            let topic = TopicName::read(reader, version >= TOPIC_IDS)?;
            for _ in 0..reader.count(PARTITION_BYTES_MIN)? {
                let (partition, records) = (reader.i32()?, reader.nullable_bytes()?);
                reader.tagged_fields()?;
                partitions.extend([ProducePartition { topic, partition, records }]);
            }
            reader.tagged_fields()?;
        }
        reader.tagged_fields()?;
        Ok(Self { transactional_id, acks, timeout_ms })
    }
}

/// Who leads a partition, for a client that asked another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentLeader {
    /// Its node id.
    pub id: i32,
    /// Which of all leaders of the partition it is.
    pub epoch: i32,
}

impl CurrentLeader {
    pub(crate) fn encode(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[..4].copy_from_slice(&self.id.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.epoch.to_be_bytes());
        // No tagged fields of its own.
        bytes
    }
}

/// What became of one partition's batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceOutcome<'a> {
    /// Its number.
    pub partition: i32,
    /// What went wrong.
    pub error: ErrorCode,
    /// The offset of the first record; -1 if nothing was appended.
    pub base_offset: i64,
    /// When it was appended, if the topic stamps that; else -1. Milliseconds.
    pub log_append_time: i64,
    /// Where the log begins; -1 if that is not known.
    pub log_start_offset: i64,
    /// Records that were refused, by their place in the batch, and why.
    pub record_errors: Vec<(i32, &'a str)>,
    /// Why all were refused.
    pub message: Option<&'a str>,
    /// Who leads, if it is another.
    pub leader: Option<CurrentLeader>,
}

/// A broker that a response names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEndpoint<'a> {
    /// Its node id.
    pub id: i32,
    /// Its host.
    pub host: &'a str,
    /// Its port.
    pub port: i32,
    /// Where it stands.
    pub rack: Option<&'a str>,
}

/// The tagged field with brokers' addresses, which responses of several APIs have.
pub(crate) fn encode_endpoints(endpoints: &[NodeEndpoint<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, true);
    writer.count(endpoints.len());
    for NodeEndpoint { id, host, port, rack } in endpoints {
        writer.i32(*id).text(host).i32(*port).nullable_text(*rack).no_tagged_fields();
    }
    bytes
}

/// Writes a response's body: outcomes by topic, in the order of the request.
pub fn write_produce_response<'a>(
    writer: &mut Writer<'_>,
    version: i16,
    topics: &[(TopicName<'a>, &[ProduceOutcome<'a>])],
    throttle_ms: i32,
    endpoints: &[NodeEndpoint<'_>],
) {
    writer.count(topics.len());
    for (topic, outcomes) in topics {
        topic.write(writer);
        writer.count(outcomes.len());
        outcomes.iter().for_each(|outcome| outcome.write(writer, version));
        writer.no_tagged_fields();
    }
    writer.i32(throttle_ms);
    if version >= LEADERS && !endpoints.is_empty() {
        writer.tagged_fields(&[(0, &encode_endpoints(endpoints))]);
    } else {
        writer.no_tagged_fields();
    }
}

impl ProduceOutcome<'_> {
    fn write(&self, writer: &mut Writer<'_>, version: i16) {
        writer.i32(self.partition).i16(self.error.code()).i64(self.base_offset).i64(self.log_append_time);
        if version >= LOG_START {
            writer.i64(self.log_start_offset);
        }
        if version >= RECORD_ERRORS {
            writer.count(self.record_errors.len());
            for (place, message) in &self.record_errors {
                writer.i32(*place).nullable_text(Some(message)).no_tagged_fields();
            }
            writer.nullable_text(self.message);
        }
        match self.leader.filter(|_| version >= LEADERS) {
            Some(leader) => writer.tagged_fields(&[(0, &leader.encode())]),
            None => writer.no_tagged_fields(),
        };
    }
}
