//! The council as a broker sees it: a model of an ensemble whose servers lag, and one connection of one client.

use std::net::SocketAddr;
use std::time::Duration;

use council_client_core::{Action, ConnectFailure, DataClient, Output, Settings, WatcherId};
use council_client_model::Ensemble;
use log_metadata::paths;
use sim_kit::random::Random;

/// The one watcher of a broker.
pub(crate) const WATCHER: WatcherId = WatcherId(1);

/// See the module.
pub(crate) struct Council {
    pub(crate) ensemble: Ensemble,
    /// Sessions that are over and whose ephemeral nodes are not gone yet.
    dying: Vec<i64>,
}

/// A client of the council, with its connection.
pub(crate) struct CouncilClient {
    pub(crate) client: DataClient,
    link: Option<usize>,
}

impl Council {
    pub(crate) fn new(servers: usize) -> Self {
        Self { ensemble: Ensemble::new(servers), dying: Vec::new() }
    }

    /// What a node has, as far as that is decided: for who looks from above.
    pub(crate) fn data(&self, path: &str) -> Option<&[u8]> {
        self.ensemble.tree.get(path).map(|node| node.data.as_slice())
    }

    /// The children of a node, with what they have.
    pub(crate) fn children(&self, parent: &str) -> impl Iterator<Item = (&str, &[u8])> {
        let all = self.ensemble.tree.iter();
        all.filter_map(move |(path, node)| Some((paths::child_of(path, parent)?, node.data.as_slice())))
    }

    /// Something happens in the ensemble.
    pub(crate) fn step(&mut self, random: &mut Random, faulty: bool) {
        let server = random.below(self.ensemble.servers.len() as u64) as usize;
        if !faulty || random.chance(70) {
            self.ensemble.apply(server);
        }
        if !self.dying.is_empty() && random.chance(5) {
            self.ensemble.bury(self.dying.remove(0));
        }
        let travelling: Vec<usize> = (0..self.ensemble.connections.len())
            .filter(|id| self.ensemble.connections[*id].is_travelling())
            .collect();
        if !travelling.is_empty() && random.chance(50) {
            self.ensemble.execute_for(travelling[random.below(travelling.len() as u64) as usize]);
        }
    }

    /// The session of a client expires: of its ephemeral nodes the ensemble takes leave later.
    pub(crate) fn expire(&mut self, client: &CouncilClient) {
        let session = client.client.machine.ticket().session.0;
        self.dying.extend(self.ensemble.expire(session).then_some(session));
    }

    /// The process of a client is gone: its session expires some time later.
    pub(crate) fn abandon(&mut self, client: CouncilClient) {
        if let Some(id) = client.link {
            self.ensemble.connections[id].closed = true;
        }
        self.expire(&client);
    }
}

impl CouncilClient {
    pub(crate) fn new(servers: usize, seed: u64, now: Duration) -> Self {
        let hosts = (0..servers).map(|index| (format!("s{index}"), index as u16 + 1)).collect();
        let settings = Settings {
            hosts,
            seed,
            renew: true,
            session_timeout: Duration::from_secs(10),
            ..Settings::default()
        };
        let mut client = DataClient::new(settings, now);
        client.machine.listen(WATCHER, &mut client.outputs);
        Self { client, link: None }
    }

    /// The connection breaks.
    pub(crate) fn cut(&mut self, council: &mut Council) {
        if let Some(id) = self.link {
            council.ensemble.connections[id].closed = true;
        }
    }

    /// What a driver does: connects, and moves some bytes each way.
    pub(crate) fn drive(&mut self, council: &mut Council, random: &mut Random, now: Duration) {
        let DataClient { machine, outputs } = &mut self.client;
        machine.tick(now, outputs);
        while let Some(action) = machine.action() {
            match action {
                Action::Resolve { port, .. } => {
                    machine.resolved(Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]), outputs);
                    machine.tick(now, outputs);
                }
                Action::Connect(target) => {
                    self.link = Some(council.ensemble.connect(usize::from(target.port) - 1));
                    machine.connected(now, [7; 16]);
                }
                Action::Close => {
                    if let Some(id) = self.link.take() {
                        council.ensemble.connections[id].closed = true;
                    }
                }
            }
        }
        self.transfer(council, random, now);
    }

    fn transfer(&mut self, council: &mut Council, random: &mut Random, now: Duration) {
        let Some(id) = self.link else { return };
        let (up, down) = (random.number(), random.number());
        let DataClient { machine, outputs } = &mut self.client;
        let connection = &mut council.ensemble.connections[id];
        if !connection.closed {
            let bytes = machine.output().to_vec();
            let count = (up % (bytes.len() as u64 + 1)) as usize;
            connection.input.extend_from_slice(&bytes[..count]);
            machine.sent(now, count);
        }
        let count = (down % (connection.output.len() as u64 + 1)) as usize;
        let bytes: Vec<u8> = connection.output.drain(..count).collect();
        if !bytes.is_empty() {
            machine.received(now, &bytes, outputs);
        }
        if connection.closed && (connection.output.is_empty() || up % 3 == 0) {
            self.link = None;
            machine.disconnected(now, ConnectFailure::Closed, outputs);
        } else {
            council.ensemble.serve(id);
        }
    }

    pub(crate) fn output(&mut self) -> Option<Output> {
        self.client.output()
    }
}
