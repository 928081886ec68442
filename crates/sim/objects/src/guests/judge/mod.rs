//! Types of users: the log, played into the sequential models of [`crate::guests`] beside the state. Every reply is what the
//! model gives at its position (O1), once (O3); a run that fails leaves nothing behind (O20), nor does it show at another object
//! (O21); who is woken is who has waited for longest (O14), and nobody whose wait has ended (O15); timers fire in time (O17);
//! what is stopped runs nothing (O22); each command runs on one version, and a move that fails leaves the old one (O26), and no
//! version runs before the members' verdict (O27). What kills the processes of members is refused, and its object is stopped
//! (O23); messages are delivered once, in order (O30).
//!
//! Knows nothing of engines, memory or slices: whether a call was carried out at once or beside the commands it learns from
//! the effects.

mod calls;
mod ends;
mod exports;
mod messages;
mod requests;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use objects_state::guest::VersionHash;
use objects_state::{Caller, Command, Effect, ObjectName, Outcome, SessionId, State, TicketEnd};
use sim_kit::Judged;

use crate::guests::deadly;
use crate::guests::{self, Asked, Guest, GuestType, Ran, bytes};
use crate::outcome::brief;
use crate::rules::Wrong;
use crate::told::Object as Named;
use messages::{Outbox, Sender};
use requests::Requests;
use versions::Versions;

/// After so many commands all objects are looked at.
const LOOK_EACH: u64 = 16;

/// A command, and what came of it.
pub(crate) struct Seen<'a> {
    pub(crate) command: &'a Command,
    /// Its position.
    pub(crate) first: u64,
    pub(crate) stamp_ms: i64,
    pub(crate) effects: &'a [Effect],
    pub(crate) state: &'a State,
}

/// What a command said to its caller.
#[derive(Debug)]
struct Said<'a> {
    answer: Option<&'a Outcome>,
    parked: Option<u64>,
}

impl<'a> Said<'a> {
    fn of(effects: &'a [Effect]) -> Self {
        let answer = effects.iter().find_map(|effect| match effect {
            Effect::Answered { outcome, .. } => Some(outcome),
            _ => None,
        });
        let parked = effects.iter().find_map(|effect| match effect {
            Effect::Parked { ticket, .. } => Some(*ticket),
            _ => None,
        });
        Self { answer, parked }
    }

    /// It was refused with one of these words.
    fn is_refused(&self, slugs: &[&str]) -> bool {
        self.answer.is_some_and(
            |outcome| matches!(outcome, Outcome::Refused(problem) if slugs.contains(&problem.slug.name())),
        )
    }

    /// What it was answered, if it was not refused.
    fn done(&self) -> Option<&'a str> {
        match self.answer {
            Some(Outcome::Done(result)) => Some(result),
            _ => None,
        }
    }
}

/// A type and a name.
type Key = (GuestType, String);

/// An object, and what the group keeps of it beside its memory.
struct Object {
    incarnation: u64,
    /// The constructor's number.
    start: u64,
    guest: Guest,
    is_quarantined: bool,
    /// What it was before it was moved, and the runs since.
    before: Option<(Guest, u64)>,
    /// When its timer is due.
    timer: Option<i64>,
    /// Sessions of whose end it hears.
    listens: BTreeSet<SessionId>,
    /// Calls that its module made wait.
    waiting: BTreeSet<u64>,
    /// What it was not told of while it was stopped.
    failures: u64,
}

impl Object {
    /// One that was created at that position.
    const fn new(incarnation: u64, start: u64, guest: Guest) -> Self {
        Self {
            incarnation,
            start,
            guest,
            is_quarantined: false,
            before: None,
            timer: None,
            listens: BTreeSet::new(),
            waiting: BTreeSet::new(),
            failures: 0,
        }
    }

    /// A waiting call has ended without its doing: it hears of that, unless it is stopped.
    fn ticket_ended(&mut self, ticket: u64) {
        self.waiting.remove(&ticket);
        if self.is_quarantined {
            self.failures += 1;
        } else {
            self.guest.ticket_ended(ticket);
            self.count_run();
        }
    }

    /// A run has succeeded.
    const fn count_run(&mut self) {
        if let Some((_, runs)) = &mut self.before {
            *runs += 1;
        }
    }

    fn call(&mut self, asked: &Asked<'_>) -> Ran {
        if self.is_quarantined || deadly::is_deadly(asked.method, asked.number) {
            self.is_quarantined = true;
            return Ran::Fails("quarantined", None);
        }
        let ran = self.guest.call(asked, &self.waiting);
        if !matches!(ran, Ran::Fails(..)) {
            self.count_run();
        }
        ran
    }
}

/// Why a call waits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wait {
    /// Its module made it.
    Parked {
        /// Its method gives bytes.
        gives_bytes: bool,
    },
    /// It takes long, or has not had its turn.
    Run {
        method: String,
        number: u64,
        hops: u32,
        /// Of a message: who has sent it.
        sender: Option<Sender>,
    },
}

