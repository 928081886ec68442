//! The state of a group, and the one way to change it: commands, in the order of the log.

use std::ops::Bound;
use std::sync::Arc;

use base::WallTime;

use crate::access::{self, Act};
use crate::allowance::QuotaOf;
use crate::answer;
use crate::args::Args;
use crate::builtin::{Builtin, MethodKind, Why, dispatch, type_name, type_named};
use crate::call;
use crate::codec::Malformed;
use crate::command::{Caller, Command, Identity, NewSession, ObjectName, SessionId, TypeId};
use crate::deadline;
use crate::death;
use crate::effects::{Effect, Effects};
use crate::export;
use crate::group::{Core, Meta, SharedEngine};
use crate::guest::{Ended, Engine, PAGE_BYTES, VersionHash};
use crate::key;
use crate::known::{Description, OpenVersion, Stage, TicketState, UserObject};
use crate::limits::{SWEPT_PER_COMMAND, SWEPT_PER_TICK, USER_TYPE_MAX, USER_TYPE_MIN};
use crate::object::{self, Header, View};
use crate::orphan;
use crate::place::{ReplyRef, TicketAt};
use crate::placement;
use crate::principal::{Authority, Principal, TokenNumber};
use crate::problem::{Outcome, Problem, Slug};
use crate::quota;
use crate::reply::Reply;
use crate::request;
use crate::rights;
use crate::runs::Ran;
use crate::scan::{Scan, SnapshotProgress};
use crate::session::{self, Session};
use crate::slots::SlotTable;
use crate::source::{Process, Source};
use crate::sum::term;
use crate::tick;
use crate::ticket;
use crate::types::{self, TypeInfo};
use crate::user::{self, Asked, LongRun, Tried};

/// Objects, sessions, requests, tickets, deadlines: all that a group replicates.
#[derive(Default)]
pub struct State {
    pub(crate) core: Core,
}

impl State {
    /// An empty state, of a group that has all slots.
    #[must_use]
    pub fn new() -> Self {
        Self::with_slots(SlotTable::ALL)
    }

    /// An empty state of a group that has these slots.
    #[must_use]
    pub fn with_slots(slots: SlotTable) -> Self {
        let mut state = Self::default();
        // Without a record it is the first group, and has all: so it was before there was one.
        if slots != SlotTable::ALL {
            placement::set(&mut state.core, slots);
            state.core.store.commit();
        }
        state
    }

    /// An empty state whose objects of users' types are run by that engine.
    #[must_use]
    pub fn with_engine(engine: Arc<dyn Engine>) -> Self {
        let mut state = Self::new();
        state.core.engine = SharedEngine::of(engine);
        state
    }

    /// From now on that engine runs modules. It is told of all versions that there are.
    pub fn set_engine(&mut self, engine: Arc<dyn Engine>) {
        self.core.engine = SharedEngine::of(engine);
        self.core.types_changes += 1;
        types::forget_known(&mut self.core);
        types::prepare_all(&self.core);
    }

    /// What runs modules.
    #[must_use]
    pub const fn engine(&self) -> &Arc<dyn Engine> {
        self.core.engine.shared()
    }

    /// Applies a command with its entry's stamp, and appends what it did. Gives what it cost, in about bytes.
    ///
    /// # Errors
    /// The bytes are no command of this build: the member must stop. Nothing has changed.
    pub fn apply_encoded(
        &mut self,
        stamp: WallTime,
        command: &[u8],
        out: &mut Effects,
    ) -> Result<usize, Malformed> {
        let decoded = Command::decode(command)?;
        Ok(command.len() + self.apply(stamp, &decoded, out))
    }

    /// Applies a command with its entry's stamp, and appends what it did. Gives what it cost, in about bytes.
    pub fn apply(&mut self, stamp: WallTime, command: &Command, out: &mut Effects) -> usize {
        let core = &mut self.core;
        debug_assert!(core.store.is_settled(), "a command begins where the last one ended");
        core.begin_command();
        core.ran.clear();
        // A new leader's clock may be behind the old one's: time never goes back here.
        core.meta.stamp_ms = core.meta.stamp_ms.max(stamp.ms());
        core::mem::swap(&mut core.out, out);
        perform(core, command);
        user::quarantine_deadly(core);
        // Of an object that is gone what it had is known until it is swept.
        quota::settle(core);
        tick::sweep(core, if *command == Command::Tick { SWEPT_PER_TICK } else { SWEPT_PER_COMMAND });
        quota::settle(core);
        if *command == Command::Tick && quota::is_counting(core) {
            quota::count_some(core);
        }
        core::mem::swap(&mut core.out, out);
        (core.process, core.settled) = (None, 0);
        core.store.commit() + core.spent
    }

