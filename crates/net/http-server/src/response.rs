//! Responses as bytes, in the order of their requests.

use std::collections::VecDeque;
use std::io::Write as _;

use base::Decimal;
use bytes::Bytes;
use http::{Method, StatusCode, Version};

use crate::limits::Share;
use crate::message::{Body, Response};

/// Bytes that most heads have at the most.
const HEAD_BYTES: usize = 256;

/// What is known of a request until its response is written.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) number: u32,
    is_head: bool,
    is_old: bool,
    /// Nothing follows behind the response.
    pub(crate) is_last: bool,
    state: State,
    /// What the request's body takes of the budget, until it is answered; then what the response takes.
    share: Option<Share>,
}

#[derive(Debug)]
enum State {
    Waiting,
    Ready(Response),
    /// Its head is written, and pieces of its body follow.
    Streaming,
}

/// The body of a response that is streamed.
#[derive(Debug, Default)]
struct Pieces {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// The handler has said all.
    finished: bool,
    /// What takes the place of a piece that finds no room.
    overflow: Bytes,
}

impl Slot {
    /// The slot of a request of this method and version.
    pub(crate) fn new(number: u32, request: Option<(&Method, Version)>, share: Option<Share>) -> Self {
        let is_head = request.is_some_and(|(method, _)| *method == Method::HEAD);
        let is_old = request.is_some_and(|(_, version)| version < Version::HTTP_11);
        Self { number, is_head, is_old, is_last: false, state: State::Waiting, share }
    }

    /// Whether the handler has not answered it, or not to its end.
    const fn is_open(&self) -> bool {
        matches!(self.state, State::Waiting | State::Streaming)
    }
}

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// How many requests are answered to their end by it.
    pub(crate) answered: usize,
    /// Whether nothing follows.
    pub(crate) is_last: bool,
    /// Streams that the handler has not finished, and of which nobody gets the rest.
    pub(crate) gone: Vec<u32>,
}

/// The requests of a connection that are not answered, and their responses.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    slots: VecDeque<Slot>,
    /// Of the streams, by their requests' numbers. Most connections have none.
    streams: Vec<(u32, Pieces)>,
}

impl Responses {
    pub(crate) fn push(&mut self, slot: Slot) {
        self.slots.push_back(slot);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Nothing follows behind the newest of them.
    pub(crate) fn end(&mut self) {
        if let Some(last) = self.slots.back_mut() {
            last.is_last = true;
        }
    }

    /// Those that the handler still owes something.
    pub(crate) fn open(&self) -> impl Iterator<Item = u32> + '_ {
        let is_over = |number| self.stream(number).is_some_and(|pieces| pieces.finished);
        self.slots.iter().filter(|slot| slot.is_open()).map(|slot| slot.number).filter(move |n| !is_over(*n))
    }

    fn slot(&mut self, number: u32) -> Option<&mut Slot> {
        let first = self.slots.front()?.number;
        self.slots.get_mut(number.wrapping_sub(first) as usize)
    }

    fn stream(&self, number: u32) -> Option<&Pieces> {
        self.streams.iter().find(|(known, _)| *known == number).map(|(_, pieces)| pieces)
    }

    fn stream_mut(&mut self, number: u32) -> Option<&mut Pieces> {
        self.streams.iter_mut().find(|(known, _)| *known == number).map(|(_, pieces)| pieces)
    }

    /// Whether there is room for the response: it takes its part of `share`, until it is written.
    pub(crate) fn respond(&mut self, number: u32, mut response: Response, mut share: Share) -> bool {
        let Some(slot) = self.slot(number).filter(|slot| matches!(slot.state, State::Waiting)) else {
            return true;
        };
        if let Some(body) = response.body.whole()
            && !share.grow(body.len())
        {
            return false;
        }
        slot.share = Some(share);
        let overflow = match &mut response.body {
            Body::Whole(_) | Body::Written(_) => None,
            Body::Stream { overflow } => Some(std::mem::take(overflow)),
        };
        slot.state = State::Ready(response);
        if let Some(overflow) = overflow {
            self.streams.push((number, Pieces { overflow, ..Pieces::default() }));
        }
        true
    }

    /// Whether the stream ends by it, because its client reads too slowly.
    pub(crate) fn push_piece(&mut self, number: u32, piece: Bytes, bytes_max: usize) -> bool {
        let Some(pieces) = self.stream_mut(number).filter(|pieces| !pieces.finished) else { return false };
        let is_full = pieces.bytes + piece.len() > bytes_max;
        let piece = if is_full { std::mem::take(&mut pieces.overflow) } else { piece };
        if !piece.is_empty() {
            pieces.bytes += piece.len();
            pieces.waiting.push_back(piece);
        }
        pieces.finished = is_full;
        is_full
    }

