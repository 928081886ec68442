//! Requests of clients as questions and commands for the core.

use std::borrow::Cow;

use objects_replica::edge::{Consistency, Question, Request, SessionProof, Subject, UNKNOWN_TYPE};
use objects_state::{
    AccessChange, Batch, Call, Caller, Command, Identity, Invocation, Json, Method, MethodKind, NewSession,
    ObjectName, Origin, Ranges, SessionId, Slug, TypeId, limits, methods,
};

use super::open::Purpose;
use super::upload::Upload;
use super::{EdgeConfig, HOLD_MS_MAX};
use crate::arguments;
use crate::fields::{self, Credential, SECRET_BYTES, Sender};
use crate::message::{Fault, HttpRequest};
use crate::namespace::Namespace;
use crate::presented::Presented;
use crate::route::{Route, kind};
use crate::schema;
use crate::target::Query;

/// The time to live of a session whose client does not say one, milliseconds.
const TTL_MS: i64 = 10_000;
/// Objects of a list whose client does not say how many it wants, and the most.
const LISTED: (u64, u64) = (100, 1_000);
/// What is asked of the core for a request, and how it is answered.
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) purpose: Purpose,
    pub(super) hold_ms: Option<u64>,
    /// What is noted when it has been done.
    pub(super) noted: Option<Box<str>>,
}

/// See the module.
pub(super) struct Asker<'a> {
    pub(super) config: &'a EdgeConfig,
    pub(super) request: &'a HttpRequest<'a>,
    pub(super) origin: Origin,
    pub(super) random: &'a mut dyn FnMut(&mut [u8]),
    /// Who asks.
    pub(super) presented: Presented,
    /// The type that is meant, if the core alone knows its number.
    pub(super) user_type: Option<String>,
    pub(super) namespace: Option<Namespace>,
}

