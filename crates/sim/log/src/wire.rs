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
    arrived: Vec<u8>,
    /// The client has given it up, or has been told that it broke.
    left: bool,
    /// The broker has closed it, or is gone.
    closed: bool,
}

impl Wire {
    const fn is_moving(&self) -> bool {
        !self.to_broker.is_empty() || !self.to_client.is_empty()
    }

    /// The client has left it, and the broker has everything: it finds its end.
    const fn is_ended(&self) -> bool {
        self.left && !self.closed && self.to_broker.is_empty()
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    wires: BTreeMap<WireId, Wire>,
    last: u32,
    /// Those on which something is on its way, and those whose end the broker finds, in order: most others rest, and every step
    /// asks.
    moving: Vec<WireId>,
    ended: Vec<WireId>,
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

    /// What has arrived at the client of a connection.
    pub(crate) fn arrived(&mut self, id: WireId) -> Option<&mut Vec<u8>> {
        self.wires.get_mut(&id).map(|wire| &mut wire.arrived)
    }

    /// Changes a connection, if it is there.
    fn change(&mut self, id: WireId, change: impl FnOnce(&mut Wire)) {
        let Some(wire) = self.wires.get_mut(&id) else { return };
        change(wire);
        let (is_moving, is_ended) = (wire.is_moving(), wire.is_ended());
        if wire.left && wire.closed {
            self.wires.remove(&id);
        }
        put(&mut self.moving, id, is_moving && self.wires.contains_key(&id));
        put(&mut self.ended, id, is_ended);
    }

    /// Whether the client can expect nothing more.
    pub(crate) fn is_broken(&self, id: WireId) -> bool {
        self.wires.get(&id).is_none_or(|wire| wire.left || (wire.closed && wire.to_client.is_empty()))
    }

    /// A client sends.
    pub(crate) fn send(&mut self, id: WireId, bytes: &[u8]) {
        self.change(id, |wire| {
            if !wire.left {
                wire.to_broker.extend_from_slice(bytes);
            }
        });
    }

    /// The broker sends.
    pub(crate) fn answer(&mut self, id: WireId, bytes: &[u8]) {
        self.change(id, |wire| {
            if !wire.left {
                wire.to_client.extend_from_slice(bytes);
            }
        });
    }

    /// The client gives a connection up, or finds it broken.
    pub(crate) fn leave(&mut self, id: WireId) {
        self.change(id, |wire| {
            wire.left = true;
            wire.to_client.clear();
            wire.arrived.clear();
        });
    }

    /// The broker closes a connection, or is gone.
    pub(crate) fn close(&mut self, id: WireId) {
        self.change(id, |wire| {
            wire.closed = true;
            wire.to_broker.clear();
        });
    }

    /// Some bytes of some connection arrive: gives those for the broker.
    pub(crate) fn deliver(&mut self, random: &mut Random) -> Option<(WireId, Vec<u8>)> {
        let drawn = random.below(self.moving.len().max(1) as u64) as usize;
        let id = *self.moving.get(drawn)?;
        let mut for_broker = None;
        self.change(id, |wire| {
            if wire.left && id.0.is_multiple_of(2) && !random.chance(LATE_PERCENT) {
                return;
            }
            if !wire.to_client.is_empty() && (wire.to_broker.is_empty() || random.chance(50)) {
                let arrived = take_some(&mut wire.to_client, random);
                wire.arrived.extend(arrived);
            } else {
                for_broker = Some((id, take_some(&mut wire.to_broker, random)));
            }
        });
        for_broker
    }

    /// Answers that are on their way are lost, all of them.
    pub(crate) fn lose_answers(&mut self) {
        for id in self.wires.keys().copied().collect::<Vec<_>>() {
            self.change(id, |wire| {
                wire.to_client.clear();
                wire.arrived.clear();
            });
        }
    }

    /// Connections that the client has left and of which the broker has everything: it finds their end.
    pub(crate) fn ended(&self) -> Vec<WireId> {
        self.ended.clone()
    }

    /// What a client has sent on a connection that it left is lost.
    pub(crate) fn lose(&mut self, id: WireId) {
        self.change(id, |wire| wire.to_broker.clear());
    }

    /// Bytes that could not be taken yet wait where they were.
    pub(crate) fn put_back(&mut self, id: WireId, bytes: Vec<u8>) {
        self.change(id, |wire| {
            if !wire.closed {
                wire.to_broker.splice(0..0, bytes);
            }
        });
    }

    /// The connection breaks: the client finds that at once, the broker once it has what is on its way.
    pub(crate) fn cut(&mut self, id: WireId) {
        self.change(id, |wire| {
            wire.left = true;
            wire.to_client.clear();
        });
    }

    pub(crate) fn open_ones(&self) -> Vec<WireId> {
        let open = self.wires.iter().filter(|(_, wire)| !wire.left && !wire.closed);
        open.map(|(id, _)| *id).collect()
    }
}

/// Some of these bytes, or all, are taken.
fn take_some(bytes: &mut Vec<u8>, random: &mut Random) -> Vec<u8> {
    let whole = bytes.len();
    let count = if random.chance(80) { whole } else { random.below(whole as u64 + 1) as usize };
    bytes.drain(..count).collect()
}

/// Something is among those in order, or not.
fn put(among: &mut Vec<WireId>, id: WireId, is_there: bool) {
    match among.binary_search(&id) {
        Ok(at) if !is_there => drop(among.remove(at)),
        Err(at) if is_there => among.insert(at, id),
        _ => {}
    }
}
