//! What a broker remembers to balance leaders and replicas: what it has counted and told, and, if it is the controller, what is being
//! changed. What happens when is in `balancing`.

use base::MonoTime;
use log_balance::{Balancer, Meter, Report};
use log_partition::PartitionId;

use crate::cluster_loads::ClusterLoads;
use crate::node::Node;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Balance {
    /// When the window ends.
    pub(crate) due: Option<MonoTime>,
    /// When it is asked again for leaders that are to change.
    pub(crate) again: Option<MonoTime>,
    pub(crate) meter: Meter<PartitionId>,
    /// The controller that knows what the meter takes for told.
    pub(crate) told_to: Option<i32>,
    pub(crate) balancer: Balancer,
}

impl Balance {
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        [self.due, self.again].into_iter().flatten().min()
    }

    /// The link to another broker is new: what was told to it before may be lost.
    pub(crate) fn link_changed(&mut self, broker: i32) {
        self.told_to = self.told_to.filter(|told| *told != broker);
    }

    /// Nothing of this broker is the controller's any more.
    pub(crate) fn resign(&mut self, node: &mut Node) {
        (self.balancer, self.again) = (Balancer::default(), None);
        node.loads = ClusterLoads::default();
        node.balance_report = Report::default();
    }
}
