//! Which connections are accepted at a listener.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::MonoTime;
use log_access::{ConnectionLimit, ConnectionVerdict, Connections};
use log_broker::Broker;
use net_reactor::{Gate, Permit, Verdict};
use node_threads::Descriptors;
use parking_lot::Mutex;

use crate::refusals::Refusals;

/// The connections of a broker, counted over all its listeners and threads.
pub(crate) struct Admission {
    connections: Mutex<Connections>,
    /// Knows the quotas of addresses.
    broker: Arc<Mutex<Broker>>,
    refusals: Arc<Refusals>,
}

impl Admission {
    pub(crate) fn new(
        connections: Connections,
        broker: Arc<Mutex<Broker>>,
        refusals: Arc<Refusals>,
    ) -> Arc<Self> {
        Arc::new(Self { connections: Mutex::new(connections), broker, refusals })
    }

    /// How many connections there are, and how many of their clients have not proved who they are.
    pub(crate) fn counts(&self) -> (u32, u32) {
        self.connections.lock().counts()
    }
}

/// The gate of one listener.
pub(crate) struct ListenerGate {
    listener: u16,
    admission: Arc<Admission>,
    descriptors: Descriptors,
    /// The connection that is asked about waits already: it is told of once.
    waits: bool,
}

struct Place {
    listener: u16,
    ip: IpAddr,
    is_stranger: AtomicBool,
    admission: Arc<Admission>,
}

impl ListenerGate {
    pub(crate) fn new(listener: u16, admission: Arc<Admission>, descriptors: Descriptors) -> Self {
        Self { listener, admission, descriptors, waits: false }
    }
}

impl Gate for ListenerGate {
    fn admit(&mut self, ip: IpAddr, descriptor: BorrowedFd<'_>, now: MonoTime) -> Verdict {
        let refusals = &self.admission.refusals;
        if !self.descriptors.admit_client(descriptor) {
            refusals.without_descriptor(ip, self.descriptors.limit);
            return Verdict::Refused;
        }
        let rate = self.admission.broker.lock().connection_rate_of(ip);
        let mut connections = self.admission.connections.lock();
        let verdict = connections.admit(self.listener, ip, rate, now);
        let is_stranger = connections.has_strangers(self.listener);
        drop(connections);
        let waited = std::mem::take(&mut self.waits);
        let refused = |limit: ConnectionLimit| {
            if !waited {
                refusals.connection(ip, limit);
            }
        };
        match verdict {
            ConnectionVerdict::Admitted => {
                let (listener, admission) = (self.listener, Arc::clone(&self.admission));
                Verdict::Admitted(Box::new(Place {
                    listener,
                    ip,
                    is_stranger: is_stranger.into(),
                    admission,
                }))
            }
            ConnectionVerdict::Refused(limit) => {
                refused(limit);
                Verdict::Refused
            }
            ConnectionVerdict::ClosedLater(limit, ms) => {
                refused(limit);
                Verdict::ClosedLater(ms)
            }
            ConnectionVerdict::Waits(limit, ms) => {
                refused(limit);
                self.waits = true;
                Verdict::Waits(ms)
            }
        }
    }
}

impl Permit for Place {
    fn authenticated(&self) {
        if self.is_stranger.swap(false, Ordering::Relaxed) {
            self.admission.connections.lock().authenticated(self.ip);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_stranger = self.is_stranger.load(Ordering::Relaxed);
        self.admission.connections.lock().release(self.listener, self.ip, is_stranger);
    }
}
