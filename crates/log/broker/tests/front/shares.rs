//! Share groups on a thread that writes itself what its clients want.

use std::rc::Rc;

use base::WallTime;
use bytes::Bytes;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::share_fetch_request::{AcknowledgementBatch, FetchPartition, FetchTopic};
use kafka_protocol::messages::{
    GroupId, IncrementalAlterConfigsRequest, ShareFetchRequest, ShareGroupHeartbeatRequest, TopicName,
};
use log_broker::{BrokerConfig, StoredPartition};
use log_partition::{Offset, Partition, PartitionConfig, PartitionId, Place, StoredBatch, StoredEvent};
use log_wire::{Attributes, Batch, BatchBuilder, Producer};
use storage_wal::LogId;
use uuid::Uuid;

use crate::world::{Segments, World, decode, frame, text};

/// The topic that each world has.
const T: [u8; 16] = [1; 16];
/// As young as the world is.
const NOW: WallTime = WallTime::of_ms(1_700_000_000_000);

fn batch(offset: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(NOW.ms(), None, Some(b"value"), &[]);
    let mut bytes = builder.finish();
    Batch::assign(&mut bytes, offset, 0);
    bytes
}

/// A world whose topic has so many records in a segment, and none in memory.
fn world(records: i64) -> World {
    let batches: Vec<Bytes> = (0..records).map(|offset| batch(offset).into()).collect();
    let batch_bytes = batches[0].len();
    let events = batches.iter().enumerate().map(|(number, bytes)| {
        let at = Place { segment: Offset(0), position: (number * batch_bytes) as u64 };
        let (now, is_behind_state, is_written) = (NOW, true, true);
        StoredEvent::Batch(StoredBatch { at, now, is_behind_state, is_written, begun: &[], bytes })
    });
    let partition = Partition::restore(PartitionConfig::default(), Offset(0), None, events);
    let id = PartitionId { topic: T, index: 0 };
    let partition = Some(partition.expect("it is whole"));
    let stored = StoredPartition { log: LogId(1), id, partition, damage: None };
    let mut world = World::with(BrokerConfig::default(), vec![stored], &[]);
    world.pipes.segments = Segments { bytes: Rc::new(batches.concat()), batch_bytes };
    world
}

/// The group begins with the first record.
fn begins_early(world: &mut World, client: usize) {
    let config = AlterableConfig::default()
        .with_name(text("share.auto.offset.reset"))
        .with_value(Some(text("earliest")));
    let group = AlterConfigsResource::default()
        .with_resource_type(32)
        .with_resource_name(text("c"))
        .with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![group]);
    let answer = world.ask(client, 1, &request).expect("an answer");
    assert_eq!(answer.responses[0].error_code, 0);
}

/// Takes one record, and acknowledges one that was taken before.
fn fetch(epoch: i32, acknowledged: Option<i64>) -> ShareFetchRequest {
    let batch = acknowledged.map(|offset| {
        let batch = AcknowledgementBatch::default().with_first_offset(offset).with_last_offset(offset);
        batch.with_acknowledge_types(vec![1])
    });
    let partition = FetchPartition::default().with_acknowledgement_batches(batch.into_iter().collect());
    let topic = FetchTopic::default().with_topic_id(Uuid::from_bytes(T)).with_partitions(vec![partition]);
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

/// The offsets that were given by the answers that have come.
fn taken(world: &mut World, client: usize) -> Vec<i64> {
    let answers = world.frames(client).into_iter().map(|frame| decode::<ShareFetchRequest>(1, &frame));
    let partitions = answers.flat_map(|answer| answer.responses).flat_map(|topic| topic.partitions);
    partitions.flat_map(|of| of.acquired_records).map(|range| range.first_offset).collect()
}

/// A world with so many records, whose member has the first one.
fn begun(records: i64) -> (World, usize) {
    let mut world = world(records);
    let client = world.connect(0);
    begins_early(&mut world, client);
    let beat = ShareGroupHeartbeatRequest::default()
        .with_group_id(GroupId(text("c")))
        .with_member_id(text("m"))
        .with_subscribed_topic_names(Some(vec![TopicName(text("t"))]));
    world.ask(client, 1, &beat);
    world.send(client, &frame(1, &fetch(0, None)));
    world.pass_ms(2_000);
    assert_eq!(taken(&mut world, client), [0]);
    (world, client)
}

#[test]
fn what_follows_is_given_in_the_turn_that_writes_the_acknowledgement() {
    let (mut world, client) = begun(3);
    for (epoch, acknowledged) in [(1, 0), (2, 1)] {
        world.send(client, &frame(1, &fetch(epoch, Some(acknowledged))));
        world.turns(1);
        assert_eq!(taken(&mut world, client), [acknowledged + 1]);
    }
}

#[test]
fn acknowledgement_behind_which_nothing_follows_is_answered_when_the_wait_is_over() {
    let (mut world, client) = begun(1);
    world.send(client, &frame(1, &fetch(1, Some(0))));
    world.pass_ms(450);
    assert!(world.frames(client).is_empty(), "it waits for records for 500 ms");
    world.pass_ms(100);
    let frames = world.frames(client);
    let answer = decode::<ShareFetchRequest>(1, frames.first().expect("an answer"));
    let codes = answer.responses.iter().flat_map(|topic| &topic.partitions);
    assert!(codes.map(|of| (of.error_code, of.acknowledge_error_code)).all(|codes| codes == (0, 0)));
}
