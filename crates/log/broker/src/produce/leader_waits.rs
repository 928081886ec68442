//! Produce requests that wait while the lead of one of their partitions moves.
//!
//! A client that is refused by a broker which does not lead pauses for 100 ms and more, unless it hears of a later leader at once. So it
//! is refused only when there is one that it can go to. Its request waits
//! - at a leader that hands over and appends nothing, until it leads no more or goes on;
//! - at a replica that has promised a later epoch than the record has, until the record says who leads;
//! - at the broker that the record names, until that serves.
//!
//! # Invariants
//! - *Order.* Nothing of a request that waits was appended, and the next request of its connection is handled behind it.
//! - *Bounded.* A connection has one such request. Their bytes hold up what is read, with those that wait for a coordinator.
//! - *Time.* No request waits for longer than [`WAIT_MS`], nor than its own timeout. For one epoch of a partition all of them together
//!   wait no longer: where no leader can be chosen, the connection goes on for other partitions.
//! - A connection that ends takes its request with it. Nobody else notices.

use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_partition::{LeaderEpoch, PartitionId};
use log_wire::{ProducePartition, ProduceRequest};
use net_event_loop::ConnId;
use smallvec::SmallVec;

use super::held::{Asked, Kept};
use crate::catalog::TopicImage;
use crate::node::Node;
use crate::waits::{Waiter, Waits};

/// How long requests wait for one epoch of a partition, milliseconds: as long as a hand-over may take.
const WAIT_MS: u64 = 1_000;

/// Partitions that a request waits for, most often one.
type Awaited = SmallVec<[PartitionId; 1]>;

#[derive(Debug)]
struct Waiting {
    request: Kept,
    awaited: Awaited,
    deadline: MonoTime,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LeaderWaits {
    waiting: Waits<Waiting>,
    bytes: usize,
    /// Until when partitions are waited for whose lead moves, and under which epoch.
    windows: BTreeMap<PartitionId, (LeaderEpoch, MonoTime)>,
    /// Something that they wait for may have happened.
    is_touched: bool,
}

impl LeaderWaits {
    /// Keeps a request if it has to wait, at the longest until then. Gives whether it waits.
    pub(super) fn keep(
        &mut self,
        node: &Node,
        asked: &Asked<'_>,
        (request, partitions): (&ProduceRequest<'_>, &[ProducePartition<'_>]),
        until: Option<MonoTime>,
    ) -> bool {
        if !node.brokers.has_others() {
            return false;
        }
        let moving = partitions.iter().filter_map(|partition| {
            let topic = node.catalog.find(partition.topic).ok()?;
            let id = topic.partition(partition.partition);
            Some((id, moves(node, topic, id)?))
        });
        let now = asked.now.mono();
        let (mut awaited, mut deadline) = (Awaited::new(), now);
        for (id, epoch) in moving {
            let end = self.window(id, epoch, now);
            if end > now {
                awaited.push(id);
                deadline = deadline.max(end);
            }
        }
        let timeout = now.plus_ms(u64::try_from(request.timeout_ms).unwrap_or(0));
        let deadline = deadline.min(until.unwrap_or(timeout));
        if awaited.is_empty() || deadline <= now {
            return false;
        }
        let request = asked.keep();
        self.bytes += request.body.len();
        self.waiting.insert(asked.waiter, deadline, Waiting { request, awaited, deadline });
        true
    }

    /// Until when that epoch of a partition is waited for. The first request begins that.
    fn window(&mut self, id: PartitionId, epoch: LeaderEpoch, now: MonoTime) -> MonoTime {
        let new = (epoch, now.plus_ms(WAIT_MS));
        let window = self.windows.entry(id).or_insert(new);
        if window.0 != epoch {
            *window = new;
        }
        window.1
    }

    /// A partition may be served here, or led elsewhere, from now on.
    pub(super) const fn touch(&mut self) {
        self.is_touched = true;
    }

    /// Takes requests that need not wait any more, each with the time until which it may wait again.
    pub(super) fn take_ready(&mut self, node: &Node) -> Vec<(Waiter, Kept, MonoTime)> {
        if !std::mem::take(&mut self.is_touched) || self.windows.is_empty() {
            return Vec::new();
        }
        let catalog = &node.catalog;
        self.windows
            .retain(|id, _| catalog.topic_of(*id).is_some_and(|topic| moves(node, topic, *id).is_some()));
        let windows = &self.windows;
        let is_ready = |waiting: &mut Waiting| !waiting.awaited.iter().any(|id| windows.contains_key(id));
        let ready = self.waiting.extract(is_ready);
        ready.into_iter().map(|(waiter, waiting)| self.release(waiter, waiting)).collect()
    }

    /// Takes a request that has waited for long enough.
    pub(super) fn take_overdue(&mut self, now: Now) -> Option<(Waiter, Kept, MonoTime)> {
        let (waiter, waiting) = self.waiting.pop_overdue(now.mono())?;
        Some(self.release(waiter, waiting))
    }

    fn release(&mut self, waiter: Waiter, waiting: Waiting) -> (Waiter, Kept, MonoTime) {
        self.bytes -= waiting.request.body.len();
        (waiter, waiting.request, waiting.deadline)
    }

    /// A connection is gone.
    pub(super) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while let Some((waiter, waiting)) = self.waiting.pop_of(shard, conn) {
            self.release(waiter, waiting);
        }
    }

    /// Bytes of the requests that wait.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn next_deadline(&self) -> Option<MonoTime> {
        self.waiting.next_deadline()
    }
}

/// The epoch in which the lead of a partition comes to rest, if it moves and a copy is here.
fn moves(node: &Node, topic: &TopicImage, id: PartitionId) -> Option<LeaderEpoch> {
    let image = topic.partitions.get(usize::try_from(id.index).ok()?)?;
    node.partitions.moves(id, image)
}
