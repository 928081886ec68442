//! All clients: what each has asked and not heard, what they ask next, and what was measured of it; also the turn of the one
//! thread of `lab`'s load generator, where that costs something. Knows no member and no price.

use std::collections::VecDeque;

use hdrhistogram::Histogram;

use super::count::{Came, of};
use super::member::{Told, Turn};
use super::request::{Heard, RequestId, Requests};
use super::setup::{Pace, Setup, Work};
use crate::random::Random;

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// Where it is connected: a member's place, its shard, the connection's place there.
    pub(super) member: usize,
    pub(super) shard: usize,
    pub(super) socket: usize,
    /// When it asked for what it has not heard yet.
    asked: VecDeque<u64>,
    /// What has arrived and was not read yet.
    unread: Option<Heard>,
}

/// What was measured.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) operations: u64,
    pub(super) errors: u64,
    pub(super) events: u64,
    pub(super) last_ns: u64,
    /// Nanoseconds.
    pub(super) latency: Histogram<u64>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) all: Vec<Client>,
    pub(super) requests: Requests,
    pub(super) tally: Tally,
    /// Requests that were not answered yet.
    pub(super) owed: usize,
    /// Those with something to read, in the order in which it came.
    arrived: VecDeque<usize>,
    /// Who may have less outstanding than it should.
    hungry: Vec<usize>,
    pace: Pace,
    work: Work,
    nodes: u32,
    random: Random,
    /// Since when they keep their pace.
    began_ns: Option<u64>,
    /// Requests of an open pace that were sent.
    sent: u64,
}

impl Tally {
    fn new() -> Self {
        let latency = Histogram::new_with_bounds(1, 600_000_000_000, 3);
        let latency = latency.expect("the bounds are fixed and valid");
        Self { operations: 0, errors: 0, events: 0, last_ns: 0, latency }
    }
}

impl Clients {
    pub(super) fn new(setup: &Setup, nodes: u32, random: Random) -> Self {
        Self {
            all: Vec::new(),
            requests: Requests::new(nodes, setup.value_bytes),
            tally: Tally::new(),
            owed: 0,
            arrived: VecDeque::new(),
            hungry: Vec::new(),
            pace: setup.pace,
            work: setup.work,
            nodes,
            random,
            began_ns: None,
            sent: 0,
        }
    }

    /// One more, connected there.
    pub(super) fn add(&mut self, member: usize, shard: usize, socket: usize) {
        self.all.push(Client { member, shard, socket, asked: VecDeque::new(), unread: None });
    }

    /// It asks now.
    pub(super) fn asks(&mut self, client: usize, requests: usize, now_ns: u64) {
        self.owed += requests;
        self.all[client].asked.extend(std::iter::repeat_n(now_ns, requests));
    }

    /// From now on they keep their pace, but for the first client, which only prepared the nodes.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.began_ns = Some(now_ns);
        if matches!(self.pace, Pace::Closed { .. }) {
            self.hungry = (1..self.all.len()).collect();
        }
    }

    /// What was measured is forgotten.
    pub(super) fn reset(&mut self) {
        self.tally = Tally::new();
    }

    /// Something for that client lies in its socket.
    pub(super) fn arrive(&mut self, client: usize, heard: Heard) {
        let unread = &mut self.all[client].unread;
        if unread.is_none() {
            self.arrived.push_back(client);
        }
        *unread = Some(unread.unwrap_or_default().and(heard));
    }

    /// What a client has heard counts now.
    pub(super) fn hear(&mut self, client: usize, heard: Heard, now_ns: u64) {
        for _ in 0..heard.replies {
            let asked = self.all[client].asked.pop_front().expect("a reply answers a request");
            self.tally.latency.saturating_record(now_ns - asked);
        }
        self.owed -= heard.replies;
        self.tally.operations += (heard.replies - heard.errors) as u64;
        self.tally.errors += heard.errors as u64;
        self.tally.events += heard.events as u64;
        self.tally.last_ns = now_ns;
        let is_closed = matches!(self.pace, Pace::Closed { .. });
        if heard.replies > 0 && is_closed && self.began_ns.is_some() && client > 0 {
            self.hungry.push(client);
        }
    }

    /// What is to be asked now, by client.
    pub(super) fn due(&mut self, now_ns: u64) -> Vec<(usize, Vec<RequestId>)> {
        let (Some(began_ns), Work::Mix { .. }) = (self.began_ns, self.work) else { return Vec::new() };
        match self.pace {
            Pace::Closed { outstanding } => {
                let mut hungry = std::mem::take(&mut self.hungry);
                hungry.sort_unstable();
                hungry.dedup();
                let mut due = Vec::with_capacity(hungry.len());
                for client in hungry {
                    let wanted = outstanding.saturating_sub(self.all[client].asked.len());
                    let requests: Vec<_> = (0..wanted).map(|_| self.draw()).collect();
                    self.asks(client, wanted, now_ns);
                    due.push((client, requests));
                }
                due
            }
            Pace::Open { .. } => {
                let mut due = Vec::new();
                while let Some(at_ns) = self.next_due_ns().filter(|at_ns| *at_ns <= now_ns) {
                    let client = 1 + self.sent as usize % (self.all.len() - 1);
                    self.sent += 1;
                    // Counted from when it should have been sent.
                    self.asks(client, 1, at_ns.max(began_ns));
                    due.push((client, vec![self.draw()]));
                }
                due
            }
        }
    }

    /// When the next request of an open pace is due.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        let (Pace::Open { per_second }, Some(began_ns)) = (self.pace, self.began_ns) else { return None };
        Some(began_ns + (self.sent as f64 * 1e9 / per_second) as u64)
    }

    fn draw(&mut self) -> RequestId {
        let Work::Mix { writes_per_mille } = self.work else { return Requests::CONNECT };
        let node = self.random.below(u64::from(self.nodes)) as u32;
        if self.random.below(1000) < u64::from(writes_per_mille) {
            self.requests.set(node)
        } else {
            self.requests.get(node)
        }
    }

    /// Whether the load's thread has something to do.
    pub(super) fn has_work(&self, now_ns: u64) -> bool {
        !self.arrived.is_empty()
            || !self.hungry.is_empty()
            || self.next_due_ns().is_some_and(|at_ns| at_ns <= now_ns)
    }

    /// The load's thread: reads all that has arrived, then sends all that is due.
    pub(super) fn turn(&mut self, came: Came, now_ns: u64) -> Turn {
        let mut turn = Turn::begin(came);
        for client in std::mem::take(&mut self.arrived) {
            let heard = self.all[client].unread.take().unwrap_or_default();
            turn.count.add(of::load::SOCKET, 1);
            turn.count.add(of::load::REQUEST, heard.replies);
            turn.count.add_bytes(of::load::KIB, heard.bytes);
            self.hear(client, heard, now_ns);
        }
        for (client, requests) in self.due(now_ns) {
            let bytes = requests.iter().map(|request| self.requests.bytes(*request).len()).sum();
            turn.count.add(of::load::SOCKET, 1);
            turn.count.add_bytes(of::load::KIB, bytes);
            turn.tell(Told::Requests { client, requests });
        }
        turn
    }
}
