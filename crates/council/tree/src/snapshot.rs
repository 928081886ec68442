//! Point-in-time snapshots, taken while writes go on.
//!
//! Beginning one notes how far slots, sessions and zxids reach; nothing is copied. The scan then goes through sessions
//! and slots piece by piece. A write that is about to displace something which the scan has not reached keeps a copy of
//! it aside, once, and the scan takes the copy instead. What was created after the beginning is recognised by its zxid.
//! So the snapshot is exactly the state at its beginning, also if writes go on.
//!
//! The form is a stream of records, each a kind, a length and that many bytes; it may be cut anywhere. `loader.rs`
//! reads it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use council_wire::{SessionId, Zxid};

use crate::acl::{AclId, AclTable};
use crate::arena::Slot;
use crate::births::Births;
use crate::codec::{put_bytes, put_signed, put_varint};
use crate::node::{Name, Node, NodeStat, Value};
use crate::{Session, Tree};

/// What a record holds.
pub(crate) mod kind {
    pub(crate) const HEADER: u8 = 1;
    pub(crate) const SESSION: u8 = 2;
    pub(crate) const ACL: u8 = 3;
    pub(crate) const NODE: u8 = 4;
    pub(crate) const END: u8 = 5;
}

/// The only form so far.
pub(crate) const VERSION: u8 = 1;

/// Slots looked at in one step at the most: a stretch of vacant ones must not make it long.
const SLOTS_PER_CHUNK: u32 = 4096;

/// Values up to this length are never torn apart.
const WHOLE_VALUE: usize = 4096;

/// How far a snapshot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotProgress {
    /// There is more to come.
    More,
    /// That was all.
    Done {
        /// The digest of the tree at the snapshot's beginning, which the snapshot carries too.
        digest: u64,
    },
}

/// A node as it was when the snapshot began.
struct Frozen {
    parent: Slot,
    name: Name,
    stat: NodeStat,
    value: Value,
}

impl Frozen {
    fn bytes(&self) -> usize {
        // The map's own share is estimated.
        size_of::<Self>() + 16 + self.value.heap_bytes()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Header,
    /// Sessions above this id are still to come.
    Sessions(Option<SessionId>),
    Nodes,
    Rest,
}

/// A running snapshot.
pub(crate) struct Snapshot {
    zxid: Zxid,
    digest: u64,
    feature_level: u32,
    config_version: i64,
    births: Births,
    nodes: usize,
    sessions: usize,
    phase: Phase,
    /// Slots below this one have been scanned.
    scanned: Slot,
    /// Slots from here on did not exist.
    end: Slot,
    kept: BTreeMap<Slot, Frozen>,
    kept_bytes: usize,
    /// `None` marks a session that did not exist.
    kept_sessions: BTreeMap<SessionId, Option<Session>>,
    told_acls: BTreeSet<AclId>,
    /// The rest of a large value that did not fit into the last chunk.
    torn: Option<(Arc<[u8]>, usize)>,
}

impl Snapshot {
    /// Keeps a node that is about to change or go, if the scan still needs it as it is.
    #[inline]
    pub(crate) fn keep_node(&mut self, slot: Slot, node: &Node, acls: &mut AclTable) {
        let needed = slot >= self.scanned && slot < self.end && node.stat.czxid <= self.zxid;
        if !needed || self.kept.contains_key(&slot) {
            return;
        }
        acls.retain(node.stat.acl);
        let frozen = Frozen {
            parent: node.parent,
            name: node.name.clone(),
            stat: node.stat,
            value: node.value.clone(),
        };
        self.kept_bytes += frozen.bytes();
        self.kept.insert(slot, frozen);
    }

    /// Keeps a session that is about to change, go or come.
    #[inline]
    pub(crate) fn keep_session(&mut self, id: SessionId, session: Option<&Session>) {
        let reached = match self.phase {
            Phase::Header | Phase::Sessions(None) => false,
            Phase::Sessions(Some(last)) => id <= last,
            Phase::Nodes | Phase::Rest => true,
        };
        if reached || self.kept_sessions.contains_key(&id) {
            return;
        }
        let copy =
            session.map(|session| Session { ephemerals: BTreeSet::new(), ephemeral_bytes: 0, ..*session });
        self.kept_sessions.insert(id, copy);
    }

