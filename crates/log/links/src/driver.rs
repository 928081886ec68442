//! The thread that owns all links of a broker: it reads, writes and listens for what is silent.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::MonoTime;
use bytes::Bytes;
use net_peers::{
    ChannelNumber, Established, Lane, MemberAddress, News, Numbering, PairRef, PeerConnections, PeerNumber,
    Roster,
};
use node_threads::{Clock, Mailbox};
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

use crate::event::{LinkEvent, Peer};
use crate::exchange::{Exchange, Orders, Outgoing, Told};
use crate::settings::LinkTiming;

/// Messages begin with their version, which is below `0x80`: they need no byte for their channel.
pub(crate) const CHANNEL: ChannelNumber = ChannelNumber::ZERO;
/// How brokers are numbered.
pub(crate) const NUMBERING: Numbering = Numbering::FourBytes;

/// See the module.
pub(crate) struct Driver {
    connections: PeerConnections,
    established: Arc<Mailbox<Established>>,
    exchange: Arc<Exchange>,
    clock: Clock,
    timing: LinkTiming,
    links: BTreeMap<ReplicaId, Link>,
    /// What came on the first connection of a link before the second one was handed over: the other side may be that fast.
    early: BTreeMap<PairRef, Vec<Bytes>>,
    told: Vec<Told>,
    /// When this thread looked last who is silent, and when it had not done so for long.
    listened: MonoTime,
    late: MonoTime,
}

/// A link that stands.
struct Link {
    pair: PairRef,
    heard: MonoTime,
    /// When the owner was told last that something came.
    told: MonoTime,
    is_silent: bool,
    /// Nothing is read from it: that it is not heard says nothing.
    is_held: bool,
}

impl Driver {
    pub(crate) fn new(
        connections: PeerConnections,
        established: Arc<Mailbox<Established>>,
        exchange: Arc<Exchange>,
        clock: Clock,
        timing: LinkTiming,
    ) -> Self {
        let (links, early, told) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (listened, late) = (MonoTime::ZERO, MonoTime::ZERO);
        Self { connections, established, exchange, clock, timing, links, early, told, listened, late }
    }

