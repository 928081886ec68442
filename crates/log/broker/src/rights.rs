//! Which rights each API needs, and what its client is told that lacks one: the only place where that is said.
//!
//! A handler asks with [`Node::may`] for each resource that a request names, and for nothing that is not in the table of its API:
//! that is refused. The table has an entry for every API that this broker could know, or it does not compile.
//!
//! Source: what a Kafka 4.3.1 answered, API by API and right by right.

use std::sync::Arc;

use log_access::Authorizer;
use log_access::acl::{CLUSTER_NAME, Operation, Operations, ResourceType};
use log_wire::{ApiKey, ErrorCode, TopicName};

use crate::client::Client;
use crate::node::Node;

/// A right that an API needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// On what kind of resource.
    pub(crate) kind: ResourceType,
    /// What the client wants to do with it.
    pub(crate) operation: Operation,
    /// An operation on the cluster that suffices instead.
    pub(crate) or_on_cluster: Option<Operation>,
    /// What a client is told that lacks it.
    pub(crate) lack: ErrorCode,
}

impl Need {
    const fn of(kind: ResourceType, operation: Operation) -> Self {
        let lack = match kind {
            ResourceType::Topic => ErrorCode::TopicAuthorizationFailed,
            ResourceType::Group => ErrorCode::GroupAuthorizationFailed,
            ResourceType::TransactionalId => ErrorCode::TransactionalIdAuthorizationFailed,
            ResourceType::Cluster | ResourceType::DelegationToken | ResourceType::User => {
                ErrorCode::ClusterAuthorizationFailed
            }
        };
        Self { kind, operation, or_on_cluster: None, lack }
    }

    const fn or_on_cluster(self, operation: Operation) -> Self {
        Self { or_on_cluster: Some(operation), ..self }
    }
}

/// Read a topic.
pub(crate) const TOPIC_READ: Need = Need::of(ResourceType::Topic, Operation::Read);
/// Write to a topic.
pub(crate) const TOPIC_WRITE: Need = Need::of(ResourceType::Topic, Operation::Write);
/// See a topic.
pub(crate) const TOPIC_DESCRIBE: Need = Need::of(ResourceType::Topic, Operation::Describe);
/// See a topic, as replicas do.
pub(crate) const TOPIC_FOLLOW: Need = TOPIC_DESCRIBE.or_on_cluster(Operation::ClusterAction);
/// Create a topic.
pub(crate) const TOPIC_CREATE: Need =
    Need::of(ResourceType::Topic, Operation::Create).or_on_cluster(Operation::Create);
/// Delete records of a topic.
pub(crate) const TOPIC_DELETE: Need = Need::of(ResourceType::Topic, Operation::Delete);
/// Delete a topic.
pub(crate) const TOPIC_REMOVE: Need = TOPIC_DELETE.or_on_cluster(Operation::Delete);
/// See a topic that is to be deleted.
pub(crate) const TOPIC_SEE_REMOVED: Need = TOPIC_DESCRIBE.or_on_cluster(Operation::Delete);
/// Change a topic.
pub(crate) const TOPIC_ALTER: Need = Need::of(ResourceType::Topic, Operation::Alter);
/// See the settings of a topic.
pub(crate) const TOPIC_DESCRIBE_CONFIGS: Need = Need::of(ResourceType::Topic, Operation::DescribeConfigs);
/// Change the settings of a topic.
pub(crate) const TOPIC_ALTER_CONFIGS: Need = Need::of(ResourceType::Topic, Operation::AlterConfigs);
/// Be a member of a group, and commit offsets.
pub(crate) const GROUP_READ: Need = Need::of(ResourceType::Group, Operation::Read);
/// See a group.
pub(crate) const GROUP_DESCRIBE: Need = Need::of(ResourceType::Group, Operation::Describe);
/// See a group among others.
pub(crate) const GROUP_LIST: Need = GROUP_DESCRIBE.or_on_cluster(Operation::Describe);
/// Delete a group, or offsets of it.
pub(crate) const GROUP_DELETE: Need = Need::of(ResourceType::Group, Operation::Delete);
/// See the settings of a group.
pub(crate) const GROUP_DESCRIBE_CONFIGS: Need = Need::of(ResourceType::Group, Operation::DescribeConfigs);
/// Change the settings of a group.
pub(crate) const GROUP_ALTER_CONFIGS: Need = Need::of(ResourceType::Group, Operation::AlterConfigs);
/// Use a transactional id.
pub(crate) const TRANSACTION_WRITE: Need = Need::of(ResourceType::TransactionalId, Operation::Write);
/// See a transactional id.
pub(crate) const TRANSACTION_DESCRIBE: Need = Need::of(ResourceType::TransactionalId, Operation::Describe);
/// Produce with a producer id and without a transaction. Whoever may write to any topic may, too.
pub(crate) const CLUSTER_IDEMPOTENT_WRITE: Need = Need::of(ResourceType::Cluster, Operation::IdempotentWrite);
/// See the cluster, and the rules.
pub(crate) const CLUSTER_DESCRIBE: Need = Need::of(ResourceType::Cluster, Operation::Describe);
/// Change the cluster, and the rules.
pub(crate) const CLUSTER_ALTER: Need = Need::of(ResourceType::Cluster, Operation::Alter);
/// Write markers of transactions.
pub(crate) const CLUSTER_ALTER_OR_ACT: Need = CLUSTER_ALTER.or_on_cluster(Operation::ClusterAction);
/// Do what brokers do with each other.
pub(crate) const CLUSTER_ACTION: Need = Need::of(ResourceType::Cluster, Operation::ClusterAction);
/// See the settings of brokers, and quotas.
pub(crate) const CLUSTER_DESCRIBE_CONFIGS: Need = Need::of(ResourceType::Cluster, Operation::DescribeConfigs);
/// Change the settings of brokers, and quotas.
pub(crate) const CLUSTER_ALTER_CONFIGS: Need = Need::of(ResourceType::Cluster, Operation::AlterConfigs);

