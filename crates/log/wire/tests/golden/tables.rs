//! The messages that are tables of fields.

use log_wire::messages::Field;
use log_wire::messages::acls::{
    CreateAclsRequest, CreateAclsResponse, DeleteAclsRequest, DeleteAclsResponse, DescribeAclsRequest,
    DescribeAclsResponse,
};
use log_wire::messages::cluster::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse, DescribeClusterRequest, DescribeClusterResponse, DescribeLogDirsRequest,
    DescribeLogDirsResponse, ElectLeadersRequest, ElectLeadersResponse, ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
};
use log_wire::messages::configs::{
    AlterConfigsRequest, AlterConfigsResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, ListConfigResourcesRequest,
    ListConfigResourcesResponse,
};
use log_wire::messages::consumer_groups::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
};
use log_wire::messages::groups::{
    DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, ListGroupsRequest, ListGroupsResponse,
    SyncGroupRequest, SyncGroupResponse,
};
use log_wire::messages::offsets::{
    ListOffsetsRequest, ListOffsetsResponse, OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest,
    OffsetDeleteResponse, OffsetFetchRequest, OffsetFetchResponse, OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
};
use log_wire::messages::security::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse, DescribeClientQuotasRequest, DescribeClientQuotasResponse,
    DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use log_wire::messages::tokens::{
    CreateDelegationTokenRequest, CreateDelegationTokenResponse, DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse, ExpireDelegationTokenRequest, ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest, RenewDelegationTokenResponse,
};
use log_wire::messages::topics::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteRecordsRequest, DeleteRecordsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
};
use log_wire::messages::transactions::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    DescribeProducersRequest, DescribeProducersResponse, DescribeTransactionsRequest,
    DescribeTransactionsResponse, EndTxnRequest, EndTxnResponse, InitProducerIdRequest,
    InitProducerIdResponse, ListTransactionsRequest, ListTransactionsResponse, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use log_wire::{ApiKey, Malformed, Reader, Writer};

use super::file::{Dialogue, dialogues};

macro_rules! messages {
    ($($key:ident: $request:ty, $response:ty;)+) => {
        /// Checks both messages; false for an API whose messages are no tables.
        fn check(dialogue: &Dialogue) -> bool {
            match dialogue.api.key {
                $(ApiKey::$key => {
                    same::<$request>(dialogue, dialogue.asked());
                    same::<$response>(dialogue, &dialogue.response);
                })+
                _ => return false,
            }
            true
        }
    };
}

