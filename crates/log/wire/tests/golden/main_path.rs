//! The messages that are read and written by hand. Ours reads requests and writes replies only, so the bytes of a reply become
//! values by the crate that others wrote for the protocol, and those become bytes by ours.

use bytes::{Buf, Bytes};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{ApiVersionsResponse, FetchResponse, MetadataResponse, ProduceResponse};
use kafka_protocol::protocol::Decodable;
use log_wire::{
    Api, ApiKey, ApiVersionsRequest, ErrorCode, Feature, Features, FetchOutcome, FetchRequest, Malformed,
    MetadataHead, MetadataPartition, MetadataRequest, MetadataTopicHead, NodeEndpoint, ProduceOutcome,
    ProduceRequest, Reader, ServedApi, TopicName, Writer, end_fetch_response, end_metadata_response,
    end_metadata_topic, start_fetch_response, start_fetch_topic, write_api_versions_response,
    write_produce_response,
};

use super::file::{Dialogue, dialogues};

fn of(key: ApiKey) -> Vec<Dialogue> {
    dialogues().into_iter().filter(|dialogue| dialogue.api.key == key).collect()
}

/// Read as a whole; refused when it is cut anywhere.
fn read_whole(dialogue: &Dialogue) {
    let read = |bytes: &[u8]| -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes, dialogue.is_flexible());
        let version = dialogue.version;
        match dialogue.api.key {
            ApiKey::Produce => ProduceRequest::read(&mut reader, version, &mut Vec::new()).map(|_| ())?,
            ApiKey::Fetch => {
                FetchRequest::read(&mut reader, version, &mut Vec::new(), &mut Vec::new()).map(|_| ())?;
            }
            ApiKey::Metadata => MetadataRequest::read(&mut reader, version, &mut Vec::new()).map(|_| ())?,
            _ => ApiVersionsRequest::read(&mut reader, version).map(|_| ())?,
        }
        reader.end()
    };
    assert_eq!(read(dialogue.asked()), Ok(()), "{}", dialogue.name());
    for cut in 0..dialogue.asked().len() {
        assert!(read(&dialogue.asked()[..cut]).is_err(), "{}: {cut} bytes", dialogue.name());
    }
}

fn theirs<M: Decodable>(dialogue: &Dialogue) -> M {
    let mut bytes = Bytes::from(dialogue.response.clone());
    let message = M::decode(&mut bytes, dialogue.version).expect("they can decode it");
    assert!(!bytes.has_remaining(), "{}", dialogue.name());
    message
}

fn written(dialogue: &Dialogue, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Writer::new(&mut out, dialogue.is_flexible()));
    out
}

fn error(code: i16) -> ErrorCode {
    let known = [ErrorCode::None, ErrorCode::UnknownTopicOrPartition, ErrorCode::UnknownTopicId];
    known.into_iter().find(|known| known.code() == code).expect("a code that these replies have")
}

#[test]
fn golden_requests_of_the_main_path_are_read_whole_and_refused_when_cut() {
    for key in [ApiKey::Produce, ApiKey::Fetch, ApiKey::Metadata, ApiKey::ApiVersions] {
        of(key).iter().for_each(read_whole);
    }
}

#[test]
fn golden_produce_replies_are_written_again_to_the_same_bytes() {
    for dialogue in of(ApiKey::Produce) {
        let theirs: ProduceResponse = theirs(&dialogue);
        let outcome = |partition: &PartitionProduceResponse| {
            assert!(partition.record_errors.is_empty() && partition.error_message.is_none());
            ProduceOutcome {
                partition: partition.index,
                error: error(partition.error_code),
                base_offset: partition.base_offset,
                log_append_time: partition.log_append_time_ms,
                log_start_offset: partition.log_start_offset,
                ..ProduceOutcome::default()
            }
        };
        let outcomes: Vec<Vec<ProduceOutcome<'_>>> = theirs
            .responses
            .iter()
            .map(|topic| topic.partition_responses.iter().map(outcome).collect())
            .collect();
        let topics: Vec<(TopicName<'_>, &[ProduceOutcome<'_>])> = theirs
            .responses
            .iter()
            .zip(&outcomes)
            .map(|(topic, outcomes)| {
                let id = TopicName::Id(topic.topic_id.into_bytes());
                let name = if dialogue.version >= 13 { id } else { TopicName::Name(&topic.name) };
                (name, &outcomes[..])
            })
            .collect();
        let ours = written(&dialogue, |writer| {
            write_produce_response(writer, dialogue.version, &topics, theirs.throttle_time_ms, &[]);
        });
        assert_eq!(ours, dialogue.response, "{}", dialogue.name());
    }
}

#[test]
fn golden_fetch_replies_are_written_again_to_the_same_bytes() {
    for dialogue in of(ApiKey::Fetch) {
        let theirs: FetchResponse = theirs(&dialogue);
        let version = dialogue.version;
        let ours = written(&dialogue, |writer| {
            let (error, topics) = (error(theirs.error_code), theirs.responses.len());
            start_fetch_response(writer, version, theirs.throttle_time_ms, error, theirs.session_id, topics);
            for topic in &theirs.responses {
                let id = TopicName::Id(topic.topic_id.into_bytes());
                let name = if version >= 13 { id } else { TopicName::Name(&topic.topic) };
                start_fetch_topic(writer, name, topic.partitions.len());
                topic.partitions.iter().for_each(|partition| write_fetched(writer, version, partition));
                writer.no_tagged_fields();
            }
            end_fetch_response(writer, version, &[]);
        });
        assert_eq!(ours, dialogue.response, "{}", dialogue.name());
    }
}

