//! Every message in every version beside the crate that others wrote for the protocol.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::{Buf as _, Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};

use super::Field;
use super::acls::*;
use super::cluster::*;
use super::configs::*;
use super::consumer_groups::*;
use super::data::{FetchBody as FetchRequest, ProduceBody as ProduceRequest};
use super::data::{MetadataBody as MetadataRequest, *};
use super::groups::*;
use super::offsets::*;
use super::quorum::*;
use super::security::*;
use super::share::*;
use super::tokens::*;
use super::topics::*;
use super::transactions::*;
use crate::{Api, ApiKey, Reader, Writer};

/// Draws values from a seed.
pub struct Draw(u64);

impl Draw {
    pub(crate) fn number(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20).cast_signed()
    }

    pub(crate) fn text(&mut self) -> String {
        match self.number() % 5 {
            0 => String::new(),
            1 => "\u{e4}\u{1f980}".into(),
            2 => "x".repeat(300),
            _ => alloc::format!("text {}", self.number() % 1_000),
        }
    }

    pub(crate) fn nullable<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.number() % 3 == 0 { None } else { Some(draw(self)) }
    }
}

fn is_flexible(key: ApiKey, version: i16) -> bool {
    Api::find(key as i16).expect("it is known").is_flexible(version)
}

fn written<T: Field>(message: &T, key: ApiKey, version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    message.write(&mut Writer::new(&mut out, is_flexible(key, version)), version);
    out
}

fn read<T: Field>(bytes: &[u8], key: ApiKey, version: i16) -> Result<T, crate::Malformed> {
    let mut reader = Reader::new(bytes, is_flexible(key, version));
    let message = T::read(&mut reader, version)?;
    reader.end()?;
    Ok(message)
}

/// What is written is understood by them as the same, and what they write is understood here.
fn compare<Ours: Field + PartialEq + core::fmt::Debug, Theirs: Decodable + Encodable>(
    key: ApiKey,
    version: i16,
) {
    for seed in 0..12 {
        let bytes = written(&Ours::sample(&mut Draw(seed * 77 + 5)), key, version);
        let mut rest = Bytes::from(bytes.clone());
        let what = alloc::format!("{key:?} {version}, seed {seed}");
        let theirs = Theirs::decode(&mut rest, version).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(!rest.has_remaining(), "{what}: they leave {} bytes", rest.remaining());
        let mut again = BytesMut::new();
        theirs.encode(&mut again, version).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(&again[..], bytes, "{what}");
        let ours: Ours = read(&again, key, version).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(written(&ours, key, version), bytes, "{what}");
    }
}

/// Bytes that end early, and counts of more than there is, are refused without room being made for them.
fn attack<Ours: Field>(key: ApiKey, version: i16) {
    let bytes = written(&Ours::sample(&mut Draw(3)), key, version);
    for cut in 0..bytes.len() {
        assert!(read::<Ours>(&bytes[..cut], key, version).is_err(), "{key:?} {version} cut at {cut}");
        let mut huge = bytes.clone();
        let end = bytes.len().min(cut + 4);
        huge[cut..end].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff][..end - cut]);
        let _ = read::<Ours>(&huge, key, version);
        huge[cut..end].fill(0xff);
        let _ = read::<Ours>(&huge, key, version);
    }
}

macro_rules! pairs {
    ($($message:ident: $key:ident, $versions:expr;)+) => {
        #[test]
        fn messages_are_those_that_others_read_and_write() {
            $(for version in $versions {
                compare::<$message, theirs::$message>(ApiKey::$key, version);
            })+
        }

        #[test]
        fn malformed_messages_are_refused() {
            $(for version in $versions {
                attack::<$message>(ApiKey::$key, version);
            })+
        }
    };
}

