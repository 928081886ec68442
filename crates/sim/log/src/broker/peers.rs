//! A process's end of its links to other brokers: what came waits for the first shard, what goes out waits for the network.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::Now;
use bytes::Bytes;
use log_broker::{Announced, Broker, PeerMessage};

/// The number of a link between two processes: no two have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkId(pub(crate) u64);

/// What becomes of a link to a broker.
#[derive(Clone, Debug)]
pub(crate) enum PeerEvent {
    Connected(LinkId),
    Message(Bytes),
    Heard,
    Silent,
    Broken,
}

/// What waits for one broker.
#[derive(Debug)]
struct Outgoing {
    link: LinkId,
    /// Small messages, and batches.
    lanes: [VecDeque<Vec<u8>>; 2],
    /// The broker was told that no more is taken on that lane.
    is_full: [bool; 2],
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PeerPort {
    announced: Vec<Announced>,
    events: VecDeque<(i32, PeerEvent)>,
    /// By the numbers of brokers; only of links that this broker knows of.
    outgoing: BTreeMap<i32, Outgoing>,
    /// Brokers that have sent what cannot be used, and why.
    refused: Vec<(i32, String)>,
    /// Lanes that have room again.
    has_room: BTreeSet<i32>,
}

/// So many bytes may wait on a lane: few, so that it is full at times.
const WAITING_BYTES_MAX: usize = 6_000;

impl PeerPort {
    pub(crate) fn tell(&mut self, from: i32, event: PeerEvent) {
        self.events.push_back((from, event));
    }

    /// Whether a process of another broker is announced to this one.
    pub(crate) fn knows(&self, broker: i32, incarnation: u64) -> bool {
        self.announced.iter().any(|other| other.id == broker && other.incarnation == incarnation)
    }

    /// Whether the first shard has something to take.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty() || !self.has_room.is_empty()
    }

    /// What goes to that broker over that link next.
    pub(crate) fn next(&mut self, to: i32, link: LinkId, lane: usize) -> Option<Vec<u8>> {
        let outgoing = self.outgoing.get_mut(&to).filter(|outgoing| outgoing.link == link)?;
        let message = outgoing.lanes[lane].pop_front();
        if outgoing.lanes[lane].is_empty() && outgoing.is_full[lane] {
            self.has_room.insert(to);
        }
        message
    }

    /// Brokers whose links are to be closed.
    pub(crate) fn take_refused(&mut self) -> Vec<(i32, String)> {
        std::mem::take(&mut self.refused)
    }

    /// The broker takes what came. To be called by the first shard.
    pub(super) fn hear(&mut self, broker: &mut Broker, now: Now) {
        while let Some((from, event)) = self.events.pop_front() {
            match event {
                PeerEvent::Connected(link) => {
                    let (lanes, is_full) = ([VecDeque::new(), VecDeque::new()], [false; 2]);
                    self.outgoing.insert(from, Outgoing { link, lanes, is_full });
                    broker.peer_connected(from, now);
                }
                PeerEvent::Message(bytes) => {
                    if let Err(bad) = broker.peer_message(from, &bytes, now) {
                        self.refused.push((from, bad.to_string()));
                        // What else has come over the same link is dropped.
                        self.events
                            .retain(|(of, event)| *of != from || !matches!(event, PeerEvent::Message(_)));
                    }
                }
                PeerEvent::Heard => broker.peer_heard(from, now),
                PeerEvent::Silent => broker.peer_silent(from, now),
                PeerEvent::Broken => {
                    self.outgoing.remove(&from);
                    self.has_room.remove(&from);
                    broker.peer_broken(from, now);
                }
            }
        }
        for to in std::mem::take(&mut self.has_room) {
            if let Some(outgoing) = self.outgoing.get_mut(&to) {
                outgoing.is_full =
                    [0, 1].map(|lane| !outgoing.lanes[lane].is_empty() && outgoing.is_full[lane]);
                broker.peer_is_full(to, outgoing.is_full.contains(&true));
            }
        }
    }

    /// Takes what the broker tells others.
    pub(super) fn take(&mut self, broker: &mut Broker, messages: Vec<PeerMessage>) {
        if let Some(announced) = broker.take_announced() {
            self.announced = announced;
        }
        for PeerMessage { to, is_bulky, bytes } in messages {
            let Some(outgoing) = self.outgoing.get_mut(&to) else { continue };
            let lane = &mut outgoing.lanes[usize::from(is_bulky)];
            lane.push_back(bytes);
            if lane.iter().map(Vec::len).sum::<usize>() > WAITING_BYTES_MAX {
                outgoing.is_full[usize::from(is_bulky)] = true;
                broker.peer_is_full(to, true);
            }
        }
    }
}
