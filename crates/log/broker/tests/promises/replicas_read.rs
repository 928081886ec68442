//! What consumers are given by replicas that follow, and which replica they are told to read.

use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProduceRequest};
use log_broker::BrokerConfig;
use log_metadata::{BrokerNode, paths};
use log_wire::{Attributes, Batch, BatchBuilder, Producer};

use crate::bench::text;
use crate::fetch::fetch;
use crate::replicas::{Cluster, World};

const VERSION: i16 = 12;
const NOT_LEADER: i16 = 6;
const FENCED_EPOCH: i16 = 74;
const UNKNOWN_EPOCH: i16 = 75;

fn rack_of(id: i32) -> String {
    format!("rack-{id}")
}

/// Brokers that stand in a rack each, and send consumers to replicas in theirs.
fn racks(replicas: &[&[i32]]) -> Cluster {
    let by_rack = |config: &mut BrokerConfig| {
        config.rack = Some(rack_of(config.node_id));
        config.leaders.reads_by_rack = true;
    };
    let mut cluster = Cluster::with(replicas, &[], by_rack);
    stand(&mut cluster);
    cluster
}

/// The council says where the brokers stand.
fn stand(cluster: &mut Cluster) {
    for id in 1..=3 {
        let rack = Some(rack_of(id));
        let node = BrokerNode { host: "h".into(), port: 9092, rack, ..BrokerNode::default() };
        cluster.tell(&paths::broker(id), node.bytes());
    }
}

/// A fetch of partition 0 by a consumer in the rack of that broker; in none for 0.
fn wanted(rack: i32, from: i64) -> FetchRequest {
    let rack = if rack == 0 { String::new() } else { rack_of(rack) };
    fetch(&[(0, from)]).with_session_epoch(-1).with_rack_id(text(&rack))
}

fn told(answer: &FetchResponse) -> PartitionData {
    answer.responses[0].partitions[0].clone()
}

fn ask(cluster: &mut Cluster, broker: i32, request: &FetchRequest) -> PartitionData {
    told(&cluster.broker(broker).ask(u64::MAX, VERSION, request).expect("an answer at once"))
}

/// The error, and the offsets that are given.
fn given(data: &PartitionData) -> (i16, Vec<i64>) {
    let records = data.records.clone().unwrap_or_default();
    let (mut rest, mut offsets) = (&*records, Vec::new());
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("batches");
        offsets.extend(batch.base_offset()..=batch.last_offset());
        rest = behind;
    }
    (data.error_code, offsets)
}

fn preferred(data: &PartitionData) -> i32 {
    data.preferred_read_replica.0
}

fn produce(cluster: &mut Cluster) {
    let leader = cluster.leader(0).0;
    cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(leader).len(), 1);
}

#[test]
fn consumer_is_sent_to_the_replica_in_its_rack_and_given_what_is_committed_there() {
    let mut cluster = racks(&[&[1, 2, 3]]);
    produce(&mut cluster);
    for rack in [2, 3] {
        let at_leader = ask(&mut cluster, 1, &wanted(rack, 0));
        assert_eq!((preferred(&at_leader), given(&at_leader)), (rack, (0, vec![])));
        assert_eq!(at_leader.high_watermark, 1);
        let there = ask(&mut cluster, rack, &wanted(rack, 0));
        assert_eq!((preferred(&there), given(&there), there.high_watermark), (-1, (0, vec![0]), 1));
    }
    // Of the leader's own rack, of none, of one without a replica, and by a version without racks.
    for rack in [1, 0, 4] {
        let at_leader = ask(&mut cluster, 1, &wanted(rack, 0));
        assert_eq!((preferred(&at_leader), given(&at_leader)), (-1, (0, vec![0])), "{rack}");
    }
    assert_eq!(given(&ask(&mut cluster, 2, &wanted(0, 0))), (NOT_LEADER, vec![]));
    let old = fetch(&[(0, 0)]).with_session_epoch(-1);
    let answer = cluster.broker(2).ask(u64::MAX, 10, &old).expect("an answer at once");
    assert_eq!(told(&answer).error_code, NOT_LEADER);
}

