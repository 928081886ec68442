//! A small model of an ensemble for tests: one log, servers that apply it late, connections that speak the real bytes,
//! sessions that expire. It holds what ZooKeeper promises its clients and nothing more; time does not pass in it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part; one that cannot go on says where"
)]

pub(crate) mod connection;
pub(crate) mod world;

use std::collections::{BTreeMap, BTreeSet};

use council_wire::{ErrorCode, EventType, Stat};

use connection::Connection;

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) data: Vec<u8>,
    pub(crate) stat: Stat,
}

pub(crate) type Tree = BTreeMap<String, Node>;

/// One change of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put(String, Node, Option<EventType>),
    Delete(String),
}

/// One entry of the log; a write that was refused is one without changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) changes: Vec<Change>,
}

/// A write, as its client asked for it.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create { path: String, data: Vec<u8>, flags: i32 },
    Delete { path: String },
    Set { path: String, data: Vec<u8>, version: i32 },
    Close,
}

/// What a write came to.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Created(String, Stat),
    Set(Stat),
    Done,
    Refused(ErrorCode),
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) alive: bool,
    /// The connection that may write for it.
    pub(crate) owner: usize,
}

/// One server: the log up to some entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) applied: usize,
    pub(crate) tree: Tree,
}

pub(crate) struct Ensemble {
    pub(crate) log: Vec<Transaction>,
    /// The tree after the whole log.
    pub(crate) tree: Tree,
    /// The tree after each entry; the zxid of an entry is its place, counted from 1.
    pub(crate) past: Vec<Tree>,
    pub(crate) servers: Vec<Server>,
    pub(crate) sessions: BTreeMap<i64, Session>,
    pub(crate) connections: Vec<Connection>,
}

impl Ensemble {
    pub(crate) fn new(servers: usize) -> Self {
        let tree = Tree::from([(String::from("/"), Node::default())]);
        let server = Server { applied: 0, tree: tree.clone() };
        Self {
            log: Vec::new(),
            past: vec![tree.clone()],
            tree,
            servers: vec![server; servers],
            sessions: BTreeMap::new(),
            connections: Vec::new(),
        }
    }

    /// Executes a write for a session; where it stands in the log, and what it came to.
    pub(crate) fn execute(&mut self, session: i64, write: &Write) -> (usize, Outcome) {
        let zxid = self.log.len() as i64 + 1;
        let (changes, outcome) = match self.changes(session, zxid, write) {
            Ok(done) => done,
            Err(code) => (Vec::new(), Outcome::Refused(code)),
        };
        self.append(changes);
        (self.log.len(), outcome)
    }

    pub(crate) fn append(&mut self, changes: Vec<Change>) {
        for change in &changes {
            change.apply(&mut self.tree);
        }
        self.log.push(Transaction { changes });
        self.past.push(self.tree.clone());
    }

    fn changes(&self, session: i64, zxid: i64, write: &Write) -> Result<(Vec<Change>, Outcome), ErrorCode> {
        match write {
            Write::Create { path, data, flags } => self.create(session, zxid, path, data, *flags),
            Write::Delete { path } => {
                let node = self.tree.get(path).ok_or(ErrorCode::NoNode)?;
                if node.stat.num_children > 0 {
                    return Err(ErrorCode::NotEmpty);
                }
                Ok((self.deletion(zxid, [path.as_str()]), Outcome::Done))
            }
            Write::Set { path, data, version } => {
                let mut node = self.tree.get(path).ok_or(ErrorCode::NoNode)?.clone();
                if *version != -1 && *version != node.stat.version {
                    return Err(ErrorCode::BadVersion);
                }
                node.data.clone_from(data);
                node.stat.version += 1;
                node.stat.mzxid = zxid;
                let stat = node.stat;
                Ok((
                    vec![Change::Put(path.clone(), node, Some(EventType::NodeDataChanged))],
                    Outcome::Set(stat),
                ))
            }
            Write::Close => {
                let owned = self.tree.iter().filter(|(_, node)| node.stat.ephemeral_owner == session);
                let paths: Vec<&str> = owned.map(|(path, _)| path.as_str()).collect();
                Ok((self.deletion(zxid, paths), Outcome::Done))
            }
        }
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
    pub(crate) fn deletion<'p>(&self, zxid: i64, paths: impl IntoIterator<Item = &'p str>) -> Vec<Change> {
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
    pub(crate) fn expire(&mut self, id: i64) -> bool {
        let session = self.sessions.get_mut(&id).filter(|session| session.alive);
        session.is_some_and(|session| std::mem::replace(&mut session.alive, false))
    }

    /// The ephemeral nodes of a session that is over go.
    pub(crate) fn bury(&mut self, id: i64) {
        self.execute(id, &Write::Close);
    }

    /// One server applies one entry, and fires the watches of its connections.
    pub(crate) fn apply(&mut self, server: usize) {
        let at = self.servers[server].applied;
        let Some(transaction) = self.log.get(at).cloned() else { return };
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

    /// The nodes at and below a path, as they were at a zxid.
    pub(crate) fn subtree(&self, root: &str, zxid: i64) -> Tree {
        let below = |path: &str| path == root || path.starts_with(&format!("{root}/"));
        let tree = &self.past[usize::try_from(zxid).unwrap()];
        tree.iter().filter(|(path, _)| below(path)).map(|(path, node)| (path.clone(), node.clone())).collect()
    }

    pub(crate) fn live_sessions(&self) -> BTreeSet<i64> {
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

pub(crate) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) if at > 0 => &path[..at],
        _ => "/",
    }
}
