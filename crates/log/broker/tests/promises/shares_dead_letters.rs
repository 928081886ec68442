//! What a broker promises of records that nobody gets: they become dead letters, at least once, and are archived then. And of records
//! that nobody gets yet, or not any more.

use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{DescribeShareGroupOffsetsRequest, FetchRequest, TopicName};
use log_broker::{BrokerConfig, Notice};
use log_metadata::{ConfigNode, KeeperEvent, configs_bytes};
use log_wire::{Attributes, Batch, BatchBuilder, ErrorCode, Header, Producer, Records};

use crate::bench::{Bench, NOW, ROOM, text, topic, topic_with};
use crate::produce::request;
use crate::shares::{ACCEPT, REJECT, RELEASE, Range, acknowledge, fetch, group, ranges, say, take};

const DEAD: &str = "dlq.t";
const NAME: (&str, &str) = ("errors.deadletterqueue.topic.name", DEAD);
const COPIES: (&str, &str) = ("errors.deadletterqueue.copy.record.enable", "true");
const TAKES: (&str, &str) = ("errors.deadletterqueue.group.enable", "true");
const HEADERS: (&str, &str) = ("diwan.queue.headers.enable", "true");

fn configure(bench: &mut Bench, settings: &[(&str, &str)]) {
    let earliest = ("share.auto.offset.reset", "earliest");
    let all = settings.iter().chain([&earliest]);
    let set = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let node = ConfigNode::Group("g".into());
    bench.council(KeeperEvent::Node { path: node.path(), data: Some(configs_bytes(&set)) });
}

/// A topic with these settings, and a group with those.
fn serving(topic: &[(&str, &str)], group: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::serving(&[topic_with(topic, "t", 1, 1, 0)]);
    bench.room(ROOM);
    configure(&mut bench, group);
    assert_eq!(take(&mut bench, "first", 0, &[0]), []);
    bench
}

fn produce(bench: &mut Bench, value: &str, headers: &[(&str, &str)]) {
    let headers: Vec<Header<'_>> = headers
        .iter()
        .map(|(key, value)| Header { key: key.as_bytes(), value: Some(value.as_bytes()) })
        .collect();
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(bench.now.wall.ms(), Some(b"key"), Some(value.as_bytes()), &headers);
    let done = bench.call(9, &request(0, &builder.finish()));
    assert_eq!(done.responses[0].partition_responses[0].error_code, 0);
}

/// The letters in a topic: value, and what its headers say by the ends of their names.
fn letters(bench: &mut Bench, topic: &str) -> Vec<(Option<String>, Vec<String>)> {
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let of = FetchTopic::default().with_topic(TopicName(text(topic))).with_partitions(vec![partition]);
    let request = FetchRequest::default()
        .with_max_bytes(1 << 20)
        .with_min_bytes(0)
        .with_session_epoch(-1)
        .with_topics(vec![of]);
    let answer = bench.call(12, &request);
    let bytes = answer.responses[0].partitions[0].records.clone().unwrap_or_default();
    let (mut rest, mut found) = (&*bytes, Vec::new());
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("batches");
        for record in Records::new(batch.records(), batch.count()) {
            let record = record.expect("a record");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            let headers = record
                .headers()
                .flatten()
                .map(|of| format!("{}={}", text(of.key), of.value.map(text).unwrap_or_default()));
            found.push((record.value.map(text), headers.collect()));
        }
        rest = behind;
    }
    found
}

fn offsets_and_reasons(bench: &mut Bench) -> Vec<(String, String)> {
    let letters = letters(bench, DEAD);
    let of = |headers: &[String], name: &str| {
        let header = headers.iter().find_map(|header| header.strip_prefix(name));
        header.expect("it is there").to_owned()
    };
    letters
        .iter()
        .map(|(_, headers)| (of(headers, "__dlq.errors.offset="), of(headers, "diwan.dlq.reason=")))
        .collect()
}

/// Where the group begins.
fn start(bench: &mut Bench) -> i64 {
    let all = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group()).with_topics(None);
    let request = DescribeShareGroupOffsetsRequest::default().with_groups(vec![all]);
    bench.call(0, &request).groups[0].topics[0].partitions[0].start_offset
}

fn told(bench: &mut Bench) -> usize {
    let notices = bench.broker.take_notices();
    notices.iter().filter(|notice| matches!(notice, Notice::DeadLetters(..))).count()
}

fn settle(bench: &mut Bench) {
    for _ in 0..3 {
        bench.pass(500);
        bench.settle();
    }
}

fn pair(offset: &str, reason: &str) -> (String, String) {
    (offset.into(), reason.into())
}

