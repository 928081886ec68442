//! What the guests do, as sequential code: written from their text, apart from whatever runs it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::bytes::{self, XOR, YIELD};
use super::deadly::{self, Kills};
use super::messages::{DRAWN, ECHO, FORMS, Message, OF_TIMERS};
use super::{GuestType, TAKES_NOTHING_OVER, layout};

/// Tickets that a gate keeps.
const TICKETS_MAX: usize = 8;
/// A constructor refuses numbers from this one on.
const START_MAX: u64 = 90;

/// How many messages may lead to one another.
const HOPS_MAX: u32 = 32;

/// What is called, and where that comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) number: u64,
    /// What a method of bytes is given.
    pub(crate) args: &'a [u8],
    pub(crate) position: u64,
    /// How many messages led to it.
    pub(crate) hops: u32,
}

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
    chain: u64,
    /// What its runs have sent since that was looked at.
    pub(crate) sent: Vec<Message>,
}

impl Guest {
    /// One that is created with that number; nothing if its constructor refuses, or kills whoever runs it.
    pub(crate) fn created(of: GuestType, version: u64, start: u64) -> Option<Self> {
        let (tickets, sent) = (Vec::new(), Vec::new());
        let new = Self { of, version, value: start, runs: 0, expired: 0, fired: 0, tickets, chain: 0, sent };
        (start < START_MAX && deadly::of_constructor(start) != Kills::Always).then_some(new)
    }

    pub(crate) fn shown(&self) -> String {
        let Self { version, value, runs, expired, fired, tickets, chain, .. } = self;
        let kept = tickets.len();
        format!(
            r#"{{"value":{value},"runs":{runs},"version":{version},"expired":{expired},"fired":{fired},"kept":{kept},"chain":{chain}}}"#
        )
    }

    /// What it saves.
    pub(crate) fn saved(&self) -> String {
        let Self { value, runs, expired, fired, tickets, chain, .. } = self;
        let mut words = vec![*value, *runs, *expired, *fired, tickets.len() as u64];
        words.extend(tickets);
        words.resize(13, 0);
        words.push(*chain);
        let words: Vec<_> = words.iter().map(u64::to_string).collect();
        format!("{{\"s\":[{}]}}", words.join(","))
    }

    /// What was saved, in no version yet.
    pub(crate) fn restored(of: GuestType, saved: &Value) -> Option<Self> {
        let words: Vec<u64> = saved["s"].as_array()?.iter().filter_map(Value::as_u64).collect();
        let [value, runs, expired, fired, count, tickets @ .., chain] = &words[..] else { return None };
        let tickets = tickets.get(..usize::try_from(*count).ok()?)?.to_vec();
        let (value, runs, expired, fired, chain) = (*value, *runs, *expired, *fired, *chain);
        Some(Self { of, version: 0, value, runs, expired, fired, tickets, chain, sent: Vec::new() })
    }

    /// A method is called. `waiting`: the calls that wait. A run that fails leaves nothing.
    pub(crate) fn call(&mut self, asked: &Asked<'_>, waiting: &BTreeSet<u64>) -> Ran {
        let before = self.clone();
        let ran = self.run(asked, waiting);
        if matches!(ran, Ran::Fails(..)) {
            *self = before;
        }
        ran
    }

    fn run(&mut self, asked: &Asked<'_>, waiting: &BTreeSet<u64>) -> Ran {
        let Asked { method, number, args, position, hops } = *asked;
        match method {
            "add" | "much" | deadly::METHOD | deadly::LONG_METHOD => self.value += number * self.version,
            "later" => {}
            "chain" => self.add_to_chain(number),
            "send" | "flood" | "echo" => {
                if let Some(refused) = self.sends(method, number, hops) {
                    return refused;
                }
            }
            "wait" | YIELD if self.tickets.len() >= TICKETS_MAX => {
                return Ran::Fails("guest-error", Some("full"));
            }
            "wait" | YIELD => {
                self.tickets.push(position);
                return Ran::Parks;
            }
            "pass" => {
                self.runs += 1;
                let woken = self.wake(number * self.version, waiting);
                let ticket = woken.as_ref().map_or(0, |(ticket, _)| *ticket);
                return Ran::Gives(format!("{{\"woken\":{ticket}}}"), woken);
            }
            XOR => {
                self.value += args.len() as u64 * self.version;
                self.runs += 1;
                return Ran::Gives(bytes::kept(&bytes::turned(args, self.version)), None);
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

    /// What a method does that sends messages; or this is what the run comes to.
    fn sends(&mut self, method: &str, number: u64, hops: u32) -> Option<Ran> {
        let form = (number % DRAWN) as usize;
        match method {
            "flood" => (number..number + 3).find_map(|number| self.send(form, number, hops)),
            "echo" => {
                let number = number % 40;
                self.add_to_chain(number);
                let left = number.checked_sub(1)?;
                self.send(ECHO + (number & 1) as usize, left, hops)
            }
            _ => self.send(form, number, hops),
        }
    }

    /// One order of numbers gives one number, another order another one.
    const fn add_to_chain(&mut self, number: u64) {
        self.chain = (self.chain * 31 + number * self.version) % 1_000_003;
    }

    /// A message is sent; or this is what the run comes to.
    fn send(&mut self, form: usize, number: u64, hops: u32) -> Option<Ran> {
        let form = &FORMS[form];
        if form.target.1.is_empty() {
            return Some(Ran::Fails("guest-trap", None));
        }
        if hops >= HOPS_MAX {
            return Some(Ran::Fails("quota", None));
        }
        self.sent.push(Message { form, number, hops: hops + 1 });
        None
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

    pub(crate) fn timer_fired(&mut self) {
        self.fired += 1;
        let refused = self.send(OF_TIMERS, self.fired, 0);
        debug_assert_eq!(refused, None, "nothing led to it");
    }

    /// Whether its memory goes over to another version as it is.
    pub(crate) fn goes_by_layout(&self, version: u64) -> bool {
        let (own, others) = (layout(self.of, self.version), layout(self.of, version));
        // What the gates' versions do not share lies where an object keeps its state.
        own.is_some() && own == others && (self.of != GuestType::Gate || self.is_empty())
    }

    /// Whether its state is nothing but zeros.
    const fn is_empty(&self) -> bool {
        let Self { value, runs, expired, fired, tickets, chain, .. } = self;
        *value == 0 && *runs == 0 && *expired == 0 && *fired == 0 && *chain == 0 && tickets.is_empty()
    }

    /// What it is in another version; nothing if that does not take it over.
    pub(crate) fn migrated(&self, version: u64) -> Option<Self> {
        if self.goes_by_layout(version) {
            return Some(Self { version, ..self.clone() });
        }
        let value = self.value + 7 * version;
        (version != TAKES_NOTHING_OVER).then(|| Self { version, value, ..self.clone() })
    }
}
