//! setWatches: a client is back and says what it watched and how far it had seen.
//!
//! One-shot watches follow ZooKeeper's rules: judged against the tree, either an event at once or the watch again.
//! Such events carry zxid -1 and are not filtered by ACL, as there.
//!
//! Beyond ZooKeeper: persistent watches, which it only sets again, catch up from the history of changes; and an
//! exists watch on a node that came and went meanwhile hears that it is gone. Both are told once a path, judged
//! against the tree as it is now, and only to those who may read the node. A client may hear twice of one change.

use std::collections::BTreeMap;

use jute::{ErrorCode, EventType, PathList, SetWatches, Zxid, permission};
use tree::{AclRef, ChangeKind, Tree, permits};

use super::fire::encode;
use super::table::parent;
use super::{Modes, NULL_PATH};
use crate::common::Common;
use crate::connection::Connection;
use crate::event::FrontEvent;

impl Common {
    /// At a null path, or a null list, ZooKeeper stops where it is, with what it has done so far; only persistent
    /// watches may be on null.
    pub(crate) fn set_watches(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        tree: &Tree,
    ) -> Result<(), ErrorCode> {
        let slot = connection.id.slot;
        let seen = set.relative_zxid;
        for path in present(set.data)? {
            let path = path.ok_or(ErrorCode::MarshallingError)?;
            match tree.node(path).map(|node| node.stat().mzxid > seen) {
                None => self.tell_back(connection, EventType::NodeDeleted, path),
                Some(true) => self.tell_back(connection, EventType::NodeDataChanged, path),
                Some(false) => self.watches.add(slot, path, Modes::DATA),
            }
        }
        self.set_exist_watches(connection, set, tree)?;
        for path in present(set.child)? {
            let path = path.ok_or(ErrorCode::MarshallingError)?;
            match tree.node(path).map(|node| node.stat().pzxid > seen) {
                None => self.tell_back(connection, EventType::NodeDeleted, path),
                Some(true) => self.tell_back(connection, EventType::NodeChildrenChanged, path),
                Some(false) => self.watches.add(slot, path, Modes::CHILD),
            }
        }
        for path in present(set.persistent)? {
            self.watches.add(slot, path.unwrap_or(NULL_PATH), Modes::PERSISTENT);
        }
        for path in present(set.persistent_recursive)? {
            self.watches.add(slot, path.unwrap_or(NULL_PATH), Modes::RECURSIVE);
        }
        if self.config.catch_up && !(set.persistent.is_empty() && set.persistent_recursive.is_empty()) {
            self.catch_up(connection, set, tree);
        }
        Ok(())
    }

    fn tell_back(&mut self, connection: &mut Connection, event: EventType, path: &str) {
        self.stats.events_on_reconnect += 1;
        let mut frame = core::mem::take(&mut self.event_frame);
        encode(event, path, -1, &mut frame);
        self.notify_now(connection, &frame);
        self.event_frame = frame;
    }

    fn set_exist_watches(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        tree: &Tree,
    ) -> Result<(), ErrorCode> {
        let mut missing = Vec::new();
        let mut result = Ok(());
        for path in present(set.exist)? {
            let Some(path) = path else {
                result = Err(ErrorCode::MarshallingError);
                break;
            };
            match tree.node(path) {
                Some(_) => self.tell_back(connection, EventType::NodeCreated, path),
                None => missing.push(path),
            }
        }
        let gone = self.came_and_went(connection, Zxid(set.relative_zxid), missing.clone());
        for path in missing {
            if gone.contains(&path) {
                self.stats.events_caught_up += 1;
                self.tell_back(connection, EventType::NodeDeleted, path);
            }
            // Also when told: a client takes the event for its watch and asks anew or not; ZooKeeper watches on.
            self.watches.add(connection.id.slot, path, Modes::DATA);
        }
        result
    }