#[test]
fn rejected_record_becomes_a_letter_with_all_that_was_in_it() {
    let mut bench = serving(&[], &[NAME, COPIES]);
    produce(&mut bench, "bad", &[("mine", "1")]);
    produce(&mut bench, "good", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 2);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, REJECT), (1, 1, ACCEPT)]), ErrorCode::None);
    settle(&mut bench);
    let expected = [
        "mine=1",
        "__dlq.errors.topic=t",
        "__dlq.errors.partition=0",
        "__dlq.errors.offset=0",
        "__dlq.errors.group=g",
        "__dlq.errors.delivery.count=1",
        "__dlq.errors.message=a member has rejected the record",
        "diwan.dlq.reason=rejected",
        "diwan.dlq.hops=1",
    ];
    let headers = expected.map(String::from).to_vec();
    assert_eq!(letters(&mut bench, DEAD), [(Some("bad".into()), headers)]);
    assert_eq!((start(&mut bench), told(&mut bench)), (2, 0));
    assert_eq!(take(&mut bench, "b", 0, &[0]), []);
}

#[test]
fn letters_without_copies_tell_where_the_record_stands() {
    let mut bench = serving(&[], &[NAME]);
    produce(&mut bench, "bad", &[("mine", "1")]);
    for (epoch, count) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)] {
        let places: &[i32] = if epoch == 0 { &[0] } else { &[] };
        assert_eq!(take(&mut bench, "a", epoch, places), [(0, 0, count)]);
        bench.pass(30_000);
        bench.settle();
    }
    settle(&mut bench);
    assert_eq!(offsets_and_reasons(&mut bench), [pair("0", "delivery-limit")]);
    assert_eq!(letters(&mut bench, DEAD)[0].0, None);
}

#[test]
fn rejection_is_durable_before_its_letter_and_the_letter_before_the_record_is_archived() {
    let mut bench = serving(&[], &[NAME]);
    bench.council(topic_with(&[TAKES], DEAD, 2, 1, 0));
    bench.settle();
    produce(&mut bench, "bad", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 1);
    assert!(bench.ask(1, 1, &acknowledge("a", 1, &[(0, 0, REJECT)])).is_none());
    bench.take();
    assert_eq!(bench.take_answered().len(), 0);
    bench.flush();
    assert_eq!(bench.take_answered().len(), 1, "who rejects does not wait for the letter");
    // The letter is on its way to the disk, and the process dies: with the letter, and without it.
    bench.take();
    bench.crash(1);
    bench.settle();
    settle(&mut bench);
    let again = offsets_and_reasons(&mut bench);
    assert!(!again.is_empty() && again.len() <= 2, "{again:?}");
    assert_eq!(take(&mut bench, "b", 0, &[0]), [], "nobody gets it");
    settle(&mut bench);
    assert_eq!(start(&mut bench), 1);
}

#[test]
fn no_letter_is_lost_by_a_crash_at_any_command() {
    for more in 0..6 {
        let mut bench = serving(&[], &[NAME, COPIES]);
        bench.council(topic_with(&[TAKES], DEAD, 2, 1, 0));
        bench.settle();
        (0..3).for_each(|_| produce(&mut bench, "bad", &[]));
        assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 3);
        assert!(bench.ask(1, 1, &acknowledge("a", 1, &[(0, 2, REJECT)])).is_none());
        for _ in 0..more {
            bench.take();
            let next = bench.disk.durable() + 1;
            bench.durable(next.min(bench.disk.given));
        }
        let was_answered = !bench.take_answered().is_empty();
        bench.crash(0);
        bench.settle();
        let left = take(&mut bench, "b", 0, &[0]).len();
        settle(&mut bench);
        let letters = offsets_and_reasons(&mut bench);
        assert!(!was_answered || left == 0, "{more}: it was rejected");
        let all = ["0", "1", "2"].iter().all(|at| letters.contains(&pair(at, "rejected")));
        assert!(all || left == 3, "{more}: {letters:?} {left}");
    }
}

#[test]
fn letters_wait_for_a_topic_that_takes_them() {
    let mut bench = serving(&[], &[NAME]);
    bench.council(topic(DEAD, 2, 1, 0));
    bench.settle();
    produce(&mut bench, "bad", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 1);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, REJECT)]), ErrorCode::None);
    settle(&mut bench);
    assert_eq!((start(&mut bench), told(&mut bench), letters(&mut bench, DEAD).len()), (0, 1, 0));
    bench.council(topic_with(&[TAKES], DEAD, 2, 1, 0));
    settle(&mut bench);
    assert_eq!((start(&mut bench), told(&mut bench), letters(&mut bench, DEAD).len()), (1, 0, 1));
}

#[test]
fn dead_letter_topic_has_a_permitted_name_and_without_one_records_are_archived() {
    let mut bench = serving(&[], &[("errors.deadletterqueue.topic.name", "t2")]);
    produce(&mut bench, "bad", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 1);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, REJECT)]), ErrorCode::None);
    settle(&mut bench);
    assert_eq!((start(&mut bench), told(&mut bench)), (0, 1));
    configure(&mut bench, &[]);
    settle(&mut bench);
    assert_eq!(start(&mut bench), 1);
}

#[test]
fn dead_letter_topic_is_not_made_where_that_is_switched_off() {
    let mut config = BrokerConfig::default();
    config.dead_letters.creates_topics = false;
    let mut bench = Bench::serving_with(config, &[topic("t", 1, 1, 0)]);
    bench.room(ROOM);
    configure(&mut bench, &[NAME]);
    produce(&mut bench, "bad", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 1);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, REJECT)]), ErrorCode::None);
    settle(&mut bench);
    assert_eq!((start(&mut bench), told(&mut bench)), (0, 1));
}

