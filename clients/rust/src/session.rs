//! The session of a cluster object: its numbers, its heartbeat, and what it holds.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::acknowledged::Acknowledged;
use crate::error::{Error, Problem, Result};
use crate::exchange::{ATTEMPT, Exchange, Missed, Request, random_id};
use crate::held::Watched;
use crate::http::{Asked, Fields};
use crate::wait::Cancel;

/// Requests that may be without an answer, as the server bounds them.
const WINDOW: u64 = 64;
/// How many of them calls that wait leave to the others.
pub(crate) const RESERVE: u64 = 16;
/// How often a call that may be cancelled looks whether it was, while it waits for room.
const ROOM_PAUSE: Duration = Duration::from_millis(20);
const RENEWAL_MIN: Duration = Duration::from_millis(200);
const RENEWAL_PAUSE: Duration = Duration::from_millis(50);
const CLOSE: Duration = Duration::from_secs(2);

/// Open from its first call until it is closed or expires. Its heartbeat is a thread of its own.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) ttl: Duration,
    exchange: Arc<Exchange>,
    id: String,
    header: String,
    state: Mutex<State>,
    /// A reply has come, or the session has ended.
    changed: Condvar,
    /// Ends the rests of its threads.
    ending: Cancel,
}

#[derive(Debug)]
struct State {
    last: u64,
    answers: Acknowledged,
    /// When the last renewal was sent that was answered. Nothing that the session holds is taken for held beyond three quarters of
    /// its time to live from then on: before any server lets it expire.
    renewed: Instant,
    ended: Option<Problem>,
    held: Vec<Arc<Watched>>,
}

impl Session {
    pub(crate) fn open(
        exchange: &Arc<Exchange>,
        ttl: Duration,
        name: Option<&str>,
        (patience, cancel): (Duration, &Cancel),
    ) -> Result<Arc<Self>> {
        let id = random_id();
        let header = format!("{id}.{}", random_id());
        let mut body = json!({ "ttl_ms": milliseconds(ttl) });
        if let Some(name) = name {
            body["name"] = name.into();
        }
        let renewed = Instant::now();
        let proof = vec![("Diwan-Session", header.clone())];
        // The id and the secret are ours, so the request can be repeated.
        exchange.send(&Request {
            method: "POST",
            target: &|| "/v1/sessions".into(),
            fields: &|| proof.clone(),
            body: body.to_string().as_bytes(),
            patience,
            attempt: ATTEMPT,
            cancel,
        })?;
        let answers = Acknowledged::default();
        let state = Mutex::new(State { last: 0, answers, renewed, ended: None, held: Vec::new() });
        let (changed, ending) = (Condvar::new(), Cancel::new());
        let session = Arc::new(Self { ttl, exchange: exchange.clone(), id, header, state, changed, ending });
        session.start("diwan-heartbeat", Self::renew);
        session.start("diwan-watch", Self::watch);
        session.start("diwan-check", Self::check);
        Ok(session)
    }

