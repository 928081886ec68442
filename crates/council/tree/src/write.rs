//! The single writes of clients, each with ZooKeeper's order of checks.
//!
//! A write that is refused has changed nothing yet.

use alloc::format;
use alloc::string::String;
use base::WallTime;

use council_wire::{AclList, Create, ErrorCode, OpCode, SessionId, Stat, Zxid, permission};

use crate::acl::AclId;
use crate::arena::Slot;
use crate::node::{Name, Node, NodeStat, Owner, Value};
use crate::path::{self, PathHash, ROOT_PATH};
use crate::permit::Verdicts;
use crate::scheme::{self, Checked};
use crate::{Change, ChangeKind, Changes, Identities, Policy, Tree, quota};

/// The client, the time and the rules of a write.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) zxid: Zxid,
    pub(crate) time: WallTime,
    pub(crate) session: Option<SessionId>,
    pub(crate) policy: Policy,
    pub(crate) identities: Identities<'a>,
    pub(crate) verdicts: &'a Verdicts<'a>,
}

impl Context<'_> {
    pub(crate) fn check(&self, tree: &Tree, slot: Slot, required: i32) -> Result<(), ErrorCode> {
        let acl = tree.arena.node(slot).stat.acl;
        if self.verdicts.permits(&tree.acls, acl, required) { Ok(()) } else { Err(ErrorCode::NoAuth) }
    }
}

/// A create's flags, decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CreateMode {
    pub(crate) ephemeral: bool,
    pub(crate) sequential: bool,
    pub(crate) container: bool,
    pub(crate) ttl: bool,
}

impl CreateMode {
    pub(crate) const fn from_flags(flags: i32) -> Option<Self> {
        if flags < 0 || flags > 6 {
            return None;
        }
        Some(Self {
            ephemeral: matches!(flags, 1 | 3),
            sequential: matches!(flags, 2 | 3 | 6),
            container: flags == 4,
            ttl: matches!(flags, 5 | 6),
        })
    }
}

/// What a create makes: opcode 19 a container with any flags, opcode 21 a TTL node, the others what is left of the
/// flags (4 among them is nothing).
pub(crate) fn owner_of(
    opcode: OpCode,
    mode: CreateMode,
    ttl_ms: i64,
    context: &Context<'_>,
) -> Result<Owner, ErrorCode> {
    if mode.ttl {
        if !context.policy.contains(Policy::EXTENDED_TYPES) {
            return Err(ErrorCode::Unimplemented);
        }
        if opcode != OpCode::CreateTtl || ttl_ms <= 0 || ttl_ms >= Owner::TTL_LIMIT {
            return Err(ErrorCode::BadArguments);
        }
        return Ok(Owner::Ttl(ttl_ms));
    }
    match opcode {
        OpCode::CreateTtl => Err(ErrorCode::BadArguments),
        OpCode::CreateContainer => Ok(Owner::Container),
        _ if mode.ephemeral => {
            let session = context.session.ok_or(ErrorCode::SessionExpired)?;
            Ok(Owner::Session(session))
        }
        _ => Ok(Owner::Nobody),
    }
}

/// A create that may be executed.
struct Creation {
    path: String,
    hash: PathHash,
    parent: Slot,
    parent_hash: PathHash,
    owner: Owner,
    acl: Checked,
}

