//! The bytes of the messages between two nodes of a replicated service.
//!
//! Five conversations share one form: the replicas of partitions with each other ([`Replicas`], what [`replication_appointed`]
//! says), a controller with a node ([`ControllerMessage`]), a node with a controller ([`NodeMessage`], both what
//! [`replication_controller`] says), a leader with all nodes ([`Lagging`]), and the services above with each other ([`Call`], whose
//! bytes they alone know). A message is one frame of a connection that knows its two ends, keeps the order and finds
//! damage; so no message names its sender or has a checksum. Everything here is a function from values to bytes or back: no
//! socket, no clock, no state between two messages.
//!
//! # Forms
//! Each message begins with a byte for the version, 2, and a byte for its kind. A list goes on with the number of its items, 4
//! bytes, least significant first. All other numbers are varints: seven bits a byte, least significant first, in as few bytes as
//! the number needs (1 to 5 for 32 bits, 1 to 10 for 64). *Near* is a varint of the distance to another number, with its sign in
//! the lowest bit. An epoch has 32 bits, a number of an entry ("seq") 64.
//!
//! | kind | message | behind the kind |
//! |---|---|---|
//! | `0x01` | [`Replicas`] | a list: partition, kind of the item, its fields (below) |
//! | `0x02`, `0x03` | [`Call`], a question or its answer | number (64 bits), length of the bytes, bytes |
//! | `0x11` | [`ControllerMessage::Fence`] | a list: partition, epoch |
//! | `0x12` | [`ControllerMessage::Tell`] | a list: partition, version (64 bits), record |
//! | `0x13` | [`ControllerMessage::Ask`] | a list: partition, epoch, then `1`, version, record, or `2`, replica |
//! | `0x21` | [`NodeMessage::Announced`] | incarnation (64 bits) |
//! | `0x22` | [`NodeMessage::Promised`] | a list: partition, epoch, then `1`, epoch and end of the log, or `2`, promised epoch |
//! | `0x23` | [`NodeMessage::Reported`] | a list, with the incarnation before the first item: partition, version, epoch, leads (0 or 1), promised epoch |
//! | `0x24` | [`NodeMessage::Prepared`] | partition, epoch, replica |
//! | `0x25` | [`NodeMessage::Draining`] | 0 or 1 |
//! | `0x26` | [`NodeMessage::Acts`] | a list: partition, then `1`, replica, or `2` |
//! | `0x31` | [`Lagging`] | a list: partition, epoch, voters: their number, each less the one before with 0 or 1 |
//!
//! | item of [`Replicas`] | kind | fields |
//! |---|---|---|
//! | [`ReplicaMessage::Append`] | `0x01`; with `0x10` it resets, with `0x20` it probes, with `0x40` it has starts | epoch, epoch start (seq), epoch less epoch of `after`, end of `after` (seq), `to` less that, committed near `to`, start of the log (seq), round, starts, length of the entries in bytes, entries |
//! | [`ReplicaMessage::Appended`] | `0x02` | epoch, durable (seq), start of the log (seq), round |
//! | [`ReplicaMessage::Diverged`] | `0x03` | epoch, epoch less common epoch, common end (seq) |
//! | [`ReplicaMessage::Refused`] | `0x04` | promised epoch |
//!
//! - *Partition*: a varint, twice the index ([`PartitionId::index`](replication_controller::PartitionId::index)), plus 1 if the group
//!   is not that of the item before, then the 16 bytes of the group. The first partition of a message names its group.
//! - *Starts*: their number, at least 1; of each its epoch and its seq, less those of the one before, the first less `after`.
//! - *Record*: flags (1 chosen, 2 `voters_min`, 4 goal, 8 loss); epoch, leader, members; the number of preferred replicas and
//!   those; `voters_min`; members to and from; epoch, missing replicas and kept position of the loss. *Members*: voters, on how
//!   many of them an entry must be durable, learners. *Replicas in a set*: their number, and each less the one before.
//!
//! | bound | at most |
//! |---|---|
//! | a list with two or more items | [`BATCH_BYTES_MAX`] bytes; a sender puts the rest into another message |
//! | a list with one item | what its sender makes; a receiver takes [`message_bytes_max`] |
//! | the entries of one append that shares its message | what is left of [`BATCH_BYTES_MAX`] |
//! | the entries of one append that has a message to itself | `request_bytes_max` of the receiver, in bytes |
//! | memory of a decoded message | 64 times its bytes and 4 KiB; an append without `starts` takes none |
//!
//! # Invariants
//! - *One form.* Bytes that are decoded are those that the decoded message encodes to. Nothing is ignored.
//! - *Bounded.* A count is compared with the bytes that are left before memory is taken for it.
//! - *No panic.* Any bytes are a message or a [`WireError`]. The receiver of an error closes the connection.
//! - *Whole or not.* A part of a message is no message; neither is one with bytes behind it.
//! - *Borrowed.* The entries of an append are a slice of the frame.
//!
//! # Not done, and what that costs
//! - A version to agree on: a node sends the version that it was built for, and one that does not know it closes the connection.
//!   Nodes of two versions do not talk until there is an older form to fall back to, or a feature level of the whole cluster.
//! - Partitions that a connection remembers, so that a partition is two bytes in each frame: it would need a table on both sides which
//!   is the same after each loss. The first partition of a group takes 16 bytes more in each frame.
//! - Compression: entries are sent as their owner has them.
//! - An item of a list can be longer than a receiver takes: a record with some 200,000 replicas, an append across some 70,000
//!   epochs. The connection is closed each time it is sent.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod append;
mod call;
mod codec;
mod controller;
mod error;
mod kind;
mod lagging;
mod limits;
mod list;
mod message;
mod node;
mod partition;
mod record;
mod replicas;

/// The first byte of each message.
pub const VERSION: u8 = 3;

pub use call::Call;
pub use controller::ControllerMessage;
pub use error::WireError;
pub use lagging::Lagging;
pub use limits::{BATCH_BYTES_MAX, message_bytes_max};
pub use list::Full;
pub use message::Message;
pub use node::NodeMessage;
pub use replicas::{ReplicaMessage, Replicas, ReplicasWriter};