    /// Takes note of a member's command that is applied next. False if it was applied before, or never will be: then it
    /// must not be applied.
    #[must_use]
    pub fn admit(&mut self, source: Source) -> bool {
        let is_new = self.core.sources.admit(source);
        self.core.process =
            is_new.then_some(Process { member: source.member, incarnation: source.incarnation });
        is_new
    }

    /// The last command of that member that was applied.
    #[must_use]
    pub fn last_of(&self, member: u8) -> Option<Source> {
        self.core.sources.last(member)
    }

    /// Leaves out the positions up to this one: for a state that goes on where others may have reached them.
    pub fn skip_to(&mut self, position: u64) {
        self.core.meta.position = self.core.meta.position.max(position);
    }

    /// The position of the last command.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.core.meta.position
    }

    /// The stamp of the last command.
    #[must_use]
    pub const fn stamp(&self) -> WallTime {
        WallTime::of_ms(self.core.meta.stamp_ms)
    }

    /// The feature level that the log has reached.
    #[must_use]
    pub const fn feature_level(&self) -> u32 {
        self.core.meta.feature_level
    }

    /// Of equal states equal. Costs nothing: it follows the writes.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.core.store.terms().wrapping_add(term(&[], &self.core.head()))
    }

    /// Which slots are this group's.
    #[must_use]
    pub const fn slots(&self) -> &SlotTable {
        &self.core.slots
    }

    /// The slot of an object, if there is its type.
    #[must_use]
    pub fn slot_of(&self, object: &ObjectName) -> Option<u8> {
        placement::of(&self.core, object)
    }

    /// When the leader should propose a [`Command::Tick`], if nothing else happens: the earliest deadline, or at once if
    /// records of dead objects are to be removed, or waits whose callers are gone with their member's process.
    #[must_use]
    pub fn next_deadline(&self) -> Option<WallTime> {
        let has_work = self.core.meta.graves > 0
            || user::has_messages(&self.core)
            || user::long::has_turns(&self.core)
            || quota::is_counting(&self.core);
        if has_work || orphan::first(&self.core).is_some() {
            return Some(self.stamp());
        }
        deadline::first(&self.core).map(|(at, ..)| WallTime::of_ms(at))
    }

    /// How many objects, sessions, waiting calls and remembered keys there are.
    #[must_use]
    pub const fn counts(&self) -> [u64; 4] {
        let Meta { objects, sessions, tickets, keys, .. } = self.core.meta;
        [objects, sessions, tickets, keys]
    }

    /// How many records there are, those of dead objects included.
    #[must_use]
    pub fn records(&self) -> usize {
        self.core.store.len()
    }

    /// A session.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<Session> {
        self.core.read(&key::session(id))
    }

    /// All sessions: a new leader gives each its full time to live.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, Session)> + '_ {
        self.core.store.prefix(&[key::kind::SESSION]).filter_map(|(key, value)| {
            Some((SessionId(*key.last_chunk()?), crate::codec::decoded(value).ok()?))
        })
    }

    /// An object, if it exists.
    #[must_use]
    pub fn describe(&self, object: &ObjectName) -> Option<Description> {
        let header: Header = self.core.read(&key::object(object))?;
        Some(describe(&self.core, object.clone(), &header))
    }

    /// Whether there is an object of that name.
    #[must_use]
    pub fn is_there(&self, object: &ObjectName) -> bool {
        self.core.store.get(&key::object(object)).is_some()
    }

    /// The objects of a type whose names begin so, behind that name, in the order of their names.
    pub fn list<'a>(
        &'a self,
        kind: TypeId,
        prefix: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = Description> + use<'a> {
        let all = key::objects_of(kind);
        let prefix = [&all[..], prefix.as_bytes()].concat();
        let after = after.map(|after| [&all[..], after.as_bytes()].concat());
        let from = match &after {
            Some(after) if *after >= prefix => Bound::Excluded(&after[..]),
            _ => Bound::Included(&prefix[..]),
        };
        let end = crate::store::successor(&prefix);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        // What comes before is not looked at: a page costs what is on it, however many objects there are.
        let records = self.core.store.range(from, to);
        records.filter_map(move |(key, value)| {
            let name = core::str::from_utf8(key.get(2..)?).ok()?.into();
            Some(describe(&self.core, ObjectName { kind, name }, &crate::codec::decoded(value).ok()?))
        })
    }

    /// The objects of all types whose names begin so, in the order of the types' numbers and of names, behind that one.
    pub fn list_all<'a>(
        &'a self,
        prefix: &str,
        after: Option<&ObjectName>,
    ) -> impl Iterator<Item = Description> + use<'a> {
        let (prefix, after) = (String::from(prefix), after.cloned());
        let first = after.as_ref().map_or(0, |after| after.kind.0);
        (first..=USER_TYPE_MAX).map(TypeId).flat_map(move |kind| {
            let behind = after.as_ref().filter(|after| after.kind == kind);
            self.list(kind, &prefix, behind.map(|after| &*after.name))
        })
    }

    /// A ticket, if its call waits, or its reply is still kept.
    #[must_use]
    pub fn ticket(&self, id: u64) -> Option<TicketState> {
        match self.core.read(&key::ticket_at(id))? {
            TicketAt::Waits(_) => {
                let (place, ticket) = ticket::waiting(&self.core, id)?;
                let deadline = ticket.deadline_ms.map(WallTime::of_ms);
                let (object, session, principal) = (place.object, ticket.session, ticket.principal);
                Some(TicketState::Waits { object, session, principal, deadline })
            }
            TicketAt::Ended(reply) => {
                let principal = owner(&self.core, &reply)?;
                let outcome = request::outcome(&self.core, &reply)?;
                Some(TicketState::Ended { principal, outcome })
            }
        }
    }

    /// Evaluates a query. An object that does not exist answers as one with nothing but defaults if `create` says so,
    /// as a command would find it.
    ///
    /// # Errors
    /// A refusal, at the state's position.
    pub fn query(
        &self,
        object: &ObjectName,
        incarnation: Option<u64>,
        create: bool,
        method: &str,
        args: &[u8],
    ) -> Result<String, Problem> {
        let evaluated = || {
            placement::check(&self.core, object)?;
            if types::is_user(object.kind) {
                return user::query(&self.core, object, incarnation, (method, args));
            }
            dispatch!(
                object.kind,
                K => self.query_of::<K>(object, incarnation, create, method, args),
                else Err(answer::no_such_type())
            )
        };
        evaluated().map_err(|problem| self.placed(problem))
    }

    /// The same, but a query that takes long goes on in the background, on a copy of its object as it is.
    ///
    /// # Errors
    /// A refusal, at the state's position; also because too many such queries are under way.
    pub fn begin_query(
        &self,
        object: &ObjectName,
        incarnation: Option<u64>,
        create: bool,
        method: &str,
        args: &[u8],
    ) -> Result<Asked, Problem> {
        if !types::is_user(object.kind) {
            return self.query(object, incarnation, create, method, args).map(Asked::Answered);
        }
        let begun = placement::check(&self.core, object)
            .and_then(|()| user::begin_query(&self.core, object, incarnation, (method, args)));
        begun.map_err(|problem| self.placed(problem))
    }

    /// How a query that went on in the background is answered, which was made on a state of that position.
    #[must_use]
    pub fn query_outcome(ended: Ended, gives_bytes: bool, position: u64) -> Outcome {
        match user::query_result(ended, gives_bytes) {
            Ok(result) => Outcome::Done(result),
            Err(problem) => Outcome::Refused(Problem { position, ..problem }),
        }
    }

    fn query_of<K: Builtin>(
        &self,
        object: &ObjectName,
        incarnation: Option<u64>,
        create: bool,
        method: &str,
        args: &[u8],
    ) -> Result<String, Problem> {
        let method = call::method_of::<K>(method)?;
        if !matches!(method.kind, MethodKind::Query | MethodKind::Either) {
            return Err(Problem::new(Slug::NotAQuery, "the method changes the object"));
        }
        let args = Args::parse(args)?;
        args.only(method.args)?;
        let opened = object::open::<K>(&self.core, object);
        answer::check_incarnation(incarnation, opened.as_ref().map(|opened| opened.header.incarnation))?;
        if opened.is_none() && !create {
            return Err(Problem::new(Slug::NoSuchObject, "there is no such object"));
        }
        // Nothing has the space 0: positions begin at 1.
        let space = opened.as_ref().map_or(0, |opened| opened.header.incarnation);
        let opened = opened.unwrap_or_else(|| object::fresh(&self.core));
        let view = View { core: &self.core, space, tickets: opened.header.tickets };
        K::query(&opened.live, &view, method.name, &args)
    }

    /// The type of that name, also a user's.
    #[must_use]
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        type_named(name).or_else(|| types::named(&self.core, name))
    }

    /// The name of a type, also a user's.
    #[must_use]
    pub fn type_name(&self, kind: TypeId) -> Option<String> {
        match type_name(kind) {
            Some(name) => Some(name.into()),
            None => types::find(&self.core, kind).map(|known| known.name),
        }
    }

    /// The runs of modules that are under way beside the commands. When the engine is done with one, the leader proposes
    /// [`Command::Finish`].
    pub fn long_runs(&self) -> impl Iterator<Item = LongRun> + '_ {
        user::long::under_way(&self.core)
    }

    /// The engine is to begin the run that is under way at the object of that space, if it has not: the state came from a
    /// snapshot.
    pub fn begin_long_run(&self, space: u64) {
        user::long::begin_anew(&self.core, space);
    }

    /// What the runs of modules of the last command came to here, in order.
    #[must_use]
    pub fn ran(&self) -> &[Ran] {
        self.core.ran.all()
    }

    /// What [`Command::Disagreed`] would put into quarantine: the object of that space, if it is there and not in quarantine, for a
    /// run behind the position at which it was released last. Looks at all objects of users' types.
    #[must_use]
    pub fn may_disagree(&self, space: u64) -> Option<(ObjectName, u64)> {
        let kinds = (USER_TYPE_MIN..=USER_TYPE_MAX).map(TypeId);
        let objects = kinds
            .flat_map(|kind| self.core.store.prefix(&key::objects_of(kind)).map(move |found| (kind, found)));
        let mut objects = objects.filter_map(|(kind, (key, value))| {
            let header: Header = crate::codec::decoded(value).ok()?;
            let name = core::str::from_utf8(key.get(2..)?).ok()?;
            (header.incarnation == space).then(|| ObjectName { kind, name: name.into() })
        });
        objects.next().and_then(|object| {
            let released = user::may_disagree(&self.core, &object, space)?;
            Some((object, released))
        })
    }

    /// What is known of a type of users.
    #[must_use]
    pub fn user_type(&self, kind: TypeId) -> Option<TypeInfo> {
        types::info(&self.core, kind)
    }

    /// The types of users, in the order of their numbers.
    pub fn user_types(&self) -> impl Iterator<Item = TypeInfo> + '_ {
        types::all(&self.core).filter_map(|(kind, _)| self.user_type(kind))
    }

    /// Whether there are types of users: then a call may take long.
    #[must_use]
    pub fn has_user_types(&self) -> bool {
        types::totals(&self.core).versions > 0
    }

    /// Whether an object of a user's type is there, and what a method is that it has, or would have if it were created now.
    #[must_use]
    pub fn method_kind(&self, object: &ObjectName, method: &str) -> (bool, Option<MethodKind>) {
        let own = user::version_of(&self.core, object);
        let version = own.or_else(|| types::find(&self.core, object.kind)?.current);
        let about = version.and_then(|version| types::method(&self.core, object.kind, version, method).ok());
        (own.is_some(), about.map(|about| about.kind))
    }

    /// Whether a version of that type has methods which take and give bytes.
    #[must_use]
    pub fn has_methods_of_bytes(&self, kind: TypeId) -> bool {
        // What never was is not looked for.
        self.core.store.age(key::kind::OF_BYTES) > 0
            && self.core.store.prefix(&[key::kind::OF_BYTES, kind.0]).next().is_some()
    }

    /// Whether that is a method of an object of a user's type which takes and gives bytes.
    #[must_use]
    pub fn takes_bytes(&self, object: &ObjectName, method: &str) -> bool {
        user::takes_bytes(&self.core, object, method)
    }

    /// What a migration of an object to that version would come to, tried on a copy.
    ///
    /// # Errors
    /// The refusal that it would come to.
    pub fn try_migration(
        &self,
        object: &ObjectName,
        incarnation: Option<u64>,
        to: VersionHash,
    ) -> Result<String, Problem> {
        let tried = placement::check(&self.core, object)
            .and_then(|()| user::try_migration(&self.core, object, incarnation, to));
        tried.map_err(|problem| self.placed(problem))
    }

    /// The same, but a run of it that takes long goes on in the background.
    ///
    /// # Errors
    /// The refusal that it would come to; also because too much is under way in the background.
    pub fn begin_trial(
        &self,
        object: &ObjectName,
        incarnation: Option<u64>,
        to: VersionHash,
    ) -> Result<Tried, Problem> {
        let tried = placement::check(&self.core, object)
            .and_then(|()| user::begin_trial(&self.core, object, incarnation, to));
        tried.map_err(|problem| self.placed(problem))
    }

    /// How often something has happened to versions of types: as long as it is the same, so are they. Of this state alone.
    #[must_use]
    pub const fn types_changes(&self) -> u64 {
        self.core.types_changes
    }

    /// The versions that an engine may be asked about, and how each stands.
    #[must_use]
    pub fn open_versions(&self) -> Vec<OpenVersion> {
        let mut open = Vec::new();
        for (kind, known) in types::all(&self.core) {
            for (hash, found) in types::versions(&self.core, kind) {
                let stage = match found.standing {
                    types::Standing::Preparing => Stage::Preparing,
                    types::Standing::Ready => Stage::Ready,
                    types::Standing::Closed(_) => Stage::Closed,
                    types::Standing::Rejected(..) => continue,
                };
                open.push(OpenVersion { kind, name: known.name.clone(), hash, stage });
            }
        }
        open
    }

    /// Versions that wait for a verdict.
    #[must_use]
    pub fn preparing(&self) -> Vec<(TypeId, VersionHash)> {
        if types::totals(&self.core).preparing == 0 {
            return Vec::new();
        }
        let of_type = |(kind, _)| types::versions(&self.core, kind).map(move |found| (kind, found));
        let all = types::all(&self.core).flat_map(of_type);
        let preparing = all.filter(|(_, (_, found))| found.standing == types::Standing::Preparing);
        preparing.map(|(kind, (hash, _))| (kind, hash)).collect()
    }

    /// An object as JSON, of which an import makes another one.
    ///
    /// # Errors
    /// There is none, it holds too much, or its module cannot save it.
    pub fn export(&self, object: &ObjectName, incarnation: Option<u64>) -> Result<String, Problem> {
        let exported = placement::check(&self.core, object)
            .and_then(|()| export::export(&self.core, object, incarnation));
        exported.map_err(|problem| self.placed(problem))
    }

    /// The token of a secret with that hash, and its principal.
    #[must_use]
    pub fn principal_of(&self, hash: &[u8; 32]) -> Option<Principal> {
        let number = self.core.access.token_of(hash)?;
        let name = self.core.access.token(number)?.principal.clone();
        Some(Principal { name, authority: Authority::Token(number) })
    }

    /// Whether there is a token of that number.
    #[must_use]
    pub fn has_token(&self, number: TokenNumber) -> bool {
        self.core.access.token(number).is_some()
    }

    /// Whether what vouches for a principal holds, and whether it may do anything at all: asked before anything else.
    ///
    /// # Errors
    /// `unauthenticated` or `forbidden`, at the state's position.
    pub fn admit_principal(&self, principal: &Principal) -> Result<(), Problem> {
        access::admit(&self.core, principal).map_err(|problem| self.placed(problem))
    }

    /// Whether a principal may do that now. It is to be admitted first.
    ///
    /// # Errors
    /// `unauthenticated` or `forbidden`, at the state's position.
    pub fn judge(&self, principal: &Principal, act: &Act<'_>) -> Result<(), Problem> {
        access::judge(&self.core, principal, act).map_err(|problem| self.placed(problem))
    }

    /// Whether a command would be judged well if it were applied now. What is refused here needs no place in the log. The copy
    /// of a request that was carried out does: there it finds its reply, whatever its principal may do by now.
    ///
    /// # Errors
    /// The refusal that it would come to.
    pub fn judge_command(&self, command: &Command) -> Result<(), Problem> {
        let Some(caller) = command.caller() else { return Ok(()) };
        self.admit_principal(&caller.principal).map_err(|problem| caller.turned_away(problem))?;
        if request::is_known(&self.core, caller) {
            return Ok(());
        }
        access::act_of(command).map_or(Ok(()), |act| self.judge(&caller.principal, &act))
    }

    /// Whether a principal has the right to everything. Nobody has it for what is another's while access is open, but a root
    /// token.
    #[must_use]
    pub fn administers(&self, principal: &Principal) -> bool {
        let is_root = principal.authority == Authority::Root;
        is_root || self.core.access.closed && access::is_admin(&self.core, principal)
    }

    /// Whether rights are looked at.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.core.access.closed
    }

    /// How often tokens and rights have changed. Of this state alone.
    #[must_use]
    pub const fn access_changes(&self) -> u64 {
        self.core.access.changes
    }

    /// Whether a quota bounds calls.
    #[must_use]
    pub const fn has_rates(&self) -> bool {
        self.core.quotas.has_rates()
    }

    /// How many calls within a second a quota lets in, if it bounds them.
    #[must_use]
    pub fn rate_of(&self, of: &QuotaOf) -> Option<u64> {
        self.core.quotas.rate_of(of)
    }

    /// The same of all quotas that a call has to do with: by its principal, and by the name of its object.
    pub fn rates(&self, principal: &str, object: Option<&str>) -> impl Iterator<Item = (QuotaOf, u64)> {
        self.core.quotas.rates(principal, object)
    }

    /// What is shown to a principal of rights: its own, and to those who administer everybody's behind that name.
    #[must_use]
    pub fn shown_access(&self, principal: &Principal, after: Option<&str>) -> String {
        access::shown(&self.core, principal, after)
    }

    /// All tokens, without their secrets.
    #[must_use]
    pub fn shown_tokens(&self) -> String {
        access::tokens(&self.core)
    }

    fn placed(&self, problem: Problem) -> Problem {
        Problem { position: self.position(), ..problem }
    }

    /// Begins a snapshot of this very state; one that is running is abandoned. Costs nothing.
    pub fn snapshot_begin(&mut self) {
        let (header, digest) = (self.core.head(), self.digest());
        self.core.store.scan = Some(Scan::new(&header, digest));
    }

    /// Appends the snapshot's next chunk: up to so many bytes.
    ///
    /// # Panics
    /// When no snapshot has begun.
    pub fn snapshot_chunk(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> SnapshotProgress {
        self.core.store.scan_chunk(out, bytes_max).expect("a chunk is asked of a snapshot that has begun")
    }

    /// Flips a bit of an object's record, as memory that fails would, and tells nobody: for simulators and tests of what finds
    /// that.
    pub fn rot(&mut self, object: &ObjectName) {
        self.core.store.rot(&key::object(object));
    }

    /// Bytes that are kept for the running snapshot though commands have changed them.
    #[must_use]
    pub fn snapshot_side_bytes(&self) -> usize {
        self.core.store.scan.as_ref().map_or(0, Scan::side_bytes)
    }
}

