//! A client's connection: requests go out with their numbers, answers come in their order (L79).

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};

use super::Around;
use crate::wire::WireId;

/// An answer that has arrived.
pub(crate) struct Answer<C> {
    /// What the request was for.
    pub(crate) of: C,
    version: i16,
    body: Bytes,
}

impl<C> Answer<C> {
    /// Its body, of the request's kind.
    pub(crate) fn read<R: Request>(&self) -> R::Response {
        let mut body = self.body.clone();
        let answer = R::Response::decode(&mut body, self.version).expect("the answer can be read");
        assert!(!body.has_remaining(), "there is nothing behind the answer");
        answer
    }
}

/// What is outstanding, in order.
struct Outstanding<C> {
    correlation_id: i32,
    key: ApiKey,
    version: i16,
    of: C,
    sent_ms: u64,
}

/// See the module. `C` is what requests are for.
pub(crate) struct Link<C> {
    wire: Option<WireId>,
    outstanding: VecDeque<Outstanding<C>>,
    next: i32,
    /// It does not try to connect before.
    rests_until_ms: u64,
}

/// How long a client rests after a connection that broke, milliseconds.
const REST_MS: u64 = 30;

impl<C> Link<C> {
    pub(crate) const fn new() -> Self {
        Self { wire: None, outstanding: VecDeque::new(), next: 0, rests_until_ms: 0 }
    }

    /// Connects if that is possible. Gives whether it is connected.
    pub(crate) fn connect(&mut self, around: &mut Around<'_>) -> bool {
        if self.wire.is_some() {
            return true;
        }
        if around.now_ms < self.rests_until_ms {
            return false;
        }
        let broker = 0;
        let Some(process) = around.brokers.get_mut(broker).and_then(|of| of.serving(around.now_ms)) else {
            return false;
        };
        let wire = around.wires.open(broker);
        process.accept(wire);
        self.wire = Some(wire);
        true
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Since when the first request is outstanding.
    pub(crate) fn waits_since_ms(&self) -> Option<u64> {
        self.outstanding.front().map(|first| first.sent_ms)
    }

    /// Sends a request.
    pub(crate) fn send<R: Request>(&mut self, around: &mut Around<'_>, version: i16, request: &R, of: C) {
        let Some(wire) = self.wire else { return };
        let key = ApiKey::try_from(R::KEY).expect("it is an API");
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.next)
            .with_client_id(Some(StrBytes::from_static_str("sim")));
        let mut frame = BytesMut::from(&[0u8; 4][..]);
        header.encode(&mut frame, key.request_header_version(version)).expect("it can be written");
        request.encode(&mut frame, version).expect("it can be written");
        let length = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        around.wires.send(wire, &frame);
        let (correlation_id, sent_ms) = (self.next, around.now_ms);
        self.outstanding.push_back(Outstanding { correlation_id, key, version, of, sent_ms });
        self.next += 1;
    }

    /// The next answer that has arrived.
    pub(crate) fn receive(&mut self, around: &mut Around<'_>) -> Option<Answer<C>> {
        let wire = around.wires.get_mut(self.wire?)?;
        let length = u32::from_be_bytes(*wire.arrived.first_chunk()?) as usize;
        if wire.arrived.len() < 4 + length {
            return None;
        }
        let frame: Vec<u8> = wire.arrived.drain(..4 + length).skip(4).collect();
        let mut frame = Bytes::from(frame);
        around.history.judge(79);
        let Some(first) = self.outstanding.pop_front() else {
            around.history.wrong(79, String::from("an answer to no request"));
            return None;
        };
        let header = ResponseHeader::decode(&mut frame, first.key.response_header_version(first.version));
        let correlation_id = header.expect("the header can be read").correlation_id;
        if correlation_id != first.correlation_id {
            let expected = first.correlation_id;
            around.history.wrong(79, format!("answer {correlation_id} in place of {expected}"));
        }
        Some(Answer { of: first.of, version: first.version, body: frame })
    }

    /// Whether the connection broke, or an answer is late.
    pub(crate) fn is_lost(&self, around: &Around<'_>, patience_ms: u64) -> bool {
        let is_broken = self.wire.is_some_and(|wire| around.wires.is_broken(wire));
        is_broken || self.waits_since_ms().is_some_and(|since| since + patience_ms < around.now_ms)
    }

    /// What was outstanding on a connection that broke; nothing while it stands.
    pub(crate) fn broken(&mut self, around: &mut Around<'_>) -> Option<Vec<C>> {
        let wire = self.wire?;
        if !around.wires.is_broken(wire) {
            return None;
        }
        Some(self.leave(around))
    }

    /// Gives the connection up, and with it what is on its way. Gives what was outstanding.
    pub(crate) fn forget(&mut self, around: &mut Around<'_>) -> Vec<C> {
        if let Some(wire) = self.wire {
            around.wires.lose(wire);
        }
        self.leave(around)
    }

    /// Gives the connection up. Gives what was outstanding.
    pub(crate) fn leave(&mut self, around: &mut Around<'_>) -> Vec<C> {
        if let Some(wire) = self.wire.take() {
            around.wires.leave(wire);
        }
        self.rests_until_ms = around.now_ms + REST_MS;
        std::mem::take(&mut self.outstanding).into_iter().map(|outstanding| outstanding.of).collect()
    }
}
