//! A partition as the planner sees it: where its replicas are, and what they use.

use std::collections::BTreeSet;

use crate::ids::{NodeId, PartitionId};
use crate::resource::{Amounts, Resource};

/// What the replicas of a partition use, averaged over some minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// CPU time of the leader, in microseconds per second.
    pub cpu_leader_us_per_s: u64,
    /// CPU time of each follower, in microseconds per second.
    pub cpu_follower_us_per_s: u64,
    /// Bytes per second that clients write. The leader receives them and sends them to each other replica.
    pub write_bytes_per_s: u64,
    /// Bytes per second that clients read from the leader.
    pub read_bytes_per_s: u64,
    /// Bytes on the disk of each replica. A new replica copies the larger of these and the bytes in memory.
    pub stored_bytes: u64,
    /// Bytes in the memory of each replica.
    pub memory_bytes: u64,
}

/// The most that a load may have of anything: 16 TiB, or so many microseconds. With this limit no sum over half
/// a million replicas overflows.
pub(crate) const LOAD_MAX: u64 = 1 << 44;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub id: PartitionId,
    /// How many voters it is to have.
    pub replicas_wanted: usize,
    /// The replicas that count. None: the partition is new and has no data.
    pub voters: BTreeSet<NodeId>,
    /// The voter that leads.
    pub leader: Option<NodeId>,
    /// Replicas that get a copy and do not count.
    pub learners: BTreeSet<NodeId>,
    /// What its replicas use. `None`: not measured yet; the mean of the measured partitions counts.
    pub load: Option<Load>,
    /// Whether an operator wants it to stay where it is. Only replicas on nodes that are gone are replaced.
    pub pinned: bool,
    /// When a plan last moved a replica of it or its leader, on the clock of
    /// [`Cluster::now_ms`](crate::Cluster::now_ms).
    pub moved_at_ms: Option<u64>,
}

impl Partition {
    /// A partition without replicas, which a plan will place.
    #[must_use]
    pub const fn new(id: PartitionId, replicas_wanted: usize) -> Self {
        Self {
            id,
            replicas_wanted,
            voters: BTreeSet::new(),
            leader: None,
            learners: BTreeSet::new(),
            load: None,
            pinned: false,
            moved_at_ms: None,
        }
    }
}

impl Load {
    /// What a follower uses.
    pub(crate) fn of_follower(&self) -> Amounts {
        let mut amounts = Amounts::default();
        amounts[Resource::Cpu] = self.cpu_follower_us_per_s;
        amounts[Resource::NetworkIn] = self.write_bytes_per_s;
        amounts[Resource::Disk] = self.stored_bytes;
        amounts[Resource::Memory] = self.memory_bytes;
        amounts[Resource::Replicas] = 1;
        amounts
    }

    /// What a leader uses that sends to so many followers and learners.
    pub(crate) fn of_leader(&self, others: usize) -> Amounts {
        let mut amounts = self.of_follower();
        amounts[Resource::Cpu] = self.cpu_leader_us_per_s;
        amounts[Resource::NetworkOut] = self.read_bytes_per_s + self.write_bytes_per_s * others as u64;
        amounts[Resource::Leaders] = 1;
        amounts
    }

    /// The largest of its amounts.
    pub(crate) fn largest(&self) -> u64 {
        let rates = self.write_bytes_per_s.max(self.read_bytes_per_s);
        let cpu = self.cpu_leader_us_per_s.max(self.cpu_follower_us_per_s);
        rates.max(cpu).max(self.stored_bytes).max(self.memory_bytes)
    }

    /// The mean of several; zero of none.
    pub(crate) fn mean(loads: &[Self]) -> Self {
        let count = loads.len().max(1) as u64;
        let mean = |part: fn(&Self) -> u64| loads.iter().map(part).sum::<u64>() / count;
        Self {
            cpu_leader_us_per_s: mean(|load| load.cpu_leader_us_per_s),
            cpu_follower_us_per_s: mean(|load| load.cpu_follower_us_per_s),
            write_bytes_per_s: mean(|load| load.write_bytes_per_s),
            read_bytes_per_s: mean(|load| load.read_bytes_per_s),
            stored_bytes: mean(|load| load.stored_bytes),
            memory_bytes: mean(|load| load.memory_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leader_sends_each_write_to_every_other_replica() {
        let load = Load { write_bytes_per_s: 10, read_bytes_per_s: 5, ..Load::default() };
        assert_eq!(load.of_leader(2)[Resource::NetworkOut], 25);
        assert_eq!(load.of_leader(2)[Resource::NetworkIn], 10);
        assert_eq!(load.of_follower()[Resource::NetworkOut], 0);
    }

    #[test]
    fn mean_of_no_loads_is_zero() {
        assert_eq!(Load::mean(&[]), Load::default());
    }
}
