//! What edges say, and what of it waits for a fresher state.

use base::MonoTime;
use objects_state::limits::{BATCH_MAX, KEY_BYTES_MAX};
use objects_state::{
    AccessChange, Asked, Caller, Command, Identity, Origin, Outcome, Principal, Problem, Slug, State,
    TicketState, Tried,
};

use super::{ObjectsMachine, access, levels};
use crate::edge::{Answer, Consistency, Question, Request, SessionProof, Subject, origin_of};
use crate::group::Group;
use crate::history;
use crate::joined::Joined;
use crate::limits::JOINED_MAX;
use crate::of_type::{self, proof_of_caller};
use crate::query;
use crate::watches::Watched;
use crate::{ACCESS_LEVEL, CREATIONS_LEVEL, IMPORT_LEVEL, QUOTAS_LEVEL, USER_TYPES_LEVEL, VERDICTS_LEVEL};

/// What is known of a session that a request names.
enum Known {
    /// It is its client's, who is heard of by this. It lives so long without a word.
    Proven { ttl_ms: i64 },
    /// The secret is another.
    Wrong,
    /// The secret is right, the principal is another.
    Others,
    /// It is not known here: it ended, or was opened elsewhere a moment ago.
    Unknown,
}

impl ObjectsMachine {
    /// One message of an edge. Those of one edge come in the order in which it sent them.
    pub(crate) fn receive(&mut self, request: Request, has_lease: bool, state: &State, group: &mut Group) {
        match request {
            Request::Heard { edge, round, sessions } => {
                let condemned = self.sessions.edge_heard(edge, round, &sessions, state, group);
                self.expire(condemned);
            }
            Request::Gone { origin } => self.gone(origin, group),
            request if needs_commands(&request) && self.readiness.waits_for().is_some() => {
                let problem = self.readiness.waits_for().unwrap_or_else(no_leader);
                self.refuse(&request, problem);
            }
            request if has_lease && group.is_serving() => {
                let is_fresh = group.view().is_alone();
                let since = group.now().mono();
                self.take_in(request, since, (is_fresh, true), state, group);
            }
            request => self.refuse(&request, no_leader()),
        }
    }

    /// Everything is applied that was committed when it came.
    pub(super) fn free(&mut self, request: Request, since: MonoTime, state: &State, group: &mut Group) {
        self.take_in(request, since, (true, false), state, group);
    }

    /// `is_fresh`: whether the state holds all that was committed when the request came, which was at `since`: then its client was
    /// there, whatever became of it while the request has waited. `is_first`: it has not waited.
    fn take_in(
        &mut self,
        request: Request,
        since: MonoTime,
        (is_fresh, is_first): (bool, bool),
        state: &State,
        group: &mut Group,
    ) {
        // One that waits for its token or its type to be known has no principal, or no object, yet: it is counted behind that.
        let was_counted = !is_first && !matches!(request, Request::ByToken { .. } | Request::OfType { .. });
        let Some(mut request) = self.let_in(request, since, is_fresh, state, group) else { return };
        if !was_counted && let Err(problem) = self.rates.take(&request, state, group.now().mono()) {
            self.hear(&request, state, since);
            return self.refuse(&request, problem);
        }
        if let Err(problem) = access::judge(&request, state) {
            return match is_fresh || is_stale(&request) {
                true => self.refuse(&request, problem),
                false => self.wait(request, since, group),
            };
        }
        levels::make_readable_by_all(&mut request, state);
        let Some(proof) = proof_of(&request) else {
            return self.carry_out(request, since, is_fresh, state, group);
        };
        match known(proof, &request, state) {
            Known::Proven { ttl_ms } => {
                self.sessions.hear(proof.session, ttl_ms, since);
                self.carry_out(request, since, is_fresh, state, group);
            }
            Known::Wrong => self.refuse(&request, unauthenticated()),
            Known::Others => self.refuse(&request, not_own()),
            // A query that is to be answered at once needs no session.
            Known::Unknown if is_stale(&request) => self.carry_out(request, since, is_fresh, state, group),
            Known::Unknown if !is_fresh => self.wait(request, since, group),
            Known::Unknown => {
                let expired = Problem::new(Slug::SessionExpired, "there is no such session");
                self.refuse(&request, expired);
            }
        }
    }