impl core::fmt::Debug for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("State").field("meta", &self.core.meta).field("records", &self.records()).finish()
    }
}

fn describe(core: &Core, object: ObjectName, header: &Header) -> Description {
    let (incarnation, explicit, waiting) = (header.incarnation, header.explicit, header.tickets);
    let root: Option<user::Root> =
        types::is_user(object.kind).then(|| crate::codec::decoded(&header.root).ok()).flatten();
    let guard = root.as_ref().map(|_| user::guard::of(core, incarnation)).unwrap_or_default();
    let user = root.map(|root| UserObject {
        version: root.version,
        is_busy: user::long::is_occupied(core, incarnation),
        quarantined: guard.quarantined,
        before: guard.before.map(|before| before.version),
        memory_bytes: u64::from(root.pages) * PAGE_BYTES as u64,
        failures: root.failures,
        last_failure: root.last_failure,
    });
    Description { object, incarnation, explicit, waiting, user }
}

fn perform(core: &mut Core, command: &Command) {
    if let Some(caller) = command.caller()
        && let Err(problem) = access::admit(core, &caller.principal)
    {
        return answer(core, caller, Err(caller.turned_away(problem)));
    }
    match command {
        Command::Call(call) => call::call(core, call),
        Command::Batch(batch) => call::batch(core, batch),
        Command::Create { caller, object, args } => call::create(core, caller, object, args),
        Command::Delete { caller, object, incarnation } => call::delete(core, caller, object, *incarnation),
        Command::OpenSession { caller, session } => open_session(core, caller, session),
        Command::CloseSession { caller, session } => close_session(core, caller, *session),
        Command::ExpireSession { session, generation } => {
            let is_silent = |open: Session| open.generation == *generation;
            if session::find(core, *session).is_ok_and(is_silent) {
                death::of_session(core, *session, true);
            }
        }
        Command::CancelTicket { caller, ticket } => cancel(core, caller.as_ref(), *ticket),
        Command::Tick => tick::pass(core),
        Command::Finish { space, begun } => user::long::finish(core, *space, *begun),
        Command::FeatureLevel(level) => raise_level(core, *level),
        Command::Migrate { caller, object, incarnation, to } => {
            let by = (caller, judged(core, caller, command));
            user::migrate(core, by, object, *incarnation, *to);
        }
        Command::Quarantine { caller, object, incarnation, reason } => {
            let by = (caller, judged(core, caller, command));
            user::quarantine(core, by, object, *incarnation, reason.as_deref());
        }
        Command::Import { caller, object, content } => {
            let by = (caller, judged(core, caller, command));
            export::import(core, by, object, content);
        }
        Command::Rollback { caller, object, incarnation, lose_commands } => {
            let by = (caller, judged(core, caller, command));
            user::rollback(core, by, object, *incarnation, *lose_commands);
        }
        of_types => perform_of_types(core, of_types),
    }
}

