//! What must leave the place where it is: everything on a draining node, and replicas of which a zone has too
//! many.

use crate::decisions::Decisions;
use crate::model::Model;
use crate::node::NodeState;
use crate::obstacle::Demands;
use crate::problem::ProblemKind;
use crate::reason::Reason;
use crate::target;
use crate::zones::{ZoneLimits, voters_in};

/// Empties the nodes that are draining: leaders go to other voters, and replicas to other nodes.
pub(crate) fn drain(model: &mut Model, headroom_percent: u32, decisions: &mut Decisions) {
    let zones = ZoneLimits::possible(model);
    let demands = Demands { headroom_percent, zones: Some(&zones) };
    for node in 0..model.nodes.len() {
        if model.nodes[node].state != NodeState::Draining {
            continue;
        }
        let reason = Reason::Draining(model.nodes[node].id);
        for partition in model.nodes[node].leads.clone() {
            let others = model.partitions[partition].voters.clone().into_iter();
            let others = others.filter(|voter| model.nodes[*voter].is_target);
            if model.partitions[partition].pinned {
                continue;
            }
            if let Some(to) = target::for_leader(model, partition, others) {
                decisions.lead(model, partition, to, reason);
            }
        }
        for partition in model.nodes[node].votes.clone() {
            drain_replica(model, partition, node, demands, decisions);
        }
    }
}

fn drain_replica(
    model: &mut Model,
    partition: usize,
    from: usize,
    demands: Demands<'_>,
    decisions: &mut Decisions,
) {
    if model.partitions[partition].pinned {
        decisions.problem(model, ProblemKind::PinnedOnDraining, partition);
        return;
    }
    if model.leader_is_lost(partition) {
        return;
    }
    let Some(to) = target::for_data(model, partition, Some(from), demands) else {
        decisions.problem(model, ProblemKind::NoRoom, partition);
        return;
    };
    let reason = Reason::Draining(model.nodes[from].id);
    decisions.replace(model, partition, (from, to), reason);
}

/// Spreads replicas over zones, as far as the nodes that serve allow.
pub(crate) fn spread(model: &mut Model, headroom_percent: u32, decisions: &mut Decisions) {
    let zones = ZoneLimits::possible(model);
    let demands = Demands { headroom_percent, zones: Some(&zones) };
    for partition in 0..model.partitions.len() {
        if model.partitions[partition].pinned || model.leader_is_lost(partition) {
            continue;
        }
        while let Some(from) = crowded(model, partition, &zones) {
            // Not as a move from there: a move inside a zone would be allowed.
            let to = target::learner(model, partition, None, demands)
                .or_else(|| target::for_replica(model, partition, None, demands));
            let Some(to) = to else { break };
            let reason = Reason::ZoneHasTooMany(model.nodes[from].zone);
            decisions.replace(model, partition, (from, to), reason);
        }
    }
}

/// A voter to take from a zone that has too many, rather not the leader.
fn crowded(model: &Model, partition: usize, zones: &ZoneLimits) -> Option<usize> {
    let of = &model.partitions[partition];
    let limit = zones.limit(of.wanted);
    let in_crowd = |voter: &usize| {
        let node = &model.nodes[*voter];
        node.state == NodeState::Serving && voters_in(model, partition, node.zone, None) > limit
    };
    let crowd = || of.voters.iter().copied().filter(in_crowd);
    target::most_used(model, crowd().filter(|voter| of.leader != Some(*voter))).or_else(|| crowd().next())
}

/// Tells which partitions have more replicas in a zone than the zones of the cluster ask for.
pub(crate) fn tell_crowded(model: &Model, decisions: &mut Decisions) {
    let zones = ZoneLimits::intended(model);
    for partition in 0..model.partitions.len() {
        if crowded(model, partition, &zones).is_some() {
            decisions.problem(model, ProblemKind::ZoneHasTooMany, partition);
        }
    }
}
