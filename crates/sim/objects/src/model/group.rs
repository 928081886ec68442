//! A group: objects, sessions, what is remembered of requests; how a command changes them.

use std::collections::BTreeMap;

use objects_state::limits::{
    HOLDINGS_PER_SESSION_MAX, NAME_BYTES_MAX, REPLY_BYTES_MAX, REQUESTS_PER_SESSION_MAX,
    TICKETS_PER_OBJECT_MAX, TICKETS_PER_SESSION_MAX, WAIT_MS_MAX,
};
use objects_state::{
    Act, Authority, Batch, Call, Caller, Command, Content, Identity, Invocation, NewSession, ObjectName,
    SessionId, Source, TicketEnd, type_name,
};
use serde_json::{Value, json};

use super::access::{ACCESS_LEVEL, Access};
use super::answer::{Answer, Refusal, Told, bad_argument, refusal, refuse, shown};
use super::args::Args;
use super::kind::{Cx, Kind, Step, View, Waiter};
use super::methods::{Type, Way, method_of, type_of};
use super::quota::Quotas;
use super::request::{Asked, Asker, KeptAt, Progress, Remembered, Session};
use super::types;
use crate::elsewhere::Elsewhere;
use crate::forgotten::Forgotten;

/// One object.
pub(crate) struct Object {
    pub(crate) name: ObjectName,
    pub(crate) incarnation: u64,
    /// Created on purpose: it stays until it is deleted.
    pub(crate) explicit: bool,
    pub(crate) kind: Box<dyn Kind>,
    pub(crate) waiters: Vec<Waiter>,
}

impl Clone for Object {
    fn clone(&self) -> Self {
        let (name, waiters) = (self.name.clone(), self.waiters.clone());
        let (incarnation, explicit) = (self.incarnation, self.explicit);
        Self { name, incarnation, explicit, kind: self.kind.copy(), waiters }
    }
}

/// The level from which on the id of a session that has ended opens no other.
pub(crate) const ENDED_LEVEL: u32 = 4;
/// For how long, milliseconds.
pub(crate) const ENDED_MS: i64 = 600_000;

/// What an import may call: see the manual's "Export and import".
pub(crate) const IMPORTED: &[(&str, &str)] = &[
    ("counter", "set"),
    ("value", "set"),
    ("map", "put_all"),
    ("map", "put"),
    ("set", "add"),
    ("queue", "put"),
    ("stack", "push"),
    ("log", "append"),
    ("names", "set"),
    ("names", "add"),
];

/// The calls that ended while an object was worked on.
pub(crate) type Ended = Vec<(Waiter, TicketEnd, Answer)>;

/// See the module.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) position: u64,
    pub(crate) now_ms: i64,
    pub(crate) objects: Vec<Object>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) remembered: Vec<Remembered>,
    pub(crate) told: Vec<Told>,
    /// Sessions of calls that have ended by this command and are still to be told.
    pub(crate) ending: Vec<SessionId>,
    /// The session whose new request is being carried out: its reply is to be kept.
    pub(crate) asking: Option<SessionId>,
    /// What all members support.
    pub(crate) level: u32,
    /// Who may do what.
    pub(crate) access: Access,
    /// How much somebody may have.
    pub(crate) quotas: Quotas,
    /// Sessions that have ended, and when: another one with their id is none of the same client's.
    pub(crate) ended: Vec<(SessionId, i64)>,
    /// The last command of each member: its process, and its number there.
    pub(crate) sources: BTreeMap<u8, (u64, u64)>,
    /// What is another group's.
    pub(crate) elsewhere: Elsewhere,
    /// The member and its process that gave the command which is carried out.
    process: Option<(u8, u64)>,
}

/// What became of a new request.
pub(crate) enum Became {
    Done(Value),
    Waits,
}

/// What one call of an object came to.
enum Stepped {
    Done(Value),
    /// The object with the call among those that wait, to be settled.
    Waits(Object, Ended),
}

impl Group {
    /// A group that does not have these slots.
    pub(crate) fn without(elsewhere: Elsewhere) -> Self {
        Self { elsewhere, ..Self::default() }
    }

