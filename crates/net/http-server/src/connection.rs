//! One connection: `hyper`'s state machine, which reads requests out of a [`Pipe`], the responses to them, and how long the
//! client may take.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use base::MonoTime;
use hyper::server::conn::http1;

use crate::exchange::{Exchanges, UNDER_WAY_MAX};
use crate::handler::Say;
use crate::limits::{Budget, HttpLimits};
use crate::message::{Refusal, Request, Response};
use crate::pipe::{Arrival, Pipe, ROOM_BYTES_MAX};
use crate::placeholder::{self, Own};
use crate::response::{Responses, Slot, Written};

/// How often a state machine is polled again in a turn because it asks for it.
const POLLS_MAX: usize = 16;
/// Unsent bytes of a connection beyond which no more responses are written.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// How long a silent connection keeps its state machine and the buffers of that, milliseconds.
const REST_MS: u64 = 2_000;
/// The least that `hyper` wants for its buffers.
const MIN_BUFFER: usize = 8 << 10;

/// Notes that a state machine wants to be polled again.
#[derive(Debug, Default)]
struct Again(AtomicBool);

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Machine = Pin<Box<http1::Connection<Pipe, Exchanges>>>;

/// What all threads together may hold in memory.
#[derive(Clone)]
pub(crate) struct Budgets {
    bodies: Arc<Budget>,
    responses: Arc<Budget>,
}

impl Budgets {
    pub(crate) fn new(limits: &HttpLimits) -> Self {
        let (bodies, responses) = (limits.bodies_bytes_max, limits.responses_bytes_max);
        Self { bodies: Budget::new(bodies), responses: Budget::new(responses) }
    }
}

/// What makes and polls the state machines of a shard.
pub(crate) struct Machines {
    builder: http1::Builder,
    budgets: Budgets,
    limits: HttpLimits,
    again: Arc<Again>,
    waker: Waker,
}

impl Machines {
    pub(crate) fn new(limits: &HttpLimits, budgets: Budgets) -> Self {
        let again = Arc::<Again>::default();
        let mut builder = http1::Builder::new();
        builder.header_read_timeout(None).auto_date_header(false).max_header_size(limits.head_bytes_max);
        builder.max_buf_size(limits.head_bytes_max.max(MIN_BUFFER));
        let (limits, waker) = (*limits, Waker::from(Arc::clone(&again)));
        Self { builder, budgets, limits, again, waker }
    }

    fn make(&self, pipe: &Pipe) -> Machine {
        let (pipe, budget, limits) = (pipe.clone(), Arc::clone(&self.budgets.bodies), self.limits);
        let exchanges = Exchanges { pipe: pipe.clone(), budget, limits };
        Box::pin(self.builder.serve_connection(pipe, exchanges))
    }

    /// Polls until there is nothing to do: whether the machine has ended, and whether it wants to go on.
    fn poll(&self, machine: &mut Machine) -> (bool, bool) {
        let mut context = Context::from_waker(&self.waker);
        for _ in 0..POLLS_MAX {
            self.again.0.store(false, Ordering::Relaxed);
            if machine.as_mut().poll(&mut context).is_ready() {
                return (true, false);
            }
            if !self.again.0.load(Ordering::Relaxed) {
                return (false, false);
            }
        }
        (false, true)
    }
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Nothing: the client may send a request.
    Nothing,
    Head,
    Body,
}

/// What is wrong when a deadline passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// Nothing: it is silent for a while, and gives up its buffers.
    Rest,
    /// It is silent for too long.
    Idle,
    Head,
    Body,
    /// Its client takes no bytes.
    Stalled,
}

/// See the module.
pub(crate) struct Connection {
    /// The holder of the certificate that its client has shown.
    pub(crate) certificate: Option<Arc<str>>,
    /// Not while it is silent.
    machine: Option<Machine>,
    pipe: Pipe,
    responses: Responses,
    output: Vec<u8>,
    sent: usize,
    reading: Reading,
    /// When it began to read this, or to be silent.
    since: MonoTime,
    /// When the client last took bytes.
    moved: MonoTime,
    /// The number of the next request.
    next: u32,
    /// The client waits for word that it is to send its body.
    owes_continue: bool,
    /// The state machine has ended: it reads no further request.
    has_ended: bool,
    /// No further request is taken.
    is_ending: bool,
    /// Its client has to take output before more is read.
    is_full: bool,
    /// Its last response is written.
    is_over: bool,
    /// There was no room for a response, or a body was given up: it is closed at once.
    pub(crate) is_broken: bool,
    /// It is to be closed.
    pub(crate) is_closing: bool,
    /// It is to be polled already.
    pub(crate) is_runnable: bool,
    /// Nothing is read from its socket for now.
    pub(crate) is_paused: bool,
    /// The earliest time at which its deadline is looked at.
    pub(crate) looked_at: Option<MonoTime>,
}

