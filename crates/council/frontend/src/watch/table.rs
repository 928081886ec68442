//! The table of all watches of a shard: by path for firing, by connection for removal and limits.
//!
//! A path is stored once, with its watchers sorted by connection; a connection holds the numbers of its paths, and each
//! watcher the place of its path among those. So a watch costs 12 bytes beyond its path, ten thousand watchers of one
//! node are one run through memory, and a connection's millionth watch comes and goes as fast as its first. The many
//! watches of a connection that is gone are swept out piece by piece, while others go on. Knows no event, no zxid and
//! no ACL: it says which connections to tell.

use smallvec::SmallVec;

use super::Modes;
use super::index::PathIndex;
use crate::path_hash::PathHasher;

/// How many paths a connection may watch here at all. Half of what [`Watcher`] has bits for: reads that wait for a
/// write were within the limit when they came, and may leave their watches beyond it.
pub(crate) const PATHS_PER_CONNECTION_MAX: usize = PLACES / 2;
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 28;

/// So many watches of a connection that goes are removed at once; more than that wait for [`WatchTable::sweep`].
const REMOVED_AT_ONCE: usize = 4096;
/// No holder.
const NOBODY: u32 = u32::MAX;

/// One holder's watches of one path, in eight bytes.
#[derive(Clone, Copy, Debug)]
struct Watcher {
    holder: u32,
    /// The modes above [`PLACE_BITS`] of the place of the path in the connection's list.
    modes_and_place: u32,
}

impl Watcher {
    fn new(holder: u32, modes: Modes, place: usize) -> Self {
        assert!(place < PLACES, "limits keep a connection's watches below this");
        Self { holder, modes_and_place: u32::from(modes.bits()) << PLACE_BITS | place as u32 }
    }

    const fn modes(self) -> Modes {
        Modes::from_bits((self.modes_and_place >> PLACE_BITS) as u8)
    }

    const fn place(self) -> usize {
        self.modes_and_place as usize % PLACES
    }

    fn set_modes(&mut self, modes: Modes) {
        *self = Self::new(self.holder, modes, self.place());
    }
}

#[derive(Debug, Default)]
struct Entry {
    path: Box<str>,
    /// Sorted by holder.
    watchers: SmallVec<[Watcher; 2]>,
}

impl Entry {
    fn watcher(&self, holder: u32) -> Option<Watcher> {
        let at = self.watchers.binary_search_by_key(&holder, |watcher| watcher.holder).ok()?;
        self.watchers.get(at).copied()
    }

    fn watcher_mut(&mut self, holder: u32) -> Option<&mut Watcher> {
        let at = self.watchers.binary_search_by_key(&holder, |watcher| watcher.holder).ok()?;
        self.watchers.get_mut(at)
    }
}

/// A connection that watches something, or one that is gone and whose watches are not yet swept out. Its slot may be
/// another connection's by then.
#[derive(Debug)]
struct Holder {
    slot: Option<u32>,
    /// The numbers of its paths, in any order.
    paths: Vec<u32>,
}

/// How much is watched, in ZooKeeper's way of counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WatchCounts {
    /// Pairs of path and connection in the table of data watches.
    pub(crate) data: usize,
    /// Pairs of path and connection in the table of child watches.
    pub(crate) child: usize,
    /// Pairs of path and connection with a recursive watch.
    pub(crate) recursive: usize,
}

/// The watches of all connections.
#[derive(Debug)]
pub(crate) struct WatchTable {
    hasher: PathHasher,
    index: PathIndex,
    entries: Vec<Entry>,
    free: Vec<u32>,
    holders: Vec<Holder>,
    free_holders: Vec<u32>,
    /// By connection slot; [`NOBODY`] where nothing was watched yet.
    holder_of: Vec<u32>,
    /// Holders whose connections are gone.
    leaving: Vec<u32>,
    counts: WatchCounts,
    path_bytes: usize,
}