impl Asker<'_> {
    pub(super) fn ask(mut self, route: Route<'_>, query: Query<'_>) -> Result<Asked, Fault> {
        if let Route::Upload(name) = route {
            query.end()?;
            Sender::read(self.request.fields)?;
            return self.upload(name);
        }
        let noted = route.administers().then(|| self.noted());
        let freshness = if self.user_type.is_some() { freshness(&mut query.clone())? } else { LATEST };
        let mut asked = self.ask_core(route, query)?;
        asked.noted = noted;
        if let Some(type_name) = self.user_type.take() {
            let (consistency, min_position) = freshness;
            let (request, is_bytes) = (Box::new(asked.request), fields::is_bytes(self.request.fields)?);
            asked.request = Request::OfType { type_name, request, consistency, min_position, is_bytes };
        }
        if matches!(self.presented, Presented::Token(_)) {
            asked.request = self.presented.wrap(asked.request);
        }
        Ok(asked)
    }

    /// Who does what, without the query: there may be anything in it.
    fn noted(&self) -> Box<str> {
        let path = self.request.target.split('?').next().unwrap_or_default();
        format!("{} {} {path}", self.presented.who(), self.request.method).into()
    }

    #[expect(clippy::too_many_lines, reason = "a list: an arm for each route")]
    fn ask_core(&mut self, route: Route<'_>, mut query: Query<'_>) -> Result<Asked, Fault> {
        fields::check_codec(self.request.fields)?;
        let sender = Sender::read(self.request.fields)?;
        let asked = match route {
            Route::Call(object, method) => self.call(&sender, object, method, &mut query),
            Route::Query(object, method) if object.kind == UNKNOWN_TYPE => {
                return self.user_query(&sender, object, method, query);
            }
            Route::Query(object, method) => return self.query(&sender, object, method, query),
            Route::Batch(object) => self.batch(&sender, object),
            Route::Create(object) => self.create(&sender, object),
            Route::Delete(object) => self.delete(&sender, object),
            Route::Describe(object) => {
                let asked = self.read(&sender, Question::Describe(object), &mut query)?;
                Ok(self.in_namespace(asked))
            }
            Route::List => {
                let asked = self.list(&sender, &mut query)?;
                Ok(self.in_namespace(asked))
            }
            Route::Waits => {
                let asked = self.waits(&sender, &mut query)?;
                Ok(self.in_namespace(asked))
            }
            Route::ObjectEvents(object) if follows(&mut query)? => self.watch(Subject::Object(object), None),
            Route::ObjectEvents(object) => {
                let after = query.take("after").map(|id| fields::event_id("after", &id)).transpose()?;
                let asked = self.read(&sender, Question::History { object, after }, &mut query)?;
                Ok(self.in_namespace(asked))
            }
            Route::SessionEvents(session) => {
                let keeps = keeps(&mut query)?;
                self.watch(Subject::Session(sender.proof_of(session)?), keeps.then_some(session))
            }
            Route::Collect(ticket) => self.collect(&sender, ticket, &mut query),
            Route::Cancel(ticket) => Ok(self.command(
                |caller| Command::CancelTicket { caller: Some(caller), ticket },
                Identity::Anonymous,
                None,
                Purpose::Command,
            )),
            Route::OpenSession => self.open_session(&sender),
            Route::ShowSession(session) => {
                sender.proof_of(session)?;
                self.read(&sender, Question::Session(session), &mut query)
            }
            Route::CloseSession(session) => self.close_session(&sender, session),
            Route::RenewSession(session) => {
                let proof = sender.proof_of(session)?;
                let (origin, principal) = (self.origin, self.presented.principal());
                Ok(plain(Request::Renew { origin, principal, proof }, Purpose::Command))
            }
            Route::Care(object, care) => self.care(&sender, care, object),
            Route::Types => {
                Ok(Asked { purpose: Purpose::Types, ..self.read(&sender, Question::Types, &mut query)? })
            }
            Route::OpenApi => {
                let purpose = Purpose::OpenApi(owned(query.take("type")));
                Ok(Asked { purpose, ..self.read(&sender, Question::Types, &mut query)? })
            }
            Route::UserType(name) => self.read(&sender, Question::Type(name), &mut query),
            Route::ShowVersion(name, version) => {
                self.read(&sender, Question::Version(name, version), &mut query)
            }
            Route::DeleteVersion(name, version) => Ok(self.command(
                |caller| Command::TypeDelete { caller, name, version },
                Identity::Anonymous,
                None,
                Purpose::Command,
            )),
            Route::ReleaseVersion(name, version) => Ok(self.command(
                |caller| Command::TypeRelease { caller, name, version },
                Identity::Anonymous,
                None,
                Purpose::Command,
            )),
            Route::Groups => Ok(self.counts(Question::Counts, Purpose::Groups)),
            Route::Ready => Ok(self.counts(Question::Ready, Purpose::Ready)),
            Route::Access => {
                let after = owned(query.take("after"));
                self.read(&sender, Question::Access { after }, &mut query)
            }
            Route::ChangeAccess(how) => self.change_access(how),
            Route::Backup => {
                let purpose = Purpose::Backup { has_begun: false };
                Ok(Asked { purpose, ..self.question(&sender, Question::Backup, LATEST) })
            }
            Route::Tokens => self.read(&sender, Question::Tokens, &mut query),
            Route::CreateToken => self.create_token(),
            Route::RevokeToken(number) => {
                Ok(self.access(AccessChange::RevokeToken { number }, Purpose::Command))
            }
            Route::RevokePrincipal(principal) => {
                Ok(self.access(AccessChange::RevokePrincipal { principal }, Purpose::Command))
            }
            // Answered at once.
            Route::Type(_) | Route::Live | Route::Upload(_) => Err(Fault::no_such_route()),
        }?;
        query.end()?;
        Ok(asked)
    }

    pub(super) fn command(
        &self,
        command: impl FnOnce(Caller) -> Command,
        identity: Identity,
        proof: Option<SessionProof>,
        purpose: Purpose,
    ) -> Asked {
        let caller = Caller { origin: self.origin, principal: self.presented.principal(), identity };
        let secret_hash = proof.map(|proof| proof.secret_hash);
        plain(Request::Command { command: command(caller), secret_hash }, purpose)
    }

    fn call(
        &mut self,
        sender: &Sender,
        object: ObjectName,
        method: &str,
        query: &mut Query<'_>,
    ) -> Result<Asked, Fault> {
        if object.kind == UNKNOWN_TYPE {
            return self.user_call(sender, object, method, query);
        }
        let method = method_of(&object, method)?;
        let wait_ms = query.take_number("wait_ms", u64::MAX >> 1)?;
        let hold_ms = query.take_number("hold_ms", HOLD_MS_MAX)?;
        let fields = arguments::body(self.request.body)?;
        let waits = match wait_ms {
            Some(ms) => ms > 0,
            None => arguments::integer(&fields, "wait_ms")?.is_some_and(|ms| ms > 0),
        };
        if method.kind == MethodKind::Query || (method.kind == MethodKind::Either && !waits) {
            return self.method(sender, object, method, self.request.body.to_vec(), query);
        }
        let identity = sender.identity()?;
        let opening = self.opening(sender, &object, method, &fields)?;
        // A ticket is of use only to a request that can be repeated: an anonymous one waits for its answer.
        let is_anonymous = identity == Identity::Anonymous;
        let hold_ms = (!is_anonymous).then(|| hold_ms.unwrap_or(self.config.hold_ms));
        let (purpose, opens) = match opening {
            Some((credential, new)) => (Purpose::Opening { credential, in_body: is_anonymous }, Some(new)),
            None => (Purpose::Command, None),
        };
        let (incarnation, create) = (fields::incarnation(self.request.fields)?, self.config.create_on_use);
        let invocation = Invocation { method: method.name.into(), args: self.request.body.to_vec() };
        let command =
            |caller| Command::Call(Call { caller, object, incarnation, create, wait_ms, opens, invocation });
        Ok(Asked { hold_ms, ..self.command(command, identity, sender.proof(), purpose) })
    }

    /// A call of an object of a user's type. Whether the method is a query the core knows.
    fn user_call(
        &self,
        sender: &Sender,
        object: ObjectName,
        method: &str,
        query: &mut Query<'_>,
    ) -> Result<Asked, Fault> {
        freshness(query)?;
        let wait_ms = query.take_number("wait_ms", u64::MAX >> 1)?;
        let hold_ms = query.take_number("hold_ms", HOLD_MS_MAX)?;
        // What a method takes the core knows.
        if !fields::is_bytes(self.request.fields)? {
            arguments::body(self.request.body)?;
        } else if self.request.body.len() > limits::ARGUMENT_BYTES_MAX {
            return Err(Fault::too_large(limits::ARGUMENT_BYTES_MAX));
        }
        let identity = sender.identity()?;
        let hold_ms = (identity != Identity::Anonymous).then(|| hold_ms.unwrap_or(self.config.hold_ms));
        let incarnation = fields::incarnation(self.request.fields)?;
        let invocation = Invocation { method: method.into(), args: self.request.body.to_vec() };
        let (create, opens) = (false, None);
        let command =
            |caller| Command::Call(Call { caller, object, incarnation, create, wait_ms, opens, invocation });
        Ok(Asked { hold_ms, ..self.command(command, identity, sender.proof(), Purpose::Command) })
    }

    fn user_query(
        &self,
        sender: &Sender,
        object: ObjectName,
        method: &str,
        mut query: Query<'_>,
    ) -> Result<Asked, Fault> {
        let freshness = freshness(&mut query)?;
        let args = arguments::of_user_query(query)?;
        let incarnation = fields::incarnation(self.request.fields)?;
        let method = Cow::Owned(method.into());
        let question = Question::Method { object, incarnation, create: false, method, args };
        Ok(self.question(sender, question, freshness))
    }

    /// A module, or a source for a runner. It is the same however often it comes, so it needs no key.
    fn upload(&self, name: String) -> Result<Asked, Fault> {
        let presented = self.presented.clone();
        let upload = match fields::is_module(self.request.fields, self.request.body)? {
            true => Upload::of_module(name, presented, self.request.body)?,
            false => Upload::of_source(name, presented, self.request.body)?,
        };
        let asked = plain(upload.request(self.origin), Purpose::Upload(Box::new(upload)));
        Ok(Asked { noted: Some(self.noted()), ..asked })
    }

    /// The session that a call opens: one with `ttl_ms` and without a session.
    fn opening(
        &mut self,
        sender: &Sender,
        object: &ObjectName,
        method: &Method,
        args: &[(String, Json)],
    ) -> Result<Option<(Credential, NewSession)>, Fault> {
        if !method.args.contains(&"ttl_ms") || !schema::opens_sessions(object.kind) {
            return Ok(None);
        }
        match arguments::integer(args, "ttl_ms")? {
            Some(ttl_ms) if sender.credential.is_none() => {
                let credential = self.draw();
                Ok(Some((credential, new_session(credential, ttl_ms, None)?)))
            }
            _ => Ok(None),
        }
    }

    fn draw(&mut self) -> Credential {
        let mut bytes = [0; 16 + SECRET_BYTES];
        (self.random)(&mut bytes);
        let (mut id, mut secret) = ([0; 16], [0; SECRET_BYTES]);
        id.copy_from_slice(&bytes[..16]);
        secret.copy_from_slice(&bytes[16..]);
        Credential { session: SessionId(id), secret }
    }

    fn query(
        &mut self,
        sender: &Sender,
        object: ObjectName,
        method: &str,
        mut query: Query<'_>,
    ) -> Result<Asked, Fault> {
        let method = method_of(&object, method)?;
        if !matches!(method.kind, MethodKind::Query | MethodKind::Either) {
            return Err(Fault::not_a_query());
        }
        if query.take("wait_ms").is_some_and(|ms| ms != "0") {
            return Err(Fault::argument("wait_ms", "a query does not wait: use POST"));
        }
        let freshness = freshness(&mut query)?;
        let args = arguments::of_query(object.kind, method, query)?;
        self.ask_method(sender, object, method, args, freshness)
    }

    fn method(
        &mut self,
        sender: &Sender,
        object: ObjectName,
        method: &Method,
        args: Vec<u8>,
        query: &mut Query<'_>,
    ) -> Result<Asked, Fault> {
        let freshness = freshness(query)?;
        self.ask_method(sender, object, method, args, freshness)
    }

    fn ask_method(
        &mut self,
        sender: &Sender,
        object: ObjectName,
        method: &Method,
        args: Vec<u8>,
        freshness: Freshness,
    ) -> Result<Asked, Fault> {
        let incarnation = fields::incarnation(self.request.fields)?;
        let (create, method) = (self.config.create_on_use, method.name.into());
        Ok(self.question(sender, Question::Method { object, incarnation, create, method, args }, freshness))
    }

    fn read(&self, sender: &Sender, question: Question, query: &mut Query<'_>) -> Result<Asked, Fault> {
        let freshness = freshness(query)?;
        Ok(self.question(sender, question, freshness))
    }

    pub(super) fn question(
        &self,
        sender: &Sender,
        question: Question,
        (consistency, min_position): Freshness,
    ) -> Asked {
        let (origin, principal, proof) = (self.origin, self.presented.principal(), sender.proof());
        let query = Request::Query { origin, principal, question, consistency, min_position, proof };
        plain(query, Purpose::Reading)
    }

    fn counts(&self, question: Question, purpose: Purpose) -> Asked {
        let request = Request::Query {
            origin: self.origin,
            principal: self.presented.principal(),
            question,
            consistency: Consistency::Stale,
            min_position: None,
            proof: None,
        };
        plain(request, purpose)
    }

    fn list(&mut self, sender: &Sender, query: &mut Query<'_>) -> Result<Asked, Fault> {
        let Page { kind, prefix, after, limit } = self.page(query)?;
        let question = match kind {
            Some(kind) => Question::List { kind, prefix, after, limit },
            None => Question::ListAll { prefix, after, limit },
        };
        self.read(sender, question, query)
    }

    fn waits(&mut self, sender: &Sender, query: &mut Query<'_>) -> Result<Asked, Fault> {
        let Page { kind, prefix, after, limit } = self.page(query)?;
        self.read(sender, Question::Waits { kind, prefix, after, limit }, query)
    }

    /// Which page of objects is asked for.
    fn page(&mut self, query: &mut Query<'_>) -> Result<Page, Fault> {
        let limit = query.take_number("limit", LISTED.1)?.unwrap_or(LISTED.0);
        let limit = u32::try_from(limit.max(1)).unwrap_or(u32::MAX);
        let prefix = self.whole(query.take("prefix").unwrap_or_default());
        let after = owned(query.take("after"));
        let Some(name) = owned(query.take("type")) else {
            let after = match &self.namespace {
                Some(namespace) => after.map(|after| namespace.whole_path(&after)),
                None => after,
            };
            return Ok(Page { kind: None, prefix, after, limit });
        };
        let kind = kind(&name)?;
        if kind == UNKNOWN_TYPE {
            self.user_type = Some(name);
        }
        Ok(Page { kind: Some(kind), prefix, after: after.map(|after| self.whole(after)), limit })
    }

    fn whole(&self, name: impl AsRef<str> + Into<String>) -> String {
        match &self.namespace {
            Some(namespace) => namespace.whole(name.as_ref()),
            None => name.into(),
        }
    }

    /// What is answered with names, which in a namespace are short.
    fn in_namespace(&self, asked: Asked) -> Asked {
        match &self.namespace {
            Some(namespace) => Asked { purpose: Purpose::ReadingIn(namespace.clone()), ..asked },
            None => asked,
        }
    }

    fn batch(&self, sender: &Sender, object: ObjectName) -> Result<Asked, Fault> {
        let invocations = arguments::batch(self.request.body)?;
        let (incarnation, create) = (fields::incarnation(self.request.fields)?, self.config.create_on_use);
        let command = |caller| Command::Batch(Batch { caller, object, incarnation, create, invocations });
        Ok(self.command(command, sender.identity()?, sender.proof(), Purpose::Command))
    }

    fn create(&self, sender: &Sender, object: ObjectName) -> Result<Asked, Fault> {
        arguments::body(self.request.body)?;
        let args = self.request.body.to_vec();
        let command = |caller| Command::Create { caller, object, args };
        Ok(self.command(command, sender.identity()?, sender.proof(), Purpose::Creation))
    }

    fn delete(&self, sender: &Sender, object: ObjectName) -> Result<Asked, Fault> {
        let incarnation = fields::incarnation(self.request.fields)?;
        let command = |caller| Command::Delete { caller, object, incarnation };
        Ok(self.command(command, sender.identity()?, sender.proof(), Purpose::Command))
    }

    fn collect(&self, sender: &Sender, ticket: u64, query: &mut Query<'_>) -> Result<Asked, Fault> {
        let hold_ms = query.take_number("hold_ms", HOLD_MS_MAX)?.unwrap_or(self.config.hold_ms);
        let (origin, principal, proof) = (self.origin, self.presented.principal(), sender.proof());
        let request = Request::Collect { origin, principal, ticket, proof };
        Ok(Asked { hold_ms: Some(hold_ms), ..plain(request, Purpose::Reading) })
    }

    fn watch(&self, subject: Subject, session: Option<SessionId>) -> Result<Asked, Fault> {
        let after = fields::last_event(self.request.fields)?;
        let (origin, principal) = (self.origin, self.presented.principal());
        let purpose = Purpose::Stream(session, self.namespace.clone());
        Ok(plain(Request::Watch { origin, principal, subject, after }, purpose))
    }

    /// A client may bring an id and a secret of its own, so that it can repeat the request.
    fn open_session(&mut self, sender: &Sender) -> Result<Asked, Fault> {
        let fields = arguments::body(self.request.body)?;
        arguments::only(&fields, &["ttl_ms", "name"])?;
        let ttl_ms = arguments::integer(&fields, "ttl_ms")?.unwrap_or(TTL_MS);
        let name = arguments::text(&fields, "name")?;
        let credential = sender.credential.unwrap_or_else(|| self.draw());
        let session = new_session(credential, ttl_ms, name)?;
        let command = |caller| Command::OpenSession { caller, session };
        Ok(self.command(command, Identity::Anonymous, None, Purpose::Session(credential)))
    }

    /// The answer is not remembered, so its number says nothing.
    fn close_session(&self, sender: &Sender, session: SessionId) -> Result<Asked, Fault> {
        let proof = sender.proof_of(session)?;
        let request = sender.request.unwrap_or(1);
        let identity = Identity::Session { session, request, acknowledged: 0, above: Ranges::new() };
        let command = |caller| Command::CloseSession { caller, session };
        Ok(self.command(command, identity, Some(proof), Purpose::Command))
    }
}

