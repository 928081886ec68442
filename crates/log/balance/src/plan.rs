//! From what was measured to what is proposed.

use std::collections::{BTreeMap, BTreeSet};

use replication_planner::{
    Action, Capacity, Cluster, ClusterError, Load, Node, NodeId, Partition, PartitionId, Problem, Settings,
    Step, ZoneId, plan,
};

use crate::proposal::{Change, Proposal, levels, reason};
use crate::snapshot::{BrokerLoad, PartitionLoad, Snapshot, SnapshotError};

/// A load above this is none: the planner takes none that is greater.
const LOAD_MAX: u64 = 1 << 44;

/// A request costs its leader as much as so many bytes that it sends, besides those that it carries. It is a guess: what requests
/// cost is not measured by partition.
const REQUEST_BYTES: u64 = 1_024;

/// Proposes changes for a cluster that was measured.
///
/// # Errors
/// [`SnapshotError`].
pub fn propose(snapshot: &Snapshot, settings: &Settings) -> Result<Proposal, SnapshotError> {
    let (cluster, settings) = planned_from(snapshot, settings, 0..)?;
    let planned = plan(&cluster, &settings).map_err(senseless)?;
    let of_id = |id: PartitionId| usize::try_from(id.0).ok().and_then(|at| snapshot.partitions.get(at));
    Ok(Proposal {
        changes: changes(&planned.steps, of_id),
        levels: levels(&planned),
        problems: problems(snapshot, &planned.problems, of_id),
        is_limited: planned.is_limited,
    })
}

pub(crate) fn senseless(error: ClusterError) -> SnapshotError {
    SnapshotError::Senseless(error.to_string())
}

/// What the planner is given: partitions have these numbers, in the order of the snapshot.
pub(crate) fn planned_from(
    snapshot: &Snapshot,
    settings: &Settings,
    numbers: impl IntoIterator<Item = u64>,
) -> Result<(Cluster, Settings), SnapshotError> {
    check(snapshot)?;
    let excluded = snapshot.brokers.iter().filter(|broker| broker.is_excluded).map(|broker| node(broker.id));
    let settings = Settings { excluded: excluded.collect(), ..settings.clone() };
    let led = numbers.into_iter().zip(&snapshot.partitions).filter(|(_, of)| of.leader.is_some());
    let cluster = Cluster {
        now_ms: 0,
        imbalance_lasted: snapshot.lasted,
        nodes: nodes(&snapshot.brokers),
        partitions: led.map(|(number, of)| partition(number, of)).collect(),
    };
    Ok((cluster, settings))
}

/// What steps come to, by partition, in the order in which partitions are named first.
pub(crate) fn changes<'s>(
    steps: &[Step],
    of_id: impl Fn(PartitionId) -> Option<&'s PartitionLoad>,
) -> Vec<Change> {
    let mut by_partition: BTreeMap<PartitionId, Vec<&Step>> = BTreeMap::new();
    let mut order = Vec::new();
    for step in steps {
        let of_one = by_partition.entry(step.partition).or_default();
        if of_one.is_empty() {
            order.push(step.partition);
        }
        of_one.push(step);
    }
    order.iter().filter_map(|id| change(of_id(*id)?, &by_partition[id])).collect()
}

fn check(snapshot: &Snapshot) -> Result<(), SnapshotError> {
    let there: BTreeSet<i32> = snapshot.brokers.iter().map(|broker| broker.id).collect();
    let all = snapshot.partitions.iter().flat_map(|partition| &partition.replicas);
    let away: BTreeSet<i32> = all.copied().filter(|broker| !there.contains(broker)).collect();
    if away.is_empty() { Ok(()) } else { Err(SnapshotError::Away(away.into_iter().collect())) }
}

pub(crate) fn problems<'s>(
    snapshot: &Snapshot,
    of_plan: &[Problem],
    of_id: impl Fn(PartitionId) -> Option<&'s PartitionLoad>,
) -> Vec<String> {
    let count = |is: fn(&PartitionLoad) -> bool| snapshot.partitions.iter().filter(|of| is(of)).count();
    let (unled, moving) = (count(|of| of.leader.is_none()), count(|of| of.is_moving));
    let mut problems = Vec::new();
    if unled > 0 {
        problems.push(format!("{unled} partitions have no leader: they stay as they are"));
    }
    if moving > 0 {
        problems.push(format!("{moving} partitions are being moved: they stay as they are"));
    }
    problems.extend(of_plan.iter().map(|problem| {
        let first = of_id(problem.first)
            .map_or_else(String::new, |of| format!(", the first is {}-{}", of.topic, of.index));
        let what = problem.kind.to_string().replace("node", "broker").replace("zone", "rack");
        format!("{what} ({} partitions{first})", problem.partitions)
    }));
    problems
}

