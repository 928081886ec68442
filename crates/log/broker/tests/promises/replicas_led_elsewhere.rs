//! Who leads instead, and where: what producers, consumers and members of share groups are told beside an error (KIP-951).

use kafka_protocol::messages::{FetchRequest, FetchResponse, ProduceRequest, ProduceResponse};
use log_wire::Producer;

use crate::fetch::fetch;
use crate::produce::{batch, request};
use crate::replicas::Cluster;
use crate::shares::{self, ACCEPT, acknowledge};

const NOT_LEADER: i16 = 6;
const FENCED_EPOCH: i16 = 74;
const UNKNOWN_EPOCH: i16 = 75;
/// The first versions of Produce and Fetch in which it is told.
const PRODUCE: i16 = 10;
const FETCH: i16 = 16;
/// Of who leads, if it is not said.
const UNSAID: (i32, i32) = (-1, -1);
/// How brokers are announced.
const PORT: i32 = 9092;

fn wanted(known_epoch: i32) -> FetchRequest {
    let mut request = fetch(&[(0, 0), (1, 0)]).with_session_epoch(-1);
    for partition in &mut request.topics[0].partitions {
        partition.current_leader_epoch = known_epoch;
    }
    request
}

/// Error and leader of each partition, and the brokers whose addresses are told.
type Told = (Vec<(i16, (i32, i32))>, Vec<(i32, String, i32)>);

fn told_by_fetch(answer: &FetchResponse) -> Told {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    let leader =
        |of: &kafka_protocol::messages::fetch_response::LeaderIdAndEpoch| (of.leader_id.0, of.leader_epoch);
    let endpoints = answer.node_endpoints.iter();
    (
        partitions.map(|of| (of.error_code, leader(&of.current_leader))).collect(),
        endpoints.map(|node| (node.node_id.0, node.host.to_string(), node.port)).collect(),
    )
}

fn told_by_produce(answer: &ProduceResponse) -> Told {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partition_responses);
    let leader =
        |of: &kafka_protocol::messages::produce_response::LeaderIdAndEpoch| (of.leader_id.0, of.leader_epoch);
    let endpoints = answer.node_endpoints.iter();
    (
        partitions.map(|of| (of.error_code, leader(&of.current_leader))).collect(),
        endpoints.map(|node| (node.node_id.0, node.host.to_string(), node.port)).collect(),
    )
}

fn at(broker: i32) -> Vec<(i32, String, i32)> {
    vec![(broker, String::from("h"), PORT)]
}

fn ask_to_fetch(cluster: &mut Cluster, broker: i32, version: i16, known_epoch: i32) -> Told {
    let answer = cluster.broker(broker).ask(u64::MAX, version, &wanted(known_epoch));
    told_by_fetch(&answer.expect("an answer at once"))
}

#[test]
fn consumer_is_told_who_leads_once_for_all_partitions_and_not_in_earlier_versions() {
    let mut cluster = Cluster::new(&[&[1, 2], &[1, 3]]);
    let leaders = [cluster.leader(0), cluster.leader(1)];
    let led = leaders.map(|leader| (NOT_LEADER, leader)).to_vec();
    assert_eq!(ask_to_fetch(&mut cluster, 2, FETCH, -1), (led, at(1)));
    let earlier = ask_to_fetch(&mut cluster, 2, FETCH - 1, -1);
    assert_eq!(earlier, (vec![(NOT_LEADER, UNSAID); 2], vec![]));
}

#[test]
fn consumer_that_knows_an_earlier_epoch_is_told_the_leaders_own_and_one_that_knows_a_later_one_nothing() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let (former, earlier) = cluster.leader(0);
    cluster.lose(former);
    cluster.settle();
    cluster.pass(1_000);
    let (leader, epoch) = cluster.leader(0);
    let told = |cluster: &mut Cluster, known: i32| {
        let mut request = wanted(known);
        request.topics[0].partitions.truncate(1);
        told_by_fetch(&cluster.broker(leader).ask(u64::MAX, FETCH, &request).expect("an answer at once"))
    };
    let itself = vec![(leader, String::from("127.0.0.1"), PORT)];
    assert_eq!(told(&mut cluster, earlier), (vec![(FENCED_EPOCH, (leader, epoch))], itself));
    assert_eq!(told(&mut cluster, epoch + 1), (vec![(UNKNOWN_EPOCH, UNSAID)], vec![]));
}

#[test]
fn producer_is_told_who_leads_but_not_in_earlier_versions() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let asked = request(0, &batch(Producer::NONE));
    let answer = cluster.broker(3).ask(1, PRODUCE, &asked).expect("an answer at once");
    assert_eq!(told_by_produce(&answer), (vec![(NOT_LEADER, cluster.leader(0))], at(1)));
    let earlier = cluster.broker(3).ask(2, PRODUCE - 1, &asked).expect("an answer at once");
    assert_eq!(told_by_produce(&earlier), (vec![(NOT_LEADER, UNSAID)], vec![]));
}

#[test]
fn client_is_told_of_no_leader_that_cannot_be_reached() {
    let mut cluster = Cluster::new(&[&[1, 2], &[1, 3]]);
    cluster.lose(1);
    assert_eq!(ask_to_fetch(&mut cluster, 2, FETCH, -1), (vec![(NOT_LEADER, UNSAID); 2], vec![]));
    cluster.settle();
    cluster.pass(1_000);
    let (next, epoch) = cluster.leader(1);
    assert_eq!(next, 3);
    let (partitions, brokers) = ask_to_fetch(&mut cluster, 2, FETCH, -1);
    assert_eq!((partitions[1], brokers), ((NOT_LEADER, (next, epoch)), at(3)));
}

#[test]
fn producer_whose_batch_waits_is_told_who_leads_when_the_leader_is_another() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.stop_disk(2);
    cluster.stop_disk(3);
    let asked = request(0, &batch(Producer::NONE)).with_acks(-1).with_timeout_ms(60_000);
    let number = cluster.broker(1).begin(PRODUCE, &asked).expect_err("it waits");
    cluster.lose(1);
    cluster.start_disk(2);
    cluster.start_disk(3);
    cluster.pass(1_000);
    assert_ne!(cluster.leader(0).0, 1);
    // It reaches the new leader before the council tells it of that.
    cluster.away.remove(&1);
    cluster.connect(1);
    cluster.catch_up(1);
    cluster.settle();
    let answer = cluster.broker(1).end::<ProduceRequest>(number, PRODUCE).expect("it is refused");
    let leader = cluster.leader(0);
    assert_eq!(told_by_produce(&answer), (vec![(NOT_LEADER, leader)], at(leader.0)));
}

#[test]
fn member_of_a_share_group_is_told_who_leads() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let leader = cluster.leader(0);
    let answer = cluster.call(2, 1, &shares::fetch("m", 0, &[0]));
    let partition = &answer.responses[0].partitions[0];
    let current = &partition.current_leader;
    assert_eq!((partition.error_code, (current.leader_id, current.leader_epoch)), (NOT_LEADER, leader));
    assert_eq!((answer.node_endpoints[0].node_id.0, answer.node_endpoints[0].port), (1, PORT));
    let answer = cluster.call(2, 1, &acknowledge("m", 1, &[(0, 0, ACCEPT)]));
    let partition = &answer.responses[0].partitions[0];
    let current = &partition.current_leader;
    assert_eq!((partition.error_code, (current.leader_id, current.leader_epoch)), (NOT_LEADER, leader));
    assert_eq!(answer.node_endpoints.len(), 1);
}
