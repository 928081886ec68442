//! What three brokers promise to members of share groups: a share partition is with the leader of its topic's partition, its state
//! with another broker, its members with a third one. Whoever dies, what was acknowledged stays so.

use std::collections::{BTreeMap, BTreeSet};

use base::Random;
use kafka_protocol::messages::alter_share_group_offsets_request::{
    AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{
    AlterShareGroupOffsetsRequest, DeleteGroupsRequest, DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest, FetchRequest, FindCoordinatorRequest, ShareAcknowledgeRequest,
    ShareFetchRequest, ShareFetchResponse, ShareGroupDescribeRequest, TopicName,
};
use log_metadata::{ConfigNode, configs_bytes};
use log_wire::messages::Field as _;
use log_wire::messages::share::DescribeShareGroupOffsetsResponse;
use log_wire::{Batch, ErrorCode, Reader, Records};

use crate::bench::text;
use crate::replicas::Cluster;
use crate::shares::{ACCEPT, REJECT, RELEASE, acknowledge, fetch, group, heartbeat, ranges};

const STATES: &str = "__share_group_state";
const DEAD: &str = "dlq.t";
const MEMBERS: &str = "__consumer_offsets";
/// Each broker leads a partition.
const PLACES: &[&[i32]] = &[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]];

/// Brokers that know where the states of the group `g` are, which begins with the first record.
fn serving(replicas: &[&[i32]]) -> Cluster {
    let mut cluster = Cluster::with(replicas, &[], |config| {
        config.share.state_topic.partitions = 1;
        config.offsets_topic.partitions = 1;
        config.replication_factor = 3;
        // Otherwise all draw the same ids for topics.
        config.seed = config.node_id as u64 * 1_000;
    });
    let set = [("share.auto.offset.reset".to_owned(), "earliest".to_owned())].into();
    cluster.tell(&ConfigNode::Group("g".into()).path(), configs_bytes(&set));
    for kind in [0, 2] {
        let key = if kind == 0 { "g" } else { "g:AAAAAAAAAAAAAAAAAAAAAA:0" };
        let find =
            FindCoordinatorRequest::default().with_key_type(kind).with_coordinator_keys(vec![text(key)]);
        cluster.call(1, 6, &find);
        cluster.settle();
    }
    cluster
}

fn produce(cluster: &mut Cluster, partition: i32) {
    let leader = cluster.leader(partition as usize).0;
    cluster.produce(leader, partition).expect("it waits");
    cluster.settle();
}

/// A new session takes what there is.
fn take(cluster: &mut Cluster, member: &str, partition: i32) -> Vec<i64> {
    let leader = cluster.leader(partition as usize).0;
    let answer = cluster.call(leader, 1, &fetch(member, 0, &[partition]));
    ranges(&answer).into_iter().flat_map(|(first, last, _)| first..=last).collect()
}

fn said(member: &str, epoch: i32, partition: i32, offset: i64, kind: i8) -> ShareAcknowledgeRequest {
    let mut request = acknowledge(member, epoch, &[(offset, offset, kind)]);
    request.topics[0].partitions[0].partition_index = partition;
    request
}

fn say(cluster: &mut Cluster, request: &ShareAcknowledgeRequest) -> ErrorCode {
    let partition = &request.topics[0].partitions[0];
    let leader = cluster.leader(partition.partition_index as usize).0;
    let answer = cluster.call(leader, 1, request);
    assert_eq!(answer.error_code, 0, "{answer:?}");
    ErrorCode::of(answer.responses[0].partitions[0].error_code).expect("it is known")
}

/// A broker that leads a partition and does not hold the states.
fn elsewhere(cluster: &Cluster) -> i32 {
    let holder = cluster.leader_of(STATES, 0).expect("it is there");
    (0..3).find(|partition| cluster.leader(*partition as usize).0 != holder).expect("there are two")
}

#[test]
fn share_partition_is_served_by_its_leader_whoever_holds_its_state() {
    let mut cluster = serving(PLACES);
    for partition in 0..3 {
        (0..3).for_each(|_| produce(&mut cluster, partition));
        assert_eq!(take(&mut cluster, "a", partition), [0, 1, 2]);
        assert_eq!(say(&mut cluster, &said("a", 1, partition, 1, ACCEPT)), ErrorCode::None);
        assert_eq!(say(&mut cluster, &said("a", 2, partition, 0, RELEASE)), ErrorCode::None);
        assert_eq!(take(&mut cluster, "b", partition), [0]);
    }
}

