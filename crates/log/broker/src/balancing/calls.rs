//! What brokers tell each other for balance: loads to the controller, and to leaders which copies are the controller's.

use std::collections::BTreeMap;

use base::Now;
use log_partition::PartitionId;
use replication_wire::Call;

use super::{WINDOWS_SILENT_MAX, room};
use crate::broker::Broker;
use crate::node::Node;
use crate::peer_calls::load_codec::{self, LOADS_PER_CALL, Told};

impl Broker {
    /// The controller is told what is new.
    pub(super) fn tell_loads(&mut self, controller: i32) {
        if self.balance.told_to != Some(controller) {
            self.balance.meter.tell_anew();
        }
        let (room, news) = (room(&self.node), self.balance.meter.take_news());
        // One that has nothing new says so, too: it is alive, and its loads are as they were.
        let chunks = news.chunks(LOADS_PER_CALL).chain(news.is_empty().then_some(&news[..]));
        let calls: Vec<Vec<u8>> = chunks.map(|part| load_codec::loads(room, part)).collect();
        let mut is_told = true;
        for bytes in calls {
            is_told &= self.tell(controller, &bytes);
        }
        self.balance.told_to = is_told.then_some(controller);
    }

    /// Leaders are told which copies to throttle.
    pub(super) fn tell_moves(&mut self, now: Now) {
        let mut by_leader = BTreeMap::<i32, Vec<PartitionId>>::new();
        for (topic, index, _) in self.balance.balancer.open() {
            if let Some((leader, id)) = moving(&self.node, topic, index) {
                by_leader.entry(leader).or_default().push(id);
            }
        }
        for (leader, moves) in by_leader {
            if leader == self.node.config.node_id {
                self.throttle_moves(moves, now);
            } else {
                self.tell(leader, &load_codec::moves(&moves));
            }
        }
    }

    /// The controller says that these copies are its own.
    pub(crate) fn throttle_moves(&mut self, moves: Vec<PartitionId>, now: Now) {
        let long_ms = self.node.config.balance.interval_ms.saturating_mul(WINDOWS_SILENT_MAX);
        self.replication.throttle_moves(&self.node, moves, now.mono().plus_ms(long_ms));
    }

    /// Another broker tells what it has measured.
    pub(crate) fn loads_told(&mut self, broker: i32, Told { room, rates }: Told, now: Now) {
        let Self { node, .. } = self;
        // Who is no controller does not keep it.
        if node.brokers.controller() == node.config.node_id {
            let known = rates.into_iter().filter(|(id, _)| node.catalog.topic_of(*id).is_some());
            node.loads.told(broker, room, known, now.mono());
        }
    }

    fn tell(&mut self, broker: i32, bytes: &[u8]) -> bool {
        let id = self.peer_calls.next_id();
        self.replication.call(broker, &Call { id, is_answer: false, bytes })
    }
}

/// The leader of a partition that moves.
fn moving(node: &Node, topic: &str, index: i32) -> Option<(i32, PartitionId)> {
    let topic = node.catalog.find(log_wire::TopicName::Name(topic)).ok()?;
    let image = topic.partitions.get(usize::try_from(index).ok()?)?;
    image.settled_replicas().is_none().then_some((image.leader, topic.partition(index)))
}
