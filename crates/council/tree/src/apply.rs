//! Applying one command: once, in its connection's order, with a zxid if ZooKeeper's clients would see one.

use alloc::collections::BTreeSet;
use alloc::string::String;

use council_wire::{ErrorCode, OpCode, Reconfig, Request, SessionId, Stat, Zxid, permission};

use crate::path::CONFIG;
use crate::permit::Verdicts;
use crate::work::Work;
use crate::write::Context;
use crate::{
    ChangeKind, Changes, Command, DropReason, Operation, Origin, Outcome, Policy, Session, Stamp, Tree,
    digest, path,
};
use crate::{births, multi, null_path};

impl Tree {
    /// Applies a command. The same commands with the same stamps give the same results on every member.
    ///
    /// Appends what changed to `changes`: nothing when the command is refused.
    pub fn apply(&mut self, stamp: Stamp, command: &Command<'_>, changes: &mut Changes) -> Outcome {
        if let Some(origin) = command.origin
            && let Err(reason) = self.admit(origin, command.last_sequence().unwrap_or(origin.sequence))
        {
            return Outcome::Dropped(reason);
        }
        let several = matches!(command.operation, Operation::Client { opcode: OpCode::Multi, .. });
        let verdicts = Verdicts::new(command.identities, command.policy, several);
        let context = Context {
            zxid: Zxid(self.zxid.0.wrapping_add(1)),
            time: stamp.time,
            session: command.origin.map(|origin| origin.session),
            policy: command.policy,
            identities: command.identities,
            verdicts: &verdicts,
        };
        let outcome = self.execute(&command.operation, &context, changes);
        self.write_usage();
        self.work.entries(verdicts.entries());
        outcome
    }

    /// Steps that applying took since this was last called, beyond those that grow with the length of the commands: about
    /// ten nanoseconds each. For sharing out turns, and not part of what members agree on: one that takes a snapshot
    /// frees ACLs later, and counts them then.
    pub const fn take_work(&mut self) -> u64 {
        core::mem::replace(&mut self.work, Work::NONE).0
    }

    fn execute(
        &mut self,
        operation: &Operation<'_>,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Outcome {
        match *operation {
            Operation::Client { opcode, body } => self.apply_client(opcode, body, context, changes),
            Operation::CreateSession { session, timeout_ms, password } => {
                self.create_session(session, timeout_ms, password, context.zxid)
            }
            Operation::Attach { session, generation, timeout_ms } => {
                self.attach(session, generation, timeout_ms)
            }
            Operation::CloseSession { session } => self.close(session, context.zxid, changes),
            Operation::Expire { session, generation } => {
                self.expire(session, generation, context.zxid, changes)
            }
            Operation::Reap { path, never_used_ms } => self.reap_node(path, never_used_ms, context, changes),
            Operation::RaiseEpoch => {
                self.zxid = Zxid::new(self.zxid.epoch().saturating_add(1), 0);
                Outcome::EpochRaised
            }
            Operation::SetConfig { text, version } => self.set_config(text, version, context, changes),
            Operation::FeatureLevel(level) => {
                self.feature_level = self.feature_level.max(level);
                Outcome::FeatureLevelSet
            }
            Operation::Refuse(refusal) | Operation::RefuseMany { refusal, .. } => Outcome::Rejected(refusal),
        }
    }

    /// Lets a connection's commands in once each and in order; `last` is the number of the last that this one stands for.
    fn admit(&mut self, origin: Origin, last: u64) -> Result<(), DropReason> {
        let session = self.sessions.get(&origin.session).ok_or(DropReason::UnknownSession)?;
        if origin.generation < session.generation {
            return Err(DropReason::OldGeneration);
        }
        // A generation that no attach has announced would be a hole in the log's own order.
        if origin.generation > session.generation || origin.sequence > session.sequence.saturating_add(1) {
            return Err(DropReason::Gap);
        }
        if last <= session.sequence {
            return Err(DropReason::Duplicate);
        }
        self.update_session(origin.session, |session| session.sequence = last);
        Ok(())
    }

