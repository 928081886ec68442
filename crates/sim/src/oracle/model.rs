//! The tree as the specification says it: a map from paths to all versions that a node ever had, written apart from
//! `tree`, so that each answer of a member can be held against the tree of its zxid. Everything here is open to
//! everybody; ACLs are no part of it.

use std::collections::BTreeMap;

use jute::{ErrorCode, MultiOperation, OpCode, Reconfig, Request, Stat};
use tree::Roster;

/// Where the members are told.
pub const CONFIG: &str = "/zookeeper/config";

/// A node, as of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Znode {
    /// Its data.
    pub data: Vec<u8>,
    /// Its Stat.
    pub stat: Stat,
    /// Children ever created under it.
    pub creations: i32,
}

/// What became of a node in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It came to be.
    Created,
    /// It is gone.
    Deleted,
    /// Its data was replaced.
    Data,
    /// A child came or went.
    Children,
}

/// What a write did, within a multi or alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It made this node.
    Created(String, Stat),
    /// It removed a node.
    Deleted,
    /// It replaced a node's data.
    Set(Stat),
    /// A multi's check held.
    Checked,
    /// It changed the members: what is told of them now.
    Reconfigured(String, Stat),
    /// A multi's operations, all of them done.
    All(Vec<(OpCode, Done)>),
    /// A multi of which nothing was done: the codes of its operations.
    Nothing(Vec<i32>),
}

/// A node that was there, or was not, from that zxid on.
type Version = (i64, Option<Znode>);

/// See the module.
#[derive(Debug, Default)]
pub struct Model {
    nodes: BTreeMap<String, Vec<Version>>,
    /// What happened to each path: zxid and change, in order.
    changes: BTreeMap<String, Vec<(i64, Change)>>,
    /// Versions and changes of the running transaction, to be taken back if it fails.
    touched: Vec<String>,
    changed: Vec<String>,
    /// The last transaction.
    pub zxid: i64,
}

/// The circumstances of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Its zxid.
    pub zxid: i64,
    /// The leader's clock.
    pub time_ms: i64,
    /// Whose it is.
    pub session: i64,
}

impl Model {
    /// A tree as it is before the first transaction.
    #[must_use]
    pub fn new() -> Self {
        let mut model = Self::default();
        let node = |children, aversion| Znode {
            data: Vec::new(),
            stat: Stat { num_children: children, cversion: -children, aversion, ..Stat::default() },
            creations: 0,
        };
        for (path, node) in [
            ("/", node(1, 0)),
            ("/zookeeper", node(2, 0)),
            ("/zookeeper/quota", node(0, 0)),
            (CONFIG, node(0, -1)),
        ] {
            model.nodes.insert(path.into(), vec![(0, Some(node))]);
        }
        model
    }

    /// A node as it was right behind a transaction.
    #[must_use]
    pub fn at(&self, path: &str, zxid: i64) -> Option<&Znode> {
        let versions = self.nodes.get(path)?;
        let at = versions.partition_point(|(since, _)| *since <= zxid);
        versions.get(at.checked_sub(1)?)?.1.as_ref()
    }

    /// The names of a node's children as they were right behind a transaction, in order.
    #[must_use]
    pub fn children_at(&self, path: &str, zxid: i64) -> Vec<&str> {
        let below = below(path);
        let names = self.nodes.range(below.clone()..).take_while(|(other, _)| other.starts_with(&below));
        names
            .filter(|(other, _)| other.len() > below.len() && !other[below.len()..].contains('/'))
            .filter(|(other, _)| self.at(other, zxid).is_some())
            .map(|(other, _)| &other[below.len()..])
            .collect()
    }

    /// What happened to a path behind one transaction and up to another.
    pub fn changes(&self, path: &str, behind: i64, up_to: i64) -> impl Iterator<Item = (i64, Change)> {
        let changes = self.changes.get(path).map_or(&[][..], Vec::as_slice);
        let from = changes.partition_point(|(zxid, _)| *zxid <= behind);
        changes[from..].iter().copied().take_while(move |(zxid, _)| *zxid <= up_to)
    }

    /// All nodes that there are right behind a transaction.
    pub fn all_at(&self, zxid: i64) -> impl Iterator<Item = (&str, &Znode)> {
        self.nodes.keys().filter_map(move |path| Some((path.as_str(), self.at(path, zxid)?)))
    }

