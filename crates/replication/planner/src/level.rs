//! When the load is out of balance, how far it is to be balanced, and when that was worth it.

use crate::model::Model;
use crate::node::NodeState;
use crate::resource::{Resource, Utilisation};
use crate::settings::Settings;
use crate::trial::Levels;

/// The levels of utilisation of each resource that decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    even: Levels,
    begin: Levels,
    aim: Levels,
}

impl Balance {
    pub(crate) fn new(model: &Model, settings: &Settings) -> Self {
        let even = model.even.map(|even| even.max(settings.even_min));
        Self {
            even,
            begin: even.map(|even| even.times_percent(settings.begin_percent)),
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

    /// The resources of which some node uses too much.
    pub(crate) fn out_of_balance(&self, model: &Model) -> Vec<Resource> {
        let serving = || model.nodes.iter().filter(|node| node.state == NodeState::Serving);
        let is_out = |resource: &Resource| {
            serving().any(|node| node.utilisation(*resource) > self.begin[resource.index()])
        };
        Resource::ALL.into_iter().filter(is_out).collect()
    }

    /// Whether a node that used too much of a resource gained enough.
    pub(crate) fn gained(&self, before: &Model, after: &Model, settings: &Settings) -> bool {
        before.nodes.iter().zip(&after.nodes).any(|(before, after)| {
            let gained = |resource: Resource| {
                let index = resource.index();
                let (before, after) = (before.utilisation(resource), after.utilisation(resource));
                let enough = self.even[index].times_percent(settings.gain_min_percent);
                before > self.begin[index] && before.0.saturating_sub(after.0) >= enough.0
            };
            before.state == NodeState::Serving && Resource::ALL.into_iter().any(gained)
        })
    }
}