    fn start(self: &Arc<Self>, name: &str, work: fn(&Self)) {
        let session = self.clone();
        let started = thread::Builder::new().name(name.into()).spawn(move || work(&session));
        // The process has no room for a thread: without a heartbeat nothing may be taken for held.
        if started.is_err() {
            self.end(Problem::session_ended("there is no thread for its heartbeat"));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn proof(&self) -> Fields {
        vec![("Diwan-Session", self.header.clone())]
    }

    pub(crate) fn ended(&self) -> Option<Problem> {
        self.state().ended.clone()
    }

    /// Whether the time has passed in which the session was surely alive.
    pub(crate) fn is_late(&self) -> bool {
        let state = self.state();
        state.ended.is_some() || state.renewed.elapsed() >= self.ttl * 3 / 4
    }

    pub(crate) fn has_room(&self, left: u64) -> bool {
        self.state().has_room(left)
    }

    /// The number of the next request, once there is room for it and so many more.
    pub(crate) fn number(&self, left: u64, cancel: &Cancel) -> Result<u64> {
        let mut state = self.state();
        loop {
            if let Some(ended) = &state.ended {
                return Err(ended.clone().into());
            }
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if state.has_room(left) {
                state.last += 1;
                return Ok(state.last);
            }
            let waited = self.changed.wait_timeout(state, ROOM_PAUSE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The reply to that request has come, or nobody wants it any more.
    pub(crate) fn answered(&self, number: u64) {
        self.state().answers.add(number);
        self.changed.notify_all();
    }

    pub(crate) fn fields(&self, number: u64) -> Fields {
        let answers = self.state().answers.to_string();
        vec![
            ("Diwan-Session", self.header.clone()),
            ("Diwan-Request", number.to_string()),
            ("Diwan-Acknowledged", answers),
        ]
    }

    /// Keeps watch over a grant.
    pub(crate) fn hold(&self, watched: &Arc<Watched>) {
        let has_ended = {
            let mut state = self.state();
            state.held.push(watched.clone());
            state.ended.is_some()
        };
        if has_ended {
            watched.lose();
        }
    }

    pub(crate) fn forget(&self, watched: &Arc<Watched>) {
        self.state().held.retain(|held| !Arc::ptr_eq(held, watched));
    }

    /// The heartbeat. It asks one member after the other until one answers.
    fn renew(&self) {
        let pause = self.ttl / 6;
        let target = format!("/v1/sessions/{}/renew", self.id);
        let fields = self.proof();
        let asked = Asked { method: "POST", target: &target, fields: &fields, body: &[] };
        while !self.ending.is_cancelled() {
            let sent = Instant::now();
            match self.exchange.once(&asked, pause.max(RENEWAL_MIN), &self.ending) {
                Ok(_) => {
                    self.state().renewed = sent;
                    self.ending.rest(pause);
                }
                Err(Missed::Refused(refused)) if [401, 403, 410].contains(&refused.status) => {
                    self.end(*refused);
                }
                Err(_) => self.ending.rest(RENEWAL_PAUSE),
            }
        }
    }

    /// Tells holders that the time has passed in which the session was surely alive.
    fn watch(&self) {
        while !self.ending.is_cancelled() {
            let left = (self.ttl * 3 / 4).saturating_sub(self.state().renewed.elapsed());
            if left.is_zero() {
                self.lose_all();
            }
            self.ending.rest(if left.is_zero() { self.ttl / 20 } else { left });
        }
    }

    /// Asks whether locks are still held that were held long enough to be stolen. (The session's event stream would tell sooner, but
    /// it counts as a sign of life even of a process that stands still.)
    fn check(&self) {
        while !self.ending.is_cancelled() {
            let known = self.state().held.clone();
            self.ending.rest(self.ttl / 6);
            for watched in known {
                if !self.ending.is_cancelled() && !watched.is_lost() && watched.is_stolen(&self.exchange) {
                    self.forget(&watched);
                    watched.lose();
                }
            }
        }
    }

    fn lose_all(&self) {
        let lost = std::mem::take(&mut self.state().held);
        for watched in lost {
            watched.lose();
        }
    }

    /// It is over, for this reason.
    pub(crate) fn end(&self, why: Problem) {
        self.state().ended.get_or_insert(why);
        self.changed.notify_all();
        self.ending.cancel();
        self.lose_all();
    }

    /// Closes it: what it holds is free at once.
    pub(crate) fn close(&self) {
        if self.ended().is_some() {
            return;
        }
        self.end(Problem::session_ended("the session was closed"));
        // What is left of it ends with its time to live.
        let _ = self.exchange.send(&Request {
            method: "DELETE",
            target: &|| format!("/v1/sessions/{}", self.id),
            fields: &|| self.proof(),
            body: &[],
            patience: CLOSE,
            attempt: ATTEMPT,
            cancel: &Cancel::new(),
        });
    }
}

impl State {
    fn has_room(&self, left: u64) -> bool {
        self.answers.unanswered(self.last) < WINDOW - left
    }
}

/// Whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
