//! What becomes of changes, and that two brokers whose connections break are told the truth about theirs.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};

use council_client_core::{Acl, Random};
use council_client_model::World;
use replication_appointed::{Config, Epoch, ReplicaId, Voters};

use super::*;
use crate::{Change, Ended, Keeper, KeeperEvent, KeeperLimits, paths};

const TOPIC: [u8; 16] = [7; 16];
const NAME: &str = "t";

/// Three replicas of which that one leads.
fn record(epoch: u32, leader: u32) -> Record {
    let voters = Voters::new([1, 2, 3].map(ReplicaId), 2).expect("three voters");
    let config =
        Config { epoch: Epoch(epoch), leader: ReplicaId(leader), voters, learners: [].into(), chosen: true };
    Record { preferred: [1, 2, 3].map(ReplicaId).to_vec(), ..Record::new(config) }
}

fn change(index: u32, version: u64, record: Record) -> RecordChange {
    RecordChange { index, version: Version(version), record }
}

/// A topic with partitions of these versions, each led by replica 1 in epoch 5.
fn node(versions: &[u64]) -> TopicNode {
    let partitions = versions.iter().map(|version| PartitionNode::of(&record(5, 1), Version(*version)));
    TopicNode {
        id: TOPIC,
        settings: BTreeMap::from([("a".into(), "b".into())]),
        partitions: partitions.collect(),
    }
}

fn write(data: Option<&[u8]>, may_be_done: bool, changes: &[RecordChange]) -> RecordsWritten {
    TopicNode::write_records(Found { data, may_be_done }, TOPIC, changes)
}

fn kept(results: &[Written]) -> RecordsWritten {
    RecordsWritten { decision: Decision::Keep, results: results.to_vec() }
}

fn yes(version: u64) -> Written {
    Written::Yes(Version(version))
}

#[test]
fn changes_are_written_together_and_raise_the_version_of_their_partitions_only() {
    let before = node(&[0, 9, 4]);
    let changes = [change(2, 4, record(6, 2)), change(0, 0, record(7, 3))];
    for may_be_done in [false, true] {
        let written = write(Some(&before.bytes()), may_be_done, &changes);
        assert_eq!(written.results, [yes(5), yes(1)]);
        let Decision::Write(data) = written.decision else { panic!("{:?}", written.decision) };
        let after = TopicNode::read(&data).expect("a topic");
        assert_eq!((&after.settings, after.id), (&before.settings, TOPIC));
        let known = after.partitions[2].known(TOPIC, 2).expect("a record");
        assert_eq!((known.version, known.record), (Version(5), record(6, 2)));
        let known = after.partitions[0].known(TOPIC, 0).expect("a record");
        assert_eq!((known.version, known.record), (Version(1), record(7, 3)));
        assert_eq!(after.partitions[1], before.partitions[1]);
    }
    assert_eq!(write(Some(&before.bytes()), false, &[]), kept(&[]));
}

/// Only the first partition is written.
fn first(data: &[u8], may_be_done: bool, changes: &[RecordChange], others: &[Written]) {
    let mut after = TopicNode::read(data).expect("a topic");
    let next = yes(after.partitions[0].version + 1);
    after.partitions[0] = of(after.partitions[0].version + 1);
    let expected = [&[next], others].concat();
    let written = write(Some(data), may_be_done, changes);
    assert_eq!((written.results, written.decision), (expected, Decision::Write(after.bytes())));
}

#[test]
fn change_of_another_version_does_not_keep_the_others_from_being_written() {
    let data = node(&[1, 9, 4]).bytes();
    let changes = [change(0, 1, record(6, 2)), change(1, 8, record(6, 2)), change(2, 5, record(6, 2))];
    first(&data, false, &changes, &[Written::Conflict; 2]);
    assert_eq!(write(Some(&data), false, &changes[1..]), kept(&[Written::Conflict; 2]));
}

#[test]
fn partition_that_does_not_exist_is_a_conflict() {
    let data = node(&[1, 9]).bytes();
    for index in [2, u32::MAX] {
        for may_be_done in [false, true] {
            let changes = [change(0, 1, record(6, 2)), change(index, 0, record(6, 2))];
            first(&data, may_be_done, &changes, &[Written::Conflict]);
        }
    }
}

#[test]
fn topic_that_is_gone_or_has_a_namesake_is_a_conflict_for_every_change() {
    let changes = [change(0, 1, record(6, 2)), change(1, 9, record(6, 2))];
    let namesake = TopicNode { id: [8; 16], ..node(&[1, 9]) }.bytes();
    // It even looks as if the changes had been written.
    let mut written = TopicNode { id: [8; 16], ..node(&[2, 10]) };
    written.partitions.iter_mut().for_each(|partition| *partition = of(partition.version));
    for data in [None, Some(&namesake[..]), Some(&written.bytes())] {
        for may_be_done in [false, true] {
            assert_eq!(write(data, may_be_done, &changes), kept(&[Written::Conflict; 2]), "{data:?}");
        }
    }
}

