//! The load generator: many connections of raw ZooKeeper protocol on one thread.
//!
//! Two ways to load a server. *Closed*: each connection keeps a number of requests outstanding; this finds the most
//! that a server does and what a request costs it. *Open*: requests are due at fixed moments whether or not earlier
//! ones were answered, and each one's latency counts from the moment it was due, so that a server that stalls cannot
//! hide the requests that it kept from being sent.
//!
//! Knows nothing of who runs the server and what the figures are compared with.

mod alarm;
mod connection;
mod crowd;
mod ledger;
mod prepare;
mod run;
mod runner;
mod script;

pub(crate) use connection::{Connection, Heard};
pub use crowd::Crowd;
pub use ledger::{Broken, Ledger, STAMP_BYTES, Stamp};
pub(crate) use prepare::extend_patiently;
pub use prepare::{extend, prepare};
pub use run::{Load, Measured, run};
pub use runner::Patience;
pub(crate) use runner::Runner;
pub(crate) use script::append;
pub use script::{Mix, Nodes, Pace};
