//! Connections between clients and the broker. Requests of one connection arrive in order, those of different ones in any. A
//! request behind one that waits is handled when that is answered.

use std::collections::{BTreeMap, VecDeque};

use base::Random;

use super::ask::Ask;

/// A request on its way to the broker.
#[derive(Clone, Debug)]
pub(crate) struct SentRequest {
    pub(crate) number: u64,
    pub(crate) ask: Ask,
    /// The step at which it arrives.
    due: u64,
}

#[derive(Debug, Default)]
struct Connection {
    requests: VecDeque<SentRequest>,
    /// The request that the next one waits for.
    blocked_by: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Network {
    connections: BTreeMap<u32, Connection>,
    last: u32,
}

impl Network {
    pub(crate) fn connect(&mut self) -> u32 {
        self.last += 1;
        self.connections.insert(self.last, Connection::default());
        self.last
    }

    /// Sends a request, which arrives at that step or behind the one before it.
    pub(crate) fn send(&mut self, connection: u32, number: u64, ask: Ask, due: u64) {
        let requests = &mut self.connections.get_mut(&connection).expect("it is open").requests;
        let due = requests.back().map_or(due, |before| before.due.max(due));
        requests.push_back(SentRequest { number, ask, due });
    }

    pub(crate) fn is_open(&self, connection: u32) -> bool {
        self.connections.contains_key(&connection)
    }

    /// Takes a request that arrives by this step, of any connection that is not held up.
    pub(crate) fn next_due(&mut self, step: u64, random: &mut Random) -> Option<(u32, SentRequest)> {
        let is_due = |connection: &Connection| {
            connection.blocked_by.is_none()
                && connection.requests.front().is_some_and(|request| request.due <= step)
        };
        let due: Vec<u32> =
            self.connections.iter().filter(|(_, connection)| is_due(connection)).map(|(at, _)| *at).collect();
        let at = *due.get(random.below(due.len().max(1) as u64) as usize)?;
        let request = self.connections.get_mut(&at)?.requests.pop_front()?;
        Some((at, request))
    }

    /// The next request of the connection waits for the answer to this one.
    pub(crate) fn block(&mut self, connection: u32, number: u64) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.blocked_by = Some(number);
        }
    }

    pub(crate) fn answered(&mut self, number: u64) {
        for connection in self.connections.values_mut() {
            connection.blocked_by.take_if(|by| *by == number);
        }
    }

    /// A connection breaks. What is on its way is lost.
    pub(crate) fn close(&mut self, connection: u32) {
        self.connections.remove(&connection);
    }

    pub(crate) fn close_all(&mut self) {
        self.connections.clear();
    }

    /// A connection by chance.
    pub(crate) fn any(&self, random: &mut Random) -> Option<u32> {
        let at = random.below(self.connections.len().max(1) as u64) as usize;
        self.connections.keys().nth(at).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.connections.values().all(|connection| connection.requests.is_empty())
    }
}
