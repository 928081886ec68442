//! Who leads a partition, told beside the error of a broker that does not, or that leads under another epoch (KIP-951). A client
//! goes there at once, and asks nobody for metadata.

use log_wire::messages::share::ShareNodeEndpoint;
use log_wire::{CurrentLeader, ErrorCode, NodeEndpoint, TopicName};

use crate::node::Node;

/// The brokers that an answer names as leaders, with their addresses: each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToldBrokers(Vec<ToldBroker>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ToldBroker {
    id: i32,
    host: String,
    port: i32,
    rack: Option<String>,
}

impl ToldBrokers {
    /// What stands beside that error of a partition: its leader, whose address the answer has from now on, as a client finds it that
    /// came in at that listener. Nothing if the error is another one, or no leader is known that can be reached.
    pub(crate) fn tell(
        &mut self,
        node: &Node,
        listener: u16,
        (topic, index): (TopicName<'_>, i32),
        error: ErrorCode,
    ) -> Option<CurrentLeader> {
        let leader = node.leader_instead(topic, index, error)?;
        let broker = node.brokers.endpoint(leader.id, listener)?;
        if self.0.iter().all(|told| told.id != leader.id) {
            let (host, rack) = (broker.host.to_owned(), broker.rack.map(str::to_owned));
            self.0.push(ToldBroker { id: leader.id, host, port: broker.port, rack });
        }
        Some(leader)
    }

    /// As answers to Produce and Fetch have them.
    pub(crate) fn endpoints(&self) -> Vec<NodeEndpoint<'_>> {
        self.0.iter().map(ToldBroker::endpoint).collect()
    }

    /// As answers of share groups have them.
    pub(crate) fn into_share_endpoints(self) -> Vec<ShareNodeEndpoint> {
        let endpoint =
            |ToldBroker { id, host, port, rack }| ShareNodeEndpoint { node_id: id, host, port, rack };
        self.0.into_iter().map(endpoint).collect()
    }
}

impl ToldBroker {
    fn endpoint(&self) -> NodeEndpoint<'_> {
        NodeEndpoint { id: self.id, host: &self.host, port: self.port, rack: self.rack.as_deref() }
    }
}

impl Node {
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
