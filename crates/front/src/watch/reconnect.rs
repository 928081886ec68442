//! setWatches: a client is back and says what it watched and how far it had seen.
//!
//! One-shot watches follow ZooKeeper's rules: judged against the tree, either an event at once or the watch again.
//! Such events carry zxid -1 and are not filtered by ACL, as there.
//!
//! Beyond ZooKeeper: persistent watches, which it only sets again, catch up from the history of changes; and an
//! exists watch on a node that came and went meanwhile hears that it is gone. Both are told once a path, judged
//! against the tree as it is now, and only to those who may read the node. A client may hear twice of one change.
//!
//! All of it is done in pieces: what a client watches may be many thousand paths, and what it missed as much as the
//! history holds. Each path is judged and watched in one piece, so nothing is missed between two of them.

use std::collections::BTreeMap;

use hashbrown::HashTable;
use jute::{ErrorCode, EventType, PathList, SetWatches, Zxid, permission};
use tree::{AclRef, ChangeKind, Tree, permits};

use super::fire::encode;
use super::{Modes, NULL_PATH};
use crate::common::Common;
use crate::connection::Connection;
use crate::event::FrontEvent;
use crate::hash::PathHasher;

/// Changes of the history that are looked at for one unit of work.
const CHANGES_PER_WORK: usize = 8;
/// Events that are told of missed changes for one unit of work.
const EVENTS_PER_WORK: usize = 4;
/// Paths that are put into a table for one unit of work.
const PATHS_PER_WORK: usize = 16;

/// Work that is left for the history when the tables are made.
const WORK_LEFT_MIN: usize = 512;

/// How far a setWatches has come.
#[derive(Debug, Default)]
pub(crate) struct SetAgain {
    stage: Stage,
    /// Paths of the list under way that are done.
    done: usize,
    /// How far the history has been looked through.
    looked: Option<Zxid>,
    /// Hashes of the nodes that the client waits for, and of those of them that were there for a while.
    awaited: HashTable<u64>,
    gone: HashTable<u64>,
    /// What persistent watches missed: by path, and whether it is about its children, the order of the latest change.
    latest: BTreeMap<(Box<str>, bool), (usize, AclRef)>,
    changes: usize,
    missed: Vec<Missed>,
}

/// What is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Data,
    Exist,
    Child,
    Persistent,
    Recursive,
    LookBack,
    Tell,
}

/// One event that a persistent watch missed.
#[derive(Debug)]
struct Missed {
    order: usize,
    child: bool,
    path: Box<str>,
    acl: AclRef,
}