fn perform_of_types(core: &mut Core, command: &Command) {
    match command {
        Command::TypePiece { caller, hash, size, offset, bytes } => {
            let piece = types::Piece { hash: *hash, size: *size, offset: *offset, bytes };
            let result = judged(core, caller, command).and_then(|()| types::piece(core, &piece));
            answer(core, caller, result);
        }
        Command::TypePut { caller, name, module, source, description } => {
            let new = types::New { name, module: *module, source: source.as_deref(), description };
            let result = judged(core, caller, command).and_then(|()| match type_named(name) {
                Some(_) => Err(Problem::new(Slug::Exists, format!("`{name}` is a built-in type"))),
                None => types::put(core, &new),
            });
            answer(core, caller, result);
        }
        Command::TypeReady { kind, version } => types::ready(core, *kind, *version),
        Command::TypeDelete { caller, name, version } => {
            let result = judged(core, caller, command).and_then(|()| types::delete(core, name, *version));
            answer(core, caller, result);
        }
        Command::TypeRelease { caller, name, version } => {
            let result = judged(core, caller, command).and_then(|()| types::release(core, name, *version));
            answer(core, caller, result);
        }
        Command::TypeVerdict { kind, version, verdict } => types::verdict(core, *kind, *version, verdict),
        Command::Disagreed { object, incarnation, position } => {
            user::disagreed(core, object, *incarnation, *position);
        }
        Command::Access { caller, change } => {
            let done = judged(core, caller, command).and_then(|()| access::perform(core, caller, change));
            answer(core, caller, done);
        }
        _ => {}
    }
}