    /// The client of a request that is one too many, in another form, or has to wait, is there all the same: it keeps its session.
    fn hear(&mut self, request: &Request, state: &State, at: MonoTime) {
        let proof = proof_of(request).filter(|_| access::judge(request, state).is_ok());
        if let Some(proof) = proof
            && let Known::Proven { ttl_ms } = known(proof, request, state)
        {
            self.sessions.hear(proof.session, ttl_ms, at);
        }
    }

    /// A request under its principal's name, of a type that is known. Otherwise it waits, or is refused.
    fn let_in(
        &mut self,
        mut request: Request,
        since: MonoTime,
        is_fresh: bool,
        state: &State,
        group: &mut Group,
    ) -> Option<Request> {
        let waits_for = position_ahead(&request, state);
        let is_final = is_fresh || is_stale(&request);
        // Before anything is looked up: a stranger does not learn which types there are.
        if let Err(problem) = access::admit(&mut request, state) {
            match waits_for {
                Some(position) => self.wait_as_stranger(position, request, since),
                None if is_final => self.refuse(&request, problem),
                None => self.wait(request, since, group),
            }
            return None;
        }
        let is_known = of_type::find(&mut request, state);
        if is_known && !is_final && of_type::may_be_a_query(&request, state) {
            self.hear(&request, state, since);
            self.wait(request, since, group);
            return None;
        }
        if is_known {
            return match of_type::check_codec(&request, state) {
                Ok(()) => {
                    of_type::unfold(&mut request, state);
                    Some(request)
                }
                Err(problem) => {
                    self.hear(&request, state, since);
                    self.refuse(&request, problem);
                    None
                }
            };
        }
        match waits_for {
            Some(position) => self.wait_for(position, request, since),
            None if is_final => self.refuse(&request, no_such_type(&request)),
            None => self.wait(request, since, group),
        }
        None
    }

    /// Does what a request asks whose session, if it names one, is its own.
    fn carry_out(
        &mut self,
        request: Request,
        since: MonoTime,
        is_fresh: bool,
        state: &State,
        group: &mut Group,
    ) {
        match request {
            Request::Command { command, .. } if state.feature_level() < level_of(&command) => {
                if let Some(caller) = command.caller() {
                    self.out.refuse(caller.origin, older_builds());
                }
            }
            Request::Command { command, secret_hash } => self.command(&command, secret_hash, group),
            Request::Query { consistency: Consistency::Linearizable, .. } if !is_fresh => {
                self.wait(request, since, group);
            }
            Request::Query { min_position, .. } => match min_position {
                Some(position) if position > state.position() => self.wait_for(position, request, since),
                _ => self.answer_query(&request, state, group.now().mono()),
            },
            // A token that is over by now is told nothing, not even that the ticket still waits.
            Request::Collect { .. } if !is_fresh => self.wait(request, since, group),
            Request::Collect { origin, ref principal, ticket, proof } => {
                if let Err(problem) = self.collect(origin, principal, ticket, proof, state) {
                    self.out.refuse(origin, problem);
                }
            }
            Request::Renew { origin, proof, .. } => {
                if let Some(session) = state.session(proof.session) {
                    self.out.done(origin, Outcome::Done(query::renewed(proof.session, &session)));
                }
            }
            Request::Watch { origin, principal, subject, after } => {
                let watched = match subject {
                    Subject::Object(name) => Watched::Object(name),
                    Subject::Session(proof) => Watched::Session(proof.session),
                };
                if !self.watches.begin(origin, principal, watched, after, &mut self.out) {
                    self.out.refuse(origin, too_many("watches are open"));
                }
            }
            Request::Heard { .. }
            | Request::Gone { .. }
            | Request::OfType { .. }
            | Request::ByToken { .. } => {}
        }
    }