impl Common {
    /// Goes on for so much work; whether all is done. At a null path, or a null list, ZooKeeper stops where it is, with
    /// what it has done so far; only persistent watches may be on null.
    pub(crate) fn set_watches(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> Result<bool, ErrorCode> {
        loop {
            let (list, next) = match progress.stage {
                Stage::Data => (set.data, Stage::Exist),
                Stage::Exist => (set.exist, Stage::Child),
                Stage::Child => (set.child, Stage::Persistent),
                Stage::Persistent => (set.persistent, Stage::Recursive),
                Stage::Recursive => (set.persistent_recursive, Stage::LookBack),
                Stage::LookBack => {
                    if !self.look_back(connection, set, progress, work) {
                        return Ok(false);
                    }
                    progress.stage = Stage::Tell;
                    continue;
                }
                Stage::Tell => return Ok(self.tell_missed(connection, set, progress, tree, work)),
            };
            if list.is_null() {
                return Err(ErrorCode::MarshallingError);
            }
            if !self.set_list(connection, set, list, progress, tree, work)? {
                return Ok(false);
            }
            (progress.stage, progress.done) = (next, 0);
        }
    }

    /// Sets the watches of one list; whether it is done.
    fn set_list(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        list: PathList<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> Result<bool, ErrorCode> {
        let (slot, seen) = (connection.id.slot, set.relative_zxid);
        if progress.stage == Stage::Exist && !self.look_for_gone(connection, set, progress, work) {
            return Ok(false);
        }
        for path in list.iter().skip(progress.done) {
            if *work == 0 {
                return Ok(false);
            }
            *work -= 1;
            progress.done += 1;
            let path = match (progress.stage, path) {
                (Stage::Persistent, path) => {
                    self.watches.add(slot, path.unwrap_or(NULL_PATH), Modes::PERSISTENT);
                    continue;
                }
                (Stage::Recursive, path) => {
                    self.watches.add(slot, path.unwrap_or(NULL_PATH), Modes::RECURSIVE);
                    continue;
                }
                (_, path) => path.ok_or(ErrorCode::MarshallingError)?,
            };
            let stat = tree.node(path).map(|node| node.stat());
            match (progress.stage, stat) {
                (Stage::Exist, Some(_)) => self.tell_back(connection, EventType::NodeCreated, path),
                (Stage::Exist, None) => self.await_again(connection, progress, path),
                (_, None) => self.tell_back(connection, EventType::NodeDeleted, path),
                (Stage::Data, Some(stat)) if stat.mzxid > seen => {
                    self.tell_back(connection, EventType::NodeDataChanged, path);
                }
                (Stage::Data, Some(_)) => self.watches.add(slot, path, Modes::DATA),
                (_, Some(stat)) if stat.pzxid > seen => {
                    self.tell_back(connection, EventType::NodeChildrenChanged, path);
                }
                (_, Some(_)) => self.watches.add(slot, path, Modes::CHILD),
            }
        }
        Ok(true)
    }

    fn tell_back(&mut self, connection: &mut Connection, event: EventType, path: &str) {
        self.stats.events_on_reconnect += 1;
        let mut frame = core::mem::take(&mut self.event_frame);
        encode(event, path, -1, &mut frame);
        self.notify_now(connection, &frame);
        self.event_frame = frame;
    }

    /// A node that is not there is watched for. Also by a client that is told that it was there: it takes the event for
    /// its watch and asks anew or not; ZooKeeper watches on.
    fn await_again(&mut self, connection: &mut Connection, progress: &mut SetAgain, path: &str) {
        let hash = self.watches.hasher().hash(path);
        // A path that is named twice is told once.
        if let Ok(gone) = progress.gone.find_entry(hash, |other| *other == hash) {
            gone.remove();
            self.stats.events_caught_up += 1;
            self.tell_back(connection, EventType::NodeDeleted, path);
        }
        self.watches.add(connection.id.slot, path, Modes::DATA);
    }

    /// Finds which nodes that the client waits for were there for a while behind what it has seen; whether that is known
    /// up to now. What goes later, between two pieces, is found before the next.
    fn look_for_gone(
        &mut self,
        connection: &Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        work: &mut usize,
    ) -> bool {
        let from = progress.looked.unwrap_or(Zxid(set.relative_zxid));
        if set.exist.is_empty() || !self.config.catch_up || !self.history.reaches(from) {
            return true;
        }
        let hasher = self.watches.hasher();
        if progress.looked.is_none() {
            charge_table(set.exist.len(), work);
            put_hashes(&mut progress.awaited, set.exist, hasher);
        }
        let (awaited, gone) = (&progress.awaited, &mut progress.gone);
        let asker = self.asker(connection);
        let looked = self.history.look(from, work, CHANGES_PER_WORK, |change| {
            if change.kind == ChangeKind::Deleted {
                let hash = hasher.hash(&change.path);
                if awaited.find(hash, |other| *other == hash).is_some()
                    && permits(&change.acl, permission::READ, asker.identities, asker.policy)
                {
                    put(gone, hash);
                }
            }
        });
        progress.looked = Some(looked.0);
        looked.1
    }

    /// Finds what persistent watches have missed; whether all of it is found.
    fn look_back(
        &mut self,
        connection: &Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        work: &mut usize,
    ) -> bool {
        if !self.config.catch_up || (set.persistent.is_empty() && set.persistent_recursive.is_empty()) {
            return true;
        }
        let seen = Zxid(set.relative_zxid);
        // The lists before have left how far they looked.
        let from = if progress.done == 0 { seen } else { progress.looked.unwrap_or(seen) };
        progress.done = 1;
        if !self.history.reaches(from) {
            self.stats.history_too_short += 1;
            let (session, since) = (connection.session, self.history.start_zxid());
            self.events.push(FrontEvent::HistoryTooShort { session, seen, since });
            progress.latest.clear();
            return true;
        }
        charge_table(set.persistent.len() + set.persistent_recursive.len(), work);
        let watched = Watched::new(set, self.watches.hasher());
        let looked = self.history.look(from, work, CHANGES_PER_WORK, |change| {
            progress.changes += 1;
            if watched.covers(&change.path) {
                progress.latest.insert((change.path.clone(), false), (progress.changes, change.acl.clone()));
            }
            if change.kind != ChangeKind::DataChanged && watched.is_persistent(change.parent_path()) {
                let key = (change.parent_path().into(), true);
                progress.latest.insert(key, (progress.changes, change.parent_acl.clone()));
            }
        });
        progress.looked = Some(looked.0);
        if looked.1 {
            let latest = core::mem::take(&mut progress.latest).into_iter();
            let missed = latest.map(|((path, child), (order, acl))| Missed { order, child, path, acl });
            progress.missed = missed.collect();
            // Taken from the end.
            progress.missed.sort_unstable_by_key(|missed| core::cmp::Reverse((missed.order, missed.child)));
        }
        looked.1
    }

    /// Tells what became of everything watched that changed, in the order of the latest change of each; whether all is
    /// told.
    fn tell_missed(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> bool {
        let mut left = work.saturating_mul(EVENTS_PER_WORK);
        while left > 0 {
            let Some(Missed { child, path, acl, .. }) = progress.missed.pop() else { break };
            left -= 1;
            let node = tree.node(&path);
            let event = match &node {
                None if child => continue,
                None => EventType::NodeDeleted,
                Some(_) if child => EventType::NodeChildrenChanged,
                Some(node) if node.stat().czxid > set.relative_zxid => EventType::NodeCreated,
                Some(_) => EventType::NodeDataChanged,
            };
            let asker = self.asker(connection);
            let acl = node.as_ref().map_or(&*acl, |node| node.acl());
            if permits(acl, permission::READ, asker.identities, asker.policy) {
                self.stats.events_caught_up += 1;
                self.tell_back(connection, event, &path);
            }
        }
        *work = left / EVENTS_PER_WORK;
        progress.missed.is_empty()
    }
}

/// Takes off what a table of so many paths costs, but so that something is left to use it for.
fn charge_table(paths: usize, work: &mut usize) {
    *work = work.saturating_sub(paths / PATHS_PER_WORK).max(WORK_LEFT_MIN.min(*work));
}

fn put(table: &mut HashTable<u64>, hash: u64) {
    if table.find(hash, |other| *other == hash).is_none() {
        table.insert_unique(hash, hash, |hash| *hash);
    }
}

fn put_hashes(table: &mut HashTable<u64>, list: PathList<'_>, hasher: PathHasher) {
    list.iter().flatten().for_each(|path| put(table, hasher.hash(path)));
}

/// The paths of persistent watches, for looking them up: as hashes under a seed that no client knows. Should two be
/// equal once in an age, a client hears of a node that it does not watch.
struct Watched {
    hasher: PathHasher,
    persistent: HashTable<u64>,
    recursive: HashTable<u64>,
}

impl Watched {
    fn new(set: &SetWatches<'_>, hasher: PathHasher) -> Self {
        let mut watched = Self { hasher, persistent: HashTable::new(), recursive: HashTable::new() };
        put_hashes(&mut watched.persistent, set.persistent, hasher);
        put_hashes(&mut watched.recursive, set.persistent_recursive, hasher);
        watched
    }

    fn is_persistent(&self, path: &str) -> bool {
        has(&self.persistent, self.hasher.hash(path))
    }

    /// Whether what happens to the node itself is watched.
    fn covers(&self, path: &str) -> bool {
        let hash = self.hasher.hash(path);
        has(&self.persistent, hash)
            || (!self.recursive.is_empty()
                && (has(&self.recursive, hash)
                    || self.hasher.ancestors(path).any(|(_, above)| has(&self.recursive, above))))
    }
}

fn has(table: &HashTable<u64>, hash: u64) -> bool {
    table.find(hash, |other| *other == hash).is_some()
}
