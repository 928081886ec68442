//! What is on its way between clients and edges. On each connection it comes in order; connections overtake each other.

use std::collections::BTreeMap;

use base::Random;
use objects_http::HttpResponse;

use super::edge::FromClient;

/// How long something takes at the most, before anything goes wrong, milliseconds.
const USUAL_MS: u64 = 5;
/// How often what does not come through is tried again, milliseconds.
const AGAIN_MS: u64 = 20;

/// To a client.
#[derive(Debug)]
pub(super) enum ToClient {
    Response(HttpResponse),
    /// More of a stream.
    More,
    /// The stream ends.
    Finished,
    /// The connection is closed by the other end.
    Broken,
}

/// What is on its way, on the connection of an attempt.
#[derive(Debug)]
pub(super) enum Flight {
    ToEdge(FromClient),
    ToClient(ToClient),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Travel {
    queue: BTreeMap<(u64, u64), (u64, Flight)>,
    sent: u64,
    /// When the last thing arrives on each connection, by attempt.
    last_ms: BTreeMap<u64, u64>,
}

impl Travel {
    /// Something sets out.
    pub(super) fn send(
        &mut self,
        now_ms: u64,
        extra_ms: u64,
        attempt: u64,
        flight: Flight,
        random: &mut Random,
    ) {
        let due_ms = now_ms + extra_ms + random.below(USUAL_MS);
        let last_ms = self.last_ms.entry(attempt).or_default();
        *last_ms = due_ms.max(*last_ms);
        self.sent += 1;
        self.queue.insert((*last_ms, self.sent), (attempt, flight));
    }

    /// Something does not come through now.
    pub(super) fn hold(&mut self, now_ms: u64, attempt: u64, flight: Flight) {
        let due_ms = now_ms + AGAIN_MS;
        // What was sent later on its connection is held as well, and comes behind it.
        let is_later = |(key, one): &(&(u64, u64), &(u64, Flight))| one.0 == attempt && key.0 <= due_ms;
        let later: Vec<_> = self.queue.iter().filter(is_later).map(|(key, _)| *key).collect();
        let later: Vec<_> = later.iter().filter_map(|key| self.queue.remove(key)).collect();
        for one in [(attempt, flight)].into_iter().chain(later) {
            self.sent += 1;
            self.queue.insert((due_ms, self.sent), one);
        }
        let last_ms = self.last_ms.entry(attempt).or_default();
        *last_ms = due_ms.max(*last_ms);
    }

    /// What has arrived next.
    pub(super) fn arrive(&mut self, now_ms: u64) -> Option<(u64, Flight)> {
        let first = self.queue.first_entry().filter(|first| first.key().0 <= now_ms)?;
        Some(first.remove())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