/// The rights that an API needs.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each kind of API")]
pub(crate) const fn needs(api: ApiKey) -> &'static [Need] {
    match api {
        // Free for all: they tell of nothing that needs a right. DescribeCluster leaves out what the client may not see.
        // Nobody gets a delegation token.
        ApiKey::ApiVersions
        | ApiKey::SaslHandshake
        | ApiKey::SaslAuthenticate
        | ApiKey::DescribeCluster
        | ApiKey::CreateDelegationToken
        | ApiKey::RenewDelegationToken
        | ApiKey::ExpireDelegationToken
        | ApiKey::DescribeDelegationToken => &[],
        ApiKey::Produce => &[TRANSACTION_WRITE, TOPIC_WRITE],
        ApiKey::Fetch => &[TOPIC_READ],
        ApiKey::ListOffsets => &[TOPIC_DESCRIBE],
        ApiKey::OffsetForLeaderEpoch => &[TOPIC_FOLLOW],
        ApiKey::Metadata => &[TOPIC_DESCRIBE, TOPIC_CREATE],
        ApiKey::DescribeTopicPartitions => &[TOPIC_DESCRIBE],
        ApiKey::FindCoordinator => &[GROUP_DESCRIBE, TRANSACTION_DESCRIBE, CLUSTER_ACTION],
        ApiKey::JoinGroup | ApiKey::SyncGroup | ApiKey::Heartbeat | ApiKey::LeaveGroup => &[GROUP_READ],
        ApiKey::OffsetCommit => &[GROUP_READ, TOPIC_READ],
        ApiKey::OffsetFetch => &[GROUP_DESCRIBE, TOPIC_DESCRIBE],
        ApiKey::OffsetDelete => &[GROUP_DELETE, TOPIC_READ],
        ApiKey::DescribeGroups
        | ApiKey::ConsumerGroupDescribe
        | ApiKey::ShareGroupDescribe
        | ApiKey::DescribeShareGroupOffsets => &[GROUP_DESCRIBE, TOPIC_DESCRIBE],
        // Groups that the client may not see are left out.
        ApiKey::ListGroups => &[GROUP_LIST],
        ApiKey::DeleteGroups => &[GROUP_DELETE],
        ApiKey::ConsumerGroupHeartbeat | ApiKey::ShareGroupHeartbeat => &[GROUP_READ, TOPIC_DESCRIBE],
        ApiKey::ShareFetch | ApiKey::ShareAcknowledge | ApiKey::AlterShareGroupOffsets => {
            &[GROUP_READ, TOPIC_READ]
        }
        ApiKey::DeleteShareGroupOffsets => &[GROUP_DELETE, TOPIC_READ],
        // Settings of a new topic are shown to whoever may see them.
        ApiKey::CreateTopics => &[TOPIC_CREATE, TOPIC_DESCRIBE_CONFIGS],
        // Whether a topic is there is told to whoever may see it.
        ApiKey::DeleteTopics => &[TOPIC_SEE_REMOVED, TOPIC_REMOVE],
        ApiKey::DeleteRecords => &[TOPIC_DELETE],
        ApiKey::CreatePartitions => &[TOPIC_ALTER],
        ApiKey::InitProducerId => &[TRANSACTION_WRITE, CLUSTER_IDEMPOTENT_WRITE],
        // From version 4 on brokers ask each other.
        ApiKey::AddPartitionsToTxn => &[TRANSACTION_WRITE, TOPIC_WRITE, CLUSTER_ACTION],
        ApiKey::AddOffsetsToTxn => &[TRANSACTION_WRITE, GROUP_READ],
        ApiKey::EndTxn => &[TRANSACTION_WRITE],
        ApiKey::TxnOffsetCommit => &[TRANSACTION_WRITE, GROUP_READ, TOPIC_READ],
        ApiKey::WriteTxnMarkers => &[CLUSTER_ALTER_OR_ACT],
        ApiKey::DescribeProducers => &[TOPIC_READ],
        // Topics of a transaction that the client may not see are left out.
        ApiKey::DescribeTransactions => &[TRANSACTION_DESCRIBE, TOPIC_DESCRIBE],
        // Transactions that the client may not see are left out.
        ApiKey::ListTransactions => &[TRANSACTION_DESCRIBE],
        ApiKey::DescribeAcls | ApiKey::DescribeUserScramCredentials => &[CLUSTER_DESCRIBE],
        ApiKey::CreateAcls | ApiKey::DeleteAcls | ApiKey::AlterUserScramCredentials => &[CLUSTER_ALTER],
        ApiKey::DescribeConfigs => {
            &[TOPIC_DESCRIBE_CONFIGS, GROUP_DESCRIBE_CONFIGS, CLUSTER_DESCRIBE_CONFIGS]
        }
        ApiKey::AlterConfigs | ApiKey::IncrementalAlterConfigs => {
            &[TOPIC_ALTER_CONFIGS, GROUP_ALTER_CONFIGS, CLUSTER_ALTER_CONFIGS]
        }
        ApiKey::ListConfigResources | ApiKey::DescribeClientQuotas => &[CLUSTER_DESCRIBE_CONFIGS],
        ApiKey::AlterClientQuotas => &[CLUSTER_ALTER_CONFIGS],
        ApiKey::DescribeLogDirs | ApiKey::ListPartitionReassignments | ApiKey::DescribeQuorum => {
            &[CLUSTER_DESCRIBE]
        }
        ApiKey::AlterReplicaLogDirs
        | ApiKey::ElectLeaders
        | ApiKey::AlterPartitionReassignments
        | ApiKey::UpdateFeatures => &[CLUSTER_ALTER],
    }
}

