//! What each built-in type of the model says. Everything about requests, sessions and tickets is the group's.

use objects_state::{SessionId, TicketEnd};
use serde_json::Value;

use super::answer::{Answer, Refusal};
use super::args::Args;
use super::request::Asker;

/// A call that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) ticket: u64,
    /// Since which position it has stood where it stands: of the same one, who called first is first.
    pub(crate) since: u64,
    pub(crate) asker: Asker,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) method: String,
    /// What it wants: the type's own.
    pub(crate) wants: Value,
    /// How many newcomers went past it.
    pub(crate) passed: u64,
    /// The member and its process through which alone its caller is reached: it has neither session nor key.
    pub(crate) process: Option<(u8, u64)>,
}

/// What a call comes to.
pub(crate) enum Step {
    Done(Value),
    /// It waits for this.
    Wait(Value),
    /// It gave something up already: it waits whatever `wait_ms` says.
    WaitForever(Value),
}

/// Why a call ends without what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    TimedOut,
    Cancelled,
    Died,
    /// Its token is gone, or the right to wait.
    Forbidden,
}

/// What becomes of such a call.
pub(crate) enum Left {
    Ends(Answer),
    /// It waits for something else now, behind all that wait.
    Stays(Value),
}

/// Something that a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holding {
    /// Memberships are left first, then leases are returned, then holdings are released.
    pub(crate) class: u8,
    pub(crate) position: u64,
    pub(crate) session: SessionId,
}

pub(crate) const MEMBERSHIP: u8 = 0;
pub(crate) const LEASE: u8 = 1;
pub(crate) const HOLDING: u8 = 2;

/// What a type sees of its surroundings while it changes.
pub(crate) struct Cx<'a> {
    pub(crate) position: u64,
    pub(crate) now_ms: i64,
    pub(crate) session: Option<SessionId>,
    /// The call does not wait.
    pub(crate) is_try: bool,
    /// The calls that wait, in the order in which they came.
    pub(crate) waiters: &'a mut Vec<Waiter>,
    /// The calls that have ended, in that order.
    pub(crate) ended: &'a mut Vec<(Waiter, TicketEnd, Answer)>,
}

impl Cx<'_> {
    /// Whoever owns something is a session.
    pub(crate) fn owner(&self) -> Result<SessionId, Refusal> {
        self.session.map_or_else(super::answer::bad_argument, Ok)
    }

    pub(crate) fn end(&mut self, index: usize, answer: Answer) {
        let waiter = self.waiters.remove(index);
        self.ended.push((waiter, TicketEnd::Granted, answer));
    }

    /// A call waits behind all others now.
    pub(crate) fn stand_behind(&mut self, waiter: Waiter) {
        self.waiters.push(Waiter { since: self.position, ..waiter });
        self.waiters.sort_by_key(|waiter| (waiter.since, waiter.ticket));
    }

    /// The first waiter of these methods.
    pub(crate) fn first(&self, methods: &[&str]) -> Option<usize> {
        self.waiters.iter().position(|waiter| methods.contains(&&*waiter.method))
    }

    pub(crate) fn is_waiting(&self, methods: &[&str]) -> bool {
        self.first(methods).is_some()
    }

    /// Ends all calls of a method for which this has an answer.
    pub(crate) fn end_all(&mut self, method: &str, answer: impl Fn(&Waiter) -> Option<Answer>) {
        self.end_every(|waiter| (waiter.method == method).then(|| answer(waiter)).flatten());
    }

    /// Ends all calls for which this has an answer, in the order in which they came.
    pub(crate) fn end_every(&mut self, answer: impl Fn(&Waiter) -> Option<Answer>) {
        let mut index = 0;
        while let Some(waiter) = self.waiters.get(index) {
            match answer(waiter) {
                Some(answer) => self.end(index, answer),
                None => index += 1,
            }
        }
    }
}

/// What a query sees.
pub(crate) struct View<'a> {
    pub(crate) now_ms: i64,
    pub(crate) waiters: &'a [Waiter],
}

/// A type. A call that is refused changes nothing: the group works on a copy.
pub(crate) trait Kind {
    fn copy(&self) -> Box<dyn Kind>;
    /// What it was created with.
    fn config(&self) -> Value;
    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal>;
    fn query(&self, view: &View<'_>, method: &str, args: &Args) -> Answer;
    /// Grants all that is due.
    fn settle(&mut self, _cx: &mut Cx<'_>) {}
    /// The result of a call that ran out of time.
    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        Value::Null
    }
    fn leave(&mut self, cx: &mut Cx<'_>, waiter: &Waiter, _why: Why) -> Left {
        let view = View { now_ms: cx.now_ms, waiters: cx.waiters };
        Left::Ends(Ok(self.missed(&view, &waiter.method, &waiter.wants)))
    }
    /// When something is due by itself, and what.
    fn timers(&self, _waiters: &[Waiter]) -> Vec<(i64, String)> {
        Vec::new()
    }
    fn due(&mut self, _cx: &mut Cx<'_>, _timer: &str) {}
    fn holdings(&self) -> Vec<Holding> {
        Vec::new()
    }
    /// A session has ended that held this.
    fn lose(&mut self, _cx: &mut Cx<'_>, _lost: &Holding, _expired: bool) {}
    /// What a query shows that may not be beyond a limit: the query, its field, the limit.
    fn limits(&self) -> Vec<(&'static str, &'static str, i64)> {
        Vec::new()
    }
    /// Whether no more can be given back than was taken.
    fn is_bounded(&self) -> bool {
        true
    }
    /// Nothing but defaults is left.
    fn is_default(&self) -> bool;
}
