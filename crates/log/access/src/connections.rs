//! How many connections there may be: in all, at each listener, from each address and of strangers, and how fast they may
//! come in.
//!
//! A stranger is a client that has not proved who it is yet. Strangers have a limit of their own, so that they never take the
//! places of clients that are known.

use std::collections::BTreeMap;
use std::net::IpAddr;

use base::MonoTime;

use crate::rate::{SampledRate, Windows};

/// How many addresses are told apart when it is measured how fast they connect. Those beyond share one measure.
const ADDRESSES_MAX: usize = 10_000;

/// The limits of one listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerLimits {
    /// `listener.name.NAME.max.connections`.
    pub connections_max: Option<u32>,
    /// `listener.name.NAME.max.connection.creation.rate`.
    pub creation_rate: Option<u32>,
    /// Whether its clients need not prove who they are: then there are no strangers at it.
    pub is_open: bool,
}

/// The limits of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// `max.connections`.
    pub connections_max: Option<u32>,
    /// `max.connections.per.ip`.
    pub per_ip_max: Option<u32>,
    /// `max.connections.per.ip.overrides`.
    pub per_ip_overrides: BTreeMap<IpAddr, u32>,
    /// `max.connection.creation.rate`.
    pub creation_rate: Option<u32>,
    /// Those of each listener.
    pub listeners: Vec<ListenerLimits>,
    /// How many strangers there may be.
    pub strangers_max: u32,
    /// How many of them from one address.
    pub strangers_per_ip_max: u32,
    /// How rates are measured.
    pub windows: Windows,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: None,
            per_ip_max: None,
            per_ip_overrides: BTreeMap::new(),
            creation_rate: None,
            listeners: Vec::new(),
            strangers_max: 4_000,
            strangers_per_ip_max: 1_000,
            windows: Windows::default(),
        }
    }
}