messages! {
    ListOffsets: ListOffsetsRequest, ListOffsetsResponse;
    OffsetCommit: OffsetCommitRequest, OffsetCommitResponse;
    OffsetFetch: OffsetFetchRequest, OffsetFetchResponse;
    FindCoordinator: FindCoordinatorRequest, FindCoordinatorResponse;
    JoinGroup: JoinGroupRequest, JoinGroupResponse;
    Heartbeat: HeartbeatRequest, HeartbeatResponse;
    LeaveGroup: LeaveGroupRequest, LeaveGroupResponse;
    SyncGroup: SyncGroupRequest, SyncGroupResponse;
    DescribeGroups: DescribeGroupsRequest, DescribeGroupsResponse;
    ListGroups: ListGroupsRequest, ListGroupsResponse;
    SaslHandshake: SaslHandshakeRequest, SaslHandshakeResponse;
    CreateTopics: CreateTopicsRequest, CreateTopicsResponse;
    DeleteTopics: DeleteTopicsRequest, DeleteTopicsResponse;
    DeleteRecords: DeleteRecordsRequest, DeleteRecordsResponse;
    InitProducerId: InitProducerIdRequest, InitProducerIdResponse;
    OffsetForLeaderEpoch: OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse;
    AddPartitionsToTxn: AddPartitionsToTxnRequest, AddPartitionsToTxnResponse;
    AddOffsetsToTxn: AddOffsetsToTxnRequest, AddOffsetsToTxnResponse;
    EndTxn: EndTxnRequest, EndTxnResponse;
    WriteTxnMarkers: WriteTxnMarkersRequest, WriteTxnMarkersResponse;
    TxnOffsetCommit: TxnOffsetCommitRequest, TxnOffsetCommitResponse;
    DescribeAcls: DescribeAclsRequest, DescribeAclsResponse;
    CreateAcls: CreateAclsRequest, CreateAclsResponse;
    DeleteAcls: DeleteAclsRequest, DeleteAclsResponse;
    DescribeConfigs: DescribeConfigsRequest, DescribeConfigsResponse;
    AlterConfigs: AlterConfigsRequest, AlterConfigsResponse;
    AlterReplicaLogDirs: AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse;
    DescribeLogDirs: DescribeLogDirsRequest, DescribeLogDirsResponse;
    SaslAuthenticate: SaslAuthenticateRequest, SaslAuthenticateResponse;
    CreatePartitions: CreatePartitionsRequest, CreatePartitionsResponse;
    DeleteGroups: DeleteGroupsRequest, DeleteGroupsResponse;
    ElectLeaders: ElectLeadersRequest, ElectLeadersResponse;
    IncrementalAlterConfigs: IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse;
    AlterPartitionReassignments: AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse;
    ListPartitionReassignments: ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse;
    OffsetDelete: OffsetDeleteRequest, OffsetDeleteResponse;
    CreateDelegationToken: CreateDelegationTokenRequest, CreateDelegationTokenResponse;
    RenewDelegationToken: RenewDelegationTokenRequest, RenewDelegationTokenResponse;
    ExpireDelegationToken: ExpireDelegationTokenRequest, ExpireDelegationTokenResponse;
    DescribeDelegationToken: DescribeDelegationTokenRequest, DescribeDelegationTokenResponse;
    DescribeClientQuotas: DescribeClientQuotasRequest, DescribeClientQuotasResponse;
    AlterClientQuotas: AlterClientQuotasRequest, AlterClientQuotasResponse;
    DescribeUserScramCredentials: DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse;
    AlterUserScramCredentials: AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse;
    DescribeCluster: DescribeClusterRequest, DescribeClusterResponse;
    DescribeProducers: DescribeProducersRequest, DescribeProducersResponse;
    DescribeTransactions: DescribeTransactionsRequest, DescribeTransactionsResponse;
    ListTransactions: ListTransactionsRequest, ListTransactionsResponse;
    ConsumerGroupHeartbeat: ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse;
    ConsumerGroupDescribe: ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse;
    ListConfigResources: ListConfigResourcesRequest, ListConfigResourcesResponse;
    DescribeTopicPartitions: DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse;
}

/// What is read is written again to the same bytes; with one byte less, or one more, it is refused.
fn same<T: Field>(dialogue: &Dialogue, bytes: &[u8]) {
    let read = |bytes: &[u8]| -> Result<T, Malformed> {
        let mut reader = Reader::new(bytes, dialogue.is_flexible());
        let message = T::read(&mut reader, dialogue.version)?;
        reader.end()?;
        Ok(message)
    };
    let message = read(bytes).unwrap_or_else(|error| panic!("{}: {error}", dialogue.name()));
    let mut written = Vec::new();
    message.write(&mut Writer::new(&mut written, dialogue.is_flexible()), dialogue.version);
    assert_eq!(written, bytes, "{}", dialogue.name());
    for cut in 0..bytes.len() {
        assert!(read(&bytes[..cut]).is_err(), "{}: {cut} bytes", dialogue.name());
    }
    written.push(0);
    assert!(read(&written).is_err(), "{}: one byte more", dialogue.name());
}

#[test]
fn golden_messages_are_read_and_written_again_to_the_same_bytes() {
    let checked = dialogues().iter().filter(|dialogue| check(dialogue)).count();
    assert!(checked > 150, "{checked} dialogues");
}
