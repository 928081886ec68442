//! setWatches: a client that has reconnected sends its watches and the last zxid that it has seen.
//!
//! One-shot watches follow ZooKeeper's rules: each is compared with the tree, and either sends an event at once or is
//! set again. Such events carry zxid -1 and are not filtered by ACL, as in ZooKeeper.
//!
//! Beyond ZooKeeper: persistent watches, which it only sets again, catch up from the history of changes; and an exists
//! watch on a node that came and went meanwhile gets the deletion. Both kinds of events are sent once a path, follow
//! the tree as it is now, and go only to clients that may read the node at that time.
//!
//! All of it happens at one moment, the zxid of the reply, however many pieces it takes: events of changes up to there
//! come before the reply, events of later changes behind it, from the watches that were set. In three stages:
//!
//! 1. The paths are collected, and what the tree shows of each.
//! 2. The history is looked through. What changed since a path was collected is judged again. The end of the history is
//!    the moment.
//! 3. Events are sent and watches are put into the shard's table. Those that are not there yet fire from [`Settled`]
//!    meanwhile, and their events wait behind the reply.

use council_tree::{Change, ChangeKind, Tree, permits};
use council_wire::{ErrorCode, EventType, PathList, SetWatches, Zxid, permission};

use super::fire::encode;
use crate::connection::Connection;
use crate::event::FrontEvent;
use crate::path_hash::PathHasher;
use crate::shard_state::ShardState;
use crate::watch::{
    Marks, Missed, MissedEvents, NULL_PATH, Named, Renewed, SetAgain, Settled, Stage, WORK_PER_TOLD,
    WORK_PER_WATCH, lists,
};

// What things cost was measured on a machine of 2026 whose core does a turn's work in about a millisecond, so a unit is
// about 250 ns. They are rounded up.

/// Changes of the history that are looked at for one unit of work where no watch is concerned: 70 ns each, or 165 ns
/// where ancestors have to be looked up for recursive watches.
const CHANGES_PER_WORK: usize = 4;
const CHANGES_PER_WORK_RECURSIVE: usize = 2;
/// A path that is named or has changed is hashed and looked up in the tree: 400 ns.
const WORK_PER_PATH: usize = 2;
/// An event that a persistent watch missed: its path is copied and put in order, 450 ns.
const WORK_PER_MISSED: usize = 2;
/// Paths of a request that are read over for one unit of work, as each piece does: 10 ns each.
const PATHS_READ_PER_WORK: usize = 24;

/// How often all is done again because the history has lost what changed meanwhile; then it is done as a whole.
const RESTARTS_MAX: u8 = 3;

/// The lists of a setWatches, in order.
const LISTS: [Marks; 5] = [Marks::DATA, Marks::EXIST, Marks::CHILD, Marks::PERSISTENT, Marks::RECURSIVE];

/// What is looked for in the history.
struct Look<'a> {
    tree: &'a Tree,
    /// Since when paths were collected.
    began: Zxid,
    /// What the client had seen.
    seen: i64,
    /// Whether exists watches wait for nodes that came and went.
    waits: bool,
    /// Whether persistent watches catch up.
    persists: bool,
    hasher: PathHasher,
}

impl Look<'_> {
    /// Looks at one change; gives what that has cost.
    fn at(
        &self,
        change: &Change,
        named: &mut Named,
        missed: &mut MissedEvents,
        may_read: &impl Fn(&[council_wire::Acl]) -> bool,
    ) -> usize {
        let (tree, seen, mut cost) = (self.tree, self.seen, 0);
        if change.zxid > self.began {
            cost += WORK_PER_PATH * usize::from(named.refresh(&change.path, tree, seen));
            if change.kind != ChangeKind::DataChanged {
                cost += WORK_PER_PATH * usize::from(named.refresh(change.parent_path(), tree, seen));
            }
        }
        if change.zxid.0 <= seen {
            return cost;
        }
        let deleted = change.kind == ChangeKind::Deleted;
        if self.waits && deleted && named.marks(&change.path).has(Marks::EXIST) {
            cost += WORK_PER_PATH;
            if may_read(&change.acl) {
                named.went(&change.path);
            }
        }
        if self.persists {
            for event in missed_events(named, change, tree, seen) {
                cost += WORK_PER_MISSED;
                missed.put(event, self.hasher);
            }
        }
        cost
    }
}

impl ShardState {
    /// Does a setWatches if that takes no more than so much work; whether it is done. Otherwise nothing has happened.
    pub(crate) fn set_watches_at_once(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        tree: &Tree,
        work: &mut usize,
    ) -> Result<bool, ErrorCode> {
        let mut progress = SetAgain::default();
        if self.settle_watches(connection, set, &mut progress, tree, work) != Renewed::All
            || !progress.fits(set, *work)
        {
            return Ok(false);
        }
        self.tell_settled(connection, set, &mut progress, tree, work)
    }