fn raise_level(core: &mut Core, level: u32) {
    core.meta.feature_level = core.meta.feature_level.max(level);
    placement::level_rose(core);
}

/// Whether a caller may give a command of which no copy is remembered.
fn judged(core: &Core, caller: &Caller, command: &Command) -> Result<(), Problem> {
    access::act_of(command).map_or(Ok(()), |act| access::judge(core, &caller.principal, &act))
}

/// Answers a request that is not remembered: repeating it has no further effect.
fn answer(core: &mut Core, caller: &Caller, result: Result<String, Problem>) {
    let position = core.meta.position;
    let outcome = match result {
        Ok(result) => Outcome::Done(result),
        Err(problem) => Outcome::Refused(Problem { position, ..problem }),
    };
    core.out.push(Effect::Answered { origin: caller.origin, outcome });
}

fn open_session(core: &mut Core, caller: &Caller, new: &NewSession) {
    let mark = core.mark();
    let opened = quota::judged(core, |core| session::open(core, new, &caller.principal.name));
    let result = opened.inspect_err(|_| core.rollback(mark)).map(|session| {
        Reply::new()
            .text("session", &new.id.to_string())
            .number("generation", u64::from(session.generation))
            .int("ttl_ms", session.ttl_ms)
            .finish()
    });
    answer(core, caller, result);
}