fn write_fetched(writer: &mut Writer<'_>, version: i16, partition: &PartitionData) {
    let aborted = partition.aborted_transactions.as_ref();
    let aborted: Option<Vec<(i64, i64)>> =
        aborted.map(|all| all.iter().map(|one| (one.producer_id.0, one.first_offset)).collect());
    let records = partition.records.as_deref().unwrap_or_default();
    let outcome = FetchOutcome {
        partition: partition.partition_index,
        error: error(partition.error_code),
        high_watermark: partition.high_watermark,
        last_stable_offset: partition.last_stable_offset,
        log_start_offset: partition.log_start_offset,
        aborted: aborted.as_deref(),
        preferred_read_replica: partition.preferred_read_replica.0,
        divergence: None,
        leader: None,
    };
    outcome.start(writer, version, records.len());
    writer.raw(records);
    outcome.end(writer, version);
}

#[test]
fn golden_metadata_replies_are_written_again_to_the_same_bytes() {
    for dialogue in of(ApiKey::Metadata) {
        let theirs: MetadataResponse = theirs(&dialogue);
        let version = dialogue.version;
        let endpoint = |broker: &kafka_protocol::messages::metadata_response::MetadataResponseBroker| {
            (
                broker.node_id.0,
                broker.host.to_string(),
                broker.port,
                broker.rack.as_ref().map(ToString::to_string),
            )
        };
        let brokers: Vec<_> = theirs.brokers.iter().map(endpoint).collect();
        let brokers: Vec<NodeEndpoint<'_>> = brokers
            .iter()
            .map(|(id, host, port, rack)| NodeEndpoint { id: *id, host, port: *port, rack: rack.as_deref() })
            .collect();
        let ours = written(&dialogue, |writer| {
            let head = MetadataHead {
                throttle_ms: theirs.throttle_time_ms,
                brokers: &brokers,
                cluster_id: theirs.cluster_id.as_deref(),
                controller: theirs.controller_id.0,
            };
            head.write(writer, version, theirs.topics.len());
            theirs.topics.iter().for_each(|topic| write_topic(writer, version, topic));
            let operations = theirs.cluster_authorized_operations;
            end_metadata_response(writer, version, operations, error(theirs.error_code));
        });
        assert_eq!(ours, dialogue.response, "{}", dialogue.name());
    }
}

fn write_topic(writer: &mut Writer<'_>, version: i16, topic: &MetadataResponseTopic) {
    let head = MetadataTopicHead {
        error: error(topic.error_code),
        name: topic.name.as_ref().map(|name| name.as_str()),
        id: topic.topic_id.into_bytes(),
        is_internal: topic.is_internal,
    };
    head.write(writer, version, topic.partitions.len());
    for partition in &topic.partitions {
        let nodes = |nodes: &[kafka_protocol::messages::BrokerId]| -> Vec<i32> {
            nodes.iter().map(|node| node.0).collect()
        };
        let shown = MetadataPartition {
            error: error(partition.error_code),
            partition: partition.partition_index,
            leader: partition.leader_id.0,
            leader_epoch: partition.leader_epoch,
            replicas: &nodes(&partition.replica_nodes),
            in_sync: &nodes(&partition.isr_nodes),
            offline: &nodes(&partition.offline_replicas),
        };
        shown.write(writer, version);
    }
    end_metadata_topic(writer, version, topic.topic_authorized_operations);
}

/// The real broker serves APIs that this crate does not know; without them the rest is what it answered.
#[test]
fn golden_api_versions_replies_are_written_again_but_for_unknown_apis() {
    for dialogue in of(ApiKey::ApiVersions) {
        let mut theirs: ApiVersionsResponse = theirs(&dialogue);
        theirs.api_keys.retain(|api| Api::find(api.api_key).is_some());
        let served: Vec<ServedApi> = theirs
            .api_keys
            .iter()
            .map(|api| ServedApi {
                key: Api::find(api.api_key).expect("the others are left out").key,
                lowest: api.min_version,
                highest: api.max_version,
            })
            .collect();
        let feature = |name, lowest, highest| Feature { name, lowest, highest };
        let supported = theirs.supported_features.iter();
        let supported: Vec<Feature<'_>> =
            supported.map(|one| feature(&one.name, one.min_version, one.max_version)).collect();
        let finalized = theirs.finalized_features.iter();
        let finalized: Vec<Feature<'_>> =
            finalized.map(|one| feature(&one.name, one.min_version_level, one.max_version_level)).collect();
        let epoch = theirs.finalized_features_epoch;
        let features = Features { supported: &supported, finalized: &finalized, epoch };
        let ours = written(&dialogue, |writer| {
            let (none, throttle) = (ErrorCode::None, theirs.throttle_time_ms);
            write_api_versions_response(writer, dialogue.version, none, &served, throttle, Some(features));
        });
        let again = ApiVersionsResponse::decode(&mut Bytes::from(ours), dialogue.version);
        assert_eq!(again.expect("they can decode it"), theirs, "{}", dialogue.name());
    }
}