/// Whether what handles an API asks for the rights in its table. Where rights are not free for all, no other API is served.
#[expect(clippy::too_many_lines, reason = "a list: a line for each API")]
pub(crate) const fn is_checked(api: ApiKey) -> bool {
    matches!(
        api,
        ApiKey::ApiVersions
            | ApiKey::SaslHandshake
            | ApiKey::SaslAuthenticate
            | ApiKey::Produce
            | ApiKey::Fetch
            | ApiKey::ListOffsets
            | ApiKey::OffsetForLeaderEpoch
            | ApiKey::Metadata
            | ApiKey::CreateTopics
            | ApiKey::DeleteTopics
            | ApiKey::InitProducerId
            | ApiKey::FindCoordinator
            | ApiKey::JoinGroup
            | ApiKey::SyncGroup
            | ApiKey::Heartbeat
            | ApiKey::LeaveGroup
            | ApiKey::OffsetCommit
            | ApiKey::OffsetFetch
            | ApiKey::DescribeGroups
            | ApiKey::ListGroups
            | ApiKey::DeleteGroups
            | ApiKey::ConsumerGroupHeartbeat
            | ApiKey::ConsumerGroupDescribe
            | ApiKey::OffsetDelete
            | ApiKey::AddPartitionsToTxn
            | ApiKey::AddOffsetsToTxn
            | ApiKey::EndTxn
            | ApiKey::TxnOffsetCommit
            | ApiKey::WriteTxnMarkers
            | ApiKey::DescribeProducers
            | ApiKey::DescribeTransactions
            | ApiKey::ListTransactions
            | ApiKey::DescribeAcls
            | ApiKey::CreateAcls
            | ApiKey::DeleteAcls
            | ApiKey::DescribeUserScramCredentials
            | ApiKey::AlterUserScramCredentials
            | ApiKey::DescribeClientQuotas
            | ApiKey::AlterClientQuotas
            | ApiKey::DescribeTopicPartitions
            | ApiKey::CreatePartitions
            | ApiKey::DeleteRecords
            | ApiKey::DescribeCluster
            | ApiKey::DescribeQuorum
            | ApiKey::CreateDelegationToken
            | ApiKey::RenewDelegationToken
            | ApiKey::ExpireDelegationToken
            | ApiKey::DescribeDelegationToken
            | ApiKey::DescribeLogDirs
            | ApiKey::AlterReplicaLogDirs
            | ApiKey::ElectLeaders
            | ApiKey::AlterPartitionReassignments
            | ApiKey::ListPartitionReassignments
            | ApiKey::DescribeConfigs
            | ApiKey::AlterConfigs
            | ApiKey::IncrementalAlterConfigs
            | ApiKey::ListConfigResources
            | ApiKey::ShareGroupHeartbeat
            | ApiKey::ShareGroupDescribe
            | ApiKey::ShareFetch
            | ApiKey::ShareAcknowledge
            | ApiKey::DescribeShareGroupOffsets
            | ApiKey::AlterShareGroupOffsets
            | ApiKey::DeleteShareGroupOffsets
    )
}

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By<'c> {
    /// Who.
    pub(crate) client: &'c Arc<Client>,
    /// For what.
    pub(crate) api: ApiKey,
}

