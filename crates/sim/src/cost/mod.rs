//! The cost mode: how fast an ensemble would be that is not here. The machines that ship (fronts, cores, journals, trees)
//! run in virtual time, and each thing that a real member's threads do costs what it was measured to cost.
//!
//! A [`Profile`] says what hardware costs (data: `crates/sim/costs`), a [`Setup`] who does what, a [`Prediction`] what
//! came of it. [`predict`] takes one and the other; the same of both gives the same prediction.
//!
//! # A read's way
//! A client's request travels its host's network to a member's and lies in the connection's input. The shard's thread is
//! asleep: it wakes after the host's wake-up latency, or waits for one of the host's cores. It then takes one *round*, as
//! `server`'s shard does: what the core has told it goes to [`front::Front::deliver`], what lies in inputs to
//! [`front::Front::receive`], which evaluates reads on the member's own tree and encodes replies. The round is played at
//! once; what it did is counted ([`Count`]) and priced by the profile, the core of the host is busy for so long, and each
//! reply sets out when the round has come as far as writing it.
//!
//! # A write's way
//! `Front::receive` makes it a command, which reaches the core's thread when the shard's round has come to its end of
//! reading. The core's thread takes a turn (mail, peers, proposals), hands the journal's thread its batch and other members
//! their messages, and then applies what is committed, a bounded piece at a time, during which shards are kept from the
//! tree. The journal's thread appends and flushes: it is off its core for as long as the disk takes. Group commit, batching
//! of entries, pausing of connections are not modelled: it is the shipped code that does it.
//!
//! # Invariants
//! - *Deterministic.* One queue of events, ordered by time and then by when they were made; chance (which node, how long a
//!   flush) comes from the seed. Nothing looks at a real clock.
//! - *No thread runs twice at once, no host is busier than its cores.*
//! - *Nothing happens before what it follows from.* Effects of a round are told when the part of it is over that makes them.
//! - *The machines are those that ship*; only loops around them are written again here, after `server`'s.
//!
//! # Not done, and what that costs
//! - A round is not interrupted, and a host has one queue of threads for all its cores: how the system's scheduler really
//!   shares too few cores shows in the tails of a crowded host, which are predicted worst.
//! - Caches: an operation costs the same however many threads share a core and however large the tree is.
//! - Sockets have room without end, packets are not lost, and a transfer's bytes are one piece.
//! - No snapshots are taken, nobody fails.

mod client;
mod count;
mod disk;
mod host;
mod member;
mod network;
mod prediction;
mod profile;
mod queue;
mod request;
mod setup;
mod shard;
mod world;

pub use count::{Count, KINDS, Part, Role};
pub use prediction::{Prediction, Spent};
pub use profile::{DiskCosts, NetworkCosts, Profile, ProfileError};
pub use setup::{At, Pace, Place, Setup, Work};

/// Plays the setup on that hardware.
///
/// # Panics
/// The setup is none: no members, no clients, no time; or the machines found themselves broken.
#[must_use]
pub fn predict(profile: &Profile, setup: &Setup) -> Prediction {
    world::World::new(profile, setup).play()
}
