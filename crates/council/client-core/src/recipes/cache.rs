//! A copy of a subtree that is kept in step by one persistent recursive watch.
//!
//! An event says that a node changed and not to what, so the node is read again. While reads are under way the copy would
//! mix states; so what is read is collected, and becomes part of the copy only when nothing is left to be read. Then the copy
//! is the subtree at the zxid of the last reply: every change up to it was announced before that reply, on the one connection
//! that both took, and every node that was announced was read after its announcement.
//!
//! # What holds
//! - The copy is empty, with [`Cache::zxid`] -1, or equals the subtree as it was at that zxid: paths, data, versions, and the
//!   zxids of creation and of the last change. It never goes back, also not after a reconnection or under another session.
//! - It is behind the tree by the time that events and reads take, and by any time while no server is connected
//!   ([`CacheState::Suspended`]): what must not be stale is read from the server after a sync, or fenced.
//! - After a reconnection, and under each new session, the whole subtree is listed again and compared; until then the old
//!   copy stays.
//! - While the subtree changes more often than it can be read the copy stays at its last zxid. A subtree of up to
//!   1,000 nodes is then read in one transaction, which ends that as soon as no node comes or goes in between.

use std::collections::{BTreeMap, VecDeque};

use council_wire::{ErrorCode, Malformed, SessionId, Stat, WatchMode, Zxid};

use super::{Ask, Input, Recipe, child};
use crate::event::Event;
use crate::multi::{MultiRead, MultiReadResult};
use crate::request::{Replied, Reply, Request};
use crate::{Error, RequestId};

/// Nodes that one request reads: their values must fit one reply.
const NODES_PER_READ: usize = 50;
/// Requests that are under way at once.
const READS_MAX: usize = 8;
/// After so many replies by which more had changed, nothing more is asked until all replies are there, and then all nodes are
/// read at once ...
const REPLIES_MAX: u32 = 16;
/// ... if it is no more than this.
const NODES_AT_ONCE_MAX: usize = 1000;

/// Updates that are kept until they are taken.
const UPDATES_MAX: usize = 1024;

/// How large the copy may grow; beyond it the cache fails with [`Error::TooLarge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// Nodes.
    pub nodes_max: usize,
    /// Bytes of paths and data.
    pub bytes_max: usize,
}

impl Default for CacheLimits {
    /// A million nodes, 256 MiB.
    fn default() -> Self {
        Self { nodes_max: 1_000_000, bytes_max: 256 << 20 }
    }
}

/// One node of the copy: what its watch reports. Its ACL and what its Stat says of its children are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedNode {
    /// Its data.
    pub data: Option<Vec<u8>>,
    /// The transaction that created it.
    pub czxid: Zxid,
    /// The transaction that last changed its data.
    pub mzxid: Zxid,
    /// Changes of its data.
    pub version: i32,
    /// The session that owns it if it is ephemeral, else 0.
    pub ephemeral_owner: SessionId,
}

/// How the copy became another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The zxid that it is the subtree of now.
    pub zxid: Zxid,
    /// The paths of nodes that came, changed or went.
    pub paths: Vec<String>,
}

/// Whether the copy follows the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// No server is connected: the copy is as it was.
    Suspended,
    /// The subtree is listed; the copy is empty, or as it was.
    Syncing,
    /// The copy follows.
    Current,
    /// The cache was released.
    Released,
    /// The copy does not follow any more.
    Failed(Error),
}

#[derive(Debug)]
enum Reading {
    Watch,
    /// Nodes, and whether each is listed, too.
    Nodes(Vec<(String, bool)>),
}

/// See the module.
#[derive(Debug)]
pub struct Cache {
    root: String,
    limits: CacheLimits,
    state: CacheState,
    /// Whether the watch is left, on this connection.
    watched: bool,
    zxid: Zxid,
    copy: BTreeMap<String, CachedNode>,
    bytes: usize,
    /// What was read since the copy was whole: `None` for a node that is not there.
    changes: BTreeMap<String, Option<CachedNode>>,
    changes_bytes: usize,
    /// While the subtree is listed: whether all of it is compared.
    listing: bool,
    /// What is to be read, and whether it is to be listed, too.
    dirty: BTreeMap<String, bool>,
    under_way: BTreeMap<RequestId, Reading>,
    /// How many replies came since the copy was whole, and did not make it whole.
    replies: u32,
    next_id: u64,
    unsent: VecDeque<Ask>,
    updates: VecDeque<Update>,
}

impl Cache {
    /// A cache of the node `root` and all below it; there need not be such a node.
    #[must_use]
    pub fn new(root: &str, limits: CacheLimits) -> Self {
        Self {
            root: String::from(root),
            limits,
            state: CacheState::Suspended,
            watched: false,
            zxid: Zxid(-1),
            copy: BTreeMap::new(),
            bytes: 0,
            changes: BTreeMap::new(),
            changes_bytes: 0,
            listing: false,
            dirty: BTreeMap::new(),
            under_way: BTreeMap::new(),
            replies: 0,
            next_id: 0,
            unsent: VecDeque::new(),
            updates: VecDeque::new(),
        }
    }

