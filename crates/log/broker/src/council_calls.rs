//! Requests of clients whose parts are with the council: answered when all parts have ended, or when the time is over. If they
//! make partitions, those are served by then: a client that was told of a topic uses it at once, and some wait for seconds
//! if it is refused.

use core::fmt::Debug;

use base::{MonoTime, Now};
use log_metadata::{Compute, Ended};
use net_event_loop::ConnId;

use crate::council::Purpose;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::waits::{Waiter, Waits};

/// How long an answer waits for the partitions that its request has made. They are made, whether or not the disk is slow.
const SERVED_WITHIN_MS: u64 = 1_000;

/// An answer, as far as it is known.
pub(crate) trait CouncilAnswer: Debug + Send {
    /// A part of the request has ended.
    fn ended(&mut self, part: usize, ended: Ended);
    /// The time is over: the parts that have not ended may be done later.
    fn time_out(&mut self);
    /// The topics that have partitions by this request which they did not have.
    fn extended(&self) -> Vec<String> {
        Vec::new()
    }
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

/// A request all of whose parts have ended.
#[derive(Debug)]
struct Opening {
    form: Form,
    answer: Box<dyn CouncilAnswer>,
    /// Topics that are not known to be served.
    topics: Vec<String>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct CouncilCalls {
    pending: Waits<Pending>,
    opening: Waits<Opening>,
}

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
        self.pending.insert(waiter, deadline, Pending { form, answer, missing });
        None
    }

    /// A part of a request has ended.
    pub(crate) fn ended(&mut self, node: &mut Node, (waiter, part): (Waiter, usize), ended: Ended, now: Now) {
        let Some(pending) = self.pending.get_mut(waiter) else { return };
        pending.answer.ended(part, ended);
        pending.missing -= 1;
        if pending.missing > 0 {
            return;
        }
        let Some((deadline, Pending { form, answer, .. })) = self.pending.take(waiter) else { return };
        let deadline = deadline.min(now.mono().plus_ms(SERVED_WITHIN_MS));
        let topics = answer.extended();
        self.opening.insert(waiter, deadline, Opening { form, answer, topics });
        self.partitions_changed(node);
    }

    /// Partitions are served that were not, or are gone.
    pub(crate) fn partitions_changed(&mut self, node: &mut Node) {
        let is_open = |opening: &mut Opening| {
            while opening.topics.pop_if(|topic| node.serves(topic)).is_some() {}
            opening.topics.is_empty()
        };
        for (waiter, Opening { form, answer, .. }) in self.opening.extract(is_open) {
            node.reply(waiter, answer.response(form));
        }
    }

    /// Answers requests whose time is over.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, mut pending)) = self.pending.pop_overdue(now.mono()) {
            pending.answer.time_out();
            node.reply(waiter, pending.answer.response(pending.form));
        }
        while let Some((waiter, opening)) = self.opening.pop_overdue(now.mono()) {
            node.reply(waiter, opening.answer.response(opening.form));
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while self.pending.pop_of(shard, conn).is_some() {}
        while self.opening.pop_of(shard, conn).is_some() {}
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        [self.pending.next_deadline(), self.opening.next_deadline()].into_iter().flatten().min()
    }
}