    /// A member's command is carried out next. False if it comes too late, and must not be.
    pub(crate) fn admit(&mut self, source: Source) -> bool {
        let number = (source.incarnation, source.sequence);
        let last = self.sources.entry(source.member).or_default();
        let is_new = number > *last;
        if is_new {
            *last = number;
            self.process = Some((source.member, source.incarnation));
        }
        is_new
    }

    /// What the command does, in order.
    pub(crate) fn apply(&mut self, stamp_ms: i64, command: &Command) -> Vec<Told> {
        self.position += 1;
        self.now_ms = self.now_ms.max(stamp_ms);
        self.asking = None;
        match (self.let_in(command), command.caller()) {
            // Nobody looks up whether a copy of it had an effect.
            (Err(refusal), Some(caller)) => {
                let unknown = caller.identity != Identity::Anonymous;
                self.answer(caller, Err(Refusal { unknown, ..refusal }));
            }
            _ => self.perform(command),
        }
        self.process = None;
        std::mem::take(&mut self.told)
    }

    fn perform(&mut self, command: &Command) {
        match command {
            Command::Call(call) => self.request(
                &call.caller,
                Asked::Call(call.object.clone(), call.invocation.clone()),
                |group, asked| group.within_quotas(|group| group.call(call, asked)),
            ),
            Command::Batch(batch) => self.request(
                &batch.caller,
                Asked::Batch(batch.object.clone(), batch.invocations.clone()),
                |group, _| group.batch(batch),
            ),
            Command::Create { caller, object, args } => {
                let asked = Asked::Create(object.clone(), args.clone());
                self.request(caller, asked, |group, _| {
                    group.judge(&caller.principal, &Act::Create(object))?;
                    group.within_quotas(|group| group.create(object, args))
                });
            }
            Command::Delete { caller, object, incarnation } => {
                let asked = Asked::Delete(object.clone(), *incarnation);
                self.request(caller, asked, |group, _| {
                    group.judge(&caller.principal, &Act::LookAfter(object))?;
                    group.delete(object, *incarnation)
                });
            }
            Command::Import { caller, object, content } => {
                let asked = Asked::Import(object.clone(), content.clone());
                self.request(caller, asked, |group, _| {
                    group.judge(&caller.principal, &Act::LookAfter(object))?;
                    group.within_quotas(|group| group.import(caller, object, content))
                });
            }
            other => self.apply_to_sessions(other),
        }
    }

    fn apply_to_sessions(&mut self, command: &Command) {
        match command {
            Command::OpenSession { caller, session } => {
                let answer = self.within_quotas(|group| group.open(session, &caller.principal.name));
                self.answer(caller, answer);
            }
            Command::CloseSession { caller, session } => {
                let answer = self.close(caller, *session);
                self.answer(caller, answer);
            }
            Command::ExpireSession { session, generation } => {
                let is_it = |open: &Session| open.id == *session && open.generation == *generation;
                let is_silent = self.sessions.iter().any(is_it);
                is_silent.then(|| self.end_session(*session, true));
            }
            Command::CancelTicket { caller, ticket } => {
                let answer = self.cancel(caller.as_ref(), *ticket);
                if let Some(caller) = caller {
                    self.answer(caller, answer);
                }
            }
            Command::Tick => self.tick(),
            Command::Access { caller, change } => {
                let answer = self.change_access(caller, change);
                self.answer(caller, answer);
            }
            Command::FeatureLevel(level) => self.level = self.level.max(*level),
            // The others are requests.
            _ => {}
        }
    }

    /// Whether an object is this group's.
    pub(crate) fn check_here(&self, object: &ObjectName) -> Result<(), Refusal> {
        if self.elsewhere.has(object) { refuse("wrong-group") } else { Ok(()) }
    }

    fn placed(&self, answer: Answer) -> Answer {
        answer.map_err(|refusal| Refusal { position: self.position, ..refusal })
    }

    fn answer(&mut self, caller: &Caller, answer: Answer) {
        let answer = self.placed(answer);
        self.told.push(Told::Answered(caller.origin, answer));
    }

