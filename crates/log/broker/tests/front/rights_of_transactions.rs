//! Rights of clients that run transactions, and of those who look at them and end them.
#![expect(clippy::too_many_lines, reason = "tables of rights and answers")]

use bytes::Bytes;
use kafka_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, DescribeProducersRequest, DescribeTransactionsRequest,
    EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, ListTransactionsRequest,
    OffsetDeleteRequest, ProduceRequest, ProducerId, TransactionalId, TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
};
use log_wire::{Attributes, BatchBuilder, Producer};

use crate::rights::{NOTHING, check, grant, group, topic, world};
use crate::world::{World, text};

/// All that a client needs to run a transaction.
const ALL: &[&str] = &["TransactionalId:x:Write", "Topic:t:All", "Group:g:All"];

fn id(name: &str) -> TransactionalId {
    TransactionalId(text(name))
}

fn init() -> InitProducerIdRequest {
    InitProducerIdRequest::default()
        .with_transactional_id(Some(id("x")))
        .with_transaction_timeout_ms(60_000)
        .with_producer_id(ProducerId(-1))
        .with_producer_epoch(-1)
}

/// A broker that has given a producer id and an epoch to the transactional id `x`.
fn with_producer() -> (World, (i64, i16)) {
    let mut world = world();
    grant(&mut world, ALL);
    let client = world.connect(0);
    let find = FindCoordinatorRequest::default().with_key_type(1).with_coordinator_keys(vec![text("x")]);
    for _ in 0..20 {
        world.ask(client, 4, &find);
        world.pass_ms(100);
        let answer = world.ask(client, 4, &init());
        if let Some(answer) = answer.filter(|answer| answer.error_code == 0) {
            return (world, (answer.producer_id.0, answer.producer_epoch));
        }
    }
    panic!("no coordinator gives a producer id");
}

fn named(topics: &[&str]) -> Vec<AddPartitionsToTxnTopic> {
    let named =
        |name: &&str| AddPartitionsToTxnTopic::default().with_name(topic(name)).with_partitions(vec![0]);
    topics.iter().map(named).collect()
}

fn add((producer, epoch): (i64, i16), topics: &[&str]) -> AddPartitionsToTxnRequest {
    AddPartitionsToTxnRequest::default()
        .with_v3_and_below_transactional_id(id("x"))
        .with_v3_and_below_producer_id(ProducerId(producer))
        .with_v3_and_below_producer_epoch(epoch)
        .with_v3_and_below_topics(named(topics))
}

/// The producer has a transaction open, with topic `t`.
fn begin(world: &mut World, producer: (i64, i16)) {
    grant(world, ALL);
    let client = world.connect(0);
    let answer = world.ask(client, 3, &add(producer, &["t"])).expect("an answer");
    let results = &answer.results_by_topic_v3_and_below[0].results_by_partition;
    assert_eq!(results[0].partition_error_code, 0);
}

#[test]
fn producer_with_a_transactional_id_needs_write_of_it() {
    let (mut world, _) = with_producer();
    check(
        &mut world,
        (4, &init()),
        |answer| answer.error_code,
        &[
            (NOTHING, 53),
            (&["TransactionalId:x:Describe"], 53),
            (&["TransactionalId:y:Write", "Cluster::IdempotentWrite", "Topic:t:Write"], 53),
            (&["TransactionalId:x:Write"], 0),
        ],
    );
}

