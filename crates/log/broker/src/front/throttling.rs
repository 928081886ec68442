//! Clients that have used more than their quota wait: their connections are not read from for a while.
//!
//! A client is told in its answer how long, and the answer is not held back. What a fetch gives is bounded by what may be used at
//! once, so that no single answer takes a client far beyond its quota.

use std::sync::Arc;

use base::MonoTime;
use log_access::quota::QuotaKey;
use log_wire::{ApiKey, RequestHeader};
use net_event_loop::ConnId;

use super::connection::Connection;
use super::timers::Due;
use super::{BrokerDriver, Front};
use crate::broker::Broker;
use crate::client::Client;
use crate::outgoing::Outgoing;
use crate::response::{Head, Response};

impl<F> Front<F> {
    /// A connection is not read from for so long.
    pub(super) fn mute(&mut self, conn: ConnId, wait_ms: u64, now: MonoTime) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let until = now.plus_ms(wait_ms);
        if connection.muted_until.is_none_or(|at| at < until) {
            connection.muted_until = Some(until);
            self.timers.set(conn, &mut connection.deadlines, Due::Unmute, until);
        }
    }
}

impl<F> Connection<F> {
    /// Keeps who fetches, if that counts against a quota.
    pub(super) fn note_fetcher(&mut self, broker: &Broker, head: Head, frame: &[u8]) {
        if head.api.key != ApiKey::Fetch || !broker.node.access.quotas.has(QuotaKey::ConsumerByteRate) {
            self.fetches_as = None;
        } else if let Ok((header, ..)) = RequestHeader::read(frame) {
            self.fetches_as = Some(header.client_id.unwrap_or_default().into());
        }
    }
}

/// A client that fetches, and whose quota counts that.
pub(super) struct Fetcher {
    client: Arc<Client>,
    client_id: Arc<str>,
    now: MonoTime,
}

impl Fetcher {
    /// The client that gets this response; nothing if it counts against no quota.
    pub(super) fn of<F>(connection: &Connection<F>, response: &Response, now: MonoTime) -> Option<Self> {
        let client_id = connection.fetches_as.clone().filter(|_| matches!(response, Response::Fetch(_)))?;
        Some(Self { client: Arc::clone(&connection.client), client_id, now })
    }

    /// Writes a response to Fetch. Gives how long the client must wait, milliseconds: the response says so.
    pub(super) fn write<D: BrokerDriver>(
        &self,
        driver: &mut D,
        (head, response): (Head, &Response),
        out: &mut Outgoing<D::File>,
        bytes_max: usize,
    ) -> u64 {
        let (at, before) = (out.bytes().len(), out.len());
        response.write(head, driver.segments(), out, bytes_max);
        let (key, used) = (QuotaKey::ConsumerByteRate, (out.len() - before) as f64);
        let wait_ms =
            driver.broker().node.access.charge(key, (&self.client, &self.client_id), used, self.now);
        // The time to wait is what a body begins with.
        if let Some(place) = out.bytes().get_mut(at..).and_then(|body| body.first_chunk_mut()) {
            *place = i32::try_from(wait_ms).unwrap_or(i32::MAX).to_be_bytes();
        }
        wait_ms
    }
}
