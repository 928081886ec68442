//! One connection: `hyper`'s state machine over a [`Pipe`], what it has to send, and how long its client may take.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use base::MonoTime;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::server::conn::http1;

use crate::exchange::Exchanges;
use crate::handler::Say;
use crate::limits::{Budget, HttpLimits};
use crate::message::{Body, Response};
use crate::pipe::{Arrival, Pieces, Pipe};

/// How often a connection is polled again in a turn because it asks for it.
const POLLS_MAX: usize = 16;

/// Notes that the state machine wants to be polled again.
#[derive(Debug, Default)]
pub(crate) struct Again(AtomicBool);

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What polls the connections of a shard.
pub(crate) struct Poller {
    again: Arc<Again>,
    waker: Waker,
}

impl Default for Poller {
    fn default() -> Self {
        let again = Arc::<Again>::default();
        Self { waker: Waker::from(Arc::clone(&again)), again }
    }
}

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing: its client may send a request.
    Idle,
    /// It reads the head of a request.
    Head,
    /// It reads a body.
    Body,
    /// Its request is being answered.
    Waiting,
    /// The body of its response is being streamed.
    Streaming,
    /// It is over, and closed once its output is sent.
    Over,
}

/// Which connection is closed, and which refused, when its deadline passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    Idle,
    Head,
    Body,
    /// Its client takes no bytes.
    Stalled,
}

/// What is to be done once a connection was polled.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is looked at once, where it is made")]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A request is shown to the handler.
    Arrival(Arrival),
    /// Nobody reads the rest of a stream that the handler has not finished.
    StreamGone,
    /// The connection is over: close it after its output.
    Over,
    /// It wants to be polled in the next turn.
    Again,
}

/// See the module.
pub(crate) struct Connection {
    http: Pin<Box<http1::Connection<Pipe, Exchanges>>>,
    pipe: Pipe,
    output: Vec<u8>,
    sent: usize,
    pub(crate) stage: Stage,
    /// When the stage began, or when the client last took bytes.
    since: MonoTime,
    moved: MonoTime,
    /// The number of the request that is, or was, answered.
    pub(crate) request: u32,
    /// What takes the place of a piece that finds no room.
    overflow: Bytes,
    /// Bytes came while a request was answered: the head of the next one, perhaps.
    has_more: bool,
    /// It ends behind the response that is on its way.
    closes: bool,
    /// The state machine has ended.
    done: bool,
    /// Nothing is read from its socket for now.
    pub(crate) is_paused: bool,
    /// The earliest time at which its deadline is looked at.
    pub(crate) looked_at: Option<MonoTime>,
}

impl Connection {
    pub(crate) fn new(limits: &HttpLimits, budget: &Arc<Budget>, now: MonoTime) -> Self {
        let pipe = Pipe::default();
        let exchanges = Exchanges {
            pipe: pipe.clone(),
            budget: Arc::clone(budget),
            body_bytes_max: limits.body_bytes_max,
        };
        let mut builder = http1::Builder::new();
        // Flushing is a copy in memory here: the event loop joins what is written in a turn.
        builder.header_read_timeout(None).max_header_size(limits.head_bytes_max);
        builder.max_buf_size(limits.head_bytes_max.max(MIN_BUFFER));
        Self {
            http: Box::pin(builder.serve_connection(pipe.clone(), exchanges)),
            pipe,
            output: Vec::new(),
            sent: 0,
            stage: Stage::Idle,
            since: now,
            moved: now,
            request: 0,
            overflow: Bytes::new(),
            has_more: false,
            closes: false,
            done: false,
            is_paused: false,
            looked_at: None,
        }
    }

    /// Bytes have come.
    pub(crate) fn feed(&mut self, bytes: &[u8], now: MonoTime) {
        match self.stage {
            Stage::Over => return,
            Stage::Idle => self.enter(Stage::Head, now),
            Stage::Waiting | Stage::Streaming => self.has_more = true,
            Stage::Head | Stage::Body => {}
        }
        self.pipe.lock().input.extend_from_slice(bytes);
    }

    /// Bytes that have come and are not looked at yet.
    pub(crate) fn unread(&self) -> usize {
        self.pipe.lock().input.len()
    }

    fn enter(&mut self, stage: Stage, now: MonoTime) {
        (self.stage, self.since) = (stage, now);
    }

    /// Lets the state machine go on.
    pub(crate) fn poll(&mut self, poller: &Poller, now: MonoTime) -> Found {
        if self.stage == Stage::Over {
            return Found::Nothing;
        }
        let mut context = Context::from_waker(&poller.waker);
        let mut again = !self.done;
        for _ in 0..POLLS_MAX {
            if !again {
                break;
            }
            poller.again.0.store(false, Ordering::Relaxed);
            self.done = self.http.as_mut().poll(&mut context).is_ready();
            again = !self.done && poller.again.0.load(Ordering::Relaxed);
        }
        self.take_output(now);
        self.found(again, now)
    }