/// What the changes of the tests write.
fn of(version: u64) -> PartitionNode {
    PartitionNode::of(&record(6, 2), Version(version))
}

#[test]
fn damaged_node_is_not_written_and_the_decision_says_why() {
    let whole = node(&[1]).bytes();
    let changes = [change(0, 1, record(6, 2))];
    for damaged in [&b""[..], b"{}", &whole[..whole.len() - 1], br#"{"id":"x","partitions":[]}"#] {
        let written = write(Some(damaged), false, &changes);
        assert_eq!(written.results, [Written::Conflict]);
        let Decision::Refuse(ErrorCode::UnknownServerError, why) = written.decision else {
            panic!("{:?}", written.decision)
        };
        assert!(why.contains("damaged"), "{why}");
    }
}

#[test]
fn entry_that_contradicts_itself_is_replaced_by_its_version_alone() {
    let mut node = node(&[3]);
    node.partitions[0].rest.durable_on = Some(9);
    assert_eq!(node.partitions[0].known(TOPIC, 0), None);
    let written = write(Some(&node.bytes()), false, &[change(0, 3, record(6, 2))]);
    assert_eq!(written.results, [yes(4)]);
}

#[test]
fn second_change_of_a_partition_in_one_batch_is_a_conflict() {
    let data = node(&[1]).bytes();
    let changes = [change(0, 1, record(6, 2)), change(0, 1, record(7, 3))];
    first(&data, false, &changes, &[Written::Conflict]);
}

#[test]
fn record_that_a_node_has_no_room_for_is_a_conflict() {
    let data = node(&[1, 2]).bytes();
    let far = record(6, u32::MAX);
    let changes = [change(0, 1, record(6, 2)), change(1, 2, far)];
    first(&data, false, &changes, &[Written::Conflict]);
    let last = change(0, u64::MAX, record(6, 2));
    assert_eq!(write(Some(&node(&[u64::MAX]).bytes()), false, &[last]), kept(&[Written::Conflict]));
}

#[test]
fn node_that_would_be_too_large_is_refused_and_nothing_is_written() {
    let mut large = node(&[1, 1]);
    let room = NODE_BYTES_MAX - large.bytes().len() + 1;
    large.settings.insert("a".into(), "b".repeat(room));
    assert_eq!(large.bytes().len(), NODE_BYTES_MAX);
    let same_length = write(Some(&large.bytes()), false, &[change(0, 1, record(6, 2))]);
    assert_eq!(same_length.results, [yes(2)]);
    let longer = Record { voters_min: Some(1), ..record(6, 2) };
    let written = write(Some(&large.bytes()), false, &[change(0, 1, record(6, 2)), change(1, 1, longer)]);
    assert_eq!(written.results, [Written::Untried; 2]);
    assert!(matches!(written.decision, Decision::Refuse(ErrorCode::PolicyViolation, _)));
}

#[test]
fn change_recognises_its_own_effect_behind_a_connection_that_broke() {
    let changes = [change(0, 1, record(6, 2)), change(1, 9, record(6, 2))];
    let written = |first, second| {
        let mut node = node(&[0, 0, 3]);
        (node.partitions[0], node.partitions[1]) = (first, second);
        node.bytes()
    };
    let both = written(of(2), of(10));
    assert_eq!(write(Some(&both), true, &changes), kept(&[yes(2), yes(10)]));
    assert_eq!(write(Some(&both), false, &changes), kept(&[Written::Conflict; 2]), "nothing was sent yet");
    let again = written(of(2), of(11));
    assert_eq!(write(Some(&again), true, &changes), kept(&[yes(2), Written::Unknown]));
    let another = PartitionNode::of(&record(6, 3), Version(2));
    let other = write(Some(&written(another.clone(), node(&[9]).partitions.remove(0))), true, &changes);
    assert_eq!(other.results, [Written::Conflict, yes(10)], "another record has that version");
    assert_eq!(other.decision, Decision::Write(written(another, of(10))));
    let half = written(of(2), node(&[9]).partitions.remove(0));
    let completed = write(Some(&half), true, &changes);
    assert_eq!((completed.results, completed.decision), (vec![yes(2), yes(10)], Decision::Write(both)));
}

const SEEDS: u64 = 100;
const BROKERS: usize = 2;
const PARTITIONS: u32 = 3;

/// A broker's changes that have not ended, and what it was told.
#[derive(Default)]
struct Told {
    node: Option<TopicNode>,
    open: BTreeMap<u64, (Vec<RecordChange>, Receiver<Vec<Written>>)>,
    results: Vec<(RecordChange, Written)>,
}