    fn write_header(&self, out: &mut Vec<u8>) {
        let at = start_record(out, kind::HEADER);
        out.push(VERSION);
        out.extend_from_slice(&self.zxid.0.to_le_bytes());
        put_varint(out, u64::from(self.feature_level));
        put_signed(out, self.config_version);
        self.births.write(out);
        end_record(out, at, 0);
    }

    fn write_end(&self, out: &mut Vec<u8>) {
        let at = start_record(out, kind::END);
        out.extend_from_slice(&self.digest.to_le_bytes());
        put_varint(out, self.nodes as u64);
        put_varint(out, self.sessions as u64);
        end_record(out, at, 0);
    }

    fn write_acl(&mut self, out: &mut Vec<u8>, id: AclId, acls: &AclTable) {
        if id == AclId::OPEN || !self.told_acls.insert(id) {
            return;
        }
        let at = start_record(out, kind::ACL);
        put_varint(out, u64::from(id.0));
        for entry in acls.list(id).iter() {
            put_signed(out, i64::from(entry.permissions));
            put_bytes(out, entry.scheme.as_bytes());
            put_bytes(out, entry.id.as_bytes());
        }
        end_record(out, at, 0);
    }

    /// Writes a node; of a large value only what fits below `limit`, the rest later.
    fn write_node(&mut self, out: &mut Vec<u8>, limit: usize, slot: Slot, frozen: &Frozen, acls: &AclTable) {
        self.write_acl(out, frozen.stat.acl, acls);
        let stat = &frozen.stat;
        let at = start_record(out, kind::NODE);
        put_varint(out, u64::from(slot));
        put_varint(out, u64::from(frozen.parent));
        put_bytes(out, frozen.name.as_bytes());
        put_varint(out, u64::from(frozen.stat.acl.0));
        out.extend_from_slice(&stat.czxid.0.to_le_bytes());
        put_signed(out, stat.mzxid.0.wrapping_sub(stat.czxid.0));
        put_signed(out, stat.pzxid.0.wrapping_sub(stat.czxid.0));
        put_signed(out, stat.ctime);
        put_signed(out, stat.mtime.wrapping_sub(stat.ctime));
        put_signed(out, stat.owner);
        put_signed(out, i64::from(stat.version));
        put_signed(out, i64::from(stat.creations));
        put_signed(out, i64::from(stat.aversion));
        out.push(u8::from(frozen.value.as_bytes().is_some()));
        let data = frozen.value.as_bytes().unwrap_or_default();
        end_record(out, at, data.len());
        match &frozen.value {
            Value::Heap(shared) if data.len() > WHOLE_VALUE => {
                self.torn = Some((shared.clone(), 0));
                self.write_torn(out, limit);
            }
            _ => out.extend_from_slice(data),
        }
    }

