//! The brokers that an answer names as leaders (KIP-951), with their addresses.

use log_wire::NodeEndpoint;
use log_wire::messages::share::ShareNodeEndpoint;

use crate::brokers::LiveBroker;

/// See the module. Each is there once.
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
    /// The answer has the address of that broker, too.
    pub(crate) fn add(&mut self, LiveBroker { id, host, port, rack }: LiveBroker<'_>) {
        if self.0.iter().all(|told| told.id != id) {
            let (host, rack) = (host.to_owned(), rack.map(str::to_owned));
            self.0.push(ToldBroker { id, host, port, rack });
        }
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
