//! What is encoded is decoded, of every kind and in every part.

use base::Random;
use replication_appointed::{
    Answer, Config, Durable, Epoch, Fence, LogShape, Position, Received, Replica, ReplicaId, Seq, Voters,
};
use replication_controller::{Effect, Incarnation, PartitionId};
use replication_wire::{
    BATCH_BYTES_MAX, ControllerMessage, Message, NodeMessage, ReplicaMessage, ReplicasWriter,
};

use crate::generate::{self, KINDS};
use crate::{Whole, decode};

#[test]
fn message_of_every_kind_comes_back() {
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let message = generate::message(seed % KINDS, &mut random);
        let bytes = message.encode();
        assert_eq!(decode(&bytes), Ok(message), "seed {seed}");
    }
}

#[test]
fn entries_are_borrowed_and_their_pieces_joined() {
    let append = generate::append(&mut Random::new(3));
    assert!(append.to > append.after.end, "it has entries");
    let mut bytes = Vec::new();
    let mut writer = ReplicasWriter::new(&mut bytes, usize::MAX);
    writer.put_append(PartitionId::numbered(7), &append, &[b"one ", b"", b"entry"]).expect("there is room");
    let whole = Whole::decode(&bytes).expect("it was encoded");
    let Whole::Replicas(items) = whole else { panic!("{whole:?}") };
    let [(partition, ReplicaMessage::Append { append: decoded, entries })] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(*partition, PartitionId::numbered(7));
    assert_eq!((decoded, *entries), (&append, &b"one entry"[..]));
    assert!(bytes.as_ptr_range().contains(&entries.as_ptr()), "they are a part of the frame");
}

#[test]
fn list_that_is_too_long_becomes_several_messages() {
    let mut random = Random::new(11);
    let known: Vec<_> = (0..60_000).map(|_| generate::known(&mut random)).collect();
    let (mut parts, mut decoded) = (0, Vec::new());
    ControllerMessage::Tell(known.clone()).encode_parts(|part| {
        assert!(part.len() <= BATCH_BYTES_MAX, "{}", part.len());
        parts += 1;
        match Message::decode(part) {
            Ok(Message::Controller(ControllerMessage::Tell(some))) => decoded.extend(some),
            other => panic!("{other:?}"),
        }
    });
    assert!((2..10).contains(&parts), "{parts} parts");
    assert_eq!(decoded, known);
}

#[test]
fn list_without_items_is_one_message() {
    let incarnation = Incarnation(9);
    let message = NodeMessage::Reported { incarnation, reports: Vec::new() };
    let mut parts = Vec::new();
    message.encode_parts(|part| parts.push(part.to_vec()));
    assert_eq!(parts.len(), 1);
    assert_eq!(decode(&parts[0]), Ok(Whole::Node(message)));
}

#[test]
fn effect_that_is_for_a_node_becomes_a_message_and_back() {
    let (node, mut random) = (ReplicaId(4), Random::new(5));
    for kind in 1..4 {
        let Whole::Controller(message) = generate::message(kind, &mut random) else { panic!("{kind}") };
        let effect = message.clone().into_effect(node);
        assert_eq!(ControllerMessage::of(effect), Ok((node, message)));
    }
    let read = Effect::Read { partitions: vec![PartitionId::numbered(1)] };
    assert_eq!(ControllerMessage::of(read.clone()), Err(read));
}

/// A leader and a follower that has nothing, over bytes alone: all appends and answers of a leader's first turns.
#[test]
fn replicas_catch_up_over_bytes_alone() {
    let config = Config {
        epoch: Epoch(3),
        leader: ReplicaId(1),
        voters: Voters::new([1, 2].map(ReplicaId), 2).expect("voters"),
        learners: [].into(),
        chosen: true,
    };
    let log = LogShape::empty(Position { epoch: Epoch(2), end: Seq(40) });
    let mut leader = Replica::restore(Durable { promised: Epoch(2), log, committed: Seq(40) });
    let Fence::Persist(id) = leader.fence(Epoch(3)) else { panic!("it is refused") };
    leader.persisted(id);
    let id = leader.lead(ReplicaId(1), config).expect("it may lead");
    leader.persisted(id);
    let id = leader.appended(Seq(55));
    leader.persisted(id);
    let (mut follower, mut frames) = (Replica::new(Seq(0)), 0);
    while let Some(append) = leader.next_append(ReplicaId(2)) {
        let append = leader.with_entries(append, append_range(&leader));
        leader.sent(ReplicaId(2), &append);
        let mut frame = Vec::new();
        let mut writer = ReplicasWriter::new(&mut frame, usize::MAX);
        writer.put_append(PartitionId::numbered(1), &append, &[]).expect("there is room");
        let answer = follow(&mut follower, &frame);
        lead(&mut leader, &answer);
        frames += 1;
        assert!(frames < 10, "they do not end");
    }
    assert_eq!((leader.committed(), follower.log().end()), (Seq(55), Seq(55)));
}

fn append_range(leader: &Replica) -> core::ops::Range<Seq> {
    leader.log().start()..leader.log().end()
}

fn items(frame: &[u8]) -> Vec<(PartitionId, ReplicaMessage<'_>)> {
    match Whole::decode(frame) {
        Ok(Whole::Replicas(items)) => items,
        other => panic!("{other:?}"),
    }
}

/// What a follower answers.
fn follow(follower: &mut Replica, frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = ReplicasWriter::new(&mut out, usize::MAX);
    for (partition, message) in items(frame) {
        let ReplicaMessage::Append { append, .. } = message else { panic!("{message:?}") };
        match follower.receive_append(ReplicaId(1), &append).expect("a leader sent it") {
            Received::Answer(Answer::Diverged(answer)) => {
                writer.put_diverged(partition, answer).expect("there is room");
            }
            Received::Store(stored) => follower.persisted(stored.id),
            // What is committed is told without entries.
            Received::Nothing => {}
            Received::Answer(Answer::Refused(answer)) => panic!("{answer:?}"),
        }
        if let Some((ReplicaId(1), answer)) = follower.take_answer() {
            writer.put_appended(partition, answer).expect("there is room");
        }
    }
    out
}

fn lead(leader: &mut Replica, frame: &[u8]) {
    for (_, message) in items(frame) {
        match message {
            ReplicaMessage::Appended(answer) => leader.receive_appended(ReplicaId(2), answer),
            ReplicaMessage::Diverged(answer) => leader.receive_diverged(ReplicaId(2), answer),
            other => panic!("{other:?}"),
        }
    }
}
