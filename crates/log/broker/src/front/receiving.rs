//! From bytes to requests: frames are cut, and each goes to the broker or to the authentication of its connection.

use std::sync::Arc;

use base::Now;
use log_wire::{Frame, next_frame};
use net_event_loop::ConnId;

use super::Front;
use super::connection::Connection;
use super::dispatch::list_apis;
use super::refusal::Refusal;
use super::timers::Due;
use super::unfinished::Unfinished;
use crate::authentication::{Expired, Outcome, Told};
use crate::broker::Broker;
use crate::call::Handled;
use crate::response::{Head, Response};
use crate::waits::Waiter;

impl<F> Front<F> {
    /// Handles whole requests at the beginning of `bytes`. Gives how many bytes they are.
    pub(super) fn receive(&mut self, broker: &mut Broker, conn: ConnId, bytes: &[u8], now: Now) -> usize {
        if let Some(connection) = self.places.get_mut(conn) {
            connection.active = now.mono();
        }
        let (mut rest, mut whole_bytes) = (bytes, None);
        loop {
            let Some(connection) = self.places.get(conn).filter(|connection| !connection.is_ending) else {
                self.unfinished.forget(conn);
                return bytes.len();
            };
            let congested = broker.is_congested();
            if congested || self.limits.hold_up(connection) {
                self.pause(conn);
                self.congested.extend(congested.then_some(conn));
                break;
            }
            match next_frame(rest, self.request_bytes_max(connection)) {
                Frame::Whole { content, rest: behind } => {
                    self.handle(broker, conn, content, now);
                    rest = behind;
                }
                Frame::Partial { missing } => {
                    whole_bytes = Some(rest.len() + missing);
                    break;
                }
                Frame::TooLong => self.end(conn, Refusal::LongRequest),
            }
        }
        let is_known = self.places.get(conn).is_some_and(|connection| connection.session.is_known());
        self.hold(conn, Unfinished { bytes: rest.len(), whole_bytes, is_known }, now);
        bytes.len() - rest.len()
    }

    /// What is left of what a connection has sent is kept.
    fn hold(&mut self, conn: ConnId, unfinished: Unfinished, now: Now) {
        if self.unfinished.hold(conn, unfinished, now.mono()) {
            if let Some(connection) = self.places.get_mut(conn) {
                connection.waits_for_room = true;
            }
            self.pause(conn);
        }
    }

    /// How long the next request of a connection may be.
    fn request_bytes_max(&self, connection: &Connection<F>) -> usize {
        let listener = self.listeners.get(usize::from(connection.client.listener));
        match listener {
            Some(listener) if !connection.session.is_known() => {
                listener.sasl.receive_bytes_max.min(self.limits.request_bytes_max)
            }
            _ => self.limits.request_bytes_max,
        }
    }

    fn handle(&mut self, broker: &mut Broker, conn: ConnId, frame: &[u8], now: Now) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        match connection.session.awaits(frame, now.mono()) {
            Ok(false) => self.request(broker, conn, frame, now),
            Ok(true) => self.authenticate(broker, conn, frame, now),
            Err(Expired) => self.end(conn, Refusal::Expired),
        }
    }

    /// A frame of a client that has not proved who it is, or proves it again.
    fn authenticate(&mut self, broker: &mut Broker, conn: ConnId, frame: &[u8], now: Now) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let Some(listener) = self.listeners.get(usize::from(connection.client.listener)) else { return };
        let shared = &mut broker.node.access.authentication;
        let waiter = Waiter { shard: self.shard, conn, request: connection.next_request() };
        let (session, client) = (&mut connection.session, &mut connection.client);
        match session.frame(frame, shared, (listener, client), now) {
            Outcome::Answered(head, told) => {
                connection.begin(head);
                self.answers.push((waiter, response_of(head, told)));
            }
            Outcome::Authenticated(head, response, principal) => {
                Arc::make_mut(client).principal = principal;
                self.timers.cancel(conn, &mut connection.deadlines, Due::Authentication);
                self.authenticated.push(conn);
                connection.begin(head);
                self.answers.push((waiter, response));
            }
            Outcome::Failed(head, told, why) => {
                self.refused.push((client.clone(), Refusal::Authentication, why));
                connection.begin(head);
                connection.blocked_by = Some(waiter.request);
                connection.failure = Some((waiter, response_of(head, told)));
                let at = now.mono().plus_ms(self.limits.failure_delay_ms);
                self.timers.set(conn, &mut connection.deadlines, Due::Failure, at);
            }
            Outcome::Closed => self.end(conn, Refusal::Authentication),
        }
    }

    /// A client is told that its authentication has failed, and its connection ends.
    pub(super) fn tell_failure(&mut self, conn: ConnId) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let Some((waiter, response)) = connection.failure.take() else { return };
        self.timers.cancel(conn, &mut connection.deadlines, Due::Authentication);
        connection.ends_behind = Some(waiter.request);
        self.answers.push((waiter, response));
    }

    /// An ordinary request.
    fn request(&mut self, broker: &mut Broker, conn: ConnId, frame: &[u8], now: Now) {
        let shard = self.shard;
        let Some(connection) = self.places.get_mut(conn) else { return };
        let waiter = Waiter { shard, conn, request: connection.next_request() };
        let Ok((head, handled)) = broker.request(frame, waiter, &connection.client, now) else {
            return self.end(conn, Refusal::BadRequest);
        };
        connection.begin(head);
        connection.note_fetcher(broker, head, frame);
        if head.throttle_ms > 0 {
            self.mute(conn, head.throttle_ms, now.mono());
        }
        let Some(connection) = self.places.get_mut(conn) else { return };
        match handled {
            Handled::Pipelined => {}
            Handled::Waits => connection.blocked_by = Some(waiter.request),
            Handled::Silent => connection.no_answer(waiter.request),
            Handled::Done(response) => {
                // What is large is written and sent before the next request is handled.
                match response.bytes_kept() {
                    Some(bytes) => connection.queued_bytes += bytes,
                    None => connection.blocked_by = Some(waiter.request),
                }
                self.answers.push((waiter, response));
            }
        }
    }
}

fn response_of(head: Head, told: Told) -> Response {
    match told {
        Told::Response(response) => response,
        Told::Versions(error) => list_apis(head.version, error),
    }
}