#[test]
fn acknowledgement_waits_for_the_disks_of_the_holder_of_the_state() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    produce(&mut cluster, partition);
    assert_eq!(take(&mut cluster, "a", partition), [0]);
    let leader = cluster.leader(partition as usize).0;
    (1..=3).filter(|id| *id != leader).for_each(|id| cluster.stop_disk(id));
    let number = cluster.broker(leader).begin(1, &said("a", 1, partition, 0, ACCEPT)).expect_err("it waits");
    cluster.settle();
    assert_eq!(cluster.broker(leader).end::<ShareAcknowledgeRequest>(number, 1), None);
    (1..=3).for_each(|id| cluster.start_disk(id));
    let answer = cluster.broker(leader).end::<ShareAcknowledgeRequest>(number, 1).expect("it is durable");
    assert_eq!(answer.responses[0].partitions[0].error_code, 0);
}

#[test]
fn acknowledgement_finds_the_next_holder_of_the_state() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    (0..2).for_each(|_| produce(&mut cluster, partition));
    assert_eq!(take(&mut cluster, "a", partition), [0, 1]);
    let holder = cluster.leader_of(STATES, 0).expect("it is there");
    let leader = cluster.leader(partition as usize).0;
    let number = cluster.broker(leader).begin(1, &said("a", 1, partition, 0, ACCEPT)).expect_err("it waits");
    // The request is on its way, and is lost with its receiver.
    cluster.lose(holder);
    cluster.settle();
    cluster.pass(1_000);
    assert_ne!(cluster.leader_of(STATES, 0), Some(holder));
    let answer = cluster.broker(leader).end::<ShareAcknowledgeRequest>(number, 1).expect("another holds it");
    assert_eq!(answer.responses[0].partitions[0].error_code, 0);
    assert_eq!(say(&mut cluster, &said("a", 2, partition, 1, RELEASE)), ErrorCode::None);
    assert_eq!(take(&mut cluster, "b", partition), [1]);
}

#[test]
fn acknowledgement_does_not_wait_for_a_holder_of_which_nothing_is_heard() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    (0..2).for_each(|_| produce(&mut cluster, partition));
    assert_eq!(take(&mut cluster, "a", partition), [0, 1]);
    let holder = cluster.leader_of(STATES, 0).expect("it is there");
    let leader = cluster.leader(partition as usize).0;
    let begin = |cluster: &mut Cluster, epoch, offset| {
        cluster.broker(leader).begin(1, &said("a", epoch, partition, offset, ACCEPT)).expect_err("it waits")
    };
    // One request is with it when it is stopped, the other one comes later. Its link stands.
    let first = begin(&mut cluster, 1, 0);
    cluster.turn(leader);
    cluster.fall_asleep(holder);
    cluster.settle();
    cluster.pass(200);
    let end = |cluster: &mut Cluster, number| {
        let answer = cluster.broker(leader).end::<ShareAcknowledgeRequest>(number, 1);
        answer.expect("another holds it").responses[0].partitions[0].error_code
    };
    assert_eq!(end(&mut cluster, first), 0);
    assert_ne!(cluster.leader_of(STATES, 0), Some(holder));
    // What it answers when it goes on counts for nothing.
    cluster.wake(holder);
    cluster.catch_up(holder);
    cluster.settle();
    cluster.pass(1_000);
    let second = begin(&mut cluster, 2, 1);
    cluster.settle();
    assert_eq!(end(&mut cluster, second), 0);
    assert!(take(&mut cluster, "b", partition).is_empty());
}

