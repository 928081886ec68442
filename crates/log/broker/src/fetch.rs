//! Fetch: what is readable now, or a wait until enough is.

use base::Now;
use log_partition::{Isolation, LeaderEpoch, Source};
use log_wire::{ErrorCode, FetchPartition, FetchRequest};

use crate::broker::Broker;
use crate::hosted::Hosted;
use crate::pending_fetch::{PendingFetch, Wanted, size};
use crate::response::{FetchResponse, FetchedPartition, Response};
use crate::waits::Waiter;

/// A fetch of more partitions does not wait: each batch of one of them would be looked at with all others.
const WAITING_PARTITIONS_MAX: usize = 10_000;
/// How long a fetch may wait, milliseconds.
const WAIT_MS_MAX: i32 = 10 * 60 * 1_000;

/// What could be given at once.
struct Found {
    response: FetchResponse,
    bytes: usize,
    /// Whether it is to be given whatever its size: something is wrong, or the logs have diverged.
    is_urgent: bool,
}

impl Broker {
    /// Handles a request. The answer comes later if there is none now.
    pub fn fetch(
        &mut self,
        request: &FetchRequest<'_>,
        partitions: &[FetchPartition<'_>],
        waiter: Waiter,
        now: Now,
    ) -> Option<Response> {
        let committed = request.isolation_level == 1;
        let pending = PendingFetch {
            waiter,
            wanted: partitions.iter().map(Wanted::of).collect(),
            isolation: if committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted },
            bytes_min: size(request.min_bytes),
            bytes_max: size(request.max_bytes).min(self.config.fetch_bytes_max),
        };
        let found = self.look(&pending);
        let wait_ms = request.max_wait_ms.clamp(0, WAIT_MS_MAX);
        let is_full = self.fetches.len() >= self.config.waiting_fetches_max
            || partitions.len() > WAITING_PARTITIONS_MAX;
        if found.is_enough(&pending) || wait_ms == 0 || partitions.is_empty() || is_full {
            return Some(Response::Fetch(found.response));
        }
        let ticket = self.ticket();
        for wanted in &pending.wanted {
            let place = self.find(wanted.topic.name(), wanted.index).map(|(at, _)| at);
            if let Some(hosted) = place.ok().and_then(|at| self.hosted_mut(at)) {
                hosted.fetches.push(ticket);
            }
        }
        self.fetches.insert(ticket, now.mono().plus_ms(u64::from(wait_ms.unsigned_abs())), pending);
        None
    }

    /// More of a partition is readable: answers fetches that have enough by it.
    pub(crate) fn answer_fetches(&mut self, at: usize) {
        let Some(hosted) = self.hosted_mut(at) else { return };
        let mut waiting = std::mem::take(&mut hosted.fetches);
        waiting.retain(|ticket| {
            let Some(pending) = self.fetches.get(*ticket) else { return false };
            let found = self.look(pending);
            let waits = !found.is_enough(pending);
            if !waits && let Some(pending) = self.fetches.remove(*ticket) {
                self.done.push((pending.waiter, Response::Fetch(found.response)));
            }
            waits
        });
        if let Some(hosted) = self.hosted_mut(at) {
            hosted.fetches = waiting;
        }
    }

    /// Answers a fetch with what there is.
    pub(crate) fn answer_fetch(&mut self, ticket: u64) {
        if let Some(pending) = self.fetches.remove(ticket) {
            let found = self.look(&pending);
            self.done.push((pending.waiter, Response::Fetch(found.response)));
        }
    }

    pub(crate) fn expire_fetches(&mut self, now: Now) {
        while let Some(ticket) = self.fetches.overdue(now.mono()) {
            self.answer_fetch(ticket);
        }
    }

    fn look(&self, pending: &PendingFetch) -> Found {
        let mut found = Found { response: FetchResponse::default(), bytes: 0, is_urgent: false };
        for wanted in &pending.wanted {
            let left = pending.bytes_max.saturating_sub(found.bytes);
            let partition = self.look_at(wanted, pending.isolation, left, found.bytes == 0);
            found.is_urgent |= partition.error != ErrorCode::None || partition.divergence.is_some();
            found.bytes += match &partition.source {
                Source::Nothing => 0,
                Source::Memory(batches) => batches.iter().map(bytes::Bytes::len).sum(),
                Source::Segment(read) => {
                    read.bytes_max.min(usize::try_from(read.bytes).unwrap_or(usize::MAX)).max(1)
                }
            };
            let topics = &mut found.response.topics;
            if topics.last().is_none_or(|(last, _)| *last != wanted.topic) {
                topics.push((wanted.topic.clone(), Vec::new()));
            }
            if let Some((_, partitions)) = topics.last_mut() {
                partitions.push(partition);
            }
        }
        found
    }

    fn look_at(
        &self,
        wanted: &Wanted,
        isolation: Isolation,
        left: usize,
        is_first: bool,
    ) -> FetchedPartition {
        let hosted = self.find(wanted.topic.name(), wanted.index);
        let hosted = hosted.and_then(|(at, _)| self.hosted(at).ok_or(ErrorCode::NotLeaderOrFollower));
        let looked = hosted.and_then(|hosted| look_into(hosted, wanted, isolation, left, is_first));
        looked.unwrap_or_else(|error| {
            let mut failed = FetchedPartition::failed(wanted.index, error);
            failed.aborted = Some(Vec::new());
            failed
        })
    }
}

fn look_into(
    hosted: &Hosted,
    wanted: &Wanted,
    isolation: Isolation,
    left: usize,
    is_first: bool,
) -> Result<FetchedPartition, ErrorCode> {
    let partition = &hosted.partition;
    partition.check_epoch(wanted.known_epoch)?;
    let divergence = match wanted.last_fetched {
        LeaderEpoch(..0) => None,
        epoch => partition.tables().epochs.divergence(epoch, wanted.from, partition.end())?,
    };
    let read = partition.read(wanted.from, isolation, wanted.bytes_max.min(left))?;
    let wanted_now = divergence.is_none() && (left > 0 || is_first);
    let source = if wanted_now { read.source } else { Source::Nothing };
    let bound = partition.readable_end(isolation);
    let aborted = (isolation == Isolation::ReadCommitted).then(|| {
        let listed = partition.tables().transactions.aborted(wanted.from, bound);
        listed.map(|aborted| (aborted.producer_id.0, aborted.first.0)).collect()
    });
    Ok(FetchedPartition {
        id: hosted.id,
        index: wanted.index,
        error: ErrorCode::None,
        high_watermark: read.high_watermark.0,
        last_stable: read.last_stable.0,
        start: read.start.0,
        aborted,
        divergence,
        leader: None,
        source,
    })
}

impl Found {
    const fn is_enough(&self, pending: &PendingFetch) -> bool {
        self.is_urgent || self.bytes >= pending.bytes_min
    }
}
