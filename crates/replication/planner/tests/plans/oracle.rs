//! Plays the steps of a plan one after the other and checks each rule. Written from the rules alone: it knows
//! nothing of how the planner finds its steps.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use replication_planner::{
    Action, Cluster, Node, NodeId, NodeState, Partition, PartitionId, Plan, ProblemKind, Settings, Step,
};

/// Checks a plan, and gives the cluster that it makes.
pub(crate) fn play(cluster: &Cluster, settings: &Settings, plan: &Plan) -> Cluster {
    let mut after = cluster.clone();
    for step in &plan.steps {
        let old = partition(&after, step.partition).clone();
        check_disks(&after, step);
        apply(&mut after, step);
        check_partition(cluster, &old, &after, settings, step);
    }
    check_times(plan, settings, cluster.partitions.len());
    check_room_over_time(cluster, plan);
    check_complete(&after, settings, plan);
    after
}

/// The same cluster with the steps done.
fn apply(cluster: &mut Cluster, step: &Step) {
    let states: BTreeMap<NodeId, NodeState> =
        cluster.nodes.iter().map(|node| (node.id, node.state)).collect();
    let of = partition_mut(cluster, step.partition);
    match &step.action {
        Action::Place { voters } => {
            assert!(of.voters.is_empty(), "only a partition without replicas is placed: {step}");
            of.voters = voters.iter().copied().collect();
            assert_eq!(of.voters.len(), voters.len(), "two replicas on one node: {step}");
            of.leader = voters.first().copied();
        }
        Action::TransferLeadership { from, to } => {
            assert_eq!(of.leader, *from, "the leader before: {step}");
            assert!(of.voters.contains(to), "a leader votes: {step}");
            of.leader = Some(*to);
        }
        Action::MoveReplica { from, to, leads } => {
            assert_eq!(of.leader == Some(*from), *leads, "whether the leader moves: {step}");
            add(of, *to, step);
            assert!(of.voters.remove(from), "only a voter moves: {step}");
            if *leads {
                of.leader = Some(*to);
            }
        }
        Action::AddReplica { to } => add(of, *to, step),
        Action::PromoteLearner { node } => {
            assert!(of.learners.remove(node), "only a learner is promoted: {step}");
            of.voters.insert(*node);
        }
        Action::RemoveReplica { from } => {
            assert_ne!(of.leader, Some(*from), "a leader is not removed: {step}");
            assert!(of.voters.remove(from) || of.learners.remove(from), "nothing to remove: {step}");
        }
    }
    if let Some(sender) = step.copy_from {
        assert_ne!(states.get(&sender).copied().unwrap_or(NodeState::Gone), NodeState::Gone, "{step}");
    }
}

fn add(of: &mut Partition, to: NodeId, step: &Step) {
    assert!(of.leader.is_some() && step.copy_from.is_some(), "a copy has a source: {step}");
    assert!(!of.learners.contains(&to), "two replicas on one node: {step}");
    assert!(of.voters.insert(to), "two replicas on one node: {step}");
}

/// The nodes that a step gives something to.
fn receivers(action: &Action) -> Vec<NodeId> {
    match action {
        Action::Place { voters } => voters.clone(),
        Action::TransferLeadership { to, .. }
        | Action::MoveReplica { to, .. }
        | Action::AddReplica { to }
        | Action::PromoteLearner { node: to } => vec![*to],
        Action::RemoveReplica { .. } => Vec::new(),
    }
}

fn check_partition(first: &Cluster, old: &Partition, after: &Cluster, settings: &Settings, step: &Step) {
    let new = partition(after, step.partition);
    let is_failover = step.reason == replication_planner::Reason::LeaderLost;
    for to in receivers(&step.action) {
        let state = state(after, to);
        assert!(
            state == NodeState::Serving || (is_failover && state == NodeState::Draining),
            "{to} serves: {step}"
        );
        assert!(is_failover || !settings.excluded.contains(&to), "{to} is not excluded: {step}");
    }
    let least = new.replicas_wanted.min(live(after, old).len());
    assert!(live(after, new).len() >= least, "below the wanted number: {step}");
    assert!(!live(after, new).is_empty(), "no live replica: {step}");
    if let Action::MoveReplica { from, .. } | Action::RemoveReplica { from } = &step.action {
        let is_learner = old.learners.contains(from);
        let free = !old.pinned || is_learner || state(after, *from) == NodeState::Gone;
        assert!(free, "a pinned partition stays: {step}");
    }
    let is_transfer = matches!(step.action, Action::TransferLeadership { .. });
    assert!(!old.pinned || !is_transfer || is_failover, "the leader of a pinned partition stays: {step}");
    check_zones(first, old, after, settings, step);
}

