//! What a broker promises, seen from outside: what it answers, and when, as its disk goes on or does not.

mod administration;
mod bench;
mod disk;
mod fetch;
mod produce;
mod replicas;
mod replicas_awaited;
mod replicas_balanced;
mod replicas_deleted;
mod replicas_drained;
mod replicas_elected;
mod replicas_emptied;
mod replicas_grown;
mod replicas_led_elsewhere;
mod replicas_moved;
mod replicas_read;
mod replicas_seen;
mod replicas_silent;
mod replicas_stale;
mod replicas_throttled;
mod replicas_two;
mod shares;
mod shares_dead_letters;
mod shares_replicated;
mod transactions;

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{CreateTopicsRequest, MetadataRequest, ProduceRequest, TopicName};
use log_broker::{BrokerConfig, DiskCommand, DiskEvent, Notice, StoredPartition};
use log_metadata::{Decision, Ended, Found, KeeperEvent};
use log_partition::{Damage, Offset, Partition, PartitionConfig, PartitionId};
use log_wire::{ErrorCode, Producer};
use storage_wal::LogId;

use bench::{Bench, text, topic};

fn stored(damage: Option<Damage>) -> StoredPartition {
    let id = PartitionId { topic: [1; 16], index: 0 };
    let partition = Some(Partition::new(PartitionConfig::default(), Offset(0)));
    StoredPartition { log: LogId(3), id, partition, damage }
}

#[test]
fn damaged_partition_is_not_served_and_nothing_is_made_in_its_place() {
    let mut bench = Bench::new(vec![stored(Some(Damage::Missing(Offset(0))))]);
    bench.council(topic("t", 1, 1, 0));
    bench.council(topic("t", 1, 1, 1));
    let notices = bench.broker.take_notices();
    assert_eq!(
        notices.iter().filter(|notice| matches!(notice, Notice::Damaged(..))).count(),
        1,
        "{notices:?}"
    );
    assert!(bench.take().is_empty());
    bench.broker.disk_event(DiskEvent::StatesAsked(vec![LogId(3)]), bench.now);
    assert!(matches!(bench.take().as_slice(), [DiskCommand::State(LogId(3), _)]), "its log can be recycled");
    let request: ProduceRequest = produce::request(0, &produce::batch(Producer::NONE));
    let refused = bench.ask(1, 9, &request).expect("an answer at once");
    assert_eq!(refused.responses[0].partition_responses[0].error_code, 6);
}

#[test]
fn partition_that_the_council_does_not_know_is_kept() {
    let mut bench = Bench::new(vec![stored(None)]);
    let notices = bench.broker.take_notices();
    assert!(matches!(notices.as_slice(), [Notice::Unclaimed(1)]), "{notices:?}");
    assert!(bench.take().is_empty(), "nothing is dropped");
    bench.broker.disk_event(DiskEvent::StatesAsked(vec![LogId(3)]), bench.now);
    let commands = bench.take();
    let [DiskCommand::State(LogId(3), state)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(*state, Partition::new(PartitionConfig::default(), Offset(0)).state());
}

#[test]
fn topic_of_before_the_start_is_served_under_a_new_epoch_only() {
    let mut bench = Bench::starting(BrokerConfig::default(), Vec::new());
    bench.council(topic("t", 1, 1, 4));
    bench.council(KeeperEvent::Joined);
    let mut changes = bench.broker.take_changes();
    assert!(changes.len() == 1 && bench.take().is_empty(), "{changes:?}");
    let KeeperEvent::Node { data: Some(before), .. } = topic("t", 1, 1, 4) else { panic!("a topic") };
    let found = Found { data: Some(&before), may_be_done: false };
    let Decision::Write(data) = (changes[0].compute)(found) else { panic!("its epoch is raised") };
    bench.council(KeeperEvent::Node { path: changes[0].path.clone(), data: Some(data.clone()) });
    assert!(bench.take().is_empty(), "the change has not ended");
    bench.council(KeeperEvent::Ended { ticket: changes[0].ticket, ended: Ended::Done(Some(data)) });
    bench.flush();
    let answer = bench.ask(1, 9, &metadata("t")).expect("an answer at once");
    let partition = &answer.topics[0].partitions[0];
    assert_eq!((partition.leader_id.0, partition.leader_epoch), (1, 5));
}

#[test]
fn topic_is_created_once_and_its_client_is_told_when_the_broker_knows_it() {
    let mut bench = Bench::new(Vec::new());
    let new = CreatableTopic::default()
        .with_name(TopicName(text("t")))
        .with_num_partitions(2)
        .with_replication_factor(1);
    let request = CreateTopicsRequest::default().with_topics(vec![new]).with_timeout_ms(1_000);
    assert!(bench.ask(1, 7, &request).is_none());
    let mut changes = bench.broker.take_changes();
    let Decision::Write(data) = (changes[0].compute)(Found { data: None, may_be_done: false }) else {
        panic!("a node is made")
    };
    let again = Found { data: Some(&data), may_be_done: true };
    assert_eq!((changes[0].compute)(again), Decision::Keep, "it is recognised");
    let KeeperEvent::Node { data: Some(other), .. } = topic("t", 9, 1, 0) else { panic!("a topic") };
    let refused = (changes[0].compute)(Found { data: Some(&other), may_be_done: true });
    assert!(matches!(refused, Decision::Refuse(ErrorCode::TopicAlreadyExists, _)), "{refused:?}");
    bench.council(KeeperEvent::Node { path: changes[0].path.clone(), data: Some(data.clone()) });
    assert!(bench.answers::<CreateTopicsRequest>().is_empty());
    bench.council(KeeperEvent::Ended { ticket: changes[0].ticket, ended: Ended::Done(Some(data)) });
    bench.flush();
    let (_, answer) = bench.answers::<CreateTopicsRequest>().remove(0);
    let result = &answer.topics[0];
    assert_eq!((result.error_code, result.num_partitions), (0, 2));
    assert!(!result.topic_id.is_nil());
}

fn metadata(topic: &str) -> MetadataRequest {
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text(topic))));
    MetadataRequest::default().with_topics(Some(vec![topic]))
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
    let asked = bench.broker.take_changes();
    assert!((1..=100).contains(&asked.len()), "{}", asked.len());
}