#[test]
fn former_leader_of_a_partition_changes_nothing() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    (0..2).for_each(|_| produce(&mut cluster, partition));
    assert_eq!(take(&mut cluster, "a", partition), [0, 1]);
    let former = cluster.leader(partition as usize).0;
    cluster.lose(former);
    cluster.settle();
    cluster.pass(1_000);
    assert_eq!(take(&mut cluster, "b", partition), [0, 1], "the leader's death ended its locks");
    let number = cluster.broker(former).begin(1, &said("a", 1, partition, 0, ACCEPT)).expect_err("it waits");
    cluster.come_back(former);
    cluster.settle();
    cluster.pass(2_000);
    let answer = cluster.broker(former).end::<ShareAcknowledgeRequest>(number, 1).expect("it is refused");
    assert_ne!(answer.responses[0].partitions[0].error_code, 0);
    assert_eq!(say(&mut cluster, &said("b", 1, partition, 0, RELEASE)), ErrorCode::None);
    assert_eq!(take(&mut cluster, "c", partition), [0]);
}

#[test]
fn former_leader_of_a_partition_gives_out_nothing_that_its_successor_counted_as_acknowledged() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    (0..2).for_each(|_| produce(&mut cluster, partition));
    assert_eq!(take(&mut cluster, "a", partition), [0, 1]);
    assert_eq!(say(&mut cluster, &said("a", 1, partition, 0, RELEASE)), ErrorCode::None);
    let former = cluster.leader(partition as usize).0;
    cluster.lose(former);
    cluster.settle();
    cluster.pass(1_000);
    assert_eq!(take(&mut cluster, "b", partition), [0, 1]);
    assert_eq!(say(&mut cluster, &said("b", 1, partition, 0, ACCEPT)), ErrorCode::None);
    // It has heard nothing of that, and serves on.
    let number =
        cluster.broker(former).begin(1, &fetch("c", 0, &[partition])).expect_err("it has to ask first");
    for _ in 0..10 {
        cluster.turn(former);
    }
    assert_eq!(cluster.broker(former).end::<ShareFetchRequest>(number, 1), None);
    cluster.come_back(former);
    cluster.settle();
    cluster.pass(2_000);
    let answer = cluster.broker(former).end::<ShareFetchRequest>(number, 1).expect("it knows by now");
    assert_eq!(offsets_of(&answer), [] as [i64; 0]);
    assert_eq!(
        answer.responses[0].partitions[0].error_code,
        ErrorCode::NotLeaderOrFollower.code(),
        "{answer:?}"
    );
}

#[test]
fn members_do_not_wait_for_each_others_question_whether_the_leader_leads() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    (0..3).for_each(|_| produce(&mut cluster, partition));
    let leader = cluster.leader(partition as usize).0;
    // Before anything is given the state is read.
    assert_eq!(take(&mut cluster, "z", partition), [0, 1, 2]);
    for (epoch, offset) in [(1, 0), (2, 1), (3, 2)] {
        assert_eq!(say(&mut cluster, &said("z", epoch, partition, offset, RELEASE)), ErrorCode::None);
    }
    let ask = |cluster: &mut Cluster, member: &str| {
        let request = fetch(member, 0, &[partition]).with_max_records(1).with_batch_size(1);
        cluster.broker(leader).begin(1, &request).expect_err("it has to ask first")
    };
    let asked = ["a", "b", "c"].map(|member| ask(&mut cluster, member));
    let others: Vec<i32> = (1..=3).filter(|id| *id != leader).collect();
    cluster.turn(leader);
    for id in others {
        cluster.turn(id);
    }
    cluster.turn(leader);
    let answers = asked.map(|number| {
        cluster.broker(leader).end::<ShareFetchRequest>(number, 1).expect("one question is enough for all")
    });
    assert_eq!(answers.map(|answer| offsets_of(&answer)), [vec![0], vec![1], vec![2]]);
}

#[test]
fn member_gets_records_though_its_session_names_a_partition_that_is_led_elsewhere() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    produce(&mut cluster, partition);
    let leader = cluster.leader(partition as usize).0;
    // The other partitions are told of before the state of this one is read.
    let answer = cluster.call(leader, 1, &fetch("a", 0, &[0, 1, 2]));
    assert_eq!(offsets_of(&answer), [] as [i64; 0]);
    let answer = cluster.call(leader, 1, &fetch("a", 1, &[]));
    assert_eq!(offsets_of(&answer), [0], "{answer:?}");
}

