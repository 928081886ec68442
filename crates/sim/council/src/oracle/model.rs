//! The tree as the specification says it: a map from paths to all versions that a node ever had, written apart from
//! `tree`, so that each answer of a member can be held against the tree of its zxid; and everything that happened, in
//! order, for those who watch. Knows no client and no member.

mod quota;

use std::collections::BTreeMap;
use std::rc::Rc;

use council_wire::{
    Acl, AclList, Create, ErrorCode, MultiOperation, OpCode, Reconfig, Request, Stat, permission,
};

use super::access::{AclRef, Identities};
use super::members::{Members, Wish};

/// Where the members are told.
pub const CONFIG: &str = "/zookeeper/config";
/// The nodes that nobody made and nobody may delete, and how many of the others are their children.
pub const SYSTEM: [(&str, i32); 4] = [("/", 1), ("/zookeeper", 2), ("/zookeeper/quota", 0), (CONFIG, 0)];

/// A node, as of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Znode {
    /// Its data.
    pub data: Vec<u8>,
    /// Whether it has none at all, which is something else than empty data.
    pub is_null: bool,
    /// Its Stat.
    pub stat: Stat,
    /// Children ever created under it.
    pub creations: i32,
    /// Who may do what to it.
    pub acl: AclRef,
    /// What may end it besides a delete and the end of its session.
    pub mortality: Mortality,
}

impl Znode {
    /// Its data, if it has any.
    #[must_use]
    pub fn value(&self) -> Option<&[u8]> {
        (!self.is_null).then_some(&self.data)
    }
}

/// What may end a node besides a delete and the end of its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mortality {
    /// Nothing.
    #[default]
    None,
    /// It is a container: that it has lost its last child.
    Container,
    /// Not having been set for so many milliseconds, and no child.
    Ttl(i64),
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

/// Something that became of a node, for those who watch.
#[derive(Clone, Debug)]
pub struct Happening {
    /// In which transaction.
    pub zxid: i64,
    /// To which node.
    pub path: String,
    /// What.
    pub change: Change,
    /// The node's ACL then.
    pub acl: AclRef,
    /// Whether it is of the end of a session, whose nodes go in no order that clients could tell.
    pub unordered: bool,
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
    /// What happened, in order.
    happenings: Vec<Happening>,
    /// The nodes of the running transaction, to be taken back if it fails.
    touched: Vec<String>,
    /// The last transaction.
    pub zxid: i64,
}

/// The circumstances of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Its zxid.
    pub zxid: i64,
    /// The leader's clock.
    pub time_ms: i64,
    /// Whose it is.
    pub session: i64,
    /// Who that was when it was sent.
    pub who: &'a Identities,
    /// The switches of the server that took it.
    pub policy: u8,
}

impl Context<'_> {
    fn may(&self, required: i32, node: &Znode) -> Result<(), ErrorCode> {
        if self.who.may(required, &node.acl) { Ok(()) } else { Err(ErrorCode::NoAuth) }
    }
}

/// What a create is to make.
struct Wanted<'a> {
    path: &'a str,
    data: Option<&'a [u8]>,
    acl: &'a AclList<'a>,
    ephemeral: bool,
    sequential: bool,
    mortality: Mortality,
}

impl<'a> Wanted<'a> {
    fn of(create: &'a Create<'a>, opcode: OpCode, ttl_ms: i64) -> Self {
        let flags = create.flags;
        Self {
            path: create.path,
            data: create.data,
            acl: &create.acl,
            ephemeral: matches!(flags, 1 | 3),
            sequential: matches!(flags, 2 | 3 | 6),
            mortality: match opcode {
                OpCode::CreateContainer => Mortality::Container,
                OpCode::CreateTtl => Mortality::Ttl(ttl_ms),
                _ => Mortality::None,
            },
        }
    }
}