    /// The next update of the copy that was not taken yet. Only the last 1,024 updates that were not taken are kept.
    pub fn update(&mut self) -> Option<Update> {
        self.updates.pop_front()
    }

    /// The copy, by path.
    #[must_use]
    pub const fn nodes(&self) -> &BTreeMap<String, CachedNode> {
        &self.copy
    }

    /// The names of the children of a node of the copy, in order.
    pub fn children<'c>(&'c self, path: &str) -> impl Iterator<Item = &'c str> + use<'c> {
        let prefix = child(path, "");
        let length = prefix.len();
        let below = self.copy.range(prefix.clone()..).take_while(move |(path, _)| path.starts_with(&prefix));
        below.filter_map(move |(path, _)| {
            path.get(length..).filter(|name| !name.is_empty() && !name.contains('/'))
        })
    }

    /// The zxid that the copy is the subtree of, -1 before there is a copy.
    #[must_use]
    pub const fn zxid(&self) -> Zxid {
        self.zxid
    }

    /// Whether the copy follows the tree.
    #[must_use]
    pub const fn state(&self) -> &CacheState {
        &self.state
    }

    fn connected(&mut self) {
        self.pause();
        self.state = CacheState::Syncing;
        // Also if the client sets it again by itself: to leave a watch twice is to leave it once.
        let (path, mode) = (self.root.clone(), WatchMode::PersistentRecursive);
        self.ask(Reading::Watch, Request::AddWatch { path, mode });
    }

    /// What is under way is of no use any more.
    fn pause(&mut self) {
        self.state = CacheState::Suspended;
        self.changes.clear();
        self.dirty.clear();
        self.under_way.clear();
        self.unsent.clear();
        (self.watched, self.listing, self.replies, self.changes_bytes) = (false, false, 0, 0);
    }

    /// Begins to compare the whole subtree.
    fn list(&mut self) {
        self.listing = true;
        self.dirty.insert(self.root.clone(), true);
        self.read();
    }

    fn ask(&mut self, reading: Reading, request: Request) {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.under_way.insert(id, reading);
        self.unsent.push_back(Ask { id, request });
    }

    /// Asks for what is to be read, as far as that may be under way at once.
    fn read(&mut self) {
        if self.replies >= REPLIES_MAX {
            if !self.under_way.is_empty() || self.dirty.is_empty() {
                return;
            }
            self.read_all_at_once();
        }
        while self.under_way.len() < READS_MAX && !self.dirty.is_empty() {
            let mut nodes = Vec::new();
            while nodes.len() < NODES_PER_READ
                && let Some(node) = self.dirty.pop_first()
            {
                nodes.push(node);
            }
            self.read_nodes(nodes);
        }
    }

    fn read_nodes(&mut self, nodes: Vec<(String, bool)>) {
        let reads = nodes.iter().fold(MultiRead::new(), |reads, (path, list)| {
            let reads = reads.data(path);
            if *list { reads.children(path) } else { reads }
        });
        self.ask(Reading::Nodes(nodes), Request::ReadAll(reads));
    }

    /// The subtree changes faster than it is read piece by piece.
    fn read_all_at_once(&mut self) {
        let mut all: BTreeMap<String, bool> =
            self.copy.keys().filter(|_| !self.listing).map(|path| (path.clone(), false)).collect();
        all.extend(self.changes.keys().map(|path| (path.clone(), false)));
        all.append(&mut self.dirty.clone());
        if all.len() <= NODES_AT_ONCE_MAX {
            self.dirty.clear();
            self.read_nodes(all.into_iter().collect());
        }
    }

    fn replied(&mut self, reading: Reading, replied: Replied) {
        match (reading, replied.result) {
            (_, Err(Error::ConnectionLost | Error::SessionExpired)) => self.pause(),
            (Reading::Watch, Ok(Reply::Done)) => {
                self.watched = true;
                self.list();
            }
            (Reading::Nodes(nodes), Ok(Reply::Read(results))) => {
                if let Err(error) = self.take(nodes, results) {
                    return self.fail(error);
                }
                self.settle(replied.zxid);
            }
            (_, Err(error)) => self.fail(error),
            (_, Ok(_)) => self.fail(Malformed("reply: of another kind").into()),
        }
    }

    fn take(&mut self, nodes: Vec<(String, bool)>, results: Vec<MultiReadResult>) -> Result<(), Error> {
        const SHORT: Error = Error::Malformed(Malformed("multiRead: results are missing"));
        let mut results = results.into_iter();
        for (path, list) in nodes {
            let node = match results.next().ok_or(SHORT)? {
                MultiReadResult::Data(data, stat) => Some(CachedNode::new(data, &stat)),
                MultiReadResult::Refused(ErrorCode::NoNode) => None,
                MultiReadResult::Refused(code) => return Err(Error::Refused { code, path }),
                MultiReadResult::Children(_) => return Err(SHORT),
            };
            if list && let MultiReadResult::Children(names) = results.next().ok_or(SHORT)? {
                for name in names {
                    let path = child(&path, &name);
                    // While the subtree is listed every node that is read is listed, too.
                    if !self.changes.contains_key(&path) {
                        self.dirty.insert(path, true);
                    }
                }
            }
            self.changes_bytes += path.len() + node.as_ref().map_or(0, CachedNode::bytes);
            self.changes.insert(path, node);
        }
        // Bounded also before the copy is whole; nodes that go or are read twice count for both.
        let CacheLimits { nodes_max, bytes_max } = self.limits;
        let is_too_large = self.changes.len() > nodes_max.saturating_mul(2)
            || self.changes_bytes > bytes_max.saturating_mul(2);
        if is_too_large { Err(Error::TooLarge) } else { Ok(()) }
    }

    /// If nothing is left to be read, the copy is what was read.
    fn settle(&mut self, zxid: Zxid) {
        if !self.under_way.is_empty() || !self.dirty.is_empty() {
            // Not while the listing finds nodes.
            let is_known = |path| self.changes.contains_key(path);
            if !self.listing || !self.dirty.is_empty() && self.dirty.keys().all(is_known) {
                self.replies += 1;
            }
            return self.read();
        }
        if self.listing {
            let gone = self.copy.keys().filter(|path| !self.changes.contains_key(*path)).cloned();
            let gone: Vec<_> = gone.map(|path| (path, None)).collect();
            self.changes.extend(gone);
        }
        let mut paths = Vec::new();
        for (path, node) in std::mem::take(&mut self.changes) {
            if self.copy.get(&path) != node.as_ref() {
                self.put(&path, node);
                paths.push(path);
            }
        }
        if self.copy.len() > self.limits.nodes_max || self.bytes > self.limits.bytes_max {
            return self.fail(Error::TooLarge);
        }
        (self.listing, self.replies, self.changes_bytes) = (false, 0, 0);
        self.state = CacheState::Current;
        let is_new = self.zxid < Zxid(0);
        self.zxid = self.zxid.max(zxid);
        if is_new || !paths.is_empty() {
            if self.updates.len() == UPDATES_MAX {
                self.updates.pop_front();
            }
            self.updates.push_back(Update { zxid: self.zxid, paths });
        }
    }

    fn put(&mut self, path: &str, node: Option<CachedNode>) {
        let bytes = |node: &CachedNode| path.len() + node.bytes();
        let after = node.as_ref().map_or(0, bytes);
        let before = match node {
            Some(node) => self.copy.insert(String::from(path), node),
            None => self.copy.remove(path),
        };
        self.bytes = (self.bytes + after).saturating_sub(before.as_ref().map_or(0, bytes));
    }

    fn event(&mut self, event: &Event) {
        let (CacheState::Syncing | CacheState::Current, Some(path)) = (&self.state, &event.path) else {
            return;
        };
        // The watcher of this cache is left at its root alone. What comes before the watch is left is listed later.
        let is_in_root = path.strip_prefix(self.root.trim_end_matches('/'));
        if !self.watched || !is_in_root.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return;
        }
        let is_asked = |reading: &Reading| match reading {
            Reading::Nodes(nodes) => nodes.iter().any(|(other, _)| other == path),
            Reading::Watch => false,
        };
        // The reply that is still to come shows the change: it comes behind the event on the same connection.
        if !self.under_way.values().any(is_asked) {
            // While the subtree is listed, a second listing must not begin.
            *self.dirty.entry(path.clone()).or_default() |= self.listing;
            self.read();
        }
    }

    fn fail(&mut self, error: Error) {
        self.pause();
        self.state = CacheState::Failed(error);
    }
}