    /// The ephemeral nodes of a session, as of now.
    fn owned(&self, session: i64) -> Vec<String> {
        let now = self.nodes.iter().filter(|(_, versions)| {
            let node = versions.last().and_then(|(_, node)| node.as_ref());
            node.is_some_and(|node| node.stat.ephemeral_owner == session)
        });
        now.map(|(path, _)| path.clone()).collect()
    }

    fn now(&self, path: &str) -> Result<&Znode, ErrorCode> {
        let versions = self.nodes.get(path).ok_or(ErrorCode::NoNode)?;
        versions.last().and_then(|(_, node)| node.as_ref()).ok_or(ErrorCode::NoNode)
    }

    fn put(&mut self, path: &str, zxid: i64, node: Option<Znode>) {
        let versions = self.nodes.entry(path.into()).or_default();
        versions.push((zxid, node));
        self.touched.push(path.into());
    }

    fn note(&mut self, path: &str, zxid: i64, change: Change) {
        self.changes.entry(path.into()).or_default().push((zxid, change));
        self.changed.push(path.into());
    }

    fn take_back(&mut self, touched: usize, changed: usize) {
        for path in self.touched.drain(touched..).rev() {
            self.nodes.get_mut(&path).map(Vec::pop);
        }
        for path in self.changed.drain(changed..).rev() {
            self.changes.get_mut(&path).map(Vec::pop);
        }
    }

