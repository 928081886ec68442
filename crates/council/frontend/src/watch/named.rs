//! The paths that a setWatches names, by hash: which of its lists name a path, what the tree shows of it, and which of
//! its watches are not in the shard's table yet.
//!
//! Hashes are seeded, so no client can choose paths that collide. If two paths of one request have the same hash by
//! chance, the client may get an event of one path for the other. Knows no history and no connection.

use council_tree::Tree;
use council_wire::EventType;
use hashbrown::HashTable;

use super::Modes;
use crate::path_hash::PathHasher;

/// What is known of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u16);

impl Marks {
    /// Lists that name it.
    pub(crate) const DATA: Self = Self(1);
    pub(crate) const EXIST: Self = Self(1 << 1);
    pub(crate) const CHILD: Self = Self(1 << 2);
    pub(crate) const PERSISTENT: Self = Self(1 << 3);
    pub(crate) const RECURSIVE: Self = Self(1 << 4);
    /// The node is there; its data, its children have changed behind what the client had seen.
    const THERE: Self = Self(1 << 5);
    const NEW_DATA: Self = Self(1 << 6);
    const NEW_CHILDREN: Self = Self(1 << 7);
    /// All that the tree shows.
    const SHOWN: Self = Self(Self::THERE.0 | Self::NEW_DATA.0 | Self::NEW_CHILDREN.0);
    /// It was there for a while behind what the client had seen.
    pub(crate) const WENT: Self = Self(1 << 8);
    /// A one-shot watch has fired before it was in the shard's table.
    const DATA_FIRED: Self = Self(1 << 9);
    const CHILD_FIRED: Self = Self(1 << 10);
    /// Its watches are in the shard's table.
    const LEFT: Self = Self(1 << 11);

    /// What the tree shows of a path.
    fn shown(tree: &Tree, path: &str, seen: i64) -> Self {
        let Some(stat) = tree.node(path).map(|node| node.stat()) else { return Self::default() };
        let data = if stat.mzxid > seen { Self::NEW_DATA } else { Self::default() };
        let children = if stat.pzxid > seen { Self::NEW_CHILDREN } else { Self::default() };
        Self(Self::THERE.0 | data.0 | children.0)
    }

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn is_there(self) -> bool {
        self.has(Self::THERE)
    }

    /// Its watches that are not in the shard's table.
    fn modes(self) -> Modes {
        let mut modes = Modes::NONE;
        if self.has(Self::LEFT) {
            return modes;
        }
        let unchanged = self.is_there() && self.has(Self::DATA) && !self.has(Self::NEW_DATA);
        let awaited = !self.is_there() && self.has(Self::EXIST);
        if (unchanged || awaited) && !self.has(Self::DATA_FIRED) {
            modes = modes.with(Modes::DATA);
        }
        let same_children = self.is_there() && self.has(Self::CHILD) && !self.has(Self::NEW_CHILDREN);
        if same_children && !self.has(Self::CHILD_FIRED) {
            modes = modes.with(Modes::CHILD);
        }
        if self.has(Self::PERSISTENT) {
            modes = modes.with(Modes::PERSISTENT);
        }
        if self.has(Self::RECURSIVE) {
            modes = modes.with(Modes::RECURSIVE);
        }
        modes
    }

    /// What a client that watched by this list is told at once.
    pub(crate) const fn event(self, list: Self) -> Option<EventType> {
        match (list, self.is_there()) {
            (Self::EXIST, true) => Some(EventType::NodeCreated),
            (Self::EXIST, false) if self.has(Self::WENT) => Some(EventType::NodeDeleted),
            (Self::DATA | Self::CHILD, false) => Some(EventType::NodeDeleted),
            (Self::DATA, true) if self.has(Self::NEW_DATA) => Some(EventType::NodeDataChanged),
            (Self::CHILD, true) if self.has(Self::NEW_CHILDREN) => Some(EventType::NodeChildrenChanged),
            _ => None,
        }
    }
}