    /// Continues a value that was cut by the limit. Says whether it is finished.
    fn write_torn(&mut self, out: &mut Vec<u8>, limit: usize) -> bool {
        let Some((value, written)) = &mut self.torn else { return true };
        let rest = value.get(*written..).unwrap_or_default();
        // At least a little each time, or a chunk without room would never come to an end.
        let room = limit.saturating_sub(out.len()).max(WHOLE_VALUE).min(rest.len());
        out.extend_from_slice(&rest[..room]);
        *written += room;
        let finished = *written == value.len();
        if finished {
            self.torn = None;
        }
        finished
    }
}

fn start_record(out: &mut Vec<u8>, kind: u8) -> usize {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    at
}

/// Fills in the length of a record behind which `more` bytes still come.
fn end_record(out: &mut [u8], at: usize, more: usize) {
    let length = u32::try_from(out.len() - at - 4 + more).expect("no value is longer than 2 GiB");
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

fn write_session(out: &mut Vec<u8>, session: &Session) {
    let at = start_record(out, kind::SESSION);
    out.extend_from_slice(&session.id.0.to_le_bytes());
    put_signed(out, i64::from(session.timeout_ms));
    put_varint(out, u64::from(session.generation));
    put_varint(out, session.sequence);
    out.extend_from_slice(&session.password);
    end_record(out, at, 0);
}

impl Tree {
    /// Begins a snapshot of this very state; one that is running is abandoned. Costs nothing.
    pub fn snapshot_begin(&mut self) {
        self.snapshot_abandon();
        self.snapshot = Some(Snapshot {
            zxid: self.zxid,
            digest: self.digest(),
            feature_level: self.feature_level,
            config_version: self.config_version,
            births: self.births.clone(),
            nodes: self.arena.len(),
            sessions: self.sessions.len(),
            phase: Phase::Header,
            scanned: 0,
            end: self.arena.end(),
            kept: BTreeMap::new(),
            kept_bytes: 0,
            kept_sessions: BTreeMap::new(),
            told_acls: BTreeSet::new(),
            torn: None,
        });
    }

    /// Appends the snapshot's next piece: about `bytes_max` bytes, or fewer.
    ///
    /// # Panics
    /// When no snapshot has begun.
    pub fn snapshot_chunk(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> SnapshotProgress {
        let mut snapshot = self.snapshot.take().expect("a chunk is asked of a snapshot that has begun");
        let limit = out.len().saturating_add(bytes_max.max(1));
        let finished = self.advance_snapshot(&mut snapshot, out, limit);
        if finished {
            return SnapshotProgress::Done { digest: snapshot.digest };
        }
        self.snapshot = Some(snapshot);
        SnapshotProgress::More
    }

    /// Gives up the running snapshot, if there is one.
    pub fn snapshot_abandon(&mut self) {
        let Some(snapshot) = self.snapshot.take() else { return };
        for frozen in snapshot.kept.into_values() {
            self.acls.release(frozen.stat.acl);
        }
    }

    /// Whether a snapshot is running.
    #[must_use]
    pub const fn snapshot_running(&self) -> bool {
        self.snapshot.is_some()
    }

    /// About how many bytes the running snapshot keeps aside for its scan.
    #[must_use]
    pub fn snapshot_side_bytes(&self) -> usize {
        self.snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.kept_bytes + snapshot.kept_sessions.len() * size_of::<Session>())
    }

    /// Goes on until the limit is reached. Says whether the snapshot is complete.
    fn advance_snapshot(&mut self, snapshot: &mut Snapshot, out: &mut Vec<u8>, limit: usize) -> bool {
        if !snapshot.write_torn(out, limit) {
            return false;
        }
        if snapshot.phase == Phase::Header {
            snapshot.write_header(out);
            snapshot.phase = Phase::Sessions(None);
        }
        if let Phase::Sessions(last) = snapshot.phase {
            snapshot.phase = self.scan_sessions(snapshot, last, out, limit);
        }
        if snapshot.phase == Phase::Nodes {
            self.scan_nodes(snapshot, out, limit);
        }
        if snapshot.phase == Phase::Rest && snapshot.torn.is_none() {
            snapshot.write_end(out);
            return true;
        }
        false
    }

    /// Goes through the sessions that there were, by id, taking each as it was.
    fn scan_sessions(
        &self,
        snapshot: &mut Snapshot,
        mut last: Option<SessionId>,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Phase {
        loop {
            if out.len() >= limit {
                return Phase::Sessions(last);
            }
            let after = last.map_or(Bound::Unbounded, Bound::Excluded);
            let now = self.sessions.range((after, Bound::Unbounded)).next();
            let kept = snapshot.kept_sessions.first_key_value().map(|(id, _)| *id);
            if let Some((id, session)) = now.filter(|(id, _)| kept.is_none_or(|kept| **id < kept)) {
                write_session(out, session);
                last = Some(*id);
            } else if let Some(id) = kept {
                let was = snapshot.kept_sessions.remove(&id).flatten();
                was.iter().for_each(|session| write_session(out, session));
                last = Some(id);
            } else {
                return Phase::Nodes;
            }
        }
    }

    fn scan_nodes(&mut self, snapshot: &mut Snapshot, out: &mut Vec<u8>, limit: usize) {
        let pause = snapshot.scanned.saturating_add(SLOTS_PER_CHUNK).min(snapshot.end);
        while snapshot.scanned < pause && out.len() < limit && snapshot.torn.is_none() {
            let slot = snapshot.scanned;
            snapshot.scanned += 1;
            if let Some(frozen) = snapshot.kept.remove(&slot) {
                snapshot.kept_bytes -= frozen.bytes();
                snapshot.write_node(out, limit, slot, &frozen, &self.acls);
                self.acls.release(frozen.stat.acl);
            } else if let Some(node) = self.arena.live(slot).filter(|node| node.stat.czxid <= snapshot.zxid) {
                let frozen = Frozen {
                    parent: node.parent,
                    name: node.name.clone(),
                    stat: node.stat,
                    value: node.value.clone(),
                };
                snapshot.write_node(out, limit, slot, &frozen, &self.acls);
            }
        }
        if snapshot.scanned == snapshot.end {
            snapshot.phase = Phase::Rest;
        }
    }
}