pairs! {
    MetadataRequest: Metadata, 4..=13;
    MetadataResponse: Metadata, 4..=13;
    ProduceRequest: Produce, 3..=13;
    ProduceResponse: Produce, 3..=13;
    FetchRequest: Fetch, 4..=14;
    FetchResponse: Fetch, 4..=14;
    FindCoordinatorRequest: FindCoordinator, 0..=6;
    FindCoordinatorResponse: FindCoordinator, 0..=6;
    JoinGroupRequest: JoinGroup, 0..=9;
    JoinGroupResponse: JoinGroup, 0..=9;
    HeartbeatRequest: Heartbeat, 0..=4;
    HeartbeatResponse: Heartbeat, 0..=4;
    LeaveGroupRequest: LeaveGroup, 0..=5;
    LeaveGroupResponse: LeaveGroup, 0..=5;
    SyncGroupRequest: SyncGroup, 0..=5;
    SyncGroupResponse: SyncGroup, 0..=5;
    DescribeGroupsRequest: DescribeGroups, 0..=6;
    DescribeGroupsResponse: DescribeGroups, 0..=6;
    ListGroupsRequest: ListGroups, 0..=5;
    ListGroupsResponse: ListGroups, 0..=5;
    DeleteGroupsRequest: DeleteGroups, 0..=2;
    DeleteGroupsResponse: DeleteGroups, 0..=2;
    ConsumerGroupHeartbeatRequest: ConsumerGroupHeartbeat, 0..=1;
    ConsumerGroupHeartbeatResponse: ConsumerGroupHeartbeat, 0..=1;
    ConsumerGroupDescribeRequest: ConsumerGroupDescribe, 0..=1;
    ConsumerGroupDescribeResponse: ConsumerGroupDescribe, 0..=1;
    ShareGroupHeartbeatRequest: ShareGroupHeartbeat, 1..=1;
    ShareGroupHeartbeatResponse: ShareGroupHeartbeat, 1..=1;
    ShareGroupDescribeRequest: ShareGroupDescribe, 1..=1;
    ShareGroupDescribeResponse: ShareGroupDescribe, 1..=1;
    ShareFetchRequest: ShareFetch, 1..=1;
    ShareFetchResponse: ShareFetch, 1..=1;
    ShareAcknowledgeRequest: ShareAcknowledge, 1..=1;
    ShareAcknowledgeResponse: ShareAcknowledge, 1..=1;
    DescribeShareGroupOffsetsRequest: DescribeShareGroupOffsets, 0..=0;
    DescribeShareGroupOffsetsResponse: DescribeShareGroupOffsets, 0..=0;
    AlterShareGroupOffsetsRequest: AlterShareGroupOffsets, 0..=0;
    AlterShareGroupOffsetsResponse: AlterShareGroupOffsets, 0..=0;
    DeleteShareGroupOffsetsRequest: DeleteShareGroupOffsets, 0..=0;
    DeleteShareGroupOffsetsResponse: DeleteShareGroupOffsets, 0..=0;
    ListOffsetsRequest: ListOffsets, 1..=10;
    ListOffsetsResponse: ListOffsets, 1..=10;
    OffsetForLeaderEpochRequest: OffsetForLeaderEpoch, 2..=4;
    OffsetForLeaderEpochResponse: OffsetForLeaderEpoch, 2..=4;
    OffsetCommitRequest: OffsetCommit, 2..=9;
    OffsetCommitResponse: OffsetCommit, 2..=10;
    OffsetFetchRequest: OffsetFetch, 1..=9;
    OffsetFetchResponse: OffsetFetch, 1..=10;
    OffsetDeleteRequest: OffsetDelete, 0..=0;
    OffsetDeleteResponse: OffsetDelete, 0..=0;
    CreateTopicsRequest: CreateTopics, 2..=7;
    CreateTopicsResponse: CreateTopics, 2..=7;
    DeleteTopicsRequest: DeleteTopics, 1..=6;
    DeleteTopicsResponse: DeleteTopics, 1..=6;
    CreatePartitionsRequest: CreatePartitions, 0..=3;
    CreatePartitionsResponse: CreatePartitions, 0..=3;
    DeleteRecordsRequest: DeleteRecords, 0..=2;
    DeleteRecordsResponse: DeleteRecords, 0..=2;
    DescribeTopicPartitionsRequest: DescribeTopicPartitions, 0..=0;
    DescribeTopicPartitionsResponse: DescribeTopicPartitions, 0..=0;
    DescribeConfigsRequest: DescribeConfigs, 1..=4;
    DescribeConfigsResponse: DescribeConfigs, 1..=4;
    AlterConfigsRequest: AlterConfigs, 0..=2;
    AlterConfigsResponse: AlterConfigs, 0..=2;
    IncrementalAlterConfigsRequest: IncrementalAlterConfigs, 0..=1;
    IncrementalAlterConfigsResponse: IncrementalAlterConfigs, 0..=1;
    ListConfigResourcesRequest: ListConfigResources, 0..=1;
    ListConfigResourcesResponse: ListConfigResources, 0..=1;
    InitProducerIdRequest: InitProducerId, 0..=5;
    InitProducerIdResponse: InitProducerId, 0..=5;
    AddPartitionsToTxnRequest: AddPartitionsToTxn, 0..=5;
    AddPartitionsToTxnResponse: AddPartitionsToTxn, 0..=5;
    AddOffsetsToTxnRequest: AddOffsetsToTxn, 0..=4;
    AddOffsetsToTxnResponse: AddOffsetsToTxn, 0..=4;
    EndTxnRequest: EndTxn, 0..=5;
    EndTxnResponse: EndTxn, 0..=5;
    TxnOffsetCommitRequest: TxnOffsetCommit, 0..=5;
    TxnOffsetCommitResponse: TxnOffsetCommit, 0..=5;
    WriteTxnMarkersRequest: WriteTxnMarkers, 1..=1;
    WriteTxnMarkersResponse: WriteTxnMarkers, 1..=1;
    DescribeProducersRequest: DescribeProducers, 0..=0;
    DescribeProducersResponse: DescribeProducers, 0..=0;
    DescribeTransactionsRequest: DescribeTransactions, 0..=0;
    DescribeTransactionsResponse: DescribeTransactions, 0..=0;
    ListTransactionsRequest: ListTransactions, 0..=2;
    ListTransactionsResponse: ListTransactions, 0..=2;
    DescribeAclsRequest: DescribeAcls, 1..=3;
    DescribeAclsResponse: DescribeAcls, 1..=3;
    CreateAclsRequest: CreateAcls, 1..=3;
    CreateAclsResponse: CreateAcls, 1..=3;
    DeleteAclsRequest: DeleteAcls, 1..=3;
    DeleteAclsResponse: DeleteAcls, 1..=3;
    SaslHandshakeRequest: SaslHandshake, 0..=1;
    SaslHandshakeResponse: SaslHandshake, 0..=1;
    SaslAuthenticateRequest: SaslAuthenticate, 0..=2;
    SaslAuthenticateResponse: SaslAuthenticate, 0..=2;
    DescribeUserScramCredentialsRequest: DescribeUserScramCredentials, 0..=0;
    DescribeUserScramCredentialsResponse: DescribeUserScramCredentials, 0..=0;
    AlterUserScramCredentialsRequest: AlterUserScramCredentials, 0..=0;
    AlterUserScramCredentialsResponse: AlterUserScramCredentials, 0..=0;
    DescribeClientQuotasRequest: DescribeClientQuotas, 0..=1;
    DescribeClientQuotasResponse: DescribeClientQuotas, 0..=1;
    AlterClientQuotasRequest: AlterClientQuotas, 0..=1;
    AlterClientQuotasResponse: AlterClientQuotas, 0..=1;
    CreateDelegationTokenRequest: CreateDelegationToken, 1..=3;
    CreateDelegationTokenResponse: CreateDelegationToken, 1..=3;
    RenewDelegationTokenRequest: RenewDelegationToken, 1..=2;
    RenewDelegationTokenResponse: RenewDelegationToken, 1..=2;
    ExpireDelegationTokenRequest: ExpireDelegationToken, 1..=2;
    ExpireDelegationTokenResponse: ExpireDelegationToken, 1..=2;
    DescribeDelegationTokenRequest: DescribeDelegationToken, 1..=3;
    DescribeDelegationTokenResponse: DescribeDelegationToken, 1..=3;
    DescribeQuorumRequest: DescribeQuorum, 0..=2;
    DescribeQuorumResponse: DescribeQuorum, 0..=2;
    UpdateFeaturesRequest: UpdateFeatures, 0..=2;
    UpdateFeaturesResponse: UpdateFeatures, 0..=2;
    DescribeClusterRequest: DescribeCluster, 0..=2;
    DescribeClusterResponse: DescribeCluster, 0..=2;
    DescribeLogDirsRequest: DescribeLogDirs, 1..=4;
    DescribeLogDirsResponse: DescribeLogDirs, 1..=4;
    AlterReplicaLogDirsRequest: AlterReplicaLogDirs, 1..=2;
    AlterReplicaLogDirsResponse: AlterReplicaLogDirs, 1..=2;
    ElectLeadersRequest: ElectLeaders, 0..=2;
    ElectLeadersResponse: ElectLeaders, 0..=2;
    AlterPartitionReassignmentsRequest: AlterPartitionReassignments, 0..=1;
    AlterPartitionReassignmentsResponse: AlterPartitionReassignments, 0..=1;
    ListPartitionReassignmentsRequest: ListPartitionReassignments, 0..=0;
    ListPartitionReassignmentsResponse: ListPartitionReassignments, 0..=0;
}