    /// Goes on for so much work. At a null path, or a null list, ZooKeeper stops where it is, with what it has done so
    /// far; only persistent watches may be on null.
    pub(crate) fn set_watches(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> Result<Renewed, ErrorCode> {
        let paths: usize = lists(set).iter().map(PathList::len).sum();
        *work -= (paths / PATHS_READ_PER_WORK).min(*work / 2);
        if progress.settled.is_none() {
            let settled = self.settle_watches(connection, set, progress, tree, work);
            if settled != Renewed::All {
                return Ok(settled);
            }
        } else {
            progress.named = self.watching.settled.take().map(|settled| settled.named);
        }
        if self.tell_settled(connection, set, progress, tree, work)? {
            return Ok(Renewed::All);
        }
        let slot = connection.id.slot;
        self.watching.settled = progress.named.take().map(|named| Settled { slot, named });
        Ok(Renewed::More)
    }

    /// Finds out which events to send and which watches to set, up to the end of the history.
    fn settle_watches(
        &mut self,
        connection: &Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> Renewed {
        if progress.stage == Stage::Collect {
            if !self.collect(set, progress, tree, work) {
                return Renewed::More;
            }
            progress.to(Stage::LookBack);
        }
        let ended = self.look_back(connection, set, progress, tree, work);
        match ended {
            Renewed::All => {
                progress.settled = Some(tree.last_zxid());
                progress.to(Stage::TellListed);
            }
            Renewed::More => {}
            Renewed::Whole if progress.restarts < RESTARTS_MAX => {
                *progress = SetAgain { restarts: progress.restarts + 1, ..SetAgain::default() };
                return Renewed::More;
            }
            Renewed::Whole => *progress = SetAgain::default(),
        }
        ended
    }

    /// Collects what the lists name; whether all of it is.
    fn collect(&self, set: &SetWatches<'_>, progress: &mut SetAgain, tree: &Tree, work: &mut usize) -> bool {
        let SetAgain { list, done, named, broken, began, .. } = progress;
        let named = named.get_or_insert_with(|| {
            *began = tree.last_zxid();
            Named::new(self.watching.table.hasher(), lists(set).iter().map(PathList::len).sum())
        });
        for (mark, paths) in LISTS.into_iter().zip(lists(set)).skip(*list) {
            if paths.is_null() {
                *broken = true;
                return true;
            }
            for path in paths.iter().skip(*done) {
                if *work == 0 {
                    return false;
                }
                *work = work.saturating_sub(WORK_PER_PATH);
                *done += 1;
                let Some(path) = named_path(path, mark) else {
                    *broken = true;
                    return true;
                };
                named.name(path, mark, tree, set.relative_zxid);
            }
            (*list, *done) = (*list + 1, 0);
        }
        true
    }

    /// Looks through the history: what came and went, what persistent watches have missed, and what has changed since
    /// it was collected.
    fn look_back(
        &mut self,
        connection: &Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> Renewed {
        let from = match progress.looked {
            Some(looked) => looked,
            None => self.start_of_look(set, progress),
        };
        if !self.watching.history.reaches(from) {
            return Renewed::Whole;
        }
        let hasher = self.watching.table.hasher();
        let asker = self.asker(connection);
        let may_read =
            |acl: &[council_wire::Acl]| permits(acl, permission::READ, asker.identities, asker.policy);
        let SetAgain { named: Some(named), missed, began, catches_up, broken, .. } = progress else {
            return Renewed::Whole;
        };
        let persists = persists(set) && *catches_up && !*broken;
        let waits = !set.exist.is_empty() && *catches_up;
        let look = Look { tree, began: *began, seen: set.relative_zxid, waits, persists, hasher };
        let recursive = persists && !set.persistent_recursive.is_empty();
        let per_work = if recursive { CHANGES_PER_WORK_RECURSIVE } else { CHANGES_PER_WORK };
        let (looked, is_all) = self
            .watching
            .history
            .look(from, work, per_work, |change| look.at(change, named, missed, &may_read));
        progress.looked = Some(looked);
        if is_all { Renewed::All } else { Renewed::More }
    }

    /// Behind which transaction to look through the history.
    fn start_of_look(&self, set: &SetWatches<'_>, progress: &mut SetAgain) -> Zxid {
        let (seen, began) = (Zxid(set.relative_zxid), progress.began);
        if !self.config.catch_up || (!persists(set) && set.exist.is_empty()) {
            return began;
        }
        progress.catches_up = self.watching.history.reaches(seen);
        if progress.catches_up {
            return seen.min(began);
        }
        progress.too_short = persists(set).then(|| self.watching.history.start_zxid());
        began
    }

    /// Sends the events and sets the watches; returns whether all is done.
    fn tell_settled(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> Result<bool, ErrorCode> {
        if progress.stage == Stage::TellListed {
            if !self.tell_listed(connection, set, progress, work)? {
                return Ok(false);
            }
            progress.to(Stage::TellMissed);
            if let Some(since) = progress.too_short {
                self.stats.history_too_short += 1;
                let (session, seen) = (connection.session, Zxid(set.relative_zxid));
                self.events.push(FrontEvent::HistoryTooShort { session, seen, since });
            }
        }
        Ok(self.tell_missed(connection, progress, tree, work))
    }

    /// Sends the events of the paths in the lists, and puts their watches into the table; returns whether all is done.
    fn tell_listed(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
        progress: &mut SetAgain,
        work: &mut usize,
    ) -> Result<bool, ErrorCode> {
        for (mark, paths) in LISTS.into_iter().zip(lists(set)).skip(progress.list) {
            if paths.is_null() {
                return Err(ErrorCode::MarshallingError);
            }
            for path in paths.iter().skip(progress.done) {
                if *work == 0 {
                    return Ok(false);
                }
                *work = work.saturating_sub(WORK_PER_TOLD);
                progress.done += 1;
                let path = named_path(path, mark).ok_or(ErrorCode::MarshallingError)?;
                let Some(named) = &mut progress.named else { continue };
                let (modes, marks) = named.leave(path, mark);
                if !modes.is_empty() {
                    *work = work.saturating_sub(WORK_PER_WATCH);
                    self.watching.table.add(connection.id.slot, path, modes);
                }
                if let Some(event) = marks.event(mark) {
                    self.stats.events_caught_up += u64::from(mark == Marks::EXIST && !marks.is_there());
                    self.tell_back(connection, event, path);
                }
            }
            (progress.list, progress.done) = (progress.list + 1, 0);
        }
        Ok(true)
    }

    /// Sends what persistent watches have missed; returns whether all is sent.
    fn tell_missed(
        &mut self,
        connection: &mut Connection,
        progress: &mut SetAgain,
        tree: &Tree,
        work: &mut usize,
    ) -> bool {
        while *work > 0 {
            let Some(place) = progress.missed.next_place() else { return true };
            *work = work.saturating_sub(WORK_PER_TOLD);
            let Some(Missed { path, event, acl }) = place else { continue };
            let is_there = |named: &Named| named.marks(&path).is_there();
            if event == EventType::NodeChildrenChanged && !progress.named.as_ref().is_some_and(is_there) {
                continue;
            }
            let node = tree.node(&path);
            let acl = node.as_ref().map_or(&*acl, |node| node.acl());
            let asker = self.asker(connection);
            if permits(acl, permission::READ, asker.identities, asker.policy) {
                self.stats.events_caught_up += 1;
                self.tell_back(connection, event, &path);
            }
        }
        progress.missed.left() == 0
    }

    fn tell_back(&mut self, connection: &mut Connection, event: EventType, path: &str) {
        self.stats.events_on_reconnect += 1;
        let mut frame = core::mem::take(&mut self.watching.event_frame);
        encode(event, path, Zxid(-1), &mut frame);
        self.notify_now(connection, &frame);
        self.watching.event_frame = frame;
    }
}

/// Whether persistent watches are among them.
const fn persists(set: &SetWatches<'_>) -> bool {
    !set.persistent.is_empty() || !set.persistent_recursive.is_empty()
}

/// A path of a list; `None` where ZooKeeper stops.
fn named_path(path: Option<&str>, list: Marks) -> Option<&str> {
    let may_be_null = list == Marks::PERSISTENT || list == Marks::RECURSIVE;
    path.or_else(|| may_be_null.then_some(NULL_PATH))
}

/// What a change is to persistent watches: first of the node, then of its parent's children.
fn missed_events(named: &Named, change: &Change, tree: &Tree, seen: i64) -> impl Iterator<Item = Missed> {
    let of_node = named.covers(&change.path).then(|| Missed {
        path: change.path.clone(),
        event: match tree.node(&change.path).map(|node| node.stat()) {
            None => EventType::NodeDeleted,
            Some(stat) if stat.czxid > seen => EventType::NodeCreated,
            Some(_) => EventType::NodeDataChanged,
        },
        acl: change.acl.clone(),
    });
    let parent = change.parent_path();
    let is_of_children = change.kind != ChangeKind::DataChanged && named.marks(parent).has(Marks::PERSISTENT);
    let of_children = is_of_children.then(|| Missed {
        path: parent.into(),
        event: EventType::NodeChildrenChanged,
        acl: change.parent_acl.clone(),
    });
    of_node.into_iter().chain(of_children)
}
