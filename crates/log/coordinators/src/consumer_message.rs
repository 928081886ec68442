//! Requests of members of KIP-848 and their answers, without the form of any version of the wire.

use log_wire::ErrorCode;

use crate::{Epoch, Partitions, Text};

/// ConsumerGroupHeartbeat. What is nothing has not changed since the member's last heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerHeartbeat {
    /// The group.
    pub group: Text,
    /// The member id. Clients of version 1 make it themselves; in version 0 it may be empty at first.
    pub member: Text,
    /// The epoch that the member believes in, or one of the special values of [`Epoch`].
    pub epoch: Epoch,
    /// The id of a static member.
    pub instance: Option<Text>,
    /// Where the member is. It is kept and shown, and has no effect.
    pub rack: Option<Text>,
    /// The version of the request: from 1 on, the member makes its id.
    pub version: i16,
    /// The client's own name for itself.
    pub client_id: Text,
    /// The client's address.
    pub client_host: Text,
    /// How long the member may take to give up partitions.
    pub rebalance_timeout_ms: Option<u64>,
    /// The topics that it reads.
    pub topics: Option<Vec<Text>>,
    /// The regular expression over the topics that it reads; empty for none.
    pub regex: Option<Text>,
    /// The server-side assignor that it prefers, by name.
    pub assignor: Option<Text>,
    /// What it owns.
    pub owned: Option<Partitions>,
}

impl ConsumerHeartbeat {
    /// How many things the client names in it.
    pub(crate) fn names(&self) -> usize {
        let owned = self.owned.iter().flatten().map(|(_, numbers)| 1 + numbers.len());
        self.topics.as_ref().map_or(0, Vec::len) + owned.sum::<usize>()
    }

    /// The member says everything of itself: it wants to hear everything too.
    pub(crate) const fn is_full(&self) -> bool {
        self.rebalance_timeout_ms.is_some()
            && (self.topics.is_some() || self.regex.is_some())
            && self.owned.is_some()
    }
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerHeartbeatAnswer {
    /// The member's id.
    pub member: Text,
    /// Its epoch; of a member that has left, what it sent.
    pub epoch: Epoch,
    /// When the next heartbeat should come; 0 for a member that has left.
    pub heartbeat_interval_ms: u64,
    /// What the member is to own, if it joins, if it sent everything, or if this has changed.
    pub assignment: Option<Partitions>,
}

/// A consumer group as ConsumerGroupDescribe shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroupDescription {
    /// The group.
    pub group: Text,
    /// GROUP_ID_NOT_FOUND for an unknown group, and for one of another type. The other fields are empty then.
    pub error: ErrorCode,
    /// The state, by Kafka's name.
    pub state: &'static str,
    /// The group's epoch.
    pub epoch: Epoch,
    /// The epoch of the target assignment.
    pub assignment_epoch: Epoch,
    /// The assignor, by Kafka's name.
    pub assignor: &'static str,
    /// Its members.
    pub members: Vec<ConsumerMemberDescription>,
}

/// Partitions of a topic, with its id and its name.
pub type NamedPartitions = Vec<(crate::Topic, Vec<i32>)>;

/// A member of a consumer group as ConsumerGroupDescribe shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerMemberDescription {
    /// Its id.
    pub member: Text,
    /// Its instance id.
    pub instance: Option<Text>,
    /// Its rack.
    pub rack: Option<Text>,
    /// Its epoch.
    pub epoch: Epoch,
    /// Its client id.
    pub client_id: Text,
    /// Its address.
    pub client_host: Text,
    /// The topics that it names.
    pub topics: Vec<Text>,
    /// Its regular expression; empty if there is none.
    pub regex: Text,
    /// What it may own: what it is told to own, and what it has not given up yet.
    pub assignment: NamedPartitions,
    /// What it is to own in the end.
    pub target: NamedPartitions,
    /// Whether it speaks the classic protocol: the member type 0, otherwise 1.
    pub classic: bool,
}
