//! The load generator: many connections of raw ZooKeeper protocol on one thread, to measure servers with. Behind the
//! feature `load`.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use council_client::load::{Load, Mix, Nodes, Pace, Servers, prepare, run};
//!
//! let servers = Servers::resolve("10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181")?;
//! // A thousand nodes of 1 KiB below `/bench`, which must not be there yet.
//! let nodes = Nodes { count: 1000, value_bytes: 1024 };
//! prepare(servers.clone(), nodes)?;
//! let load = Load {
//!     servers,
//!     connections: 20,
//!     pace: Pace::Closed { outstanding: 50 },
//!     mix: Mix { writes_per_mille: 100 },
//!     nodes,
//!     seed: 1,
//!     checks: true,
//! };
//! let measured = run(&load, Duration::from_secs(2), Duration::from_secs(10), || {})?;
//! measured.verdict.clone()?;
//! println!("{:.0} requests a second, p99 {:.2} ms", measured.per_second(), measured.latency_ms(99.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two ways to load a server. *Closed*: each connection keeps a number of requests outstanding; this finds the most
//! that a server does and what a request costs it. *Open*: requests are due at fixed moments whether or not earlier
//! ones were answered, and each one's latency counts from the moment it was due, so that a server that stalls cannot
//! hide the requests that it kept from being sent.
//!
//! What [`run`] does not ask is built from its parts: a [`Runner`] holds the connections, a [`Ledger`] knows what reads must
//! show, a [`Crowd`] is many sessions that do little.
//!
//! Servers that are secured are reached by the [`Access`](crate::Access) of [`Servers`]: TLS, SASL, identities. Nodes
//! still get an ACL that is open to everyone. Encryption costs the load processor time, too, which counts as the load's
//! own.
//!
//! Knows neither who runs the server nor what the figures are compared with.
//!
//! # Not done, and what that costs
//! Connections are not opened again: a server that closes one ends the load. To measure a failure, use
//! [`Client`](crate::Client)s.

mod alarm;
mod connection;
mod crowd;
mod ledger;
mod limits;
mod opening;
mod prepare;
mod reader;
mod run;
mod runner;
mod script;
mod servers;

pub use alarm::Alarm;
pub use connection::{Answer, Connection, Heard};
pub use crowd::Crowd;
pub use ledger::{Broken, Ledger, STAMP_BYTES, Stamp};
pub use prepare::{extend, extend_patiently, prepare};
pub use reader::Reader;
pub use run::{Load, Measured, run, run_patiently};
pub use runner::{Patience, Runner};
pub use script::{Mix, Nodes, Pace, append};
pub use servers::{Server, Servers};
