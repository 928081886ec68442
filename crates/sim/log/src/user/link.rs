//! A client's connection: requests go out with their numbers, answers come in their order (L79).

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use kafka_protocol::messages::{ApiKey, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Request};

use super::Around;
use super::finder::{Finder, Target, frame, take_frame};
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
    target: Target,
    finder: Finder,
    /// Whom it is connected to has said that another broker is to be asked.
    is_misled: bool,
}

/// After these, another broker may be the leader or the coordinator.
const MOVED: [i16; 8] = [3, 5, 6, 15, 16, 74, 75, 100];

/// How long a client rests after a connection that broke, milliseconds.
const REST_MS: u64 = 30;

impl<C> Default for Link<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> Link<C> {
    /// With any broker.
    pub(crate) const fn new() -> Self {
        Self::to(Target::Any)
    }

    pub(crate) const fn to(target: Target) -> Self {
        Self {
            wire: None,
            outstanding: VecDeque::new(),
            next: 0,
            rests_until_ms: 0,
            target,
            finder: Finder::new(),
            is_misled: false,
        }
    }

    /// Another broker may have to be asked from now on. What was outstanding is lost then.
    pub(crate) fn aim(&mut self, around: &mut Around<'_>, target: Target) {
        if self.target != target {
            self.target = target;
            self.finder = Finder::new();
            if around.brokers.len() > 1 && self.wire.is_some() {
                self.leave(around);
                self.rests_until_ms = 0;
            }
        }
    }

    /// A request was answered with this error. If another broker has to be asked, the connection counts as lost.
    pub(crate) fn misled(&mut self, around: &mut Around<'_>, error: i16) {
        if around.brokers.len() > 1 && MOVED.contains(&error) {
            around.sim.count("another broker is to be asked", 1);
            self.is_misled = true;
        }
    }

    /// Connects if that is possible. Gives whether it is connected.
    pub(crate) fn connect(&mut self, around: &mut Around<'_>) -> bool {
        if self.wire.is_some() {
            return true;
        }
        if around.now_ms < self.rests_until_ms {
            return false;
        }
        let Some(broker) = self.finder.find(around, &self.target) else { return false };
        let Some(process) = around.brokers.get_mut(broker).and_then(|of| of.serving(around.now_ms)) else {
            self.finder.forget();
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
        around.wires.send(wire, &frame(self.next, version, request));
        let (correlation_id, sent_ms) = (self.next, around.now_ms);
        self.outstanding.push_back(Outstanding { correlation_id, key, version, of, sent_ms });
        self.next += 1;
    }

    /// The next answer that has arrived.
    pub(crate) fn receive(&mut self, around: &mut Around<'_>) -> Option<Answer<C>> {
        let mut frame = take_frame(around, self.wire?)?;
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
        let is_broken = self.is_misled || self.wire.is_some_and(|wire| around.wires.is_broken(wire));
        is_broken || self.waits_since_ms().is_some_and(|since| since + patience_ms < around.now_ms)
    }

    /// What was outstanding on a connection that broke; nothing while it stands.
    pub(crate) fn broken(&mut self, around: &mut Around<'_>) -> Option<Vec<C>> {
        let wire = self.wire?;
        if !self.is_misled && !around.wires.is_broken(wire) {
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
        self.is_misled = false;
        self.finder.forget();
        std::mem::take(&mut self.outstanding).into_iter().map(|outstanding| outstanding.of).collect()
    }
}
