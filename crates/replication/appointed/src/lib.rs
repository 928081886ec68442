//! One replica of a log whose leader is appointed from outside: by compare-and-set on a configuration that all replicas read.
//!
//! A configuration service keeps a [`Config`] for each partition: epoch, leader, voters, and on how many of them an entry must
//! be durable. Each change of leader or voters raises the epoch. There are no elections and no heartbeats here: another part
//! finds out which replicas are alive, and a wrong guess costs time, never an entry. Close relatives are Vertical Paxos and
//! PacificA. The rules for logs that differ are those that other systems learnt late (KIP-101, KIP-279, KIP-320, KIP-966).
//!
//! [`Replica`] is a deterministic machine. It holds no entry: it knows the [`LogShape`], which is where the log starts and
//! ends and where each epoch begins in it, and says what is to be stored, cut off, sent and answered. The owner moves
//! the bytes.
//!
//! # A write
//! 1. The owner appends to its log and calls [`Replica::appended`]; the entry goes to its own disk and, by
//!    [`Replica::next_append`], to the other replicas at the same time.
//! 2. A follower checks that the entry before is the same ([`Replica::receive_append`]), stores, and answers once its disk has
//!    it ([`Replica::persisted`]).
//! 3. With the answers of enough voters, the leader's own disk counting as any other, [`Replica::committed`] rises.
//!
//! # A crash of the leader
//! 1. A controller picks a higher epoch and asks the voters to promise it ([`Replica::fence`]). A voter that has promised takes
//!    nothing from older leaders, and tells the [`Position`] of its log.
//! 2. With the answers of N - W + 1 voters [`choose`] names the longest log. Each committed entry is on W voters, so one of
//!    those that answered has it.
//! 3. The controller writes the new epoch and leader into the configuration if that has not changed meanwhile. The new leader marks
//!    where its epoch begins ([`Replica::lead`]); what the others have beyond that they cut off.
//!
//! # A restart
//! What is durable is the promise, the log and its shape. A replica that led an epoch before it stopped never leads it again:
//! it may have sent entries that its own disk has lost. It follows, or leads under a new epoch for which it was chosen. Nor does
//! it go on where it had asked for other voters: what it had committed may be on their disks alone.
//!
//! A replica that is dropped takes its promise with it. If the node gets another replica of the partition later, that begins with
//! the promise of the configuration that names it, and no replica is made for anything else: a leader of long ago, which does
//! not know that it was followed, would otherwise count it among its voters.
//!
//! # Invariants
//! - *Position.* A log at position (epoch, end) is the beginning, up to `end`, of the log of the leader of `epoch`.
//! - *Promise.* A replica that has promised an epoch stores nothing for an older one, and its answers count for no older one.
//! - *Commit.* What is committed is durable on W voters at a position of the leader's own epoch, so every later leader has it.
//!   What is committed is never cut off.
//! - *Voters.* From the moment at which other voters are asked for, entries commit only on enough of both sets.
//!
//! # Not done, and what that costs
//! - Leases: a leader does not know whether it still leads. A read of what is committed is right, and may be old.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod choice;
mod config;
mod follower;
mod history;
mod ids;
mod leader;
mod message;
mod pending;
mod replica;
mod role;

pub use choice::choose;
pub use config::{Config, ConfigError, Voters};
pub use follower::{Answer, Received, Stored};
pub use history::{EpochHistory, EpochStart, LogShape};
pub use ids::{Epoch, PersistId, Position, ReplicaId, Seq};
pub use message::{Append, Appended, BadAppend, Diverged, Refused, Reset};
pub use replica::{Durable, Fence, LeadError, Replica};
