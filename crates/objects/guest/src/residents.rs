//! Which objects have a copy. A member alone decides it: whether there is one shows in nothing but time.

use std::collections::BTreeMap;
use std::sync::Arc;

use objects_state::guest::VersionHash;
use parking_lot::Mutex;

use crate::resident::Resident;

/// A place for an object's copy. Who uses it holds the lock.
pub(crate) type Place = Arc<Mutex<Option<Box<Resident>>>>;

struct Kept {
    place: Place,
    used: u64,
    bytes: usize,
}

#[derive(Default)]
struct Table {
    kept: BTreeMap<u64, Kept>,
    /// Spaces by their last use.
    uses: BTreeMap<u64, u64>,
    clock: u64,
    bytes: usize,
}

pub(crate) struct Residents {
    table: Mutex<Table>,
    count_max: usize,
    bytes_max: usize,
}

impl Residents {
    pub(crate) fn new(count_max: usize, bytes_max: usize) -> Self {
        Self { table: Mutex::default(), count_max: count_max.max(1), bytes_max }
    }

    /// The place of an object, which is used now.
    pub(crate) fn place(&self, space: u64) -> Place {
        let mut table = self.table.lock();
        let Table { kept, uses, clock, .. } = &mut *table;
        let kept = kept.entry(space).or_insert_with(|| Kept { place: Place::default(), used: 0, bytes: 0 });
        if kept.used != *clock || *clock == 0 {
            *clock += 1;
            let before = std::mem::replace(&mut kept.used, *clock);
            uses.remove(&before);
            uses.insert(*clock, space);
        }
        kept.place.clone()
    }

    /// Takes note of what an object's copy takes, and drops those that were used least recently if there are too many.
    pub(crate) fn note(&self, space: u64, bytes: usize) {
        let mut table = self.table.lock();
        let Some(kept) = table.kept.get_mut(&space) else { return };
        let before = std::mem::replace(&mut kept.bytes, bytes);
        table.bytes = table.bytes - before + bytes;
        let mut dropped = Vec::new();
        while table.kept.len() > 1 && (table.kept.len() > self.count_max || table.bytes > self.bytes_max) {
            let Some((_, oldest)) = table.uses.first_key_value() else { break };
            let oldest = *oldest;
            dropped.extend(table.remove(oldest));
        }
        // Unmapping takes time that others need not wait for.
        drop(table);
        drop(dropped);
    }

    pub(crate) fn forget(&self, space: u64) {
        let place = self.table.lock().remove(space);
        drop(place);
    }

    pub(crate) fn forget_all(&self) {
        let kept = std::mem::take(&mut *self.table.lock());
        drop(kept);
    }

    pub(crate) fn forget_version(&self, version: VersionHash) {
        let table = self.table.lock();
        for kept in table.kept.values() {
            // One that is in use goes when its object is forgotten, or used least.
            if let Some(mut resident) = kept.place.try_lock() {
                *resident = resident.take().filter(|resident| !resident.is_of(version));
            }
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.table.lock().kept.len()
    }
}

impl Table {
    fn remove(&mut self, space: u64) -> Option<Place> {
        let kept = self.kept.remove(&space)?;
        self.uses.remove(&kept.used);
        self.bytes -= kept.bytes;
        Some(kept.place)
    }
}
