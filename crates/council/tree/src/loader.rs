//! Reading a snapshot back. The bytes come from a disk or a peer and may be anything: anything but a complete, sound
//! tree with the digest it claims is refused, never loaded in part.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use council_wire::{Acl, Malformed, SessionId, Zxid};

use crate::acl::AclId;
use crate::arena::{NONE, ROOT, Slot};
use crate::births::Births;
use crate::codec::Cursor;
use crate::node::{Name, Node, NodeStat, Owner, Value};
use crate::path::{self, CONFIG, PathHash, QUOTA, ZOOKEEPER};
use crate::snapshot::{VERSION, kind};
use crate::{Session, Tree, digest, quota};

/// Bytes of a record before its content.
const RECORD_HEADER: usize = 5;

/// No record is longer: no frame is that carries a value. Bounds what is kept of one that never becomes whole.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// Takes a snapshot's bytes, cut anywhere, and makes a tree of them.
pub struct Loader {
    tree: Tree,
    /// Bytes of a record that is not whole yet.
    partial: Vec<u8>,
    begun: bool,
    /// Digest, nodes and sessions, as the end record claims.
    end: Option<(u64, u64, u64)>,
    /// The slots that the nodes had, in order: theirs here are their places in it.
    slots: Vec<Slot>,
    /// The ACLs' numbers in the snapshot and here.
    acls: BTreeMap<u32, AclId>,
}

/// What following each node's path to the root has shown, by slot.
struct Ways {
    hashes: Vec<PathHash>,
    /// Of the paths, in UTF-16 units; or one of the two below.
    lengths: Vec<u32>,
    /// Of the paths, in bytes.
    bytes: Vec<u32>,
}

/// The way was not followed yet.
const UNKNOWN: u32 = u32::MAX;
/// It is being followed.
const CLIMBING: u32 = UNKNOWN - 1;
/// A longer path counts as one of this length.
const LENGTH_MAX: u32 = CLIMBING - 1;

impl core::fmt::Debug for Loader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Loader").field("nodes", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Tree {
    /// Something that makes a tree of a snapshot; `seed` as in [`Tree::seeded`].
    #[must_use]
    pub fn loader(seed: u64) -> Loader {
        Loader {
            tree: Self::empty(seed),
            partial: Vec::new(),
            begun: false,
            end: None,
            slots: Vec::new(),
            acls: BTreeMap::new(),
        }
    }
}

impl Loader {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they cannot be a snapshot's; the loader is of no use then.
    pub fn chunk(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if self.partial.is_empty() {
            let used = self.records(bytes)?;
            self.partial.extend_from_slice(bytes.get(used..).unwrap_or_default());
            return Ok(());
        }
        let mut whole = core::mem::take(&mut self.partial);
        whole.extend_from_slice(bytes);
        let used = self.records(&whole)?;
        whole.drain(..used);
        self.partial = whole;
        Ok(())
    }

    /// Hands over the tree.
    ///
    /// # Errors
    /// When the snapshot is not complete or not sound, or its digest is not the tree's.
    pub fn finish(mut self) -> Result<Tree, Malformed> {
        let Some((digest, nodes, sessions)) = self.end.filter(|_| self.partial.is_empty()) else {
            return Err(Malformed("snapshot: it ends early"));
        };
        if nodes != self.slots.len() as u64 || sessions != self.tree.sessions.len() as u64 {
            return Err(Malformed("snapshot: its counts are not its content's"));
        }
        self.join_all()?;
        for system in [ZOOKEEPER, QUOTA, CONFIG] {
            self.tree.node(system).ok_or(Malformed("snapshot: a system node is missing"))?;
        }
        // Each node holds its own reference now.
        for &acl in self.acls.values() {
            self.tree.acls.release(acl);
        }
        if self.tree.digest() == digest {
            Ok(self.tree)
        } else {
            Err(Malformed("snapshot: its digest is not its content's"))
        }
    }

    /// Takes all whole records; says how many bytes they had.
    fn records(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let mut rest = bytes;
        while let Some((&[kind, ref length @ ..], behind)) = rest.split_first_chunk::<RECORD_HEADER>() {
            let length = u32::from_le_bytes(*length) as usize;
            if length > RECORD_BYTES_MAX {
                return Err(Malformed("snapshot: a record too long"));
            }
            let Some((record, behind)) = behind.split_at_checked(length) else { break };
            self.record(kind, record)?;
            rest = behind;
        }
        Ok(bytes.len() - rest.len())
    }

