//! What the links of a broker are told when they start.

use std::net::IpAddr;
use std::time::Duration;

use net_peers::{EnsembleSecret, PeerTlsConfig};
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

/// See the module.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The number of this broker.
    pub id: ReplicaId,
    /// This process. A later process of the broker has a greater one.
    pub incarnation: Incarnation,
    /// The id of the cluster: brokers of two clusters refuse each other.
    pub cluster: [u8; 16],
    /// What all brokers of the cluster know and nobody else. They prove it to each other and never send it.
    pub secret: EnsembleSecret,
    /// Keys and certificates. Without them brokers talk in plain text, and the secret is all that keeps strangers out.
    pub tls: Option<PeerTlsConfig>,
    /// The address that this broker dials from; any if not set.
    pub source: Option<IpAddr>,
    /// See there.
    pub limits: LinkLimits,
    /// See there.
    pub timing: LinkTiming,
}

/// How much may wait, and where. All sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    /// How many other brokers there may be.
    pub peers_max: usize,
    /// How much may wait for one broker on one of its two connections. A single message may be longer.
    pub waiting_bytes_max: usize,
    /// How much may have come from one broker that the owner has not taken yet. Then nothing is read from that broker.
    pub untaken_bytes_max: usize,
    /// How long the entries of one append may be that has a message to itself.
    pub request_bytes_max: usize,
}

impl Default for LinkLimits {
    fn default() -> Self {
        Self {
            peers_max: 255,
            waiting_bytes_max: 8 << 20,
            untaken_bytes_max: 16 << 20,
            request_bytes_max: 1 << 20,
        }
    }
}

/// When a broker counts as alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTiming {
    /// How often a link shows the other side that this broker lives.
    pub heartbeat: Duration,
    /// After how long without a byte the owner is told that a broker is silent.
    pub silent: Duration,
    /// After how long without a byte a link is given up.
    pub broken: Duration,
}

impl Default for LinkTiming {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(100),
            silent: Duration::from_millis(300),
            broken: Duration::from_secs(3),
        }
    }
}