struct Ticket {
    key: Key,
    incarnation: u64,
    wait: Wait,
}

impl Ticket {
    const fn gives_bytes(&self) -> bool {
        matches!(self.wait, Wait::Parked { gives_bytes: true })
    }
}

/// Calls that are woken by a command, and with what.
type Woken = BTreeMap<u64, String>;

/// See the module.
#[derive(Default)]
pub(crate) struct Guests {
    versions: Versions,
    objects: BTreeMap<Key, Object>,
    tickets: BTreeMap<u64, Ticket>,
    /// Tickets that have ended.
    ended: BTreeSet<u64>,
    requests: Requests,
    outbox: Outbox,
    commands: u64,
    pub(crate) judged: BTreeMap<u32, Judged>,
    /// What is out of the ordinary and has happened.
    pub(crate) reached: BTreeMap<&'static str, u64>,
}

impl Guests {
    fn judged(&mut self, rule: u32, what: &'static str) {
        *self.judged.entry(rule).or_default().entry(what).or_default() += 1;
    }

    fn reached(&mut self, what: &'static str) {
        *self.reached.entry(what).or_default() += 1;
    }

    /// # Errors
    /// What is wrong with what came of a command.
    pub(crate) fn see(&mut self, seen: &Seen<'_>) -> Result<(), Wrong> {
        let told = |(rule, words): Wrong| (rule, format!("{words}\nafter {}", brief(seen.command)));
        self.commands += 1;
        let said = Said::of(seen.effects);
        let mut woken = Woken::new();
        self.command(seen, &said, &mut woken).map_err(told)?;
        self.ends(seen, &mut woken).map_err(told)?;
        if *seen.command == Command::Tick {
            self.timers(seen.stamp_ms);
            self.requests.deadlines_passed(seen.stamp_ms);
        }
        let key = object_of(seen.command).and_then(|object| key_of(seen.state, object));
        match key {
            Some(key) if !self.commands.is_multiple_of(LOOK_EACH) => self.look(&key, seen.state),
            _ => self.look_at_all(seen.state),
        }
        .map_err(told)
    }

    fn command(&mut self, seen: &Seen<'_>, said: &Said<'_>, woken: &mut Woken) -> Result<(), Wrong> {
        match seen.command {
            Command::Tick => return self.deliver(seen, woken),
            Command::TypePut { .. }
            | Command::TypeVerdict { .. }
            | Command::TypeReady { .. }
            | Command::TypeDelete { .. }
            | Command::TypeRelease { .. } => return self.of_version(seen, said),
            _ => {}
        }
        let object = object_of(seen.command).and_then(|object| key_of(seen.state, object));
        let Some((key, caller)) = object.zip(seen.command.caller()) else { return Ok(()) };
        match self.requests.judge(caller, seen.stamp_ms, said)? {
            requests::Judged::Fresh => {}
            requests::Judged::Repeat => {
                self.judged(4, "repeats to guests");
                self.reached("repeat to a guest");
                return Ok(());
            }
            requests::Judged::Refused => return Ok(()),
        }
        match seen.command {
            Command::Call(call) => self.called(seen, (key, call), said, woken)?,
            Command::Batch(batch) => self.batch(seen, (key, batch), said, woken)?,
            Command::Create { args, .. } => self.created(seen, key, guests::number_of(args), said)?,
            Command::Delete { .. } => self.deleted(&key, said)?,
            Command::Import { content, .. } => self.imported(seen, (key, content), said)?,
            Command::Migrate { to, .. } => self.migrated(&key, *to, said)?,
            Command::Rollback { lose_commands, .. } => self.rolled_back(&key, *lose_commands, said)?,
            Command::Quarantine { reason, .. } => self.quarantined(&key, reason.is_some(), said)?,
            _ => {}
        }
        self.requests.note(caller, seen.stamp_ms, said);
        Ok(())
    }

    /// All objects are what their models are.
    ///
    /// # Errors
    /// One is not.
    pub(crate) fn look_at_all(&mut self, state: &State) -> Result<(), Wrong> {
        let keys: Vec<_> = self.objects.keys().cloned().collect();
        keys.iter().try_for_each(|key| self.look(key, state))?;
        self.look_at_versions(state)?;
        self.outbox.look(state)
    }

    /// The same when everything is at rest.
    ///
    /// # Errors
    /// One is not, or something has not come to its end.
    pub(crate) fn is_done(&mut self, state: &State) -> Result<(), Wrong> {
        self.look_at_all(state)?;
        self.outbox.is_done()
    }

