//! Produce.

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ProduceRequest as TheirProduceRequest, ProduceResponse, TopicName as TheirName, TransactionalId,
};
use log_wire::{
    ApiKey, CurrentLeader, ErrorCode, NodeEndpoint, ProduceOutcome, ProduceRequest, Reader, Writer,
    write_produce_response,
};
use uuid::Uuid;

use super::{ID, api, decoded, encoded, text, topic};

#[test]
fn produce_requests_of_others_are_read_in_every_version() {
    let api = api(ApiKey::Produce);
    for version in api.lowest..=api.highest {
        let partition =
            |index, records| PartitionProduceData::default().with_index(index).with_records(records);
        let mut data = TopicProduceData::default()
            .with_partition_data(vec![partition(1, Some(Bytes::from_static(b"batch"))), partition(-2, None)]);
        if version >= 13 {
            data.topic_id = Uuid::from_bytes(ID);
        } else {
            data.name = TheirName(text("orders"));
        }
        let request = TheirProduceRequest::default()
            .with_transactional_id(Some(TransactionalId(text("tx"))))
            .with_acks(-1)
            .with_timeout_ms(1_500)
            .with_topic_data(vec![data]);
        let bytes = encoded(&request, version);
        let (mut reader, mut partitions) = (Reader::new(&bytes, api.is_flexible(version)), Vec::new());
        let read = ProduceRequest::read(&mut reader, version, &mut partitions).expect("well formed");
        assert_eq!((read.transactional_id, read.acks, read.timeout_ms), (Some("tx"), -1, 1_500), "{version}");
        let got: Vec<_> = partitions.iter().map(|one| (one.topic, one.partition, one.records)).collect();
        let name = topic(version, 13);
        assert_eq!(got, [(name, 1, Some(&b"batch"[..])), (name, -2, None)], "{version}");
        assert_eq!(reader.end(), Ok(()), "{version}");
        for cut in 0..bytes.len() {
            let mut reader = Reader::new(&bytes[..cut], api.is_flexible(version));
            assert!(ProduceRequest::read(&mut reader, version, &mut Vec::new()).is_err(), "{version} {cut}");
        }
    }
}

#[test]
fn produce_responses_are_read_by_others_in_every_version() {
    let api = api(ApiKey::Produce);
    for version in api.lowest..=api.highest {
        let outcome = ProduceOutcome {
            partition: 3,
            error: ErrorCode::NotLeaderOrFollower,
            base_offset: 40,
            log_append_time: -1,
            log_start_offset: 2,
            record_errors: vec![(5, "why")],
            message: Some("all"),
            leader: Some(CurrentLeader { id: 9, epoch: 4 }),
        };
        let endpoints = [NodeEndpoint { id: 9, host: "nine", port: 9_092, rack: None }];
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, api.is_flexible(version));
        write_produce_response(&mut writer, version, &[(topic(version, 13), &[outcome])], 77, &endpoints);
        let response: ProduceResponse = decoded(out, version);
        let theirs = &response.responses[0].partition_responses[0];
        assert_eq!((theirs.index, theirs.error_code, theirs.base_offset), (3, 6, 40), "{version}");
        assert_eq!((theirs.log_append_time_ms, response.throttle_time_ms), (-1, 77), "{version}");
        if version >= 5 {
            assert_eq!(theirs.log_start_offset, 2);
        }
        if version >= 8 {
            let error = &theirs.record_errors[0];
            assert_eq!((error.batch_index, error.batch_index_error_message.as_deref()), (5, Some("why")));
            assert_eq!(theirs.error_message.as_deref(), Some("all"));
        }
        if version >= 10 {
            let (leader, node) = (&theirs.current_leader, &response.node_endpoints[0]);
            assert_eq!((leader.leader_id.0, leader.leader_epoch), (9, 4), "{version}");
            assert_eq!((node.node_id.0, node.host.as_str(), node.port), (9, "nine", 9_092), "{version}");
        }
    }
}
