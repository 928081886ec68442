//! One client's connection, and the table of all connections of a shard.
//!
//! Small on purpose: ten thousand idle connections must cost less than 500 bytes each. Holds state and no behaviour.

use base::MonoTime;
use std::collections::VecDeque;
use std::net::IpAddr;

use council_tree::IdentityList;
use council_wire::{RequestHeader, SessionId};
use net_auth::sasl::digest_md5::ServerExchange;
use net_event_loop::ConnId;

use crate::output::Output;
use crate::replies::{Ephemerals, Slot};
use crate::stats::ConnectionStats;

/// The client's side of the connection, as far as the socket knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub ip: IpAddr,
    /// Its port.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub secure: bool,
    /// The subject of its certificate, verified, in the form of RFC 2253.
    pub certificate_subject: Option<Box<str>>,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing but a handshake or a four-letter word is understood.
    Fresh,
    /// The core is asked for a session.
    Connecting,
    /// A session is open.
    Live,
    /// No more input is looked at, and behind the last reply owed the connection is closed.
    Ending,
    /// It is over: what is in the output may still go out.
    Closing,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnId,
    pub(crate) stage: Stage,
    pub(crate) peer: Peer,
    pub(crate) session: SessionId,
    /// Which connection of its session this is.
    pub(crate) generation: u32,
    pub(crate) timeout_ms: i32,
    /// What the client said of read-only servers, which decides whether the response says it too.
    pub(crate) read_only: Option<bool>,
    /// Whether the client has shown an identity that the enforced schemes ask for.
    pub(crate) admitted: bool,
    /// Whether it counts among the admitted connections.
    pub(crate) counted: bool,
    pub(crate) paused: bool,
    pub(crate) dirty: bool,
    /// Sequence of the last command sent to the core.
    pub(crate) sequence: u64,
    /// Replies owed, in the order of their requests; empty when all that was asked is answered.
    pub(crate) slots: VecDeque<Slot>,
    /// How many of them are reads under way in the core.
    pub(crate) waiting_reads: u32,
    /// Bytes of its writes under way.
    pub(crate) write_bytes: u32,
    /// Ephemeral nodes of these.
    pub(crate) ephemerals_under_way: Ephemerals,
    pub(crate) output: Output,
    pub(crate) identities: IdentityList,
    pub(crate) sasl: Option<Box<ServerExchange>>,
    /// The oversized request that is being passed over.
    pub(crate) oversized: Option<Oversized>,
    /// When the client last sent something.
    pub(crate) heard: MonoTime,
    pub(crate) stats: ConnectionStats,
}

/// A request too large to be taken, until its last byte has come.
#[derive(Debug)]
pub(crate) struct Oversized {
    pub(crate) header: RequestHeader,
    /// How much of it is still to be passed over.
    pub(crate) bytes_left: usize,
}

impl Connection {
    pub(crate) fn new(id: ConnId, peer: Peer, stats: ConnectionStats) -> Self {
        Self {
            id,
            stage: Stage::Fresh,
            peer,
            session: SessionId::NONE,
            generation: 0,
            timeout_ms: 0,
            read_only: None,
            admitted: false,
            counted: false,
            paused: false,
            dirty: false,
            sequence: 0,
            slots: VecDeque::new(),
            waiting_reads: 0,
            write_bytes: 0,
            ephemerals_under_way: Ephemerals::default(),
            output: Output::default(),
            identities: IdentityList::new(),
            sasl: None,
            oversized: None,
            heard: MonoTime::ZERO,
            stats,
        }
    }

    /// How many requests wait for a message of the core.
    pub(crate) fn outstanding(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_waiting()).count()
    }
}

#[derive(Debug, Default)]
struct Place {
    generation: u32,
    connection: Option<Box<Connection>>,
}

/// All connections of a shard.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Connections {
    /// Makes a connection with the id that `make` is given.
    pub(crate) fn insert(&mut self, make: impl FnOnce(ConnId) -> Connection) -> ConnId {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.places.push(Place::default());
                u32::try_from(self.places.len() - 1).expect("a process has fewer than 2^32 sockets")
            }
        };
        let Some(place) = self.places.get_mut(slot as usize) else { return ConnId { slot, generation: 0 } };
        place.generation = place.generation.wrapping_add(1);
        let id = ConnId { slot, generation: place.generation };
        place.connection = Some(Box::new(make(id)));
        id
    }

    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Box<Connection>> {
        let place =
            self.places.get_mut(id.slot as usize).filter(|place| place.generation == id.generation)?;
        let connection = place.connection.take()?;
        self.free.push(id.slot);
        Some(connection)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: ConnId) -> Option<&mut Connection> {
        let place =
            self.places.get_mut(id.slot as usize).filter(|place| place.generation == id.generation)?;
        place.connection.as_deref_mut()
    }

    #[inline]
    pub(crate) fn get(&self, id: ConnId) -> Option<&Connection> {
        let place = self.places.get(id.slot as usize).filter(|place| place.generation == id.generation)?;
        place.connection.as_deref()
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.places.get_mut(slot as usize)?.connection.as_deref_mut()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&Connection> {
        self.places.get(slot as usize)?.connection.as_deref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().filter_map(|place| place.connection.as_deref())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.places.iter_mut().filter_map(|place| place.connection.as_deref_mut())
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn connection(id: ConnId) -> Connection {
        let peer = Peer { ip: Ipv4Addr::LOCALHOST.into(), port: 1, secure: false, certificate_subject: None };
        Connection::new(id, peer, ConnectionStats::new(base::WallTime::default()))
    }

    #[test]
    fn a_slot_used_again_is_not_the_old_connection() {
        let mut connections = Connections::default();
        let first = connections.insert(connection);
        assert!(connections.remove(first).is_some());
        let second = connections.insert(connection);
        assert_eq!(first.slot, second.slot);
        assert!(connections.get(first).is_none() && connections.remove(first).is_none());
        assert!(connections.get_mut(second).is_some());
        assert_eq!(connections.len(), 1);
    }

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Connection>() + size_of::<Place>() <= 420, "{}", size_of::<Connection>());
    }
}