#[test]
fn group_is_seen_and_deleted_where_its_members_are_coordinated() {
    let mut cluster = serving(PLACES);
    let partition = elsewhere(&cluster);
    produce(&mut cluster, partition);
    assert_eq!(take(&mut cluster, "a", partition), [0]);
    assert_eq!(say(&mut cluster, &said("a", 1, partition, 0, ACCEPT)), ErrorCode::None);
    // The coordinator dies until it is not the holder.
    for _ in 0..6 {
        let (coordinator, holder) = (cluster.leader_of(MEMBERS, 0), cluster.leader_of(STATES, 0));
        if coordinator != holder {
            break;
        }
        let victim = coordinator.expect("it is there");
        cluster.lose(victim);
        cluster.settle();
        cluster.pass(1_000);
        cluster.restart(victim);
        cluster.settle();
        cluster.pass(2_000);
    }
    let coordinator = cluster.leader_of(MEMBERS, 0).expect("it is there");
    cluster.pass(4_000);
    let described =
        cluster.call(coordinator, 1, &ShareGroupDescribeRequest::default().with_group_ids(vec![group()]));
    assert_eq!((described.groups[0].error_code, described.groups[0].group_state.as_str()), (0, "Empty"));
    let all = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group()).with_topics(None);
    let request = DescribeShareGroupOffsetsRequest::default().with_groups(vec![all]);
    let answer = cluster.call(coordinator, 0, &request);
    let shown = &answer.groups[0].topics[0].partitions[0];
    assert_eq!((shown.partition_index, shown.start_offset), (partition, 1));
    assert_eq!(cluster.call(coordinator, 1, &heartbeat("m", 0)).error_code, 0);
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group()]);
    let refused = cluster.call(coordinator, 2, &delete);
    assert_eq!(refused.results[0].error_code, ErrorCode::NonEmptyGroup.code());
    assert_eq!(cluster.call(coordinator, 1, &heartbeat("m", -1)).error_code, 0);
    assert_eq!(cluster.call(coordinator, 2, &delete).results[0].error_code, 0);
    assert_eq!(take(&mut cluster, "b", partition), [0], "the group begins anew");
}

/// The lag of each partition of the group, as a broker tells it; that of a partition without a state is 0.
fn lags(cluster: &mut Cluster, asked: i32) -> Vec<i64> {
    let all = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group()).with_topics(None);
    let request = DescribeShareGroupOffsetsRequest::default().with_groups(vec![all]);
    let begun = cluster.broker(asked).begin_newer(1, &request);
    let bytes = begun.unwrap_or_else(|number| {
        let mut answered = || {
            cluster.settle();
            cluster.pass(100);
            cluster.broker(asked).end_newer(number)
        };
        (0..70).find_map(|_| answered()).expect("it is answered within seven seconds")
    });
    let answer = DescribeShareGroupOffsetsResponse::read(&mut Reader::new(&bytes, true), 1);
    let group = answer.expect("it is an answer").groups.remove(0);
    assert_eq!(group.error_code, 0, "{group:?}");
    let partitions = group.topics.into_iter().flat_map(|topic| topic.partitions);
    let lags: BTreeMap<i32, i64> = partitions.map(|of| (of.partition_index, of.lag)).collect();
    (0..3).map(|index| lags.get(&index).copied().unwrap_or(0)).collect()
}

#[test]
fn lag_is_told_whoever_leads_the_partition_and_unknown_if_nobody_tells() {
    let mut cluster = serving(PLACES);
    for partition in 0..3 {
        (0..=partition).for_each(|_| produce(&mut cluster, partition));
        take(&mut cluster, "a", partition);
    }
    assert_eq!(say(&mut cluster, &said("a", 1, 2, 0, ACCEPT)), ErrorCode::None);
    for asked in [1, 2, 3] {
        assert_eq!(lags(&mut cluster, asked), [1, 2, 2], "asked of {asked}");
    }
    // Of a leader nothing is heard, and no other one leads while the disks stand still.
    let coordinator = cluster.leader_of(MEMBERS, 0).expect("it is there");
    let holder = cluster.leader_of(STATES, 0).expect("it is there");
    let mut leaders = (0..3).map(|partition| (partition, cluster.leader(partition).0));
    let found = leaders.find(|(_, leader)| *leader != coordinator && *leader != holder);
    let (partition, silent) = found.expect("there is a third broker");
    let others: Vec<i32> = cluster.here().into_iter().filter(|id| *id != silent).collect();
    others.iter().for_each(|id| cluster.stop_disk(*id));
    cluster.fall_asleep(silent);
    let mut expected = [1, 2, 2];
    expected[partition] = -1;
    assert_eq!(lags(&mut cluster, coordinator), expected);
    others.iter().for_each(|id| cluster.start_disk(*id));
    cluster.pass(2_000);
    cluster.settle();
    assert_eq!(lags(&mut cluster, coordinator), [1, 2, 2]);
}

