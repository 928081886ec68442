//! Metadata.

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    MetadataRequest as TheirMetadataRequest, MetadataResponse, TopicName as TheirName,
};
use log_wire::{
    ApiKey, ErrorCode, MetadataHead, MetadataPartition, MetadataRequest, MetadataTopicHead, NOT_ASKED,
    NodeEndpoint, Reader, Writer, end_metadata_response, end_metadata_topic,
};
use uuid::Uuid;

use super::{ID, api, decoded, encoded, text};

#[test]
fn metadata_requests_of_others_are_read_in_every_version() {
    let api = api(ApiKey::Metadata);
    for version in api.lowest..=api.highest {
        let mut asked = MetadataRequestTopic::default().with_name(Some(TheirName(text("orders"))));
        if version >= 10 {
            asked.topic_id = Uuid::from_bytes(ID);
        }
        let some = TheirMetadataRequest::default().with_topics(Some(vec![asked]));
        let none = TheirMetadataRequest::default().with_topics(Some(Vec::new()));
        let all = TheirMetadataRequest::default().with_topics(None);
        for (request, count, all_topics) in [(some, 1, false), (none, 0, version == 0), (all, 0, true)] {
            if version == 0 && request.topics.is_none() {
                continue;
            }
            let mut request = request;
            if version >= 4 {
                request.allow_auto_topic_creation = false;
            }
            if version >= 8 {
                request.include_topic_authorized_operations = true;
            }
            let bytes = encoded(&request, version);
            let (mut reader, mut topics) = (Reader::new(&bytes, api.is_flexible(version)), Vec::new());
            let read = MetadataRequest::read(&mut reader, version, &mut topics).expect("well formed");
            assert_eq!(
                (topics.len(), read.all_topics, reader.end()),
                (count, all_topics, Ok(())),
                "{version}"
            );
            assert_eq!((read.may_create, read.topic_operations), (version < 4, version >= 8), "{version}");
            if let Some(topic) = topics.first() {
                let id = if version >= 10 { ID } else { [0; 16] };
                assert_eq!((topic.name, topic.id), (Some("orders"), id), "{version}");
            }
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "every field of a message, in every version")]
fn metadata_responses_are_read_by_others_in_every_version() {
    let api = api(ApiKey::Metadata);
    for version in api.lowest..=api.highest {
        let brokers = [NodeEndpoint { id: 1, host: "one", port: 9_092, rack: Some("r") }];
        let head = MetadataHead { throttle_ms: 5, brokers: &brokers, cluster_id: Some("c"), controller: 1 };
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, api.is_flexible(version));
        head.write(&mut writer, version, 1);
        let topic =
            MetadataTopicHead { error: ErrorCode::None, name: Some("orders"), id: ID, is_internal: true };
        topic.write(&mut writer, version, 1);
        let partition = MetadataPartition {
            error: ErrorCode::LeaderNotAvailable,
            partition: 4,
            leader: -1,
            leader_epoch: 8,
            replicas: &[1, 2],
            in_sync: &[1],
            offline: &[2],
        };
        partition.write(&mut writer, version);
        end_metadata_topic(&mut writer, version, 9);
        end_metadata_response(&mut writer, version, NOT_ASKED, ErrorCode::None);
        let response: MetadataResponse = decoded(out, version);
        assert_eq!((response.brokers[0].node_id.0, response.brokers[0].host.as_str()), (1, "one"));
        let theirs = &response.topics[0];
        assert_eq!(theirs.name.as_ref().map(|name| name.as_str()), Some("orders"), "{version}");
        let shown = &theirs.partitions[0];
        assert_eq!((shown.error_code, shown.partition_index, shown.leader_id.0), (5, 4, -1), "{version}");
        let numbers = |nodes: &[kafka_protocol::messages::BrokerId]| {
            nodes.iter().map(|node| node.0).collect::<Vec<_>>()
        };
        assert_eq!((numbers(&shown.replica_nodes), numbers(&shown.isr_nodes)), (vec![1, 2], vec![1]));
        if version >= 5 {
            assert_eq!(numbers(&shown.offline_replicas), [2]);
        }
        if version >= 7 {
            assert_eq!(shown.leader_epoch, 8);
        }
        if version >= 8 {
            assert_eq!(theirs.topic_authorized_operations, 9);
        }
        if version >= 10 {
            assert_eq!(theirs.topic_id, Uuid::from_bytes(ID));
        }
        assert_eq!(
            (theirs.is_internal, response.controller_id.0),
            (version >= 1, if version >= 1 { 1 } else { -1 })
        );
    }
}