    /// An object is what its model is: its version, whether it is stopped, and what its query shows.
    fn look(&mut self, key: &Key, state: &State) -> Result<(), Wrong> {
        self.judged(21, "objects of guests");
        let name = named(state, key);
        let shown = name.as_ref().and_then(|name| state.describe(name));
        let user = shown.as_ref().and_then(|shown| shown.user.as_ref());
        let (object, shown) = match (self.objects.get(key), shown.as_ref()) {
            (None, None) => return Ok(()),
            (Some(object), Some(shown)) if object.incarnation == shown.incarnation => (object, shown),
            _ => return Err((20, format!("{key:?} is {shown:?}"))),
        };
        let version = guests::module(key.0, object.guest.version).hash;
        if user.is_none_or(|user| user.version != version) {
            return Err((26, format!("{:?} is of another version: {shown:?}", object.guest)));
        }
        let is_it =
            |is_stopped: bool, failures| (is_stopped, failures) == (object.is_quarantined, object.failures);
        if !user.is_some_and(|user| is_it(user.quarantined.is_some(), user.failures)) {
            let (is_stopped, failures) = (object.is_quarantined, object.failures);
            return Err((
                22,
                format!(
                    "it is stopped {is_stopped}, and {failures} runs and messages of it have failed: {shown:?}"
                ),
            ));
        }
        let Some((due, name)) = self.shown(key).zip(name) else { return Ok(()) };
        let told = state.query(&name, None, false, "get", b"");
        match told {
            Ok(told) if told == due => Ok(()),
            told => Err((20, format!("it shows {told:?}, and should show {due}"))),
        }
    }

    /// What a query shows of an object; nothing if that is refused.
    fn shown(&self, key: &Key) -> Option<String> {
        self.objects.get(key).filter(|object| !object.is_quarantined).map(|object| object.guest.shown())
    }

    /// The incarnation and the version of an object that is not stopped, as clients name it.
    pub(crate) fn runs_in(&self, object: &Named) -> Option<(u64, VersionHash)> {
        let key = key_named(object)?;
        let object = self.objects.get(&key).filter(|object| !object.is_quarantined)?;
        Some((object.incarnation, guests::module(key.0, object.guest.version).hash))
    }

    /// What an object makes of bytes in a query, as clients name it, if it is one of these types.
    pub(crate) fn view(&self, object: &Named, args: &[u8]) -> Option<Result<String, &'static str>> {
        let version = self.objects.get(&key_named(object)?).map(|object| object.guest.version);
        let turned = bytes::turned(args, version.unwrap_or_default());
        // As texts of JSON have bytes.
        Some(self.query(object)?.map(|_| format!("\"{}\"", bytes::base64(&turned))))
    }

    /// What a query shows of an object as clients name it, if it is one of these types.
    pub(crate) fn query(&self, object: &Named) -> Option<Result<String, &'static str>> {
        let key = key_named(object)?;
        Some(match self.objects.get(&key) {
            None => Err("no-such-object"),
            Some(_) => self.shown(&key).ok_or("quarantined"),
        })
    }
}

/// The object that a command is about.
const fn object_of(command: &Command) -> Option<&ObjectName> {
    match command {
        Command::Call(call) => Some(&call.object),
        Command::Batch(batch) => Some(&batch.object),
        Command::Create { object, .. }
        | Command::Delete { object, .. }
        | Command::Import { object, .. }
        | Command::Migrate { object, .. }
        | Command::Rollback { object, .. }
        | Command::Quarantine { object, .. } => Some(object),
        _ => None,
    }
}

/// Which object of a guest's type that is.
fn key_of(state: &State, object: &ObjectName) -> Option<Key> {
    let is_it = |of: &GuestType| state.type_named(of.name()) == Some(object.kind);
    Some((guests::TYPES.into_iter().find(is_it)?, object.name.clone()))
}

fn key_named(object: &Named) -> Option<Key> {
    let of = guests::TYPES.into_iter().find(|of| of.name() == object.type_name)?;
    Some((of, object.name.clone()))
}

fn named(state: &State, key: &Key) -> Option<ObjectName> {
    Some(ObjectName { kind: state.type_named(key.0.name())?, name: key.1.clone() })
}

/// What a run is answered is what it should come to.
fn check(due: &Ran, outcome: &Outcome) -> Result<(), Wrong> {
    let (rule, is_right) = match (due, outcome) {
        (Ran::Gives(due, _), Outcome::Done(result)) => (1, due == result),
        (Ran::Fails(slug, code), Outcome::Refused(problem)) => {
            (20, problem.slug.name() == *slug && problem.code.as_deref() == *code)
        }
        (Ran::Fails("quarantined", _), _) => (22, false),
        (Ran::Fails(..), _) => (20, false),
        _ => (1, false),
    };
    if is_right { Ok(()) } else { Err((rule, format!("it is answered {outcome:?}, and should be {due:?}"))) }
}

/// In whose name it is called, if that is a session's.
fn session_of(caller: &Caller) -> Option<SessionId> {
    match &caller.identity {
        objects_state::Identity::Session { session, .. } => Some(*session),
        _ => None,
    }
}

/// How a wait ended.
struct End<'a> {
    ticket: u64,
    how: TicketEnd,
    outcome: &'a Outcome,
}

fn ends_of(effects: &[Effect]) -> impl Iterator<Item = End<'_>> {
    effects.iter().filter_map(|effect| match effect {
        Effect::TicketEnded { ticket, end, outcome } => Some(End { ticket: *ticket, how: *end, outcome }),
        _ => None,
    })
}