#[test]
fn offsets_that_are_altered_by_way_of_another_broker_hold_at_once() {
    let mut cluster = serving(PLACES);
    let coordinator = cluster.leader_of(MEMBERS, 0).expect("it is there");
    let partition = (0..3).find(|of| cluster.leader(*of as usize).0 != coordinator).expect("there are two");
    (0..3).for_each(|_| produce(&mut cluster, partition));
    assert_eq!(take(&mut cluster, "a", partition), [0, 1, 2]);
    for offset in 0..3 {
        let said = said("a", 1 + offset as i32, partition, offset, ACCEPT);
        assert_eq!(say(&mut cluster, &said), ErrorCode::None);
    }
    let leader = cluster.leader(partition as usize).0;
    // The broker has no time to notice that nobody is left.
    cluster.call(leader, 1, &fetch("a", -1, &[]));
    let of = AlterShareGroupOffsetsRequestPartition::default()
        .with_partition_index(partition)
        .with_start_offset(1);
    let topic = AlterShareGroupOffsetsRequestTopic::default()
        .with_topic_name(TopicName(text("t")))
        .with_partitions(vec![of]);
    let alter = AlterShareGroupOffsetsRequest::default().with_group_id(group()).with_topics(vec![topic]);
    let altered = cluster.call(coordinator, 0, &alter);
    assert_eq!((altered.error_code, altered.responses[0].partitions[0].error_code), (0, 0));
    assert_eq!(take(&mut cluster, "b", partition), [1, 2]);
}

#[test]
fn broker_that_does_not_coordinate_a_share_group_neither_describes_nor_changes_it() {
    let mut cluster = serving(PLACES);
    let coordinator = cluster.leader_of(MEMBERS, 0).expect("it is there");
    assert_eq!(cluster.call(coordinator, 1, &heartbeat("m", 0)).error_code, 0);
    let describe = ShareGroupDescribeRequest::default().with_group_ids(vec![group()]);
    let alter = AlterShareGroupOffsetsRequest::default().with_group_id(group());
    let delete = DeleteShareGroupOffsetsRequest::default().with_group_id(group());
    for broker in 1..=3 {
        let (described, changed) = match broker == coordinator {
            // It has a member.
            true => (ErrorCode::None, ErrorCode::NonEmptyGroup),
            false => (ErrorCode::NotCoordinator, ErrorCode::NotCoordinator),
        };
        let answer = cluster.call(broker, 1, &describe);
        assert_eq!(answer.groups[0].error_code, described.code(), "{broker}");
        assert_eq!(cluster.call(broker, 0, &alter).error_code, changed.code(), "{broker}");
        assert_eq!(cluster.call(broker, 0, &delete).error_code, changed.code(), "{broker}");
    }
}

fn configure_dead_letters(cluster: &mut Cluster) {
    let set = [("share.auto.offset.reset", "earliest"), ("errors.deadletterqueue.topic.name", DEAD)];
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    cluster.tell(&ConfigNode::Group("g".into()).path(), configs_bytes(&set));
}

/// Where the records of all committed letters stand.
fn letters(cluster: &mut Cluster) -> BTreeSet<i64> {
    let Some(leader) = cluster.leader_of(DEAD, 0) else { return BTreeSet::new() };
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(TopicName(text(DEAD))).with_partitions(vec![partition]);
    let request =
        FetchRequest::default().with_max_bytes(1 << 20).with_session_epoch(-1).with_topics(vec![topic]);
    let answer = cluster.call(leader, 12, &request);
    let bytes = answer.responses[0].partitions[0].records.clone().unwrap_or_default();
    let (mut rest, mut found) = (&*bytes, BTreeSet::new());
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("batches");
        for record in Records::new(batch.records(), batch.count()) {
            let record = record.expect("a record");
            let at = record.headers().flatten().find(|header| header.key == b"__dlq.errors.offset");
            let at = at.and_then(|header| header.value).expect("it is there");
            found.insert(std::str::from_utf8(at).expect("text").parse().expect("a number"));
        }
        rest = behind;
    }
    found
}

