//! Agreement: the consensus engine (`raft`) behind an interface of our own.
//!
//! A [`Council`] is a pure machine. Its member feeds it ticks, proposals and what the journal has made durable, and
//! takes [`Ready`] values out of it: what to persist, and what is committed and may be applied.
//!
//! # Invariants
//! - *Durability is data.* What depends on a [`Persist`] is withheld here until [`Council::persisted`] names it; no
//!   driver can get the order wrong.
//! - *Nothing random.* The engine draws election timeouts itself; after every step and tick they are overwritten
//!   with values derived from the seed.
//! - *The engine's own codec never sees bytes of a peer or a disk.* Entries and hard state pass as plain structures.
//! - `batch_append` stays off: it can glue new entries behind a queued empty append of a later index.
//!
//! # Not done, and what that costs
//! Only an ensemble of one votes so far: messages between members, membership changes and snapshots for lagging
//! members have no door here yet. What the engine hands out for them is held to be empty by assertion.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod config;
mod council;
mod entry;
mod ready;
mod seed;
mod window;

pub use config::{Config, MemberId};
pub use council::{Council, ProposalRefused};
pub use entry::{Entry, EntryKind, HardState, Membership};
pub use ready::{Persist, Ready, Role};
pub use window::Recovered;
