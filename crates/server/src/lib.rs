//! The real driver: sockets, threads, timers, TLS, metrics, HTTP, four-letter words.
//!
//! Everything with protocol meaning lives in the pure crates below; this one feeds them bytes, clocks and disk
//! answers, and carries out what they ask for.
//!
//! # Threads
//! One accepts; N shards each poll their connections and hold a [`front::Front`]; one is the core, which alone writes
//! the tree; one is the journal, which alone touches the disk; one answers four-letter words; one a listener for
//! HTTP. In an ensemble the core also reads and writes the members' connections, one thread answers members who dial,
//! and one dials each other member. They share the tree behind a lock, and otherwise mail.
//!
//! # Not done, and what that costs
//! Java's old key store form (JKS) and OCSP are refused at the start, each with what to do instead. A snapshot can be
//! restored into a server that is alone only.

mod access;
mod audit;
mod board;
mod boot;
mod calendar;
mod clerk;
mod clock;
pub mod config;
mod core_loop;
pub mod disk;
mod ensemble;
mod environment;
mod error;
mod http;
mod inspect;
mod journal_loop;
mod mailbox;
mod metrics;
mod net;
mod overview;
mod peers;
mod random;
mod rate_limit;
mod recovery;
mod restore;
pub mod revival;
mod server;
mod settings;
mod snapshots;
mod sockets;
mod standing;
#[cfg(test)]
mod testing;
mod version;
mod words;

pub use config::ServerConfig;
pub use error::{ServerFault, StartError};
pub use net::tls::context::TlsError;
pub use net::tls::store::StoreError;
pub use server::Server;