    /// Carries out a request once, and remembers its answer.
    fn request(
        &mut self,
        caller: &Caller,
        asked: Asked,
        work: impl FnOnce(&mut Self, &Asked) -> Result<Became, Refusal>,
    ) {
        let before = (!self.elsewhere.is_nothing()).then(|| (self.sessions.clone(), self.remembered.clone()));
        match self.known(caller, &asked) {
            Err(refusal) => self.answer(caller, Err(refusal)),
            Ok(Some(Progress::Waits(ticket))) => self.told.push(Told::Parked(caller.origin, ticket)),
            Ok(Some(Progress::Ended(_, answer))) => self.told.push(Told::Answered(caller.origin, answer)),
            Ok(None) => {
                self.asking = match caller.identity {
                    Identity::Session { session, .. } => Some(session),
                    _ => None,
                };
                let (told, sessions) = (self.told.len(), self.sessions.clone());
                let position = self.position;
                let answer = match work(self, &asked) {
                    Ok(Became::Waits) => return,
                    Ok(Became::Done(result)) => Ok(result),
                    Err(refusal) => {
                        self.told.truncate(told);
                        self.sessions = sessions;
                        self.position = position;
                        self.placed(Err(refusal))
                    }
                };
                // A copy may be carried out where the object is: nothing is kept of this one.
                if let (Err(refusal), Some((sessions, remembered))) = (&answer, before)
                    && refusal.slug == "wrong-group"
                {
                    (self.sessions, self.remembered) = (sessions, remembered);
                    let unknown = caller.identity != Identity::Anonymous;
                    return self.answer(caller, Err(Refusal { unknown, ..refusal.clone() }));
                }
                self.remember(&KeptAt::of(caller), asked, Progress::Ended(None, answer.clone()));
                self.told.push(Told::Answered(caller.origin, answer));
            }
        }
    }

    fn known(&mut self, caller: &Caller, asked: &Asked) -> Result<Option<Progress>, Refusal> {
        let at = KeptAt::of(caller);
        match &caller.identity {
            Identity::Anonymous => return Ok(None),
            Identity::Key(key) if key.is_empty() => return bad_argument(),
            Identity::Key(_) => {}
            Identity::Session { session, request, .. } => {
                let Some(index) = self.sessions.iter().position(|open| open.id == *session) else {
                    return refuse("session-expired");
                };
                if !self.is_own_session(&self.sessions[index].principal, &caller.principal.name) {
                    return refuse("forbidden");
                }
                let open = &mut self.sessions[index];
                open.forgotten.acknowledge(&caller.identity);
                let forgotten = &open.forgotten;
                self.remembered.retain(|kept| !matches!(&kept.at, KeptAt::Session(of, number) if of == session && forgotten.contains(*number)));
                if forgotten.contains(*request) {
                    return refuse("request-forgotten");
                }
            }
        }
        match self.remembered.iter().find(|kept| kept.at == at) {
            Some(kept) if matches!(at, KeptAt::Key(..)) && kept.asked != *asked => refuse("key-reused"),
            Some(kept) => Ok(Some(kept.progress.clone())),
            None => match &at {
                KeptAt::Session(id, _) if self.unacknowledged(*id) >= REQUESTS_PER_SESSION_MAX as usize => {
                    Err(Refusal { unknown: true, ..refusal("quota") })
                }
                _ => Ok(None),
            },
        }
    }

    pub(crate) fn unacknowledged(&self, id: SessionId) -> usize {
        let is_own = |kept: &&Remembered| matches!(&kept.at, KeptAt::Session(of, _) if *of == id);
        self.remembered.iter().filter(is_own).count()
    }

    fn remember(&mut self, at: &KeptAt, asked: Asked, progress: Progress) {
        let is_gone = match at {
            KeptAt::Nowhere => true,
            // The call may have closed its session.
            KeptAt::Session(id, _) => !self.sessions.iter().any(|open| open.id == *id),
            KeptAt::Key(..) => false,
        };
        if !is_gone {
            let forgotten_ms = self.forgotten_ms(at, &progress);
            self.remembered.push(Remembered { at: at.clone(), asked, progress, forgotten_ms });
        }
    }