/// How many records of a topic are committed.
fn ends(cluster: &mut Cluster, topic: &str) -> i64 {
    let mut sum = 0;
    for partition in 0.. {
        let Some(leader) = cluster.leader_of(topic, partition) else { break };
        let figures = cluster.broker(leader).broker.figures();
        let of = |of: &&log_broker::PartitionFigures| *of.topic == *topic && of.index == partition as i32;
        sum += figures.partitions.iter().find(of).map_or(0, |of| of.high_watermark);
    }
    sum
}

#[test]
fn dead_letters_go_to_the_leader_of_their_partition_and_outlive_it() {
    let mut cluster = serving(PLACES);
    configure_dead_letters(&mut cluster);
    let mut expected = 0;
    for round in 0..4 {
        for partition in 0..3 {
            produce(&mut cluster, partition);
            let member = format!("m{round}{partition}");
            let taken = take(&mut cluster, &member, partition);
            assert_eq!(taken.len(), 1, "round {round}");
            assert_eq!(say(&mut cluster, &said(&member, 1, partition, taken[0], REJECT)), ErrorCode::None);
            expected += 1;
            if round > 0 {
                // The leader of the letters dies before they are committed.
                let victim = cluster.leader_of(DEAD, 0).expect("it is there");
                cluster.lose(victim);
                cluster.settle();
                cluster.pass(1_000);
                cluster.restart(victim);
                cluster.settle();
                cluster.pass(1_000);
                let other = format!("n{round}{partition}");
                assert_eq!(take(&mut cluster, &other, partition), [] as [i64; 0]);
            }
            cluster.pass(2_000);
            let letters = ends(&mut cluster, DEAD);
            assert!(letters >= expected, "round {round}: {letters} of {expected}");
            expected = letters;
        }
    }
    assert!(expected <= 24, "{expected}");
}

