//! What a setWatches should tell: by ZooKeeper's rules of one-shot watches, and by ours of what came and went and of
//! persistent ones.

use std::collections::{BTreeMap, BTreeSet};

use jute::{EventType, permission};

use super::table::{Kind, Left, Table};
use crate::oracle::access::Identities;
use crate::oracle::model::{Change, Model, below};

/// A setWatches and its answer.
pub(super) struct Renewal<'a> {
    pub(super) model: &'a Model,
    /// What its client had seen.
    pub(super) behind: i64,
    /// What its answer shows.
    pub(super) up_to: i64,
    /// Behind which transaction its member remembered all changes.
    pub(super) remembered: i64,
    pub(super) who: &'a Identities,
    pub(super) data: &'a [String],
    pub(super) exist: &'a [String],
    pub(super) child: &'a [String],
    pub(super) persistent: &'a [String],
    pub(super) recursive: &'a [String],
}

/// Events of one kind and path each.
pub(super) type Told = BTreeSet<(i32, String)>;

impl Renewal<'_> {
    /// Leaves the watches, and gives what had to be told, and what might be told besides.
    pub(super) fn expected(&self, table: &mut Table) -> (Told, Told) {
        let (mut expected, mut remembered) = (Told::new(), Told::new());
        let mut expect = |kind: EventType, path: &str| {
            expected.insert((kind.code(), path.into()));
        };
        let left = |kind, of_nothing| Left { kind, since: self.up_to, of_nothing };
        for path in self.data {
            match self.model.at(path, self.up_to) {
                None => expect(EventType::NodeDeleted, path),
                Some(node) if node.stat.mzxid > self.behind => expect(EventType::NodeDataChanged, path),
                Some(_) => table.leave(path, left(Kind::Node, false)),
            }
        }
        for path in self.exist {
            if self.model.at(path, self.up_to).is_some() {
                expect(EventType::NodeCreated, path);
                continue;
            }
            if self.came_and_went(path) {
                remembered.insert((EventType::NodeDeleted.code(), path.clone()));
            }
            table.leave(path, left(Kind::Node, true));
        }
        for path in self.child {
            match self.model.at(path, self.up_to) {
                None => expect(EventType::NodeDeleted, path),
                Some(node) if node.stat.pzxid > self.behind => expect(EventType::NodeChildrenChanged, path),
                Some(_) => table.leave(path, left(Kind::Children, false)),
            }
        }
        self.persistent.iter().for_each(|path| table.leave(path, left(Kind::Persistent, false)));
        self.recursive.iter().for_each(|path| table.leave(path, left(Kind::Recursive, false)));
        remembered.extend(self.missed().into_iter().map(|(kind, path)| (kind.code(), path.to_owned())));
        // What its member had forgotten when the answer came it may have known when it made it.
        let has_to = self.remembered <= self.behind;
        if has_to {
            expected.append(&mut remembered);
        }
        (expected, remembered)
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

    /// What became of everything that persistent watches cover and that changed: by kind and path.
    fn missed(&self) -> Vec<(EventType, &str)> {
        if self.persistent.is_empty() && self.recursive.is_empty() {
            return Vec::new();
        }
        let mut last = BTreeMap::new();
        for happening in self.model.happenings(self.behind, self.up_to) {
            let (path, of_children) = (happening.path.as_str(), happening.change == Change::Children);
            let is_persistent = self.persistent.iter().any(|watched| watched == path);
            let is_below = |watched: &String| watched == path || path.starts_with(&below(watched));
            if is_persistent || (!of_children && self.recursive.iter().any(is_below)) {
                last.insert((path, of_children), &happening.acl);
            }
        }
        let mut missed = Vec::new();
        for ((path, of_children), acl) in last {
            let node = self.model.at(path, self.up_to);
            let kind = match node {
                None if of_children => continue,
                None => EventType::NodeDeleted,
                Some(_) if of_children => EventType::NodeChildrenChanged,
                Some(node) if node.stat.czxid > self.behind => EventType::NodeCreated,
                Some(_) => EventType::NodeDataChanged,
            };
            if self.who.may(permission::READ, node.map_or(acl, |node| &node.acl)) {
                missed.push((kind, path));
            }
        }
        missed
    }
}
