//! One member of a consensus group: a [`Replica`] that agrees, applies and keeps up, over a [`StateMachine`] that says
//! what commands mean.
//!
//! The replica has the log, the engine, leadership with its leases, membership, snapshots, and what is sent to other
//! members. The machine has the commands: which wait, what applying one does, what its clients hear. A driver feeds the
//! replica with time, messages, and what the journal has done; it lends the state, which readers share.
//!
//! # The turn of a driver
//! 1. [`Replica::peer`], [`Replica::journal`], [`Replica::tick`] and what the machine itself is told.
//! 2. [`Replica::advance`]: what waits is proposed or forwarded; the engine takes its turns.
//! 3. [`Replica::take_requests`] to the journal, [`Replica::take_outgoing`] to the other members.
//! 4. [`Replica::apply`] while [`Replica::has_work`], with the state lent for writing.
//!
//! # Invariants
//! - *Durability is data.* What depends on an entry is withheld until the journal has answered for it.
//! - *Apply is a function of the log.* The leader stamps time into an entry; each member computes the same state.
//! - *A lease bounds staleness.* Who serves holds a lease that a majority knows of ([`Replica::is_serving`]).
//! - *Nothing is lost with a leader.* A machine keeps its commands until they are applied here, and is told to give them
//!   again when another leads.
//! - *No member alone takes another from its group.* What arrives passes one gate (`peer_gate`): a message that its sender
//!   may not send now changes nothing, is counted, and stops no member.
//! - *Bounded.* What waits here is bounded by the limits in [`ReplicaConfig`].
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod append_throttle;
mod applier;
pub mod batch;
mod config;
mod convert;
mod deferred_appends;
mod digest_log;
mod disk_watch;
mod divergence;
mod entry_commands;
mod fault;
mod feature_level;
pub mod founding;
mod group;
mod journal;
pub mod journal_executor;
mod leadership;
pub mod lifecycle;
mod log_retention;
mod membership;
mod output;
mod peer_gate;
mod peer_limits;
mod peer_message;
mod peers;
mod read_index;
mod reconfiguration;
mod refusals;
mod replay;
mod replica;
pub mod revival;
mod room;
mod snapshot;
pub mod start;
mod state_machine;
#[cfg(test)]
mod test_support;
mod view;
mod withdrawal;

pub use config::ReplicaConfig;
pub use consensus_raft::{MemberId, MemberNumber};
pub use entry_commands::{EntryCommands, is_readable};
pub use fault::Fault;
pub use group::Group;
pub use journal::{Chunks, JournalEvent, JournalRequest};
pub use membership::{Denials, GroupMembership, Tenure, WantedMembers};
pub use peer_limits::peer_message_bytes_max;
pub use peer_message::{MachineMessage, MessageLength, OwnRole, PeerMessage, SnapshotEnd, is_of_machine};
pub use peers::Peers;
pub use reconfiguration::LAG_MAX;
pub use refusals::Refusal;
pub use replay::{Replay, Replayed};
pub use replica::Replica;
pub use room::Room;
pub use snapshot::LastSnapshot;
pub use state_machine::{
    GroupOf, Persisting, ReplicatedState, ScanProgress, SnapshotLoader, Stamp, StateMachine, Unreadable,
};
pub use view::View;
