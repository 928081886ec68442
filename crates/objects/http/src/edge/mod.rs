//! The edge as a machine: requests of clients in, [`Request`]s to the core and responses out; answers of the core in,
//! responses out.

mod access;
mod admin;
mod ask;
mod backup;
mod open;
mod reply;
mod upload;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use base::{LogIndex, MonoTime};
use objects_replica::edge::{Answer, EventId, Request, edge_of, origin};
use objects_state::{Origin, Outcome, SessionId, SideEffect, Slug};

use crate::console;
use crate::guard;
use crate::message::{Fault, HttpRequest, HttpResponse, Note, unanswered};
use crate::namespace::Namespace;
use crate::presented::Presented;
use crate::route::{Route, Routed};
use crate::sse;
use crate::target::Target;
use open::{Open, Purpose, Requests};
use upload::{ASK_MS, Next, Upload};

/// How an edge is set up.
#[derive(Clone, Debug)]
pub struct EdgeConfig {
    /// The member.
    pub member: u64,
    /// The edge's own number in it.
    pub edge: u16,
    /// Whether calls create objects that do not exist (`objects.create-on-use`).
    pub create_on_use: bool,
    /// How long a call waits before it is answered by its ticket, unless it says otherwise, milliseconds.
    pub hold_ms: u64,
    /// Requests under way at this edge: beyond, 429 `rate`.
    pub under_way_max: usize,
    /// How often a stream in which nothing happens says that it is alive, milliseconds.
    pub alive_ms: u64,
    /// How often the core is told of sessions that open connections keep, milliseconds: less than a sixth of the shortest
    /// time to live.
    pub heard_ms: u64,
    /// Whether clients may call this server by any name. Otherwise by addresses and `localhost`.
    pub any_host: bool,
    /// The SHA-256 of the token that may do everything at this member, if there is one.
    pub root_token: Option<[u8; 32]>,
}

impl EdgeConfig {
    /// The defaults of an edge.
    #[must_use]
    pub const fn new(member: u64, edge: u16) -> Self {
        Self {
            member,
            edge,
            create_on_use: true,
            hold_ms: 30_000,
            under_way_max: 50_000,
            alive_ms: 1_000,
            heard_ms: 150,
            any_host: false,
            root_token: None,
        }
    }
}

/// The longest time to hold that a request may ask for, milliseconds.
pub(crate) const HOLD_MS_MAX: u64 = 600_000;
/// Modules that may be on their way at the same time.
const UPLOADS_MAX: usize = 4;

/// An upload that waits, and what is noted when it is done.
type Later = (Box<Upload>, Option<Box<str>>);

/// What goes to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say<K> {
    /// The response to its request.
    Respond(K, HttpResponse),
    /// More of a stream.
    Push(K, String),
    /// The stream ends.
    Finish(K),
    /// The client gets no more of what it is sent: its connection is closed, so that it does not take that for all.
    Abort(K),
    /// The snapshot whose last entry this is, or a newer one, is to be sent: see [`Edge::backup_begins`].
    Backup(K, LogIndex),
}

/// See the module. `K` names a request at the driver, as long as it is under way.
#[derive(Debug)]
pub struct Edge<K> {
    config: EdgeConfig,
    requests: Requests<K>,
    /// Where the leader listens, if that is known and elsewhere.
    leader: Option<Arc<str>>,
    /// Uploads that wait for their version, by when the core is asked again.
    later: BTreeMap<(MonoTime, K), Later>,
    asks: Vec<Request>,
    says: Vec<Say<K>>,
    notes: Vec<Note>,
    alive_at: MonoTime,
    heard_at: MonoTime,
    /// Clients that waited until then, of which the core has not been told.
    waited: Vec<(SessionId, MonoTime)>,
    is_stopping: bool,
}

impl<K: Copy + Ord + Hash> Edge<K> {
    /// An edge without requests.
    #[must_use]
    pub fn new(config: EdgeConfig) -> Self {
        Self {
            config,
            requests: Requests::default(),
            leader: None,
            later: BTreeMap::new(),
            asks: Vec::new(),
            says: Vec::new(),
            notes: Vec::new(),
            alive_at: MonoTime::ZERO,
            heard_at: MonoTime::ZERO,
            waited: Vec::new(),
            is_stopping: false,
        }
    }