#[test]
fn leader_sends_nobody_away_unless_its_file_says_so() {
    let mut cluster = Cluster::with(&[&[1, 2, 3]], &[], |config| config.rack = Some(rack_of(config.node_id)));
    stand(&mut cluster);
    produce(&mut cluster);
    let at_leader = ask(&mut cluster, 1, &wanted(2, 0));
    assert_eq!((preferred(&at_leader), given(&at_leader)), (-1, (0, vec![0])));
}

#[test]
fn consumer_is_sent_only_to_a_replica_that_is_in_sync_and_has_the_offset() {
    let mut cluster = racks(&[&[1, 2, 3]]);
    cluster.stop_disk(3);
    produce(&mut cluster);
    // A moment behind, it counts as in sync, and does not have offset 1.
    assert_eq!(preferred(&ask(&mut cluster, 1, &wanted(3, 0))), 3);
    assert_eq!(preferred(&ask(&mut cluster, 1, &wanted(3, 1))), -1);
    cluster.pass(2_500);
    assert_eq!(preferred(&ask(&mut cluster, 1, &wanted(3, 0))), -1, "it is not in sync any more");
    cluster.start_disk(3);
    cluster.pass(1_000);
    assert_eq!(preferred(&ask(&mut cluster, 1, &wanted(3, 1))), 3);
    cluster.lose(3);
    assert_eq!(given(&ask(&mut cluster, 1, &wanted(3, 0))), (0, vec![0]));
    // What is wrong is the leader's to say.
    assert_eq!(ask(&mut cluster, 1, &wanted(2, 9)).error_code, 1);
}

#[test]
fn follower_gives_nothing_that_is_not_committed_and_a_waiting_consumer_what_is_once_it_knows() {
    let mut cluster = racks(&[&[1, 2, 3]]);
    produce(&mut cluster);
    // Broker 2 takes the second batch, and no disk but the leader's has it.
    cluster.stop_disk(2);
    cluster.stop_disk(3);
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.ends(2, 0), (1, 2));
    let waits = wanted(2, 1).with_max_wait_ms(60_000);
    assert!(cluster.broker(2).ask(50, VERSION, &waits).is_none(), "it is there, and not committed");
    assert_eq!(given(&ask(&mut cluster, 2, &wanted(2, 0))), (0, vec![0]));
    // Behind the end, and before the start, the leader has to say what is wrong.
    assert_eq!(given(&ask(&mut cluster, 2, &wanted(2, 3))), (NOT_LEADER, vec![]));
    cluster.start_disk(3);
    let answers = cluster.broker(2).answers::<FetchRequest>();
    assert_eq!(answers.iter().map(|(_, answer)| given(&told(answer))).collect::<Vec<_>>(), [(0, vec![1])]);
}

#[test]
fn follower_takes_a_reader_that_is_ahead_of_what_it_knows_for_one_whose_log_agrees() {
    let mut cluster = racks(&[&[1, 2, 3]]);
    produce(&mut cluster);
    cluster.stop_disk(2);
    produce(&mut cluster);
    let mut request = wanted(2, 2);
    request.topics[0].partitions[0].last_fetched_epoch = cluster.leader(0).1;
    let answer = ask(&mut cluster, 2, &request);
    assert_eq!((answer.error_code, answer.diverging_epoch.epoch), (0, -1));
}

#[test]
fn follower_that_loses_its_leader_sends_consumers_back() {
    let mut cluster = racks(&[&[1, 2, 3]]);
    produce(&mut cluster);
    let (leader, epoch) = cluster.leader(0);
    let waits = wanted(2, 1).with_max_wait_ms(60_000);
    assert!(cluster.broker(2).ask(50, VERSION, &waits).is_none());
    cluster.lose(leader);
    assert_eq!(given(&ask(&mut cluster, 2, &wanted(2, 0))), (NOT_LEADER, vec![]), "nobody leads it");
    cluster.settle();
    cluster.pass(60);
    let (next, newer) = cluster.leader(0);
    let (follower, waited) = (5 - next, cluster.broker(2).answers::<FetchRequest>());
    // The consumer that waits is told, whether broker 2 leads now or follows.
    assert_eq!(waited.iter().map(|(_, answer)| told(answer).error_code).collect::<Vec<_>>(), [NOT_LEADER]);
    assert_eq!(given(&ask(&mut cluster, follower, &wanted(2, 0))), (0, vec![0]));
    // Leaders of before, and those that it does not know yet.
    for (known, error) in [(epoch, FENCED_EPOCH), (newer, 0), (newer + 1, UNKNOWN_EPOCH)] {
        let mut request = wanted(2, 0);
        request.topics[0].partitions[0].current_leader_epoch = known;
        assert_eq!(ask(&mut cluster, follower, &request).error_code, error, "{known}");
    }
}

