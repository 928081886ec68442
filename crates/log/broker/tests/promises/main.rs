//! What a broker promises, seen from outside: what it answers, and when, as its disk goes on or does not.

mod bench;
mod disk;
mod fetch;
mod produce;
mod transactions;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, ProduceRequest, TopicName};
use log_broker::{CatalogCommand, DiskCommand, DiskEvent, StoredPartition};
use log_partition::{PartitionId, Tables};
use log_wire::Producer;
use storage_wal::LogId;

use bench::{Bench, text, topic};

fn stored(state: Option<Vec<u8>>) -> StoredPartition {
    let id = PartitionId { topic: [1; 16], index: 0 };
    StoredPartition { log: LogId(3), id, start: None, state, segments: Vec::new(), batches: Vec::new() }
}

#[test]
fn damaged_partition_is_not_served_and_nothing_is_made_in_its_place() {
    let mut bench = Bench::new(vec![stored(Some(b"no tables".to_vec()))]);
    assert!(bench.broker.topic_changed(topic("t", 1, 1, 0), bench.now).is_err());
    bench.broker.topic_changed(topic("t", 1, 1, 1), bench.now).expect("it is known to be damaged");
    assert!(bench.take().is_empty());
    let request: ProduceRequest = produce::request(0, &produce::batch(Producer::NONE));
    let refused = bench.ask(1, 9, &request).expect("an answer at once");
    assert_eq!(refused.responses[0].partition_responses[0].error_code, 6);
}

#[test]
fn partition_that_the_council_does_not_know_is_kept() {
    let mut bench = Bench::new(vec![stored(None)]);
    assert_eq!(bench.broker.catalog_complete().len(), 1);
    assert!(bench.take().is_empty(), "nothing is dropped");
    bench.broker.disk_event(DiskEvent::StatesAsked(vec![LogId(3)]), bench.now);
    let commands = bench.take();
    let [DiskCommand::State(LogId(3), state)] = commands.as_slice() else { panic!("{commands:?}") };
    assert!(Tables::of_bytes(state).is_ok());
}

#[test]
fn topics_of_one_request_are_made_by_and_by() {
    let mut bench = Bench::new(Vec::new());
    let names = (0..5_000).map(|number| {
        MetadataRequestTopic::default().with_name(Some(TopicName(text(&format!("topic-{number}")))))
    });
    let request =
        MetadataRequest::default().with_topics(Some(names.collect())).with_allow_auto_topic_creation(true);
    bench.ask(1, 4, &request).expect("an answer at once");
    let asked = bench.broker.take_catalog_commands();
    assert!((1..=100).contains(&asked.len()), "{}", asked.len());
    assert!(asked.iter().all(|command| matches!(command, CatalogCommand::Create(_, None))));
}