    fn record(&mut self, kind: u8, record: &[u8]) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(record);
        if self.end.is_some() || self.begun == (kind == kind::HEADER) {
            return Err(Malformed("snapshot: a record out of place"));
        }
        match kind {
            kind::HEADER => self.header(&mut cursor)?,
            kind::SESSION => self.session(&mut cursor)?,
            kind::ACL => self.acl(&mut cursor)?,
            kind::NODE => return self.node(&mut cursor),
            kind::END => self.end = Some((cursor.u64()?, cursor.varint()?, cursor.varint()?)),
            _ => return Err(Malformed("snapshot: an unknown record")),
        }
        if cursor.rest().is_empty() { Ok(()) } else { Err(Malformed("snapshot: a record too long")) }
    }

    fn header(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        if cursor.u8()? != VERSION {
            return Err(Malformed("snapshot: an unknown version"));
        }
        self.tree.zxid = Zxid(cursor.i64()?);
        self.tree.feature_level = cursor.varint32()?;
        self.tree.config_version = cursor.signed()?;
        self.tree.births = Births::read(cursor)?;
        self.begun = true;
        Ok(())
    }

    fn session(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        let session = Session {
            id: SessionId(cursor.i64()?),
            timeout_ms: cursor.signed32()?,
            generation: cursor.varint32()?,
            sequence: cursor.varint()?,
            password: cursor.array()?,
            ephemerals: BTreeSet::new(),
            ephemeral_bytes: 0,
        };
        let tree = &mut self.tree;
        tree.terms = tree.terms.wrapping_add(digest::of_session(&session));
        if Owner::decode(session.id.0) != Owner::Session(session.id) {
            return Err(Malformed("snapshot: a session's id is none"));
        }
        match tree.sessions.insert(session.id, session) {
            None => Ok(()),
            Some(_) => Err(Malformed("snapshot: a session is there twice")),
        }
    }

    fn acl(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        let number = cursor.varint32()?;
        let mut entries = Vec::new();
        while !cursor.rest().is_empty() {
            entries.push(Acl {
                permissions: cursor.signed32()?,
                scheme: String::from(cursor.text()?),
                id: String::from(cursor.text()?),
            });
        }
        let acl = self.tree.acls.intern(entries);
        match self.acls.insert(number, acl) {
            None if number != AclId::OPEN.0 => Ok(()),
            _ => Err(Malformed("snapshot: an ACL is there twice")),
        }
    }

    fn node(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        let slot = cursor.varint32()?;
        let parent = cursor.varint32()?;
        let name = cursor.text()?;
        let number = cursor.varint32()?;
        let czxid = cursor.i64()?;
        let mut stat = NodeStat { czxid: Zxid(czxid), ..NodeStat::default() };
        stat.mzxid = Zxid(czxid.wrapping_add(cursor.signed()?));
        stat.pzxid = Zxid(czxid.wrapping_add(cursor.signed()?));
        stat.ctime = cursor.signed()?;
        stat.mtime = stat.ctime.wrapping_add(cursor.signed()?);
        stat.owner = cursor.signed()?;
        stat.version = cursor.signed32()?;
        stat.creations = cursor.signed32()?;
        stat.aversion = cursor.signed32()?;
        let value = match (cursor.u8()?, cursor.rest()) {
            (0, []) => Value::Null,
            (1, data) => Value::new(Some(data)),
            _ => return Err(Malformed("snapshot: a node's data is neither there nor not")),
        };
        let is_root = self.slots.is_empty();
        let sound =
            if is_root { slot == ROOT && parent == ROOT && name.is_empty() } else { path::is_name(name) };
        if !sound || slot == NONE || parent == NONE || self.slots.last().is_some_and(|&last| last >= slot) {
            return Err(Malformed("snapshot: a node out of place"));
        }
        let acl = if number == AclId::OPEN.0 { Some(AclId::OPEN) } else { self.acls.get(&number).copied() };
        let acl = acl.ok_or(Malformed("snapshot: a node's ACL is missing"))?;
        self.tree.acls.retain(acl);
        stat.acl = acl;
        self.tree.arena.insert(Node::new(parent, Name::new(name), stat, value));
        self.slots.push(slot);
        Ok(())
    }

    /// The place here of a node that had this slot there. Without vacant slots in between the two are the same.
    fn place(&self, slot: Slot) -> Option<Slot> {
        if self.slots.get(slot as usize) == Some(&slot) {
            return Some(slot);
        }
        self.slots.binary_search(&slot).ok().map(|place| place as Slot)
    }

    /// Follows every node's way to the root, and joins it to its siblings, the table and the indexes.
    fn join_all(&mut self) -> Result<(), Malformed> {
        if self.slots.is_empty() {
            return Err(Malformed("snapshot: there is no root"));
        }
        let count = self.slots.len() as Slot;
        for slot in 1..count {
            let parent = self.tree.arena.node(slot).parent;
            let parent = self.place(parent).ok_or(Malformed("snapshot: a node's parent is missing"))?;
            self.tree.arena.node_mut(slot).parent = parent;
        }
        self.slots = Vec::new();
        let ways = self.resolve_all(count)?;
        let (table, arena) = (&mut self.tree.table, &self.tree.arena);
        let is_same = |one: Slot, other: Slot| {
            let (one, other) = (arena.node(one), arena.node(other));
            one.parent == other.parent && one.name.as_bytes() == other.name.as_bytes()
        };
        let keys = ways.hashes.get(1..).unwrap_or_default().iter().map(|hash| hash.key);
        if !table.fill(ROOT + 1, keys, is_same) {
            return Err(Malformed("snapshot: a node is there twice"));
        }
        for (((slot, hash), length), bytes) in (0..count).zip(ways.hashes).zip(ways.lengths).zip(ways.bytes) {
            self.join(slot, hash, length, bytes as usize)?;
        }
        Ok(())
    }

    fn resolve_all(&self, count: Slot) -> Result<Ways, Malformed> {
        let mut hashes = vec![self.tree.root; count as usize];
        let mut lengths = vec![UNKNOWN; count as usize];
        let mut bytes = vec![0_u32; count as usize];
        lengths[ROOT as usize] = 0;
        let mut climb = Vec::new();
        for slot in 0..count {
            let mut here = slot;
            // Up to a node that is known, then down again.
            let mut length = loop {
                match lengths[here as usize] {
                    UNKNOWN => {}
                    CLIMBING => return Err(Malformed("snapshot: a node is its own ancestor")),
                    known => break known,
                }
                lengths[here as usize] = CLIMBING;
                climb.push(here);
                here = self.tree.arena.node(here).parent;
            };
            let (mut hash, mut length_bytes) = (hashes[here as usize], bytes[here as usize]);
            while let Some(below) = climb.pop() {
                let name = self.tree.arena.node(below).name.as_str();
                hash = hash.child(name);
                length = length.saturating_add(1 + path::java_length(name) as u32).min(LENGTH_MAX);
                length_bytes = length_bytes.saturating_add(1 + name.len() as u32);
                (hashes[below as usize], lengths[below as usize]) = (hash, length);
                bytes[below as usize] = length_bytes;
            }
        }
        Ok(Ways { hashes, lengths, bytes })
    }

    fn join(&mut self, slot: Slot, hash: PathHash, length: u32, path_bytes: usize) -> Result<(), Malformed> {
        let tree = &mut self.tree;
        let node = tree.arena.node(slot);
        let size = node.value.len() as i64 + i64::from(length);
        if slot != ROOT && matches!(tree.arena.node(node.parent).owner(), Owner::Session(_)) {
            return Err(Malformed("snapshot: an ephemeral node has children"));
        }
        if let Owner::Session(id) = node.owner()
            && !tree.sessions.contains_key(&id)
        {
            return Err(Malformed("snapshot: an ephemeral node's session is missing"));
        }
        tree.data_size += size + i64::from(slot == ROOT);
        tree.place(slot);
        tree.count_ephemeral(slot, path_bytes, usize::saturating_add);
        tree.terms = tree.terms.wrapping_add(tree.term(slot, hash));
        if tree.arena.node(slot).name.as_bytes() == b"zookeeper_limits" {
            let path = tree.path_of(slot);
            if let Some(limited) = quota::limited_path(&path) {
                tree.limit(limited);
            }
        }
        Ok(())
    }
}
