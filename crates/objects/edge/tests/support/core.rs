//! The core of a member that is alone and keeps nothing: commands take effect as they come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::{LogIndex, Now};
use net_http_server::{RequestId, ShardMail};
use node_threads::{Clock, Mailbox, ThreadWaker};
use objects_edge::{Core, EdgeMail};
use objects_replica::edge::{Answer, EventId, Happening, Question, Request, SessionProof, Subject, edge_of};
use objects_state::{
    Command, Description, Effect, Identity, Origin, Outcome, Problem, Reply, SessionId, Slug, State,
    TicketState, type_name,
};

/// See the module.
pub struct FakeCore {
    mailbox: Arc<Mailbox<Request>>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The way to it.
#[derive(Clone)]
pub struct Link(Arc<Mailbox<Request>>);

impl Core for Link {
    fn ask(&mut self, requests: &mut Vec<Request>) {
        self.0.put_all(requests);
    }

    fn begin_backup(&mut self, _: RequestId, _: LogIndex) {}

    fn end_backup(&mut self, _: RequestId) {}
}

impl FakeCore {
    pub fn start(shards: Vec<ShardMail<EdgeMail>>, clock: Clock) -> Self {
        let waker = ThreadWaker::of_parking();
        let mailbox = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let stopping = Arc::new(AtomicBool::new(false));
        let (requests, flag) = (Arc::clone(&mailbox), Arc::clone(&stopping));
        let thread = std::thread::Builder::new().name("fake-core".into()).spawn(move || {
            let mut member = Member::new(shards);
            while !flag.load(Ordering::SeqCst) {
                let timeout = member.timeout(clock.now());
                waker.park(Some(timeout), || !requests.is_empty());
                let mut batch = Vec::new();
                requests.take_all(&mut batch);
                member.turn(batch, clock.now());
            }
        });
        Self { mailbox, stopping, thread: Some(thread.expect("a thread")) }
    }

