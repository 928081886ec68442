//! What the thread of the links shares with all others: messages to send, events to take, and how much waits.
//!
//! A *flow* is what is known here of a link that stands. A message is taken for a flow only once the owner has taken the
//! event that told of the link: so nothing that was meant for an earlier link goes over a later one. Knows no socket.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use net_peers::{Lane, PairRef};
use node_threads::ThreadWaker;
use parking_lot::Mutex;
use replication_appointed::ReplicaId;

use crate::event::{LinkEvent, NotSent, Peer};
use crate::figures::{Count, Counts, LinkFigures, bytes};
use crate::settings::LinkLimits;

/// Memory of an event and of a message that waits, beside its bytes. Small messages count for more than they hold.
const RECORD_BYTES: usize = 64;

/// See the module.
pub(crate) struct Exchange {
    state: Mutex<State>,
    links: Arc<ThreadWaker>,
    owner: Box<dyn Fn() + Send + Sync>,
    limits: LinkLimits,
}

/// A message on its way to the thread of the links.
pub(crate) struct Outgoing {
    pub(crate) pair: PairRef,
    pub(crate) lane: Lane,
    pub(crate) message: Bytes,
}

/// An event, and the link that it is about.
pub(crate) struct Told {
    pub(crate) pair: PairRef,
    pub(crate) event: LinkEvent,
}

/// What the thread of the links is to do, beside sending.
#[derive(Default)]
pub(crate) struct Orders {
    /// The other brokers are these from now on.
    pub(crate) peers: Option<Vec<Peer>>,
    /// A message of that link could not be decoded, and why.
    pub(crate) refused: Vec<(PairRef, String)>,
    /// The owner has taken what had come of these: more may be read.
    pub(crate) released: Vec<PairRef>,
    pub(crate) stop: bool,
}

#[derive(Default)]
struct State {
    flows: BTreeMap<ReplicaId, Flow>,
    counts: Counts,
    outgoing: Vec<Outgoing>,
    orders: Orders,
    told: Vec<Told>,
}

struct Flow {
    pair: PairRef,
    /// The owner has taken the event that told of it.
    is_known: bool,
    control: Waiting,
    bulk: Waiting,
    untaken_bytes: usize,
    /// Nothing is read from it.
    is_held: bool,
}

/// What waits to be sent on one connection.
#[derive(Default)]
struct Waiting {
    /// Bytes that the thread of the links has not taken yet.
    queued: usize,
    /// Bytes that the socket has not taken yet.
    unsent: usize,
    /// The caller was answered that it is full.
    was_full: bool,
}

impl Waiting {
    fn admit(&mut self, length: usize, max: usize) -> Result<(), NotSent> {
        let waits = self.queued + self.unsent;
        if waits > 0 && waits.saturating_add(length) > max {
            self.was_full = true;
            return Err(NotSent::Full);
        }
        self.queued += length;
        Ok(())
    }
}

impl Flow {
    fn new(pair: PairRef) -> Self {
        let (control, bulk) = (Waiting::default(), Waiting::default());
        Self { pair, is_known: false, control, bulk, untaken_bytes: 0, is_held: false }
    }

    const fn waiting(&mut self, lane: Lane) -> &mut Waiting {
        match lane {
            Lane::Control => &mut self.control,
            Lane::Bulk => &mut self.bulk,
        }
    }
}

impl Exchange {
    pub(crate) fn new(
        links: Arc<ThreadWaker>,
        owner: impl Fn() + Send + Sync + 'static,
        limits: LinkLimits,
    ) -> Self {
        Self { state: Mutex::default(), links, owner: Box::new(owner), limits }
    }

    /// Takes a message for a broker.
    pub(crate) fn send(&self, to: ReplicaId, lane: Lane, message: Bytes) -> Result<(), NotSent> {
        self.judge(&message)?;
        {
            let state = &mut *self.state.lock();
            let flow = state.flows.get_mut(&to).filter(|flow| flow.is_known).ok_or(NotSent::NotConnected)?;
            let pair = flow.pair;
            flow.waiting(lane).admit(message.len() + RECORD_BYTES, self.limits.waiting_bytes_max)?;
            state.counts.of(to).sent_bytes += bytes(message.len());
            state.outgoing.push(Outgoing { pair, lane, message });
        }
        self.links.wake();
        Ok(())
    }

    /// Whether the other side would take it. A heartbeat is a frame without a message.
    fn judge(&self, message: &[u8]) -> Result<(), NotSent> {
        let beginning = message.get(..2).unwrap_or(message);
        let max = replication_wire::message_bytes_max(beginning, self.limits.request_bytes_max);
        let is_one = message.first() == Some(&replication_wire::VERSION) && message.len() <= max;
        if is_one { Ok(()) } else { Err(NotSent::Unsendable) }
    }

    /// Gives the owner everything that has been told since it asked last.
    pub(crate) fn take(&self, into: &mut Vec<LinkEvent>) {
        let mut told = Vec::new();
        let releases = {
            let state = &mut *self.state.lock();
            std::mem::swap(&mut told, &mut state.told);
            for told in &told {
                if let LinkEvent::Connected { from, .. } = told.event
                    && let Some(flow) = state.flows.get_mut(&from).filter(|flow| flow.pair == told.pair)
                {
                    flow.is_known = true;
                }
            }
            state.take_all()
        };
        into.extend(told.into_iter().map(|told| told.event));
        if releases {
            self.links.wake();
        }
    }

