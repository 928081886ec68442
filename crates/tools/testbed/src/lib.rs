//! Real servers under test: found or fetched, configured, started, given faults, metered. Everything that runs one
//! server beside another (the differential test, ensembles under faults, measurements) starts its servers here.
//!
//! - [`peer`]: where each system comes from, and how its members are started: Diwan, ZooKeeper, Kafka,
//!   etcd, ConCoord;
//! - [`Server`] and [`Ensemble`]: servers that are configured by a `zoo.cfg`, alone or as the members of an ensemble;
//! - [`Broker`] and [`BrokerCluster`]: brokers that speak Kafka's protocol, alone or as one cluster;
//! - [`fault`]: networks that lose, delay and cut, clocks that are wrong;
//! - [`meter`]: the machine, and what servers use of it;
//! - [`wire`], [`keys`], [`dice`]: raw connections, certificates, choices that a seed decides;
//! - [`cells`], [`shrink`]: what scripts have covered, and the part of a failing one that still fails.
//!
//! Depends on no service: what it knows of one are its programs, its configuration and its log.
//!
//! **Not done, and what that costs.** All servers run on this machine: what a network card or a second disk changes is not
//! seen here.

mod broker;
pub mod cells;
mod cluster;
pub mod dice;
mod ensemble;
mod error;
mod failure;
pub mod fault;
pub mod keys;
pub mod meter;
mod part;
pub mod peer;
mod place;
mod queue;
mod server;
mod setting;
mod shrink;
pub mod wire;

pub use broker::{Broker, BrokerConfig, BrokerSoftware};
pub use cluster::{BrokerCluster, Surroundings};
pub use ensemble::Ensemble;
pub use error::PeerError;
pub use failure::Failure;
pub use place::Place;
pub use queue::{QueueServer, QueueSoftware};
pub use server::{Config, Server, Software, word};
pub use setting::Setting;
pub use shrink::shrink;
