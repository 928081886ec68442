//! Calls of an object: under which number they go, what becomes of those that nobody waits for.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::call::{Call, Kind};
use crate::cluster::{Cluster, parsed};
use crate::error::{Effect, Error, Problem, Result};
use crate::exchange::{ATTEMPT, HOLD, Request, encoded};
use crate::held::Held;
use crate::session::{RESERVE, Session, milliseconds};
use crate::wait::{Cancel, Wait};

const ACCEPTED: u16 = 202;

/// An object of any type. Those of built-in types are made of it.
#[derive(Clone)]
pub struct Object {
    cluster: Cluster,
    of_type: String,
    name: String,
    is_stale: bool,
}

/// What is known of an object.
#[derive(Clone, Debug, Deserialize)]
pub struct Description {
    /// Its type.
    pub r#type: String,
    /// Its name.
    pub name: String,
    /// Another object of that name has another one.
    pub incarnation: u64,
    /// Whether it was created on purpose.
    pub explicit: bool,
    /// Calls that wait for it.
    pub waiting: u64,
}

/// What a command gave, and the session that it was called in.
type Got = (Vec<u8>, Option<Arc<Session>>);

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.of_type, self.name)
    }
}

impl Object {
    pub(crate) fn new(cluster: &Cluster, of_type: &str, name: &str) -> Self {
        Self { cluster: cluster.clone(), of_type: of_type.into(), name: name.into(), is_stale: false }
    }

    /// Its type.
    #[must_use]
    pub fn of_type(&self) -> &str {
        &self.of_type
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self { is_stale: true, ..self.clone() }
    }

    pub(crate) fn path(&self) -> String {
        format!("/v1/objects/{}/{}", encoded(&self.of_type), encoded(&self.name))
    }

    /// Creates the object; arguments are its constructor's. Whether it is new.
    pub fn create(&self, args: impl Serialize) -> Result<bool> {
        let body = Value::from(arguments(args)?).to_string();
        let (_, told) = self.cluster.keyed("PUT", &self.path(), body.as_bytes(), &Cancel::new())?;
        Ok(parsed::<Value>(&told)?["created"] == true)
    }

    /// What is known of the object.
    pub fn describe(&self) -> Result<Description> {
        parsed(&self.cluster.ask("GET", &self.path(), &[], &Cancel::new())?.1)
    }

    /// Deletes the object. Who waits for it is told.
    pub fn delete(&self) -> Result<()> {
        self.cluster.keyed("DELETE", &self.path(), &[], &Cancel::new()).map(drop)
    }

    /// Calls any method, also one of a type of your own; arguments by their names, as `json!({"by": 2})`.
    pub fn call<R: DeserializeOwned>(&self, method: &str, args: impl Serialize, wait: Wait) -> Result<R> {
        let args = arguments(args)?;
        self.give(&Call { args, ..Call::new(Kind::Blocking, method).waits(wait) })
    }

    /// Asks a method that only reads.
    pub fn query<R: DeserializeOwned>(&self, method: &str, args: impl Serialize) -> Result<R> {
        self.give(&Call { args: arguments(args)?, ..Call::new(Kind::Query, method) })
    }

    /// Makes up to 100 calls, one behind the other. A result for each.
    pub fn batch(&self, calls: &[(&str, Value)]) -> Result<Vec<Result<Value>>> {
        let calls: Vec<_> =
            calls.iter().map(|(method, args)| json!({ "method": method, "args": args })).collect();
        let body = json!({ "calls": calls }).to_string();
        let target = format!("{}:batch", self.path());
        let told: Value = parsed(&self.cluster.keyed("POST", &target, body.as_bytes(), &Cancel::new())?.1)?;
        let results =
            told["results"].as_array().into_iter().flatten().map(|part| match part.get("problem") {
                Some(problem) => {
                    let status = problem["status"].as_u64().and_then(|status| u16::try_from(status).ok());
                    Err(Problem::of_response(status.unwrap_or(0), problem.to_string().as_bytes()).into())
                }
                None => Ok(part["result"].clone()),
            });
        Ok(results.collect())
    }

    /// Calls, and reads the result.
    pub(crate) fn give<R: DeserializeOwned>(&self, call: &Call) -> Result<R> {
        parsed(&self.perform(call)?.0)
    }

    /// Calls, and reads the only part of the result.
    pub(crate) fn give_one<R: DeserializeOwned>(&self, call: &Call, part: &str) -> Result<R> {
        let mut told: Value = self.give(call)?;
        let part = told.get_mut(part).map_or(Value::Null, Value::take);
        parsed(part.to_string().as_bytes())
    }

    /// Acquires, and keeps watch over the grant. Waits again when the longest wait of the server has passed.
    pub(crate) fn hold(&self, call: &Call, back: Call) -> Result<Held> {
        loop {
            let (told, session) = self.perform(call)?;
            let told: Value = parsed(&told)?;
            if let (true, Some(session)) = (told["acquired"] == true || told["leader"] == true, session) {
                let fence = told["fence"].as_i64().unwrap_or(0);
                return Ok(Held::new(self, session, fence, back.with("fence", fence)));
            }
            if call.wait.limit.is_some() {
                return Err(Error::NotAcquired);
            }
        }
    }

