//! Fetch: batches of partitions, from an offset on. What a broker's own replicas say in it is read and not told.

use alloc::vec::Vec;

use crate::produce::{CurrentLeader, NodeEndpoint, encode_endpoints};
use crate::{ErrorCode, Malformed, Reader, TopicName, Writer};

/// The first version with fetch sessions (KIP-227).
const SESSIONS: i16 = 7;
/// The first version with leader epochs of clients (KIP-320).
const LEADER_EPOCHS: i16 = 9;
/// The first version with racks (KIP-392).
const RACKS: i16 = 11;
/// The first version in which logs that have diverged are told (KIP-595).
const DIVERGENCE: i16 = 12;
/// The first version with topic ids.
const TOPIC_IDS: i16 = 13;
/// The first version in which a replica says who it is in a tagged field.
const REPLICA_STATE: i16 = 15;
/// The first version that tells who leads, and where (KIP-951). Earlier ones have a field for who, and Kafka leaves it empty.
const LEADERS: i16 = 16;
/// The first version whose request and response say where a log begins.
const LOG_START: i16 = 5;

const TOPIC_BYTES_MIN: usize = 2;
const PARTITION_BYTES_MIN: usize = 16;

/// A request without its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchRequest<'a> {
    /// How long to wait for `min_bytes`, milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes are worth an answer.
    pub min_bytes: i32,
    /// How many bytes the answer may have.
    pub max_bytes: i32,
    /// 1 to read only what is committed.
    pub isolation_level: i8,
    /// The session; 0 for none.
    pub session_id: i32,
    /// Which of the session's requests it is; 0 to begin one, -1 for none.
    pub session_epoch: i32,
    /// Where the client stands.
    pub rack: &'a str,
}

/// What is asked of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPartition<'a> {
    /// Its topic.
    pub topic: TopicName<'a>,
    /// Its number.
    pub partition: i32,
    /// Which leader the client knows; -1 for none.
    pub current_leader_epoch: i32,
    /// From which offset on.
    pub offset: i64,
    /// Under which leader the last record was appended that the client has; -1 for unknown.
    pub last_fetched_epoch: i32,
    /// How many bytes it may give.
    pub max_bytes: i32,
}

impl<'a> FetchRequest<'a> {
    /// Reads a request's body. `partitions` takes what is asked of each partition, `forgotten` those that leave the session,
    /// both in order.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(
        reader: &mut Reader<'a>,
        version: i16,
        partitions: &mut Vec<FetchPartition<'a>>,
        forgotten: &mut Vec<(TopicName<'a>, i32)>,
    ) -> Result<Self, Malformed> {
        if version < REPLICA_STATE {
            let _replica = reader.i32()?;
        }
        let (max_wait_ms, min_bytes, max_bytes) = (reader.i32()?, reader.i32()?, reader.i32()?);
        let isolation_level = reader.i8()?;
        let (session_id, session_epoch) =
            if version >= SESSIONS { (reader.i32()?, reader.i32()?) } else { (0, -1) };
        for _ in 0..reader.count(TOPIC_BYTES_MIN)? {
            let topic = TopicName::read(reader, version >= TOPIC_IDS)?;
            for _ in 0..reader.count(PARTITION_BYTES_MIN)? {
                partitions.push(FetchPartition::read(reader, version, topic)?);
            }
            reader.tagged_fields()?;
        }
        if version >= SESSIONS {
            for _ in 0..reader.count(TOPIC_BYTES_MIN)? {
                let topic = TopicName::read(reader, version >= TOPIC_IDS)?;
                for _ in 0..reader.count(4)? {
                    forgotten.push((topic, reader.i32()?));
                }
                reader.tagged_fields()?;
            }
        }
        let rack = if version >= RACKS { reader.text()? } else { "" };
        reader.tagged_fields()?;
        Ok(Self { max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, rack })
    }
}