    fn apply_client(
        &mut self,
        opcode: OpCode,
        body: &[u8],
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Outcome {
        let Ok(request) = Request::decode(opcode, body) else {
            // ZooKeeper has taken the zxid already when it finds that a multi makes no sense, or a path is null.
            let refusal = match opcode {
                OpCode::Multi => multi::takes_zxid(body).then_some(ErrorCode::MarshallingError),
                _ => null_path::refusal(opcode, body, context),
            };
            let Some(error) = refusal else { return Outcome::Rejected(ErrorCode::MarshallingError) };
            self.zxid = context.zxid;
            return Outcome::Refused(error);
        };
        if !opcode.is_write()
            || matches!(opcode, OpCode::Check | OpCode::CreateSession | OpCode::CloseSession)
        {
            return Outcome::Rejected(ErrorCode::Unimplemented);
        }
        let outcome = self.write(opcode, &request, context, changes);
        let is_malformed = opcode == OpCode::Multi && outcome == Err(ErrorCode::MarshallingError);
        if is_malformed && !multi::takes_zxid(body) {
            return Outcome::Rejected(ErrorCode::MarshallingError);
        }
        self.zxid = context.zxid;
        outcome.unwrap_or_else(Outcome::Refused)
    }

    fn write(
        &mut self,
        opcode: OpCode,
        request: &Request<'_>,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<Outcome, ErrorCode> {
        match request {
            Request::Create(create) => {
                // Only a createTTL has a time to live; ZooKeeper uses -1 for the others.
                let (path, stat) = self.create(opcode, create, -1, context, changes)?;
                Ok(Outcome::Created { path, stat })
            }
            Request::CreateTtl(create, ttl_ms) => {
                let (path, stat) = self.create(opcode, create, *ttl_ms, context, changes)?;
                Ok(Outcome::Created { path, stat })
            }
            Request::Delete { path, version } => {
                self.delete(path, *version, context, changes)?;
                Ok(Outcome::Deleted)
            }
            Request::SetData { path, data, version } => {
                Ok(Outcome::DataSet { stat: self.set_data(path, *data, *version, context, changes)? })
            }
            Request::SetAcl { path, acl, version } => {
                Ok(Outcome::AclSet { stat: self.set_acl(path, acl, *version, context)? })
            }
            Request::Multi(multi) => self.multi(multi, context, changes).map(Outcome::Multi),
            Request::Reconfig(change) if context.policy.contains(Policy::RECONFIG_ENABLED) => {
                let (text, stat) = self.reconfig(change, context, changes)?;
                Ok(Outcome::Reconfigured { text, stat })
            }
            Request::Reconfig(_) => Err(ErrorCode::ReconfigDisabled),
            // ZooKeeper lets any client remove any empty node this way, whatever the ACLs say.
            Request::DeleteContainer { .. } => Err(ErrorCode::BadArguments),
            _ => Err(ErrorCode::Unimplemented),
        }
    }

    fn create_session(&mut self, id: SessionId, timeout_ms: i32, password: [u8; 16], zxid: Zxid) -> Outcome {
        let once = self.feature_level >= births::LEVEL;
        if crate::node::Owner::decode(id.0) != crate::node::Owner::Session(id)
            || self.sessions.contains_key(&id)
            || (once && !self.births.is_new(id))
        {
            return Outcome::Rejected(ErrorCode::BadArguments);
        }
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.keep_session(id, None);
        }
        let session = Session {
            id,
            timeout_ms,
            generation: 1,
            sequence: 0,
            password,
            ephemerals: BTreeSet::new(),
            ephemeral_bytes: 0,
        };
        self.terms = self.terms.wrapping_add(digest::of_session(&session));
        self.sessions.insert(id, session);
        if once {
            self.births.note(id);
        }
        self.zxid = zxid;
        Outcome::SessionCreated
    }

