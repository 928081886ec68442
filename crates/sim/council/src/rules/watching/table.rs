//! What a connection watches, as ZooKeeper's documents say it: which call leaves what, and what a change uses up.

use std::collections::BTreeMap;

use council_wire::WatcherType;

use crate::oracle::model::{Change, Happening, parent};

/// The kinds of watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Of the node itself, once.
    Node,
    /// Of its children and its end, once.
    Children,
    /// Of both, and it stays.
    Persistent,
    /// Of the node and all descendants, and it stays.
    Recursive,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Node, Self::Children, Self::Persistent, Self::Recursive];

    /// Those that a client means.
    pub(super) fn meant(watcher: WatcherType) -> &'static [Self] {
        match watcher {
            WatcherType::Children => &[Self::Children],
            WatcherType::Data => &[Self::Node],
            WatcherType::Any => &Self::ALL,
            WatcherType::Persistent => &[Self::Persistent],
            WatcherType::PersistentRecursive => &[Self::Recursive],
        }
    }

    /// Whether a change of the watched node itself fires it.
    const fn fires(self, change: Change) -> bool {
        match self {
            Self::Node | Self::Recursive => !matches!(change, Change::Children),
            Self::Children => matches!(change, Change::Children | Change::Deleted),
            Self::Persistent => true,
        }
    }

    const fn stays(self) -> bool {
        matches!(self, Self::Persistent | Self::Recursive)
    }
}

/// A watch that was left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) kind: Kind,
    /// Behind which transaction.
    pub(super) since: i64,
    /// By an exists that found nothing.
    pub(super) of_nothing: bool,
}

/// One path.
#[derive(Debug, Default)]
struct Place {
    left: [Option<Left>; 4],
    /// What was left once, and has fired or was taken away.
    past: [bool; 4],
    /// What was asked for by calls that failed.
    refused: [bool; 4],
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Table {
    places: BTreeMap<String, Place>,
    count: usize,
    recursive: usize,
}

impl Table {
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn leave(&mut self, path: &str, left: Left) {
        let known = &mut self.places.entry(path.into()).or_default().left[left.kind as usize];
        if known.is_none() {
            *known = Some(left);
            self.count += 1;
            self.recursive += usize::from(left.kind == Kind::Recursive);
        }
    }

    pub(super) fn refuse(&mut self, path: &str, kind: Kind) {
        self.places.entry(path.into()).or_default().refused[kind as usize] = true;
    }

    pub(super) fn has(&self, path: &str, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.left(path, *kind).is_some())
    }

    pub(super) fn take_away(&mut self, path: &str, kinds: &[Kind]) {
        for kind in kinds {
            self.use_up(path, *kind);
        }
    }

    /// Something happens: gives one of the watches that it fires, if there is any.
    pub(super) fn fire(&mut self, happening: &Happening) -> Option<Left> {
        let (path, change) = (happening.path.as_str(), happening.change);
        let mut fired = None;
        if self.places.contains_key(path) {
            for kind in Kind::ALL.into_iter().filter(|kind| kind.fires(change)) {
                let left = if kind.stays() { self.left(path, kind) } else { self.use_up(path, kind) };
                fired = fired.or(left);
            }
        }
        let mut rest = path;
        while change != Change::Children && self.recursive > 0 && rest != "/" {
            rest = parent(rest);
            fired = fired.or_else(|| self.left(rest, Kind::Recursive));
        }
        fired
    }

    /// Why nobody waited for something: 17 if somebody had once, 23 if a call that failed had asked for it, else 19.
    pub(super) fn blame(&self, path: &str, change: Change) -> u32 {
        let place = self.places.get(path);
        let fires =
            |kinds: [bool; 4]| Kind::ALL.iter().any(|kind| kind.fires(change) && kinds[*kind as usize]);
        let mut above = std::iter::successors(Some(path), |path| (*path != "/").then(|| parent(path)));
        let was_recursive =
            |path: &str| self.places.get(path).is_some_and(|place| place.past[Kind::Recursive as usize]);
        if place.is_some_and(|place| fires(place.past)) || above.any(was_recursive) {
            return 17;
        }
        if place.is_some_and(|place| fires(place.refused)) { 23 } else { 19 }
    }

    fn left(&self, path: &str, kind: Kind) -> Option<Left> {
        self.places.get(path)?.left[kind as usize]
    }

    fn use_up(&mut self, path: &str, kind: Kind) -> Option<Left> {
        let place = self.places.get_mut(path)?;
        let left = place.left[kind as usize].take()?;
        place.past[kind as usize] = true;
        self.count -= 1;
        self.recursive -= usize::from(kind == Kind::Recursive);
        Some(left)
    }
}