impl Told {
    fn listen(&mut self, keeper: &mut Keeper) {
        while let Some(event) = keeper.event() {
            match event {
                KeeperEvent::Node { path, data } if path == paths::topic(NAME) => {
                    self.node = data.map(|data| TopicNode::read(&data).expect("a topic"));
                }
                KeeperEvent::Ended { ticket, ended } => {
                    assert!(matches!(ended, Ended::Done(Some(_))), "{ended:?}");
                    let Some((changes, results)) = self.open.remove(&ticket) else { continue };
                    let results = results.try_iter().last().expect("it was computed");
                    assert_eq!(results.len(), changes.len());
                    self.results.extend(changes.into_iter().zip(results));
                }
                _ => {}
            }
        }
    }

    /// Changes one or two partitions as this broker knows them. Each record has an epoch of its own.
    fn change(&mut self, keeper: &mut Keeper, ticket: u64, random: &mut Random) {
        let Some(node) = &self.node else { return };
        let (first, count) = (random.below(PARTITIONS.into()) as u32, 1 + random.below(2) as u32);
        let changes: Vec<RecordChange> = (first..first + count)
            .map(|index| index % PARTITIONS)
            .map(|index| change(index, node.partitions[index as usize].version, record(9 + ticket as u32, 1)))
            .collect();
        let (sender, results) = channel();
        self.open.insert(ticket, (changes.clone(), results));
        keeper.change(Change::new(paths::topic(NAME), ticket, move |found| {
            let written = TopicNode::write_records(found, TOPIC, &changes);
            sender.send(written.results).expect("it is waited for");
            written.decision
        }));
    }
}

#[test]
fn brokers_are_told_the_truth_about_their_changes_whatever_breaks() {
    let (mut written, mut conflicts) = (0, 0);
    for seed in 0..SEEDS {
        let keeper = || Keeper::new(vec![Acl::open()], KeeperLimits::default());
        let mut world = World::new(seed, 3, (0..BROKERS).map(|_| keeper()));
        let mut random = Random::new(seed);
        let mut told: Vec<Told> = (0..BROKERS).map(|_| Told::default()).collect();
        let data = node(&[0; PARTITIONS as usize]).bytes();
        let create = move |found: Found<'_>| match found.data {
            None => Decision::Write(data.clone()),
            Some(_) => Decision::Keep,
        };
        world.peers[0].recipe.change(Change::new(paths::topic(NAME), 0, create));
        let mut ticket = 0;
        for _ in 0..3_000 {
            world.step();
            for (peer, told) in world.peers.iter_mut().zip(&mut told) {
                told.listen(&mut peer.recipe);
                if random.below(60) == 0 {
                    ticket += 1;
                    told.change(&mut peer.recipe, ticket, &mut random);
                }
            }
        }
        world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.changes_under_way() == 0));
        for (peer, told) in world.peers.iter_mut().zip(&mut told) {
            told.listen(&mut peer.recipe);
            assert!(told.open.is_empty(), "seed {seed}");
        }
        let node = &world.ensemble.tree[&paths::topic(NAME)];
        let last = TopicNode::read(&node.data).expect("a topic");
        let results: Vec<_> = told.into_iter().flat_map(|told| told.results).collect();
        written += check(&last, &results, seed);
        conflicts += results.iter().filter(|(_, result)| *result == Written::Conflict).count();
    }
    assert!(written > 10 * SEEDS as usize, "{written} writes are too few to say anything");
    assert!(conflicts > SEEDS as usize, "{conflicts} conflicts are too few to say anything");
}

/// Each version of a partition was written by one change, and by one that was told so or was told that nobody knows. Gives how
/// many were told to be written.
fn check(last: &TopicNode, results: &[(RecordChange, Written)], seed: u64) -> usize {
    let mut written = BTreeMap::new();
    for (change, result) in results {
        let partition = &last.partitions[change.index as usize];
        let is_last = partition.record().as_ref() == Some(&change.record);
        match result {
            Written::Yes(version) => {
                assert_eq!(version.0, change.version.0 + 1, "seed {seed}");
                assert!(partition.version >= version.0, "seed {seed}: a write is lost");
                assert_eq!(is_last, partition.version == version.0, "seed {seed}");
                let before = written.insert((change.index, *version), change);
                assert_eq!(before, None, "seed {seed}: two changes of one version");
            }
            Written::Conflict | Written::Untried => assert!(!is_last, "seed {seed}: {change:?} is written"),
            Written::Unknown => assert!(partition.version > change.version.0 + 1, "seed {seed}"),
        }
    }
    let unknown = results.iter().filter(|(_, result)| *result == Written::Unknown).count();
    let versions: u64 = last.partitions.iter().map(|partition| partition.version).sum();
    assert!((written.len()..=written.len() + unknown).contains(&(versions as usize)), "seed {seed}");
    written.len()
}