    pub(crate) fn finish(&mut self, number: u32) {
        if let Some(pieces) = self.stream_mut(number) {
            pieces.finished = true;
        }
    }

    /// Whether a stream is given up: nobody gets the rest. The handler has said all.
    pub(crate) fn gives_up(&mut self, number: u32) -> bool {
        let Some(pieces) = self.stream_mut(number) else { return false };
        pieces.waiting.clear();
        (pieces.bytes, pieces.finished) = (0, true);
        true
    }

    /// Writes what is ready, in order, as long as fewer than so many bytes are unsent.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, unsent_max: usize, date: &str) -> Written {
        let mut written = Written::default();
        while let Some(slot) = self.slots.front_mut().filter(|_| out.len() < unsent_max) {
            let number = slot.number;
            let (is_chunked, is_last) = (!slot.is_old, slot.is_last || (slot.is_old && !answers_whole(slot)));
            let is_over = match std::mem::replace(&mut slot.state, State::Streaming) {
                State::Waiting => {
                    slot.state = State::Waiting;
                    break;
                }
                State::Ready(response) => {
                    slot.is_last = is_last;
                    write_head(out, &response, slot, date);
                    let is_whole = write_whole(out, &response, slot.is_head);
                    is_whole || self.write_pieces(number, out, unsent_max, is_chunked)
                }
                State::Streaming => self.write_pieces(number, out, unsent_max, is_chunked),
            };
            if !is_over {
                break;
            }
            self.slots.pop_front();
            if self.stream(number).is_some_and(|pieces| !pieces.finished) {
                written.gone.push(number);
            }
            self.streams.retain(|(known, _)| *known != number);
            written.answered += 1;
            if is_last {
                written.is_last = true;
                break;
            }
        }
        written
    }

    /// Whether the stream is written to its end.
    fn write_pieces(&mut self, number: u32, out: &mut Vec<u8>, unsent_max: usize, is_chunked: bool) -> bool {
        let Some(pieces) = self.stream_mut(number) else { return true };
        while out.len() < unsent_max {
            let Some(piece) = pieces.waiting.pop_front() else { break };
            pieces.bytes -= piece.len();
            if is_chunked {
                put(out, format_args!("{:x}\r\n", piece.len()));
            }
            out.extend_from_slice(&piece);
            if is_chunked {
                out.extend_from_slice(b"\r\n");
            }
        }
        let is_over = pieces.finished && pieces.waiting.is_empty();
        if is_over && is_chunked {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        is_over
    }
}

/// Whether the body has a length, so that a client of HTTP/1.0 knows where it ends.
fn answers_whole(slot: &Slot) -> bool {
    matches!(&slot.state, State::Ready(response) if response.body.whole().is_some())
}

/// Writing to memory does not fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// The same of parts that need no form.
fn put_all(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn write_head(out: &mut Vec<u8>, response: &Response, slot: &Slot, date: &str) {
    out.reserve(HEAD_BYTES);
    let reason = response.status.canonical_reason().unwrap_or("Unknown");
    put_all(out, &[b"HTTP/1.1 ", response.status.as_str().as_bytes(), b" ", reason.as_bytes(), b"\r\n"]);
    out.extend_from_slice(response.headers.lines());
    match response.body.whole() {
        // A length is not allowed with it.
        Some(_) if response.status == StatusCode::NO_CONTENT => {}
        Some(body) => {
            let length = Decimal::of(body.len() as u64);
            put_all(out, &[b"content-length: ", length.as_str().as_bytes(), b"\r\n"]);
        }
        None if slot.is_old => {}
        None => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    if slot.is_last {
        out.extend_from_slice(b"connection: close\r\n");
    } else if slot.is_old {
        out.extend_from_slice(b"connection: keep-alive\r\n");
    }
    put_all(out, &[b"date: ", date.as_bytes(), b"\r\n\r\n"]);
}

/// Writes a body that is there as a whole; false if it is streamed.
fn write_whole(out: &mut Vec<u8>, response: &Response, is_head: bool) -> bool {
    match response.body.whole() {
        Some(body) => {
            if !is_head && response.status != StatusCode::NO_CONTENT {
                out.extend_from_slice(body);
            }
            true
        }
        None => is_head,
    }
}
