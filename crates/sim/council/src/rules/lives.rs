//! The life of each node, told from requests alone and what their clients were answered: when it came, was written to,
//! had children come and go, and went. It takes no Stat and no counter from anybody, so it bears witness against all of
//! them: what rules 30 to 36 and 39 have in common.

use std::collections::BTreeMap;

use council_wire::{Acl, AclList, MultiHeader, MultiOperation, OpCode, Reader, Request, permission};

use crate::history::Outcome;
use crate::oracle::access::Identities;
use crate::oracle::model::{CONFIG, Mortality, SYSTEM, parent};
use crate::oracle::{Deed, Origin, Transaction};
use crate::rules::{Evidence, who};

/// One node from its creation to its end.
#[derive(Debug, Default)]
pub(super) struct Life {
    pub(super) born_zxid: i64,
    pub(super) born_ms: i64,
    pub(super) ended_zxid: Option<i64>,
    /// The session that owns it, or 0.
    pub(super) owner: i64,
    pub(super) mortality: Mortality,
    /// How many children it has that nobody made.
    pub(super) built_in: i32,
    /// When it was written to: zxid and time.
    pub(super) sets: Vec<(i64, i64)>,
    /// The ACLs it was given, and when.
    pub(super) acls: Vec<(i64, Vec<Acl>)>,
    /// When children came, and when they went.
    pub(super) came: Vec<i64>,
    pub(super) went: Vec<i64>,
}

impl Life {
    /// How many of these were there right behind that transaction.
    pub(super) fn count(zxids: &[i64], zxid: i64) -> i32 {
        zxids.partition_point(|one| *one <= zxid) as i32
    }

    /// The last of these up to that transaction.
    pub(super) fn last(zxids: &[i64], zxid: i64) -> Option<i64> {
        zxids[..Self::count(zxids, zxid) as usize].last().copied()
    }

    /// How many children there were right behind that transaction.
    pub(super) fn children(&self, zxid: i64) -> i32 {
        self.built_in + Self::count(&self.came, zxid) - Self::count(&self.went, zxid)
    }

    /// How often it had been written to, and by which transaction and when last.
    pub(super) fn written(&self, zxid: i64) -> (usize, i64, i64) {
        let count = self.sets.partition_point(|(one, _)| *one <= zxid);
        let last = self.sets[..count].last();
        let (last_zxid, last_ms) = last.copied().unwrap_or((self.born_zxid, self.born_ms));
        (count, last_zxid, last_ms)
    }

    /// How many ACLs it had been given, the first included, and the last of them.
    pub(super) fn acl(&self, zxid: i64) -> (usize, &[Acl]) {
        let count = self.acls.partition_point(|(one, _)| *one <= zxid);
        (count, self.acls[..count].last().map_or(&[], |(_, acl)| acl))
    }
}

/// Something that a transaction did, and how things stood right before it.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) zxid: i64,
    pub(super) time_ms: i64,
    pub(super) path: String,
    pub(super) kind: StepKind,
}

