//! The brokers of the cluster, as they announce themselves in the council.
//!
//! A broker whose announcement is gone may only have lost its session with the council. While it is connected to this one it
//! remains known, so that its replicas go on; clients are told of announced brokers only.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use log_metadata::{BrokerNode, EndpointNode};

use crate::listener::BrokerListener;

/// For how long others are about to take over what a broker led, milliseconds.
const LOST_MS: u64 = 1_000;

/// Another broker, as brokers connect to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Its number.
    pub id: i32,
    /// Where it listens for brokers.
    pub endpoint: EndpointNode,
    /// The process that is announced.
    pub incarnation: u64,
}

/// A broker that clients are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveBroker<'b> {
    pub(crate) id: i32,
    pub(crate) host: &'b str,
    pub(crate) port: i32,
    pub(crate) rack: Option<&'b str>,
}

#[derive(Debug)]
struct Known {
    node: BrokerNode,
    is_announced: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Brokers {
    own: i32,
    listeners: Vec<BrokerListener>,
    rack: Option<String>,
    others: BTreeMap<i32, Known>,
    /// Those that are connected.
    connected: BTreeSet<i32>,
    /// Those of them of which nothing is heard.
    silent: BTreeSet<i32>,
    /// Those that were connected and heard, until a moment ago: since when they are not.
    lost: BTreeMap<i32, MonoTime>,
    /// Those that are to lead nothing, since they are about to stop.
    draining: BTreeSet<i32>,
    /// Those from which everything is to move away.
    drained: BTreeSet<i32>,
    has_changed: bool,
}

impl Brokers {
    /// A broker that knows of no other one.
    pub(crate) fn new(own: i32, listeners: Vec<BrokerListener>, rack: Option<String>) -> Self {
        Self {
            own,
            listeners,
            rack,
            others: BTreeMap::new(),
            connected: BTreeSet::new(),
            silent: BTreeSet::new(),
            lost: BTreeMap::new(),
            draining: BTreeSet::new(),
            drained: BTreeSet::new(),
            has_changed: false,
        }
    }

    /// The council has this of a broker; nothing if it is not announced any more.
    pub(crate) fn announced(&mut self, id: i32, data: Option<&[u8]>) {
        if id == self.own {
            return;
        }
        self.has_changed = true;
        match data.and_then(BrokerNode::read) {
            Some(node) => {
                self.others.insert(id, Known { node, is_announced: true });
            }
            None if self.connected.contains(&id) => {
                if let Some(known) = self.others.get_mut(&id) {
                    known.is_announced = false;
                }
            }
            None => drop(self.others.remove(&id)),
        }
    }

    pub(crate) fn connected(&mut self, id: i32) {
        self.lost.remove(&id);
        self.silent.remove(&id);
        self.connected.insert(id);
    }

    /// Nothing is heard of a broker that is connected.
    pub(crate) fn silent(&mut self, id: i32, now: MonoTime) {
        if self.connected.contains(&id) && self.silent.insert(id) {
            self.lost.insert(id, now);
        }
    }

    /// Something is heard of a broker.
    pub(crate) fn heard(&mut self, id: i32) {
        if self.silent.remove(&id) {
            self.lost.remove(&id);
        }
    }

    pub(crate) fn broken(&mut self, id: i32, now: MonoTime) {
        self.draining.remove(&id);
        let was_silent = self.silent.remove(&id);
        if self.connected.remove(&id) && !was_silent {
            self.lost.insert(id, now);
        }
        if self.others.get(&id).is_some_and(|known| !known.is_announced) {
            self.others.remove(&id);
            self.has_changed = true;
        }
    }

    /// A broker says whether it is to lead nothing.
    pub(crate) fn drains(&mut self, id: i32, drains: bool) {
        if drains {
            self.draining.insert(id);
        } else {
            self.draining.remove(&id);
        }
    }