#[test]
fn partitions_are_added_by_who_may_write_to_all_of_them() {
    let (mut world, producer) = with_producer();
    let told = |answer: kafka_protocol::messages::AddPartitionsToTxnResponse| {
        let results = answer.results_by_topic_v3_and_below.into_iter();
        let partitions = results.flat_map(|topic| topic.results_by_partition);
        partitions.map(|partition| partition.partition_error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (3, &add(producer, &["t", "nope"])),
        told,
        &[
            (NOTHING, vec![53, 53]),
            (&["Topic:*:Write"], vec![53, 53]),
            (&["TransactionalId:x:Describe", "Topic:*:Write"], vec![53, 53]),
            (&["TransactionalId:x:Write"], vec![29, 29]),
            (&["TransactionalId:x:Write", "Topic:t:Read"], vec![29, 29]),
            (&["TransactionalId:x:Write", "Topic:t:Write"], vec![55, 29]),
            (&["TransactionalId:x:Write", "Topic:*:Write"], vec![55, 3]),
        ],
    );
    check(
        &mut world,
        (3, &add(producer, &["t"])),
        told,
        &[(&["TransactionalId:x:Write"], vec![29]), (&["TransactionalId:x:Write", "Topic:t:Write"], vec![0])],
    );
    check(
        &mut world,
        (3, &add(producer, &["__consumer_offsets"])),
        told,
        &[(&["TransactionalId:x:Write", "Topic:*:All"], vec![29])],
    );
}

#[test]
fn brokers_add_partitions_by_the_right_to_act_for_the_cluster() {
    let (mut world, (producer, epoch)) = with_producer();
    let transaction = AddPartitionsToTxnTransaction::default()
        .with_transactional_id(id("x"))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_topics(named(&["t"]));
    let request = AddPartitionsToTxnRequest::default().with_transactions(vec![transaction]);
    let told = |answer: kafka_protocol::messages::AddPartitionsToTxnResponse| {
        let results = answer.results_by_transaction.into_iter().flat_map(|of| of.topic_results);
        let partitions = results.flat_map(|topic| topic.results_by_partition);
        let codes: Vec<i16> = partitions.map(|partition| partition.partition_error_code).collect();
        (answer.error_code, codes)
    };
    check(
        &mut world,
        (5, &request),
        told,
        &[(NOTHING, (31, vec![])), (ALL, (31, vec![])), (&["Cluster::ClusterAction"], (0, vec![0]))],
    );
}

#[test]
fn transactional_batch_needs_write_of_its_id_and_of_each_topic() {
    let (mut world, (producer, epoch)) = with_producer();
    begin(&mut world, (producer, epoch));
    let of = Producer { id: producer, epoch, base_sequence: 0 };
    let mut builder = BatchBuilder::new(Attributes(16), of);
    builder.push(1_000, None, Some(b"value"), &[]);
    let records = Bytes::from(builder.finish());
    let data = |name: &str| {
        let partition = PartitionProduceData::default().with_records(Some(records.clone()));
        TopicProduceData::default().with_name(topic(name)).with_partition_data(vec![partition])
    };
    let request = |name: Option<&str>, acks: i16| {
        ProduceRequest::default()
            .with_transactional_id(name.map(id))
            .with_acks(acks)
            .with_timeout_ms(500)
            .with_topic_data(vec![data("t"), data("nope")])
    };
    let told = |answer: kafka_protocol::messages::ProduceResponse| {
        let partitions = answer.responses.into_iter().flat_map(|topic| topic.partition_responses);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (11, &request(Some("x"), -1)),
        told,
        &[
            (NOTHING, vec![53, 53]),
            (&["Topic:*:Write"], vec![53, 53]),
            (&["TransactionalId:x:Describe", "Topic:*:Write"], vec![53, 53]),
            (&["TransactionalId:x:Write"], vec![29, 29]),
            (&["TransactionalId:x:Write", "Topic:nope:Write"], vec![29, 3]),
            (&["TransactionalId:x:Write", "Topic:t:Write"], vec![0, 29]),
        ],
    );
    check(&mut world, (11, &request(None, -1)), told, &[(&["Topic:*:Write"], vec![53, 53])]);
    grant(&mut world, &["Topic:*:Write"]);
    let client = world.connect(0);
    assert!(world.ask(client, 11, &request(Some("x"), 0)).is_none());
    world.pass_ms(1_500);
    assert!(world.is_closed(client), "who waits for no answer is told by the end of the connection");
}

#[test]
fn topic_that_a_client_may_not_write_to_is_not_added_to_its_transaction() {
    // Version 12 of Produce adds the partitions that it names.
    let (mut world, (producer, epoch)) = with_producer();
    let mut builder = BatchBuilder::new(Attributes(16), Producer { id: producer, epoch, base_sequence: 0 });
    builder.push(1_000, None, Some(b"value"), &[]);
    let partition = PartitionProduceData::default().with_records(Some(Bytes::from(builder.finish())));
    let data = TopicProduceData::default().with_name(topic("t")).with_partition_data(vec![partition]);
    let request = ProduceRequest::default()
        .with_transactional_id(Some(id("x")))
        .with_acks(-1)
        .with_timeout_ms(500)
        .with_topic_data(vec![data]);
    let told = |answer: kafka_protocol::messages::ProduceResponse| {
        answer.responses[0].partition_responses[0].error_code
    };
    check(&mut world, (12, &request), told, &[(&["TransactionalId:x:Write"], 29)]);
    let describe = DescribeTransactionsRequest::default().with_transactional_ids(vec![id("x")]);
    let topics = |answer: kafka_protocol::messages::DescribeTransactionsResponse| {
        answer.transaction_states[0].topics.len()
    };
    check(&mut world, (0, &describe), topics, &[(ALL, 0)]);
    check(&mut world, (12, &request), told, &[(ALL, 0)]);
    check(&mut world, (0, &describe), topics, &[(ALL, 1)]);
}

#[test]
fn offsets_of_a_transaction_need_read_of_their_group_and_topics() {
    let (mut world, (producer, epoch)) = with_producer();
    let add = AddOffsetsToTxnRequest::default()
        .with_transactional_id(id("x"))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_group_id(group("g"));
    check(
        &mut world,
        (3, &add),
        |answer| answer.error_code,
        &[
            (NOTHING, 53),
            (&["Group:g:Read"], 53),
            (&["TransactionalId:x:Write"], 30),
            (&["TransactionalId:x:Write", "Group:g:Describe"], 30),
            (&["TransactionalId:x:Write", "Group:g:Read"], 0),
        ],
    );
    let partition = TxnOffsetCommitRequestPartition::default().with_committed_offset(1);
    let named = |name: &str| {
        let partitions = vec![partition.clone()];
        TxnOffsetCommitRequestTopic::default().with_name(topic(name)).with_partitions(partitions)
    };
    let commit = TxnOffsetCommitRequest::default()
        .with_transactional_id(id("x"))
        .with_group_id(group("g"))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_topics(vec![named("t"), named("nope")]);
    let told = |answer: kafka_protocol::messages::TxnOffsetCommitResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    // Who may not read a topic sees by nothing whether it is there.
    let empty = commit
        .clone()
        .with_topics(vec![named("t").with_partitions(Vec::new()), named("nope").with_partitions(Vec::new())]);
    check(
        &mut world,
        (3, &empty),
        |answer| answer.topics.len(),
        &[
            (NOTHING, 2),
            (&["TransactionalId:x:Write", "Group:g:Read"], 2),
            (&["TransactionalId:x:Write", "Group:g:Read", "Topic:*:Read"], 1),
        ],
    );
    check(
        &mut world,
        (3, &commit),
        told,
        &[
            (NOTHING, vec![53, 53]),
            (&["Group:g:Read", "Topic:*:Read"], vec![53, 53]),
            (&["TransactionalId:x:Write", "Topic:*:Read"], vec![30, 30]),
            (&["TransactionalId:x:Write", "Group:g:Read"], vec![29, 29]),
            (&["TransactionalId:x:Write", "Group:g:Read", "Topic:t:Describe"], vec![29, 29]),
            (&["TransactionalId:x:Write", "Group:g:Read", "Topic:t:Read"], vec![0, 29]),
            (&["TransactionalId:x:Write", "Group:g:Read", "Topic:*:Read"], vec![0, 3]),
        ],
    );
    let end = EndTxnRequest::default()
        .with_transactional_id(id("x"))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_committed(true);
    check(
        &mut world,
        (3, &end),
        |answer| answer.error_code,
        &[(NOTHING, 53), (&["TransactionalId:x:Describe"], 53), (&["TransactionalId:x:Write"], 0)],
    );
}

#[test]
fn committed_offsets_are_deleted_by_who_may() {
    let mut world = world();
    grant(&mut world, &["Group:g:Read", "Topic:t:Read"]);
    let client = world.connect(0);
    let commit = {
        use kafka_protocol::messages::OffsetCommitRequest;
        use kafka_protocol::messages::offset_commit_request::{
            OffsetCommitRequestPartition, OffsetCommitRequestTopic,
        };
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(1);
        let of = OffsetCommitRequestTopic::default().with_name(topic("t")).with_partitions(vec![partition]);
        OffsetCommitRequest::default()
            .with_group_id(group("g"))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(vec![of])
    };
    let answer = world.ask(client, 8, &commit).expect("an answer");
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    let named = |name: &str| {
        let partition = OffsetDeleteRequestPartition::default();
        OffsetDeleteRequestTopic::default().with_name(topic(name)).with_partitions(vec![partition])
    };
    let request =
        OffsetDeleteRequest::default().with_group_id(group("g")).with_topics(vec![named("t"), named("nope")]);
    let told = |answer: kafka_protocol::messages::OffsetDeleteResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        let codes: Vec<i16> = partitions.map(|partition| partition.error_code).collect();
        (answer.error_code, codes)
    };
    check(
        &mut world,
        (0, &request),
        told,
        &[
            (NOTHING, (30, vec![])),
            (&["Group:g:Read", "Topic:*:Read"], (30, vec![])),
            (&["Group:g:Delete"], (0, vec![29, 29])),
            (&["Group:g:Delete", "Topic:t:Describe"], (0, vec![29, 29])),
            (&["Group:g:Delete", "Topic:t:Read"], (0, vec![0, 29])),
        ],
    );
}