    /// A message of that broker cannot be decoded. What else has come of the same link is dropped.
    pub(crate) fn refuse(&self, from: ReplicaId, why: String) {
        {
            let state = &mut *self.state.lock();
            let Some(flow) = state.flows.get(&from).filter(|flow| flow.is_known) else { return };
            let pair = flow.pair;
            state.told.retain(|told| told.pair != pair || !matches!(told.event, LinkEvent::Message { .. }));
            state.orders.refused.push((pair, why));
        }
        self.links.wake();
    }

    pub(crate) fn set_peers(&self, peers: Vec<Peer>) {
        {
            let state = &mut *self.state.lock();
            state.counts.keep(peers.iter().map(|peer| peer.id));
            state.orders.peers = Some(peers);
        }
        self.links.wake();
    }

    /// One of each announced broker, in the order of their numbers.
    pub(crate) fn figures(&self) -> Vec<LinkFigures> {
        let state = self.state.lock();
        let of_one = |(to, count): (ReplicaId, Count)| {
            let flow = state.flows.get(&to);
            let waits = |waiting: &Waiting| waiting.queued + waiting.unsent;
            LinkFigures {
                to,
                is_connected: flow.is_some(),
                lost: count.lost,
                waiting_bytes: bytes(flow.map_or(0, |flow| waits(&flow.control) + waits(&flow.bulk))),
                sent_bytes: count.sent_bytes,
                received_bytes: count.received_bytes,
            }
        };
        state.counts.all().map(of_one).collect()
    }

    pub(crate) fn stop(&self) {
        self.state.lock().orders.stop = true;
        self.links.wake();
    }

    /// Whether the thread of the links has something to do.
    pub(crate) fn has_work(&self) -> bool {
        let state = self.state.lock();
        let Orders { peers, refused, released, stop } = &state.orders;
        let ordered = peers.is_some() || !refused.is_empty() || !released.is_empty() || *stop;
        ordered || !state.outgoing.is_empty()
    }

    /// What the thread of the links is to do and to send. `outgoing` must be empty and gives its room in exchange.
    pub(crate) fn take_work(&self, outgoing: &mut Vec<Outgoing>) -> Orders {
        debug_assert!(outgoing.is_empty());
        let state = &mut *self.state.lock();
        std::mem::swap(outgoing, &mut state.outgoing);
        for waiting in state.flows.values_mut().flat_map(|flow| [&mut flow.control, &mut flow.bulk]) {
            waiting.unsent += std::mem::take(&mut waiting.queued);
        }
        std::mem::take(&mut state.orders)
    }

    /// Tells the owner what has become of the links, and notes how many bytes of each wait. Gives the links from which
    /// nothing is to be read until the owner has taken what came.
    pub(crate) fn publish(
        &self,
        told: &mut Vec<Told>,
        unsent: impl FnMut(PairRef, Lane) -> usize,
    ) -> Vec<PairRef> {
        let (held, wakes) = {
            let state = &mut *self.state.lock();
            state.follow(told);
            let before = state.told.is_empty();
            let held = state.note(told, self.limits);
            state.told.append(told);
            state.measure(unsent, self.limits.waiting_bytes_max);
            (held, before && !state.told.is_empty())
        };
        if wakes {
            (self.owner)();
        }
        held
    }
}

impl State {
    /// Everything that was told has been taken. Whether something may be read again for that.
    fn take_all(&mut self) -> bool {
        let mut releases = false;
        for flow in self.flows.values_mut() {
            flow.untaken_bytes = 0;
            if std::mem::take(&mut flow.is_held) {
                self.orders.released.push(flow.pair);
                releases = true;
            }
        }
        releases
    }

    /// Links that stand from now on, or no longer.
    fn follow(&mut self, told: &[Told]) {
        for told in told {
            match told.event {
                LinkEvent::Connected { from, .. } => drop(self.flows.insert(from, Flow::new(told.pair))),
                LinkEvent::Broken { from } if self.flows.remove(&from).is_some() => {
                    self.counts.of(from).lost += 1;
                }
                _ => {}
            }
        }
    }

    /// Counts what came: messages, and signs of life, which an owner that takes nothing would pile up. Gives the links of
    /// which too much has come.
    fn note(&mut self, told: &[Told], limits: LinkLimits) -> Vec<PairRef> {
        let mut held = Vec::new();
        for told in told {
            let (from, length) = match &told.event {
                LinkEvent::Message { from, bytes } => (from, bytes.len()),
                LinkEvent::Heard { from } | LinkEvent::Silent { from } => (from, 0),
                _ => continue,
            };
            let Some(flow) = self.flows.get_mut(from).filter(|flow| flow.pair == told.pair) else { continue };
            flow.untaken_bytes += length + RECORD_BYTES;
            self.counts.of(*from).received_bytes += bytes(length);
            if flow.untaken_bytes > limits.untaken_bytes_max && !flow.is_held {
                flow.is_held = true;
                held.push(flow.pair);
            }
        }
        held
    }

    /// Notes how much waits of each link, and tells of those that were full and are not any more.
    fn measure(&mut self, mut unsent: impl FnMut(PairRef, Lane) -> usize, max: usize) {
        for (to, flow) in &mut self.flows {
            let pair = flow.pair;
            for lane in [Lane::Control, Lane::Bulk] {
                let waiting = flow.waiting(lane);
                waiting.unsent = unsent(pair, lane);
                if waiting.was_full && waiting.queued + waiting.unsent <= max / 2 {
                    waiting.was_full = false;
                    let event = LinkEvent::Room { to: *to, lane };
                    self.told.push(Told { pair, event });
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
