//! The node's side of appointed replication: what a node that has copies of partitions owes to controllers, to the leaders that
//! it follows, and to the followers of what it leads.
//!
//! [`replication_appointed`] replicates one log, and [`replication_controller`] appoints the leaders of many. Between them is a
//! process that has copies of some thousands of partitions: it learns records, makes and drops copies, leads what it is
//! appointed to, keeps promises, and reports. The list of those duties is in [`replication_controller`]. [`Node`] does them.
//!
//! [`Node`] is a deterministic machine: it has no clock, no connection, no disk and no log. The owner has the logs and lends
//! them ([`Copies`], [`LogCopy`]) together with each input and the time. After each input, or after a few of them, it takes
//! [`Effect`]s and carries them out. When [`Node::next_deadline`] has come it calls [`Node::tick`].
//!
//! The bytes of entries never come here. The owner appends, reads entries to be sent, and takes entries that were sent; after
//! each it calls [`Node::follow_up`], and so it does when its disk has made something durable. The machine says which replicas have
//! something to be sent ([`Effect::Send`]), whether entries of a leader may be taken ([`Node::admit`]), and when nothing may be
//! appended ([`Effect::Pause`]).
//!
//! # A write
//! 1. The owner appends to a partition that leads and is not paused, gives the entries to its disk, and calls
//!    [`Node::follow_up`]. [`Effect::Send`] names the followers; the owner sends to them while its disk works.
//! 2. At a follower [`Node::admit`] permits the entries, because their epoch is not above that of the record. The owner gives them
//!    to [`Replica::receive_append`] and to its disk. When that is done, [`Node::follow_up`] gives [`Effect::Reply`].
//! 3. The leader's owner passes the reply to [`Node::answered`]. What has committed is seen where the reply is applied
//!    ([`LogCopy::apply`]). Effects for the next messages follow.
//!
//! # The death of a leader
//! 1. A controller asks the node for promises ([`Node::handle`]). Each is given to the disk ([`LogCopy::fence`]). When that has made
//!    it durable, [`Node::follow_up`] puts the answer into the message for that controller: one for many partitions.
//! 2. The controller writes the record and tells the node that it leads now. The node leads ([`LogCopy::lead`]) and reports that.
//!    The other replicas are told once. A follower that was not told is sent entries of an epoch that it does not know. It
//!    drops them, reads the record, and then asks the leader to send again.
//! 3. If nobody is appointed, because the controller has died too, each node that has promised says so about once a second until
//!    a controller has taken care of it.
//!
//! # A restart
//! The owner opens the copies that its disk has, makes a [`Node`] with a higher incarnation, and reads the records of all
//! partitions that name the node or that it has a copy of ([`Node::learn`], [`Node::removed`]). Copies that no record assigns to it
//! are dropped, and missing ones are made. Only then does it connect to controllers ([`Node::connected`]). The node leads nothing
//! of what the process before led, and a controller that hears of the new incarnation appoints leaders anew.
//!
//! # Duties of the owner
//! - Effects of one partition are carried out in their order. Messages to controllers, reads and writes may be lost, doubled or late:
//!   all of them are asked for again if they are needed.
//! - A message to another replica is lost only with its connection, and then both nodes call [`Node::reconnected`] for the next
//!   one before anything is sent over it.
//! - [`Effect::Create`] is one step: a crash leaves the copy before, if there was one, or the new one with its promise.
//! - Records that were read or observed of a removed partition do not follow [`Node::removed`].
//! - A copy is lent unless it is being made. A copy that the owner cannot use any more, or cannot read at a start, is a reason to
//!   stop the process: an empty one in its place would be a voter that has forgotten entries.
//!
//! # Invariants
//! - *Copy.* A copy is made only for a record that names the node, and begins with the promise of that record, or with a higher
//!   one that the copy before had given. A record of a controller makes none for a partition that is not assigned: it is read first.
//! - *Version.* A record that is not above the newest that was seen changes nothing, also after the copy was dropped.
//! - *Entries.* No entries are taken of an epoch above that of the record: the record might say that this copy is to be dropped, or
//!   started anew.
//! - *Voters.* Voters that were sent to the configuration are given up only if a newer version shows that they were not written.
//! - *Idle.* A partition that has its leader, and that nobody asks anything of, has no deadline and no effect.
//! - *Bounded.* Of what messages bring, a partition keeps one change of voters, one hand-over, the newest epoch that each of up to four
//!   controllers wants promised, and the newest leader that has to send again. Partitions that are not assigned are read, up to
//!   [`Settings::reads_max`] at a time. Besides, the newest version is kept of each partition of which a record was learnt and that
//!   was not removed.
//!
//! # Not done, and what that costs
//! - Entries that come before their record are dropped, not kept: a new epoch costs a follower that was not told of it one read and one
//!   more message.
//! - [`Node::reconnected`] looks at all partitions of the node: there is no index by node.
//! - A hand-over that is prepared is told to all controllers that are connected, not only to the one that asked.
//! - Leases: [`LogCopy::lead`] and promises would have to wait for them.
//! - A failed disk is not reported. The process has to stop; its controller then sees the node silent.
//!
//! [`Replica::receive_append`]: replication_appointed::Replica::receive_append
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod assignment;
mod control;
mod copy;
mod deadlines;
mod effect;
mod fences;
mod hand_over;
mod ids;
mod node;
mod outbox;
mod reading;
mod records;
mod settings;
mod tasks;
mod voter_change;

pub use copy::{Copies, Input, LogCopy};
pub use effect::{Admission, Effect, Reply};
pub use ids::ControllerId;
pub use node::Node;
pub use settings::Settings;
