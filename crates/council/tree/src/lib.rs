//! The tree: znodes, sessions, ACLs, quotas, containers and TTL nodes, and how commands change them.
//!
//! [`Tree::apply`] is a function of the log: the same commands with the same stamps give the same tree, the same
//! results and the same digest everywhere. Reads borrow. Snapshots are of one point in time and taken while writes go
//! on.
//!
//! This crate knows no clock, disk, network or connection. It gets the time of each entry and the identities behind
//! each command, and says what changed.
//!
//! # Differences from ZooKeeper, on purpose
//! - ACLs are judged against the state just before the command, not at submission.
//! - A client's deleteContainer is refused; ZooKeeper lets any client remove any empty node that way.
//! - createTTL without a TTL mode is refused; ZooKeeper 3.9.5 crashes.
//! - Usage below a quota whose `zookeeper_stats` makes no sense is not counted; ZooKeeper crashes.
//! - A sequence counter at its end goes on with negative numbers, as documented; ZooKeeper stops there.
//!
//! # Not done, and what that costs
//! - Children come in no order and are not paged: a client that lists a million children gets them all.
//! - Local sessions: every session is replicated.
//! - The order in which a closed session's nodes are deleted is that of Java's hash set; where that depends on how
//!   large the set once was, it may differ.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

mod acl;
mod address;
mod apply;
mod arena;
mod births;
mod change;
mod codec;
mod command;
mod cost;
mod digest;
mod identity;
mod java;
mod loader;
mod multi;
mod node;
mod null_path;
mod outcome;
mod path;
mod permit;
mod policy;
mod quota;
mod reach;
mod read;
mod reap;
mod roster;
mod scheme;
mod session;
mod snapshot;
mod succession;
mod table;
mod track;
mod tree;
mod undo;
mod usage;
mod walk;
mod weight;
mod work;
mod write;

pub use acl::{AclRef, mask_digests};
pub use change::{Change, ChangeKind, Changes};
pub use command::{Command, Operation, Origin, REFUSED_MAX, Stamp};
pub use cost::{Cost, CostLimits, Excess};
pub use digest::DIGEST_VERSION;
pub use identity::{Identities, Identity, IdentityList};
pub use loader::Loader;
pub use outcome::{DropReason, Outcome, SubOutcome};
pub use path::CONFIG;
pub use permit::{Verdicts, permits};
pub use policy::Policy;
pub use quota::QuotaFigures;
pub use reach::REACH;
pub use read::{Children, EphemeralPiece, EphemeralPlace, NodeRef, in_zookeepers_order};
pub use roster::{Member, Roster};
pub use session::Session;
pub use snapshot::SnapshotProgress;
pub use tree::Tree;
pub use walk::{ChildrenPause, Counted, Descent};
