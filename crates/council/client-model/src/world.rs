//! Clients with a recipe each over the model of an ensemble, in an order that a seed draws: bytes come in pieces,
//! servers lag, connections break at any byte, sessions expire, and a client's reports wait before its recipe takes
//! them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use council_client_core::recipes::{Ask, Input, Recipe};
use council_client_core::{
    Action, ConnectFailure, DataClient, Output, Random, RequestId, Settings, WatcherId,
};

use crate::Ensemble;

const WATCHER: WatcherId = WatcherId(1);

/// One client and its recipe.
pub struct Peer<R> {
    pub client: DataClient,
    pub recipe: R,
    /// Its connection.
    link: Option<usize>,
    inbox: VecDeque<Input>,
    asks: VecDeque<Ask>,
    /// From where the numbers of this recipe's requests count: those of recipes before it are lower.
    first_id: u64,
}

pub struct World<R> {
    pub ensemble: Ensemble,
    pub peers: Vec<Peer<R>>,
    pub random: Random,
    pub now: Duration,
    /// Whether connections break and sessions expire.
    pub faults: bool,
    /// Servers that apply nothing for a while.
    lazy: Vec<bool>,
    /// Sessions that are over, and whose ephemeral nodes are not gone yet.
    dying: Vec<i64>,
}

impl<R: Recipe> World<R> {
    pub fn new(seed: u64, servers: usize, recipes: impl IntoIterator<Item = R>) -> Self {
        let mut random = Random::new(seed);
        let now = Duration::from_secs(1);
        let mut peers = Vec::new();
        for recipe in recipes {
            let hosts = (0..servers).map(|index| (format!("s{index}"), index as u16 + 1)).collect();
            let (first_host, seed) = (random.below(servers as u64) as usize, random.number());
            let settings = Settings {
                hosts,
                first_host,
                seed,
                renew: true,
                session_timeout: Duration::from_secs(10),
                ..Settings::default()
            };
            let mut client = DataClient::new(settings, now);
            client.machine.listen(WATCHER, &mut client.outputs);
            let (inbox, asks) = (VecDeque::new(), VecDeque::new());
            peers.push(Peer { client, recipe, link: None, inbox, asks, first_id: 0 });
        }
        Self {
            ensemble: Ensemble::new(servers),
            peers,
            random,
            now,
            faults: true,
            lazy: vec![false; servers],
            dying: Vec::new(),
        }
    }

    fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    fn pick(&mut self, count: usize) -> usize {
        self.random.below(count as u64) as usize
    }

    /// Something happens somewhere.
    pub fn step(&mut self) {
        self.now += Duration::from_millis(self.random.below(20));
        let server = self.pick(self.ensemble.servers.len());
        if self.faults && self.chance(100) {
            self.lazy[server] = !self.lazy[server];
        }
        if !self.faults || !self.lazy[server] {
            self.ensemble.apply(server);
        }
        if !self.dying.is_empty() && self.chance(20) {
            self.ensemble.bury(self.dying.remove(0));
        }
        let live: Vec<usize> = self.peers.iter().filter_map(|peer| peer.link).collect();
        if !live.is_empty() {
            let id = live[self.pick(live.len())];
            self.ensemble.serve(id);
        }
        // Writes of connections that are broken travel on.
        let travelling: Vec<usize> = (0..self.ensemble.connections.len())
            .filter(|id| self.ensemble.connections[*id].is_travelling())
            .collect();
        if !travelling.is_empty() && self.chance(2) {
            let id = travelling[self.pick(travelling.len())];
            self.ensemble.execute_for(id);
        }
        let peer = self.pick(self.peers.len());
        self.drive(peer);
        if self.faults
            && self.chance(150)
            && let Some(id) = self.peers[peer].link
        {
            self.ensemble.connections[id].closed = true;
        }
        if self.faults && self.chance(600) {
            let session = self.peers[peer].client.machine.ticket().session.0;
            self.dying.extend(self.ensemble.expire(session).then_some(session));
            if let Some(id) = self.peers[peer].link
                && self.chance(2)
            {
                self.ensemble.connections[id].closed = true;
            }
        }
    }