    /// A client's write. It takes its zxid also when it is refused.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn write(&mut self, request: &Request<'_>, opcode: OpCode, by: &Context) -> Result<Done, ErrorCode> {
        self.zxid = by.zxid;
        self.touched.clear();
        self.changed.clear();
        match request {
            Request::Create(create) => self.create(create.path, create.data, create.flags, by),
            Request::Delete { path, version } => self.delete(path, *version, by),
            Request::SetData { path, data, version } => self.set(path, *data, *version, by),
            Request::Multi(multi) => Ok(self.multi(&multi.operations, by)),
            Request::Reconfig(change) => self.reconfig(change, by),
            other => panic!("no client here asks for {opcode:?}: {other:?}"),
        }
    }

    fn create(
        &mut self,
        path: &str,
        data: Option<&[u8]>,
        flags: i32,
        by: &Context,
    ) -> Result<Done, ErrorCode> {
        let above = parent(path);
        let mut parent = self.now(above)?.clone();
        let path = if flags & 2 != 0 { format!("{path}{:010}", parent.creations) } else { path.into() };
        if self.now(&path).is_ok() {
            return Err(ErrorCode::NodeExists);
        }
        if parent.stat.ephemeral_owner != 0 {
            return Err(ErrorCode::NoChildrenForEphemerals);
        }
        let data = data.unwrap_or_default().to_vec();
        let stat = Stat {
            czxid: by.zxid,
            mzxid: by.zxid,
            pzxid: by.zxid,
            ctime: by.time_ms,
            mtime: by.time_ms,
            ephemeral_owner: if flags & 1 != 0 { by.session } else { 0 },
            data_length: data.len() as i32,
            ..Stat::default()
        };
        parent.creations += 1;
        parent.stat.num_children += 1;
        parent.stat.pzxid = by.zxid;
        parent.stat.cversion = 2 * parent.creations - parent.stat.num_children;
        self.put(above, by.zxid, Some(parent));
        self.put(&path, by.zxid, Some(Znode { data, stat, creations: 0 }));
        self.note(&path, by.zxid, Change::Created);
        self.note(above, by.zxid, Change::Children);
        Ok(Done::Created(path, stat))
    }

    fn delete(&mut self, path: &str, version: i32, by: &Context) -> Result<Done, ErrorCode> {
        self.now(parent(path))?;
        let node = self.now(path)?;
        fits(version, node.stat.version)?;
        if node.stat.num_children > 0 {
            return Err(ErrorCode::NotEmpty);
        }
        self.remove(path, by.zxid);
        Ok(Done::Deleted)
    }

    fn remove(&mut self, path: &str, zxid: i64) {
        let above = parent(path);
        if let Ok(parent) = self.now(above) {
            let mut parent = parent.clone();
            parent.stat.num_children -= 1;
            parent.stat.pzxid = zxid;
            parent.stat.cversion = 2 * parent.creations - parent.stat.num_children;
            self.put(above, zxid, Some(parent));
        }
        self.put(path, zxid, None);
        self.note(path, zxid, Change::Deleted);
        self.note(above, zxid, Change::Children);
    }

    fn set(
        &mut self,
        path: &str,
        data: Option<&[u8]>,
        version: i32,
        by: &Context,
    ) -> Result<Done, ErrorCode> {
        let mut node = self.now(path)?.clone();
        fits(version, node.stat.version)?;
        node.data = data.unwrap_or_default().to_vec();
        node.stat.data_length = node.data.len() as i32;
        node.stat.version += 1;
        (node.stat.mzxid, node.stat.mtime) = (by.zxid, by.time_ms);
        let stat = node.stat;
        self.put(path, by.zxid, Some(node));
        self.note(path, by.zxid, Change::Data);
        Ok(Done::Set(stat))
    }

    fn multi(&mut self, operations: &[MultiOperation<'_>], by: &Context) -> Done {
        let mut done = Vec::new();
        for operation in operations {
            let result = match *operation {
                MultiOperation::Create(opcode, ref create, _) => {
                    self.create(create.path, create.data, create.flags, by).map(|done| (opcode, done))
                }
                MultiOperation::Delete { path, version } => {
                    self.delete(path, version, by).map(|done| (OpCode::Delete, done))
                }
                MultiOperation::SetData { path, data, version } => {
                    self.set(path, data, version, by).map(|done| (OpCode::SetData, done))
                }
                MultiOperation::Check { path, version } => self
                    .now(path)
                    .and_then(|node| fits(version, node.stat.version))
                    .map(|()| (OpCode::Check, Done::Checked)),
                MultiOperation::GetData { .. } | MultiOperation::GetChildren { .. } => {
                    panic!("no client here reads in a multi")
                }
            };
            match result {
                Ok(one) => done.push(one),
                Err(code) => {
                    self.take_back(0, 0);
                    let codes = (0..operations.len()).map(|at| match at {
                        _ if at < done.len() => 0,
                        _ if at == done.len() => code.code(),
                        _ => ErrorCode::RuntimeInconsistency.code(),
                    });
                    return Done::Nothing(codes.collect());
                }
            }
        }
        Done::All(done)
    }

    /// The members that are to be.
    #[must_use]
    pub fn roster(&self) -> Option<Roster> {
        Roster::parse(&self.now(CONFIG).ok()?.data)
    }

    fn reconfig(&mut self, change: &Reconfig<'_>, by: &Context) -> Result<Done, ErrorCode> {
        let mut next = self.roster().ok_or(ErrorCode::Unimplemented)?.changed(change)?;
        next.version = by.zxid;
        let text = next.text();
        self.configure(text.as_bytes(), by);
        Ok(Done::Reconfigured(text, self.now(CONFIG)?.stat))
    }

    /// The ensemble says who its members are. True when that takes a zxid, because it said otherwise before.
    pub fn set_config(&mut self, text: &[u8], by: &Context) -> bool {
        if self.now(CONFIG).is_ok_and(|node| node.data == text) {
            return false;
        }
        self.zxid = by.zxid;
        self.configure(text, by);
        true
    }

    fn configure(&mut self, text: &[u8], by: &Context) {
        let Ok(node) = self.now(CONFIG) else { return };
        let mut node = node.clone();
        node.data = text.to_vec();
        node.stat.data_length = text.len() as i32;
        (node.stat.version, node.stat.mzxid, node.stat.mtime) = (-1, by.zxid, by.time_ms);
        self.put(CONFIG, by.zxid, Some(node));
        self.note(CONFIG, by.zxid, Change::Data);
    }

    /// A session ends, and what it owned with it, in no order that clients could tell. Gives what it owned.
    pub fn close(&mut self, session: i64, zxid: i64) -> Vec<String> {
        self.zxid = zxid;
        let owned = self.owned(session);
        owned.iter().for_each(|path| self.remove(path, zxid));
        owned
    }
}

fn below(path: &str) -> String {
    if path == "/" { "/".into() } else { format!("{path}/") }
}

/// The path of a node's parent.
#[must_use]
pub fn parent(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(slash) => &path[..slash],
    }
}

fn fits(wanted: i32, version: i32) -> Result<(), ErrorCode> {
    if wanted == -1 || wanted == version { Ok(()) } else { Err(ErrorCode::BadVersion) }
}
