//! Who leads a partition, told beside the error of a broker that does not, or that leads under another epoch (KIP-951). A client
//! goes there at once, and asks nobody for metadata.

use log_wire::{CurrentLeader, ErrorCode, TopicName};

use crate::node::Node;
use crate::response::ToldBrokers;

impl Node {
    /// What stands beside that error of a partition: its leader, whose address the answer has from now on, as a client finds it that
    /// came in at that listener. Nothing if the error is another one, or no leader is known that can be reached.
    pub(crate) fn tell_leader(
        &self,
        told: &mut ToldBrokers,
        listener: u16,
        (topic, index): (TopicName<'_>, i32),
        error: ErrorCode,
    ) -> Option<CurrentLeader> {
        let leader = self.leader_instead(topic, index, error)?;
        told.add(self.brokers.endpoint(leader.id, listener)?);
        Some(leader)
    }

    fn leader_instead(&self, topic: TopicName<'_>, index: i32, error: ErrorCode) -> Option<CurrentLeader> {
        if !matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch) {
            return None;
        }
        let topic = self.catalog.find(topic).ok()?;
        let image = topic.partitions.get(usize::try_from(index).ok()?)?;
        let id = self.leader_of(topic, index, image)?;
        // A leader that takes nothing for now, since it hands over, has nobody to send its clients to yet.
        let is_another = id != self.config.node_id || error == ErrorCode::FencedLeaderEpoch;
        is_another.then_some(CurrentLeader { id, epoch: image.epoch.0 })
    }
}