#[test]
fn dead_letters_of_the_dead_letter_topic_itself_do_not_come_back() {
    let mut config = BrokerConfig::default();
    config.dead_letters.prefix = String::new();
    let mut bench = Bench::serving_with(config, &[topic_with(&[TAKES], "t", 1, 1, 0)]);
    bench.room(ROOM);
    configure(&mut bench, &[("errors.deadletterqueue.topic.name", "t"), COPIES]);
    produce(&mut bench, "bad", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, REJECT)]), ErrorCode::None);
    settle(&mut bench);
    assert_eq!((start(&mut bench), letters(&mut bench, "t").len()), (1, 1), "no letter was written");
}

#[test]
fn letters_wait_while_the_disk_is_full() {
    let mut bench = serving(&[], &[NAME]);
    bench.council(topic_with(&[TAKES], DEAD, 2, 1, 0));
    bench.settle();
    produce(&mut bench, "bad", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 1);
    assert!(bench.ask(1, 1, &acknowledge("a", 1, &[(0, 0, REJECT)])).is_none());
    bench.room(0);
    bench.settle();
    settle(&mut bench);
    assert_eq!((told(&mut bench), letters(&mut bench, DEAD).len(), start(&mut bench)), (1, 0, 0));
    bench.room(ROOM);
    settle(&mut bench);
    assert_eq!((letters(&mut bench, DEAD).len(), start(&mut bench)), (1, 1));
}

#[test]
fn record_whose_time_to_live_is_over_goes_to_nobody() {
    let mut bench = serving(&[HEADERS], &[NAME]);
    produce(&mut bench, "short", &[("diwan.ttl.ms", "1000")]);
    produce(&mut bench, "long", &[("diwan.ttl.ms", "9000")]);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1), (1, 1, 1)]);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 1, RELEASE)]), ErrorCode::None);
    bench.pass(2_000);
    assert_eq!(take(&mut bench, "a", 2, &[]), [(1, 1, 2)], "also if it was delivered before");
    settle(&mut bench);
    assert_eq!(offsets_and_reasons(&mut bench), [pair("0", "expired")]);
}

#[test]
fn headers_hold_only_where_the_topic_says_so() {
    let mut bench = serving(&[], &[]);
    produce(&mut bench, "v", &[("diwan.ttl.ms", "0"), ("diwan.delay.ms", "9000")]);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
}

#[test]
fn delayed_record_is_delivered_when_it_is_due_and_holds_up_nobody() {
    let mut bench = serving(&[HEADERS], &[]);
    produce(&mut bench, "later", &[("diwan.delay.ms", "3000")]);
    let at = (NOW.wall.ms() + 60_000).to_string();
    produce(&mut bench, "much later", &[("diwan.deliver.at", &at)]);
    produce(&mut bench, "now", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(2, 2, 1)]);
    assert!(bench.ask(1, 1, &fetch("a", 1, &[]).with_max_wait_ms(60_000)).is_none());
    bench.settle();
    bench.pass(2_000);
    bench.settle();
    assert_eq!(bench.take_answered().len(), 0);
    bench.pass(1_000);
    bench.settle();
    let waited: Vec<Range> = match bench.end::<kafka_protocol::messages::ShareFetchRequest>(1, 1) {
        Some(answer) => ranges(&answer),
        None => panic!("it is due"),
    };
    assert_eq!(waited, [(0, 0, 1)]);
    // The process dies: the other one is still delayed.
    bench.crash(0);
    bench.settle();
    assert_eq!(take(&mut bench, "b", 0, &[0]), [(0, 0, 1), (2, 2, 1)]);
    bench.pass(60_000);
    bench.settle();
    let left = take(&mut bench, "c", 0, &[0]);
    assert!(left.contains(&(1, 1, 1)), "{left:?}");
}

#[test]
fn settings_of_the_topic_hold_for_records_without_headers() {
    let topic = [("diwan.delay.ms", "2000"), ("diwan.message.ttl.ms", "5000")];
    let mut bench = serving(&topic, &[]);
    produce(&mut bench, "v", &[]);
    produce(&mut bench, "v", &[]);
    assert_eq!(take(&mut bench, "a", 0, &[0]), []);
    bench.pass(2_000);
    bench.settle();
    assert_eq!(take(&mut bench, "a", 1, &[]), [(0, 0, 1), (1, 1, 1)]);
    assert_eq!(say(&mut bench, "a", 2, &[(0, 0, ACCEPT), (1, 1, RELEASE)]), ErrorCode::None);
    bench.pass(4_000);
    bench.settle();
    assert_eq!(take(&mut bench, "a", 3, &[]), []);
    settle(&mut bench);
    produce(&mut bench, "v", &[]);
    bench.pass(2_000);
    bench.settle();
    assert_eq!(take(&mut bench, "a", 4, &[]), [(2, 2, 1)]);
}