impl Tree {
    pub(crate) fn create(
        &mut self,
        opcode: OpCode,
        request: &Create<'_>,
        ttl_ms: i64,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<(String, Stat), ErrorCode> {
        let Creation { path, hash, parent, parent_hash, owner, acl } =
            self.judge_create(opcode, request, ttl_ms, context)?;
        let stat = NodeStat::born(context.zxid, context.time.ms(), owner, self.store_acl(acl));
        let name = Name::new(path.rsplit('/').next().unwrap_or_default());
        let node = Node::new(parent, name, stat, Value::new(request.data));
        let slot = self.create_checked(node, parent_hash, hash, &path);
        self.tell(ChangeKind::Created, slot, &path, context.zxid, changes);
        let node = self.arena.node(slot);
        let (stat, bytes) = (node.wire_stat(), node.value.len() as i64);
        if let Some(counted) = quota::counted_path(&path) {
            self.recount_quota(counted);
        }
        self.count_for_quota(&path, bytes, 1);
        Ok((path, stat))
    }

    /// Makes the checks of a create, in ZooKeeper's order.
    fn judge_create(
        &mut self,
        opcode: OpCode,
        request: &Create<'_>,
        ttl_ms: i64,
        context: &Context<'_>,
    ) -> Result<Creation, ErrorCode> {
        let mode = CreateMode::from_flags(request.flags).ok_or(ErrorCode::BadArguments)?;
        let owner = owner_of(opcode, mode, ttl_ms, context)?;
        let (above, _) = path::split(request.path).ok_or(ErrorCode::BadArguments)?;
        let acl = scheme::check(&request.acl, context.identities, context.policy)?;
        let parent_hash = self.hash_of(above).ok_or(ErrorCode::NoNode)?;
        let parent = self.find(above, parent_hash.key).ok_or(ErrorCode::NoNode)?;
        context.check(self, parent, permission::CREATE)?;
        let mut path = String::from(request.path);
        if mode.sequential {
            path += &format!("{:010}", self.arena.node(parent).stat.creations);
        }
        if !path::is_valid(&path) {
            return Err(ErrorCode::BadArguments);
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let hash = if path == ROOT_PATH { self.root } else { parent_hash.child(name) };
        if self.find(&path, hash.key).is_some() {
            return Err(ErrorCode::NodeExists);
        }
        if let Owner::Session(_) = self.arena.node(parent).owner() {
            return Err(ErrorCode::NoChildrenForEphemerals);
        }
        if context.policy.contains(Policy::ENFORCE_QUOTA) {
            self.check_quota(&path, request.data.map_or(0, <[u8]>::len) as i64, 1)?;
        }
        Ok(Creation { path, hash, parent, parent_hash, owner, acl })
    }

    fn create_checked(&mut self, node: Node, parent_hash: PathHash, hash: PathHash, path: &str) -> Slot {
        let zxid = node.stat.czxid;
        self.update(node.parent, parent_hash, |parent| {
            parent.stat.creations = parent.stat.creations.wrapping_add(1);
            parent.stat.pzxid = zxid;
        });
        self.add_node(node, hash, path)
    }

    fn store_acl(&mut self, acl: Checked) -> AclId {
        match acl {
            Checked::Open => AclId::OPEN,
            Checked::List(entries) => self.acls.intern(entries),
        }
    }

    pub(crate) fn delete(
        &mut self,
        path: &str,
        version: i32,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<(), ErrorCode> {
        let (above, name) =
            path::split(path).filter(|_| !path::is_system(path)).ok_or(ErrorCode::BadArguments)?;
        let parent_hash = self.hash_of(above).ok_or(ErrorCode::NoNode)?;
        let parent = self.find(above, parent_hash.key).ok_or(ErrorCode::NoNode)?;
        context.check(self, parent, permission::DELETE)?;
        let hash = parent_hash.child(name);
        let slot = self.find(path, hash.key).ok_or(ErrorCode::NoNode)?;
        let node = self.arena.node(slot);
        if version != -1 && version != node.stat.version {
            return Err(ErrorCode::BadVersion);
        }
        if node.children > 0 {
            return Err(ErrorCode::NotEmpty);
        }
        self.delete_checked(slot, parent_hash, hash, path, context.zxid, changes);
        Ok(())
    }

    /// Deletes a childless node for a reason that the caller has checked.
    pub(crate) fn delete_checked(
        &mut self,
        slot: Slot,
        parent_hash: PathHash,
        hash: PathHash,
        path: &str,
        zxid: Zxid,
        changes: &mut Changes,
    ) {
        let node = self.arena.node(slot);
        let (parent, bytes) = (node.parent, self.length_of(slot));
        self.tell(ChangeKind::Deleted, slot, path, zxid, changes);
        self.update(parent, parent_hash, |parent| parent.stat.pzxid = zxid);
        self.remove_node(slot, hash, path);
        self.count_for_quota(path, -bytes, -1);
    }

    pub(crate) fn set_data(
        &mut self,
        path: &str,
        data: Option<&[u8]>,
        version: i32,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<Stat, ErrorCode> {
        let (slot, hash) = self.find_valid(path)?;
        context.check(self, slot, permission::WRITE)?;
        let node = self.arena.node(slot);
        let version_now = node.stat.version;
        let difference = data.map_or(0, <[u8]>::len) as i64 - self.length_of(slot);
        if context.policy.contains(Policy::ENFORCE_QUOTA) {
            self.check_quota(path, difference, 0)?;
        }
        let next = next_version(version_now, version)?;
        self.write_data(slot, hash, data, context, |stat| stat.version = next);
        let stat = self.arena.node(slot).wire_stat();
        self.tell(ChangeKind::DataChanged, slot, path, context.zxid, changes);
        self.count_for_quota(path, difference, 0);
        Ok(stat)
    }

    /// Replaces a node's data, mzxid, mtime and what else its Stat needs.
    pub(crate) fn write_data(
        &mut self,
        slot: Slot,
        hash: PathHash,
        data: Option<&[u8]>,
        context: &Context<'_>,
        change: impl FnOnce(&mut NodeStat),
    ) {
        self.displace(slot);
        let before = self.term(slot, hash);
        self.replace_data(slot, context.time.ms(), |node| node.set_data(data));
        let stat = &mut self.arena.node_mut(slot).stat;
        stat.mzxid = context.zxid;
        change(stat);
        self.terms = self.terms.wrapping_sub(before).wrapping_add(self.term(slot, hash));
    }

    pub(crate) fn set_acl(
        &mut self,
        path: &str,
        acl: &AclList<'_>,
        version: i32,
        context: &Context<'_>,
    ) -> Result<Stat, ErrorCode> {
        if !path::is_valid(path) {
            return Err(ErrorCode::BadArguments);
        }
        let acl = scheme::check(acl, context.identities, context.policy)?;
        let (slot, hash) = self.find_valid(path)?;
        context.check(self, slot, permission::ADMIN)?;
        let node = self.arena.node(slot);
        let (displaced, next) = (node.stat.acl, next_version(node.stat.aversion, version)?);
        let acl = self.store_acl(acl);
        self.count_ephemeral(slot, 0, usize::saturating_sub);
        self.update(slot, hash, |node| {
            node.stat.aversion = next;
            node.stat.acl = acl;
        });
        self.count_ephemeral(slot, 0, usize::saturating_add);
        self.release_acl(displaced);
        Ok(self.arena.node(slot).wire_stat())
    }

    pub(crate) fn check(&self, path: &str, version: i32, context: &Context<'_>) -> Result<(), ErrorCode> {
        let (slot, _) = self.find_valid(path)?;
        context.check(self, slot, permission::READ)?;
        next_version(self.arena.node(slot).stat.version, version).map(|_| ())
    }

    fn find_valid(&self, path: &str) -> Result<(Slot, PathHash), ErrorCode> {
        if !path::is_valid(path) {
            return Err(ErrorCode::BadArguments);
        }
        let hash = self.hash_of(path).ok_or(ErrorCode::NoNode)?;
        Ok((self.find(path, hash.key).ok_or(ErrorCode::NoNode)?, hash))
    }

    /// Notes a change for watches, with the ACLs of that moment.
    pub(crate) fn tell(&self, kind: ChangeKind, slot: Slot, path: &str, zxid: Zxid, changes: &mut Changes) {
        let node = self.arena.node(slot);
        changes.push(Change {
            kind,
            path: path.into(),
            zxid,
            acl: self.acls.list(node.stat.acl).clone(),
            parent_acl: self.acls.list(self.arena.node(node.parent).stat.acl).clone(),
            ephemeral_owner: match node.owner() {
                Owner::Session(id) => id,
                _ => SessionId::NONE,
            },
            data_bytes: if kind == ChangeKind::Deleted { 0 } else { node.value.len() },
        });
    }
}

/// The version after this one, if this one is the one wanted or any will do.
const fn next_version(current: i32, wanted: i32) -> Result<i32, ErrorCode> {
    if wanted != -1 && wanted != current { Err(ErrorCode::BadVersion) } else { Ok(current.wrapping_add(1)) }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use council_wire::{Acl, Writer};

    use super::*;
    use crate::arena::ROOT;
    use crate::{Command, Operation, Outcome, Stamp};

    #[test]
    fn sequence_numbers_go_on_below_zero_at_their_end() {
        let mut tree = Tree::new();
        tree.update(ROOT, tree.root, |root| root.stat.creations = i32::MAX - 1);
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.text("/s-").buffer(None);
        Acl::write_all(&[Acl::open()], &mut writer);
        writer.i32(2);
        let command = Command::internal(Operation::Client { opcode: OpCode::Create, body: &body });
        for expected in ["/s-2147483646", "/s-2147483647", "/s--2147483648", "/s--2147483647"] {
            match tree.apply(Stamp::default(), &command, &mut Changes::new()) {
                Outcome::Created { path, .. } => assert_eq!(path, expected),
                other => panic!("{other:?}"),
            }
        }
        let stat = tree.node("/").expect("the root is there").stat();
        assert_eq!((stat.cversion, stat.num_children), ((i32::MIN + 2).wrapping_mul(2).wrapping_sub(5), 5));
    }
}