    /// Those of the missing paths whose nodes were there for a while behind `seen`.
    fn came_and_went<'p>(
        &self,
        connection: &Connection,
        seen: Zxid,
        mut missing: Vec<&'p str>,
    ) -> Vec<&'p str> {
        let mut gone = Vec::new();
        if missing.is_empty() || !self.config.catch_up || !self.history.reaches(seen) {
            return gone;
        }
        missing.sort_unstable();
        missing.dedup();
        let asker = self.asker(connection);
        for change in self.history.behind(seen).filter(|change| change.kind == ChangeKind::Deleted) {
            if let Ok(at) = missing.binary_search(&&*change.path)
                && permits(&change.acl, permission::READ, asker.identities, asker.policy)
                && let Some(path) = missing.get(at)
                && !gone.contains(path)
            {
                gone.push(path);
            }
        }
        gone
    }

    /// Tells what persistent watches have missed.
    fn catch_up(&mut self, connection: &mut Connection, set: &SetWatches<'_>, tree: &Tree) {
        let seen = Zxid(set.relative_zxid);
        if !self.history.reaches(seen) {
            self.stats.history_too_short += 1;
            let since = self.history.start_zxid();
            let session = connection.session;
            return self.events.push(FrontEvent::HistoryTooShort { session, seen, since });
        }
        for (event, path) in self.missed(connection, set, seen, tree) {
            self.stats.events_caught_up += 1;
            self.tell_back(connection, event, &path);
        }
    }

    /// The events that tell what became of everything watched that changed behind `seen`, in the order of the
    /// latest change of each.
    fn missed(
        &self,
        connection: &Connection,
        set: &SetWatches<'_>,
        seen: Zxid,
        tree: &Tree,
    ) -> Vec<(EventType, Box<str>)> {
        let watched = Watched::new(set);
        let mut latest: BTreeMap<(&str, bool), (usize, &AclRef)> = BTreeMap::new();
        for (order, change) in self.history.behind(seen).enumerate() {
            if watched.covers(&change.path) {
                latest.insert((&change.path, false), (order, &change.acl));
            }
            if change.kind != ChangeKind::DataChanged && watched.is_persistent(change.parent_path()) {
                latest.insert((change.parent_path(), true), (order, &change.parent_acl));
            }
        }
        let mut latest: Vec<_> =
            latest.into_iter().map(|((path, child), (order, acl))| (order, child, path, acl)).collect();
        latest.sort_unstable_by_key(|(order, child, ..)| (*order, *child));
        let asker = self.asker(connection);
        let may = |acl: &[jute::Acl]| permits(acl, permission::READ, asker.identities, asker.policy);
        let judge = |(_, child, path, acl): (usize, bool, &str, &AclRef)| {
            let node = tree.node(path);
            let event = match &node {
                None if child => return None,
                None => EventType::NodeDeleted,
                Some(_) if child => EventType::NodeChildrenChanged,
                Some(node) if node.stat().czxid > seen.0 => EventType::NodeCreated,
                Some(_) => EventType::NodeDataChanged,
            };
            may(node.map_or(&**acl, |node| node.acl())).then(|| (event, path.into()))
        };
        latest.into_iter().filter_map(judge).collect()
    }
}

/// The paths of a list, unless it is null.
fn present<'a>(list: PathList<'a>) -> Result<impl Iterator<Item = Option<&'a str>> + use<'a>, ErrorCode> {
    if list.is_null() { Err(ErrorCode::MarshallingError) } else { Ok(list.iter()) }
}

/// The paths of persistent watches, for looking them up.
struct Watched<'a> {
    persistent: Vec<&'a str>,
    recursive: Vec<&'a str>,
}

impl<'a> Watched<'a> {
    fn new(set: &SetWatches<'a>) -> Self {
        let sorted = |list: PathList<'a>| {
            let mut paths: Vec<_> = list.iter().flatten().collect();
            paths.sort_unstable();
            paths
        };
        Self { persistent: sorted(set.persistent), recursive: sorted(set.persistent_recursive) }
    }

    fn is_persistent(&self, path: &str) -> bool {
        self.persistent.binary_search(&path).is_ok()
    }

    /// Whether what happens to the node itself is watched.
    fn covers(&self, path: &str) -> bool {
        if self.is_persistent(path) {
            return true;
        }
        let mut rest = (!self.recursive.is_empty()).then_some(path);
        while let Some(here) = rest {
            if self.recursive.binary_search(&here).is_ok() {
                return true;
            }
            rest = parent(here);
        }
        false
    }
}
