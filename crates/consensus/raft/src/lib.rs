//! Agreement: the consensus engine (`raft`) behind an interface of our own.
//!
//! A [`RaftNode`] is a pure machine. Its member feeds it ticks, proposals, its peers' messages and what the journal has
//! made durable, and takes [`Ready`] values out of it: what to persist, what is committed and may be applied; and
//! [`Envelope`]s for its peers.
//!
//! # Invariants
//! - *Durability is data.* What depends on a [`Persist`] is withheld here until [`RaftNode::persisted`] names it; no
//!   driver can get the order wrong. A leader's messages go out at once, so that its peers' disks work beside its own;
//!   everybody else's wait for the disk.
//! - *Nothing random.* The engine draws election timeouts itself; after every step and tick they are overwritten
//!   with values derived from the seed.
//! - *No message reaches the engine unjudged.* What contradicts what this member knows is refused (`guard`): the engine
//!   would panic, or take it over.
//! - *The engine's own codec never sees bytes of a peer or a disk.* Entries and hard state pass as plain structures.
//! - `batch_append` stays off: it can glue new entries behind a queued empty append of a later index.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod change;
mod config;
mod entry;
mod guard;
mod message;
mod raft_node;
mod ready;
mod window;

pub use base::{LogIndex, MemberId, MemberNumber, Term};
pub use change::{Change, Step};
pub use config::Config;
pub use entry::{Entry, EntryKind, HardState, Membership};
pub use guard::{Refused, TERM_JUMP_MAX, TERM_MAX};
pub use message::{Append, Envelope, Malformed, Message, SnapshotOffer};
pub use raft_node::{ProposalRefused, RaftNode};
pub use ready::{Persist, Progress, Ready, Role};
pub use window::Recovered;
