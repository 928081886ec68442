//! The connections of one shard, by what the event loop calls them.

use net_event_loop::ConnId;

use crate::connection::Connection;

#[derive(Default)]
pub(crate) struct Places {
    /// With the generation of the present or last use of the place.
    places: Vec<(u32, Option<Box<Connection>>)>,
    free: Vec<u32>,
}

impl Places {
    pub(crate) fn insert(&mut self, connection: Connection) -> ConnId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            u32::try_from(self.places.len() - 1).expect("a process has fewer than 2^32 sockets")
        });
        let Some(place) = self.places.get_mut(slot as usize) else { return ConnId { slot, generation: 0 } };
        *place = (place.0.wrapping_add(1), Some(Box::new(connection)));
        ConnId { slot, generation: place.0 }
    }

    pub(crate) fn get(&self, conn: ConnId) -> Option<&Connection> {
        let (generation, connection) = self.places.get(conn.slot as usize)?;
        connection.as_deref().filter(|_| *generation == conn.generation)
    }

    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Connection> {
        let (generation, connection) = self.places.get_mut(conn.slot as usize)?;
        connection.as_deref_mut().filter(|_| *generation == conn.generation)
    }

    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<Box<Connection>> {
        let (generation, connection) = self.places.get_mut(conn.slot as usize)?;
        let gone = connection.take_if(|_| *generation == conn.generation)?;
        self.free.push(conn.slot);
        Some(gone)
    }

    pub(crate) fn ids(&self) -> Vec<ConnId> {
        let filled = (0..).zip(&self.places).filter(|(_, place)| place.1.is_some());
        filled.map(|(slot, place)| ConnId { slot, generation: place.0 }).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().filter_map(|(_, connection)| connection.as_deref())
    }
}