    /// Whether a broker may be given partitions to lead: it is this one or reached, and it does not drain.
    pub(crate) fn may_lead(&self, id: i32) -> bool {
        let drains = self.draining.contains(&id) || self.drained.contains(&id);
        (id == self.own || self.is_reached(id)) && !drains
    }

    /// Everything is to move away from these brokers, and from no others. Gives whether that is new.
    pub(crate) fn set_drained(&mut self, drained: &BTreeSet<i32>) -> bool {
        let is_new = self.drained != *drained;
        self.drained.clone_from(drained);
        is_new
    }

    /// The brokers from which everything is to move away.
    pub(crate) const fn drained(&self) -> &BTreeSet<i32> {
        &self.drained
    }

    /// The brokers that may be given replicas, in order: those that are announced, and from which nothing is to move away.
    pub(crate) fn that_take_replicas(&self) -> impl Iterator<Item = i32> {
        self.live().filter(|id| !self.drained.contains(id))
    }

    /// Whether a broker was reached until a moment ago, and is not any more: what it led is about to be led by others.
    pub(crate) fn has_lost(&self, id: i32) -> bool {
        self.lost.contains_key(&id)
    }

    /// Whether another broker is connected and heard.
    pub(crate) fn is_reached(&self, id: i32) -> bool {
        self.connected.contains(&id) && !self.silent.contains(&id)
    }

    /// Whether any other broker is connected, or was until a moment ago.
    pub(crate) fn has_others(&self) -> bool {
        !self.connected.is_empty() || !self.lost.is_empty()
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, now: MonoTime) {
        self.lost.retain(|_, since| now.since(*since) < LOST_MS);
    }

    /// Takes the brokers to connect to, if they are others than before.
    pub(crate) fn take_announced(&mut self) -> Option<Vec<Announced>> {
        if !std::mem::take(&mut self.has_changed) {
            return None;
        }
        let announced = self.others.iter().filter_map(|(id, Known { node, .. })| {
            let endpoint = node.peers.clone()?;
            Some(Announced { id: *id, endpoint, incarnation: node.incarnation })
        });
        Some(announced.collect())
    }

    /// Whether a broker is announced, or is this one.
    pub(crate) fn is_live(&self, id: i32) -> bool {
        id == self.own || self.others.get(&id).is_some_and(|known| known.is_announced)
    }

    /// The numbers of all that are announced, and of this one, in order.
    pub(crate) fn live(&self) -> impl Iterator<Item = i32> {
        let others = self.others.iter().filter(|(_, known)| known.is_announced).map(|(id, _)| *id);
        let mut all: Vec<i32> = others.chain([self.own]).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// All that clients are told of, by their numbers, as a client finds them that came in at a listener.
    pub(crate) fn for_clients(&self, listener: u16) -> Vec<LiveBroker<'_>> {
        self.live().filter_map(|id| self.endpoint(id, listener)).collect()
    }

    /// A broker as a client finds it that came in at a listener, if it is announced or this one.
    pub(crate) fn endpoint(&self, id: i32, listener: u16) -> Option<LiveBroker<'_>> {
        let own = self.listeners.get(usize::from(listener)).or_else(|| self.listeners.first());
        if id == self.own {
            let (host, port) =
                own.map_or(("", -1), |own| (&own.advertised_host, i32::from(own.advertised_port)));
            return Some(LiveBroker { id, host, port, rack: self.rack.as_deref() });
        }
        let known = self.others.get(&id).filter(|known| known.is_announced)?;
        let (host, port) = known.node.endpoint(own.map_or("", |own| &own.name));
        Some(LiveBroker { id, host, port: i32::from(port), rack: known.node.rack.as_deref() })
    }

    /// The first of the brokers that are to lead nothing, or are to go.
    pub(crate) fn first_draining(&self) -> Option<i32> {
        self.draining.union(&self.drained).min().copied()
    }

    /// Where a broker stands, if it says so.
    pub(crate) fn rack(&self, id: i32) -> Option<&str> {
        if id == self.own { self.rack.as_deref() } else { self.others.get(&id)?.node.rack.as_deref() }
    }

