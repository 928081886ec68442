//! What an operator should know: for the driver, which has a log.

use std::sync::Arc;

use log_partition::{Damage, PartitionId};
use log_storage::CompactionError;

/// See the module.
#[derive(Debug)]
pub enum Notice {
    /// A topic was created.
    TopicCreated(Arc<str>),
    /// A topic was deleted.
    TopicDeleted(Arc<str>),
    /// What the council holds of a topic cannot be used.
    BadTopic(Arc<str>, String),
    /// What the council holds at that path of users, rules or quotas cannot be used.
    BadAccess(String),
    /// What the council holds in a node of configurations cannot be used: what it held before stays in force.
    BadConfigs(String, String),
    /// What the disk holds of a partition cannot be used: it is not served.
    Damaged(PartitionId, Damage),
    /// What the disk holds of a partition cannot be read for its followers.
    NotSent(PartitionId),
    /// A partition was not handed over to that broker, whose replica is so many offsets behind; nothing if that is not known.
    NotHandedOver(PartitionId, u32, Option<u64>),
    /// A partition that is led here from now on may have lost records: by a person's act, or because its topic permits it.
    MayHaveLost {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Replicas that could not be asked: what only they have from `kept` on is lost.
        missing: Vec<i32>,
        /// The end of the log that was kept.
        kept: i64,
    },
    /// A partition gets another leader, or other replicas, since brokers carry unequal loads.
    Balanced {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Its replicas.
        before: Vec<i32>,
        /// Those that it gets; the first is to lead.
        after: Vec<i32>,
        /// Why.
        why: String,
    },
    /// A pass of compaction over a partition has ended early.
    NotCompacted(PartitionId, CompactionError),
    /// A partition has a timestamp that lies in the future, milliseconds: its segments from there on are kept for longer than
    /// `retention.ms`.
    FutureTimestamp(PartitionId, i64),
    /// The disk holds so many partitions of topics that the council does not know. They are kept, and not served.
    Unclaimed(usize),
    /// Dead letters of a share group cannot be written, and why: their records are kept until they can.
    DeadLetters(Arc<str>, &'static str),
    /// A client has set the level of the root logger.
    LogLevel(String),
}