impl Connection {
    pub(crate) fn new(certificate: Option<Arc<str>>, now: MonoTime) -> Self {
        Self {
            certificate,
            machine: None,
            pipe: Pipe::default(),
            responses: Responses::default(),
            output: Vec::new(),
            sent: 0,
            reading: Reading::Nothing,
            since: now,
            moved: now,
            next: 0,
            owes_continue: false,
            has_ended: false,
            is_ending: false,
            is_full: false,
            is_over: false,
            is_broken: false,
            is_closing: false,
            is_runnable: false,
            is_paused: false,
            looked_at: None,
        }
    }

    /// Bytes have come.
    pub(crate) fn feed(&mut self, bytes: &[u8], now: MonoTime) {
        if self.is_ending {
            return;
        }
        if self.reading == Reading::Nothing {
            self.read(Reading::Head, now);
        }
        self.pipe.lock().input.extend_from_slice(bytes);
    }

    fn read(&mut self, reading: Reading, now: MonoTime) {
        (self.reading, self.since) = (reading, now);
    }

    /// Bytes that have come and are not looked at yet.
    pub(crate) fn unread(&self) -> usize {
        self.pipe.lock().input.len()
    }

    /// Reads requests. Whether there is more to read at once.
    pub(crate) fn poll(&mut self, machines: &Machines, now: MonoTime) -> bool {
        if self.is_ending || self.has_ended || (self.machine.is_none() && self.unread() == 0) {
            return false;
        }
        self.is_full = self.output().len() >= OUTPUT_BYTES_MAX;
        if self.is_full {
            return false;
        }
        let machine = self.machine.get_or_insert_with(|| machines.make(&self.pipe));
        let (has_ended, again) = machines.poll(machine);
        self.has_ended = has_ended;
        let mut locked = self.pipe.lock();
        let ends = &mut *locked;
        placeholder::take(&mut ends.own, |own| match own {
            Own::Placeholder => {}
            Own::Continue => self.owes_continue = true,
            Own::Error(status) => {
                ends.under_way += 1;
                ends.arrivals.push_back(Arrival::Refused(Refusal::NoRequest(status)));
            }
        });
        let (reads_body, has_arrivals) = (ends.reads_body, !ends.arrivals.is_empty());
        drop(locked);
        if reads_body && (has_arrivals || self.reading != Reading::Body) {
            self.read(Reading::Body, now);
        } else if has_arrivals && !reads_body {
            self.read(Reading::Nothing, now);
        }
        again
    }

    /// Takes a request that was read, or why there is none, with its number.
    pub(crate) fn next_arrival(&mut self) -> Option<(u32, Result<Request, Refusal>)> {
        if self.is_ending {
            return None;
        }
        let arrival = self.pipe.lock().arrivals.pop_front();
        let Some(arrival) = arrival else {
            if self.has_ended {
                self.end();
            }
            return None;
        };
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        match arrival {
            Arrival::Whole(request, version, share) => {
                self.responses.push(Slot::new(number, Some((&request.method, version)), Some(share)));
                Some((number, Ok(request)))
            }
            Arrival::Refused(refusal) => {
                self.responses.push(Slot::new(number, None, None));
                self.end();
                Some((number, Err(refusal)))
            }
        }
    }

    /// Reads no further request.
    pub(crate) fn end(&mut self) {
        self.is_ending = true;
        self.owes_continue = false;
        self.machine = None;
        self.responses.end();
        let mut ends = self.pipe.lock();
        ends.input.clear();
        ends.arrivals.clear();
    }

