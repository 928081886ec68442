//! The group of replicas as the parts of the machine see it. What waits in it for a read index is known by a number.

use crate::message::ObjectsMessage;

/// The group as the machine is lent it.
pub(crate) type Group = consensus_replica::Group<ObjectsMessage, u64>;