#[test]
fn offsets_by_topic_id_are_read_back() {
    let mut draw = Draw(9);
    for _ in 0..20 {
        let request = OffsetCommitRequest::sample(&mut draw);
        let bytes = written(&request, ApiKey::OffsetCommit, 10);
        let again: OffsetCommitRequest = read(&bytes, ApiKey::OffsetCommit, 10).expect("it is one");
        assert!(again.topics.iter().zip(&request.topics).all(|(read, own)| read.topic_id == own.topic_id));
        assert_eq!(written(&again, ApiKey::OffsetCommit, 10), bytes);
    }
}

/// Bytes that Kafka 4.3.1's own serializer wrote, of versions that the other crate does not know.
#[test]
fn messages_of_the_newest_versions_are_those_of_kafka() {
    let markers: &[u8] = &[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 1, 1, 0x11, 0x22, 0x33, 0x44, 0x55, 0, 0];
    let request: WriteTxnMarkersRequest = read(markers, ApiKey::WriteTxnMarkers, 2).expect("it is one");
    let marker = &request.markers[0];
    assert_eq!((marker.coordinator_epoch, marker.transaction_version), (0x1122_3344, 0x55));
    assert_eq!(written(&request, ApiKey::WriteTxnMarkers, 2), markers);
    let result = DescribeLogDirsResult { log_dir: "d".into(), is_cordoned: true, ..Default::default() };
    let response = DescribeLogDirsResponse { results: [result].into(), ..Default::default() };
    let bytes = [&[0_u8; 6][..], &[2, 0, 0, 2, b'd', 1], &[0xff; 16], &[1, 0, 0]].concat();
    assert_eq!(written(&response, ApiKey::DescribeLogDirs, 5), bytes);
}