    /// The one that clients send to what concerns the cluster: the first that is reached, as the brokers choose their controller.
    pub(crate) fn controller(&self) -> i32 {
        let reached = self.connected.difference(&self.silent).copied().filter(|id| self.is_live(*id));
        reached.chain([self.own]).min().unwrap_or(self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brokers() -> Brokers {
        let listener = |name: &str, port| BrokerListener {
            name: name.into(),
            advertised_host: String::from("own"),
            advertised_port: port,
            ..BrokerListener::default()
        };
        Brokers::new(2, vec![listener("OUTSIDE", 1), listener("INSIDE", 2)], Some("r".into()))
    }

    fn node(incarnation: u64) -> Vec<u8> {
        let at = |host: &str, port| EndpointNode { host: host.into(), port };
        let node = BrokerNode {
            host: "other".into(),
            port: 3,
            incarnation,
            peers: Some(at("peer", 4)),
            listeners: BTreeMap::from([("INSIDE".into(), at("inside", 5))]),
            ..BrokerNode::default()
        };
        node.bytes()
    }

    #[test]
    fn client_is_told_of_each_broker_at_the_listener_that_it_uses() {
        let mut brokers = brokers();
        brokers.announced(1, Some(&node(1)));
        brokers.announced(2, None);
        let told = |listener| {
            let all = brokers.for_clients(listener).into_iter();
            all.map(|of| (of.id, of.host.to_owned(), of.port)).collect::<Vec<_>>()
        };
        assert_eq!(told(0), [(1, "other".into(), 3), (2, "own".into(), 1)]);
        assert_eq!(told(1), [(1, "inside".into(), 5), (2, "own".into(), 2)]);
    }

    #[test]
    fn broker_that_lost_its_session_stays_linked_while_it_is_connected_and_is_shown_to_nobody() {
        let mut brokers = brokers();
        brokers.announced(1, Some(&node(7)));
        let announced = brokers.take_announced().expect("it has changed");
        assert_eq!(announced.iter().map(|of| (of.id, of.incarnation)).collect::<Vec<_>>(), [(1, 7)]);
        assert_eq!((brokers.take_announced(), brokers.controller()), (None, 2));
        brokers.connected(1);
        assert_eq!(brokers.controller(), 1);
        brokers.announced(1, None);
        assert_eq!(brokers.take_announced().map(|of| of.len()), Some(1));
        assert_eq!((brokers.is_live(1), brokers.live().collect::<Vec<_>>()), (false, vec![2]));
        brokers.broken(1, MonoTime::ZERO);
        assert!(brokers.has_lost(1));
        brokers.tick(MonoTime::ZERO.plus_ms(LOST_MS));
        assert!(!brokers.has_lost(1) && !brokers.has_others());
        assert_eq!(brokers.take_announced().map(|of| of.len()), Some(0));
    }

    #[test]
    fn broker_that_is_silent_is_no_controller_and_leads_nothing_new_until_it_is_heard() {
        let mut brokers = brokers();
        brokers.announced(1, Some(&node(7)));
        brokers.connected(1);
        brokers.silent(1, MonoTime::ZERO);
        assert!(!brokers.is_reached(1) && !brokers.may_lead(1) && brokers.has_lost(1));
        assert_eq!((brokers.controller(), brokers.is_live(1)), (2, true));
        brokers.heard(1);
        assert!(brokers.is_reached(1) && brokers.may_lead(1) && !brokers.has_lost(1));
        assert_eq!(brokers.controller(), 1);
        // That its link breaks in the end is no second loss.
        brokers.silent(1, MonoTime::ZERO);
        brokers.tick(MonoTime::ZERO.plus_ms(LOST_MS));
        brokers.broken(1, MonoTime::ZERO.plus_ms(3_000));
        assert!(!brokers.has_lost(1));
    }
}
