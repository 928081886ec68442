//! What a setWatches should tell: by ZooKeeper's rules of one-shot watches, and by ours of what came and went and of
//! persistent ones.

use std::collections::BTreeMap;

use council_wire::{EventType, permission};

use super::table::{Kind, Left, Table};
use crate::oracle::access::Identities;
use crate::oracle::model::{Change, Happening, Model, below};

/// What a change takes at the most where members remember it, besides its path, bytes.
const REMEMBERED_BYTES: usize = 400;

/// A setWatches and its answer.
pub(super) struct Renewal<'a> {
    pub(super) model: &'a Model,
    /// What its client had seen.
    pub(super) behind: i64,
    /// What its answer shows.
    pub(super) up_to: i64,
    /// Behind which transaction its member may remember all changes, and how many bytes of them.
    pub(super) began_zxid: i64,
    pub(super) history_bytes_max: usize,
    pub(super) who: &'a Identities,
    pub(super) data: &'a [String],
    pub(super) exist: &'a [String],
    pub(super) child: &'a [String],
    pub(super) persistent: &'a [String],
    pub(super) recursive: &'a [String],
}

/// Events by kind and path, in order.
pub(super) type Told = Vec<(i32, String)>;

/// What a setWatches has to tell.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// Of one-shot watches, in the order of their lists, and whether each is told by what is remembered: of nodes that
    /// came and went.
    listed: Vec<(bool, (i32, String))>,
    /// What persistent watches have missed, told at the end, by the transaction of the latest change of each.
    missed: Vec<(i64, (i32, String))>,
    /// Whether its member has to remember.
    pub(super) has_to: bool,
}

impl Expected {
    /// Whether that is what was told: each event as often as it is due, and in order.
    pub(super) fn is(&self, told: &[(i32, String)]) -> bool {
        let by_tree: Told = self.listed.iter().map(|(_, event)| event.clone()).collect();
        let forgot: Told =
            self.listed.iter().filter(|(gone, _)| !gone).map(|(_, event)| event.clone()).collect();
        if !self.has_to && told == forgot {
            return true;
        }
        let Some((before, missed)) = told.split_at_checked(by_tree.len()) else { return false };
        // What one transaction did may be told in any order.
        let mut rest = missed;
        let in_order = self.missed.chunk_by(|one, other| one.0 == other.0).all(|together| {
            let Some((these, behind)) = rest.split_at_checked(together.len()) else { return false };
            rest = behind;
            let mut these: Vec<_> = these.iter().collect();
            let mut due: Vec<_> = together.iter().map(|(_, event)| event).collect();
            these.sort_unstable();
            due.sort_unstable();
            these == due
        });
        before == by_tree && in_order && rest.is_empty()
    }

    /// How much there is to be told by what is remembered.
    pub(super) fn caught_up(&self) -> usize {
        self.listed.iter().filter(|(gone, _)| *gone).count() + self.missed.len()
    }
}

impl Renewal<'_> {
    /// Leaves the watches, and gives what had to be told.
    pub(super) fn expected(&self, table: &mut Table) -> Expected {
        let mut expected = Expected { has_to: self.has_to_remember(), ..Expected::default() };
        let event = |kind: EventType, path: &str| (kind.code(), path.to_owned());
        let left = |kind, of_nothing| Left { kind, since: self.up_to, of_nothing };
        for path in self.data {
            match self.model.at(path, self.up_to) {
                None => expected.listed.push((false, event(EventType::NodeDeleted, path))),
                Some(node) if node.stat.mzxid > self.behind => {
                    expected.listed.push((false, event(EventType::NodeDataChanged, path)));
                }
                Some(_) => table.leave(path, left(Kind::Node, false)),
            }
        }
        for path in self.exist {
            if self.model.at(path, self.up_to).is_some() {
                expected.listed.push((false, event(EventType::NodeCreated, path)));
                continue;
            }
            if self.came_and_went(path) {
                expected.listed.push((true, event(EventType::NodeDeleted, path)));
            }
            table.leave(path, left(Kind::Node, true));
        }
        for path in self.child {
            match self.model.at(path, self.up_to) {
                None => expected.listed.push((false, event(EventType::NodeDeleted, path))),
                Some(node) if node.stat.pzxid > self.behind => {
                    expected.listed.push((false, event(EventType::NodeChildrenChanged, path)));
                }
                Some(_) => table.leave(path, left(Kind::Children, false)),
            }
        }
        self.persistent.iter().for_each(|path| table.leave(path, left(Kind::Persistent, false)));
        self.recursive.iter().for_each(|path| table.leave(path, left(Kind::Recursive, false)));
        expected.missed = self.missed();
        expected
    }

    /// Whether all changes since are in its member's memory, by what that has seen and how much it is to keep.
    fn has_to_remember(&self) -> bool {
        let changes = self.model.happenings(self.behind, self.up_to).iter();
        let bytes: usize = changes.map(|happening| REMEMBERED_BYTES + happening.path.len()).sum();
        self.began_zxid <= self.behind && bytes <= self.history_bytes_max
    }

    /// It is told only to who may read it.
    fn came_and_went(&self, path: &str) -> bool {
        let mut since = self.model.happenings(self.behind, self.up_to).iter();
        since.any(|happening| {
            happening.path == path
                && happening.change == Change::Deleted
                && self.who.may(permission::READ, &happening.acl)
        })
    }

    /// What became of everything that persistent watches cover and that changed.
    fn missed(&self) -> Vec<(i64, (i32, String))> {
        if self.persistent.is_empty() && self.recursive.is_empty() {
            return Vec::new();
        }
        let mut last: BTreeMap<(&str, bool), &Happening> = BTreeMap::new();
        for happening in self.model.happenings(self.behind, self.up_to) {
            let (path, of_children) = (happening.path.as_str(), happening.change == Change::Children);
            let is_persistent = self.persistent.iter().any(|watched| watched == path);
            let is_below = |watched: &String| watched == path || path.starts_with(&below(watched));
            if is_persistent || (!of_children && self.recursive.iter().any(is_below)) {
                last.insert((path, of_children), happening);
            }
        }
        let mut missed = Vec::new();
        for ((path, of_children), happening) in last {
            let node = self.model.at(path, self.up_to);
            let kind = match node {
                None if of_children => continue,
                None => EventType::NodeDeleted,
                Some(_) if of_children => EventType::NodeChildrenChanged,
                Some(node) if node.stat.czxid > self.behind => EventType::NodeCreated,
                Some(_) => EventType::NodeDataChanged,
            };
            if self.who.may(permission::READ, node.map_or(&happening.acl, |node| &node.acl)) {
                missed.push((happening.zxid, (kind.code(), path.to_owned())));
            }
        }
        missed.sort_by_key(|(zxid, _)| *zxid);
        missed
    }
}
