//! What the controller knows of the loads of all brokers: what they have told.

use std::collections::BTreeMap;

use base::MonoTime;
use log_balance::{BrokerRoom, Loads, Rates};
use log_partition::PartitionId;

use crate::catalog::Catalog;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ClusterLoads {
    /// What brokers have, and when they told that.
    brokers: BTreeMap<i32, (BrokerRoom, MonoTime)>,
    partitions: BTreeMap<PartitionId, Rates>,
}

impl ClusterLoads {
    /// A broker tells what it has, and what is new of partitions that it leads.
    pub(crate) fn told(
        &mut self,
        broker: i32,
        room: BrokerRoom,
        news: impl IntoIterator<Item = (PartitionId, Rates)>,
        now: MonoTime,
    ) {
        self.brokers.insert(broker, (room, now));
        self.partitions.extend(news);
    }

    /// Forgets partitions that are gone, and brokers that are.
    pub(crate) fn keep(&mut self, catalog: &Catalog, is_there: impl Fn(i32) -> bool) {
        self.partitions.retain(|id, _| catalog.topic_of(*id).is_some());
        self.brokers.retain(|id, _| is_there(*id));
    }

    /// What a broker has, if it has told so since then.
    pub(crate) fn room(&self, broker: i32, since: MonoTime) -> Option<BrokerRoom> {
        self.brokers.get(&broker).filter(|(_, at)| *at >= since).map(|(room, _)| *room)
    }

    /// Nothing is none that is known.
    pub(crate) fn rates(&self, id: PartitionId) -> Rates {
        self.partitions.get(&id).copied().unwrap_or_default()
    }

    /// All of it, for who asks.
    pub(crate) fn shown(&self, catalog: &Catalog) -> Loads {
        let partition = |(id, rates): (&PartitionId, &Rates)| {
            Some((catalog.topic_of(*id)?.name.to_string(), id.index, *rates))
        };
        Loads {
            brokers: self.brokers.iter().map(|(id, (room, _))| (*id, *room)).collect(),
            partitions: self.partitions.iter().filter_map(partition).collect(),
        }
    }
}
