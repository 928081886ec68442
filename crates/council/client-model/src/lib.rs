//! A small model of an ensemble: one log, servers that apply it late, connections that speak the real bytes, sessions that
//! expire. It holds what ZooKeeper promises its clients and nothing more; time does not pass in it.
//!
//! [`World`] is the model with clients that each run a recipe, in an order that a seed draws. The tests of the client's
//! recipes live here, and services that are clients of an ensemble test and simulate themselves with it.
//!
//! # Not done, and what that costs
//! Nothing of ACLs and quotas: what is refused for them is not seen. What an ensemble does under faults is the simulator's of
//! the council.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "a model that cannot go on says where")]
#![allow(missing_docs, reason = "a model for tests")]

mod connection;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use council_wire::{ErrorCode, EventType, Stat};

pub use connection::Connection;
pub use world::{Peer, World};

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub data: Vec<u8>,
    pub stat: Stat,
}

pub type Tree = BTreeMap<String, Node>;

/// One change of a transaction.
#[derive(Clone, Debug)]
pub enum Change {
    Put(String, Node, Option<EventType>),
    Delete(String),
}

/// One entry of the log; a write that was refused is one without changes.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub changes: Vec<Change>,
}

/// A write, as its client asked for it.
#[derive(Clone, Debug)]
pub enum Write {
    Create {
        path: String,
        data: Vec<u8>,
        flags: i32,
    },
    Delete {
        path: String,
        version: i32,
    },
    Set {
        path: String,
        data: Vec<u8>,
        version: i32,
    },
    Check {
        path: String,
        version: i32,
    },
    /// All of them, which are of different nodes with different parents, or none.
    Multi(Vec<Write>),
    Close,
}

/// What a write came to.
#[derive(Clone, Debug)]
pub enum Outcome {
    Created(String, Stat),
    Set(Stat),
    Deleted,
    Done,
    Multi(Vec<Outcome>),
    /// Of a multi, the write of that number.
    MultiRefused(usize, usize, ErrorCode),
    Refused(ErrorCode),
}

#[derive(Clone, Debug)]
pub struct Session {
    pub alive: bool,
    /// The connection that may write for it.
    pub owner: usize,
}

/// One server: the log up to some entry.
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub applied: usize,
    pub tree: Tree,
}

pub struct Ensemble {
    pub log: Vec<Transaction>,
    /// The tree after the whole log. The zxid of an entry is its place, counted from 1.
    pub tree: Tree,
    pub servers: Vec<Server>,
    pub sessions: BTreeMap<i64, Session>,
    pub connections: Vec<Connection>,
}

impl Ensemble {
    pub fn new(servers: usize) -> Self {
        let tree = Tree::from([(String::from("/"), Node::default())]);
        let server = Server { applied: 0, tree: tree.clone() };
        Self {
            log: Vec::new(),
            tree,
            servers: vec![server; servers],
            sessions: BTreeMap::new(),
            connections: Vec::new(),
        }
    }

    /// Executes a write for a session; where it stands in the log, and what it came to.
    pub fn execute(&mut self, session: i64, write: &Write) -> (usize, Outcome) {
        let zxid = self.log.len() as i64 + 1;
        let (changes, outcome) = match self.changes(session, zxid, write) {
            Ok(done) => done,
            Err(code) => (Vec::new(), Outcome::Refused(code)),
        };
        self.append(changes);
        (self.log.len(), outcome)
    }

    pub fn append(&mut self, changes: Vec<Change>) {
        for change in &changes {
            change.apply(&mut self.tree);
        }
        self.log.push(Transaction { changes });
    }

    fn changes(&self, session: i64, zxid: i64, write: &Write) -> Result<(Vec<Change>, Outcome), ErrorCode> {
        match write {
            Write::Create { path, data, flags } => self.create(session, zxid, path, data, *flags),
            Write::Delete { path, version } => {
                let node = self.versioned(path, *version)?;
                if node.stat.num_children > 0 {
                    return Err(ErrorCode::NotEmpty);
                }
                Ok((self.deletion(zxid, [path.as_str()]), Outcome::Deleted))
            }
            Write::Set { path, data, version } => {
                let mut node = self.versioned(path, *version)?.clone();
                node.data.clone_from(data);
                node.stat.version += 1;
                node.stat.mzxid = zxid;
                let stat = node.stat;
                Ok((
                    vec![Change::Put(path.clone(), node, Some(EventType::NodeDataChanged))],
                    Outcome::Set(stat),
                ))
            }
            Write::Check { path, version } => {
                self.versioned(path, *version)?;
                Ok((Vec::new(), Outcome::Done))
            }
            Write::Multi(writes) => Ok(self.all_or_none(session, zxid, writes)),
            Write::Close => {
                let owned = self.tree.iter().filter(|(_, node)| node.stat.ephemeral_owner == session);
                let paths: Vec<&str> = owned.map(|(path, _)| path.as_str()).collect();
                Ok((self.deletion(zxid, paths), Outcome::Done))
            }
        }
    }

