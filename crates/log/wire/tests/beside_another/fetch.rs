//! Fetch.

use kafka_protocol::messages::fetch_request::{
    FetchPartition as TheirFetchPartition, FetchTopic, ForgottenTopic,
};
use kafka_protocol::messages::{FetchRequest as TheirFetchRequest, FetchResponse, TopicName as TheirName};
use log_wire::{
    ApiKey, CurrentLeader, Divergence, ErrorCode, FetchOutcome, FetchRequest, NodeEndpoint, Reader, Writer,
    end_fetch_response, start_fetch_response, start_fetch_topic,
};
use uuid::Uuid;

use super::{ID, api, decoded, encoded, text, topic};

#[test]
#[expect(clippy::too_many_lines, reason = "every field of a message, in every version")]
fn fetch_requests_of_others_are_read_in_every_version() {
    let api = api(ApiKey::Fetch);
    for version in api.lowest..=api.highest {
        let mut partition = TheirFetchPartition::default()
            .with_partition(2)
            .with_fetch_offset(500)
            .with_partition_max_bytes(1 << 20);
        if version >= 9 {
            partition.current_leader_epoch = 6;
        }
        if version >= 12 {
            partition.last_fetched_epoch = 5;
        }
        let mut fetched = FetchTopic::default().with_partitions(vec![partition]);
        let mut forgotten = ForgottenTopic::default().with_partitions(vec![8, 9]);
        if version >= 13 {
            (fetched.topic_id, forgotten.topic_id) = (Uuid::from_bytes(ID), Uuid::from_bytes(ID));
        } else {
            (fetched.topic, forgotten.topic) = (TheirName(text("orders")), TheirName(text("orders")));
        }
        let mut request = TheirFetchRequest::default()
            .with_max_wait_ms(500)
            .with_min_bytes(1)
            .with_max_bytes(50 << 20)
            .with_isolation_level(1)
            .with_topics(vec![fetched]);
        if version >= 7 {
            request =
                request.with_session_id(33).with_session_epoch(2).with_forgotten_topics_data(vec![forgotten]);
        }
        if version >= 11 {
            request.rack_id = text("r1");
        }
        let bytes = encoded(&request, version);
        let mut reader = Reader::new(&bytes, api.is_flexible(version));
        let (mut partitions, mut left) = (Vec::new(), Vec::new());
        let read = FetchRequest::read(&mut reader, version, &mut partitions, &mut left).expect("well formed");
        assert_eq!(
            (read.max_wait_ms, read.min_bytes, read.max_bytes, read.isolation_level),
            (500, 1, 50 << 20, 1)
        );
        let name = topic(version, 13);
        let asked = partitions[0];
        assert_eq!(
            (asked.topic, asked.partition, asked.offset, asked.max_bytes),
            (name, 2, 500, 1 << 20),
            "{version}"
        );
        assert_eq!(asked.current_leader_epoch, if version >= 9 { 6 } else { -1 });
        assert_eq!(asked.last_fetched_epoch, if version >= 12 { 5 } else { -1 });
        if version >= 7 {
            assert_eq!(
                (read.session_id, read.session_epoch, &left[..]),
                (33, 2, &[(name, 8), (name, 9)][..])
            );
        }
        assert_eq!((read.rack, reader.end()), (if version >= 11 { "r1" } else { "" }, Ok(())), "{version}");
        for cut in 0..bytes.len() {
            let mut reader = Reader::new(&bytes[..cut], api.is_flexible(version));
            assert!(
                FetchRequest::read(&mut reader, version, &mut Vec::new(), &mut Vec::new()).is_err(),
                "{version} {cut}"
            );
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "every field of a message, in every version")]
fn fetch_responses_are_read_by_others_in_every_version() {
    let api = api(ApiKey::Fetch);
    for version in api.lowest..=api.highest {
        let outcome = FetchOutcome {
            partition: 3,
            error: ErrorCode::None,
            high_watermark: 90,
            last_stable_offset: 80,
            log_start_offset: 10,
            aborted: Some(&[(7, 60)]),
            preferred_read_replica: -1,
            divergence: Some(Divergence { epoch: 2, end_offset: 55 }),
            leader: Some(CurrentLeader { id: 9, epoch: 4 }),
        };
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, api.is_flexible(version));
        start_fetch_response(&mut writer, version, 5, ErrorCode::None, 33, 1);
        start_fetch_topic(&mut writer, topic(version, 13), 1);
        outcome.start(&mut writer, version, 5);
        writer.raw(b"batch");
        outcome.end(&mut writer, version);
        writer.no_tagged_fields();
        end_fetch_response(
            &mut writer,
            version,
            &[NodeEndpoint { id: 9, host: "nine", port: 9_092, rack: Some("r") }],
        );
        let response: FetchResponse = decoded(out, version);
        assert_eq!(response.throttle_time_ms, 5);
        let theirs = &response.responses[0].partitions[0];
        assert_eq!(
            (theirs.partition_index, theirs.error_code, theirs.high_watermark),
            (3, 0, 90),
            "{version}"
        );
        assert_eq!(
            (theirs.last_stable_offset, theirs.records.as_deref()),
            (80, Some(&b"batch"[..])),
            "{version}"
        );
        let aborted = &theirs.aborted_transactions.as_ref().expect("a list")[0];
        assert_eq!((aborted.producer_id.0, aborted.first_offset), (7, 60));
        if version >= 7 {
            assert_eq!(response.session_id, 33);
        }
        if version >= 12 {
            assert_eq!(
                (theirs.diverging_epoch.epoch, theirs.diverging_epoch.end_offset),
                (2, 55),
                "{version}"
            );
        }
        let leader = (theirs.current_leader.leader_id.0, theirs.current_leader.leader_epoch);
        assert_eq!(leader, if version >= 16 { (9, 4) } else { (-1, -1) }, "{version}");
        if version >= 16 {
            assert_eq!(response.node_endpoints[0].rack.as_deref(), Some("r"));
        }
    }
}
