//! Objects are created, called and deleted.

use objects_state::guest::VersionHash;
use objects_state::{Batch, Call};
use serde_json::Value;

use super::{Guests, Key, Object, Said, Seen, Ticket, Wait, Woken, check, session_of};
use crate::guests::{Guest, GuestType, Ran, module};
use crate::outcome::parsed;
use crate::rules::Wrong;

/// The number that a method or a constructor is given.
pub(super) fn number_of(args: &[u8]) -> u64 {
    let args = parsed(&String::from_utf8_lossy(args));
    args["number"].as_u64().or_else(|| args["start"].as_u64()).unwrap_or(0)
}

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
        let Some(object) = self.objects.get_mut(&key) else {
            return refused(1, said, &["no-such-object", "no-such-type"], "there is no such object");
        };
        let (method, number) = (call.invocation.method.clone(), number_of(&call.invocation.args));
        let incarnation = object.incarnation;
        if let (GuestType::Rogue, Some(ticket)) = (key.0, said.parked) {
            let wait = Wait::Run { method, number };
            self.tickets.insert(ticket, Ticket { key, incarnation, wait });
            self.judged(21, "runs that take long, or wait for one");
            return Ok(());
        }
        let ran = object.call(&method, number, seen.first);
        let is_heard = key.0 == GuestType::Gate && !matches!(ran, Ran::Fails(..));
        object.listens.extend(session_of(&call.caller).filter(|_| is_heard));
        if is_heard && method == "later" {
            object.timer = Some(seen.stamp_ms.saturating_add(number.try_into().unwrap_or(i64::MAX)));
        }
        match (&ran, said.parked, said.answer) {
            (Ran::Parks, Some(ticket), _) => {
                object.waiting.insert(ticket);
                self.tickets.insert(ticket, Ticket { key, incarnation, wait: Wait::Parked });
                return Ok(());
            }
            (_, None, Some(outcome)) => check(&ran, outcome)?,
            _ => return Err((14, format!("it comes to {said:?}, and should to {ran:?}"))),
        }
        self.note_run(&ran);
        if let Ran::Gives(_, Some((ticket, result))) = ran {
            woken.insert(ticket, result);
        }
        Ok(())
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
            let Some(object) = self.objects.get_mut(&key) else {
                check_result(&Ran::Fails("no-such-object", None), result)
                    .or_else(|_| check_result(&Ran::Fails("no-such-type", None), result))?;
                continue;
            };
            let (method, number) = (&invocation.method, number_of(&invocation.args));
            let ran = object.call(method, number, position);
            check_result(&ran, result)?;
            if key.0 == GuestType::Gate && !matches!(ran, Ran::Fails(..)) {
                object.listens.extend(session);
                if method == "later" {
                    let at_ms = seen.stamp_ms.saturating_add(number.try_into().unwrap_or(i64::MAX));
                    object.timer = Some(at_ms);
                }
            }
            self.note_run(&ran);
            self.reached("call of a guest in a batch");
            if let Ran::Gives(_, Some((ticket, result))) = ran {
                woken.insert(ticket, result);
            }
        }
        Ok(())
    }

    /// Counts what a run came to.
    pub(super) fn note_run(&mut self, ran: &Ran) {
        match ran {
            Ran::Fails("quarantined", _) => {
                self.judged(22, "calls of what is stopped");
                self.reached("call of a stopped guest");
            }
            Ran::Fails(slug, _) => {
                self.judged(20, "runs of guests that fail");
                self.reached(match *slug {
                    "out-of-fuel" => "guest out of fuel",
                    "out-of-memory" => "guest out of memory",
                    "stack-exhausted" => "guest out of stack",
                    "guest-trap" => "guest trapped",
                    _ => "guest refused",
                });
            }
            _ => self.judged(1, "answers of guests"),
        }
    }

    pub(super) fn created(&mut self, key: Key, start: u64, said: &Said<'_>) -> Result<(), Wrong> {
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
        if !self.versions.has_ready(key.0) {
            return refused(27, said, self.versions.refusals(key.0), "it has no version that may run");
        }
        let ready = self.versions.ready(key.0);
        let version = reply.and_then(|reply| version_in(reply, key.0, &ready));
        if reply.is_some() && version.is_none() {
            return Err((27, format!("it is created of a version that may not run: {said:?}, {ready:?}")));
        }
        let guest = Guest::created(key.0, version.unwrap_or(1), start);
        let Some((guest, incarnation)) = guest.zip(incarnation) else {
            self.reached("constructor refused");
            let due = Ran::Fails("guest-error", Some("not-today"));
            let is_refusal = Guest::created(key.0, 1, start).is_none();
            return match said.answer.filter(|_| is_refusal) {
                Some(outcome) => check(&due, outcome),
                None => Err((1, format!("it should be created: {said:?}"))),
            };
        };
        self.judged(27, "objects of guests that are created");
        self.objects.insert(key, Object::new(incarnation, start, guest));
        Ok(())
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
