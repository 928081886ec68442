//! Share groups on a thread that writes what its clients want itself.

use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::share_fetch_request::{AcknowledgementBatch, FetchPartition, FetchTopic};
use kafka_protocol::messages::{
    GroupId, ProduceRequest, ShareFetchRequest, ShareGroupHeartbeatRequest, TopicName,
};
use log_broker::BrokerConfig;
use log_wire::{Attributes, BatchBuilder, Producer};
use uuid::Uuid;

use crate::world::{World, decode, frame, text};

/// The topic that each world has.
const T: Uuid = Uuid::from_bytes([1; 16]);

fn batch(value: &[u8]) -> bytes::Bytes {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(1_700_000_000_000, None, Some(value), &[]);
    builder.finish().into()
}

fn produce(world: &mut World, client: usize, value: &[u8]) {
    let partition = PartitionProduceData::default().with_records(Some(batch(value)));
    let topic =
        TopicProduceData::default().with_name(TopicName(text("t"))).with_partition_data(vec![partition]);
    let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(1_000).with_topic_data(vec![topic]);
    let answer = world.ask(client, 9, &request).expect("an answer");
    assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
}

/// Takes one record, and acknowledges one that was taken before.
fn fetch(epoch: i32, acknowledged: Option<i64>) -> ShareFetchRequest {
    let batch = acknowledged.map(|offset| {
        let batch = AcknowledgementBatch::default().with_first_offset(offset).with_last_offset(offset);
        batch.with_acknowledge_types(vec![1])
    });
    let partition = FetchPartition::default().with_acknowledgement_batches(batch.into_iter().collect());
    let topic = FetchTopic::default().with_topic_id(T).with_partitions(vec![partition]);
    ShareFetchRequest::default()
        .with_group_id(Some(GroupId(text("c"))))
        .with_member_id(Some(text("m")))
        .with_share_session_epoch(epoch)
        .with_max_wait_ms(500)
        .with_min_bytes(1)
        .with_max_bytes(1_000)
        .with_max_records(1)
        .with_batch_size(1)
        .with_topics(vec![topic])
}

#[test]
fn what_follows_is_given_in_the_turn_that_writes_the_acknowledgement() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let beat = ShareGroupHeartbeatRequest::default()
        .with_group_id(GroupId(text("c")))
        .with_member_id(text("m"))
        .with_subscribed_topic_names(Some(vec![text("t")]));
    for _ in 0..3 {
        world.ask(client, 1, &beat);
        world.pass_ms(1_000);
    }
    let mut taken = Vec::new();
    let mut fetch_in = |world: &mut World, turns, epoch, acknowledged| {
        world.send(client, &frame(1, &fetch(epoch, acknowledged)));
        world.turns(turns);
        let frame = world.frames(client).pop().expect("an answer within these turns");
        let answer = decode::<ShareFetchRequest>(1, &frame);
        let partitions = answer.responses.into_iter().flat_map(|topic| topic.partitions);
        taken.extend(partitions.flat_map(|of| of.acquired_records).map(|range| range.first_offset));
    };
    // The group begins at the end of the log.
    world.send(client, &frame(1, &fetch(0, None)));
    world.pass_ms(1_000);
    drop(world.frames(client));
    for value in [b"1", b"2", b"3"] {
        produce(&mut world, client, value);
    }
    fetch_in(&mut world, 3, 1, None);
    fetch_in(&mut world, 1, 2, Some(0));
    fetch_in(&mut world, 1, 3, Some(1));
    assert_eq!(taken, [0, 1, 2]);
}