impl CachedNode {
    fn new(data: Option<Vec<u8>>, stat: &Stat) -> Self {
        let Stat { czxid, mzxid, version, ephemeral_owner, .. } = *stat;
        let (czxid, mzxid, ephemeral_owner) = (Zxid(czxid), Zxid(mzxid), SessionId(ephemeral_owner));
        Self { data, czxid, mzxid, version, ephemeral_owner }
    }

    fn bytes(&self) -> usize {
        self.data.as_ref().map_or(0, Vec::len)
    }
}

impl Recipe for Cache {
    fn tell(&mut self, input: Input) {
        if self.is_over() {
            return;
        }
        match input {
            Input::Connected { .. } => self.connected(),
            Input::Disconnected | Input::Expired => self.pause(),
            Input::Over(error) => self.fail(error),
            Input::Event(event) => self.event(&event),
            Input::Replied(id, replied) => {
                if let Some(reading) = self.under_way.remove(&id) {
                    self.replied(reading, replied);
                }
            }
            Input::Release => {
                self.pause();
                self.state = CacheState::Released;
            }
        }
    }

    fn next(&mut self) -> Option<Ask> {
        self.unsent.pop_front()
    }

    fn is_over(&self) -> bool {
        matches!(self.state, CacheState::Released | CacheState::Failed(_))
    }
}

#[cfg(test)]
mod tests;
