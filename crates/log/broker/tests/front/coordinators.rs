//! Coordinators that read their partitions on a thread that has clients.

use std::collections::BTreeMap;

use base::WallTime;
use kafka_protocol::messages::MetadataRequest;
use log_broker::{BrokerConfig, StoredPartition};
use log_metadata::TopicNode;
use log_partition::{Offset, Partition, PartitionConfig, PartitionId, Place, StoredBatch, StoredEvent};
use log_wire::{Attributes, Batch, BatchBuilder, Producer};
use storage_wal::LogId;

use crate::world::World;

const OFFSETS: &str = "__consumer_offsets";
const ID: [u8; 16] = [2; 16];
/// As young as the world is.
const NOW: WallTime = WallTime::of_ms(1_700_000_000_000);

/// The partition of the offsets, with a batch in a segment.
fn stored() -> StoredPartition {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(NOW.ms(), Some(b"key"), Some(b"value"), &[]);
    let mut bytes = builder.finish();
    Batch::assign(&mut bytes, 0, 0);
    let bytes = bytes.into();
    let at = Place { segment: Offset(0), position: 0 };
    let (now, is_behind_state, is_written) = (NOW, true, true);
    let event =
        StoredEvent::Batch(StoredBatch { at, now, is_behind_state, is_written, begun: &[], bytes: &bytes });
    let partition = Partition::restore(PartitionConfig::default(), Offset(0), None, [event].into_iter());
    let id = PartitionId { topic: ID, index: 0 };
    StoredPartition { log: LogId(1), id, partition: Some(partition.expect("it is whole")), damage: None }
}

#[test]
fn coordinator_whose_segment_is_gone_does_not_hold_up_the_clients_of_its_thread() {
    let topic = TopicNode::new(ID, BTreeMap::new(), &[vec![1]]);
    let mut world = World::with(BrokerConfig::default(), vec![stored()], &[(OFFSETS, topic)]);
    assert!(world.pipes.broker.next_load().is_some(), "it goes on to be asked for");
    let client = world.connect(0);
    assert!(world.ask(client, 12, &MetadataRequest::default().with_topics(None)).is_some());
}
