//! On which brokers the replicas of new partitions lie: [`replication_planner`] decides, by the numbers of replicas and leaders
//! that each broker has and by where the brokers stand.

use std::collections::BTreeMap;

use log_wire::ErrorCode;
use replication_planner::{
    Action, Capacity, Cluster, Node as Place, NodeId, Partition, PartitionId, Settings, ZoneId, plan_new,
};

use super::refusal::Refusal;
use crate::brokers::Brokers;
use crate::catalog::Catalog;
use crate::node::Node;

/// What replicas there are already: those of the catalog, and those that the same request has placed.
struct Placement<'n> {
    brokers: &'n Brokers,
    catalog: &'n Catalog,
    placed: &'n [Vec<i32>],
}

impl Node {
    /// Places new partitions with so many replicas each, behind those that the same request has placed.
    ///
    /// # Errors
    /// As [`Placement::place`].
    pub(crate) fn place(
        &self,
        partitions: i64,
        factor: i16,
        placed: &[Vec<i32>],
    ) -> Result<Vec<Vec<i32>>, Refusal> {
        let placement = Placement { brokers: &self.brokers, catalog: &self.catalog, placed };
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        placement.place(count(partitions), count(factor.into()))
    }
}

impl Placement<'_> {
    /// Places so many new partitions. Gives the replicas of each, its leader first.
    ///
    /// # Errors
    /// `INVALID_REPLICATION_FACTOR`: there are not so many brokers.
    fn place(&self, partitions: usize, factor: usize) -> Result<Vec<Vec<i32>>, Refusal> {
        let live: Vec<i32> = self.brokers.live().collect();
        if factor > live.len() {
            let (brokers, are) = (live.len(), if live.len() == 1 { "is" } else { "are" });
            let message = format!("there {are} {brokers} of the {factor} brokers that a partition needs");
            return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
        }
        if let [only] = live[..] {
            return Ok(vec![vec![only]; partitions]);
        }
        let mut cluster = Cluster { nodes: self.places(&live), ..Cluster::default() };
        let present = self.catalog.topics().flat_map(|topic| &topic.partitions).map(|of| &of.replicas);
        for (id, replicas) in (0..).zip(present.chain(self.placed)) {
            cluster.partitions.extend(known(id, replicas));
        }
        let first = cluster.partitions.last().map_or(0, |last| last.id.0 + 1);
        let ids = (first..).take(partitions);
        cluster.partitions.extend(ids.map(|id| Partition::new(PartitionId(id), factor)));
        let planned = plan_new(&cluster, &Settings::default());
        let steps =
            planned.map_err(|error| Refusal::new(ErrorCode::UnknownServerError, error.to_string()))?.steps;
        let placed: Vec<Vec<i32>> = steps
            .into_iter()
            .filter_map(|step| match step.action {
                Action::Place { voters } => Some(voters.into_iter().map(|id| id.0.cast_signed()).collect()),
                _ => None,
            })
            .collect();
        if placed.len() == partitions {
            return Ok(placed);
        }
        let message = "no place was found for all replicas";
        Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message))
    }

    fn places(&self, live: &[i32]) -> Vec<Place> {
        let mut zones = BTreeMap::new();
        let mut zone_of = |id: i32| {
            // A broker that does not say where it stands, stands for itself.
            let rack = self.brokers.rack(id).map_or_else(|| format!("/{id}"), str::to_owned);
            let next = ZoneId(u32::try_from(zones.len()).unwrap_or(u32::MAX));
            *zones.entry(rack).or_insert(next)
        };
        let place = |id: &i32| Place::serving(NodeId(id.cast_unsigned()), zone_of(*id), Capacity::default());
        live.iter().map(place).collect()
    }
}

/// A partition that has its replicas.
fn known(id: u64, replicas: &[i32]) -> Option<Partition> {
    let mut partition = Partition::new(PartitionId(id), replicas.len().max(1));
    partition.voters = replicas.iter().map(|id| NodeId(id.cast_unsigned())).collect();
    partition.leader = replicas.first().map(|id| NodeId(id.cast_unsigned()));
    partition.leader.is_some().then_some(partition)
}

#[cfg(test)]
mod tests {
    use log_metadata::BrokerNode;

    use super::*;

    fn brokers(racks: &[Option<&str>]) -> Brokers {
        let mut brokers = Brokers::new(1, Vec::new(), racks[0].map(String::from));
        for (id, rack) in (1..).zip(racks).skip(1) {
            let node = BrokerNode { rack: rack.map(String::from), ..BrokerNode::default() };
            brokers.announced(id, Some(&node.bytes()));
        }
        brokers
    }

    fn place(brokers: &Brokers, placed: &[Vec<i32>], partitions: usize, factor: usize) -> Vec<Vec<i32>> {
        let placement = Placement { brokers, catalog: &Catalog::default(), placed };
        placement.place(partitions, factor).expect("there are enough")
    }

    #[test]
    fn replicas_and_leaders_are_spread_evenly() {
        let brokers = brokers(&[None, None, None, None]);
        let placed = place(&brokers, &[], 12, 3);
        for broker in 1..=4 {
            let replicas = placed.iter().filter(|of| of.contains(&broker)).count();
            let leads = placed.iter().filter(|of| of[0] == broker).count();
            assert!((8..=10).contains(&replicas) && leads == 3, "broker {broker} in {placed:?}");
        }
        assert!(placed.iter().all(|of| of.len() == 3));
    }

    #[test]
    fn topics_of_one_request_do_not_all_begin_at_the_same_broker() {
        let brokers = brokers(&[None, None, None]);
        let mut placed = Vec::new();
        for _ in 0..3 {
            placed.extend(place(&brokers, &placed, 1, 1));
        }
        placed.sort_unstable();
        assert_eq!(placed, [vec![1], vec![2], vec![3]]);
    }

    #[test]
    fn racks_get_a_replica_each() {
        let brokers = brokers(&[Some("a"), Some("a"), Some("b"), Some("b")]);
        for replicas in place(&brokers, &[], 8, 2) {
            let in_a = replicas.iter().filter(|id| **id <= 2).count();
            assert_eq!(in_a, 1, "{replicas:?}");
        }
    }

    #[test]
    fn more_replicas_than_brokers_are_refused() {
        let brokers = brokers(&[None, None]);
        let placement = Placement { brokers: &brokers, catalog: &Catalog::default(), placed: &[] };
        let refused = placement.place(1, 3).expect_err("there are two brokers");
        assert_eq!(refused.code, ErrorCode::InvalidReplicationFactor);
    }
}