const fn node(broker: i32) -> NodeId {
    NodeId(broker.cast_unsigned())
}

fn nodes(brokers: &[BrokerLoad]) -> Vec<Node> {
    let mut zones: BTreeMap<String, ZoneId> = BTreeMap::new();
    let mut zone_of = |broker: &BrokerLoad| {
        // A broker that does not say where it stands, stands for itself.
        let rack = broker.rack.clone().unwrap_or_else(|| format!("/{}", broker.id));
        let next = ZoneId(u32::try_from(zones.len()).unwrap_or(u32::MAX));
        *zones.entry(rack).or_insert(next)
    };
    let place = |broker: &BrokerLoad| {
        let capacity = Capacity {
            disk_bytes: broker.disk_bytes,
            network_bytes_per_s: broker.network_bytes_per_s,
            ..Capacity::default()
        };
        Node::serving(node(broker.id), zone_of(broker), capacity)
    };
    brokers.iter().map(place).collect()
}

fn partition(number: u64, of: &PartitionLoad) -> Partition {
    let mut partition = Partition::new(PartitionId(number), of.replicas.len().max(1));
    partition.voters = of.replicas.iter().copied().map(node).collect();
    // A leader that is about to go, while the replicas are changed, is none of them.
    partition.leader = of.leader.or_else(|| of.replicas.first().copied()).map(node);
    partition.voters.extend(partition.leader);
    partition.replicas_wanted = partition.voters.len().max(1);
    partition.pinned = of.is_moving || of.is_pinned;
    let requests_bytes = of.requests_per_s.saturating_mul(REQUEST_BYTES);
    partition.load = Some(Load {
        write_bytes_per_s: of.write_bytes_per_s.min(LOAD_MAX),
        read_bytes_per_s: of.read_bytes_per_s.saturating_add(requests_bytes).min(LOAD_MAX),
        stored_bytes: of.stored_bytes.min(LOAD_MAX),
        ..Load::default()
    });
    partition
}

/// What all steps of a partition come to; nothing if that is what there is.
fn change(of: &PartitionLoad, steps: &[&Step]) -> Option<Change> {
    let (mut replicas, mut leader) = (of.replicas.clone(), of.leader?);
    for step in steps {
        apply(&step.action, &mut replicas, &mut leader);
    }
    let place = replicas.iter().position(|replica| *replica == leader)?;
    replicas[..=place].rotate_right(1);
    let moves_leader = of.leader != Some(leader);
    if of.is_moving || (replicas == of.replicas && !moves_leader) {
        return None;
    }
    Some(Change {
        topic: of.topic.clone(),
        index: of.index,
        before: of.replicas.clone(),
        after: replicas,
        moves_leader,
        reasons: steps.iter().map(|step| reason(&step.action, &step.reason)).collect(),
        copy_bytes: steps.iter().map(|step| step.copy_bytes).sum(),
        stage: steps.iter().map(|step| step.stage).max().unwrap_or_default(),
    })
}