/// A member at a partition while brokers die.
struct World {
    cluster: Cluster,
    random: Random,
    /// Acknowledgements that were answered: nobody gets these records again.
    accepted: BTreeSet<i64>,
    /// Rejections that were answered: nobody gets these either, and each has a letter at last.
    rejected: BTreeSet<i64>,
    /// Records that a member has tried to accept or reject.
    tried: BTreeSet<i64>,
    produced: i64,
    members: u64,
    deaths: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut cluster = serving(&[&[1, 2, 3]]);
        configure_dead_letters(&mut cluster);
        let random = Random::new(seed);
        Self {
            cluster,
            random,
            accepted: BTreeSet::new(),
            rejected: BTreeSet::new(),
            tried: BTreeSet::new(),
            produced: 0,
            members: 0,
            deaths: 0,
        }
    }

    fn act(&mut self) {
        let any = 1 + self.random.below(3) as i32;
        match self.random.below(10) {
            0 | 1 => {
                let leader = self.cluster.leader(0).0;
                let _ = self.cluster.produce(leader, 0);
                self.cluster.settle();
                self.hear();
            }
            2..=5 => self.work(),
            6 if self.cluster.away.is_empty() => {
                self.deaths += 1;
                self.cluster.lose(any);
                self.cluster.settle();
            }
            7 => self.cluster.pass(300),
            _ => {
                if let Some(id) = self.cluster.away.first().copied() {
                    if self.random.below(2) == 0 {
                        self.cluster.restart(id);
                    } else {
                        self.cluster.come_back(id);
                    }
                    self.cluster.settle();
                }
            }
        }
    }

    fn hear(&mut self) {
        for id in 1..=3 {
            for (_, (error, offset)) in self.cluster.answers(id) {
                if error == 0 {
                    self.produced = self.produced.max(offset + 1);
                }
            }
        }
    }

    /// A member takes, accepts one of what it got, and leaves; somebody may die before the answer.
    fn work(&mut self) {
        let leader = self.cluster.leader(0).0;
        if self.cluster.away.contains(&leader) {
            return;
        }
        self.members += 1;
        let member = format!("m{}", self.members);
        let Some(answer) = self.ask(leader, &fetch(&member, 0, &[0])) else { return };
        if let Some(offset) = offsets_of(&answer).first().copied() {
            assert!(!self.accepted.contains(&offset), "{offset} was accepted before");
            assert!(!self.rejected.contains(&offset), "{offset} was rejected before");
            self.finish(leader, &member, offset);
        }
        let _ = self.ask(leader, &fetch(&member, -1, &[]));
    }

    /// A member accepts or rejects a record.
    fn finish(&mut self, leader: i32, member: &str, offset: i64) {
        self.tried.insert(offset);
        let kind = if self.random.below(3) == 0 { REJECT } else { ACCEPT };
        let victim = 1 + self.random.below(12) as i32;
        let Err(number) = self.cluster.broker(leader).begin(1, &said(member, 1, 0, offset, kind)) else {
            return;
        };
        for _ in 0..self.random.below(6) {
            for id in self.cluster.here() {
                self.cluster.turn(id);
            }
        }
        if victim <= 3 && self.cluster.away.is_empty() {
            self.deaths += 1;
            self.cluster.lose(victim);
        }
        self.cluster.settle();
        for _ in 0..8 {
            if let Some(answer) = self.cluster.broker(leader).end::<ShareAcknowledgeRequest>(number, 1) {
                let partition = answer.responses.first().map(|topic| topic.partitions[0].error_code);
                if answer.error_code == 0 && partition == Some(0) {
                    let told = if kind == REJECT { &mut self.rejected } else { &mut self.accepted };
                    told.insert(offset);
                }
                return;
            }
            self.cluster.pass(100);
        }
    }

    fn ask(&mut self, leader: i32, request: &ShareFetchRequest) -> Option<ShareFetchResponse> {
        let number = match self.cluster.broker(leader).begin(1, request) {
            Ok(answer) => return Some(answer),
            Err(number) => number,
        };
        for _ in 0..4 {
            self.cluster.settle();
            if let Some(answer) = self.cluster.broker(leader).end::<ShareFetchRequest>(number, 1) {
                return Some(answer);
            }
            self.cluster.pass(100);
        }
        None
    }
}

/// What a member got, whatever else it was told.
fn offsets_of(answer: &ShareFetchResponse) -> Vec<i64> {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    let acquired = partitions.flat_map(|partition| &partition.acquired_records);
    acquired.flat_map(|of| of.first_offset..=of.last_offset).collect()
}

#[test]
fn acknowledgement_that_was_answered_is_never_lost_and_no_dead_letter_whoever_dies() {
    let (mut deaths, mut accepted, mut rejected) = (0, 0, 0);
    for seed in 0..40 {
        let mut world = World::new(seed);
        (0..80).for_each(|_| world.act());
        while let Some(id) = world.cluster.away.first().copied() {
            world.cluster.restart(id);
        }
        // Locks of members that are gone end.
        for _ in 0..35 {
            world.cluster.pass(1_000);
        }
        world.hear();
        let left: BTreeSet<i64> = take(&mut world.cluster, "last", 0).into_iter().collect();
        assert!(left.is_disjoint(&world.accepted), "seed {seed}: {left:?} {:?}", world.accepted);
        assert!(left.is_disjoint(&world.rejected), "seed {seed}: {left:?} {:?}", world.rejected);
        world.cluster.pass(2_000);
        let letters = letters(&mut world.cluster);
        assert!(letters.is_superset(&world.rejected), "seed {seed}: {letters:?} {:?}", world.rejected);
        assert!(letters.is_disjoint(&world.accepted), "seed {seed}: {letters:?} {:?}", world.accepted);
        rejected += world.rejected.len();
        let open = (0..world.produced).filter(|offset| !world.tried.contains(offset));
        assert_eq!(open.filter(|offset| !left.contains(offset)).count(), 0, "seed {seed}: {left:?}");
        deaths += world.deaths;
        accepted += world.accepted.len();
    }
    assert!(deaths > 150 && accepted > 120 && rejected > 50, "{deaths} {accepted} {rejected}");
}
