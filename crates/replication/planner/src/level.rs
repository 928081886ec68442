//! When the load is out of balance, how far it is to be balanced, and when that was worth it.

use crate::model::{Model, NodeModel};
use crate::node::NodeState;
use crate::resource::{Resource, Utilisation};
use crate::settings::Settings;
use crate::trial::Levels;

/// The resources that are no amount, but a number of partitions.
const COUNTS: [Resource; 2] = [Resource::Leaders, Resource::Replicas];

/// The levels of utilisation of each resource that decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    even: Levels,
    begin: Levels,
    /// Below this a node has too little. Only counts have such a level: other resources need not be used.
    low: Levels,
    aim: Levels,
}

impl Balance {
    pub(crate) fn new(model: &Model, settings: &Settings) -> Self {
        let mut even = model.even.map(|even| even.max(settings.even_min));
        if !settings.balance_counts {
            // No node has more than this, so counts are neither out of balance nor worth anything.
            COUNTS.into_iter().for_each(|counts| even[counts.index()] = Utilisation(u32::MAX));
        }
        Self {
            even,
            begin: even.map(|even| even.times_percent(settings.begin_percent)),
            low: Resource::ALL.map(|resource| match COUNTS.contains(&resource) {
                true if settings.balance_counts => {
                    even[resource.index()].times_percent(settings.begin_low_percent)
                }
                _ => Utilisation(0),
            }),
            aim: even.map(|even| even.times_percent(settings.aim_percent)),
        }
    }

    /// Up to here a node need not be relieved.
    pub(crate) const fn aim(&self, resource: Resource) -> Utilisation {
        self.aim[resource.index()]
    }

    pub(crate) const fn aims(&self) -> &Levels {
        &self.aim
    }

    /// The resources of which some node uses too much or too little.
    pub(crate) fn out_of_balance(&self, model: &Model) -> Vec<Resource> {
        let is_out = |resource: &Resource| {
            model.nodes.iter().any(|node| self.is_high(node, *resource) || self.is_low(node, *resource))
        };
        Resource::ALL.into_iter().filter(is_out).collect()
    }

    fn is_high(&self, node: &NodeModel, resource: Resource) -> bool {
        node.state == NodeState::Serving && node.utilisation(resource) > self.begin[resource.index()]
    }

    fn is_low(&self, node: &NodeModel, resource: Resource) -> bool {
        node.is_target && node.utilisation(resource) < self.low[resource.index()]
    }

    /// Whether a node that used too much or too little of a resource gained enough.
    pub(crate) fn gained(&self, before: &Model, after: &Model, settings: &Settings) -> bool {
        before.nodes.iter().zip(&after.nodes).any(|(old, new)| {
            Resource::ALL.into_iter().any(|resource| {
                let enough = self.even[resource.index()].times_percent(settings.gain_min_percent).0;
                let (before, after) = (old.utilisation(resource).0, new.utilisation(resource).0);
                (self.is_high(old, resource) && before.saturating_sub(after) >= enough)
                    || (self.is_low(old, resource) && after.saturating_sub(before) >= enough)
            })
        })
    }
}
