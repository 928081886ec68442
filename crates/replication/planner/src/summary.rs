//! How the load lies on the nodes: for each resource, who uses most of it, and how much that is compared with
//! an even spread.

use core::fmt;

use crate::ids::NodeId;
use crate::model::{Model, NodeModel};
use crate::node::NodeState;
use crate::resource::{Resource, Utilisation};

/// How one resource is used on the nodes that serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceSummary {
    /// The resource.
    pub resource: Resource,
    /// The node that uses most of it; none if no node serves.
    pub most_used: Option<NodeId>,
    /// How much that node uses.
    pub highest: Utilisation,
    /// How much the node uses that uses least.
    pub lowest: Utilisation,
    /// How much each node would use if load were spread in proportion to capacity. No plan gets below this.
    pub even: Utilisation,
}

impl ResourceSummary {
    /// The highest utilisation in percent of the even one: 100 is perfect.
    #[must_use]
    pub fn spread_percent(&self) -> u64 {
        u64::from(self.highest.0) * 100 / u64::from(self.even.0.max(1))
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// One for each resource, in their order.
    pub resources: Vec<ResourceSummary>,
}

impl Summary {
    pub(crate) fn of(model: &Model) -> Self {
        Self { resources: Resource::ALL.map(|resource| of_resource(model, resource)).to_vec() }
    }

    /// How one resource is used.
    #[must_use]
    pub fn of_resource(&self, resource: Resource) -> &ResourceSummary {
        &self.resources[resource.index()]
    }

    /// The highest utilisation of any resource for which nodes have a capacity.
    #[must_use]
    pub fn highest(&self) -> Utilisation {
        let measured = Resource::WITH_CAPACITY.map(|resource| self.of_resource(resource).highest);
        measured.into_iter().max().unwrap_or_default()
    }
}

fn of_resource(model: &Model, resource: Resource) -> ResourceSummary {
    let serving = || model.nodes.iter().filter(|node| node.state == NodeState::Serving);
    let used = |node: &&NodeModel| node.utilisation(resource);
    ResourceSummary {
        resource,
        // The first of equal ones.
        most_used: serving().rev().max_by_key(used).map(|node| node.id),
        highest: serving().map(|node| used(&node)).max().unwrap_or_default(),
        lowest: serving().map(|node| used(&node)).min().unwrap_or_default(),
        even: model.even[resource.index()],
    }
}

impl fmt::Display for ResourceSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: highest {}, lowest {}, even {}", self.resource, self.highest, self.lowest, self.even)?;
        self.most_used.map_or(Ok(()), |node| write!(f, "; {node} uses most"))
    }
}
