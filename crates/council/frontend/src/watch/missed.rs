//! What persistent watches have missed: one event a path and kind, in the order of the latest change of each.
//!
//! Knows no tree: the caller says what happened to a node.

use council_tree::AclRef;
use council_wire::EventType;
use hashbrown::HashTable;

use crate::path_hash::PathHasher;

/// One event that a persistent watch missed.
#[derive(Debug)]
pub(crate) struct Missed {
    pub(crate) path: Box<str>,
    pub(crate) event: EventType,
    /// The node's ACL when it changed: it decides which clients get the event.
    pub(crate) acl: AclRef,
}

impl Missed {
    fn is_of(&self, path: &str, of_children: bool) -> bool {
        *self.path == *path && (self.event == EventType::NodeChildrenChanged) == of_children
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct MissedEvents {
    /// In order; a place is empty once the same path has changed again.
    events: Vec<Option<Missed>>,
    /// Where the event of a path is.
    places: HashTable<(u64, usize)>,
    told: usize,
}

impl MissedEvents {
    /// Puts an event at the end, in the place of any of the same path and kind.
    pub(crate) fn put(&mut self, missed: Missed, hasher: PathHasher) {
        let of_children = missed.event == EventType::NodeChildrenChanged;
        let hash = hasher.hash(&missed.path) ^ u64::from(of_children);
        let last = self.events.len();
        let (events, path) = (&self.events, &missed.path);
        let is_it = |(_, at): &(u64, usize)| {
            let known = events.get(*at).and_then(Option::as_ref);
            known.is_some_and(|known| known.is_of(path, of_children))
        };
        let before = match self.places.find_mut(hash, is_it) {
            Some((_, at)) => Some(core::mem::replace(at, last)),
            None => {
                self.places.insert_unique(hash, (hash, last), |(hash, _)| *hash);
                None
            }
        };
        if let Some(place) = before.and_then(|at| self.events.get_mut(at)) {
            *place = None;
        }
        self.events.push(Some(missed));
    }

    /// How many places are left to be looked at.
    pub(crate) const fn left(&self) -> usize {
        self.events.len() - self.told
    }

    /// The next place; `None` at the end.
    pub(crate) fn next_place(&mut self) -> Option<Option<Missed>> {
        let place = self.events.get_mut(self.told)?;
        self.told += 1;
        Some(place.take())
    }
}
