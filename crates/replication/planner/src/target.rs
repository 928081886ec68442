//! Which node gets a replica or a leader that must go somewhere: the one that is used least afterwards.

use core::cmp::Reverse;

use crate::ids::NodeId;
use crate::model::Model;
use crate::obstacle::{Demands, obstacle, state_obstacle, zone_obstacle};
use crate::resource::{Amounts, Utilisation};

/// How used a node is: by its most used resource, by all of them, and its number, so that no two are equal.
type Rank = (Utilisation, u64, NodeId);

/// How used a node would be if it used so much.
fn rank(model: &Model, node: usize, used: &Amounts) -> Rank {
    let node = &model.nodes[node];
    let each = node.utilisations_by(used);
    let most = each.into_iter().max().unwrap_or_default();
    (most, each.iter().map(|one| u64::from(one.0)).sum(), node.id)
}

/// The best node for a replica.
pub(crate) fn for_replica(
    model: &Model,
    partition: usize,
    from: Option<usize>,
    demands: Demands<'_>,
) -> Option<usize> {
    let free = |to: &usize| obstacle(model, partition, from, *to, demands).is_none();
    let rank_with = |to: &usize| {
        let mut used = model.nodes[*to].used;
        used += from.map_or(&model.partitions[partition].follow, |from| model.amounts(partition, from));
        rank(model, *to, &used)
    };
    (0..model.nodes.len()).filter(free).min_by_key(rank_with)
}

/// The node that gets the data of a partition: a learner, since it has them; otherwise the best node for a
/// replica. A place in the wrong zone is the last choice.
pub(crate) fn for_data(
    model: &Model,
    partition: usize,
    from: Option<usize>,
    demands: Demands<'_>,
) -> Option<usize> {
    let anywhere = Demands { zones: None, ..demands };
    learner(model, partition, from, demands)
        .or_else(|| for_replica(model, partition, from, demands))
        .or_else(|| learner(model, partition, from, anywhere))
        .or_else(|| for_replica(model, partition, from, anywhere))
}

/// The first learner that may become a voter.
pub(crate) fn learner(
    model: &Model,
    partition: usize,
    from: Option<usize>,
    demands: Demands<'_>,
) -> Option<usize> {
    let is_free = |to: &usize| {
        let zone = |zones| zone_obstacle(model, partition, from, *to, zones);
        state_obstacle(model, *to).or_else(|| demands.zones.and_then(zone)).is_none()
    };
    model.partitions[partition].learners.iter().copied().find(is_free)
}

/// The best of these voters as a leader: one that may get something, if there is one.
pub(crate) fn for_leader(
    model: &Model,
    partition: usize,
    voters: impl Iterator<Item = usize>,
) -> Option<usize> {
    let rank_with = |to: &usize| {
        let (of, mut used) = (&model.partitions[partition], model.nodes[*to].used);
        if of.leader != Some(*to) {
            used -= &of.follow;
            used += &of.lead;
        }
        (Reverse(model.nodes[*to].is_target), rank(model, *to, &used))
    };
    voters.min_by_key(rank_with)
}

/// The most used of these nodes.
pub(crate) fn most_used(model: &Model, nodes: impl Iterator<Item = usize>) -> Option<usize> {
    nodes.max_by_key(|node| rank(model, *node, &model.nodes[*node].used))
}