/// A page of objects.
struct Page {
    kind: Option<TypeId>,
    prefix: String,
    after: Option<String>,
    limit: u32,
}

/// On how fresh a state a query is evaluated, and not before which position.
pub(super) type Freshness = (Consistency, Option<u64>);

pub(super) const LATEST: Freshness = (Consistency::Linearizable, None);

fn freshness(query: &mut Query<'_>) -> Result<Freshness, Fault> {
    let consistency = match query.take("consistency").as_deref() {
        None | Some("linearizable") => Consistency::Linearizable,
        Some("stale") => Consistency::Stale,
        Some(_) => return Err(Fault::argument("consistency", "neither `linearizable` nor `stale`")),
    };
    Ok((consistency, query.take_number("min_position", 1 << 53)?))
}

fn owned(parameter: Option<Cow<'_, str>>) -> Option<String> {
    parameter.map(Cow::into_owned)
}

pub(super) const fn plain(request: Request, purpose: Purpose) -> Asked {
    Asked { request, purpose, hold_ms: None, noted: None }
}

/// Whether a session's stream keeps it. It would also if its client were stopped and read nothing: the kernel reads then.
fn keeps(query: &mut Query<'_>) -> Result<bool, Fault> {
    match query.take("keep").as_deref() {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(Fault::argument("keep", "neither `true` nor `false`")),
    }
}