    pub(crate) fn forgotten_ms(&self, at: &KeptAt, progress: &Progress) -> Option<i64> {
        let has_ended = matches!(progress, Progress::Ended(..));
        (has_ended && matches!(at, KeptAt::Key(..)))
            .then(|| self.now_ms.saturating_add(objects_state::limits::KEY_MS))
    }

    fn call(&mut self, call: &Call, asked: &Asked) -> Result<Became, Refusal> {
        self.judge(&call.caller.principal, &Act::Method(&call.object, &call.invocation.method))?;
        let kind = known_type(&call.object)?;
        let mut asker = self.asker(&call.caller);
        if let (Some(new), None) = (&call.opens, asker.session) {
            self.open(new, &call.caller.principal.name)?;
            (asker.session, asker.opened_ttl_ms) = (Some(new.id), Some(new.ttl_ms));
        }
        let (method, args) = understood(kind, &call.invocation)?;
        let asked_ms = args.int_in("wait_ms", 0, i64::MAX)?;
        let wait_ms = call.wait_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)).or(asked_ms);
        let index = self.find(&call.object, call.incarnation, call.create)?;
        match self.step(index, &call.object, &asker, wait_ms, method, &args)? {
            Stepped::Done(result) => Ok(Became::Done(self.with_session(&asker, result))),
            Stepped::Waits(object, ended) => {
                self.remember(&asker.kept_at, asked.clone(), Progress::Waits(self.position));
                self.told.push(Told::Parked(call.caller.origin, self.position));
                self.settle(object, ended);
                Ok(Became::Waits)
            }
        }
    }

    fn batch(&mut self, batch: &Batch) -> Result<Became, Refusal> {
        self.check_here(&batch.object)?;
        let kind = known_type(&batch.object)?;
        let asker = self.asker(&batch.caller);
        let (mut results, mut bytes) = (Vec::new(), 0);
        for (index, invocation) in batch.invocations.iter().enumerate() {
            self.position += u64::from(index > 0);
            let done = if bytes > REPLY_BYTES_MAX {
                refuse("too-large")
            } else {
                self.within_quotas(|group| group.one_of_batch(kind, batch, invocation, &asker))
            };
            let result = match done {
                Ok(result) => json!({ "result": result }),
                Err(refusal) => json!({ "problem": shown(&self.placed(Err(refusal))) }),
            };
            bytes += super::text_of(&result).len();
            results.push(result);
        }
        Ok(Became::Done(json!({ "results": results })))
    }

    fn one_of_batch(
        &mut self,
        kind: &'static Type,
        batch: &Batch,
        invocation: &Invocation,
        asker: &Asker,
    ) -> Answer {
        self.judge(&batch.caller.principal, &Act::Method(&batch.object, &invocation.method))?;
        self.one_at_once(kind, (&batch.object, batch.incarnation, batch.create), invocation, asker)
    }

    /// A call that does not wait.
    fn one_at_once(
        &mut self,
        kind: &'static Type,
        (name, incarnation, create): (&ObjectName, Option<u64>, bool),
        invocation: &Invocation,
        asker: &Asker,
    ) -> Answer {
        let (method, args) = understood(kind, invocation)?;
        if args.int("wait_ms")?.is_some_and(|ms| ms != 0) {
            return bad_argument();
        }
        let index = self.find(name, incarnation, create)?;
        match self.step(index, name, asker, Some(0), method, &args)? {
            Stepped::Done(result) => Ok(result),
            // It would wait whatever it says: a call of a batch does not.
            Stepped::Waits(..) => bad_argument(),
        }
    }

    /// The object of a command; nothing if it is to be created.
    fn find(
        &self,
        name: &ObjectName,
        incarnation: Option<u64>,
        create: bool,
    ) -> Result<Option<usize>, Refusal> {
        if name.name.is_empty() || name.name.len() > NAME_BYTES_MAX || name.name.chars().any(char::is_control)
        {
            return bad_argument();
        }
        let index = self.objects.iter().position(|object| object.name == *name);
        let has = index.map(|index| self.objects[index].incarnation);
        if incarnation.is_some() && incarnation != has {
            return refuse("wrong-incarnation");
        }
        if index.is_none() && !create { refuse("no-such-object") } else { Ok(index) }
    }

    pub(crate) fn fresh(&self, name: &ObjectName) -> Object {
        let kind = types::default(type_name(name.kind).unwrap_or_default());
        let (incarnation, waiters) = (self.position, Vec::new());
        Object { name: name.clone(), incarnation, explicit: false, kind, waiters }
    }

    /// One call of an object.
    fn step(
        &mut self,
        index: Option<usize>,
        name: &ObjectName,
        asker: &Asker,
        wait_ms: Option<i64>,
        method: &str,
        args: &Args,
    ) -> Result<Stepped, Refusal> {
        if let Some(id) = asker.session
            && self.holdings(id).len() + self.tickets(id) >= HOLDINGS_PER_SESSION_MAX as usize
        {
            return refuse("quota");
        }
        let mut object = index.map_or_else(|| self.fresh(name), |index| self.objects[index].clone());
        let mut ended = Vec::new();
        let mut cx = self.surroundings(&mut object.waiters, &mut ended, asker.session);
        cx.is_try = wait_ms == Some(0);
        let (wants, forever) = match object.kind.call(&mut cx, method, args)? {
            Step::Done(result) => {
                object.kind.settle(&mut cx);
                self.put_back(object, ended);
                return Ok(Stepped::Done(result));
            }
            Step::Wait(wants) if wait_ms == Some(0) => {
                let view = View { now_ms: self.now_ms, waiters: &object.waiters };
                let missed = object.kind.missed(&view, method, &wants);
                self.settle(object, ended);
                return Ok(Stepped::Done(missed));
            }
            Step::Wait(wants) => (wants, false),
            Step::WaitForever(wants) => (wants, true),
        };
        self.check_waiters(&object, asker)?;
        let wait_ms = wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
        object.waiters.push(Waiter {
            ticket: self.position,
            since: self.position,
            asker: asker.clone(),
            deadline_ms: (!forever).then(|| self.now_ms.saturating_add(wait_ms)),
            method: method.into(),
            wants,
            passed: 0,
            process: self.process.filter(|_| asker.kept_at == KeptAt::Nowhere),
        });
        Ok(Stepped::Waits(object, ended))
    }

    fn check_waiters(&self, object: &Object, asker: &Asker) -> Result<(), Refusal> {
        let of_object = object.waiters.len() >= TICKETS_PER_OBJECT_MAX as usize;
        let of_session = asker.session.is_some_and(|id| self.tickets(id) >= TICKETS_PER_SESSION_MAX as usize);
        if of_object || of_session { refuse("waiters-full") } else { Ok(()) }
    }

    pub(crate) fn surroundings<'a>(
        &self,
        waiters: &'a mut Vec<Waiter>,
        ended: &'a mut Ended,
        session: Option<SessionId>,
    ) -> Cx<'a> {
        Cx { position: self.position, now_ms: self.now_ms, session, is_try: false, waiters, ended }
    }

    fn asker(&self, caller: &Caller) -> Asker {
        let session = match caller.identity {
            Identity::Session { session, .. } => Some(session),
            _ => None,
        };
        let authority = caller.principal.authority;
        Asker {
            principal: caller.principal.name.clone(),
            authority,
            is_asked: self.access.is_closed() || authority != Authority::Member,
            session,
            kept_at: KeptAt::of(caller),
            opened_ttl_ms: None,
        }
    }

    /// Grants what is due, and puts the object back.
    pub(crate) fn settle(&mut self, mut object: Object, mut ended: Ended) {
        let mut cx = self.surroundings(&mut object.waiters, &mut ended, None);
        object.kind.settle(&mut cx);
        self.put_back(object, ended);
    }

    /// The object as it is now, unless nothing but defaults is left; those whose calls have ended are told.
    fn put_back(&mut self, object: Object, ended: Ended) {
        let index = self.objects.iter().position(|other| other.name == object.name);
        let is_gone = !object.explicit && object.waiters.is_empty() && object.kind.is_default();
        match index {
            Some(index) if is_gone => drop(self.objects.remove(index)),
            Some(index) => self.objects[index] = object,
            None if is_gone => {}
            None => self.objects.push(object),
        }
        self.tell_ends(ended);
    }

    /// One after the other: until its turn each of them is one that waits.
    pub(crate) fn tell_ends(&mut self, ended: Ended) {
        self.ending = ended.iter().filter_map(|(waiter, ..)| waiter.asker.session).collect();
        for (waiter, end, answer) in ended {
            if waiter.asker.session.is_some() {
                self.ending.remove(0);
            }
            self.tell_end(&waiter, end, answer);
        }
    }

    fn create(&mut self, name: &ObjectName, args: &[u8]) -> Result<Became, Refusal> {
        let kind = known_type(name)?;
        let args = Args::parse(args)?;
        args.only(kind.1)?;
        let made = types::create(kind.0, &args)?;
        let index = self.find(name, None, true)?;
        let mut object = index.map_or_else(|| self.fresh(name), |index| self.objects[index].clone());
        if index.is_some() && object.kind.config() != made.config() {
            return refuse("exists");
        }
        if index.is_none() {
            object.kind = made;
        }
        let created = !object.explicit;
        object.explicit = true;
        let incarnation = object.incarnation;
        self.settle(object, Vec::new());
        Ok(Became::Done(json!({ "created": created, "incarnation": incarnation })))
    }

    /// A whole object, or nothing of it.
    fn import(&mut self, caller: &Caller, name: &ObjectName, content: &Content) -> Result<Became, Refusal> {
        if self.objects.iter().any(|object| object.name == *name) {
            return refuse("exists");
        }
        let Content::Calls { arguments, calls } = content else { return bad_argument() };
        let (kind, incarnation) = (known_type(name)?, self.position);
        let asker = Asker { session: None, kept_at: KeptAt::Nowhere, ..self.asker(caller) };
        let objects = self.objects.clone();
        let done = self.create(name, arguments).and_then(|_| {
            for (index, invocation) in calls.iter().enumerate() {
                self.position += u64::from(index > 0);
                if !IMPORTED.contains(&(kind.0, &*invocation.method)) {
                    return bad_argument();
                }
                self.one_at_once(kind, (name, None, false), invocation, &asker)?;
            }
            Ok(Became::Done(json!({ "imported": true, "incarnation": incarnation })))
        });
        if done.is_err() {
            self.objects = objects;
        }
        done
    }

    fn delete(&mut self, name: &ObjectName, incarnation: Option<u64>) -> Result<Became, Refusal> {
        let index = self.objects.iter().position(|object| object.name == *name);
        let has = index.map(|index| self.objects[index].incarnation);
        if incarnation.is_some() && incarnation != has {
            return refuse("wrong-incarnation");
        }
        let Some(index) = index else { return refuse("no-such-object") };
        let mut object = self.objects.remove(index);
        object.waiters.sort_by_key(|waiter| waiter.ticket);
        for waiter in object.waiters {
            let answer = self.placed(refuse("object-deleted"));
            self.tell_end(&waiter, TicketEnd::Ended, answer);
        }
        Ok(Became::Done(json!({ "deleted": true })))
    }

    fn open(&mut self, new: &NewSession, principal: &str) -> Answer {
        let is_short =
            new.name.as_ref().is_none_or(|name| name.len() <= objects_state::limits::KEY_BYTES_MAX);
        let ttls = objects_state::limits::SESSION_TTL_MS_MIN..=objects_state::limits::SESSION_TTL_MS_MAX;
        if !ttls.contains(&new.ttl_ms) || !is_short {
            return bad_argument();
        }
        if !self.sessions.iter().any(|open| open.id == new.id) {
            let is_used = |(id, at_ms): &(SessionId, i64)| *id == new.id && self.now_ms - at_ms < ENDED_MS;
            if self.ended.iter().any(is_used) {
                return refuse("session-expired");
            }
            let (id, secret_hash, principal) = (new.id, new.secret_hash, principal.into());
            let session = Session {
                id,
                secret_hash,
                generation: new.generation,
                ttl_ms: new.ttl_ms,
                principal,
                forgotten: Forgotten::default(),
            };
            self.sessions.push(session);
            self.told.push(Told::Opened(new.id, new.generation));
        }
        let open = self.sessions.iter_mut().find(|open| open.id == new.id).ok_or(refusal("exists"))?;
        if open.secret_hash != new.secret_hash {
            return refuse("exists");
        }
        if open.principal != principal && self.level >= ACCESS_LEVEL {
            return refuse("forbidden");
        }
        if new.generation > open.generation {
            (open.generation, open.ttl_ms) = (new.generation, new.ttl_ms);
            self.told.push(Told::Opened(new.id, new.generation));
        }
        Ok(json!({ "session": new.id.to_string(), "generation": open.generation, "ttl_ms": open.ttl_ms }))
    }

    /// What a query answers.
    pub(crate) fn query(
        &self,
        name: &ObjectName,
        incarnation: Option<u64>,
        create: bool,
        method: &str,
        args: &[u8],
    ) -> Answer {
        self.placed(self.query_here(name, incarnation, create, method, args))
    }

    fn query_here(
        &self,
        name: &ObjectName,
        incarnation: Option<u64>,
        create: bool,
        method: &str,
        args: &[u8],
    ) -> Answer {
        self.check_here(name)?;
        let kind = known_type(name)?;
        let Some((_, way, known)) = method_of(kind, method) else { return refuse("no-such-method") };
        if !matches!(way, Way::Query | Way::Either) {
            return refuse("not-a-query");
        }
        let args = Args::parse(args)?;
        args.only(known)?;
        let found = self.objects.iter().find(|object| object.name == *name);
        if incarnation.is_some() && incarnation != found.map(|object| object.incarnation) {
            return refuse("wrong-incarnation");
        }
        if found.is_none() && !create {
            return refuse("no-such-object");
        }
        let object = found.cloned().unwrap_or_else(|| self.fresh(name));
        object.kind.query(&View { now_ms: self.now_ms, waiters: &object.waiters }, method, &args)
    }

    /// What sessions hold: of which object, under which position.
    pub(crate) fn held(&self) -> Vec<(ObjectName, SessionId, u64)> {
        let mut held = Vec::new();
        for object in &self.objects {
            let all = object.kind.holdings().into_iter();
            held.extend(all.map(|holding| (object.name.clone(), holding.session, holding.position)));
        }
        held
    }

    /// The tickets of the calls that wait.
    pub(crate) fn waiting(&self) -> Vec<u64> {
        self.objects.iter().flat_map(|object| &object.waiters).map(|waiter| waiter.ticket).collect()
    }

    /// The incarnation of an object, if it is there.
    pub(crate) fn incarnation(&self, name: &ObjectName) -> Option<u64> {
        Some(self.objects.iter().find(|object| object.name == *name)?.incarnation)
    }

    /// The names of objects for which calls wait.
    pub(crate) fn names_with_waiters(&self) -> Vec<ObjectName> {
        let waited_for = self.objects.iter().filter(|object| !object.waiters.is_empty());
        waited_for.map(|object| object.name.clone()).collect()
    }

    /// What an object's queries may not show more than.
    pub(crate) fn limits(&self, name: &ObjectName) -> Option<Vec<(&'static str, &'static str, i64)>> {
        Some(self.objects.iter().find(|object| object.name == *name)?.kind.limits())
    }

    /// Whether a semaphore takes back no more than it gave.
    pub(crate) fn is_bounded(&self, name: &ObjectName) -> bool {
        let found = self.objects.iter().find(|object| object.name == *name);
        found.is_none_or(|object| object.kind.is_bounded())
    }

    /// The names of all objects.
    pub(crate) fn names(&self) -> Vec<ObjectName> {
        self.objects.iter().map(|object| object.name.clone()).collect()
    }

    /// The position of the last command.
    #[must_use]
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }
}

fn known_type(name: &ObjectName) -> Result<&'static Type, Refusal> {
    type_name(name.kind).and_then(type_of).ok_or_else(|| refusal("no-such-type"))
}

/// The method, if it may stand in the log, and its arguments.
fn understood(kind: &'static Type, invocation: &Invocation) -> Result<(&'static str, Args), Refusal> {
    let Some((name, way, known)) = method_of(kind, &invocation.method) else {
        return refuse("no-such-method");
    };
    if *way == Way::Query {
        return bad_argument();
    }
    let args = Args::parse(&invocation.args)?;
    args.only(known)?;
    Ok((name, args))
}