#[test]
fn broker_that_keeps_no_replica_any_more_sends_consumers_back() {
    let mut cluster = racks(&[&[1, 2]]);
    produce(&mut cluster);
    assert_eq!(given(&ask(&mut cluster, 3, &wanted(3, 0))), (NOT_LEADER, vec![]));
    assert_eq!(given(&ask(&mut cluster, 2, &wanted(2, 0))), (0, vec![0]));
}

/// A transactional batch of one record, or the end of a transaction.
fn send(cluster: &mut Cluster, producer: Producer, base: i64) -> i16 {
    let mut builder = BatchBuilder::new(Attributes(0), Producer { base_sequence: base as i32, ..producer });
    builder.push(1_000, None, Some(b"value"), &[]);
    let asked = crate::produce::request(0, &builder.finish()).with_acks(-1);
    let answer: Option<<ProduceRequest as kafka_protocol::protocol::Request>::Response> =
        cluster.broker(1).ask(7_000, 9, &asked);
    answer.map_or(0, |answer| answer.responses[0].partition_responses[0].error_code)
}

#[test]
fn session_at_a_follower_goes_on_and_is_told_of_a_replica_that_is_nearer_at_the_leader() {
    let mut cluster = racks(&[&[1, 2, 3]]);
    assert_eq!(send(&mut cluster, Producer { id: 7, epoch: 0, base_sequence: 0 }, 0), 0);
    cluster.settle();
    let begin = wanted(2, 0).with_session_epoch(0);
    let at_leader = cluster.broker(1).ask(u64::MAX, VERSION, &begin).expect("an answer at once");
    assert_eq!(preferred(&told(&at_leader)), 2);
    let begun = cluster.broker(2).ask(u64::MAX, VERSION, &begin).expect("an answer at once");
    assert_eq!(given(&told(&begun)), (0, vec![0]));
    let next = |session_epoch, from: &[(i32, i64)]| {
        let session = fetch(from).with_session_id(begun.session_id).with_session_epoch(session_epoch);
        session.with_rack_id(text(&rack_of(2))).with_max_wait_ms(60_000)
    };
    assert!(cluster.broker(2).ask(51, VERSION, &next(1, &[(0, 1)])).is_none(), "there is nothing new");
    assert_eq!(send(&mut cluster, Producer { id: 7, epoch: 0, base_sequence: 1 }, 1), 0);
    cluster.settle();
    let answers = cluster.broker(2).answers::<FetchRequest>();
    assert_eq!(answers.iter().map(|(_, answer)| given(&told(answer))).collect::<Vec<_>>(), [(0, vec![1])]);
}

#[test]
fn nothing_that_a_follower_gives_is_ever_lost_or_changed() {
    let mut read = 0;
    for seed in 0..100 {
        let mut world = World::new(seed, &[1, 2, 3]);
        let mut seen = std::collections::BTreeMap::<i64, u64>::new();
        for _ in 0..200 {
            world.act();
            let reader = 1 + world.random.below(3) as i32;
            let from = seen.last_key_value().map_or(0, |(offset, _)| offset + 1);
            if world.cluster.away.contains(&reader) {
                continue;
            }
            let Some(answer) = world.cluster.broker(reader).ask(u64::MAX, VERSION, &wanted(9, from)) else {
                continue;
            };
            // After what was read, nobody says that it is out of range (L10).
            assert_ne!(told(&answer).error_code, 1, "seed {seed}: offset {from}");
            let records = told(&answer).records.unwrap_or_default();
            let numbers = crate::replicas::numbers_in(&records);
            read += usize::from(reader != world.cluster.leader(0).0) * numbers.len();
            seen.extend(numbers);
        }
        let leader = world.heal();
        let held = world.cluster.read(leader, 0);
        for (offset, number) in &seen {
            assert_eq!(held.get(offset), Some(number), "seed {seed}: offset {offset} was read");
        }
    }
    assert!(read > 500, "{read}");
}