/// A step never puts more replicas in a zone than it must, or than there were.
fn check_zones(first: &Cluster, old: &Partition, after: &Cluster, settings: &Settings, step: &Step) {
    let of = partition(after, step.partition);
    let possible = zone_limit(after, of.replicas_wanted, |node| {
        node.state == NodeState::Serving && !settings.excluded.contains(&node.id)
    });
    let most = |of: &Partition| zones_of(after, of).values().copied().max().unwrap_or(0);
    let roomy = first.nodes.iter().all(|node| node.capacity().disk_bytes.is_none_or(|disk| disk > 1 << 50));
    if roomy {
        let allowed = possible.max(most(old)).max(most(partition(first, step.partition)));
        assert!(most(of) <= allowed, "zones {:?}: {step}", zones_of(after, of));
    }
}

/// How many voters on serving nodes each zone has.
fn zones_of(cluster: &Cluster, of: &Partition) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for node in cluster.nodes.iter().filter(|node| node.state == NodeState::Serving) {
        if of.voters.contains(&node.id) {
            *counts.entry(node.zone.0).or_default() += 1;
        }
    }
    counts
}

/// The smallest number of replicas in one zone that so many replicas on such nodes can do with.
fn zone_limit(cluster: &Cluster, wanted: usize, counts: impl Fn(&Node) -> bool) -> usize {
    let mut zones = BTreeMap::<u32, usize>::new();
    for node in cluster.nodes.iter().filter(|node| counts(node)) {
        *zones.entry(node.zone.0).or_default() += 1;
    }
    // Give each replica to the zone that has the fewest and a node left.
    let mut given = BTreeMap::<u32, usize>::new();
    for _ in 0..wanted {
        let open = zones.iter().filter(|(zone, nodes)| given.get(zone).copied().unwrap_or(0) < **nodes);
        let Some(zone) = open.map(|(zone, _)| *zone).min_by_key(|zone| given.get(zone).copied().unwrap_or(0))
        else {
            return usize::MAX;
        };
        *given.entry(zone).or_default() += 1;
    }
    given.values().copied().max().unwrap_or(0)
}

/// The new replica is there before the old one leaves.
fn check_disks(before: &Cluster, step: &Step) {
    if matches!(step.action, Action::TransferLeadership { .. } | Action::PromoteLearner { .. }) {
        return;
    }
    for to in receivers(&step.action) {
        let disk = before.nodes.iter().find(|node| node.id == to).expect("a node").capacity().disk_bytes;
        let full = stored_on(before, to) + stored(partition(before, step.partition));
        assert!(disk.is_none_or(|disk| full <= disk), "{to} holds {full} of {disk:?} bytes: {step}");
    }
}

/// At each moment, with copies that take room from their begin and replicas that give it back at their end.
fn check_room_over_time(cluster: &Cluster, plan: &Plan) {
    let mut events: Vec<(Duration, bool, NodeId, u64)> = Vec::new();
    for step in &plan.steps {
        let bytes = stored(partition(cluster, step.partition));
        if let Action::MoveReplica { from, .. } | Action::RemoveReplica { from } = &step.action {
            events.push((step.end(), false, *from, bytes));
        }
        if matches!(step.action, Action::Place { .. }) || step.action.copies_to().is_some() {
            events.extend(receivers(&step.action).into_iter().map(|to| (step.start, true, to, bytes)));
        }
    }
    events.sort_unstable();
    let mut used: BTreeMap<NodeId, u64> = BTreeMap::new();
    for (_, is_added, node, bytes) in events {
        let used = used.entry(node).or_insert_with(|| stored_on(cluster, node));
        if is_added {
            *used += bytes;
            let disk = cluster.nodes.iter().find(|known| known.id == node).expect("a node").capacity();
            assert!(disk.disk_bytes.is_none_or(|disk| *used <= disk), "the disk of {node} is full");
        } else {
            *used -= bytes;
        }
    }
}