#[test]
fn markers_are_written_by_who_may_change_the_cluster_or_act_for_it() {
    let (mut world, (producer, epoch)) = with_producer();
    begin(&mut world, (producer, epoch));
    let named = WritableTxnMarkerTopic::default().with_name(topic("t")).with_partition_indexes(vec![0]);
    let marker = WritableTxnMarker::default()
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_topics(vec![named]);
    let request = WriteTxnMarkersRequest::default().with_markers(vec![marker]);
    let told = |answer: kafka_protocol::messages::WriteTxnMarkersResponse| {
        answer.markers[0].topics[0].partitions[0].error_code
    };
    check(
        &mut world,
        (1, &request),
        told,
        &[
            (NOTHING, 31),
            (ALL, 31),
            (&["Cluster::Describe"], 31),
            (&["Cluster::Alter"], 0),
            (&["Cluster::ClusterAction"], 0),
        ],
    );
}

#[test]
fn producers_and_transactions_are_shown_to_who_may_see_them() {
    let (mut world, producer) = with_producer();
    begin(&mut world, producer);
    let named = |name: &str| TopicRequest::default().with_name(topic(name)).with_partition_indexes(vec![0]);
    let request =
        DescribeProducersRequest::default().with_topics(vec![named("t"), named("nope"), named("a b")]);
    let told = |answer: kafka_protocol::messages::DescribeProducersResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        let codes = partitions.map(|partition| {
            let message = partition.error_message.unwrap_or_default();
            assert!(
                partition.error_code != 29 || !message.contains("no such topic"),
                "whether a topic is there is no business of a stranger"
            );
            partition.error_code
        });
        codes.collect::<Vec<_>>()
    };
    check(
        &mut world,
        (0, &request),
        told,
        &[
            (NOTHING, vec![29, 29, 17]),
            (&["Topic:t:Describe", "Topic:t:Write"], vec![29, 29, 17]),
            (&["Topic:t:Read"], vec![0, 29, 17]),
            (&["Topic:*:Read"], vec![0, 3, 17]),
        ],
    );
    let request = DescribeTransactionsRequest::default().with_transactional_ids(vec![id("x"), id("y")]);
    let told = |answer: kafka_protocol::messages::DescribeTransactionsResponse| {
        let states = answer.transaction_states.into_iter();
        states.map(|state| (state.error_code, state.topics.len())).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (0, &request),
        told,
        &[
            (NOTHING, vec![(53, 0), (53, 0)]),
            (&["Topic:t:Describe"], vec![(53, 0), (53, 0)]),
            (&["TransactionalId:x:Describe"], vec![(0, 0), (53, 0)]),
            (&["TransactionalId:x:Write", "Topic:t:Read"], vec![(0, 1), (53, 0)]),
            (&["TransactionalId:*:Describe"], vec![(0, 0), (105, 0)]),
        ],
    );
    let told = |answer: kafka_protocol::messages::ListTransactionsResponse| {
        let states = answer.transaction_states.into_iter();
        (answer.error_code, states.map(|state| state.transactional_id.to_string()).collect::<Vec<_>>())
    };
    check(
        &mut world,
        (1, &ListTransactionsRequest::default()),
        told,
        &[
            (NOTHING, (0, vec![])),
            (&["TransactionalId:y:Describe", "Cluster::Describe"], (0, vec![])),
            (&["TransactionalId:x:Describe"], (0, vec!["x".into()])),
        ],
    );
}
