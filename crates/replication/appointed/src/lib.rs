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
//! # A deletion
//! Entries that are committed go for two reasons. Retention is each replica's own: [`Replica::cut_start`]. What a client deletes must
//! not come back, whoever leads later:
//! 1. The owner of the leader calls [`Replica::delete_before`] and cuts its log. The new start goes to its own disk and, with each
//!    [`Append`], to the other replicas. An append without entries is sent for it.
//! 2. A follower cuts its log there, as far as it knows that to be committed ([`Replica::start_to_take`]), and with each [`Appended`] tells where its log starts
//!    durably. A follower whose log ends before the new start has nothing in common with the leader's any more and starts anew
//!    there, by the same append that a follower gets which lags behind retention.
//! 3. With the starts of W voters, the leader's own disk counting as any other, [`Replica::deleted_to`] rises: the client is
//!    answered. Until then [`Replica::shown_start`] stays: a client that is shown a later start could see it go back.
//!
//! *The leader dies.* If the client was answered, the start is on the disks of W voters, and each set of N - W + 1 has one of them.
//! A new leader is established only after N - W + 1 voters, itself among them, have told their starts in its epoch. It cuts its
//! log at the latest of them ([`Replica::start_to_take`]), and waits until W voters have that start, for it cannot know whether
//! a leader before has shown it. If the client was not answered, the records are deleted or not.
//!
//! *A follower dies* before its disk has the start: it does not count, and after its restart it is told again with the first
//! append. *The leader restarts*: it leads no more, and its disk's start counts as that of any voter. *Other voters*: they are written
//! only when enough of them have the start that is wanted.
//!
//! # A confirmation
//! A leader that was stopped for a while may have a successor and not know it. Whoever must not answer from an old state asks:
//! 1. [`Replica::confirm`] gives a [`Round`]. Each [`Append`] names the newest one; one without entries is sent for it.
//! 2. A follower answers with the newest round that it has got from the leader whose epoch it has promised.
//! 3. With the answers of W voters, the leader counting as one, [`Replica::is_confirmed`]: when it asked, no later leader had
//!    the promises of N - W + 1 voters, for one of them would have refused. So nothing was committed that it does not have.
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
//! - *Start.* What is deleted for good is gone from the logs of W voters, durably, so every later leader deletes it before it serves.
//! - *Voters.* From the moment at which other voters are asked for, entries commit only on enough of both sets.
//!
//! # Not done, and what that costs
//! - A new leader takes the latest start of those that answered, whether it comes from a client's deletion or from the retention of
//!   a follower: a follower whose clock is ahead makes the log shorter for all. Followers cut where the leader's retention does, too.
//! - A start that moves by the leader's retention is shown at once. If the leader dies before others have it, the next may show an earlier
//!   one.
//! - Leases: a leader does not know whether it still leads. A read of what is committed is right, and may be old, unless it waits
//!   for a confirmation.
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
pub use ids::{Epoch, PersistId, Position, ReplicaId, Round, Seq};
pub use message::{Append, Appended, BadAppend, Diverged, Refused, Reset};
pub use replica::{Durable, Fence, LeadError, Replica};