impl Model {
    /// A tree as it is before the first transaction.
    #[must_use]
    pub fn new() -> Self {
        let mut model = Self::default();
        for (path, children) in SYSTEM {
            let (aversion, permissions) =
                if path == CONFIG { (-1, permission::READ) } else { (0, permission::ALL) };
            let stat = Stat { num_children: children, cversion: -children, aversion, ..Stat::default() };
            let node = Znode {
                data: Vec::new(),
                is_null: false,
                stat,
                creations: 0,
                acl: Rc::new([Acl::world(permissions)]),
                mortality: Mortality::None,
            };
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

    /// What happened behind one transaction and up to another.
    #[must_use]
    pub fn happenings(&self, behind: i64, up_to: i64) -> &[Happening] {
        let place = |zxid| self.happenings.partition_point(|happening| happening.zxid <= zxid);
        let (from, to) = (place(behind), place(up_to));
        self.happenings.get(from..to).unwrap_or_default()
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

    fn note(&mut self, path: &str, zxid: i64, change: Change, acl: AclRef) {
        self.happenings.push(Happening { zxid, path: path.into(), change, acl, unordered: false });
    }

    fn take_back(&mut self, happenings: usize) {
        for path in std::mem::take(&mut self.touched).iter().rev() {
            self.nodes.get_mut(path).map(Vec::pop);
        }
        self.happenings.truncate(happenings);
    }

    /// A client's write. It takes its zxid also when it is refused.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn write(
        &mut self,
        request: &Request<'_>,
        opcode: OpCode,
        by: &Context<'_>,
    ) -> Result<Done, ErrorCode> {
        self.zxid = by.zxid;
        self.touched.clear();
        match request {
            Request::Create(create) => self.create(&Wanted::of(create, opcode, 0), by),
            Request::CreateTtl(create, ttl_ms) => self.create(&Wanted::of(create, opcode, *ttl_ms), by),
            Request::Delete { path, version } => self.delete(path, *version, by),
            Request::SetData { path, data, version } => self.set(path, *data, *version, by),
            Request::SetAcl { path, acl, version } => self.set_acl(path, acl, *version, by),
            Request::Multi(multi) => Ok(self.multi(&multi.operations, by)),
            Request::Reconfig(change) => self.reconfig(change, by),
            other => panic!("no client here asks for {opcode:?}: {other:?}"),
        }
    }

    fn create(&mut self, wanted: &Wanted<'_>, by: &Context<'_>) -> Result<Done, ErrorCode> {
        let acl = by.who.stored(wanted.acl)?;
        let above = parent(wanted.path);
        let mut parent = self.now(above)?.clone();
        by.may(permission::CREATE, &parent)?;
        let number = if wanted.sequential { format!("{:010}", parent.creations) } else { String::new() };
        let path = format!("{}{number}", wanted.path);
        if self.now(&path).is_ok() {
            return Err(ErrorCode::NodeExists);
        }
        if parent.stat.ephemeral_owner != 0 {
            return Err(ErrorCode::NoChildrenForEphemerals);
        }
        let (data, is_null) = (wanted.data.unwrap_or_default().to_vec(), wanted.data.is_none());
        self.fits_quota(&path, data.len() as i64, 1, by)?;
        let stat = Stat {
            czxid: by.zxid,
            mzxid: by.zxid,
            pzxid: by.zxid,
            ctime: by.time_ms,
            mtime: by.time_ms,
            ephemeral_owner: if wanted.ephemeral { by.session } else { 0 },
            data_length: data.len() as i32,
            ..Stat::default()
        };
        let (own, parents) = (Rc::clone(&acl), Rc::clone(&parent.acl));
        parent.creations += 1;
        parent.stat.num_children += 1;
        parent.stat.pzxid = by.zxid;
        parent.stat.cversion = 2 * parent.creations - parent.stat.num_children;
        self.put(above, by.zxid, Some(parent));
        let bytes = data.len() as i64;
        let node = Znode { data, is_null, stat, creations: 0, acl, mortality: wanted.mortality };
        self.put(&path, by.zxid, Some(node));
        self.note(&path, by.zxid, Change::Created, own);
        self.note(above, by.zxid, Change::Children, parents);
        self.count_anew(&path, by.zxid);
        self.count(&path, bytes, 1, by.zxid);
        Ok(Done::Created(path, stat))
    }

    fn delete(&mut self, path: &str, version: i32, by: &Context<'_>) -> Result<Done, ErrorCode> {
        if SYSTEM.iter().any(|(system, _)| *system == path) {
            return Err(ErrorCode::BadArguments);
        }
        by.may(permission::DELETE, self.now(parent(path))?)?;
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
        let (Ok(node), Ok(parent)) = (self.now(path), self.now(above)) else { return };
        let (own, parents, mut parent) = (Rc::clone(&node.acl), Rc::clone(&parent.acl), parent.clone());
        let bytes = node.data.len() as i64;
        parent.stat.num_children -= 1;
        parent.stat.pzxid = zxid;
        parent.stat.cversion = 2 * parent.creations - parent.stat.num_children;
        self.put(above, zxid, Some(parent));
        self.put(path, zxid, None);
        self.note(path, zxid, Change::Deleted, own);
        self.note(above, zxid, Change::Children, parents);
        self.count(path, -bytes, -1, zxid);
    }

    fn set(
        &mut self,
        path: &str,
        data: Option<&[u8]>,
        version: i32,
        by: &Context<'_>,
    ) -> Result<Done, ErrorCode> {
        let mut node = self.now(path)?.clone();
        by.may(permission::WRITE, &node)?;
        let more = data.map_or(0, <[u8]>::len) as i64 - node.data.len() as i64;
        self.fits_quota(path, more, 0, by)?;
        fits(version, node.stat.version)?;
        (node.data, node.is_null) = (data.unwrap_or_default().to_vec(), data.is_none());
        node.stat.data_length = node.data.len() as i32;
        node.stat.version += 1;
        (node.stat.mzxid, node.stat.mtime) = (by.zxid, by.time_ms);
        let (stat, acl) = (node.stat, Rc::clone(&node.acl));
        self.put(path, by.zxid, Some(node));
        self.note(path, by.zxid, Change::Data, acl);
        self.count(path, more, 0, by.zxid);
        Ok(Done::Set(stat))
    }

    fn set_acl(
        &mut self,
        path: &str,
        acl: &AclList<'_>,
        version: i32,
        by: &Context<'_>,
    ) -> Result<Done, ErrorCode> {
        let acl = by.who.stored(acl)?;
        let mut node = self.now(path)?.clone();
        by.may(permission::ADMIN, &node)?;
        fits(version, node.stat.aversion)?;
        (node.acl, node.stat.aversion) = (acl, node.stat.aversion + 1);
        let stat = node.stat;
        self.put(path, by.zxid, Some(node));
        Ok(Done::Set(stat))
    }

    fn multi(&mut self, operations: &[MultiOperation<'_>], by: &Context<'_>) -> Done {
        let (mut done, before) = (Vec::new(), self.happenings.len());
        for operation in operations {
            let result = match *operation {
                MultiOperation::Create(opcode, ref create, ttl_ms) => {
                    self.create(&Wanted::of(create, opcode, ttl_ms), by).map(|done| (opcode, done))
                }
                MultiOperation::Delete { path, version } => {
                    self.delete(path, version, by).map(|done| (OpCode::Delete, done))
                }
                MultiOperation::SetData { path, data, version } => {
                    self.set(path, data, version, by).map(|done| (OpCode::SetData, done))
                }
                MultiOperation::Check { path, version } => self
                    .now(path)
                    .and_then(|node| by.may(permission::READ, node).map(|()| node.stat.version))
                    .and_then(|present| fits(version, present))
                    .map(|()| (OpCode::Check, Done::Checked)),
                MultiOperation::GetData { .. } | MultiOperation::GetChildren { .. } => {
                    panic!("no client here reads in a multi")
                }
            };
            match result {
                Ok(one) => done.push(one),
                Err(code) => {
                    self.take_back(before);
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
    pub fn members(&self) -> Option<Members> {
        Members::read(&self.now(CONFIG).ok()?.data)
    }

    fn reconfig(&mut self, change: &Reconfig<'_>, by: &Context<'_>) -> Result<Done, ErrorCode> {
        let Reconfig { joining, leaving, members, config_id } = *change;
        let wish = Wish { joining, leaving, members, version: config_id };
        let present = self.members().ok_or(ErrorCode::Unimplemented)?;
        by.may(permission::WRITE, self.now(CONFIG)?)?;
        let mut next = present.changed(&wish)?;
        next.version = by.zxid;
        let text = next.text();
        self.configure(text.as_bytes(), by);
        Ok(Done::Reconfigured(text, self.now(CONFIG)?.stat))
    }

    /// The ensemble says who its members are. True when that takes a zxid, because it said otherwise before.
    pub fn set_config(&mut self, text: &[u8], by: &Context<'_>) -> bool {
        if self.now(CONFIG).is_ok_and(|node| node.data == text) {
            return false;
        }
        self.zxid = by.zxid;
        self.configure(text, by);
        true
    }

    fn configure(&mut self, text: &[u8], by: &Context<'_>) {
        let Ok(node) = self.now(CONFIG) else { return };
        let mut node = node.clone();
        node.data = text.to_vec();
        node.stat.data_length = text.len() as i32;
        (node.stat.version, node.stat.mzxid, node.stat.mtime) = (-1, by.zxid, by.time_ms);
        let acl = Rc::clone(&node.acl);
        self.put(CONFIG, by.zxid, Some(node));
        self.note(CONFIG, by.zxid, Change::Data, acl);
    }

    /// The ensemble removes a container or TTL node, if that is due by the transaction's own time.
    pub fn reap(&mut self, path: &str, never_used_ms: i64, by: &Context<'_>) -> bool {
        let Ok(node) = self.now(path) else { return false };
        let idle_ms = by.time_ms - node.stat.mtime;
        let is_due = match node.mortality {
            Mortality::None => false,
            Mortality::Container => node.creations > 0 || (never_used_ms != 0 && idle_ms > never_used_ms),
            Mortality::Ttl(ttl_ms) => idle_ms > ttl_ms,
        };
        if !is_due || node.stat.num_children > 0 {
            return false;
        }
        self.zxid = by.zxid;
        self.remove(path, by.zxid);
        true
    }

    /// A session ends, and what it owned with it, in no order that clients could tell. Gives what it owned.
    pub fn close(&mut self, session: i64, zxid: i64) -> Vec<String> {
        self.zxid = zxid;
        let (owned, before) = (self.owned(session), self.happenings.len());
        owned.iter().for_each(|path| self.remove(path, zxid));
        self.happenings[before..].iter_mut().for_each(|happening| happening.unordered = true);
        owned
    }
}

/// What the paths of a node's children begin with.
#[must_use]
pub fn below(path: &str) -> String {
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