fn check_times(plan: &Plan, settings: &Settings, partitions: usize) {
    assert!(plan.steps.is_sorted_by_key(|step| step.start), "steps are in their order");
    let mut ends = BTreeMap::<PartitionId, Duration>::new();
    let mut ended_before = Duration::ZERO;
    let (mut stage, mut latest) = (0, Duration::ZERO);
    for step in &plan.steps {
        if step.stage != stage {
            (stage, ended_before) = (step.stage, latest);
        }
        assert!(step.start >= ended_before, "a stage begins when the one before has ended: {step}");
        let end = ends.insert(step.partition, step.end()).unwrap_or_default();
        assert!(step.start >= end, "one step of a partition at a time: {step}");
        latest = latest.max(step.end());
    }
    let copies = || plan.steps.iter().filter(|step| step.action.copies_to().is_some());
    check_overlaps(copies().map(|step| (step.action.copies_to(), step)), settings.copies_in_per_node);
    check_overlaps(copies().map(|step| (step.copy_from, step)), settings.copies_out_per_node);
    let per_s = (partitions * settings.transfers_percent_per_s as usize / 100).max(1);
    let transfers: Vec<&Step> =
        plan.steps.iter().filter(|step| matches!(step.action, Action::TransferLeadership { .. })).collect();
    for (first, last) in transfers.iter().zip(transfers.iter().skip(per_s + 1)) {
        let apart = last.start - first.start;
        assert!(apart >= Duration::from_millis(990), "{per_s} leaders in {apart:?}");
    }
}

/// No node has more than so many copies at a time.
fn check_overlaps<'a>(copies: impl Iterator<Item = (Option<NodeId>, &'a Step)>, most: usize) {
    let mut events = BTreeMap::<NodeId, Vec<(Duration, i32)>>::new();
    for (node, step) in copies.filter(|(_, step)| !step.duration.is_zero()) {
        let events = events.entry(node.expect("a copy has two ends")).or_default();
        events.extend([(step.start, 1), (step.end(), -1)]);
    }
    for (node, mut events) in events {
        events.sort_unstable();
        let mut running = 0;
        for (_, change) in events {
            running += change;
            assert!(running <= i32::try_from(most).expect("few"), "{node} has {running} copies at a time");
        }
    }
}

/// What the plan leaves undone it says.
fn check_complete(after: &Cluster, settings: &Settings, plan: &Plan) {
    let told = |kinds: &[ProblemKind]| plan.problems.iter().any(|problem| kinds.contains(&problem.kind));
    let no_room = told(&[ProblemKind::NoRoom, ProblemKind::TooFewNodes, ProblemKind::WaitsForRoom]);
    for of in &after.partitions {
        let live = live(after, of);
        let lost = live.is_empty() && !of.voters.is_empty();
        assert!(!lost || told(&[ProblemKind::NoLiveReplica]), "{} is lost, and nobody says so", of.id);
        if lost {
            continue;
        }
        assert!(live.len() >= of.replicas_wanted || no_room, "{} has {} replicas", of.id, live.len());
        let waits = told(&[ProblemKind::WaitsForRoom]);
        assert!(
            live.len() <= of.replicas_wanted || of.pinned || waits,
            "{} has {} replicas",
            of.id,
            live.len()
        );
        assert!(of.leader.is_some_and(|leader| live.contains(&leader)) || no_room, "{} has no leader", of.id);
        let drains = live.iter().any(|voter| state(after, *voter) == NodeState::Draining);
        assert!(!drains || no_room || of.pinned, "{} stays on a draining node", of.id);
        let most = zones_of(after, of).values().copied().max().unwrap_or(0);
        let crowded = most > zone_limit(after, of.replicas_wanted, |_| true);
        assert!(!crowded || told(&[ProblemKind::ZoneHasTooMany]), "{} crowds a zone", of.id);
    }
    assert!(settings.balance || plan.steps.iter().all(|step| !step.reason.is_balance()));
}

/// The voters on nodes that work.
pub(crate) fn live(cluster: &Cluster, of: &Partition) -> BTreeSet<NodeId> {
    of.voters.iter().copied().filter(|voter| state(cluster, *voter) != NodeState::Gone).collect()
}

fn state(cluster: &Cluster, id: NodeId) -> NodeState {
    cluster.nodes.iter().find(|node| node.id == id).map_or(NodeState::Gone, |node| node.state)
}

pub(crate) fn partition(cluster: &Cluster, id: PartitionId) -> &Partition {
    cluster.partitions.iter().find(|partition| partition.id == id).expect("the partition exists")
}

fn partition_mut(cluster: &mut Cluster, id: PartitionId) -> &mut Partition {
    cluster.partitions.iter_mut().find(|partition| partition.id == id).expect("the partition exists")
}

/// Bytes of one replica; nothing is known of one that is not measured.
fn stored(of: &Partition) -> u64 {
    of.load.map_or(0, |load| load.stored_bytes)
}

fn stored_on(cluster: &Cluster, node: NodeId) -> u64 {
    let on = |of: &&Partition| of.voters.contains(&node) || of.learners.contains(&node);
    cluster.partitions.iter().filter(on).map(stored).sum()
}