impl<'a> FetchPartition<'a> {
    fn read(reader: &mut Reader<'a>, version: i16, topic: TopicName<'a>) -> Result<Self, Malformed> {
        let partition = reader.i32()?;
        let current_leader_epoch = if version >= LEADER_EPOCHS { reader.i32()? } else { -1 };
        let offset = reader.i64()?;
        let last_fetched_epoch = if version >= DIVERGENCE { reader.i32()? } else { -1 };
        if version >= LOG_START {
            let _log_start_of_a_replica = reader.i64()?;
        }
        let max_bytes = reader.i32()?;
        reader.tagged_fields()?;
        Ok(Self { topic, partition, current_leader_epoch, offset, last_fetched_epoch, max_bytes })
    }
}

/// Where a client's log and the leader's have parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The last leader that both know.
    pub epoch: i32,
    /// Where that leader's records end.
    pub end_offset: i64,
}

/// What a partition gives, but for its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchOutcome<'a> {
    /// Its number.
    pub partition: i32,
    /// What went wrong.
    pub error: ErrorCode,
    /// Everything below is committed; -1 if that is not known.
    pub high_watermark: i64,
    /// Every transaction below is decided; -1 if that is not known.
    pub last_stable_offset: i64,
    /// Where the log begins; -1 if that is not known.
    pub log_start_offset: i64,
    /// Aborted transactions among what is given, by producer, and where each begins; nothing for a client that reads all.
    pub aborted: Option<&'a [(i64, i64)]>,
    /// Which replica the client had better ask; -1 for this one.
    pub preferred_read_replica: i32,
    /// Where the logs have parted.
    pub divergence: Option<Divergence>,
    /// Who leads, if it is another.
    pub leader: Option<CurrentLeader>,
}

/// Writes what comes before the topics of a response.
pub fn start_fetch_response(
    writer: &mut Writer<'_>,
    version: i16,
    throttle_ms: i32,
    error: ErrorCode,
    session_id: i32,
    topics: usize,
) {
    writer.i32(throttle_ms);
    if version >= SESSIONS {
        writer.i16(error.code()).i32(session_id);
    }
    writer.count(topics);
}

/// Writes what comes before the partitions of a topic. Behind them comes [`Writer::no_tagged_fields`].
pub fn start_fetch_topic(writer: &mut Writer<'_>, topic: TopicName<'_>, partitions: usize) {
    topic.write(writer);
    writer.count(partitions);
}

impl FetchOutcome<'_> {
    /// Writes what comes before a partition's records, whose length it ends with: they may be sent from their file.
    pub fn start(&self, writer: &mut Writer<'_>, version: i16, records_bytes: usize) {
        writer.i32(self.partition).i16(self.error.code());
        writer.i64(self.high_watermark).i64(self.last_stable_offset);
        if version >= LOG_START {
            writer.i64(self.log_start_offset);
        }
        if let Some(aborted) = self.aborted {
            writer.count(aborted.len());
            for (producer_id, first_offset) in aborted {
                writer.i64(*producer_id).i64(*first_offset).no_tagged_fields();
            }
        } else {
            writer.null_array();
        }
        if version >= RACKS {
            writer.i32(self.preferred_read_replica);
        }
        writer.count(records_bytes);
    }

    /// Writes what comes behind a partition's records.
    pub fn end(&self, writer: &mut Writer<'_>, version: i16) {
        let divergence = self.divergence.filter(|_| version >= DIVERGENCE).map(Divergence::encode);
        let leader = self.leader.filter(|_| version >= LEADERS).map(CurrentLeader::encode);
        match (&divergence, &leader) {
            (Some(divergence), Some(leader)) => writer.tagged_fields(&[(0, divergence), (1, leader)]),
            (Some(divergence), None) => writer.tagged_fields(&[(0, divergence)]),
            (None, Some(leader)) => writer.tagged_fields(&[(1, leader)]),
            (None, None) => writer.no_tagged_fields(),
        };
    }
}

impl Divergence {
    fn encode(self) -> [u8; 13] {
        let mut bytes = [0; 13];
        bytes[..4].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.end_offset.to_be_bytes());
        bytes
    }
}

/// Writes what comes behind the topics of a response.
pub fn end_fetch_response(writer: &mut Writer<'_>, version: i16, endpoints: &[NodeEndpoint<'_>]) {
    if version >= LEADERS && !endpoints.is_empty() {
        writer.tagged_fields(&[(0, &encode_endpoints(endpoints))]);
    } else {
        writer.no_tagged_fields();
    }
}
