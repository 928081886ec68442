//! The load generator: many connections of raw protocol on one thread, to measure brokers with. Behind the feature `load`.
//!
//! Requests are made once and sent again and again with another correlation id (and, from idempotent producers, another
//! sequence number and checksum), so that the load costs little beside the broker. Of the answers only the error code, the
//! offsets and the headers of batches are read.
//!
//! - [`produce`]: producers that each keep a number of requests outstanding, or that send at a fixed rate. At a fixed rate a
//!   latency counts from the moment at which the request was due.
//! - [`consume`]: consumers that read partitions from their beginning, again and again.
//! - [`fill`]: a number of records, spread over all partitions of a topic.
//! - [`recount`]: reads all of a topic from its beginning, verifies its batches, and counts its records.
//! - [`transact`]: reads, and writes what was read together with its offsets, transaction by transaction.
//! - [`steady`]: one producer that retries while brokers die, and says when each batch was acknowledged.
//! - [`Everywhere`]: one message for each partition of a topic, whoever leads it by now.
//! - [`group()`]: a consumer group of KIP-848 with many members, of which some die.
//! - [`share()`]: a consumer of a share group that acknowledges every record by itself.
//! - [`deliver`]: records at a fixed rate, and the time from the moment at which each was due until a consumer has it.
//!
//! Knows neither who runs the broker nor what the figures are compared with.
//!
//! # Not done, and what that costs
//! - Only [`steady`] and [`Everywhere`] open connections again: a broker that closes one ends every other load.
//! - [`produce`] and [`recount`] look which broker leads a partition once, at their beginning, and [`steady`] whenever it must. All
//!   connections of the others go to the one address that is given, which must lead all partitions.

mod consume;
mod deliver;
mod everywhere;
mod fill;
mod group;
mod group_member;
mod leaders;
mod measured;
mod poll;
mod produce;
mod recount;
mod requests;
mod share;
mod socket;
mod steady;
mod transact;

pub use consume::{Consume, consume};
pub use deliver::{Deliver, deliver};
pub use everywhere::{Everywhere, Reached};
pub use fill::{Fill, fill};
pub use group::{Group, Grouped, group};
pub use leaders::Led;
pub use measured::Measured;
pub use produce::{Pace, Produce, produce};
pub use recount::{Recounted, recount};
pub use share::{Share, share};
pub use steady::{Acknowledged, Steady, steady};
pub use transact::{Transact, transact};