    pub fn link(&self) -> Link {
        Link(Arc::clone(&self.mailbox))
    }
}

impl Drop for FakeCore {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.mailbox.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Member {
    state: State,
    shards: Vec<ShardMail<EdgeMail>>,
    out: BTreeMap<u16, Vec<EdgeMail>>,
    /// Who waits for which ticket.
    waiting: BTreeMap<u64, Vec<Origin>>,
    /// Calls without session and key, which end with their connection.
    anonymous: BTreeSet<u64>,
    watches: BTreeMap<u64, (Origin, Subject)>,
    heard: BTreeMap<SessionId, u64>,
    effects: Vec<Effect>,
}

impl Member {
    fn new(shards: Vec<ShardMail<EdgeMail>>) -> Self {
        Self {
            state: State::new(),
            shards,
            out: BTreeMap::new(),
            waiting: BTreeMap::new(),
            anonymous: BTreeSet::new(),
            watches: BTreeMap::new(),
            heard: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    fn timeout(&self, now: Now) -> Duration {
        let due = self.state.next_deadline().map_or(50, |at| at.since(now.wall).clamp(1, 50));
        Duration::from_millis(due.cast_unsigned())
    }

    fn turn(&mut self, requests: Vec<Request>, now: Now) {
        requests.into_iter().for_each(|request| self.ask(request, now));
        if self.state.next_deadline().is_some_and(|at| at <= now.wall) {
            self.apply(&Command::Tick, now);
        }
        let silent = self.state.sessions().filter_map(|(id, session)| {
            let heard = self.heard.get(&id).copied().unwrap_or(0);
            let is_silent = now.mono().ms() > heard + session.ttl_ms.cast_unsigned();
            is_silent.then_some((id, session.generation))
        });
        let silent = silent.collect::<Vec<_>>();
        for (session, generation) in silent {
            self.apply(&Command::ExpireSession { session, generation }, now);
        }
        for (edge, mut mail) in std::mem::take(&mut self.out) {
            self.shards[usize::from(edge)].put_all(&mut mail);
        }
    }

    fn say(&mut self, origin: Origin, answer: Answer) {
        self.out.entry(edge_of(origin)).or_default().push(EdgeMail::Answer(answer));
    }

    fn done(&mut self, origin: Origin, outcome: Outcome) {
        let position = self.state.position();
        self.say(origin, Answer::Done { origin, position, outcome });
    }

    fn apply(&mut self, command: &Command, now: Now) {
        let mut effects = std::mem::take(&mut self.effects);
        self.state.apply(now.wall, command, &mut effects);
        let (position, mut ordinal) = (self.state.position(), 0);
        for effect in effects.drain(..) {
            match effect {
                Effect::Answered { origin, outcome } => self.done(origin, outcome),
                Effect::Parked { origin, ticket } => {
                    if command.caller().is_some_and(|caller| caller.identity == Identity::Anonymous) {
                        self.anonymous.insert(origin.number);
                    }
                    self.waiting.entry(ticket).or_default().push(origin);
                    let keeps = match self.state.ticket(ticket) {
                        Some(TicketState::Waits { session, .. }) => session,
                        _ => None,
                    };
                    self.say(origin, Answer::Parked { origin, ticket, keeps });
                }
                Effect::TicketEnded { ticket, outcome, .. } => {
                    for origin in self.waiting.remove(&ticket).unwrap_or_default() {
                        self.anonymous.remove(&origin.number);
                        self.done(origin, outcome.clone());
                    }
                }
                Effect::SessionOpened { session, .. } => {
                    self.heard.insert(session, now.mono().ms());
                }
                Effect::SessionEnded { session, expired } => {
                    self.heard.remove(&session);
                    self.tell(EventId { position, ordinal }, &Happening::SessionEnded { session, expired });
                    ordinal += 1;
                }
                Effect::Event(event) => {
                    self.tell(EventId { position, ordinal }, &Happening::Object(event));
                    ordinal += 1;
                }
            }
        }
        self.effects = effects;
    }

    fn tell(&mut self, id: EventId, what: &Happening) {
        let is_about = |subject: &Subject| match (subject, what) {
            (Subject::Object(name), Happening::Object(event)) => event.object == *name,
            (Subject::Session(proof), Happening::Object(event)) => event.session == Some(proof.session),
            (Subject::Session(proof), Happening::SessionEnded { session, .. }) => proof.session == *session,
            _ => false,
        };
        let told: Vec<_> =
            self.watches.values().filter(|(_, subject)| is_about(subject)).map(|(o, _)| *o).collect();
        for origin in told {
            self.say(origin, Answer::Event { origin, id, what: what.clone() });
            if matches!(what, Happening::SessionEnded { .. }) {
                self.watches.remove(&origin.number);
                self.done(origin, Outcome::Done("{}".into()));
            }
        }
    }

    /// Whether that session's secret is right.
    fn prove(&mut self, proof: SessionProof, now: Now) -> Result<(), Problem> {
        match self.state.session(proof.session) {
            None => Err(Problem::new(Slug::SessionExpired, "there is no such session")),
            Some(session) if session.secret_hash != proof.secret_hash => {
                Err(Problem::new(Slug::Forbidden, "the secret is not the session's"))
            }
            Some(_) => {
                self.heard.insert(proof.session, now.mono().ms());
                Ok(())
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "a list: an arm for each request")]
    fn ask(&mut self, request: Request, now: Now) {
        match request {
            Request::Command { command, secret_hash } => self.command(&command, secret_hash, now),
            Request::Query { origin, question, proof, .. } => {
                let proved = proof.map_or(Ok(()), |proof| self.prove(proof, now));
                let outcome = match proved.and_then(|()| self.question(question)) {
                    Ok(result) => Outcome::Done(result),
                    Err(problem) => Outcome::Refused(problem),
                };
                self.done(origin, outcome);
            }
            Request::Collect { origin, ticket, proof, .. } => match self.state.ticket(ticket) {
                Some(TicketState::Ended { outcome, .. }) => self.done(origin, outcome),
                Some(TicketState::Waits { session, .. }) => {
                    self.waiting.entry(ticket).or_default().push(origin);
                    let keeps = session.filter(|id| proof.is_some_and(|proof| proof.session == *id));
                    self.say(origin, Answer::Parked { origin, ticket, keeps });
                }
                None => {
                    let problem = Problem::new(Slug::NoSuchTicket, "no call waits under this ticket");
                    self.done(origin, Outcome::Refused(problem));
                }
            },
            Request::Renew { origin, proof, .. } => {
                let outcome = match self.prove(proof, now) {
                    Err(problem) => Outcome::Refused(problem),
                    Ok(()) => {
                        let session = self.state.session(proof.session).expect("it was proved");
                        let reply = Reply::new().text("session", &proof.session.to_string());
                        let reply = reply.number("generation", session.generation.into());
                        Outcome::Done(reply.int("ttl_ms", session.ttl_ms).finish())
                    }
                };
                self.done(origin, outcome);
            }
            Request::OfType { request, type_name, .. } => {
                let problem = Problem::new(Slug::NoSuchType, format!("there is no type `{type_name}`"));
                if let Some(origin) = objects_replica::edge::origin_of(&request) {
                    self.done(origin, Outcome::Refused(problem));
                }
            }
            Request::ByToken { request, .. } => {
                let problem = Problem::new(Slug::Unauthenticated, "there are no tokens here");
                if let Some(origin) = objects_replica::edge::origin_of(&request) {
                    self.done(origin, Outcome::Refused(problem));
                }
            }
            Request::Heard { sessions, .. } => {
                self.heard.extend(sessions.iter().map(|(session, at)| (*session, at.ms())));
            }
            Request::Watch { origin, subject, .. } => {
                if let Subject::Session(proof) = subject
                    && let Err(problem) = self.prove(proof, now)
                {
                    return self.done(origin, Outcome::Refused(problem));
                }
                self.watches.insert(origin.number, (origin, subject));
                let id = EventId { position: self.state.position(), ordinal: u32::MAX };
                self.say(origin, Answer::Watching { origin, id });
            }
            Request::Gone { origin } => self.gone(origin, now),
        }
    }

    fn gone(&mut self, origin: Origin, now: Now) {
        self.watches.remove(&origin.number);
        let ticket = self.waiting.iter().find(|(_, waiting)| waiting.contains(&origin)).map(|(id, _)| *id);
        let Some(ticket) = ticket else { return };
        self.waiting.entry(ticket).or_default().retain(|waiting| *waiting != origin);
        if self.anonymous.remove(&origin.number) {
            self.apply(&Command::CancelTicket { caller: None, ticket }, now);
        }
    }

    fn command(&mut self, command: &Command, secret_hash: Option<[u8; 32]>, now: Now) {
        let caller = command.caller().expect("a client's command").clone();
        if let (Identity::Session { session, .. }, Some(secret_hash)) = (&caller.identity, secret_hash)
            && let Err(problem) = self.prove(SessionProof { session: *session, secret_hash }, now)
        {
            return self.done(caller.origin, Outcome::Refused(problem));
        }
        self.apply(command, now);
    }

    fn question(&self, question: Question) -> Result<String, Problem> {
        Ok(match question {
            Question::Method { object, incarnation, create, method, args } => {
                self.state.query(&object, incarnation, create, &method, &args)?
            }
            Question::Describe(object) => match self.state.describe(&object) {
                Some(found) => described(&found).number("position", self.state.position()).finish(),
                None => return Err(Problem::new(Slug::NoSuchObject, "there is no such object")),
            },
            Question::List { kind, prefix, after, limit } => {
                let mut found: Vec<_> =
                    self.state.list(kind, &prefix, after.as_deref()).take(limit as usize + 1).collect();
                let is_more = found.len() > limit as usize;
                found.truncate(limit as usize);
                let next = if is_more { found.last().map(|last| last.object.name.clone()) } else { None };
                let objects = found.iter().map(|found| described(found).finish());
                Reply::new().list("objects", objects).optional_text("next", next.as_deref()).finish()
            }
            Question::Export { object, incarnation } => self.state.export(&object, incarnation)?,
            Question::ListAll { .. } | Question::Waits { .. } | Question::History { .. } => {
                return Err(Problem::new(Slug::BadArgument, "not asked here"));
            }
            Question::Session(id) => match self.state.session(id) {
                Some(session) => Reply::new()
                    .text("session", &id.to_string())
                    .int("ttl_ms", session.ttl_ms)
                    .number("holdings", session.holdings.into())
                    .finish(),
                None => return Err(Problem::new(Slug::SessionExpired, "there is no such session")),
            },
            Question::Types => Reply::new().list("types", [""; 0]).finish(),
            Question::Type(_) | Question::Version(..) | Question::TryMigration { .. } | Question::Backup => {
                return Err(Problem::new(Slug::NoSuchType, "there is no such type"));
            }
            Question::Access { .. } | Question::Tokens => String::from("{}"),
            Question::Counts | Question::Ready => {
                let [objects, sessions, waiting, keys] = self.state.counts();
                let counts = Reply::new().number("objects", objects).number("sessions", sessions);
                counts.number("waiting", waiting).number("keys", keys).finish()
            }
        })
    }
}

fn described(found: &Description) -> Reply {
    Reply::new()
        .text("type", type_name(found.object.kind).unwrap_or_default())
        .text("name", &found.object.name)
        .number("incarnation", found.incarnation)
        .flag("explicit", found.explicit)
        .number("waiting", found.waiting.into())
}
