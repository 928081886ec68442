//! The network between clients and brokers: bytes that are on their way, in order, and connections that break. What a client
//! has sent before it broke may arrive still, or not.

use std::collections::BTreeMap;

use sim_kit::random::Random;

/// On every other connection, what a client has sent before it left is late: of a hundred moments, it moves in so many.
const LATE_PERCENT: u64 = 3;

/// One of all connections of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WireId(pub(crate) u32);

/// A connection of a client, as both its ends see it.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// The broker that it is with, by its place among all.
    broker: usize,
    /// On their way to the broker.
    to_broker: Vec<u8>,
    /// On their way to the client.
    to_client: Vec<u8>,
    /// Arrived at the client.
    pub(crate) arrived: Vec<u8>,
    /// The client has given it up, or has been told that it broke.
    pub(crate) left: bool,
    /// The broker has closed it, or is gone.
    pub(crate) closed: bool,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    wires: BTreeMap<WireId, Wire>,
    last: u32,
}

impl Wires {
    pub(crate) fn open(&mut self, broker: usize) -> WireId {
        self.last += 1;
        self.wires.insert(WireId(self.last), Wire { broker, ..Wire::default() });
        WireId(self.last)
    }

    /// The broker that a connection is with.
    pub(crate) fn broker_of(&self, id: WireId) -> usize {
        self.wires.get(&id).map_or(0, |wire| wire.broker)
    }

    pub(crate) fn get_mut(&mut self, id: WireId) -> Option<&mut Wire> {
        self.wires.get_mut(&id)
    }

    /// Whether the client can expect nothing more.
    pub(crate) fn is_broken(&self, id: WireId) -> bool {
        self.wires.get(&id).is_none_or(|wire| wire.left || (wire.closed && wire.to_client.is_empty()))
    }

    /// A client sends.
    pub(crate) fn send(&mut self, id: WireId, bytes: &[u8]) {
        if let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.left) {
            wire.to_broker.extend_from_slice(bytes);
        }
    }

    /// The broker sends.
    pub(crate) fn answer(&mut self, id: WireId, bytes: &[u8]) {
        if let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.left) {
            wire.to_client.extend_from_slice(bytes);
        }
    }

    /// The client gives a connection up, or finds it broken.
    pub(crate) fn leave(&mut self, id: WireId) {
        if let Some(wire) = self.wires.get_mut(&id) {
            wire.left = true;
            wire.to_client.clear();
            wire.arrived.clear();
        }
        self.forget(id);
    }

    /// The broker closes a connection, or is gone.
    pub(crate) fn close(&mut self, id: WireId) {
        if let Some(wire) = self.wires.get_mut(&id) {
            wire.closed = true;
            wire.to_broker.clear();
        }
        self.forget(id);
    }

    /// Some bytes of some connection arrive: gives those for the broker.
    pub(crate) fn deliver(&mut self, random: &mut Random) -> Option<(WireId, Vec<u8>)> {
        let moving: Vec<WireId> = self
            .wires
            .iter()
            .filter(|(_, wire)| !wire.to_broker.is_empty() || !wire.to_client.is_empty())
            .map(|(id, _)| *id)
            .collect();
        let id = *moving.get(random.below(moving.len().max(1) as u64) as usize)?;
        let wire = self.wires.get_mut(&id)?;
        if wire.left && id.0.is_multiple_of(2) && !random.chance(LATE_PERCENT) {
            return None;
        }
        let some = |random: &mut Random, bytes: &mut Vec<u8>| {
            let whole = bytes.len();
            let count = if random.chance(80) { whole } else { random.below(whole as u64 + 1) as usize };
            bytes.drain(..count).collect::<Vec<u8>>()
        };
        if !wire.to_client.is_empty() && (wire.to_broker.is_empty() || random.chance(50)) {
            let arrived = some(random, &mut wire.to_client);
            wire.arrived.extend(arrived);
            return None;
        }
        Some((id, some(random, &mut wire.to_broker)))
    }

    /// Answers that are on their way are lost, all of them.
    pub(crate) fn lose_answers(&mut self) {
        for wire in self.wires.values_mut() {
            wire.to_client.clear();
            wire.arrived.clear();
        }
    }

    /// Connections that the client has left and of which the broker has everything: it finds their end.
    pub(crate) fn ended(&self) -> Vec<WireId> {
        let is_ended = |wire: &Wire| wire.left && !wire.closed && wire.to_broker.is_empty();
        self.wires.iter().filter(|(_, wire)| is_ended(wire)).map(|(id, _)| *id).collect()
    }

    /// What a client has sent on a connection that it left is lost.
    pub(crate) fn lose(&mut self, id: WireId) {
        if let Some(wire) = self.wires.get_mut(&id) {
            wire.to_broker.clear();
        }
    }

    /// Bytes that could not be taken yet wait where they were.
    pub(crate) fn put_back(&mut self, id: WireId, bytes: Vec<u8>) {
        if let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.closed) {
            wire.to_broker.splice(0..0, bytes);
        }
    }

    /// The connection breaks: the client finds that at once, the broker once it has what is on its way.
    pub(crate) fn cut(&mut self, id: WireId) {
        if let Some(wire) = self.wires.get_mut(&id) {
            wire.left = true;
            wire.to_client.clear();
        }
    }

    pub(crate) fn open_ones(&self) -> Vec<WireId> {
        let open = self.wires.iter().filter(|(_, wire)| !wire.left && !wire.closed);
        open.map(|(id, _)| *id).collect()
    }

    fn forget(&mut self, id: WireId) {
        if self.wires.get(&id).is_some_and(|wire| wire.left && wire.closed) {
            self.wires.remove(&id);
        }
    }
}