impl WatchTable {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            hasher: PathHasher::new(seed),
            index: PathIndex::new(),
            entries: Vec::new(),
            free: Vec::new(),
            holders: Vec::new(),
            free_holders: Vec::new(),
            holder_of: Vec::new(),
            leaving: Vec::new(),
            counts: WatchCounts::default(),
            path_bytes: 0,
        }
    }

    /// How paths are hashed here.
    pub(crate) const fn hasher(&self) -> PathHasher {
        self.hasher
    }

    /// Leaves a watch.
    pub(crate) fn add(&mut self, slot: u32, path: &str, modes: Modes) {
        let number = match self.find(path) {
            Some(number) => number,
            None => self.intern(path),
        };
        let holder = self.holder_or_new(slot);
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        match entry.watchers.binary_search_by_key(&holder, |watcher| watcher.holder) {
            Ok(at) => {
                if let Some(watcher) = entry.watchers.get_mut(at) {
                    let before = watcher.modes();
                    watcher.set_modes(before.with(modes));
                    self.counts.replace(before, watcher.modes());
                }
            }
            Err(at) => {
                let Some(held) = self.holders.get_mut(holder as usize) else { return };
                entry.watchers.insert(at, Watcher::new(holder, modes, held.paths.len()));
                held.paths.push(number);
                self.counts.replace(Modes::NONE, modes);
            }
        }
    }

    /// Removes those kinds of watches on a path; whether there was one.
    pub(crate) fn remove(&mut self, slot: u32, path: &str, modes: Modes) -> bool {
        let (Some(holder), Some(number)) = (self.holder(slot), self.find(path)) else { return false };
        let watcher = self.entries.get_mut(number as usize).and_then(|entry| entry.watcher_mut(holder));
        let Some(watcher) = watcher else { return false };
        let before = watcher.modes();
        let after = before.without(modes);
        watcher.set_modes(after);
        let place = watcher.place();
        self.counts.replace(before, after);
        if after.is_empty() {
            if let Some(entry) = self.entries.get_mut(number as usize)
                && let Ok(at) = entry.watchers.binary_search_by_key(&holder, |watcher| watcher.holder)
            {
                entry.watchers.remove(at);
            }
            self.forget(holder, place);
            self.release_if_unwatched(number);
        }
        before != after
    }

    /// Removes every watch of a connection: from now on none of them is told. Very many are still counted until they
    /// are swept out.
    pub(crate) fn remove_connection(&mut self, slot: u32) {
        let Some(holder) = self.holder(slot) else { return };
        if let Some(place) = self.holder_of.get_mut(slot as usize) {
            *place = NOBODY;
        }
        let Some(held) = self.holders.get_mut(holder as usize) else { return };
        held.slot = None;
        let few = held.paths.len() <= REMOVED_AT_ONCE;
        self.leaving.push(holder);
        if few {
            self.sweep(REMOVED_AT_ONCE);
        }
    }

    /// Sweeps out so many watches of connections that are gone, those that went last first; whether there are more.
    pub(crate) fn sweep(&mut self, mut watches: usize) -> bool {
        while let Some(&holder) = self.leaving.last() {
            let Some(held) = self.holders.get_mut(holder as usize) else { break };
            let Some(number) = held.paths.pop() else {
                held.paths = Vec::new();
                self.free_holders.push(holder);
                self.leaving.pop();
                continue;
            };
            if watches == 0 {
                held.paths.push(number);
                return true;
            }
            watches -= 1;
            let Some(entry) = self.entries.get_mut(number as usize) else { continue };
            if let Ok(at) = entry.watchers.binary_search_by_key(&holder, |watcher| watcher.holder) {
                let watcher = entry.watchers.remove(at);
                self.counts.replace(watcher.modes(), Modes::NONE);
            }
            self.release_if_unwatched(number);
        }
        false
    }

    /// Collects in `told` the connections with a watch on `path` of a kind in `kinds`, each once and in order, and uses
    /// up their one-shot watches of those kinds.
    pub(crate) fn fire(&mut self, path: &str, kinds: Modes, told: &mut Vec<u32>) {
        let Some(number) = self.find(path) else { return };
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        let used_up = kinds.without(Modes::PERSISTENT.with(Modes::RECURSIVE));
        let (counts, holders, before) = (&mut self.counts, &self.holders, told.len());
        let mut gone: SmallVec<[Watcher; 4]> = SmallVec::new();
        entry.watchers.retain(|watcher| {
            let before = watcher.modes();
            if !before.intersects(kinds) {
                return true;
            }
            told.extend(holders.get(watcher.holder as usize).and_then(|held| held.slot));
            let after = before.without(used_up);
            watcher.set_modes(after);
            counts.replace(before, after);
            if after.is_empty() {
                gone.push(*watcher);
            }
            !after.is_empty()
        });
        for watcher in gone {
            self.forget(watcher.holder, watcher.place());
        }
        if let Some(told) = told.get_mut(before..) {
            told.sort_unstable();
        }
        self.release_if_unwatched(number);
    }

    /// Adds to `told` the connections with a recursive watch on an ancestor of `path`, then makes `told` a set.
    pub(crate) fn fire_ancestors(&mut self, path: &str, told: &mut Vec<u32>) {
        if self.counts.recursive == 0 {
            return;
        }
        let before = told.len();
        for (end, hash) in self.hasher.ancestors(path) {
            let Some(above) = path.get(..end) else { continue };
            let entry = self.find_hashed(above, hash).and_then(|number| self.entries.get(number as usize));
            let Some(entry) = entry else { continue };
            let recursive =
                entry.watchers.iter().filter(|watcher| watcher.modes().intersects(Modes::RECURSIVE));
            told.extend(recursive.filter_map(|watcher| self.slot_of(*watcher)));
        }
        if told.len() > before {
            told.sort_unstable();
            told.dedup();
        }
    }

    /// Whether the connection has a watch of one of these kinds on a path.
    pub(crate) fn contains(&self, slot: u32, path: &str, modes: Modes) -> bool {
        let (Some(holder), Some(number)) = (self.holder(slot), self.find(path)) else { return false };
        let watcher = self.entries.get(number as usize).and_then(|entry| entry.watcher(holder));
        watcher.is_some_and(|watcher| watcher.modes().intersects(modes))
    }

    /// How many paths a connection watches.
    pub(crate) fn paths_watched_by(&self, slot: u32) -> usize {
        self.paths_of(slot).len()
    }

    pub(crate) const fn counts(&self) -> WatchCounts {
        self.counts
    }

    /// How many paths are watched.
    pub(crate) fn path_count(&self) -> usize {
        self.index.len()
    }

    /// An estimate of the memory that the table holds.
    pub(crate) fn bytes(&self) -> usize {
        let per_path = size_of::<Entry>() + 8;
        self.path_bytes + self.index.len() * per_path + (self.counts.data + self.counts.child) * 12
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.counts.data + self.counts.child == 0
    }

    /// The paths on which a connection has data watches, as wchc lists them.
    pub(crate) fn data_paths_of(&self, slot: u32) -> impl Iterator<Item = &str> {
        let holder = self.holder(slot).unwrap_or(NOBODY);
        self.paths_of(slot).iter().filter_map(move |number| {
            let entry = self.entries.get(*number as usize)?;
            entry.watcher(holder)?.modes().intersects(Modes::DATA_TABLE).then_some(&*entry.path)
        })
    }

    /// Every path with data watches and the connections that hold them, as wchp lists them.
    pub(crate) fn data_watchers(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32>)> {
        self.entries.iter().filter_map(|entry| {
            let slots = || {
                let watchers =
                    entry.watchers.iter().filter(|watcher| watcher.modes().intersects(Modes::DATA_TABLE));
                watchers.filter_map(|watcher| self.slot_of(*watcher))
            };
            slots().next()?;
            Some((&*entry.path, slots()))
        })
    }

    fn slot_of(&self, watcher: Watcher) -> Option<u32> {
        self.holders.get(watcher.holder as usize)?.slot
    }

    fn holder(&self, slot: u32) -> Option<u32> {
        self.holder_of.get(slot as usize).copied().filter(|holder| *holder != NOBODY)
    }

    fn paths_of(&self, slot: u32) -> &[u32] {
        let held = self.holder(slot).and_then(|holder| self.holders.get(holder as usize));
        held.map_or(&[], |held| &held.paths)
    }

    fn holder_or_new(&mut self, slot: u32) -> u32 {
        if let Some(holder) = self.holder(slot) {
            return holder;
        }
        let new = Holder { slot: Some(slot), paths: Vec::new() };
        let holder = match self.free_holders.pop() {
            Some(holder) => holder,
            None => {
                self.holders.push(Holder { slot: None, paths: Vec::new() });
                u32::try_from(self.holders.len() - 1).expect("limits keep holders below 2^32")
            }
        };
        if let Some(place) = self.holders.get_mut(holder as usize) {
            *place = new;
        }
        if self.holder_of.len() <= slot as usize {
            self.holder_of.resize(slot as usize + 1, NOBODY);
        }
        if let Some(place) = self.holder_of.get_mut(slot as usize) {
            *place = holder;
        }
        holder
    }

    fn find(&self, path: &str) -> Option<u32> {
        self.find_hashed(path, self.hasher.hash(path))
    }

    fn find_hashed(&self, path: &str, hash: u64) -> Option<u32> {
        let entries = &self.entries;
        let same = |number: u32| entries.get(number as usize).is_some_and(|entry| *entry.path == *path);
        self.index.find(hash, same)
    }

    fn intern(&mut self, path: &str) -> u32 {
        let entry = Entry { path: path.into(), watchers: SmallVec::new() };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.entries.push(Entry::default());
                u32::try_from(self.entries.len() - 1).expect("limits keep watched paths below 2^32")
            }
        };
        if let Some(place) = self.entries.get_mut(number as usize) {
            *place = entry;
        }
        self.path_bytes += path.len();
        let (hasher, entries) = (self.hasher, &self.entries);
        let rehash = |number: u32| entries.get(number as usize).map_or(0, |entry| hasher.hash(&entry.path));
        self.index.insert(hasher.hash(path), number, rehash);
        number
    }

    fn release_if_unwatched(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        if !entry.watchers.is_empty() {
            return;
        }
        let entry = core::mem::take(entry);
        self.path_bytes -= entry.path.len();
        self.index.remove(self.hasher.hash(&entry.path), number);
        self.free.push(number);
        if self.index.len() == 0 {
            self.give_back();
        }
    }

    /// A table that was large once and is empty now holds no memory.
    fn give_back(&mut self) {
        if self.entries.len() > 1024 {
            self.entries = Vec::new();
            self.free = Vec::new();
            self.index = PathIndex::new();
        }
    }

    /// Takes the path at this place out of a holder's list: the last one moves there.
    fn forget(&mut self, holder: u32, place: usize) {
        let Some(held) = self.holders.get_mut(holder as usize) else { return };
        if place >= held.paths.len() {
            return;
        }
        held.paths.swap_remove(place);
        let moved = held.paths.get(place).copied();
        if held.paths.is_empty() {
            held.paths = Vec::new();
        }
        let entry = moved.and_then(|number| self.entries.get_mut(number as usize));
        if let Some(watcher) = entry.and_then(|entry| entry.watcher_mut(holder)) {
            *watcher = Watcher::new(holder, watcher.modes(), place);
        }
    }
}

impl WatchCounts {
    fn replace(&mut self, before: Modes, after: Modes) {
        self.data = self.data + usize::from(after.intersects(Modes::DATA_TABLE))
            - usize::from(before.intersects(Modes::DATA_TABLE));
        self.child = self.child + usize::from(after.intersects(Modes::CHILD_TABLE))
            - usize::from(before.intersects(Modes::CHILD_TABLE));
        self.recursive = self.recursive + usize::from(after.intersects(Modes::RECURSIVE))
            - usize::from(before.intersects(Modes::RECURSIVE));
    }
}

#[cfg(test)]
mod tests;
