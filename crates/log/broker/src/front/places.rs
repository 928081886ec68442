//! The connections of one thread, by what the event loop calls them.

use net_event_loop::ConnId;

use super::connection::Connection;

#[derive(Debug)]
struct Place<F> {
    generation: u32,
    connection: Option<Connection<F>>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Places<F> {
    places: Vec<Place<F>>,
    free: Vec<u32>,
}

impl<F> Default for Places<F> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<F> Places<F> {
    pub(super) fn insert(&mut self, connection: Connection<F>) -> ConnId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, connection: None });
            self.places.len() as u32 - 1
        });
        let mut generation = 0;
        if let Some(place) = self.places.get_mut(slot as usize) {
            place.generation = place.generation.wrapping_add(1);
            place.connection = Some(connection);
            generation = place.generation;
        }
        ConnId { slot, generation }
    }

    pub(super) fn get(&self, conn: ConnId) -> Option<&Connection<F>> {
        let place = self.places.get(conn.slot as usize)?;
        place.connection.as_ref().filter(|_| place.generation == conn.generation)
    }

    pub(super) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Connection<F>> {
        let place = self.places.get_mut(conn.slot as usize)?;
        if place.generation == conn.generation { place.connection.as_mut() } else { None }
    }

    pub(super) fn remove(&mut self, conn: ConnId) -> Option<Connection<F>> {
        let place = self.places.get_mut(conn.slot as usize)?;
        let gone = place.connection.take_if(|_| place.generation == conn.generation)?;
        self.free.push(conn.slot);
        Some(gone)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Connection<F>> {
        self.places.iter().filter_map(|place| place.connection.as_ref())
    }
}