    /// Refuses the request that is being read, and reads no further one.
    pub(crate) fn refuse(&mut self, response: Response, machines: &Machines) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.pipe.lock().under_way += 1;
        self.responses.push(Slot::new(number, None, None));
        self.end();
        self.respond(number, response, machines);
    }

    fn respond(&mut self, number: u32, response: Response, machines: &Machines) {
        self.is_broken |= !self.responses.respond(number, response, machines.budgets.responses.share());
    }

    /// Takes what is said of a request. Whether the rest of its stream is lost by it.
    pub(crate) fn say(&mut self, number: u32, say: Say, limits: &HttpLimits, machines: &Machines) -> bool {
        match say {
            Say::Respond(response) => self.respond(number, response, machines),
            Say::Push(piece) => return self.responses.push_piece(number, piece, limits.stream_bytes_max),
            Say::Finish => self.responses.finish(number),
            Say::Abort => self.is_broken |= self.responses.gives_up(number),
        }
        false
    }

    /// Writes what can be written, in order. Gives streams whose rest nobody gets.
    pub(crate) fn write(&mut self, date: &str, now: MonoTime) -> Vec<u32> {
        if self.is_broken {
            // The end of a body must not follow what was given up.
            return Vec::new();
        }
        if self.output().is_empty() {
            self.output.clear();
            (self.sent, self.moved) = (0, now);
        }
        if self.owes_continue && self.responses.is_empty() {
            self.owes_continue = false;
            self.output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let unsent_max = self.sent + OUTPUT_BYTES_MAX;
        let Written { answered, is_last, gone } = self.responses.write(&mut self.output, unsent_max, date);
        if answered > 0 {
            self.pipe.lock().under_way -= answered;
            if self.reading == Reading::Nothing {
                self.since = now;
            }
        }
        self.is_over |= is_last || (self.is_ending && self.responses.is_empty());
        gone
    }

    /// Whether it may read on: it had too much output, or too many requests under way.
    pub(crate) fn takes_more(&mut self, now: MonoTime) -> bool {
        if self.is_full && self.output().len() < OUTPUT_BYTES_MAX {
            (self.is_full, self.since) = (false, now);
            return true;
        }
        let mut ends = self.pipe.lock();
        let takes_more = ends.is_stuck && ends.under_way < UNDER_WAY_MAX;
        if takes_more {
            // Its client waited for us, not we for it.
            (ends.is_stuck, self.since) = (false, now);
        }
        takes_more
    }

    /// Gives up the state machine, and all buffers, while there is nothing to read.
    pub(crate) fn rest(&mut self, now: MonoTime) {
        self.pipe.lock().give_room_back();
        if self.output().is_empty() {
            (self.output, self.sent) = (Vec::new(), 0);
        }
        let Some(machine) = self.machine.take() else { return };
        let begun = Pin::into_inner(machine).into_parts().read_buf;
        if !begun.is_empty() {
            // The beginning of a request that came behind another one.
            let input = &mut self.pipe.lock().input;
            let rest = input.split();
            input.extend_from_slice(&begun);
            input.extend_from_slice(&rest);
            (self.reading, self.since) = (Reading::Head, now);
        }
    }

    /// Whether its last response is written, so that it is to be closed.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether everything that was read is answered and sent.
    pub(crate) fn is_answered(&self) -> bool {
        self.responses.is_empty() && self.output().is_empty()
    }

    /// Requests that the handler still owes something.
    pub(crate) fn open(&self) -> impl Iterator<Item = u32> + '_ {
        self.responses.open()
    }

    pub(crate) fn output(&self) -> &[u8] {
        self.output.get(self.sent..).unwrap_or_default()
    }

    /// So many bytes were sent. Whether all are.
    pub(crate) fn sent(&mut self, count: usize, now: MonoTime) -> bool {
        self.sent += count;
        self.moved = now;
        let is_all = self.sent >= self.output.len();
        if is_all {
            self.output.clear();
            self.output.shrink_to(ROOM_BYTES_MAX);
            self.sent = 0;
        }
        is_all
    }

    /// When something must have happened, and what is wrong otherwise.
    pub(crate) fn deadline(&self, limits: &HttpLimits) -> Option<(MonoTime, Late)> {
        if !self.output().is_empty() {
            return Some((self.moved.plus_ms(limits.stall_ms_max), Late::Stalled));
        }
        if self.is_ending || self.is_full || self.pipe.lock().is_stuck {
            return None;
        }
        let (ms, late) = match self.reading {
            Reading::Head => (limits.head_ms_max, Late::Head),
            Reading::Body => (limits.body_ms_max, Late::Body),
            Reading::Nothing if !self.responses.is_empty() => return None,
            Reading::Nothing if self.machine.is_some() && REST_MS < limits.idle_ms_max => {
                (REST_MS, Late::Rest)
            }
            Reading::Nothing => (limits.idle_ms_max, Late::Idle),
        };
        Some((self.since.plus_ms(ms), late))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::StatusCode;

    use super::*;
    use crate::message::Body;

    const LIMITS: HttpLimits = HttpLimits { head_bytes_max: 8 << 10, ..HttpLimits::DEFAULT };

    fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    struct One {
        machines: Machines,
        connection: Connection,
    }

    impl One {
        fn new() -> Self {
            let machines = Machines::new(&LIMITS, Budgets::new(&LIMITS));
            Self { machines, connection: Connection::new(None, at(0)) }
        }

        /// The paths of the requests that are read from these bytes, with their numbers.
        fn read(&mut self, bytes: &str, now: u64) -> Vec<(u32, String)> {
            self.connection.feed(bytes.as_bytes(), at(now));
            self.connection.poll(&self.machines, at(now));
            let arrivals = core::iter::from_fn(|| self.connection.next_arrival());
            arrivals
                .map(|(number, request)| (number, request.expect("a request").uri.path().into()))
                .collect()
        }

        /// The bodies of the responses that are written by it.
        fn answer(&mut self, number: u32, words: &'static str, now: u64) -> String {
            let body = Body::Whole(Bytes::from_static(words.as_bytes()));
            let response = Response::new(StatusCode::OK, "text/plain", body);
            self.connection.say(number, Say::Respond(response), &LIMITS, &self.machines);
            assert!(self.connection.write("now", at(now)).is_empty());
            let text = String::from_utf8(self.connection.output().to_vec()).expect("text");
            self.connection.sent(text.len(), at(now));
            text.split("HTTP/1.1 200 OK").filter_map(|one| one.rsplit("\r\n\r\n").next()).collect()
        }
    }

    const GET: &str = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";

    #[test]
    fn responses_wait_for_those_before_them() {
        let mut one = One::new();
        let read = one.read(&GET.repeat(3), 0);
        assert_eq!(read.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((one.answer(2, "c", 0), one.answer(1, "b", 0)), (String::new(), String::new()));
        assert_eq!(one.connection.open().collect::<Vec<_>>(), [0]);
        assert_eq!(one.answer(0, "a", 0), "abc");
        assert_eq!(one.answer(0, "again", 0), "", "it is answered once");
    }

    #[test]
    fn silent_connection_gives_up_its_machine_and_loses_no_byte() {
        let mut one = One::new();
        assert!(one.connection.machine.is_none());
        assert_eq!(one.read(&format!("{GET}GET /b HT"), 5).len(), 1);
        assert_eq!(one.connection.deadline(&LIMITS), None, "it is being answered");
        one.answer(0, "a", 10);
        assert_eq!(one.connection.deadline(&LIMITS), Some((at(10 + REST_MS), Late::Rest)));
        one.connection.rest(at(3_000));
        assert!(one.connection.machine.is_none());
        // What came of the second request counts from now on.
        assert_eq!(one.connection.deadline(&LIMITS), Some((at(3_000 + LIMITS.head_ms_max), Late::Head)));
        assert_eq!(one.read("TP/1.1\r\nhost: x\r\n\r\n", 4_000), [(1, "/b".into())]);
        one.answer(1, "b", 4_000);
        one.connection.rest(at(7_000));
        assert_eq!(one.connection.deadline(&LIMITS), Some((at(4_000 + LIMITS.idle_ms_max), Late::Idle)));
        assert_eq!(one.read(GET, 8_000), [(2, "/a".into())]);
    }

    #[test]
    fn time_of_a_client_stands_still_while_it_waits_for_us() {
        let mut one = One::new();
        assert_eq!(one.read(&GET.repeat(20), 0).len(), 16);
        assert_eq!(one.connection.deadline(&LIMITS), None);
        one.answer(0, "a", 50_000);
        assert!(one.connection.takes_more(at(50_000)));
        assert_eq!(one.read("", 50_000).len(), 1);
    }

    #[test]
    fn nothing_is_read_behind_a_request_that_ends_the_connection() {
        let mut one = One::new();
        let last = "GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        assert_eq!(one.read(&format!("{last}{GET}"), 0).len(), 1);
        assert!(!one.connection.is_over());
        one.answer(0, "a", 0);
        assert!(one.connection.is_over());
        assert!(one.read(GET, 0).is_empty());
    }
}