    fn take_output(&mut self, now: MonoTime) {
        let mut ends = self.pipe.lock();
        if ends.output.is_empty() {
            return;
        }
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            self.moved = now;
            std::mem::swap(&mut self.output, &mut ends.output);
        } else {
            self.output.append(&mut ends.output);
        }
        ends.unsent = self.output.len() - self.sent;
    }

    fn found(&mut self, again: bool, now: MonoTime) -> Found {
        let (arrival, stream_over, reads_body) = {
            let mut ends = self.pipe.lock();
            (ends.arrival.take(), std::mem::take(&mut ends.stream_over), ends.reads_body)
        };
        if stream_over && self.stage == Stage::Streaming {
            let was_finished = self.pipe.lock().pieces.finished;
            self.after_response(now);
            if !was_finished {
                self.closes = true;
                return Found::StreamGone;
            }
        }
        let closes = self.closes && !matches!(self.stage, Stage::Waiting | Stage::Streaming);
        if self.done || closes {
            return Found::Over;
        }
        if let Some(arrival) = arrival {
            self.request = self.request.wrapping_add(1);
            self.has_more = false;
            self.enter(Stage::Waiting, now);
            return Found::Arrival(arrival);
        }
        if reads_body && self.stage != Stage::Body {
            self.enter(Stage::Body, now);
        }
        if again { Found::Again } else { Found::Nothing }
    }

    /// The response is on its way: the next request may come.
    fn after_response(&mut self, now: MonoTime) {
        let stage = if std::mem::take(&mut self.has_more) { Stage::Head } else { Stage::Idle };
        self.enter(stage, now);
    }

    /// Takes what the handler says of its present request. Whether the rest of the stream is lost by it.
    pub(crate) fn say(&mut self, say: Say, limits: &HttpLimits, now: MonoTime) -> bool {
        match (say, self.stage) {
            (Say::Respond(mut response), Stage::Waiting) => {
                match &mut response.body {
                    Body::Whole(_) => self.after_response(now),
                    Body::Stream { overflow } => {
                        self.overflow = std::mem::take(overflow);
                        self.enter(Stage::Streaming, now);
                    }
                }
                let mut ends = self.pipe.lock();
                ends.pieces = Pieces::default();
                ends.reply = Some(response);
            }
            (Say::Push(piece), Stage::Streaming) => return self.push(piece, limits.stream_bytes_max),
            (Say::Finish, Stage::Streaming) => self.pipe.lock().pieces.finished = true,
            _ => {}
        }
        false
    }

    fn push(&mut self, piece: Bytes, bytes_max: usize) -> bool {
        let pieces = &mut self.pipe.lock().pieces;
        if pieces.finished || piece.is_empty() {
            return false;
        }
        let is_full = pieces.bytes + piece.len() > bytes_max;
        let piece = if is_full { std::mem::take(&mut self.overflow) } else { piece };
        pieces.bytes += piece.len();
        if !piece.is_empty() {
            pieces.waiting.push_back(piece);
        }
        pieces.finished = is_full;
        is_full
    }

    /// Answers a request whose body has not come to its end, and closes the connection after that.
    pub(crate) fn cut_short(&mut self, mut response: Response, now: MonoTime) {
        response.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        self.closes = true;
        self.after_response(now);
        self.pipe.lock().reply = Some(response);
    }

    /// Answers a request whose head has not come to its end: `hyper` has no place for such an answer.
    pub(crate) fn refuse_head(&mut self, response: &Response) {
        let reason = response.status.canonical_reason().unwrap_or_default();
        let mut head = format!("HTTP/1.1 {} {reason}\r\nconnection: close\r\n", response.status.as_str());
        for (name, value) in &response.headers {
            head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
        let body: &[u8] = if let Body::Whole(body) = &response.body { body } else { &[] };
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        self.output.extend_from_slice(head.as_bytes());
        self.output.extend_from_slice(body);
        self.stage = Stage::Over;
    }

    /// No request is read behind the present one.
    pub(crate) fn disable_keep_alive(&mut self) {
        self.http.as_mut().graceful_shutdown();
    }

    pub(crate) fn output(&self) -> &[u8] {
        self.output.get(self.sent..).unwrap_or_default()
    }

    /// So many bytes were sent. Whether the state machine may have more.
    pub(crate) fn sent(&mut self, count: usize, now: MonoTime) -> bool {
        self.sent += count;
        self.moved = now;
        if self.sent < self.output.len() {
            return false;
        }
        self.sent = 0;
        // An idle connection holds no room.
        self.output = Vec::new();
        let mut ends = self.pipe.lock();
        ends.unsent = 0;
        std::mem::take(&mut ends.is_full)
    }

    /// When something must have happened, and what is wrong otherwise.
    pub(crate) fn deadline(&self, limits: &HttpLimits) -> Option<(MonoTime, Late)> {
        if !self.output().is_empty() {
            return Some((self.moved.plus_ms(limits.stall_ms_max), Late::Stalled));
        }
        match self.stage {
            Stage::Idle => Some((self.since.plus_ms(limits.idle_ms_max), Late::Idle)),
            Stage::Head => Some((self.since.plus_ms(limits.head_ms_max), Late::Head)),
            Stage::Body => Some((self.since.plus_ms(limits.body_ms_max), Late::Body)),
            Stage::Waiting | Stage::Streaming | Stage::Over => None,
        }
    }
}

/// The least that `hyper` wants for its buffers.
const MIN_BUFFER: usize = 8 << 10;