/// Only the principal that opened it closes a session, or whoever administers everything.
fn close_session(core: &mut Core, caller: &Caller, id: SessionId) {
    let result = session::find(core, id).and_then(|session| {
        let is_own = matches!(caller.identity, Identity::Session { session, .. } if session == id)
            && core.meta.feature_level < rights::LEVEL;
        if !is_own && session.principal != caller.principal.name && !administers(core, caller) {
            return Err(session::not_own());
        }
        death::of_session(core, id, false);
        Ok(Reply::new().flag("closed", true).finish())
    });
    answer(core, caller, result);
}

fn cancel(core: &mut Core, caller: Option<&Caller>, id: u64) {
    let result = match (ticket::waiting(core, id), core.read(&key::ticket_at(id))) {
        (Some((place, ticket)), _)
            if caller.is_some_and(|caller| may_end(core, caller, &ticket.principal))
                && user::long::keeps_waiting(core, &place) =>
        {
            Err(user::long::occupied())
        }
        (Some((_, ticket)), _) if caller.is_none_or(|caller| may_end(core, caller, &ticket.principal)) => {
            death::end_ticket(core, id, Why::Cancelled, true);
            Ok(Reply::new().flag("cancelled", true).finish())
        }
        (Some(_), _) => Err(Problem::new(Slug::Forbidden, "the ticket is another principal's")),
        (None, Some(TicketAt::Ended(reply))) => Err(already_ended(core, caller, &reply)),
        _ => Err(Problem::new(Slug::NoSuchTicket, "no call waits under this ticket")),
    };
    if let Some(caller) = caller {
        answer(core, caller, result);
    }
}