/// What it did.
#[derive(Debug)]
pub(super) enum StepKind {
    /// It made a node.
    Created {
        /// What the path was to begin with, if a number was to follow.
        prefix: Option<String>,
        /// How many children had been made under its parent.
        siblings: usize,
        /// The owner of its parent.
        parents_owner: i64,
    },
    /// It removed a node that had so many children.
    Deleted { children: i32 },
    /// The ensemble removed it by itself.
    Reaped {
        /// What might end it.
        mortality: Mortality,
        /// How many children had been made under it, and how many were left.
        made: usize,
        children: i32,
        /// When it was last written to, and after how long a container goes that was never used.
        written_ms: i64,
        never_used_ms: i64,
    },
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lives {
    by_path: BTreeMap<String, Vec<Life>>,
    /// Who sent what, where it had shown who it is.
    senders: BTreeMap<Origin, Identities>,
    /// What was done, in order.
    pub(super) steps: Vec<Step>,
}

impl Lives {
    /// Tells them from all that was done.
    pub(super) fn of(evidence: &Evidence<'_>) -> Self {
        let mut lives = Self::default();
        for (path, built_in) in SYSTEM {
            let permissions = if path == CONFIG { permission::READ } else { permission::ALL };
            let life = Life { built_in, acls: vec![(0, vec![Acl::world(permissions)])], ..Life::default() };
            lives.by_path.insert(path.into(), vec![life]);
        }
        let history = evidence.history;
        for connection in &history.connections {
            if who::says_who(history, connection) {
                let calls = who::calls(history, connection);
                let known =
                    calls.filter_map(|(call, who)| Some((history.origin(&history.calls[call])?, who)));
                lives.senders.extend(known);
            }
        }
        let told: BTreeMap<_, _> = history
            .calls
            .iter()
            .filter(|call| call.ask.is_write() && call.outcome() == Outcome::Ok)
            .filter_map(|call| Some((history.origin(call)?, call.answer.as_ref()?.body.as_slice())))
            .collect();
        for done in evidence.oracle.transactions.iter().filter(|done| done.error == 0) {
            let answer = done.origin.and_then(|origin| told.get(&origin).copied());
            lives.follow(done, answer.unwrap_or(&done.reply));
        }
        lives
    }

    /// A node as it was right behind a transaction.
    pub(super) fn at(&self, path: &str, zxid: i64) -> Option<&Life> {
        let lives = self.by_path.get(path)?;
        let count = lives.partition_point(|life| life.born_zxid <= zxid);
        let life = lives.get(count.checked_sub(1)?)?;
        life.ended_zxid.is_none_or(|ended| ended > zxid).then_some(life)
    }

    fn now(&mut self, path: &str) -> Option<&mut Life> {
        self.by_path.get_mut(path)?.last_mut().filter(|life| life.ended_zxid.is_none())
    }

    fn follow(&mut self, done: &Transaction, answer: &[u8]) {
        match (&done.deed, done.opcode) {
            (Some(Deed::Ended(session)), _) => self.end(*session, done),
            (Some(Deed::Reaped(path, never_used_ms)), _) => {
                let Some(life) = self.now(path) else { return };
                let (made, children) = (life.came.len(), life.children(done.zxid));
                let (mortality, (.., written_ms)) = (life.mortality, life.written(done.zxid));
                let never_used_ms = *never_used_ms;
                let kind = StepKind::Reaped { mortality, made, children, written_ms, never_used_ms };
                self.note(done, path, kind);
                self.delete(path, done.zxid);
            }
            (Some(Deed::Configured), _) | (None, Some(OpCode::Reconfig)) => self.set(CONFIG, done),
            (None, Some(opcode)) => {
                if let Ok(request) = Request::decode(opcode, &done.body) {
                    self.obey(&request, done, answer);
                }
            }
            (None, None) => {}
        }
    }

    fn obey(&mut self, request: &Request<'_>, done: &Transaction, answer: &[u8]) {
        let mut reader = Reader::new(answer);
        match request {
            Request::Create(create) | Request::CreateTtl(create, _) => {
                let ttl_ms = if let Request::CreateTtl(_, ttl_ms) = request { *ttl_ms } else { 0 };
                let Ok(path) = reader.text() else { return };
                self.create(path, create, done.opcode, ttl_ms, done);
            }
            Request::Delete { path, .. } => self.removed(path, done),
            Request::SetData { path, .. } => self.set(path, done),
            Request::SetAcl { path, acl, .. } => {
                let acl = self.acl_of(acl, done);
                if let Some(life) = self.now(path) {
                    life.acls.push((done.zxid, acl));
                }
            }
            Request::Multi(multi) => {
                for operation in &multi.operations {
                    // Where the first result is an error, nothing was done.
                    let Ok(header) = MultiHeader::read(&mut reader) else { return };
                    if header.done || header.operation < 0 {
                        return;
                    }
                    self.obey_part(operation, header.operation, &mut reader, done);
                }
            }
            _ => {}
        }
    }

