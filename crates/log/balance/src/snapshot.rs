//! What was measured of a cluster.

use core::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The brokers that are there.
    pub brokers: Vec<BrokerLoad>,
    /// All partitions.
    pub partitions: Vec<PartitionLoad>,
    /// For how long the load has lain as it lies: what is moved has to pay off in a time like that. Zero if nothing is out of
    /// balance.
    pub lasted: Duration,
}

/// A broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerLoad {
    /// Its number.
    pub id: i32,
    /// Where it stands, if it says so.
    pub rack: Option<String>,
    /// Bytes of disk that replicas have and may have.
    pub disk_bytes: Option<u64>,
    /// Bytes a second in each direction.
    pub network_bytes_per_s: Option<u64>,
    /// It keeps what it has, and gets nothing.
    pub is_excluded: bool,
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionLoad {
    /// Its topic.
    pub topic: String,
    /// Its number in the topic.
    pub index: i32,
    /// Its replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// The broker that leads; nothing if none does.
    pub leader: Option<i32>,
    /// Its replicas are being changed.
    pub is_moving: bool,
    /// It stays where it is.
    pub is_pinned: bool,
    /// Bytes a second that producers write.
    pub write_bytes_per_s: u64,
    /// Bytes a second that consumers read.
    pub read_bytes_per_s: u64,
    /// Requests a second.
    pub requests_per_s: u64,
    /// Bytes that each replica keeps.
    pub stored_bytes: u64,
}

/// Why nothing can be proposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Brokers are away that have replicas.
    #[error("brokers have replicas and are not there: {}", names(.0))]
    Away(Vec<i32>),
    /// It makes no sense.
    #[error("what was measured makes no sense: {0}")]
    Senseless(String),
}

fn names(brokers: &[i32]) -> String {
    brokers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
