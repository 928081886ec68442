//! One connection: its requests in order, each with its answer or the wait for it.

use std::collections::VecDeque;

use log_wire::write_response_header;
use net_event_loop::Output;

use crate::outgoing::Outgoing;
use crate::response::Head;

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
    /// The address of the peer, as Kafka writes it.
    pub(crate) host: String,
    /// Nothing more is read from it: it is closed once its answers are sent.
    pub(crate) is_ending: bool,
    /// The next request waits for the answer of this one.
    pub(crate) blocked_by: Option<u64>,
    /// Nothing is read from it for now.
    pub(crate) is_paused: bool,
}

/// A response is written into a buffer of this size at first.
const RESPONSE_BYTES: usize = 256;

impl<F> Default for Connection<F> {
    fn default() -> Self {
        Self {
            exchanges: VecDeque::new(),
            first: 0,
            output: Outgoing::default(),
            host: String::new(),
            is_ending: false,
            blocked_by: None,
            is_paused: false,
        }
    }
}

impl<F> Connection<F> {
    /// With a peer at that address.
    pub(crate) fn of(host: String) -> Self {
        Self { host, ..Self::default() }
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

    /// The request has its answer, whose body `write` appends. Answers are sent in the order of the requests.
    pub(crate) fn answer(&mut self, request: u64, write: impl FnOnce(&mut Outgoing<F>)) {
        let Some(at) = request.checked_sub(self.first).and_then(|at| usize::try_from(at).ok()) else {
            return;
        };
        let Some(exchange) = self.exchanges.get_mut(at) else { return };
        let is_next = at == 0 && exchange.answer.is_none();
        let Head { api, version, correlation_id } = exchange.head;
        let content = |out: &mut Outgoing<F>| {
            write_response_header(api, version, correlation_id, out.bytes());
            write(out);
        };
        if is_next {
            self.output.frame(content);
            exchange.answer = Some(Outgoing::default());
        } else {
            let mut own = Outgoing::with_capacity(RESPONSE_BYTES);
            own.frame(content);
            exchange.answer = Some(own);
        }
        self.gather();
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

    fn begin(connection: &mut Connection<()>, correlation_id: i32) -> u64 {
        let request = connection.next_request();
        connection.begin(Head { api: Api::find(0).expect("Produce"), version: 3, correlation_id });
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
        let mut connection = Connection::<()>::default();
        let requests: Vec<u64> = (70..74).map(|id| begin(&mut connection, id)).collect();
        connection.answer(requests[1], |_| ());
        assert!(connection.unsent() == 0);
        connection.answer(requests[0], |out| out.bytes().push(9));
        assert_eq!(correlation_ids(connection.output().bytes), [70, 71]);
        connection.no_answer(requests[2]);
        connection.answer(requests[3], |_| ());
        assert_eq!((correlation_ids(connection.output().bytes), connection.waiting()), (vec![70, 71, 73], 0));
        connection.sent(connection.unsent());
        let again = begin(&mut connection, 80);
        connection.answer(requests[0], |_| ());
        assert!(connection.unsent() == 0, "an answer that comes twice is none");
        connection.answer(again, |_| ());
        assert_eq!(correlation_ids(connection.output().bytes), [80]);
    }
}