/// Which limit a connection has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionLimit {
    /// `max.connections`.
    Broker,
    /// `listener.name.NAME.max.connections`.
    Listener,
    /// `max.connections.per.ip`.
    Address,
    /// Strangers in all.
    Strangers,
    /// Strangers from one address.
    StrangersOfAddress,
    /// `max.connection.creation.rate`.
    Rate,
    /// The quota `connection_creation_rate` of the address.
    RateOfAddress,
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionVerdict {
    /// It is counted.
    Admitted,
    /// It is closed at once.
    Refused(ConnectionLimit),
    /// It is closed after so many milliseconds.
    ClosedLater(ConnectionLimit, u64),
    /// It waits, with all behind it at its listener, and is asked about again after so many milliseconds.
    Waits(ConnectionLimit, u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct OfAddress {
    connections: u32,
    strangers: u32,
}

#[derive(Debug, Default)]
struct OfListener {
    connections: u32,
    rate: SampledRate,
}

/// All connections. See the module.
#[derive(Debug)]
pub struct Connections {
    limits: ConnectionLimits,
    connections: u32,
    strangers: u32,
    rate: SampledRate,
    listeners: Vec<OfListener>,
    by_ip: BTreeMap<IpAddr, OfAddress>,
    rates_of_ips: BTreeMap<Option<IpAddr>, SampledRate>,
    /// When addresses that are idle may be forgotten next.
    sweep_due: MonoTime,
}

/// How often it is asked again whether there is a place, milliseconds.
const WAIT_MS: u64 = 20;

impl Connections {
    /// None yet.
    #[must_use]
    pub fn new(limits: ConnectionLimits) -> Self {
        let listeners = limits.listeners.iter().map(|_| OfListener::default()).collect();
        Self {
            limits,
            connections: 0,
            strangers: 0,
            rate: SampledRate::default(),
            listeners,
            by_ip: BTreeMap::new(),
            rates_of_ips: BTreeMap::new(),
            sweep_due: MonoTime::ZERO,
        }
    }

    /// A connection was accepted at a listener. `ip_rate` is the quota of its address. As a stranger it counts until
    /// [`Self::authenticated`] says otherwise.
    pub fn admit(
        &mut self,
        listener: u16,
        ip: IpAddr,
        ip_rate: Option<f64>,
        now: MonoTime,
    ) -> ConnectionVerdict {
        if let Some(limit) = self.refused(listener, ip) {
            return ConnectionVerdict::Refused(limit);
        }
        if let Some(limit) = self.full(listener) {
            return ConnectionVerdict::Waits(limit, WAIT_MS);
        }
        let windows = self.limits.windows;
        if let Some(bound) = ip_rate {
            let rate = self.rate_of(ip, now);
            rate.record(1.0, windows, now);
            let excess_ms = rate.excess_ms(bound, windows, now);
            if excess_ms > 0 {
                rate.record(-1.0, windows, now);
                return ConnectionVerdict::ClosedLater(ConnectionLimit::RateOfAddress, excess_ms);
            }
        }
        if let Some(wait_ms) = self.too_fast(listener, now) {
            return ConnectionVerdict::Waits(ConnectionLimit::Rate, wait_ms.clamp(1, windows.size_ms));
        }
        self.count(listener, ip);
        ConnectionVerdict::Admitted
    }

    /// A client has proved who it is, or need not.
    pub fn authenticated(&mut self, ip: IpAddr) {
        self.strangers = self.strangers.saturating_sub(1);
        if let Some(of) = self.by_ip.get_mut(&ip) {
            of.strangers = of.strangers.saturating_sub(1);
        }
    }

    /// A connection is gone.
    pub fn release(&mut self, listener: u16, ip: IpAddr, is_stranger: bool) {
        if is_stranger {
            self.authenticated(ip);
        }
        self.connections = self.connections.saturating_sub(1);
        if let Some(of) = self.listeners.get_mut(usize::from(listener)) {
            of.connections = of.connections.saturating_sub(1);
        }
        if let Some(of) = self.by_ip.get_mut(&ip) {
            of.connections = of.connections.saturating_sub(1);
            if of.connections == 0 {
                self.by_ip.remove(&ip);
            }
        }
    }

    /// Whether clients of a listener are strangers at first.
    #[must_use]
    pub fn has_strangers(&self, listener: u16) -> bool {
        !self.limits.listeners.get(usize::from(listener)).is_some_and(|limits| limits.is_open)
    }

    /// How many connections there are, and how many of them are strangers.
    #[must_use]
    pub const fn counts(&self) -> (u32, u32) {
        (self.connections, self.strangers)
    }

    fn refused(&self, listener: u16, ip: IpAddr) -> Option<ConnectionLimit> {
        let of = self.by_ip.get(&ip).copied().unwrap_or_default();
        let most = self.limits.per_ip_overrides.get(&ip).copied().or(self.limits.per_ip_max);
        if most.is_some_and(|most| of.connections >= most) {
            return Some(ConnectionLimit::Address);
        }
        if !self.has_strangers(listener) {
            return None;
        }
        if of.strangers >= self.limits.strangers_per_ip_max {
            return Some(ConnectionLimit::StrangersOfAddress);
        }
        (self.strangers >= self.limits.strangers_max).then_some(ConnectionLimit::Strangers)
    }

    fn full(&self, listener: u16) -> Option<ConnectionLimit> {
        let at = usize::from(listener);
        let most = self.limits.listeners.get(at).and_then(|limits| limits.connections_max);
        let of = self.listeners.get(at).map_or(0, |of| of.connections);
        if most.is_some_and(|most| of >= most) {
            return Some(ConnectionLimit::Listener);
        }
        self.limits
            .connections_max
            .is_some_and(|most| self.connections >= most)
            .then_some(ConnectionLimit::Broker)
    }

    /// Counts the connection in the rates of its listener and of all, unless one of them is too high: then it gives how long
    /// to wait.
    fn too_fast(&mut self, listener: u16, now: MonoTime) -> Option<u64> {
        let (windows, at) = (self.limits.windows, usize::from(listener));
        let of_listener = self.limits.listeners.get(at).and_then(|limits| limits.creation_rate);
        let own = self.listeners.get_mut(at).map(|of| &mut of.rate);
        let own = own.zip(of_listener).into_iter();
        let all = self.limits.creation_rate.map(|bound| (&mut self.rate, bound)).into_iter();
        let mut rates: Vec<(&mut SampledRate, u32)> = own.chain(all).collect();
        let excess = |(rate, bound): &mut (&mut SampledRate, u32)| {
            rate.record(1.0, windows, now);
            rate.excess_ms(f64::from(*bound), windows, now)
        };
        let most_ms = rates.iter_mut().map(excess).max().unwrap_or(0);
        if most_ms > 0 {
            rates.iter_mut().for_each(|(rate, _)| rate.record(-1.0, windows, now));
        }
        (most_ms > 0).then_some(most_ms)
    }

    fn rate_of(&mut self, ip: IpAddr, now: MonoTime) -> &mut SampledRate {
        let windows = self.limits.windows;
        let mut key = Some(ip);
        if self.rates_of_ips.len() >= ADDRESSES_MAX && !self.rates_of_ips.contains_key(&key) {
            // Not for each connection: strangers cause it.
            if now >= self.sweep_due {
                self.sweep_due = now.plus_ms(windows.size_ms);
                self.rates_of_ips.retain(|_, rate| !rate.is_idle(windows, now));
            }
            key = key.filter(|_| self.rates_of_ips.len() < ADDRESSES_MAX);
        }
        self.rates_of_ips.entry(key).or_default()
    }

    fn count(&mut self, listener: u16, ip: IpAddr) {
        let strangers = u32::from(self.has_strangers(listener));
        self.connections += 1;
        self.strangers += strangers;
        if let Some(of) = self.listeners.get_mut(usize::from(listener)) {
            of.connections += 1;
        }
        let of = self.by_ip.entry(ip).or_default();
        of.connections += 1;
        of.strangers += strangers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    const NOW: MonoTime = MonoTime::ZERO;

    #[test]
    fn listener_without_authentication_has_no_strangers() {
        let listeners = vec![ListenerLimits { is_open: true, ..Default::default() }];
        let limits = ConnectionLimits { strangers_max: 0, listeners, ..Default::default() };
        let mut connections = Connections::new(limits);
        assert_eq!(connections.admit(0, ip(1), None, NOW), ConnectionVerdict::Admitted);
        assert_eq!(connections.counts(), (1, 0));
        let refused = ConnectionVerdict::Refused(ConnectionLimit::Strangers);
        assert_eq!(connections.admit(1, ip(1), None, NOW), refused);
    }

    /// A client that proves at once who it is.
    fn known(connections: &mut Connections, listener: u16, last: u8) -> ConnectionVerdict {
        let verdict = connections.admit(listener, ip(last), None, NOW);
        if verdict == ConnectionVerdict::Admitted {
            connections.authenticated(ip(last));
        }
        verdict
    }

    #[test]
    fn address_is_refused_and_a_full_broker_or_listener_makes_wait() {
        let listeners = vec![
            ListenerLimits::default(),
            ListenerLimits { connections_max: Some(1), ..Default::default() },
        ];
        let per_ip_overrides = [(ip(9), 0), (ip(2), 3)].into();
        let limits = ConnectionLimits {
            connections_max: Some(5),
            per_ip_max: Some(2),
            per_ip_overrides,
            listeners,
            ..Default::default()
        };
        let mut connections = Connections::new(limits);
        let (admitted, refused) =
            (ConnectionVerdict::Admitted, ConnectionVerdict::Refused(ConnectionLimit::Address));
        let waits = |limit| ConnectionVerdict::Waits(limit, WAIT_MS);
        assert_eq!([1, 1, 1].map(|last| known(&mut connections, 0, last)), [admitted, admitted, refused]);
        assert_eq!(known(&mut connections, 0, 9), refused);
        assert_eq!(known(&mut connections, 1, 2), admitted);
        assert_eq!(known(&mut connections, 1, 3), waits(ConnectionLimit::Listener));
        assert_eq!(
            [2, 2, 3].map(|last| known(&mut connections, 0, last)),
            [admitted, admitted, waits(ConnectionLimit::Broker)]
        );
        connections.release(1, ip(2), false);
        assert_eq!(known(&mut connections, 1, 3), admitted);
        assert_eq!(connections.counts(), (5, 0));
    }

    #[test]
    fn strangers_take_no_places_of_clients_that_are_known() {
        let limits = ConnectionLimits { strangers_max: 3, strangers_per_ip_max: 2, ..Default::default() };
        let mut connections = Connections::new(limits);
        let mut admit = |last| connections.admit(0, ip(last), None, NOW);
        let refused = |limit| ConnectionVerdict::Refused(limit);
        assert_eq!([admit(1), admit(1)], [ConnectionVerdict::Admitted; 2]);
        assert_eq!(admit(1), refused(ConnectionLimit::StrangersOfAddress));
        assert_eq!([admit(2), admit(3)], [ConnectionVerdict::Admitted, refused(ConnectionLimit::Strangers)]);
        connections.authenticated(ip(1));
        assert_eq!(connections.admit(0, ip(3), None, NOW), ConnectionVerdict::Admitted);
        for (last, is_stranger) in [(1, true), (1, false), (2, true), (3, true)] {
            connections.release(0, ip(last), is_stranger);
        }
        assert!(connections.counts() == (0, 0) && connections.by_ip.is_empty());
    }

    #[test]
    fn connections_that_come_too_fast_wait_or_are_closed_later() {
        let limits = ConnectionLimits {
            creation_rate: Some(1),
            listeners: vec![ListenerLimits::default()],
            ..Default::default()
        };
        let mut connections = Connections::new(limits);
        for _ in 0..10 {
            assert_eq!(known(&mut connections, 0, 1), ConnectionVerdict::Admitted);
        }
        assert_eq!(known(&mut connections, 0, 1), ConnectionVerdict::Waits(ConnectionLimit::Rate, 1_000));
        let later = MonoTime::of_ms(30_000);
        for _ in 0..5 {
            assert_eq!(connections.admit(0, ip(1), Some(0.5), later), ConnectionVerdict::Admitted);
        }
        let closed = connections.admit(0, ip(1), Some(0.5), later);
        assert_eq!(closed, ConnectionVerdict::ClosedLater(ConnectionLimit::RateOfAddress, 2_000));
        assert_eq!(connections.admit(0, ip(2), Some(0.5), later), ConnectionVerdict::Admitted);
    }

    #[test]
    fn addresses_that_are_measured_are_bounded() {
        let mut connections = Connections::new(ConnectionLimits::default());
        for number in 0..ADDRESSES_MAX as u32 + 500 {
            connections.rate_of(IpAddr::from(number.to_be_bytes()), NOW).record(1.0, Windows::default(), NOW);
        }
        assert_eq!(connections.rates_of_ips.len(), ADDRESSES_MAX + 1);
        connections.rate_of(ip(1), MonoTime::of_ms(60_000));
        assert_eq!(connections.rates_of_ips.len(), 1);
    }
}