    fn all_or_none(&self, session: i64, zxid: i64, writes: &[Write]) -> (Vec<Change>, Outcome) {
        let (mut changes, mut outcomes) = (Vec::new(), Vec::new());
        for (at, write) in writes.iter().enumerate() {
            match self.changes(session, zxid, write) {
                Ok((more, outcome)) => {
                    changes.extend(more);
                    outcomes.push(outcome);
                }
                Err(code) => return (Vec::new(), Outcome::MultiRefused(at, writes.len(), code)),
            }
        }
        (changes, Outcome::Multi(outcomes))
    }

    fn versioned(&self, path: &str, version: i32) -> Result<&Node, ErrorCode> {
        let node = self.tree.get(path).ok_or(ErrorCode::NoNode)?;
        if version == -1 || version == node.stat.version { Ok(node) } else { Err(ErrorCode::BadVersion) }
    }

    fn create(
        &self,
        session: i64,
        zxid: i64,
        path: &str,
        data: &[u8],
        flags: i32,
    ) -> Result<(Vec<Change>, Outcome), ErrorCode> {
        let above = parent(path);
        let mut up = self.tree.get(above).ok_or(ErrorCode::NoNode)?.clone();
        if up.stat.ephemeral_owner != 0 {
            return Err(ErrorCode::NoChildrenForEphemerals);
        }
        let path = match flags {
            2 | 3 => format!("{path}{:010}", up.stat.cversion),
            _ => String::from(path),
        };
        if self.tree.contains_key(&path) {
            return Err(ErrorCode::NodeExists);
        }
        let ephemeral_owner = if matches!(flags, 1 | 3) { session } else { 0 };
        let stat = Stat { czxid: zxid, mzxid: zxid, pzxid: zxid, ephemeral_owner, ..Stat::default() };
        up.stat.cversion += 1;
        up.stat.num_children += 1;
        up.stat.pzxid = zxid;
        let node = Node { data: data.to_vec(), stat };
        let changes = vec![
            Change::Put(String::from(above), up, None),
            Change::Put(path.clone(), node, Some(EventType::NodeCreated)),
        ];
        Ok((changes, Outcome::Created(path, stat)))
    }

    /// Deletes nodes in one transaction.
    pub fn deletion<'p>(&self, zxid: i64, paths: impl IntoIterator<Item = &'p str>) -> Vec<Change> {
        let mut parents: BTreeMap<String, Node> = BTreeMap::new();
        let mut changes = Vec::new();
        for path in paths {
            let above = String::from(parent(path));
            let up = parents.entry(above.clone()).or_insert_with(|| self.tree[&above].clone());
            up.stat.num_children -= 1;
            up.stat.pzxid = zxid;
            changes.push(Change::Delete(String::from(path)));
        }
        changes.extend(parents.into_iter().map(|(path, node)| Change::Put(path, node, None)));
        changes
    }

    /// A session is over; whether it was not before. Its ephemeral nodes go later.
    pub fn expire(&mut self, id: i64) -> bool {
        let session = self.sessions.get_mut(&id).filter(|session| session.alive);
        session.is_some_and(|session| std::mem::replace(&mut session.alive, false))
    }

    /// The ephemeral nodes of a session that is over go.
    pub fn bury(&mut self, id: i64) {
        self.execute(id, &Write::Close);
    }

    /// One server applies one entry, and fires the watches of its connections.
    pub fn apply(&mut self, server: usize) {
        let at = self.servers[server].applied;
        let Some(transaction) = self.log.get(at) else { return };
        let zxid = at as i64 + 1;
        let mut events = Vec::new();
        for change in &transaction.changes {
            change.apply(&mut self.servers[server].tree);
            events.extend(change.events());
        }
        self.servers[server].applied += 1;
        for connection in self.connections.iter_mut().filter(|connection| connection.server == server) {
            for (kind, path) in &events {
                connection.tell(*kind, path, zxid);
            }
        }
    }

    /// The nodes at and below a path, as they were at a zxid: the log is replayed to there.
    pub fn subtree(&self, root: &str, zxid: i64) -> Tree {
        let mut tree = Tree::from([(String::from("/"), Node::default())]);
        let changes = self.log[..usize::try_from(zxid).unwrap()].iter().flat_map(|entry| &entry.changes);
        changes.for_each(|change| change.apply(&mut tree));
        tree.retain(|path, _| is_below(path, root));
        tree
    }

    pub fn live_sessions(&self) -> BTreeSet<i64> {
        self.sessions.iter().filter(|(_, session)| session.alive).map(|(id, _)| *id).collect()
    }
}

impl Change {
    fn apply(&self, tree: &mut Tree) {
        match self {
            Self::Put(path, node, _) => drop(tree.insert(path.clone(), node.clone())),
            Self::Delete(path) => drop(tree.remove(path)),
        }
    }

    fn events(&self) -> Vec<(EventType, String)> {
        match self {
            Self::Put(_, _, None) => Vec::new(),
            Self::Put(path, _, Some(EventType::NodeCreated)) => vec![
                (EventType::NodeCreated, path.clone()),
                (EventType::NodeChildrenChanged, String::from(parent(path))),
            ],
            Self::Put(path, _, Some(kind)) => vec![(*kind, path.clone())],
            Self::Delete(path) => vec![
                (EventType::NodeDeleted, path.clone()),
                (EventType::NodeChildrenChanged, String::from(parent(path))),
            ],
        }
    }
}

/// Whether a path is that of a node at or below a root that is not `/`.
fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) if at > 0 => &path[..at],
        _ => "/",
    }
}
