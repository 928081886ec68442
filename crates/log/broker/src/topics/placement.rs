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

/// What a topic gets that says nothing of brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// So many new partitions.
    pub(crate) partitions: usize,
    /// So many replicas of each.
    pub(crate) replicas: usize,
}

impl Wanted {
    pub(crate) fn of(partitions: i64, factor: i16) -> Self {
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        Self { partitions: count(partitions), replicas: count(factor.into()) }
    }
}

/// The replicas of each new partition of a topic, its leader first.
pub(crate) type Placed = Vec<Vec<i32>>;

impl Node {
    /// Whether there are enough brokers for a partition with so many replicas.
    ///
    /// # Errors
    /// `INVALID_REPLICATION_FACTOR`.
    pub(crate) fn check_factor(&self, factor: i16) -> Result<(), Refusal> {
        let live = self.brokers.that_take_replicas().count();
        if usize::try_from(factor).is_ok_and(|factor| factor <= live) {
            return Ok(());
        }
        Err(too_few(live, factor.unsigned_abs().into()))
    }

    /// Places the new partitions of one topic, if there are enough brokers.
    pub(crate) fn place_one(&self, partitions: i64, factor: i16) -> Option<Placed> {
        self.place_all(&[Wanted::of(partitions, factor)]).ok().and_then(|mut placed| placed.pop())
    }

    /// Places the new partitions of all topics of a request: one plan for all of them, for a plan looks at every partition that
    /// there is. Gives what each topic gets, in order.
    ///
    /// # Errors
    /// `INVALID_REPLICATION_FACTOR`: there are too few brokers.
    pub(crate) fn place_all(&self, wanted: &[Wanted]) -> Result<Vec<Placed>, Refusal> {
        Placement { brokers: &self.brokers, catalog: &self.catalog }.place_all(wanted)
    }
}

fn too_few(live: usize, needed: usize) -> Refusal {
    let are = if live == 1 { "is" } else { "are" };
    let message = format!("there {are} {live} of the {needed} brokers that a partition needs");
    Refusal::new(ErrorCode::InvalidReplicationFactor, message)
}

struct Placement<'n> {
    brokers: &'n Brokers,
    catalog: &'n Catalog,
}

impl Placement<'_> {
    fn place_all(&self, wanted: &[Wanted]) -> Result<Vec<Placed>, Refusal> {
        let live: Vec<i32> = self.brokers.that_take_replicas().collect();
        if let Some(most) = wanted.iter().map(|of| of.replicas).find(|replicas| *replicas > live.len()) {
            return Err(too_few(live.len(), most));
        }
        if let [only] = live[..]
            && wanted.iter().all(|of| of.replicas == 1)
        {
            return Ok(wanted.iter().map(|of| vec![vec![only]; of.partitions]).collect());
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut cluster = Cluster { nodes: places(self.brokers, &live), ..Cluster::default() };
        let present = self.catalog.topics().flat_map(|topic| &topic.partitions);
        cluster.partitions.extend((0..).zip(present).filter_map(|(id, of)| known(id, &of.replicas)));
        let first = cluster.partitions.last().map_or(0, |last| last.id.0 + 1);
        let factors = wanted.iter().flat_map(|of| std::iter::repeat_n(of.replicas, of.partitions));
        cluster.partitions.extend((first..).zip(factors).map(|(id, of)| Partition::new(PartitionId(id), of)));
        let planned = plan_new(&cluster, &Settings::default());
        let plan = planned.map_err(|error| Refusal::new(ErrorCode::UnknownServerError, error.to_string()))?;
        let mut placed: BTreeMap<u64, Vec<i32>> = BTreeMap::new();
        for step in plan.steps {
            if let Action::Place { voters } = step.action {
                let voters = voters.into_iter().map(|id| id.0.cast_signed()).collect();
                placed.insert(step.partition.0, voters);
            }
        }
        let all: usize = wanted.iter().map(|of| of.partitions).sum();
        if placed.len() != all {
            let message = "no place was found for all replicas";
            return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
        }
        let mut placed = placed.into_values();
        Ok(wanted.iter().map(|of| placed.by_ref().take(of.partitions).collect()).collect())
    }
}

/// Brokers as places of replicas, each in its rack.
pub(crate) fn places(brokers: &Brokers, ids: &[i32]) -> Vec<Place> {
    let mut zones = BTreeMap::new();
    let mut zone_of = |id: i32| {
        // A broker that does not say where it stands, stands for itself.
        let rack = brokers.rack(id).map_or_else(|| format!("/{id}"), str::to_owned);
        let next = ZoneId(u32::try_from(zones.len()).unwrap_or(u32::MAX));
        *zones.entry(rack).or_insert(next)
    };
    let place = |id: &i32| Place::serving(NodeId(id.cast_unsigned()), zone_of(*id), Capacity::default());
    ids.iter().map(place).collect()
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

    fn place_all(brokers: &Brokers, wanted: &[Wanted]) -> Result<Vec<Placed>, Refusal> {
        Placement { brokers, catalog: &Catalog::default() }.place_all(wanted)
    }

    fn place(brokers: &Brokers, partitions: usize, replicas: usize) -> Placed {
        let placed = place_all(brokers, &[Wanted { partitions, replicas }]);
        placed.expect("there are enough").remove(0)
    }

    #[test]
    fn replicas_and_leaders_are_spread_evenly() {
        let brokers = brokers(&[None, None, None, None]);
        let placed = place(&brokers, 12, 3);
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
        let one = Wanted { partitions: 1, replicas: 1 };
        let placed = place_all(&brokers, &[one, one, one]).expect("there are enough");
        let mut placed: Vec<Vec<i32>> = placed.into_iter().flatten().collect();
        placed.sort_unstable();
        assert_eq!(placed, [vec![1], vec![2], vec![3]]);
    }

    #[test]
    fn topics_of_one_request_get_what_each_wants() {
        let brokers = brokers(&[None, None, None]);
        let wanted =
            [(2, 3), (0, 1), (4, 1), (1, 2)].map(|(partitions, replicas)| Wanted { partitions, replicas });
        let placed = place_all(&brokers, &wanted).expect("there are enough");
        let shapes = placed.iter().map(|of| of.iter().map(Vec::len).collect::<Vec<_>>());
        assert_eq!(shapes.collect::<Vec<_>>(), [vec![3, 3], vec![], vec![1, 1, 1, 1], vec![2]]);
    }

    #[test]
    fn racks_get_a_replica_each() {
        let brokers = brokers(&[Some("a"), Some("a"), Some("b"), Some("b")]);
        for replicas in place(&brokers, 8, 2) {
            let in_a = replicas.iter().filter(|id| **id <= 2).count();
            assert_eq!(in_a, 1, "{replicas:?}");
        }
    }

    #[test]
    fn broker_that_drains_gets_nothing() {
        let mut brokers = brokers(&[None, None, None]);
        assert!(brokers.set_drained(&[2].into()) && !brokers.set_drained(&[2].into()));
        assert_eq!(place(&brokers, 4, 2).concat().iter().filter(|id| **id == 2).count(), 0);
        let refused = place_all(&brokers, &[Wanted { partitions: 1, replicas: 3 }]);
        assert_eq!(refused.expect_err("two are left").code, ErrorCode::InvalidReplicationFactor);
    }

    #[test]
    fn more_replicas_than_brokers_are_refused() {
        let brokers = brokers(&[None, None]);
        let refused = place_all(&brokers, &[Wanted { partitions: 1, replicas: 3 }]);
        let refused = refused.expect_err("there are two brokers");
        assert_eq!(refused.code, ErrorCode::InvalidReplicationFactor);
    }
}
