//! Objects are created, called and deleted.

use objects_state::guest::VersionHash;
use objects_state::{Batch, Call, SessionId};
use serde_json::Value;

use super::{Guests, Key, Object, Said, Seen, Ticket, Wait, Woken, check, session_of};
use crate::guests::deadly::{self, Kills};
use crate::guests::{Asked, Guest, GuestType, Ran, bytes, cell, module, number_of};
use crate::outcome::parsed;
use crate::rules::Wrong;

/// A version as replies name it.
pub(super) fn version_in(reply: &str, of: GuestType, numbers: &[u64]) -> Option<u64> {
    let version = parsed(reply)["version"].as_str().map(str::to_owned);
    let is_it = |number: &&u64| version.as_deref() == Some(&module(of, **number).hash.to_string());
    numbers.iter().find(is_it).copied()
}

impl Guests {
    pub(super) fn called(
        &mut self,
        seen: &Seen<'_>,
        (key, call): (Key, &Call),
        said: &Said<'_>,
        woken: &mut Woken,
    ) -> Result<(), Wrong> {
        let Some(object) = self.objects.get(&key) else {
            return refused(1, said, &["no-such-object", "no-such-type"], "there is no such object");
        };
        let (method, number) = (call.invocation.method.clone(), number_of(&call.invocation.args));
        let incarnation = object.incarnation;
        if let (GuestType::Rogue, Some(ticket)) = (key.0, said.parked) {
            let wait = Wait::Run { method, number, hops: 0, sender: None };
            self.tickets.insert(ticket, Ticket { key, incarnation, wait });
            self.judged(21, "runs that take long, or wait for one");
            return Ok(());
        }
        let args = &call.invocation.args;
        let asked = Asked { method: &method, number, args, position: seen.first, hops: 0 };
        let ran = self.run(&key, &asked);
        self.listen(&key, session_of(&call.caller), (&asked, seen.stamp_ms), &ran);
        match (&ran, said.parked, said.answer) {
            (Ran::Parks, Some(ticket), _) => {
                if let Some(object) = self.objects.get_mut(&key) {
                    object.waiting.insert(ticket);
                }
                let wait = Wait::Parked { gives_bytes: bytes::is_of_bytes(&method) };
                self.tickets.insert(ticket, Ticket { key: key.clone(), incarnation, wait });
            }
            (_, None, Some(outcome)) => check(&ran, outcome)?,
            _ => return Err((14, format!("it comes to {said:?}, and should to {ran:?}"))),
        }
        self.note_run("", (key.0.name(), &method), &ran)?;
        if let Ran::Gives(_, Some((ticket, result))) = ran {
            woken.insert(ticket, result);
        }
        Ok(())
    }

    /// Runs a method of an object that there is, and takes what it sends.
    pub(super) fn run(&mut self, key: &Key, asked: &Asked<'_>) -> Ran {
        let Some(object) = self.objects.get_mut(key) else { return Ran::Fails("no-such-object", None) };
        let ran = object.call(asked);
        self.outbox.take(key, object);
        ran
    }