    fn obey_part(
        &mut self,
        operation: &MultiOperation<'_>,
        told_as: i32,
        reader: &mut Reader<'_>,
        done: &Transaction,
    ) {
        let has_stat = matches!(OpCode::from_code(told_as), Some(OpCode::Create2 | OpCode::SetData));
        match operation {
            MultiOperation::Create(opcode, create, ttl_ms) => {
                let Ok(path) = reader.text() else { return };
                self.create(path, create, Some(*opcode), *ttl_ms, done);
            }
            MultiOperation::Delete { path, .. } => self.removed(path, done),
            MultiOperation::SetData { path, .. } => self.set(path, done),
            _ => {}
        }
        if has_stat {
            let _ = council_wire::Stat::read(reader);
        }
    }

    fn create(
        &mut self,
        path: &str,
        create: &council_wire::Create<'_>,
        opcode: Option<OpCode>,
        ttl_ms: i64,
        done: &Transaction,
    ) {
        let session = done.origin.map_or(0, |origin| origin.0);
        let mortality = match opcode {
            Some(OpCode::CreateContainer) => Mortality::Container,
            Some(OpCode::CreateTtl) => Mortality::Ttl(ttl_ms),
            _ => Mortality::None,
        };
        let acl = self.acl_of(&create.acl, done);
        let prefix = matches!(create.flags, 2 | 3 | 6).then(|| create.path.to_owned());
        let above = self.now(parent(path));
        let siblings = above.as_ref().map_or(0, |life| life.came.len());
        let parents_owner = above.as_ref().map_or(0, |life| life.owner);
        if let Some(above) = above {
            above.came.push(done.zxid);
        }
        let life = Life {
            born_zxid: done.zxid,
            born_ms: done.time_ms,
            owner: if matches!(create.flags, 1 | 3) { session } else { 0 },
            mortality,
            acls: vec![(done.zxid, acl)],
            ..Life::default()
        };
        self.by_path.entry(path.into()).or_default().push(life);
        self.note(done, path, StepKind::Created { prefix, siblings, parents_owner });
    }

    /// What is stored where somebody asks for that ACL.
    fn acl_of(&self, asked: &AclList<'_>, done: &Transaction) -> Vec<Acl> {
        // An address is never stored: a client that showed nothing is like any other.
        let nobody = Identities::of(Vec::new());
        let sender = done.origin.and_then(|origin| self.senders.get(&origin)).unwrap_or(&nobody);
        let stored = sender.stored(asked);
        stored.map_or_else(|_| Vec::new(), |acl| acl.to_vec())
    }

    fn removed(&mut self, path: &str, done: &Transaction) {
        let children = self.now(path).map_or(0, |life| life.children(i64::MAX));
        self.note(done, path, StepKind::Deleted { children });
        self.delete(path, done.zxid);
    }

    fn delete(&mut self, path: &str, zxid: i64) {
        if let Some(life) = self.now(path) {
            life.ended_zxid = Some(zxid);
            if let Some(above) = self.now(parent(path)) {
                above.went.push(zxid);
            }
        }
    }

    fn set(&mut self, path: &str, done: &Transaction) {
        if let Some(life) = self.now(path) {
            life.sets.push((done.zxid, done.time_ms));
        }
    }

    fn end(&mut self, session: i64, done: &Transaction) {
        let lives = self.by_path.iter();
        let owned = lives.filter(|(_, lives)| {
            lives.last().is_some_and(|life| life.owner == session && life.ended_zxid.is_none())
        });
        let owned: Vec<_> = owned.map(|(path, _)| path.clone()).collect();
        owned.iter().for_each(|path| self.delete(path, done.zxid));
    }

    fn note(&mut self, done: &Transaction, path: &str, kind: StepKind) {
        let (zxid, time_ms) = (done.zxid, done.time_ms);
        self.steps.push(Step { zxid, time_ms, path: path.into(), kind });
    }
}
