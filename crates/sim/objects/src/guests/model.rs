//! What the guests do, as sequential code: written from their text, apart from whatever runs it.

use std::collections::BTreeSet;

use super::{GuestType, TAKES_NOTHING_OVER};

/// Tickets that a gate keeps.
const TICKETS_MAX: usize = 8;
/// A constructor refuses numbers from this one on.
const START_MAX: u64 = 90;

/// What a run comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It gives this, and wakes a waiting call with that.
    Gives(String, Option<(u64, String)>),
    /// Its call waits.
    Parks,
    /// It fails with this slug, and a code of the module's own: nothing has happened.
    Fails(&'static str, Option<&'static str>),
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) of: GuestType,
    /// Its version's number.
    pub(crate) version: u64,
    value: u64,
    runs: u64,
    expired: u64,
    fired: u64,
    tickets: Vec<u64>,
}

impl Guest {
    /// One that is created with that number; nothing if its constructor refuses.
    pub(crate) fn created(of: GuestType, version: u64, start: u64) -> Option<Self> {
        let new = Self { of, version, value: start, runs: 0, expired: 0, fired: 0, tickets: Vec::new() };
        (start < START_MAX).then_some(new)
    }

    pub(crate) fn shown(&self) -> String {
        let Self { version, value, runs, expired, fired, tickets, .. } = self;
        let kept = tickets.len();
        format!(
            r#"{{"value":{value},"runs":{runs},"version":{version},"expired":{expired},"fired":{fired},"kept":{kept}}}"#
        )
    }

    /// A method is called with a number, at that position. `waiting`: the calls that wait.
    pub(crate) fn call(&mut self, method: &str, number: u64, position: u64, waiting: &BTreeSet<u64>) -> Ran {
        match method {
            "add" | "much" => self.value += number * self.version,
            "later" => {}
            "wait" if self.tickets.len() >= TICKETS_MAX => return Ran::Fails("guest-error", Some("full")),
            "wait" => {
                self.tickets.push(position);
                return Ran::Parks;
            }
            "pass" => {
                self.runs += 1;
                let woken = self.wake(number * self.version, waiting);
                let ticket = woken.as_ref().map_or(0, |(ticket, _)| *ticket);
                return Ran::Gives(format!("{{\"woken\":{ticket}}}"), woken);
            }
            "refuse" => return Ran::Fails("guest-error", Some("not-today")),
            "burn" => return Ran::Fails("out-of-fuel", None),
            "deep" => return Ran::Fails("stack-exhausted", None),
            "heavy" => return Ran::Fails("out-of-memory", None),
            _ => return Ran::Fails("guest-trap", None),
        }
        self.runs += 1;
        Ran::Gives(self.shown(), None)
    }

    fn wake(&mut self, number: u64, waiting: &BTreeSet<u64>) -> Option<(u64, String)> {
        let place = self.tickets.iter().position(|ticket| waiting.contains(ticket))?;
        Some((self.tickets.remove(place), format!("{{\"got\":{number}}}")))
    }

    /// A session has ended that had called it: whom that wakes, and with what.
    pub(crate) fn session_expired(&mut self, waiting: &BTreeSet<u64>) -> Option<(u64, String)> {
        self.expired += 1;
        self.wake(self.version, waiting)
    }

    /// A waiting call has ended without its doing.
    pub(crate) fn ticket_ended(&mut self, ended: u64) {
        self.tickets.retain(|ticket| *ticket != ended);
    }

    pub(crate) const fn timer_fired(&mut self) {
        self.fired += 1;
    }

    /// What it is in another version; nothing if that does not take it over.
    pub(crate) fn migrated(&self, version: u64) -> Option<Self> {
        let value = self.value + 7 * version;
        (version != TAKES_NOTHING_OVER).then(|| Self { version, value, ..self.clone() })
    }
}