    /// A run of a gate has succeeded: it hears of the end of its caller's session, and has set its timer.
    pub(super) fn listen(
        &mut self,
        key: &Key,
        session: Option<SessionId>,
        (asked, stamp_ms): (&Asked<'_>, i64),
        ran: &Ran,
    ) {
        if key.0 != GuestType::Gate || matches!(ran, Ran::Fails(..)) {
            return;
        }
        let Some(object) = self.objects.get_mut(key) else { return };
        object.listens.extend(session);
        if asked.method == "later" {
            object.timer = Some(stamp_ms.saturating_add(asked.number.try_into().unwrap_or(i64::MAX)));
        }
    }

    /// Calls one behind the other, each at a position of its own.
    pub(super) fn batch(
        &mut self,
        seen: &Seen<'_>,
        (key, batch): (Key, &Batch),
        said: &Said<'_>,
        woken: &mut Woken,
    ) -> Result<(), Wrong> {
        let told = said.done().map(parsed);
        let results = told.as_ref().and_then(|told| told["results"].as_array());
        let Some(results) = results.filter(|results| results.len() == batch.invocations.len()) else {
            return Err((1, format!("a batch comes to {said:?}")));
        };
        let session = session_of(&batch.caller);
        for ((position, invocation), result) in (seen.first..).zip(&batch.invocations).zip(results) {
            if !self.objects.contains_key(&key) {
                check_result(&Ran::Fails("no-such-object", None), result)
                    .or_else(|_| check_result(&Ran::Fails("no-such-type", None), result))?;
                continue;
            }
            let (method, number) = (&*invocation.method, number_of(&invocation.args));
            if bytes::is_of_bytes(method) {
                self.judged(1, "methods of bytes in batches");
                check_result(&Ran::Fails("bad-argument", None), result)?;
                continue;
            }
            let asked = Asked { method, number, args: &invocation.args, position, hops: 0 };
            let ran = self.run(&key, &asked);
            check_result(&ran, result)?;
            self.listen(&key, session, (&asked, seen.stamp_ms), &ran);
            self.note_run("", (key.0.name(), method), &ran)?;
            self.reached("call of a guest in a batch");
            if let Ran::Gives(_, Some((ticket, result))) = ran {
                woken.insert(ticket, result);
            }
        }
        Ok(())
    }

    /// Counts what a run came to, of that method of a type. `how`: what stands before its cell's name.
    ///
    /// # Errors
    /// That must not be.
    pub(super) fn note_run(&mut self, how: &str, what: (&str, &str), ran: &Ran) -> Result<(), Wrong> {
        let outcome = match ran {
            Ran::Fails("quarantined", _) => {
                self.judged(22, "calls of what is stopped");
                "quarantined"
            }
            Ran::Fails(slug, _) => {
                self.judged(20, "runs of guests that fail");
                slug
            }
            Ran::Parks => "parked",
            Ran::Gives(..) => {
                self.judged(1, "answers of guests");
                "done"
            }
        };
        let name = format!("{how}{}.{} {outcome}", what.0, what.1);
        let found = cell(&name).ok_or_else(|| (1, format!("`{name}` is in no table")))?;
        self.reached(found);
        Ok(())
    }

    pub(super) fn created(
        &mut self,
        seen: &Seen<'_>,
        key: Key,
        start: u64,
        said: &Said<'_>,
    ) -> Result<(), Wrong> {
        let reply = said.done();
        let incarnation = reply.and_then(|reply| parsed(reply)["incarnation"].as_u64());
        if let Some(object) = self.objects.get(&key) {
            let is_same = incarnation == Some(object.incarnation) && object.start == start;
            let is_other = said.is_refused(&["exists"]) && object.start != start;
            return match is_same || is_other {
                true => Ok(()),
                false => Err((1, format!("it is there already: {said:?}"))),
            };
        }
        let Some(version) = self.versions.current(key.0) else {
            return refused(27, said, self.versions.refusals(key.0), "it has no version that may run");
        };
        if self.versions.creates_nothing(key.0) {
            self.judged(23, "creations behind one that killed");
            self.reached("creation behind one that killed");
            return refused(23, said, &["quarantined"], "a creation of its version has killed members");
        }
        let Some(guest) = Guest::created(key.0, version, start) else {
            return self.not_created(seen, &key, start, said);
        };
        let told = reply.and_then(|reply| version_in(reply, key.0, &[version])).and(incarnation);
        let Some(incarnation) = told else {
            return Err((27, format!("it should be created, of version {version}: {said:?}")));
        };
        self.judged(27, "objects of guests that are created");
        self.objects.insert(key, Object::new(incarnation, start, guest));
        Ok(())
    }

    /// Its constructor refuses, or kills whoever runs it: then no more objects are created of its version.
    fn not_created(&mut self, seen: &Seen<'_>, key: &Key, start: u64, said: &Said<'_>) -> Result<(), Wrong> {
        let due = match deadly::of_constructor(start) {
            Kills::Always => {
                self.judged(23, "constructors that kill");
                self.reached("constructor that kills");
                self.versions.stop(key.0, seen.state.feature_level());
                Ran::Fails("quarantined", None)
            }
            _ => {
                self.reached("constructor refused");
                Ran::Fails("guest-error", Some("not-today"))
            }
        };
        match said.answer {
            Some(outcome) => check(&due, outcome),
            None => Err((1, format!("it should be refused: {said:?}"))),
        }
    }

    pub(super) fn deleted(&mut self, key: &Key, said: &Said<'_>) -> Result<(), Wrong> {
        match self.objects.remove(key) {
            None => refused(1, said, &["no-such-object", "no-such-type"], "there is no such object"),
            Some(_) if said.done().is_some() => Ok(()),
            Some(object) => Err((1, format!("{:?} should be deleted: {said:?}", object.guest))),
        }
    }
}

/// It must be refused, with one of these words.
pub(super) fn refused(rule: u32, said: &Said<'_>, slugs: &[&str], why: &str) -> Result<(), Wrong> {
    match said.is_refused(slugs) {
        true => Ok(()),
        false => Err((rule, format!("{why}: {said:?}"))),
    }
}

/// The number of a version of a type.
pub(super) fn number_of_version(of: GuestType, hash: VersionHash) -> Option<u64> {
    crate::guests::module_of(hash).filter(|module| module.of == of).map(|module| module.number)
}

/// What a call of a batch is answered is what it should come to.
fn check_result(due: &Ran, result: &Value) -> Result<(), Wrong> {
    let problem = &result["problem"];
    let slug = problem["type"].as_str().and_then(|kind| kind.rsplit(':').next());
    let (rule, is_right) = match (due, slug) {
        (Ran::Gives(due, _), None) => (1, result["result"] == parsed(due)),
        (Ran::Fails(of, code), Some(slug)) => (20, slug == *of && problem["code"].as_str() == *code),
        (Ran::Fails(..), None) => (20, false),
        _ => (1, false),
    };
    match is_right {
        true => Ok(()),
        false => Err((rule, format!("a call of a batch is answered {result}, and should be {due:?}"))),
    }
}