/// Whether rights are looked at, and the caller has that to everything. While access is open, what is whose still counts.
fn administers(core: &Core, caller: &Caller) -> bool {
    let is_root = caller.principal.authority == Authority::Root;
    is_root || core.access.closed && access::is_admin(core, &caller.principal)
}

/// Whether a caller may end a waiting call of that principal, and see how it has ended.
fn may_end(core: &Core, caller: &Caller, principal: &str) -> bool {
    caller.principal.name == principal || administers(core, caller)
}

/// The principal whose reply it is.
fn owner(core: &Core, reply: &ReplyRef) -> Option<String> {
    match reply {
        ReplyRef::Session(id, _) => session::find(core, *id).ok().map(|session| session.principal),
        ReplyRef::Key(principal, _) => Some(principal.clone()),
        ReplyRef::Nowhere => None,
    }
}

/// The refusal to cancel what has ended: with its result, which only its own caller may see.
fn already_ended(core: &Core, caller: Option<&Caller>, reply: &ReplyRef) -> Problem {
    let is_its = |caller: &Caller| owner(core, reply).is_some_and(|owner| may_end(core, caller, &owner));
    if !caller.is_none_or(is_its) {
        return Problem::new(Slug::Forbidden, "the ticket is another principal's");
    }
    let result = request::outcome(core, reply).map(|outcome| outcome.to_json());
    Problem { result, ..Problem::new(Slug::AlreadyGranted, "the call has ended before it was cancelled") }
}

impl State {
    /// Whether all records fit together: each can be read, each index leads to what it names and back, each count is
    /// right. Costs the whole state; loaders and tests ask.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn check(&self) -> Result<(), Malformed> {
        crate::check::sound(&self.core)
    }
}
