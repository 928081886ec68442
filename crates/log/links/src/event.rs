//! What the owner of the links is told, and what it tells them.

use bytes::Bytes;
use net_peers::Lane;
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

/// Another broker of the cluster, as the coordination service announces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number.
    pub id: ReplicaId,
    /// Where it listens for brokers.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The process that is announced: no earlier one is let in.
    pub incarnation: Incarnation,
}

/// What became of the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// A link to a broker stands. What is sent from now on goes over it.
    Connected {
        /// The broker.
        from: ReplicaId,
        /// Its process.
        incarnation: Incarnation,
    },
    /// A message came.
    Message {
        /// From that broker.
        from: ReplicaId,
        /// Its bytes, as they were sent. Not decoded and not judged.
        bytes: Bytes,
    },
    /// Something came from a broker that sent no message lately, or that was silent.
    Heard {
        /// The broker.
        from: ReplicaId,
    },
    /// Nothing came from a broker for [`LinkTiming::silent`](crate::LinkTiming::silent). Told once, until it is heard again.
    Silent {
        /// The broker.
        from: ReplicaId,
    },
    /// The link to a broker is gone, and so is what was on its way in either direction.
    Broken {
        /// The broker.
        from: ReplicaId,
    },
    /// [`Full`](NotSent::Full) was answered, and more can be sent now.
    Room {
        /// To that broker.
        to: ReplicaId,
        /// On that connection.
        lane: Lane,
    },
}

/// Why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// No link to that broker stands, as far as the owner has been told.
    #[error("no link to that broker stands")]
    NotConnected,
    /// Too much waits for that broker on that connection. [`LinkEvent::Room`] follows.
    #[error("too much waits for that broker")]
    Full,
    /// It is empty, longer than its kind may be, or of no version that a broker takes: the caller's bug.
    #[error("that is no message, or it is longer than its kind may be")]
    Unsendable,
}