/// Whether events are streamed as they come; otherwise those are answered that the member remembers.
fn follows(query: &mut Query<'_>) -> Result<bool, Fault> {
    match query.take("follow").as_deref() {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(Fault::argument("follow", "neither `true` nor `false`")),
    }
}

fn method_of(object: &ObjectName, name: &str) -> Result<&'static Method, Fault> {
    let method = methods(object.kind).iter().find(|method| method.name == name);
    method.ok_or_else(|| Fault::new(Slug::NoSuchMethod, format!("the type has no method `{name}`")))
}

fn new_session(credential: Credential, ttl_ms: i64, name: Option<String>) -> Result<NewSession, Fault> {
    if !(limits::SESSION_TTL_MS_MIN..=limits::SESSION_TTL_MS_MAX).contains(&ttl_ms) {
        let (least, most) = (limits::SESSION_TTL_MS_MIN, limits::SESSION_TTL_MS_MAX);
        return Err(Fault::argument("ttl_ms", format!("not between {least} and {most}")));
    }
    if name.as_ref().is_some_and(|name| name.len() > limits::KEY_BYTES_MAX) {
        return Err(Fault::argument("name", format!("longer than {} bytes", limits::KEY_BYTES_MAX)));
    }
    let proof = credential.proof();
    Ok(NewSession { id: proof.session, secret_hash: proof.secret_hash, generation: 1, ttl_ms, name })
}