    /// Runs until it is told to stop.
    ///
    /// # Errors
    /// The system refuses to poll.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let (mut outgoing, mut established) = (Vec::new(), Vec::new());
        loop {
            let now = self.clock.mono();
            let orders = self.exchange.take_work(&mut outgoing);
            if orders.stop {
                return Ok(());
            }
            self.established.take_all(&mut established);
            for connection in established.drain(..) {
                self.connections.take(connection, now);
                self.hear(now);
            }
            self.obey(orders);
            self.connections.turn(now)?;
            self.hear(now);
            self.send(&mut outgoing);
            self.connections.flush();
            self.hear(now);
            let connections = &mut self.connections;
            self.early.retain(|pair, _| connections.last_heard(*pair).is_some());
            self.listen(now);
            self.publish();
            let (exchange, established) = (&self.exchange, &self.established);
            let timeout = self.timing.heartbeat / 2;
            self.connections.sleep(timeout, || exchange.has_work() || !established.is_empty())?;
        }
    }

    fn obey(&mut self, Orders { peers, refused, released, .. }: Orders) {
        for (pair, why) in refused {
            self.connections.refuse(pair, &why);
        }
        released.into_iter().for_each(|pair| self.hold(pair, false));
        if let Some(peers) = peers {
            let number = |peer: &Peer| PeerNumber(peer.id.0);
            let processes = peers.iter().map(|peer| (number(peer), peer.incarnation.0)).collect();
            let address =
                |peer: Peer| MemberAddress { number: number(&peer), host: peer.host, port: peer.port };
            self.connections.set_members(Roster::new(peers.into_iter().map(address), 0), processes);
        }
    }

    /// Sends what others have handed over. What was for a link that is gone is gone with it.
    fn send(&mut self, outgoing: &mut Vec<Outgoing>) {
        for Outgoing { pair, lane, message } in outgoing.drain(..) {
            self.connections.send_on(pair, lane, CHANNEL, |out| out.extend_from_slice(&message));
        }
    }

    /// What has become of the connections.
    fn hear(&mut self, now: MonoTime) {
        while let Some(news) = self.connections.next_news() {
            match news {
                News::Up(id, _) => {
                    let number = NUMBERING.number_of(id);
                    let standing = number.and_then(|number| self.connections.standing(number));
                    if let Some((pair, process)) = standing {
                        self.begin(pair, Incarnation(process), now);
                    }
                }
                News::Down(id) => {
                    if let Some(number) = NUMBERING.number_of(id) {
                        self.end(ReplicaId(number.0));
                    }
                }
                News::Message(message) => {
                    let from = ReplicaId(message.pair.number.0);
                    match self.links.get_mut(&from).filter(|link| link.pair == message.pair) {
                        Some(link) => {
                            link.told = now;
                            let event = LinkEvent::Message { from, bytes: message.bytes };
                            self.told.push(Told { pair: message.pair, event });
                        }
                        None => self.early.entry(message.pair).or_default().push(message.bytes),
                    }
                }
                // It is sent by its link, never by an id.
                News::Lost(..) => {}
            }
        }
    }

    fn begin(&mut self, pair: PairRef, incarnation: Incarnation, now: MonoTime) {
        let from = ReplicaId(pair.number.0);
        let link = Link { pair, heard: now, told: now, is_silent: false, is_held: false };
        self.links.insert(from, link);
        self.told.push(Told { pair, event: LinkEvent::Connected { from, incarnation } });
        for bytes in self.early.remove(&pair).unwrap_or_default() {
            self.told.push(Told { pair, event: LinkEvent::Message { from, bytes } });
        }
    }

    fn end(&mut self, from: ReplicaId) {
        if let Some(link) = self.links.remove(&from) {
            self.told.push(Told { pair: link.pair, event: LinkEvent::Broken { from } });
        }
    }

    /// Tells of links that are heard, and of those that are silent. Behind what has come until now: a process that stood
    /// still itself finds what came meanwhile first. If this thread did not run for a heartbeat, others may not have run either:
    /// silence counts from then on.
    fn listen(&mut self, now: MonoTime) {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (repeat_ms, silent_ms) = (ms(self.timing.heartbeat / 2), ms(self.timing.silent));
        if now.since(self.listened) > ms(self.timing.heartbeat) {
            self.late = now;
        }
        self.listened = now;
        for (from, link) in &mut self.links {
            let Some(heard) = self.connections.last_heard(link.pair).filter(|_| !link.is_held) else {
                continue;
            };
            let is_news = heard > link.told && now.since(link.told) >= repeat_ms;
            let was_silent = link.is_silent;
            link.heard = heard.max(link.heard);
            // One that is silent already does not become heard by that.
            let counts_from = if was_silent { link.heard } else { link.heard.max(self.late) };
            link.is_silent = now.since(counts_from) >= silent_ms;
            let event = match (was_silent, link.is_silent) {
                (false, true) => LinkEvent::Silent { from: *from },
                (true, false) => LinkEvent::Heard { from: *from },
                (false, false) if is_news => LinkEvent::Heard { from: *from },
                _ => continue,
            };
            link.told = now;
            self.told.push(Told { pair: link.pair, event });
        }
    }

    fn publish(&mut self) {
        let connections = &mut self.connections;
        let unsent = |pair, lane| connections.waiting_bytes(pair, lane);
        for pair in self.exchange.publish(&mut self.told, unsent) {
            self.hold(pair, true);
        }
    }

    fn hold(&mut self, pair: PairRef, is_held: bool) {
        for lane in [Lane::Control, Lane::Bulk] {
            self.connections.hold(pair, lane, is_held);
        }
        let link = self.links.get_mut(&ReplicaId(pair.number.0)).filter(|link| link.pair == pair);
        if let Some(link) = link {
            link.is_held = is_held;
        }
    }
}