/// All paths of one setWatches.
#[derive(Debug)]
pub(crate) struct Named {
    hasher: PathHasher,
    paths: HashTable<(u64, Marks)>,
    recursive: bool,
}

impl Named {
    /// Room for so many paths.
    pub(crate) fn new(hasher: PathHasher, paths: usize) -> Self {
        Self { hasher, paths: HashTable::with_capacity(paths), recursive: false }
    }

    /// A list names this path; the tree shows it as it is.
    pub(crate) fn name(&mut self, path: &str, list: Marks, tree: &Tree, seen: i64) {
        self.recursive |= list == Marks::RECURSIVE;
        let hash = self.hasher.hash(path);
        let shown = Marks::shown(tree, path, seen);
        match self.paths.find_mut(hash, |(other, _)| *other == hash) {
            Some((_, marks)) => *marks = marks.without(Marks::SHOWN).with(shown).with(list),
            None => {
                self.paths.insert_unique(hash, (hash, list.with(shown)), |(hash, _)| *hash);
            }
        }
    }

    /// Looks at a path again if it is named; whether it is.
    pub(crate) fn refresh(&mut self, path: &str, tree: &Tree, seen: i64) -> bool {
        let Some(marks) = self.marks_mut(path) else { return false };
        *marks = marks.without(Marks::SHOWN).with(Marks::shown(tree, path, seen));
        true
    }

    /// A node that the client waits for went.
    pub(crate) fn went(&mut self, path: &str) {
        if let Some(marks) = self.marks_mut(path) {
            *marks = marks.with(Marks::WENT);
        }
    }

    pub(crate) fn marks(&self, path: &str) -> Marks {
        let hash = self.hasher.hash(path);
        self.marks_hashed(hash)
    }

    /// Whether what happens to the node itself is told to persistent watches.
    pub(crate) fn covers(&self, path: &str) -> bool {
        self.marks(path).has(Marks::PERSISTENT.with(Marks::RECURSIVE))
            || self.is_below(path, |marks| marks.has(Marks::RECURSIVE))
    }

    /// Takes the watches on a path of this list, to be put into the shard's table, and what is known of it. That it went
    /// is told once, however often the list names it.
    pub(crate) fn leave(&mut self, path: &str, list: Marks) -> (Modes, Marks) {
        let Some(marks) = self.marks_mut(path) else { return (Modes::NONE, Marks::default()) };
        let known = *marks;
        *marks = known.with(Marks::LEFT);
        if list == Marks::EXIST {
            *marks = marks.without(Marks::WENT);
        }
        (known.modes(), known)
    }

    /// Something happens to a node. Whether a watch of these kinds that is not in the shard's table yet, or a recursive
    /// one above, is to be told; if it is a one-shot watch it is used up.
    pub(crate) fn fire(&mut self, path: &str, kinds: Modes) -> bool {
        let of_itself = self.marks_mut(path).is_some_and(|marks| {
            let fires = marks.modes().intersects(kinds);
            if kinds.intersects(Modes::DATA) {
                *marks = marks.with(Marks::DATA_FIRED);
            }
            if kinds.intersects(Modes::CHILD) {
                *marks = marks.with(Marks::CHILD_FIRED);
            }
            fires
        });
        let is_waiting = |marks: Marks| marks.modes().intersects(Modes::RECURSIVE);
        of_itself || (kinds.intersects(Modes::RECURSIVE) && self.is_below(path, is_waiting))
    }

    fn is_below(&self, path: &str, is_it: impl Fn(Marks) -> bool) -> bool {
        self.recursive && self.hasher.ancestors(path).any(|(_, hash)| is_it(self.marks_hashed(hash)))
    }

    fn marks_hashed(&self, hash: u64) -> Marks {
        self.paths.find(hash, |(other, _)| *other == hash).map_or(Marks::default(), |(_, marks)| *marks)
    }

    fn marks_mut(&mut self, path: &str) -> Option<&mut Marks> {
        let hash = self.hasher.hash(path);
        self.paths.find_mut(hash, |(other, _)| *other == hash).map(|(_, marks)| marks)
    }
}
