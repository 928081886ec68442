//! The simulator of the log: one to five brokers of several shards on simulated disks, with simulated links between them, the
//! council as a model of an ensemble, and clients that speak the real bytes through another implementation of the protocol. One seed decides everything.
//!
//! The shipped machines run: [`log_broker::Front`] in the shipped event loop, [`log_broker::Broker`],
//! [`log_broker::DiskExecutor`] over the shipped store and write-ahead log, the shipped client of the council with
//! [`log_metadata::Join`] and [`log_metadata::Keeper`].
//!
//! # Who judges
//! What clients asked and what they were told goes into the `history`; the rules of `log-guarantees` (L1 to L82) are checked
//! there, partly at once, partly in the end by reading every partition from its beginning. No rule looks into the broker, but L2:
//! at some acknowledgements the disk is copied, loses what was not flushed, and is read.
//!
//! # Not done, and what that costs
//! - With several brokers it is not known which of them has heard a client: that a coordinator expels nobody too early (L52) is
//!   judged with one broker only. So is what a power failure may take of a topic with `diwan.durability=replicated`.
//! - With several brokers a name of a topic that was made anew may mean the one before to some of them. What a transaction commits for
//!   such a topic is not judged then (L45).
//! - A turn of a shard is one step: two threads that wait for one lock are not simulated.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod broker;
mod council;
mod history;
mod lone;
mod names;
mod peers;
mod reached;
mod served;
mod setting;
mod user;
mod wire;
mod world;

pub use lone::LoneWorld;
pub use world::LogWorld;