    fn attach(&mut self, id: SessionId, generation: u32, timeout_ms: i32) -> Outcome {
        match self.sessions.get(&id) {
            None => Outcome::Rejected(ErrorCode::SessionExpired),
            Some(session) if generation <= session.generation => Outcome::Rejected(ErrorCode::SessionMoved),
            Some(_) => {
                self.update_session(id, |session| {
                    session.generation = generation;
                    session.sequence = 0;
                    session.timeout_ms = timeout_ms;
                });
                Outcome::SessionAttached
            }
        }
    }

    fn expire(&mut self, id: SessionId, generation: u32, zxid: Zxid, changes: &mut Changes) -> Outcome {
        match self.sessions.get(&id) {
            Some(session) if session.generation != generation => Outcome::Rejected(ErrorCode::SessionMoved),
            _ => match self.close(id, zxid, changes) {
                Outcome::SessionClosed => Outcome::SessionExpired,
                other => other,
            },
        }
    }

    /// Closes a session and removes all that it owns, at one zxid.
    fn close(&mut self, id: SessionId, zxid: Zxid, changes: &mut Changes) -> Outcome {
        if !self.sessions.contains_key(&id) {
            return Outcome::Rejected(ErrorCode::SessionExpired);
        }
        for (path, slot) in self.ordered_ephemerals(id) {
            self.work.removal();
            let (above, name) = path::split(&path).unwrap_or_default();
            let parent_hash = self.hash_of(above).unwrap_or(self.root);
            self.delete_checked(slot, parent_hash, parent_hash.child(name), &path, zxid, changes);
        }
        if let Some(session) = self.sessions.remove(&id) {
            if let Some(snapshot) = &mut self.snapshot {
                snapshot.keep_session(id, Some(&session));
            }
            self.terms = self.terms.wrapping_sub(digest::of_session(&session));
        }
        self.zxid = zxid;
        Outcome::SessionClosed
    }

    /// Removes a container or TTL node if it is still due.
    fn reap_node(
        &mut self,
        path: &str,
        never_used_ms: i64,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Outcome {
        let found = path::split(path).and_then(|(above, name)| {
            let parent_hash = self.hash_of(above)?;
            let hash = parent_hash.child(name);
            Some((self.find(path, hash.key)?, parent_hash, hash))
        });
        let Some((slot, parent_hash, hash)) = found else { return Outcome::Rejected(ErrorCode::NoNode) };
        if !self.may_reap(slot, context.time, never_used_ms) {
            return Outcome::Rejected(ErrorCode::BadArguments);
        }
        self.delete_checked(slot, parent_hash, hash, path, context.zxid, changes);
        self.zxid = context.zxid;
        Outcome::Reaped
    }

    /// Changes the membership. A standalone server refuses it. Permission is checked first: a client without it must
    /// not learn from other errors which members there are.
    fn reconfig(
        &mut self,
        change: &Reconfig<'_>,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<(String, Stat), ErrorCode> {
        let roster = self.roster().ok_or(ErrorCode::Unimplemented)?;
        let key = self.key_of(CONFIG).ok_or(ErrorCode::NoNode)?;
        let slot = self.find(CONFIG, key).ok_or(ErrorCode::NoNode)?;
        context.check(self, slot, permission::WRITE)?;
        let mut next = roster.changed(change)?;
        next.version = context.zxid.0;
        let text = next.text();
        self.set_config(text.as_bytes(), next.version, context, changes);
        Ok((text, self.arena.node(slot).wire_stat()))
    }

    /// Writes the configuration node, whose version is always -1, as in ZooKeeper.
    fn set_config(
        &mut self,
        text: &[u8],
        version: i64,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Outcome {
        self.config_version = version;
        let found = self.hash_of(CONFIG).and_then(|hash| Some((self.find(CONFIG, hash.key)?, hash)));
        let Some((slot, hash)) = found else { return Outcome::Rejected(ErrorCode::NoNode) };
        if self.arena.node(slot).value.as_bytes() != Some(text) {
            self.write_data(slot, hash, Some(text), context, |stat| stat.version = -1);
            self.tell(ChangeKind::DataChanged, slot, CONFIG, context.zxid, changes);
            self.zxid = context.zxid;
        }
        Outcome::ConfigSet
    }
}