    /// A caller's command waits for its place in the log, if it may have one.
    fn command(&mut self, command: &Command, secret_hash: Option<[u8; 32]>, group: &Group) {
        let Some(caller) = command.caller() else { return };
        let origin = caller.origin;
        let taken = match check(command, caller, secret_hash.is_some()) {
            Ok(()) if self.joined.len() + self.commands.waiting() >= JOINED_MAX => {
                Err(too_many("requests wait at this member"))
            }
            Ok(()) => self.commands.take(command, origin, is_repeatable(command, caller), group.now()),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = taken {
            self.out.refuse(origin, problem);
        }
    }

    /// Waits until everything is applied that is committed now.
    fn wait(&mut self, request: Request, since: MonoTime, group: &mut Group) {
        if self.waiting.has_room() {
            let number = self.waiting.push(request, since);
            group.wait(number);
        } else {
            self.refuse(&request, too_many("requests wait for the leader"));
        }
    }

    /// A query for which the state has the position that it waits for. Whoever asks may have come to a right with it.
    pub(super) fn reached(&mut self, mut request: Request, state: &State, now: MonoTime) {
        if let Err(problem) = access::admit(&mut request, state) {
            return self.refuse(&request, problem);
        }
        if !of_type::find(&mut request, state) {
            return self.refuse(&request, no_such_type(&request));
        }
        of_type::unfold(&mut request, state);
        // A client was heard of when its query came, if its session was known then.
        match proof_of(&request).map(|proof| known(proof, &request, state)) {
            Some(Known::Wrong) => self.refuse(&request, unauthenticated()),
            Some(Known::Others) => self.refuse(&request, not_own()),
            Some(Known::Proven { .. } | Known::Unknown) | None => self.answer_query(&request, state, now),
        }
    }

    /// Whoever asks does not get in by the state of now, and names a later one.
    fn wait_as_stranger(&mut self, position: u64, request: Request, since: MonoTime) {
        if self.waiting.has_room_for_stranger() {
            self.waiting.push_stranger(position, request, since);
        } else {
            self.refuse(&request, too_many("requests of strangers wait for a position"));
        }
    }

    fn wait_for(&mut self, position: u64, request: Request, since: MonoTime) {
        if self.waiting.has_room() {
            self.waiting.push_for(position, request, since);
        } else {
            self.refuse(&request, too_many("requests wait for a position"));
        }
    }

    pub(super) fn answer_query(&mut self, request: &Request, state: &State, now: MonoTime) {
        let Request::Query { origin, principal, question, .. } = request else { return };
        let begun = query::judge(state, principal, question).and_then(|()| match question {
            Question::Backup => self.backups.begin(*origin, principal, now),
            question => self.begin_query(*origin, (principal, question), state),
        });
        if let Err(problem) = begun {
            self.out.refuse(*origin, problem);
        }
    }

    /// Answers it. What may take long goes on in the background.
    fn begin_query(
        &mut self,
        origin: Origin,
        (principal, question): (&Principal, &Question),
        state: &State,
    ) -> Result<(), Problem> {
        match question {
            Question::Method { object, incarnation, create, method, args } => {
                match state.begin_query(object, *incarnation, *create, method, args)? {
                    Asked::Answered(result) => self.out.done(origin, Outcome::Done(result)),
                    Asked::UnderWay { number, gives_bytes } => {
                        self.long_queries.begun(number, origin, (state.position(), gives_bytes));
                    }
                }
            }
            Question::TryMigration { object, incarnation, to } => {
                match state.begin_trial(object, *incarnation, *to)? {
                    Tried::Done(result) => self.out.done(origin, Outcome::Done(result)),
                    Tried::UnderWay(number, trial) => self.long_queries.tried(number, origin, trial),
                }
            }
            Question::Waits { .. } => {
                let when = |position| self.moments.at(position);
                let page = query::waits(state, question, &when)?;
                self.out.done(origin, Outcome::Done(page));
            }
            Question::History { object, after } => {
                let page = history::page(state, &self.watches, object, *after);
                self.out.done(origin, Outcome::Done(page));
            }
            _ => self.out.done(origin, query::answer(state, &self.members, principal, question)),
        }
        Ok(())
    }

    fn collect(
        &mut self,
        origin: Origin,
        principal: &Principal,
        ticket: u64,
        proof: Option<SessionProof>,
        state: &State,
    ) -> Result<(), Problem> {
        let known = state.ticket(ticket);
        let known =
            known.ok_or_else(|| Problem::new(Slug::NoSuchTicket, "no call waits under this ticket"))?;
        let administers = state.administers(principal);
        match known {
            TicketState::Waits { principal: own, session, .. } if own == principal.name || administers => {
                if self.joined.len() >= JOINED_MAX {
                    self.out.refuse(origin, too_many("requests wait at this member"));
                } else {
                    let keeps = session.filter(|id| proof.is_some_and(|proof| proof.session == *id));
                    self.out.tell(origin, Answer::Parked { origin, ticket, keeps });
                    let (authority, is_others) = (principal.authority, own != principal.name);
                    self.joined.join(ticket, Joined { origin, is_anonymous: false, authority, is_others });
                }
            }
            TicketState::Ended { principal: own, outcome } if own == principal.name || administers => {
                self.out.done(origin, outcome);
            }
            _ => {
                let forbidden = Problem::new(Slug::Forbidden, "the ticket is another principal's");
                self.out.refuse(origin, forbidden);
            }
        }
        Ok(())
    }

    /// The caller of a request has gone.
    fn gone(&mut self, origin: Origin, group: &Group) {
        if self.waiting.drop_of(origin) || self.backups.leave(origin, group.now().mono()) {
            return;
        }
        if self.watches.end(origin) || self.commands.drop_resting(origin) || self.long_queries.leave(origin) {
            return;
        }
        match self.joined.leave(origin) {
            Some((ticket, true)) => {
                self.commands.take_own(&Command::CancelTicket { caller: None, ticket }, group.now());
            }
            Some((_, false)) => {}
            None if self.commands.waiting() > 0 => {
                self.gone.insert(origin, self.commands.sequences().1);
            }
            None => {}
        }
    }

    /// Refuses a request: it has no effect.
    pub(super) fn refuse(&mut self, request: &Request, problem: Problem) {
        if let Some(origin) = origin_of(request) {
            self.out.refuse(origin, problem);
        }
    }
}

/// Whether the secret is the session's, and the session that of whoever asks.
fn known(proof: SessionProof, request: &Request, state: &State) -> Known {
    let is_own = |principal: &str| request.principal().is_some_and(|own| own.name == principal);
    match state.session(proof.session) {
        None => Known::Unknown,
        Some(session) if session.secret_hash != proof.secret_hash => Known::Wrong,
        Some(session) if !is_own(&session.principal) && state.feature_level() >= ACCESS_LEVEL => {
            Known::Others
        }
        Some(session) => Known::Proven { ttl_ms: session.ttl_ms },
    }
}

/// The session in whose name a request comes.
fn proof_of(request: &Request) -> Option<SessionProof> {
    match request {
        Request::Command { command, secret_hash } => proof_of_caller(command.caller()?, *secret_hash),
        Request::Query { proof, .. } | Request::Collect { proof, .. } => *proof,
        Request::Renew { proof, .. } | Request::Watch { subject: Subject::Session(proof), .. } => {
            Some(*proof)
        }
        Request::OfType { request, .. } => proof_of(request),
        _ => None,
    }
}

fn is_stale(request: &Request) -> bool {
    match request {
        Request::Query { consistency, .. } => *consistency == Consistency::Stale,
        Request::OfType { request, .. } | Request::ByToken { request, .. } => is_stale(request),
        _ => false,
    }
}

/// The position that a stale query waits for, if the state does not have it yet.
fn position_ahead(request: &Request, state: &State) -> Option<u64> {
    match request {
        Request::Query { consistency: Consistency::Stale, min_position, .. } => {
            min_position.filter(|position| *position > state.position())
        }
        Request::OfType { request, .. } | Request::ByToken { request, .. } => position_ahead(request, state),
        _ => None,
    }
}

/// Whether it cannot be answered while this member applies nothing.
fn needs_commands(request: &Request) -> bool {
    match request {
        Request::Command { .. } | Request::Collect { .. } => true,
        Request::Query { consistency, question, .. } => {
            let runs = matches!(
                question,
                Question::Method { .. } | Question::TryMigration { .. } | Question::Export { .. }
            );
            runs || *consistency == Consistency::Linearizable
        }
        Request::OfType { request, .. } | Request::ByToken { request, .. } => needs_commands(request),
        Request::Renew { .. } | Request::Heard { .. } | Request::Watch { .. } | Request::Gone { .. } => false,
    }
}

/// Builds before that level cannot read it.
const fn level_of(command: &Command) -> u32 {
    match command {
        Command::TypePiece { .. }
        | Command::TypePut { .. }
        | Command::TypeDelete { .. }
        | Command::Migrate { .. } => USER_TYPES_LEVEL,
        Command::Quarantine { .. } | Command::Rollback { .. } => VERDICTS_LEVEL,
        Command::Access {
            change: AccessChange::Quota { .. } | AccessChange::Role { .. } | AccessChange::Roles { .. },
            ..
        } => QUOTAS_LEVEL,
        Command::Access { .. } => ACCESS_LEVEL,
        Command::Import { .. } => IMPORT_LEVEL,
        Command::TypeRelease { .. } => CREATIONS_LEVEL,
        _ => 0,
    }
}

fn older_builds() -> Problem {
    let detail = "a member's build knows nothing of this: upgrade all members first";
    Problem { retry_after_ms: Some(1_000), ..Problem::new(Slug::TypeNotReady, detail) }
}

fn no_such_type(request: &Request) -> Problem {
    let name = match request {
        Request::OfType { type_name, .. } => type_name.as_str(),
        _ => "",
    };
    Problem::new(Slug::NoSuchType, format!("there is no type `{name}`"))
}

/// What would not come back from the log as it is must not come into it.
fn check(command: &Command, caller: &Caller, has_secret: bool) -> Result<(), Problem> {
    let is_key_long = matches!(&caller.identity, Identity::Key(key) if key.len() > KEY_BYTES_MAX);
    if caller.principal.name.len() > KEY_BYTES_MAX || is_key_long {
        let detail = format!("a principal and an idempotency key have {KEY_BYTES_MAX} bytes at the most");
        return Err(Problem::new(Slug::BadArgument, detail));
    }
    if let Command::Batch(batch) = command
        && !(1..=BATCH_MAX).contains(&batch.invocations.len())
    {
        return Err(Problem::new(Slug::BadArgument, format!("a batch has 1 to {BATCH_MAX} calls")));
    }
    if matches!(command, Command::Access { .. }) && !comes_back(command) {
        let detail = format!(
            "a name has {KEY_BYTES_MAX} bytes at the most; or there are more rights than a principal may have"
        );
        return Err(Problem::new(Slug::BadArgument, detail));
    }
    if matches!(caller.identity, Identity::Session { .. }) && !has_secret {
        return Err(unauthenticated());
    }
    Ok(())
}

/// Whether it can be read when it comes back from the log. A change of access has names that were not looked at yet.
fn comes_back(command: &Command) -> bool {
    let mut bytes = Vec::new();
    command.encode(&mut bytes);
    Command::decode(&bytes).is_ok()
}

/// Whether a command may come twice under two numbers: the state remembers it by its identity, or it changes nothing the
/// second time.
const fn is_repeatable(command: &Command, caller: &Caller) -> bool {
    match command {
        Command::Call(_)
        | Command::Batch(_)
        | Command::Create { .. }
        | Command::Delete { .. }
        | Command::Rollback { .. }
        | Command::Import { .. }
        | Command::Migrate { .. } => !matches!(caller.identity, Identity::Anonymous),
        Command::OpenSession { .. }
        | Command::TypePiece { .. }
        | Command::TypePut { .. }
        | Command::Quarantine { .. }
        | Command::Access { .. } => true,
        _ => false,
    }
}

pub(super) fn no_leader() -> Problem {
    Problem::new(Slug::NoLeader, "this member has no lease from a leader")
}

fn unauthenticated() -> Problem {
    Problem::new(Slug::Unauthenticated, "the session's secret is another")
}

fn not_own() -> Problem {
    Problem::new(Slug::Forbidden, "the session is another principal's")
}

fn too_many(what: &str) -> Problem {
    Problem { retry_after_ms: Some(100), ..Problem::new(Slug::Rate, format!("too many {what}")) }
}