    /// Where clients of the leader connect, for `Diwan-Leader`; `None` if it is not known, or this member leads.
    pub fn set_leader(&mut self, leader: Option<String>) {
        self.leader = leader.map(Arc::from);
    }

    /// A request has come. `random` fills bytes that nobody can guess.
    pub fn request(&mut self, key: K, request: &HttpRequest<'_>, random: &mut dyn FnMut(&mut [u8])) {
        if let Err(fault) = self.begin(key, request, random) {
            self.notes.extend(fault.note());
            self.says.push(Say::Respond(key, fault.response()));
        }
    }

    fn begin(
        &mut self,
        key: K,
        request: &HttpRequest<'_>,
        random: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Fault> {
        guard::check(request.fields, self.config.any_host)?;
        if let Some(page) = console::page(request.method, request.target) {
            self.says.push(Say::Respond(key, page));
            return Ok(());
        }
        let Target { path, namespace, query } = Target::parse(request.target)?;
        let Routed { route, user_type } = Routed::of(request.method, &path, namespace.as_ref())?;
        let presented = Presented::of(request.fields, request.certificate, self.config.root_token.as_ref())?;
        if let Some(response) = reply::at_once(&route, &query)? {
            self.says.push(Say::Respond(key, response));
            return Ok(());
        }
        if self.is_stopping {
            return Err(Fault::new(Slug::NoLeader, "the member stops"));
        }
        if self.requests.len() >= self.config.under_way_max {
            let detail = format!("{} requests are under way here", self.config.under_way_max);
            return Err(Fault::overloaded(&detail));
        }
        if matches!(route, Route::Upload(_)) && self.uploads() >= UPLOADS_MAX {
            return Err(Fault::overloaded(&format!("{UPLOADS_MAX} modules are on their way here")));
        }
        let origin = self.origin(self.requests.next());
        let asker =
            ask::Asker { config: &self.config, request, origin, random, presented, user_type, namespace };
        let asked = asker.ask(route, query)?;
        self.requests.insert(key, asked.purpose, asked.hold_ms, asked.noted);
        self.asks.push(asked.request);
        Ok(())
    }

    /// The core answers.
    pub fn answer(&mut self, answer: Answer, now: MonoTime) {
        match answer {
            Answer::Done { origin, position, outcome } => self.done(origin, position, outcome, now),
            Answer::Parked { origin, ticket, keeps } => {
                if let Some(number) = self.number(origin) {
                    if !self.is_to_tell() {
                        self.heard_at = now.plus_ms(self.config.heard_ms);
                    }
                    self.requests.parked(number, ticket, keeps, now);
                    self.end_holds(now);
                }
            }
            Answer::Backup { origin, index } => self.backup_is_there(origin, index),
            Answer::Watching { origin, id } => {
                if let Some(number) = self.number(origin) {
                    self.begin_stream(number, id, now);
                }
            }
            Answer::Event { origin, id, what } => {
                self.push(origin, |namespace| sse::event(id, &what, namespace));
            }
            Answer::EventsLost { origin } => self.push(origin, |_| sse::LOST.into()),
            Answer::WhoWasHeard { round } => self.tell_heard(Some(round), now),
        }
    }

    /// A request is answered, or a stream ends.
    fn done(&mut self, origin: Origin, position: u64, outcome: Outcome, now: MonoTime) {
        let Some(number) = self.number(origin) else { return };
        let is_stream = self.requests.is_stream(number);
        let Some(open) = self.requests.remove(number) else { return };
        self.note_refusal(&outcome);
        if matches!(open.purpose, Purpose::Backup { has_begun: true }) {
            return self.says.push(Say::Abort(open.key));
        }
        self.waited_until(now, open.keeps);
        if is_stream {
            self.says.push(Say::Push(open.key, sse::end(&outcome)));
            self.says.push(Say::Finish(open.key));
            return;
        }
        let Some((key, mut response)) = self.shown(open, outcome, now) else { return };
        (response.position, response.leader) = (Some(position), self.leader.clone());
        self.says.push(Say::Respond(key, response));
    }

    /// The response to a request that is answered; nothing if it is an upload that goes on.
    fn shown(&mut self, open: Open<K>, outcome: Outcome, now: MonoTime) -> Option<(K, HttpResponse)> {
        let upload = match open.purpose {
            Purpose::Upload(upload) => upload,
            purpose => {
                let response = reply::of(&purpose, outcome, &self.config);
                self.note(open.noted, response.status);
                return Some((open.key, response));
            }
        };
        match upload.answered(&outcome) {
            Next::Ask(upload) => self.go_on(open.key, upload, open.noted),
            Next::AskLater(upload) => {
                self.later.insert((now.plus_ms(ASK_MS), open.key), (upload, open.noted));
            }
            Next::Respond(response) => {
                self.note(open.noted, response.status);
                return Some((open.key, response));
            }
        }
        None
    }

    /// Something was done that is noted.
    fn note(&mut self, noted: Option<Box<str>>, status: u16) {
        if let Some(what) = noted.filter(|_| (200..300).contains(&status)) {
            self.notes.push(Note::Administered { what });
        }
    }

    fn note_refusal(&mut self, outcome: &Outcome) {
        if let Outcome::Refused(problem) = outcome
            && matches!(problem.slug, Slug::Unauthenticated | Slug::Forbidden)
        {
            let (slug, detail) = (problem.slug.name(), problem.detail.clone());
            self.notes.push(Note::Refused { slug, detail });
        }
    }

    fn uploads(&self) -> usize {
        self.requests.uploads() + self.later.len()
    }

    /// The next step of an upload.
    fn go_on(&mut self, key: K, upload: Box<Upload>, noted: Option<Box<str>>) {
        self.asks.push(upload.request(self.origin(self.requests.next())));
        self.requests.insert(key, Purpose::Upload(upload), None, noted);
    }

    fn begin_stream(&mut self, number: u64, id: EventId, now: MonoTime) {
        if self.requests.streams().is_empty() {
            self.alive_at = now.plus_ms(self.config.alive_ms);
        }
        if !self.is_to_tell() {
            self.heard_at = now;
        }
        self.requests.begun(number);
        if let Some(open) = self.requests.get(number) {
            self.says.push(Say::Respond(open.key, reply::stream()));
            self.says.push(Say::Push(open.key, sse::begin(id)));
        }
    }

    fn push(&mut self, origin: Origin, piece: impl FnOnce(Option<&Namespace>) -> String) {
        if let Some(open) = self.number(origin).and_then(|number| self.requests.get(number)) {
            let namespace = match &open.purpose {
                Purpose::Stream(_, namespace) => namespace.as_ref(),
                _ => None,
            };
            self.says.push(Say::Push(open.key, piece(namespace)));
        }
    }

    /// Nobody waits for the answer of this request any more.
    pub fn gone(&mut self, key: K) {
        if let Some(number) = self.requests.number_of(key) {
            self.requests.remove(number);
            self.asks.push(Request::Gone { origin: self.origin(number) });
        }
        self.later.retain(|(_, own), _| *own != key);
    }

    /// When [`Self::tick`] is due.
    #[must_use]
    pub fn deadline(&self) -> Option<MonoTime> {
        let streams = self.requests.streams();
        let alive = (!streams.is_empty()).then_some(self.alive_at);
        let heard = self.is_to_tell().then_some(self.heard_at);
        let later = self.later.keys().next().map(|(at, _)| *at);
        [self.requests.first_hold(), alive, heard, later].into_iter().flatten().min()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: MonoTime) {
        self.end_holds(now);
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, key), (upload, noted)) = entry.remove_entry();
            self.go_on(key, upload, noted);
        }
        if self.alive_at <= now {
            self.alive_at = now.plus_ms(self.config.alive_ms);
            for number in self.requests.streams().keys() {
                if let Some(open) = self.requests.get(*number) {
                    self.says.push(Say::Push(open.key, sse::ALIVE.into()));
                }
            }
        }
        if self.heard_at <= now && self.is_to_tell() {
            self.tell_heard(None, now);
        }
    }

    /// Whether the core should be told of sessions.
    fn is_to_tell(&self) -> bool {
        self.requests.keeps_any() || !self.waited.is_empty()
    }

    /// A client that waited is answered: its session's time begins to pass now, not when the core was told last.
    fn waited_until(&mut self, now: MonoTime, session: Option<SessionId>) {
        self.waited.extend(session.map(|session| (session, now)));
    }

    /// Answers those that have waited long enough by their tickets.
    fn end_holds(&mut self, now: MonoTime) {
        while let Some(number) = self.requests.held(now) {
            if let Some(session) = self.answer_by_ticket(number) {
                self.waited_until(now, Some(session));
            }
        }
    }

    /// Gives the session that the request has kept until now.
    fn answer_by_ticket(&mut self, number: u64) -> Option<SessionId> {
        let open = self.requests.remove(number)?;
        self.asks.push(Request::Gone { origin: self.origin(number) });
        self.says.push(Say::Respond(open.key, reply::ticket(&open)));
        open.keeps
    }

    fn tell_heard(&mut self, round: Option<u64>, now: MonoTime) {
        self.heard_at = now.plus_ms(self.config.heard_ms);
        let kept = self.requests.kept();
        let waited = self.waited.drain(..).filter(|(session, _)| !kept.contains(session));
        let sessions = waited.chain(kept.iter().map(|session| (*session, now))).collect();
        self.asks.push(Request::Heard { edge: self.config.edge, round, sessions });
    }

    /// The member stops: every request is answered as well as can be, and every stream ends.
    pub fn stop(&mut self) {
        self.is_stopping = true;
        for ((_, key), _) in core::mem::take(&mut self.later) {
            self.says.push(Say::Respond(key, Fault::new(Slug::NoLeader, "the member stops").response()));
        }
        for number in self.requests.all() {
            let Some(open) = self.requests.get(number) else { continue };
            if open.hold_ms.is_some() && open.ticket.is_some() {
                self.answer_by_ticket(number);
                continue;
            }
            let is_stream = self.requests.is_stream(number);
            let Some(open) = self.requests.remove(number) else { continue };
            self.asks.push(Request::Gone { origin: self.origin(number) });
            self.says.push(match open.purpose {
                Purpose::Stream(..) if is_stream => Say::Finish(open.key),
                Purpose::Backup { has_begun: true } => Say::Abort(open.key),
                Purpose::Backup { .. }
                | Purpose::Stream(..)
                | Purpose::Reading
                | Purpose::ReadingIn(_)
                | Purpose::Groups
                | Purpose::Ready
                | Purpose::Types
                | Purpose::OpenApi(_) => {
                    Say::Respond(open.key, Fault::new(Slug::NoLeader, "the member stops").response())
                }
                _ => {
                    let detail = "the member stops before the command was answered";
                    Say::Respond(open.key, unanswered(Slug::OutcomeUnknown, detail, SideEffect::Unknown))
                }
            });
        }
    }

    /// The core has ended, and another may begin: nobody answers what it was asked. As [`Self::stop`], but requests that come
    /// later are taken.
    pub fn core_ended(&mut self) {
        self.leader = None;
        let is_stopping = self.is_stopping;
        self.stop();
        self.is_stopping = is_stopping;
    }

    /// Appends what the core is to be asked.
    pub fn take_asks(&mut self, into: &mut Vec<Request>) {
        append(&mut self.asks, into);
    }

    /// Appends what clients are to be told, in order.
    pub fn take_says(&mut self, into: &mut Vec<Say<K>>) {
        append(&mut self.says, into);
    }

    /// Appends what is to be noted, in order.
    pub fn take_notes(&mut self, into: &mut Vec<Note>) {
        into.append(&mut self.notes);
    }

    /// Requests under way, streams among them.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.requests.len() + self.later.len()
    }

    const fn origin(&self, number: u64) -> Origin {
        origin(self.config.member, self.config.edge, number)
    }

    /// The number of a request of this edge.
    fn number(&self, from: Origin) -> Option<u64> {
        let number = from.number & ((1 << 48) - 1);
        (edge_of(from) == self.config.edge && from.member == self.config.member).then_some(number)
    }
}

/// Most callers have nothing yet: then they get the list itself for theirs.
fn append<T>(from: &mut Vec<T>, into: &mut Vec<T>) {
    if into.is_empty() {
        core::mem::swap(from, into);
    } else {
        into.append(from);
    }
}
