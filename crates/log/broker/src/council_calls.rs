//! Requests of clients whose parts are with the council: answered when all parts have ended, or when the time is over.

use core::fmt::Debug;

use base::{MonoTime, Now};
use log_metadata::{Compute, Ended};
use net_event_loop::ConnId;

use crate::council::Purpose;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::waits::{Waiter, Waits};

/// An answer, as far as it is known.
pub(crate) trait CouncilAnswer: Debug + Send {
    /// A part of the request has ended.
    fn ended(&mut self, part: usize, ended: Ended);
    /// The time is over: the parts that have not ended may be done later.
    fn time_out(&mut self);
    /// The answer.
    fn response(&self, form: Form) -> Response;
}

/// A part of a request, for the council.
pub(crate) struct Part {
    /// Its number in the request.
    pub(crate) number: usize,
    /// The node that it changes.
    pub(crate) path: String,
    /// How.
    pub(crate) compute: Compute,
}

/// A request with its parts.
pub(crate) struct CouncilCall {
    pub(crate) waiter: Waiter,
    pub(crate) form: Form,
    pub(crate) answer: Box<dyn CouncilAnswer>,
    pub(crate) parts: Vec<Part>,
    pub(crate) timeout_ms: i32,
}

#[derive(Debug)]
struct Pending {
    form: Form,
    answer: Box<dyn CouncilAnswer>,
    /// How many parts have not ended.
    missing: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct CouncilCalls(Waits<Pending>);

impl CouncilCalls {
    /// Begins a request. The answer comes later if there is none now.
    pub(crate) fn begin(&mut self, node: &mut Node, call: CouncilCall, now: Now) -> Option<Response> {
        let CouncilCall { waiter, form, answer, parts, timeout_ms } = call;
        if parts.is_empty() {
            return Some(answer.response(form));
        }
        let missing = parts.len();
        for Part { number, path, compute } in parts {
            node.council.ask(path, Purpose::Part(waiter, number), compute);
        }
        let deadline = now.mono().plus_ms(u64::try_from(timeout_ms).unwrap_or(0));
        self.0.insert(waiter, deadline, Pending { form, answer, missing });
        None
    }

    /// A part of a request has ended.
    pub(crate) fn ended(&mut self, node: &mut Node, waiter: Waiter, part: usize, ended: Ended) {
        let Some(pending) = self.0.get_mut(waiter) else { return };
        pending.answer.ended(part, ended);
        pending.missing -= 1;
        if pending.missing == 0
            && let Some(pending) = self.0.remove(waiter)
        {
            node.reply(waiter, pending.answer.response(pending.form));
        }
    }

    /// Answers requests whose time is over.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, mut pending)) = self.0.pop_overdue(now.mono()) {
            pending.answer.time_out();
            node.reply(waiter, pending.answer.response(pending.form));
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while self.0.pop_of(shard, conn).is_some() {}
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.0.next_deadline()
    }
}