fn apply(action: &Action, replicas: &mut Vec<i32>, leader: &mut i32) {
    let number = |node: NodeId| node.0.cast_signed();
    match action {
        Action::TransferLeadership { to, .. } => *leader = number(*to),
        Action::MoveReplica { from, to, leads } => {
            replicas.iter_mut().filter(|replica| **replica == number(*from)).for_each(|replica| {
                *replica = number(*to);
            });
            if *leads {
                *leader = number(*to);
            }
        }
        Action::AddReplica { to } => replicas.push(number(*to)),
        Action::RemoveReplica { from } => replicas.retain(|replica| *replica != number(*from)),
        // There are none of these: partitions have their replicas, and none that does not count.
        Action::Place { .. } | Action::PromoteLearner { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn broker(id: i32) -> BrokerLoad {
        let (disk_bytes, network_bytes_per_s) = (Some(1_000_000_000), Some(100_000_000));
        BrokerLoad { id, disk_bytes, network_bytes_per_s, ..BrokerLoad::default() }
    }

    fn load(index: i32, replicas: &[i32], write_bytes_per_s: u64, stored_bytes: u64) -> PartitionLoad {
        PartitionLoad {
            topic: "t".into(),
            index,
            replicas: replicas.to_vec(),
            leader: replicas.first().copied(),
            write_bytes_per_s,
            stored_bytes,
            ..PartitionLoad::default()
        }
    }

    fn snapshot(brokers: i32, partitions: Vec<PartitionLoad>) -> Snapshot {
        let lasted = Duration::from_secs(3_600);
        Snapshot { brokers: (1..=brokers).map(broker).collect(), partitions, lasted }
    }

    fn proposed(snapshot: &Snapshot) -> Proposal {
        let proposal = propose(snapshot, &Settings::default()).expect("it makes sense");
        let there: Vec<i32> = snapshot.brokers.iter().map(|broker| broker.id).collect();
        for change in &proposal.changes {
            let different: BTreeSet<i32> = change.after.iter().copied().collect();
            assert_eq!((change.before.len(), different.len()), (change.after.len(), change.after.len()));
            assert!(change.after.iter().all(|broker| there.contains(broker)) && !change.reasons.is_empty());
        }
        proposal
    }

    /// How many partitions each broker leads after all changes.
    fn leads(snapshot: &Snapshot, proposal: &Proposal) -> BTreeMap<i32, usize> {
        let mut leads = BTreeMap::new();
        for of in &snapshot.partitions {
            let change = proposal.changes.iter().find(|change| change.index == of.index);
            let leader = change.map_or(of.leader, |change| change.after.first().copied());
            *leads.entry(leader.expect("it is led")).or_default() += 1;
        }
        leads
    }

    #[test]
    fn leaders_of_busy_partitions_are_spread_without_a_copy() {
        let partitions = (0..6).map(|index| load(index, &[1, 2, 3], 5_000_000, 1_000)).collect();
        let snapshot = snapshot(3, partitions);
        let proposal = proposed(&snapshot);
        assert_eq!((proposal.copy_bytes(), proposal.transfers()), (0, proposal.changes.len()));
        assert_eq!(leads(&snapshot, &proposal), [(1, 2), (2, 2), (3, 2)].into());
        assert!(proposal.changes.iter().all(|change| change.moves_leader && change.before == [1, 2, 3]));
        let reason = &proposal.changes[0].reasons[0];
        assert!(reason.contains("of broker 1: ") && reason.contains(" -> "), "{reason}");
    }

    #[test]
    fn new_broker_gets_replicas_and_full_disks_are_relieved() {
        let partitions = (0..12).map(|index| load(index, &[1 + index % 2], 0, 60_000_000)).collect();
        let snapshot = snapshot(3, partitions);
        let proposal = proposed(&snapshot);
        let to_new = proposal.changes.iter().filter(|change| change.after == [3]).count();
        assert!((3..=5).contains(&to_new) && proposal.changes.len() == to_new, "{proposal:?}");
        assert_eq!(proposal.copy_bytes(), 60_000_000 * to_new as u64);
        let disk = proposal.levels.iter().find(|level| level.resource.to_string().contains("disk"));
        let disk = disk.expect("it is told");
        assert!(disk.highest_after < disk.highest, "{disk:?}");
    }

    #[test]
    fn cluster_in_balance_and_one_out_of_balance_for_a_moment_stay_as_they_are() {
        let even = snapshot(3, (0..6).map(|index| load(index, &[1 + index % 3], 0, 10)).collect());
        assert!(proposed(&even).changes.is_empty());
        let mut moment = snapshot(2, (0..6).map(|index| load(index, &[1], 9_000_000, 10)).collect());
        assert!(!proposed(&moment).changes.is_empty());
        moment.lasted = Duration::ZERO;
        assert!(proposed(&moment).changes.is_empty());
    }

    #[test]
    fn partitions_that_move_or_have_no_leader_stay_and_are_told_of() {
        let mut partitions: Vec<_> = (0..8).map(|index| load(index, &[1, 2], 9_000_000, 10)).collect();
        partitions[0].is_moving = true;
        partitions[1].leader = None;
        let proposal = proposed(&snapshot(2, partitions));
        assert!(!proposal.changes.is_empty() && proposal.changes.iter().all(|change| change.index > 1));
        assert_eq!(proposal.problems.len(), 2, "{:?}", proposal.problems);
    }

    #[test]
    fn nothing_goes_to_an_excluded_broker_and_nothing_is_proposed_without_one_that_is_away() {
        let mut snapshot = snapshot(3, (0..9).map(|index| load(index, &[1], 9_000_000, 10)).collect());
        snapshot.brokers[2].is_excluded = true;
        let proposal = proposed(&snapshot);
        assert!(proposal.changes.iter().all(|change| change.after == [2]) && !proposal.changes.is_empty());
        snapshot.partitions[3].replicas = vec![1, 7];
        assert_eq!(propose(&snapshot, &Settings::default()), Err(SnapshotError::Away(vec![7])));
    }

    #[test]
    fn leader_that_is_not_the_preferred_one_stays_leader_of_what_is_moved() {
        let mut partitions: Vec<_> = (0..6).map(|index| load(index, &[1, 2], 0, 60_000_000)).collect();
        partitions.iter_mut().for_each(|of| of.leader = Some(2));
        let proposal = proposed(&snapshot(4, partitions));
        for change in &proposal.changes {
            assert_eq!(change.moves_leader, change.after[0] != 2, "{change:?}");
        }
        assert!(!proposal.changes.is_empty());
    }
}
