//! A broker that is about to stop: the controller hands over what it leads (rule P9), to replicas that have everything.

use base::Now;

use super::Replication;
use crate::catalog::TopicImage;
use crate::node::Node;

impl Replication {
    /// Tells all controllers, those of later too, that this broker is to lead nothing.
    pub(crate) fn drain(&mut self, node: &mut Node, now: Now) {
        self.is_stopping = true;
        self.drains_changed(node, now);
    }

    /// Whether this broker is to lead nothing may be otherwise than before: since it stops, or since all is to move away from it.
    pub(crate) fn drains_changed(&mut self, node: &mut Node, now: Now) {
        let drains = self.is_stopping || node.brokers.drained().contains(&node.config.node_id);
        self.machine.drain(drains);
        node.brokers.drains(node.config.node_id, drains);
        self.carry_out(node, now);
    }

    /// How many partitions this broker leads, by the records, that another one could lead: one that votes, is connected, and does
    /// not drain itself. It looks at all partitions.
    pub(crate) fn to_hand_over(&self, node: &Node) -> usize {
        let of_topic = |topic: &TopicImage| {
            let led = topic.partitions.iter().filter(|image| image.leader.cast_unsigned() == self.own.0);
            let could_go = led.filter(|image| {
                let voters = image.replicas.iter().filter(|id| !image.rest.learners.contains(id));
                image.is_replicated()
                    && voters
                        .into_iter()
                        .any(|id| id.cast_unsigned() != self.own.0 && node.brokers.may_lead(*id))
            });
            could_go.count()
        };
        node.catalog.topics().map(of_topic).sum()
    }
}
