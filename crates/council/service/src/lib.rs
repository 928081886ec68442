//! The real driver: sockets, threads, timers, TLS, metrics, HTTP, four-letter words.
//!
//! Everything with protocol meaning lives in the pure crates below; this one feeds them bytes, clocks and disk
//! answers, and carries out what they ask for.
//!
//! # Threads
//! One accepts; N shards each poll their connections and hold a [`council_frontend::Front`]; one is the core, which alone writes
//! the tree; one is the journal, which alone touches the disk; one answers four-letter words; one a listener for
//! HTTP. In an ensemble the core also reads and writes the members' connections, one thread answers members who dial,
//! and one dials each other member. They share the tree behind a lock, and otherwise mail.
//!
//! # Not done, and what that costs
//! Java's old key store form (JKS) and OCSP are refused at the start, each with what to do instead. A snapshot can be
//! restored while it runs into a server that is alone only.

mod admin_auth;
mod audit;
pub mod backup;
mod boot;
mod certificate_ends;
mod chronicle;
pub mod config;
mod config_mapping;
mod core_loop;
mod counters;
pub mod digest;
mod ensemble;
mod environment;
mod error;
pub mod force_new_ensemble;
mod four_letter_words;
mod four_letter_worker;
mod http;
mod inspect;
mod introspection;
mod join;
mod line_limit;
mod list_turn;
mod listeners;
mod messages;
mod metrics;
mod net;
mod peer_report;
pub mod peers;
pub mod prepare;
mod random;
mod recovery;
mod restore;
mod server;
mod serving_state;
mod session_clients;
mod snapshot_requests;
mod version;
mod view;

pub use config::ServerConfig;
pub use error::{ServerFault, StartError};
pub use net_tls::{StoreError, TlsError};
pub use server::Server;
pub use storage_dir_disk as disk;
use storage_dir_disk::private;
