//! One connection: its requests in order, each with its answer or the wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use base::MonoTime;
use log_wire::write_response_header;
use net_event_loop::Output;

use super::timers::Deadlines;
use crate::authentication::Session;
use crate::client::Client;
use crate::outgoing::Outgoing;
use crate::response::{Head, Response};
use crate::waits::Waiter;

/// A request that was read, and what it is answered with.
#[derive(Debug)]
pub(crate) struct Exchange<F> {
    pub(crate) head: Head,
    /// The whole frame of the answer, once it is there. Empty for none.
    answer: Option<Outgoing<F>>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Connection<F> {
    /// Requests whose answers are not in `output` yet, in order.
    exchanges: VecDeque<Exchange<F>>,
    /// The number of the first of them.
    first: u64,
    output: Outgoing<F>,
    /// Who is at the other end.
    pub(crate) client: Arc<Client>,
    /// How far it has come with proving that.
    pub(super) session: Session,
    /// What the client will be told after a while: that its authentication has failed.
    pub(super) failure: Option<(Waiter, Response)>,
    /// It is closed behind the answer to this request.
    pub(super) ends_behind: Option<u64>,
    /// When bytes came or went last.
    pub(super) active: MonoTime,
    pub(super) deadlines: Deadlines,
    /// Nothing more is read from it: it is closed once its answers are sent.
    pub(crate) is_ending: bool,
    /// Bytes of answers that are there and not written.
    pub(super) queued_bytes: usize,
    /// The next request waits for the answer of this one.
    pub(crate) blocked_by: Option<u64>,
    /// Nothing is read from it for now.
    pub(crate) is_paused: bool,
    /// What it has sent of a request stays, and the rest is not read, until there is room.
    pub(super) waits_for_room: bool,
    /// It is not read from before: it has used more than its quota.
    pub(super) muted_until: Option<MonoTime>,
    /// What the client calls itself, if what it fetches counts against a quota.
    pub(super) fetches_as: Option<Arc<str>>,
}

/// A response is written into a buffer of this size at first.
const RESPONSE_BYTES: usize = 256;

impl<F> Connection<F> {
    /// With that client.
    pub(super) fn of(client: Client, session: Session, now: MonoTime) -> Self {
        Self {
            exchanges: VecDeque::new(),
            first: 0,
            output: Outgoing::default(),
            client: Arc::new(client),
            session,
            failure: None,
            ends_behind: None,
            active: now,
            deadlines: Deadlines::default(),
            is_ending: false,
            queued_bytes: 0,
            blocked_by: None,
            is_paused: false,
            waits_for_room: false,
            muted_until: None,
            fetches_as: None,
        }
    }

    /// The number of the next request.
    pub(crate) fn next_request(&self) -> u64 {
        self.first + self.exchanges.len() as u64
    }

    /// A request was read.
    pub(crate) fn begin(&mut self, head: Head) {
        self.exchanges.push_back(Exchange { head, answer: None });
    }

    /// The request of that number, if it has no answer yet.
    pub(crate) fn exchange(&self, request: u64) -> Option<&Exchange<F>> {
        let at = usize::try_from(request.checked_sub(self.first)?).ok()?;
        self.exchanges.get(at).filter(|exchange| exchange.answer.is_none())
    }

    /// The request has its answer, whose body `write` appends. Answers are sent in the order of the requests. Gives the bytes of
    /// the frame.
    pub(crate) fn answer(
        &mut self,
        request: u64,
        has_header: bool,
        write: impl FnOnce(&mut Outgoing<F>),
    ) -> usize {
        let at = request.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let Some(exchange) = at.and_then(|at| self.exchanges.get_mut(at)) else { return 0 };
        let is_next = at == Some(0) && exchange.answer.is_none();
        let Head { api, version, correlation_id, .. } = exchange.head;
        let content = |out: &mut Outgoing<F>| {
            if has_header {
                write_response_header(api, version, correlation_id, out.bytes());
            }
            write(out);
        };
        let bytes = if is_next {
            let before = self.output.len();
            self.output.frame(content);
            self.exchanges.pop_front();
            self.first += 1;
            self.output.len() - before
        } else {
            let mut own = Outgoing::with_capacity(RESPONSE_BYTES);
            own.frame(content);
            exchange.answer.insert(own).len()
        };
        self.gather();
        bytes
    }

    /// The request is not answered.
    pub(crate) fn no_answer(&mut self, request: u64) {
        let at = request.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(exchange) = at.and_then(|at| self.exchanges.get_mut(at)) {
            exchange.answer = Some(Outgoing::default());
        }
        self.gather();
    }

    fn gather(&mut self) {
        while self.exchanges.front().is_some_and(|exchange| exchange.answer.is_some()) {
            if let Some(Exchange { answer: Some(answer), .. }) = self.exchanges.pop_front() {
                self.output.append(answer);
                self.first += 1;
            }
        }
    }

    /// Whether the next request waits for the answer of an earlier one.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked_by.is_some_and(|request| self.exchange(request).is_some())
    }

    /// How many requests wait for their answers.
    pub(crate) fn waiting(&self) -> usize {
        self.exchanges.len()
    }

    pub(crate) fn output(&self) -> Output<'_, F> {
        self.output.output()
    }

    /// How many bytes are to be sent.
    pub(crate) const fn unsent(&self) -> usize {
        self.output.len()
    }

    pub(crate) fn sent(&mut self, count: usize) {
        self.output.sent(count);
    }
}

#[cfg(test)]
mod tests {
    use log_wire::Api;

    use super::*;
    use crate::client::Peer;

    fn begin(connection: &mut Connection<()>, correlation_id: i32) -> u64 {
        let request = connection.next_request();
        connection.begin(Head {
            api: Api::find(0).expect("Produce"),
            version: 3,
            correlation_id,
            throttle_ms: 0,
        });
        request
    }

    fn correlation_ids(mut output: &[u8]) -> Vec<i32> {
        let mut ids = Vec::new();
        while let Some((length, rest)) = output.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length) as usize;
            ids.push(i32::from_be_bytes(*rest.first_chunk().expect("a header")));
            output = &rest[length..];
        }
        ids
    }

    #[test]
    fn answers_are_sent_in_the_order_of_the_requests() {
        let peer = Peer { ip: [127, 0, 0, 1].into(), listener: 0, certified: None };
        let mut connection = Connection::<()>::of(Client::of(&peer), Session::none(), MonoTime::ZERO);
        let requests: Vec<u64> = (70..74).map(|id| begin(&mut connection, id)).collect();
        connection.answer(requests[1], true, |_| ());
        assert!(connection.unsent() == 0);
        connection.answer(requests[0], true, |out| out.bytes().push(9));
        assert_eq!(correlation_ids(connection.output().bytes), [70, 71]);
        connection.no_answer(requests[2]);
        connection.answer(requests[3], true, |_| ());
        assert_eq!((correlation_ids(connection.output().bytes), connection.waiting()), (vec![70, 71, 73], 0));
        connection.sent(connection.unsent());
        let again = begin(&mut connection, 80);
        connection.answer(requests[0], true, |_| ());
        assert!(connection.unsent() == 0, "an answer that comes twice is none");
        connection.answer(again, true, |_| ());
        assert_eq!(correlation_ids(connection.output().bytes), [80]);
    }
}
