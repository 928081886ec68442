//! Requests that this client sends, each in the one version that it uses. Kafka from 3.3 on and our brokers serve all of them.

use log_wire::ApiKey;
use log_wire::messages::{
    Field, cluster, configs, consumer_groups, data, groups, offsets, security, share, topics, transactions,
};

/// A request.
pub trait Call: Field {
    /// Its API.
    const KEY: ApiKey;
    /// Its version.
    const VERSION: i16;
    /// What it is answered with.
    type Response: Field;
}

macro_rules! calls {
    ($($request:path, $version:literal => $key:ident, $response:path;)+) => {$(
        impl Call for $request {
            const KEY: ApiKey = ApiKey::$key;
            const VERSION: i16 = $version;
            type Response = $response;
        }
    )+};
}

calls! {
    data::MetadataBody, 12 => Metadata, data::MetadataResponse;
    data::ProduceBody, 9 => Produce, data::ProduceResponse;
    data::FetchBody, 12 => Fetch, data::FetchResponse;
    offsets::ListOffsetsRequest, 7 => ListOffsets, offsets::ListOffsetsResponse;
    offsets::OffsetCommitRequest, 8 => OffsetCommit, offsets::OffsetCommitResponse;
    offsets::OffsetFetchRequest, 8 => OffsetFetch, offsets::OffsetFetchResponse;
    groups::FindCoordinatorRequest, 4 => FindCoordinator, groups::FindCoordinatorResponse;
    groups::JoinGroupRequest, 7 => JoinGroup, groups::JoinGroupResponse;
    groups::SyncGroupRequest, 5 => SyncGroup, groups::SyncGroupResponse;
    groups::HeartbeatRequest, 4 => Heartbeat, groups::HeartbeatResponse;
    groups::LeaveGroupRequest, 4 => LeaveGroup, groups::LeaveGroupResponse;
    groups::ListGroupsRequest, 4 => ListGroups, groups::ListGroupsResponse;
    groups::DescribeGroupsRequest, 5 => DescribeGroups, groups::DescribeGroupsResponse;
    consumer_groups::ConsumerGroupDescribeRequest, 0 => ConsumerGroupDescribe, consumer_groups::ConsumerGroupDescribeResponse;
    consumer_groups::ConsumerGroupHeartbeatRequest, 0 => ConsumerGroupHeartbeat, consumer_groups::ConsumerGroupHeartbeatResponse;
    share::ShareGroupHeartbeatRequest, 1 => ShareGroupHeartbeat, share::ShareGroupHeartbeatResponse;
    share::ShareFetchRequest, 1 => ShareFetch, share::ShareFetchResponse;
    groups::DeleteGroupsRequest, 2 => DeleteGroups, groups::DeleteGroupsResponse;
    topics::CreateTopicsRequest, 7 => CreateTopics, topics::CreateTopicsResponse;
    topics::DeleteTopicsRequest, 5 => DeleteTopics, topics::DeleteTopicsResponse;
    topics::CreatePartitionsRequest, 3 => CreatePartitions, topics::CreatePartitionsResponse;
    cluster::DescribeClusterRequest, 0 => DescribeCluster, cluster::DescribeClusterResponse;
    cluster::DescribeLogDirsRequest, 4 => DescribeLogDirs, cluster::DescribeLogDirsResponse;
    cluster::ElectLeadersRequest, 2 => ElectLeaders, cluster::ElectLeadersResponse;
    cluster::AlterPartitionReassignmentsRequest, 0 => AlterPartitionReassignments, cluster::AlterPartitionReassignmentsResponse;
    cluster::ListPartitionReassignmentsRequest, 0 => ListPartitionReassignments, cluster::ListPartitionReassignmentsResponse;
    configs::DescribeConfigsRequest, 4 => DescribeConfigs, configs::DescribeConfigsResponse;
    configs::IncrementalAlterConfigsRequest, 1 => IncrementalAlterConfigs, configs::IncrementalAlterConfigsResponse;
    security::SaslHandshakeRequest, 1 => SaslHandshake, security::SaslHandshakeResponse;
    security::SaslAuthenticateRequest, 2 => SaslAuthenticate, security::SaslAuthenticateResponse;
    transactions::InitProducerIdRequest, 4 => InitProducerId, transactions::InitProducerIdResponse;
}
