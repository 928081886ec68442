//! Real servers as child processes: found or fetched, configured, started, killed, restarted, measured.
//!
//! Knows nothing of the protocol beyond asking `srvr` until a server answers. Everything that runs one server beside
//! another (the differential test, the load generator, experiments) starts its servers here.

pub mod diwan;
mod error;
pub mod port;
pub mod process;
mod server;
pub mod zookeeper;

pub use error::PeerError;
pub(crate) use server::word;
pub use server::{Config, Server, Software};
