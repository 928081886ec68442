//! What the log keeps in the council: which nodes there are and what their data means, and how a broker follows and changes
//! them.
//!
//! [`Keeper`] is a deterministic machine over the requests and events of one client of the council. It keeps a copy of
//! everything below `/log`, announces this broker by an ephemeral node, and carries out [`Change`]s: read, compute, write if
//! nobody has written meanwhile, again if somebody has. The driver moves its requests; a simulator does the same.
//!
//! # A change, and a connection that breaks
//! A change reads its node, computes the new data from what is there, and writes under the version that it has read. If the
//! version has changed it begins anew. If the connection breaks while the write is under way, nobody knows whether it took
//! effect: after the reconnection the node is read again, and the change is computed anew, with the hint that it may be done
//! already. It has to recognise its own effect then, also behind those of others: a new topic by its random id, a number of
//! partitions by being reached, the record of a partition ([`TopicNode::write_records`]) by being there under the next version. The end of a change is told once this broker's own copy shows it.
//!
//! # Invariants
//! - The events of a node come in the order of its versions; a node that changes often may skip some.
//! - A change is told to be done only behind the event that shows it.
//! - Changes of one node are carried out one after the other, in the order in which they were given.
//! - The version of a partition rises by 1 with each write that changes its entry, and with no other write.
//!
//! # Not done, and what that costs
//! - An ensemble that is brought back from a backup has lower versions of partitions. Controllers and nodes that were told of higher
//!   ones ignore what they read until they are restarted.
//! - All nodes are kept in memory, also those that this broker does not need.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod access;
mod broker_node;
mod config_node;
mod directory_node;
mod id;
mod join;
mod keeper;
pub mod node_name;
mod partition_node;
pub mod paths;
mod record_change;
mod topic_node;

pub use broker_node::{BrokerNode, EndpointNode};
pub use config_node::{ConfigNode, configs_bytes, read_configs};
pub use directory_node::DirectoryNode;
pub use id::{id_of, id_text};
pub use join::{Join, JoinRefusal, JoinStep};
pub use keeper::{Change, Compute, Decision, Ended, Found, Keeper, KeeperEvent, KeeperLimits, Standing};
pub use partition_node::{GoalNode, LossNode, PartitionNode, PartitionRest, ReplicasNode};
pub use record_change::{RecordChange, RecordsWritten};
pub use topic_node::{BadNode, NODE_BYTES_MAX, TopicNode};
