//! What a run reads of the state.

use crate::group::Core;
use crate::guest::Host;
use crate::key::{self, table};
use crate::object::Claim;
use crate::place::Queue;
use crate::ticket;

use super::{PAGES, REGISTERS, WAITING, caller_json};

/// An object's records.
pub(super) struct Records<'a> {
    pub(super) core: &'a Core,
    pub(super) space: u64,
    /// Who calls; nothing for a query, which is told nothing of it.
    pub(super) claim: Option<&'a Claim>,
    /// A ticket that ends in this very run: it waits no more.
    pub(super) ended: Option<u64>,
    /// Its memory is that of an image, whatever the records say: it goes to another version.
    pub(super) is_new: bool,
}

impl Host for Records<'_> {
    fn page(&self, number: u32) -> Option<&[u8]> {
        if self.is_new {
            return None;
        }
        self.core.store.get(&key::entry(self.space, PAGES, &number.to_be_bytes()))
    }

    fn each_page<'a>(
        &'a self,
        numbers: &mut dyn Iterator<Item = u32>,
        look: &mut dyn FnMut(u32, Option<&'a [u8]>),
    ) {
        if self.is_new {
            return numbers.for_each(|number| look(number, None));
        }
        self.core.store.each_page(&key::entry(self.space, PAGES, &[]), numbers, look);
    }

    fn pages(&self) -> Vec<u32> {
        if self.is_new {
            return Vec::new();
        }
        let prefix = key::entry(self.space, PAGES, &[]);
        self.core.store.prefix(&prefix).filter_map(|(key, _)| key::page_number(key)).collect()
    }

    fn registers(&self) -> Option<&[u8]> {
        if self.is_new {
            return None;
        }
        self.core.store.get(&key::entry(self.space, REGISTERS, &[]))
    }

    fn caller(&self) -> String {
        self.claim.map_or_else(|| String::from("{}"), caller_json)
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.ended != Some(id)
            && ticket::waiting(self.core, id)
                .is_some_and(|(place, _)| place.space == self.space && place.queue.tag == WAITING)
    }

    fn waiting(&self) -> Vec<u64> {
        let waiting = key::entry(self.space, table::TICKET, &Queue::of(WAITING).prefix());
        let id = |key: &[u8]| key.last_chunk().map(|id| u64::from_be_bytes(*id));
        let ids = self.core.store.prefix(&waiting).filter_map(|(key, _)| id(key));
        ids.filter(|id| self.ended != Some(*id)).collect()
    }
}
