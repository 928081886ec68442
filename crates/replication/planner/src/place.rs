//! The first replicas of new partitions.

use crate::decisions::Decisions;
use crate::model::Model;
use crate::obstacle::Demands;
use crate::problem::ProblemKind;
use crate::reason::Reason;
use crate::target;
use crate::zones::ZoneLimits;

/// Places each partition that has no voters.
pub(crate) fn place(model: &mut Model, headroom_percent: u32, decisions: &mut Decisions) {
    let zones = ZoneLimits::possible(model);
    let demands = Demands { headroom_percent, zones: Some(&zones) };
    for partition in 0..model.partitions.len() {
        if model.partitions[partition].voters.is_empty() {
            place_one(model, partition, demands, decisions);
        }
    }
}

fn place_one(model: &mut Model, partition: usize, demands: Demands<'_>, decisions: &mut Decisions) {
    while model.partitions[partition].voters.len() < model.partitions[partition].wanted {
        let anywhere = Demands { zones: None, ..demands };
        let to = target::for_replica(model, partition, None, demands)
            .or_else(|| target::for_replica(model, partition, None, anywhere));
        let Some(to) = to else {
            let nodes = model.nodes.iter().filter(|node| node.is_target).count();
            let too_few = nodes < model.partitions[partition].wanted;
            let kind = if too_few { ProblemKind::TooFewNodes } else { ProblemKind::NoRoom };
            decisions.problem(model, kind, partition);
            break;
        };
        decisions.add(model, partition, to, Reason::New);
    }
    let voters = model.partitions[partition].voters.clone();
    if let Some(leader) = target::for_leader(model, partition, voters.into_iter()) {
        decisions.lead(model, partition, leader, Reason::New);
    }
}