    pub(crate) fn perform(&self, call: &Call) -> Result<Got> {
        let target = format!("{}/{}", self.path(), encoded(&call.method));
        let (body, cancel) = (call.body(), &call.wait.cancel);
        if call.kind == Kind::Query || (call.kind == Kind::Either && call.wait.is_try()) {
            let position = self.cluster.exchange().position();
            let stale = format!("{target}?consistency=stale&min_position={position}");
            let target = if self.is_stale { stale } else { target };
            return Ok((self.cluster.ask("POST", &target, &body, cancel)?.1, None));
        }
        let is_full = self.cluster.current().is_some_and(|session| !session.has_room(RESERVE / 2));
        if call.kind == Kind::Command && is_full {
            // Very many calls are under way. This one needs no session.
            return Ok((self.cluster.keyed("POST", &target, &body, cancel)?.1, None));
        }
        let mut is_again = false;
        loop {
            let session = self.cluster.open(cancel)?;
            match self.numbered(&session, call, &target, &body) {
                Err(Error::Problem(refused)) if refused.slug == "session-expired" => {
                    session.end((*refused).clone());
                    if is_again || refused.effect != Effect::None {
                        return Err(Error::Problem(refused));
                    }
                }
                outcome => return outcome.map(|told| (told, Some(session))),
            }
            is_again = true;
        }
    }

    fn numbered(&self, session: &Arc<Session>, call: &Call, target: &str, body: &[u8]) -> Result<Vec<u8>> {
        let began = Instant::now();
        // What gives back is not held up by what waits for it.
        let left = if call.may_wait() && !call.wait.is_try() { RESERVE } else { 0 };
        let number = session.number(left, &call.wait.cancel)?;
        let place = || match call.wait.limit {
            _ if !call.may_wait() => target.to_owned(),
            None => format!("{target}?hold_ms={}", HOLD.as_millis()),
            Some(limit) => {
                let left = milliseconds(limit.saturating_sub(began.elapsed()));
                format!("{target}?hold_ms={}&wait_ms={left}", HOLD.as_millis())
            }
        };
        let outcome = self.cluster.exchange().send(&Request {
            method: "POST",
            target: &place,
            fields: &|| session.fields(number),
            body,
            patience: self.cluster.timeout(),
            attempt: if call.may_wait() { ATTEMPT + HOLD } else { ATTEMPT },
            cancel: &call.wait.cancel,
        });
        // One without a grant is given up by its number: below the floor it has no effect any more.
        let is_open = matches!(&outcome, Err(error) if matches!(error, Error::Cancelled) || error.is("outcome-unknown"));
        if is_open && call.kind != Kind::Command {
            // Nobody waits for the answer, but it may be a grant.
            let (object, session, call) = (self.clone(), session.clone(), call.clone());
            let (target, body) = (target.to_owned(), body.to_vec());
            self.cluster.later(move || object.give_up(&session, number, &call, (&target, &body)));
        } else {
            session.answered(number);
        }
        outcome.map(|(_, told)| told)
    }

    /// Ends a call that nobody waits for: cancels it if it waits, gives back what it got.
    fn give_up(&self, session: &Session, number: u64, call: &Call, (target, body): (&str, &[u8])) {
        let cancel = &Cancel::new();
        let answer = self.cluster.exchange().send(&Request {
            method: "POST",
            target: &|| format!("{target}?wait_ms=0&hold_ms=0"),
            fields: &|| session.fields(number),
            body,
            patience: session.ttl,
            attempt: ATTEMPT,
            cancel,
        });
        let got = match answer {
            Ok((ACCEPTED, told)) => self.cancelled(&told, cancel),
            Ok((_, told)) => parsed(&told).ok(),
            // The session's end gives it back.
            Err(_) => None,
        };
        if let Some(back) = got.and_then(|got: Value| call.undo(&self.of_type, &got)) {
            let _ = self.perform(&back);
        }
        session.answered(number);
    }

    /// Cancels a call that waits; what it was granted before.
    fn cancelled(&self, told: &[u8], cancel: &Cancel) -> Option<Value> {
        let ticket = parsed::<Value>(told).ok()?["ticket"].as_u64()?;
        let refused = self.cluster.ask("DELETE", &format!("/v1/tickets/{ticket}"), &[], cancel).err()?;
        let problem = refused.problem().filter(|problem| problem.slug == "already-granted")?;
        problem.result.clone()
    }
}

fn arguments(args: impl Serialize) -> Result<Map<String, Value>> {
    let told = serde_json::to_value(args);
    match told {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        _ => Err(Problem::new("bad-argument", "arguments are a JSON object", Effect::None, "no").into()),
    }
}
