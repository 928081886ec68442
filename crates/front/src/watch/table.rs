//! The table of all watches of a shard: by path for firing, by connection for removal and limits.
//!
//! A path is stored once, with its watchers sorted by connection; a connection holds the numbers of its paths, and each
//! watcher the place of its path among those. So a watch costs 12 bytes beyond its path, ten thousand watchers of one
//! node are one run through memory, and a connection's millionth watch comes and goes as fast as its first. Knows no
//! event, no zxid and no ACL: it says which connections to tell.

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::Modes;
use crate::hash::PathHasher;

/// How many paths a connection may watch here at all. Half of what [`Watcher`] has bits for: reads that wait for a
/// write were within the limit when they came, and may leave their watches beyond it.
pub(crate) const PATHS_PER_CONNECTION_MAX: usize = PLACES / 2;
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 28;

/// One connection's watches of one path, in eight bytes.
#[derive(Clone, Copy, Debug)]
struct Watcher {
    slot: u32,
    /// The modes above [`PLACE_BITS`] of the place of the path in the connection's list.
    modes_and_place: u32,
}

impl Watcher {
    fn new(slot: u32, modes: Modes, place: usize) -> Self {
        assert!(place < PLACES, "limits keep a connection's watches below this");
        Self { slot, modes_and_place: u32::from(modes.bits()) << PLACE_BITS | place as u32 }
    }

    const fn modes(self) -> Modes {
        Modes::from_bits((self.modes_and_place >> PLACE_BITS) as u8)
    }

    const fn place(self) -> usize {
        self.modes_and_place as usize % PLACES
    }

    fn set_modes(&mut self, modes: Modes) {
        *self = Self::new(self.slot, modes, self.place());
    }
}

#[derive(Debug, Default)]
struct Entry {
    path: Box<str>,
    /// Sorted by slot.
    watchers: SmallVec<[Watcher; 2]>,
}

impl Entry {
    fn watcher(&self, slot: u32) -> Option<Watcher> {
        let at = self.watchers.binary_search_by_key(&slot, |watcher| watcher.slot).ok()?;
        self.watchers.get(at).copied()
    }

