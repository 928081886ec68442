//! The threads that serve clients' sockets, for any protocol: one listener accepts and deals connections out, each
//! reactor polls its connections and runs the event loop of every service that has a part of this thread.
//!
//! A service gives each reactor a [`Service`]: its [`net_event_loop::EventLoop`] with its frontend and its mailboxes.
//! [`Sockets`] does for all of them what concerns sockets: encryption, reading, writing, closing, and what the log says
//! of it. This crate does not know what goes over the sockets.

mod connection_limiter;
mod gate;
mod handshake_trouble;
mod listener;
mod metrics;
mod reactor;
mod rest;
mod service;
mod socket;
mod sockets;
mod token_bucket;
mod turns;

pub use connection_limiter::{ConnectionLimiter, LimitNames, LimiterGate};
pub use gate::{ConnectionPermit, Gate, Permit, Verdict};
pub use handshake_trouble::TlsHints;
pub use listener::{Accepted, Listener, ListenerConfig, ListeningSocket, bind};
pub use metrics::{Handshake, NetworkMetrics};
pub use net_tls::SentFile;
pub use reactor::{Polling, Reactor, Watcher};
pub use service::Service;
pub use socket::ClientSocket;
pub use sockets::{Sockets, SocketsConfig};
pub use token_bucket::ConnectionThrottle;
pub use turns::Turns;
