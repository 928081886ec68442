//! Metadata: which brokers there are, and who leads which partitions.

use alloc::vec::Vec;

use crate::produce::NodeEndpoint;
use crate::{ErrorCode, Malformed, Reader, Writer};

/// The first version with topic ids.
const TOPIC_IDS: i16 = 10;
/// The first version in which a topic may have no name, for it was asked for by its id.
const NO_NAMES: i16 = 12;
/// The first version with an error of its own.
const TOP_ERROR: i16 = 13;
/// The first version in which clients say whether a topic may be created.
const AUTO_CREATE: i16 = 4;
/// The first version with authorized operations (KIP-430), and the last with those of the cluster.
const OPERATIONS: i16 = 8;
const CLUSTER_OPERATIONS_LAST: i16 = 10;
/// The first versions with these fields.
const RACKS: i16 = 1;
const CLUSTER_ID: i16 = 2;
const THROTTLE: i16 = 3;
const OFFLINE_REPLICAS: i16 = 5;
const LEADER_EPOCHS: i16 = 7;

const TOPIC_BYTES_MIN: usize = 2;

/// Authorized operations that were not asked for.
pub const NOT_ASKED: i32 = i32::MIN;

/// A topic that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataTopic<'a> {
    /// By its id; zeros for none.
    pub id: [u8; 16],
    /// By its name.
    pub name: Option<&'a str>,
}

/// A request without its topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol's switches")]
pub struct MetadataRequest {
    /// All topics are asked for.
    pub all_topics: bool,
    /// A topic that is not there may be created.
    pub may_create: bool,
    /// What the client may do to the cluster is asked for.
    pub cluster_operations: bool,
    /// What the client may do to each topic is asked for.
    pub topic_operations: bool,
}

impl MetadataRequest {
    /// Reads a request's body. `topics` takes what is asked for, in order.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read<'a>(
        reader: &mut Reader<'a>,
        version: i16,
        topics: &mut Vec<MetadataTopic<'a>>,
    ) -> Result<Self, Malformed> {
        // An empty list means all topics there.
        let count = match version {
            0 => Some(reader.count(TOPIC_BYTES_MIN)?),
            _ => reader.nullable_count(TOPIC_BYTES_MIN)?,
        };
        for _ in 0..count.unwrap_or(0) {
            let id = if version >= TOPIC_IDS { reader.uuid()? } else { [0; 16] };
            let name = if version >= TOPIC_IDS { reader.nullable_text()? } else { Some(reader.text()?) };
            reader.tagged_fields()?;
            topics.push(MetadataTopic { id, name });
        }
        let may_create = version < AUTO_CREATE || reader.bool()?;
        let has_cluster_operations = (OPERATIONS..=CLUSTER_OPERATIONS_LAST).contains(&version);
        let cluster_operations = has_cluster_operations && reader.bool()?;
        let topic_operations = version >= OPERATIONS && reader.bool()?;
        reader.tagged_fields()?;
        let all_topics = count.is_none() || (version == 0 && count == Some(0));
        Ok(Self { all_topics, may_create, cluster_operations, topic_operations })
    }
}

/// A partition as a response shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataPartition<'a> {
    /// What is wrong with it.
    pub error: ErrorCode,
    /// Its number.
    pub partition: i32,
    /// Who leads; -1 for nobody.
    pub leader: i32,
    /// Which of all leaders that is.
    pub leader_epoch: i32,
    /// Who keeps it, the preferred leader first.
    pub replicas: &'a [i32],
    /// Those of them that are in sync.
    pub in_sync: &'a [i32],
    /// Those of them that are not there.
    pub offline: &'a [i32],
}

/// What comes before a topic's partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataTopicHead<'a> {
    /// What is wrong with it.
    pub error: ErrorCode,
    /// Its name; nothing for one that is asked for by an unknown id.
    pub name: Option<&'a str>,
    /// Its id; zeros for none.
    pub id: [u8; 16],
    /// Whether brokers keep their own state in it.
    pub is_internal: bool,
}

/// What comes before the topics of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataHead<'a> {
    /// How long the client is to wait, milliseconds.
    pub throttle_ms: i32,
    /// Those that live.
    pub brokers: &'a [NodeEndpoint<'a>],
    /// The cluster.
    pub cluster_id: Option<&'a str>,
    /// Who takes administrative requests; -1 for nobody.
    pub controller: i32,
}

impl MetadataHead<'_> {
    /// Writes it, and how many topics follow.
    pub fn write(&self, writer: &mut Writer<'_>, version: i16, topics: usize) {
        if version >= THROTTLE {
            writer.i32(self.throttle_ms);
        }
        writer.count(self.brokers.len());
        for broker in self.brokers {
            writer.i32(broker.id).text(broker.host).i32(broker.port);
            if version >= RACKS {
                writer.nullable_text(broker.rack);
            }
            writer.no_tagged_fields();
        }
        if version >= CLUSTER_ID {
            writer.nullable_text(self.cluster_id);
        }
        if version >= RACKS {
            writer.i32(self.controller);
        }
        writer.count(topics);
    }
}

impl MetadataTopicHead<'_> {
    /// Writes it, and how many partitions follow. Behind those comes [`end_metadata_topic`].
    pub fn write(&self, writer: &mut Writer<'_>, version: i16, partitions: usize) {
        writer.i16(self.error.code());
        if version >= NO_NAMES {
            writer.nullable_text(self.name);
        } else {
            writer.text(self.name.unwrap_or_default());
        }
        if version >= TOPIC_IDS {
            writer.uuid(&self.id);
        }
        if version >= RACKS {
            writer.bool(self.is_internal);
        }
        writer.count(partitions);
    }
}

impl MetadataPartition<'_> {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer<'_>, version: i16) {
        writer.i16(self.error.code()).i32(self.partition).i32(self.leader);
        if version >= LEADER_EPOCHS {
            writer.i32(self.leader_epoch);
        }
        let lists = [self.replicas, self.in_sync, self.offline];
        for list in &lists[..if version >= OFFLINE_REPLICAS { 3 } else { 2 }] {
            writer.count(list.len());
            for node in *list {
                writer.i32(*node);
            }
        }
        writer.no_tagged_fields();
    }
}

/// Writes what comes behind a topic's partitions: what the client may do to it, as bits, or [`NOT_ASKED`].
pub fn end_metadata_topic(writer: &mut Writer<'_>, version: i16, operations: i32) {
    if version >= OPERATIONS {
        writer.i32(operations);
    }
    writer.no_tagged_fields();
}

/// Writes what comes behind the topics: what the client may do to the cluster, and what is wrong with all of it.
pub fn end_metadata_response(writer: &mut Writer<'_>, version: i16, operations: i32, error: ErrorCode) {
    if (OPERATIONS..=CLUSTER_OPERATIONS_LAST).contains(&version) {
        writer.i32(operations);
    }
    if version >= TOP_ERROR {
        writer.i16(error.code());
    }
    writer.no_tagged_fields();
}