    fn watcher_mut(&mut self, slot: u32) -> Option<&mut Watcher> {
        let at = self.watchers.binary_search_by_key(&slot, |watcher| watcher.slot).ok()?;
        self.watchers.get_mut(at)
    }
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

/// Who watches what.
#[derive(Debug)]
pub(crate) struct WatchTable {
    hasher: PathHasher,
    index: HashTable<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// By connection slot: the numbers of its paths, in any order.
    paths_of: Vec<Vec<u32>>,
    counts: WatchCounts,
    path_bytes: usize,
}

impl WatchTable {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            hasher: PathHasher::new(seed),
            index: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
            paths_of: Vec::new(),
            counts: WatchCounts::default(),
            path_bytes: 0,
        }
    }

    /// Leaves a watch.
    pub(crate) fn add(&mut self, slot: u32, path: &str, modes: Modes) {
        let number = match self.find(path) {
            Some(number) => number,
            None => self.intern(path),
        };
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        match entry.watchers.binary_search_by_key(&slot, |watcher| watcher.slot) {
            Ok(at) => {
                if let Some(watcher) = entry.watchers.get_mut(at) {
                    let before = watcher.modes();
                    watcher.set_modes(before.with(modes));
                    self.counts.replace(before, watcher.modes());
                }
            }
            Err(at) => {
                if self.paths_of.len() <= slot as usize {
                    self.paths_of.resize_with(slot as usize + 1, Vec::new);
                }
                let Some(numbers) = self.paths_of.get_mut(slot as usize) else { return };
                entry.watchers.insert(at, Watcher::new(slot, modes, numbers.len()));
                numbers.push(number);
                self.counts.replace(Modes::NONE, modes);
            }
        }
    }

    /// Removes those kinds of watches on a path; whether there was one.
    pub(crate) fn remove(&mut self, slot: u32, path: &str, modes: Modes) -> bool {
        let Some(number) = self.find(path) else { return false };
        let watcher = self.entries.get_mut(number as usize).and_then(|entry| entry.watcher_mut(slot));
        let Some(watcher) = watcher else { return false };
        let before = watcher.modes();
        let after = before.without(modes);
        watcher.set_modes(after);
        let place = watcher.place();
        self.counts.replace(before, after);
        if after.is_empty() {
            if let Some(entry) = self.entries.get_mut(number as usize) {
                entry.watchers.retain(|watcher| watcher.slot != slot);
            }
            self.forget(slot, place);
            self.release_if_unwatched(number);
        }
        before != after
    }

    /// Removes every watch of a connection.
    pub(crate) fn remove_connection(&mut self, slot: u32) {
        let Some(numbers) = self.paths_of.get_mut(slot as usize).map(core::mem::take) else { return };
        for number in numbers {
            let Some(entry) = self.entries.get_mut(number as usize) else { continue };
            if let Ok(at) = entry.watchers.binary_search_by_key(&slot, |watcher| watcher.slot) {
                let watcher = entry.watchers.remove(at);
                self.counts.replace(watcher.modes(), Modes::NONE);
            }
            self.release_if_unwatched(number);
        }
    }

    /// Collects in `told` the connections with a watch on `path` of a kind in `kinds`, each once, and uses up
    /// their one-shot watches of those kinds.
    pub(crate) fn fire(&mut self, path: &str, kinds: Modes, told: &mut Vec<u32>) {
        let Some(number) = self.find(path) else { return };
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        let used_up = kinds.without(Modes::PERSISTENT.with(Modes::RECURSIVE));
        let counts = &mut self.counts;
        let mut gone: SmallVec<[Watcher; 4]> = SmallVec::new();
        entry.watchers.retain(|watcher| {
            let before = watcher.modes();
            if !before.intersects(kinds) {
                return true;
            }
            told.push(watcher.slot);
            let after = before.without(used_up);
            watcher.set_modes(after);
            counts.replace(before, after);
            if after.is_empty() {
                gone.push(*watcher);
            }
            !after.is_empty()
        });
        for watcher in gone {
            self.forget(watcher.slot, watcher.place());
        }
        self.release_if_unwatched(number);
    }

    /// Adds to `told` the connections with a recursive watch on an ancestor of `path`, then makes `told` a set.
    pub(crate) fn fire_ancestors(&mut self, path: &str, told: &mut Vec<u32>) {
        if self.counts.recursive == 0 {
            return;
        }
        let before = told.len();
        let mut rest = path;
        while let Some(parent) = parent(rest) {
            rest = parent;
            let Some(entry) = self.find(parent).and_then(|number| self.entries.get(number as usize)) else {
                continue;
            };
            let recursive =
                entry.watchers.iter().filter(|watcher| watcher.modes().intersects(Modes::RECURSIVE));
            told.extend(recursive.map(|watcher| watcher.slot));
        }
        if told.len() > before {
            told.sort_unstable();
            told.dedup();
        }
    }

    /// Whether the connection has a watch of one of these kinds on a path.
    pub(crate) fn contains(&self, slot: u32, path: &str, modes: Modes) -> bool {
        let entry = self.find(path).and_then(|number| self.entries.get(number as usize));
        entry.and_then(|entry| entry.watcher(slot)).is_some_and(|watcher| watcher.modes().intersects(modes))
    }

    /// How many paths a connection watches.
    pub(crate) fn paths_watched_by(&self, slot: u32) -> usize {
        self.paths_of.get(slot as usize).map_or(0, Vec::len)
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
        let numbers = self.paths_of.get(slot as usize).map(Vec::as_slice).unwrap_or_default();
        numbers.iter().filter_map(move |number| {
            let entry = self.entries.get(*number as usize)?;
            entry.watcher(slot)?.modes().intersects(Modes::DATA_TABLE).then_some(&*entry.path)
        })
    }

    /// Every path with data watches and the connections that hold them, as wchp lists them.
    pub(crate) fn data_watchers(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32>)> {
        self.entries.iter().filter_map(|entry| {
            let slots =
                || entry.watchers.iter().filter(|watcher| watcher.modes().intersects(Modes::DATA_TABLE));
            slots().next()?;
            Some((&*entry.path, slots().map(|watcher| watcher.slot)))
        })
    }

    fn find(&self, path: &str) -> Option<u32> {
        if self.index.is_empty() {
            return None;
        }
        let entries = &self.entries;
        let same = |number: &u32| entries.get(*number as usize).is_some_and(|entry| *entry.path == *path);
        self.index.find(self.hasher.hash(path), same).copied()
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
        let rehash = |number: &u32| entries.get(*number as usize).map_or(0, |entry| hasher.hash(&entry.path));
        self.index.insert_unique(hasher.hash(path), number, rehash);
        number
    }

    fn release_if_unwatched(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        if !entry.watchers.is_empty() {
            return;
        }
        let entry = core::mem::take(entry);
        self.path_bytes -= entry.path.len();
        if let Ok(found) = self.index.find_entry(self.hasher.hash(&entry.path), |other| *other == number) {
            found.remove();
        }
        self.free.push(number);
        if self.index.is_empty() {
            self.give_back();
        }
    }

    /// A table that was large once and is empty now holds no memory.
    fn give_back(&mut self) {
        if self.entries.len() > 1024 {
            self.entries = Vec::new();
            self.free = Vec::new();
            self.index = HashTable::new();
        }
    }

    /// Takes the path at this place out of a connection's list: the last one moves there.
    fn forget(&mut self, slot: u32, place: usize) {
        let Some(numbers) = self.paths_of.get_mut(slot as usize) else { return };
        if place >= numbers.len() {
            return;
        }
        numbers.swap_remove(place);
        let moved = numbers.get(place).copied();
        if numbers.is_empty() {
            *numbers = Vec::new();
        }
        let entry = moved.and_then(|number| self.entries.get_mut(number as usize));
        if let Some(watcher) = entry.and_then(|entry| entry.watcher_mut(slot)) {
            *watcher = Watcher::new(slot, watcher.modes(), place);
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

/// The path of the node above, `/` above the first level, nothing above `/`.
pub(crate) fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        None => None,
        Some(0) => (path.len() > 1).then_some("/"),
        Some(at) => path.get(..at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(table: &mut WatchTable, path: &str, kinds: Modes) -> Vec<u32> {
        let mut told = Vec::new();
        table.fire(path, kinds, &mut told);
        table.fire_ancestors(path, &mut told);
        told
    }

    #[test]
    fn one_shot_watches_are_used_up_and_persistent_ones_are_not() {
        let mut table = WatchTable::new(1);
        table.add(3, "/a", Modes::DATA);
        table.add(3, "/a", Modes::DATA);
        table.add(4, "/a", Modes::PERSISTENT);
        assert_eq!(fired(&mut table, "/a", Modes::DATA_TABLE), [3, 4]);
        assert_eq!(fired(&mut table, "/a", Modes::DATA_TABLE), [4]);
        assert_eq!(table.paths_watched_by(3), 0);
    }

    #[test]
    fn a_recursive_watch_covers_descendants_on_component_boundaries_only() {
        let mut table = WatchTable::new(1);
        table.add(1, "/a", Modes::RECURSIVE);
        table.add(2, "/", Modes::RECURSIVE);
        assert_eq!(fired(&mut table, "/a/b/c", Modes::DATA_TABLE), [1, 2]);
        assert_eq!(fired(&mut table, "/ab", Modes::DATA_TABLE), [2]);
        assert_eq!(fired(&mut table, "/", Modes::DATA_TABLE), [2]);
        assert!(fired(&mut table, "/a", Modes::CHILD).contains(&2));
    }

    #[test]
    fn kinds_coexist_and_are_removed_one_by_one() {
        let mut table = WatchTable::new(1);
        for modes in [Modes::DATA, Modes::CHILD, Modes::PERSISTENT, Modes::RECURSIVE] {
            table.add(0, "/a", modes);
        }
        assert_eq!(table.counts(), WatchCounts { data: 1, child: 1, recursive: 1 });
        assert!(table.remove(0, "/a", Modes::PERSISTENT));
        assert!(!table.remove(0, "/a", Modes::PERSISTENT));
        assert!(table.contains(0, "/a", Modes::CHILD));
        assert!(table.remove(0, "/a", Modes::ANY));
        assert!(table.is_empty());
        assert_eq!((table.path_count(), table.path_bytes), (0, 0));
    }

    /// The table beside one that is searched linearly, under whatever connections do.
    #[test]
    fn it_says_what_a_plain_list_would() {
        let mut state = 1_u64;
        let mut dice = |sides: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % sides
        };
        let (mut table, mut plain) = (WatchTable::new(5), Vec::<(u32, String, Modes)>::new());
        for _ in 0..20_000 {
            let (slot, path) = (dice(5) as u32, format!("/{}", dice(30)));
            let modes = Modes::from_bits(1 << dice(4));
            let there = plain.iter().position(|watch| (watch.0, &watch.1) == (slot, &path));
            match dice(20) {
                0..10 => {
                    table.add(slot, &path, modes);
                    match there {
                        Some(at) => plain[at].2 = plain[at].2.with(modes),
                        None => plain.push((slot, path.clone(), modes)),
                    }
                }
                10..14 => {
                    let had = there.is_some_and(|at| plain[at].2.intersects(modes));
                    assert_eq!(table.remove(slot, &path, modes), had);
                    there.into_iter().for_each(|at| plain[at].2 = plain[at].2.without(modes));
                }
                14..19 => {
                    let mut told = Vec::new();
                    table.fire(&path, Modes::DATA_TABLE, &mut told);
                    let mut expected = Vec::new();
                    for watch in plain.iter_mut().filter(|watch| watch.1 == path) {
                        if watch.2.intersects(Modes::DATA_TABLE) {
                            expected.push(watch.0);
                            watch.2 = watch.2.without(Modes::DATA);
                        }
                    }
                    expected.sort_unstable();
                    assert_eq!(told, expected);
                }
                _ => {
                    table.remove_connection(slot);
                    plain.retain(|watch| watch.0 != slot);
                }
            }
            plain.retain(|watch| !watch.2.is_empty());
            let of_slot = plain.iter().filter(|watch| watch.0 == slot);
            assert_eq!(table.paths_watched_by(slot), of_slot.clone().count());
            assert!(of_slot.clone().all(|watch| table.contains(slot, &watch.1, watch.2)));
            let in_table = |modes| plain.iter().filter(|watch| watch.2.intersects(modes)).count();
            let (data, child) = (in_table(Modes::DATA_TABLE), in_table(Modes::CHILD_TABLE));
            assert_eq!(table.counts(), WatchCounts { data, child, recursive: in_table(Modes::RECURSIVE) });
        }
    }

    #[test]
    fn a_connection_that_goes_leaves_nothing() {
        let mut table = WatchTable::new(9);
        for path in ["/a", "/b", "/c"] {
            table.add(7, path, Modes::DATA);
            table.add(8, path, Modes::CHILD);
        }
        table.remove_connection(7);
        table.remove_connection(8);
        assert!(table.is_empty());
        assert_eq!(table.path_count(), 0);
        assert_eq!(table.free.len(), 3);
    }
}
