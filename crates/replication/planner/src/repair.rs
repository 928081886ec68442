//! What must be put right: leaders that were lost, replicas that are missing, and replicas too many.

use crate::decisions::Decisions;
use crate::model::Model;
use crate::node::NodeState;
use crate::obstacle::Demands;
use crate::problem::ProblemKind;
use crate::reason::Reason;
use crate::target;
use crate::zones::{ZoneLimits, voters_in};

/// Names a leader for each partition that has lost its own.
pub(crate) fn leaders(model: &mut Model, decisions: &mut Decisions) {
    for partition in 0..model.partitions.len() {
        if !model.leader_is_lost(partition) {
            continue;
        }
        let live: Vec<usize> = model.live(partition).collect();
        let Some(to) = target::for_leader(model, partition, live.into_iter()) else {
            decisions.problem(model, ProblemKind::NoLiveReplica, partition);
            continue;
        };
        decisions.lead(model, partition, to, Reason::LeaderLost);
        decisions.emergency_leaders.insert(partition, to);
    }
}

/// Adds what is missing; partitions with the fewest live replicas come first.
pub(crate) fn missing(model: &mut Model, headroom_percent: u32, decisions: &mut Decisions) {
    let zones = ZoneLimits::possible(model);
    let demands = Demands { headroom_percent, zones: Some(&zones) };
    let live = |partition: &usize| model.live(*partition).count();
    let is_short = |partition: &usize| {
        let of = &model.partitions[*partition];
        let live = live(partition);
        live > 0 && (live < of.wanted || live < of.voters.len())
    };
    let mut short: Vec<usize> = (0..model.partitions.len()).filter(is_short).collect();
    short.sort_by_key(live);
    for partition in short {
        fill_up(model, partition, demands, decisions);
        remove_gone(model, partition, decisions);
    }
}

fn fill_up(model: &mut Model, partition: usize, demands: Demands<'_>, decisions: &mut Decisions) {
    loop {
        let (live, of) = (model.live(partition).count(), &model.partitions[partition]);
        if live >= of.wanted {
            return;
        }
        let gone = of.voters.iter().copied().find(|voter| model.nodes[*voter].state == NodeState::Gone);
        let Some(to) = target::for_data(model, partition, None, demands) else {
            let nodes = model.nodes.iter().filter(|node| node.is_target).count();
            let kind = if nodes < of.wanted { ProblemKind::TooFewNodes } else { ProblemKind::NoRoom };
            decisions.problem(model, kind, partition);
            return;
        };
        if let Some(gone) = gone {
            let reason = Reason::NodeGone(model.nodes[gone].id);
            decisions.replace(model, partition, (gone, to), reason);
        } else {
            let reason = Reason::TooFewReplicas { live, wanted: of.wanted };
            decisions.add(model, partition, to, reason);
        }
    }
}

/// Removes voters on nodes that are gone if enough others live.
fn remove_gone(model: &mut Model, partition: usize, decisions: &mut Decisions) {
    let of = &model.partitions[partition];
    if model.live(partition).count() < of.wanted {
        return;
    }
    for voter in of.voters.clone() {
        let node = &model.nodes[voter];
        if node.state == NodeState::Gone {
            let reason = Reason::NodeGone(node.id);
            decisions.remove(model, partition, voter, reason);
        }
    }
}

/// Removes learners on nodes that do not serve, and voters beyond the wanted number.
pub(crate) fn superfluous(model: &mut Model, decisions: &mut Decisions) {
    for partition in 0..model.partitions.len() {
        // A learner may have the last data.
        if model.live(partition).next().is_none() {
            continue;
        }
        for learner in model.partitions[partition].learners.clone() {
            let node = &model.nodes[learner];
            let reason = match node.state {
                NodeState::Serving => continue,
                NodeState::Draining => Reason::Draining(node.id),
                NodeState::Gone => Reason::NodeGone(node.id),
            };
            decisions.remove_learner(model, partition, learner, reason);
        }
        shrink(model, partition, decisions);
    }
}

fn shrink(model: &mut Model, partition: usize, decisions: &mut Decisions) {
    loop {
        let of = &model.partitions[partition];
        let (live, wanted) = (model.live(partition).count(), of.wanted);
        if live <= wanted || of.pinned || model.leader_is_lost(partition) {
            return;
        }
        let reason = Reason::TooManyReplicas { live, wanted };
        let Some(from) = dispensable(model, partition) else { return };
        if of.leader == Some(from) {
            let heirs = heirs(model, partition);
            if let Some(to) = target::for_leader(model, partition, heirs.into_iter()) {
                decisions.lead(model, partition, to, reason);
            }
        }
        decisions.remove(model, partition, from, reason);
    }
}

/// The voters that may lead instead of the leader.
fn heirs(model: &Model, partition: usize) -> Vec<usize> {
    let of = &model.partitions[partition];
    let may_lead = |voter: &usize| of.leader != Some(*voter) && model.nodes[*voter].is_target;
    of.voters.iter().copied().filter(may_lead).collect()
}

/// The live voter that is needed least: on a draining node, then in the zone with the most, then on the most
/// used node. The leader goes only if it is on a draining node and another may lead.
fn dispensable(model: &Model, partition: usize) -> Option<usize> {
    let may_lose_leader = !heirs(model, partition).is_empty();
    let key = |voter: &usize| {
        let node = &model.nodes[*voter];
        let leads = model.partitions[partition].leader == Some(*voter);
        let is_draining = node.state == NodeState::Draining && (!leads || may_lose_leader);
        (is_draining, !leads, voters_in(model, partition, node.zone, None))
    };
    let most = model.live(partition).map(|voter| key(&voter)).max()?;
    target::most_used(model, model.live(partition).filter(|voter| key(voter) == most))
}