impl Node {
    /// Whether a client may do that with the resource of that name, for what it asks.
    ///
    /// # Errors
    /// What it is told: it may not, or the right is none that its API needs.
    pub(crate) fn may(&self, by: By<'_>, need: Need, name: &str) -> Result<(), ErrorCode> {
        let Some(authorizer) = &self.access.authorizer else { return Ok(()) };
        if !needs(by.api).contains(&need) {
            return Err(need.lack);
        }
        let asker = by.client.asker();
        let on_cluster = |operation: &Operation| {
            authorizer.allows(asker, *operation, (ResourceType::Cluster, CLUSTER_NAME))
        };
        let allowed = authorizer.allows(asker, need.operation, (need.kind, name))
            || need.or_on_cluster.as_ref().is_some_and(on_cluster);
        if allowed { Ok(()) } else { Err(need.lack) }
    }

    /// Whether a client may do that with the cluster.
    ///
    /// # Errors
    /// As [`Self::may`].
    pub(crate) fn may_on_cluster(&self, by: By<'_>, need: Need) -> Result<(), ErrorCode> {
        self.may(by, need, CLUSTER_NAME)
    }

    /// Whether a client may do that with a topic. One that is named by its id must be there.
    ///
    /// # Errors
    /// As [`Self::may`], or there is no topic of that id.
    pub(crate) fn may_on_topic(&self, by: By<'_>, need: Need, topic: TopicName<'_>) -> Result<(), ErrorCode> {
        if self.access.authorizer.is_none() {
            return Ok(());
        }
        match topic {
            TopicName::Name(name) => self.may(by, need, name),
            TopicName::Id(_) => self.may(by, need, &self.catalog.find(topic)?.name),
        }
    }

    /// Whether a client may write to any topic at all.
    pub(crate) fn may_write_any(&self, client: &Client) -> bool {
        self.access.authorizer.as_ref().is_none_or(|authorizer| {
            authorizer.allows_any(client.asker(), Operation::Write, ResourceType::Topic)
        })
    }

    /// What a client may do with a resource: one bit for each operation.
    pub(crate) fn operations(&self, client: &Client, resource: (ResourceType, &str)) -> i32 {
        let all = || Operations::of(resource.0.operations());
        let authorizer = self.access.authorizer.as_ref();
        authorizer.map_or_else(all, |authorizer| authorizer.operations(client.asker(), resource)).bits()
    }

    /// What a client may do with the cluster: one bit for each operation. One that may not see it is told nothing.
    pub(crate) fn cluster_operations(&self, client: &Client) -> i32 {
        let cluster = (ResourceType::Cluster, CLUSTER_NAME);
        let sees = |authorizer: &Authorizer| authorizer.allows(client.asker(), Operation::Describe, cluster);
        if !self.access.authorizer.as_ref().is_none_or(sees) {
            return 0;
        }
        self.operations(client, (ResourceType::Cluster, CLUSTER_NAME))
    }
}

#[cfg(test)]
mod tests {
    use log_wire::Api;

    use super::*;

    /// The table as a text, one API a line: what a reviewer compares with Kafka's documents.
    const TABLE: &str = include_str!("rights.txt");

    #[test]
    fn table_is_the_one_that_was_reviewed() {
        let mut table = String::new();
        for api in Api::ALL {
            table.push_str(&format!("{:?}\n", api.key));
            for need in needs(api.key) {
                let or = need.or_on_cluster.map_or(String::new(), |or| format!(" or {} Cluster", or.name()));
                let (operation, kind) = (need.operation.name(), need.kind.name());
                table.push_str(&format!("  {operation} {kind}{or}, otherwise {}\n", need.lack.code()));
            }
        }
        assert_eq!(table, TABLE, "{table}");
    }
}