    /// One peer does what a driver does.
    fn drive(&mut self, index: usize) {
        let (now, peer) = (self.now, &mut self.peers[index]);
        let DataClient { machine, outputs } = &mut peer.client;
        machine.tick(now, outputs);
        while let Some(action) = machine.action() {
            match action {
                Action::Resolve { port, .. } => {
                    machine.resolved(Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]), outputs);
                    machine.tick(now, outputs);
                }
                Action::Connect(target) => {
                    peer.link = Some(self.ensemble.connect(usize::from(target.port) - 1));
                    machine.connected(now, [7; 16]);
                }
                Action::Close => {
                    if let Some(id) = peer.link.take() {
                        self.ensemble.connections[id].closed = true;
                    }
                }
            }
        }
        self.transfer(index);
        self.run_recipe(index);
    }

    /// Some bytes go each way.
    fn transfer(&mut self, index: usize) {
        let Some(id) = self.peers[index].link else { return };
        let (up, down) = (self.random.number(), self.random.number());
        let DataClient { machine, outputs } = &mut self.peers[index].client;
        let connection = &mut self.ensemble.connections[id];
        if !connection.closed {
            let bytes = machine.output().to_vec();
            let count = (up % (bytes.len() as u64 + 1)) as usize;
            connection.input.extend_from_slice(&bytes[..count]);
            machine.sent(self.now, count);
        }
        // Of a connection that broke something may arrive still, or nothing.
        let count = (down % (connection.output.len() as u64 + 1)) as usize;
        let bytes: Vec<u8> = connection.output.drain(..count).collect();
        if !bytes.is_empty() {
            machine.received(self.now, &bytes, outputs);
        }
        if connection.closed && (connection.output.is_empty() || up % 3 == 0) {
            self.peers[index].link = None;
            let DataClient { machine, outputs } = &mut self.peers[index].client;
            machine.disconnected(self.now, ConnectFailure::Closed, outputs);
        }
    }

    /// The recipe takes some of the reports, and some of its requests are submitted.
    fn run_recipe(&mut self, index: usize) {
        let patience = self.random.below(4);
        let peer = &mut self.peers[index];
        let is_over = peer.client.machine.over().is_some();
        while let Some(output) = peer.client.output() {
            peer.inbox.push_back(match output {
                Output::Replied(RequestId(id), _) if id < peer.first_id => continue,
                Output::Replied(RequestId(id), replied) => {
                    Input::Replied(RequestId(id - peer.first_id), replied)
                }
                Output::Event(_, event) => Input::Event(event),
                Output::State(_, change) => Input::of_state(change, is_over),
            });
        }
        for _ in 0..patience {
            let Some(input) = peer.inbox.pop_front() else { break };
            peer.recipe.tell(input);
        }
        while let Some(ask) = peer.recipe.next() {
            peer.asks.push_back(ask);
        }
        for _ in 0..patience {
            let Some(Ask { id, request }) = peer.asks.pop_front() else { break };
            peer.client.submit(RequestId(peer.first_id + id.0), &request, Some(WATCHER));
        }
    }

    /// Tells the recipe of a peer that its user is done.
    pub fn release(&mut self, index: usize) {
        self.peers[index].inbox.push_back(Input::Release);
    }

    /// The recipe of a peer is a new one: reports and requests of the last one are dropped, and it gets the
    /// connection's state.
    pub fn restart_recipe(&mut self, index: usize) {
        let peer = &mut self.peers[index];
        peer.first_id += 1 << 20;
        peer.inbox.clear();
        peer.asks.clear();
        while peer.client.output().is_some() {}
        let DataClient { machine, outputs } = &mut peer.client;
        machine.unlisten(&WATCHER);
        machine.listen(WATCHER, outputs);
    }

    /// No more faults; goes on until `done`.
    pub fn heal_until(&mut self, done: impl Fn(&Self) -> bool) {
        self.faults = false;
        for _ in 0..200_000 {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!("it does not come to an end");
    }
}
