//! Which connections are accepted: decided here, for all threads together, before a connection costs anything.
//! Connections never use a reserve of the process's descriptors.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::MonoTime;
use net_event_loop::{Admission, Full};
use node_threads::{Descriptors, RateLimit};
use parking_lot::Mutex;

use crate::gate::{Gate, Permit, Verdict};
use crate::metrics::NetworkMetrics;
use crate::token_bucket::{ConnectionThrottle, TokenBucket};

/// A refused client tries again at once: this limits how often the log says so.
const REFUSALS_TOLD: Duration = Duration::from_secs(10);

/// A place among the connections that may be.
#[derive(Debug)]
struct Place {
    ip: IpAddr,
    gate: Arc<ConnectionLimiter>,
}

impl Permit for Place {}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.admission.lock().release(self.ip);
    }
}

/// Why a connection is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A limit of the configuration.
    Full(Full),
    /// The process's limit of open files.
    NoDescriptor(u64),
}

/// How the limits are called in a protocol's configuration, for messages.
#[derive(Clone, Copy, Debug)]
pub struct LimitNames {
    /// Connections in all.
    pub connections_max: &'static str,
    /// Connections from one address.
    pub per_ip_max: &'static str,
}

impl Refusal {
    /// In words.
    pub(crate) fn tell(&self, names: LimitNames) -> String {
        match self {
            Self::Full(Full::Everybody(max)) => {
                format!("there are {max} connections in all, as `{}` allows", names.connections_max)
            }
            Self::Full(Full::Address(max)) => {
                format!("there are {max} connections from this address, as `{}` allows", names.per_ip_max)
            }
            Self::NoDescriptor(limit) => format!(
                "the limit of {limit} open files is nearly reached; hint: raise it (`ulimit -n`, `LimitNOFILE`)"
            ),
        }
    }
}

/// Which connections one service accepts, counted over all threads.
#[derive(Debug)]
pub struct ConnectionLimiter {
    admission: Mutex<Admission>,
    descriptors: Descriptors,
    /// Connections that were refused.
    pub rejected: AtomicU64,
    /// Connections that were refused because too many came at once.
    pub throttled: AtomicU64,
    /// How many of those were rejected because no descriptor was free.
    pub without_descriptor: AtomicU64,
}

impl ConnectionLimiter {
    /// A limit of 0 is none.
    #[must_use]
    pub fn new(connections_max: u32, per_ip_max: u32, descriptors: Descriptors) -> Arc<Self> {
        Arc::new(Self {
            admission: Mutex::new(Admission::new(connections_max, per_ip_max)),
            descriptors,
            rejected: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
            without_descriptor: AtomicU64::new(0),
        })
    }

    pub(crate) fn admit(
        self: &Arc<Self>,
        ip: IpAddr,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Box<dyn Permit>, Refusal> {
        let refusal = if self.descriptors.admit_client(descriptor) {
            match self.admission.lock().admit(ip) {
                Ok(()) => return Ok(Box::new(Place { ip, gate: Arc::clone(self) })),
                Err(full) => Refusal::Full(full),
            }
        } else {
            self.without_descriptor.fetch_add(1, Ordering::Relaxed);
            Refusal::NoDescriptor(self.descriptors.limit)
        };
        self.rejected.fetch_add(1, Ordering::Relaxed);
        Err(refusal)
    }
}

/// The gate of a service whose limits are those of one [`ConnectionLimiter`] and a bucket of tokens.
pub struct LimiterGate {
    limiter: Arc<ConnectionLimiter>,
    bucket: Option<TokenBucket>,
    names: LimitNames,
    refusals: RateLimit,
    metrics: Arc<NetworkMetrics>,
}

impl LimiterGate {
    /// With the limits of `limiter`; without `throttle`, connections may come in at any rate.
    #[must_use]
    pub fn new(
        limiter: Arc<ConnectionLimiter>,
        throttle: Option<ConnectionThrottle>,
        names: LimitNames,
        metrics: Arc<NetworkMetrics>,
        now: MonoTime,
    ) -> Self {
        let bucket = throttle.map(|throttle| TokenBucket::new(throttle, now));
        Self { limiter, bucket, names, refusals: RateLimit::default(), metrics }
    }

    fn tell_refused(&self, ip: IpAddr, refusal: &Refusal) {
        if self.refusals.allow(Instant::now(), REFUSALS_TOLD) {
            let refused = self.limiter.rejected.load(Ordering::Relaxed);
            let why = refusal.tell(self.names);
            tracing::warn!(peer = %ip, refused, "a connection is refused (the log says so every ten seconds at most): {why}");
        }
    }
}

impl Gate for LimiterGate {
    fn admit(&mut self, ip: IpAddr, descriptor: BorrowedFd<'_>, now: MonoTime) -> Verdict {
        if let Some(bucket) = &mut self.bucket
            && !bucket.take(now)
        {
            self.limiter.throttled.fetch_add(1, Ordering::Relaxed);
            return Verdict::Refused;
        }
        match self.limiter.admit(ip, descriptor) {
            Ok(permit) => {
                self.metrics.token_deficit.record(self.bucket.as_ref().map_or(0, TokenBucket::deficit));
                Verdict::Admitted(permit)
            }
            Err(refusal) => {
                self.tell_refused(ip, &refusal);
                Verdict::Refused
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    const NAMES: LimitNames =
        LimitNames { connections_max: "connections-max", per_ip_max: "per-address-max" };

    #[test]
    fn a_place_is_free_again_once_its_holder_is_gone() {
        let gate = ConnectionLimiter::new(0, 1, Descriptors::new(u64::MAX, 0));
        let (ip, file) = (IpAddr::from([127, 0, 0, 1]), std::fs::File::open("/dev/null").expect("opened"));
        let admit = || gate.admit(ip, file.as_fd());
        let place = admit();
        assert!(place.is_ok());
        assert_eq!(admit().err(), Some(Refusal::Full(Full::Address(1))));
        assert_eq!(gate.rejected.load(Ordering::Relaxed), 1);
        drop(place);
        assert!(admit().is_ok());
        assert_eq!(gate.without_descriptor.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_connection_in_the_reserve_of_descriptors_is_refused_and_counted() {
        let gate = ConnectionLimiter::new(0, 0, Descriptors::new(24, 0));
        let file = std::fs::File::open("/dev/null").expect("opened");
        let refusal = gate.admit(IpAddr::from([127, 0, 0, 1]), file.as_fd()).err().expect("a refusal");
        assert_eq!(refusal, Refusal::NoDescriptor(24));
        assert!(refusal.tell(NAMES).contains("ulimit -n"));
        let counts = (&gate.rejected, &gate.without_descriptor);
        assert_eq!((counts.0.load(Ordering::Relaxed), counts.1.load(Ordering::Relaxed)), (1, 1));
    }
}
