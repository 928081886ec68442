//! Bytes that no node sends: cut, changed, with values that the types forbid.

use base::Random;
use replication_appointed::{
    Append, Appended, Diverged, Epoch, EpochStart, Position, Refused, ReplicaId, Round, Seq,
};
use replication_controller::{FenceAnswer, FenceRequest, PartitionId, Promise, Report, Task, Version, Work};
use replication_wire::{ControllerMessage, NodeMessage, ReplicaMessage, VERSION, WireError};

use crate::generate::{self, KINDS};
use crate::{Whole, decode};

/// Bytes of messages of every kind.
fn messages(seeds: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..seeds).map(|seed| generate::message(seed % KINDS, &mut Random::new(seed)).encode())
}

#[test]
fn every_cut_of_a_message_is_an_error() {
    for bytes in messages(2_000) {
        for end in 0..bytes.len() {
            let decoded = decode(&bytes[..end]);
            assert!(decoded.is_err(), "{bytes:02x?} cut to {end} is {decoded:?}");
        }
    }
}

#[test]
fn bytes_behind_a_message_are_an_error() {
    for mut bytes in messages(500) {
        for byte in [0, 1, 0x80, 0xff] {
            bytes.push(byte);
            assert!(decode(&bytes).is_err(), "{bytes:02x?}");
            bytes.pop();
        }
    }
}

#[test]
fn every_changed_byte_is_an_error_or_another_message_in_its_one_form() {
    let (mut errors, mut others) = (0, 0);
    for mut bytes in messages(270) {
        for at in 0..bytes.len() {
            let byte = bytes[at];
            for changed in (0..=u8::MAX).filter(|changed| *changed != byte) {
                bytes[at] = changed;
                match decode(&bytes) {
                    Ok(other) => {
                        assert_eq!(other.encode(), bytes, "{other:?}");
                        others += 1;
                    }
                    Err(_) => errors += 1,
                }
            }
            bytes[at] = byte;
        }
    }
    assert!(errors > 100_000 && others > 100_000, "{errors} errors, {others} other messages");
}

#[test]
fn unknown_version_and_unknown_kinds_are_told() {
    let bytes = Whole::Node(NodeMessage::Draining { drains: true }).encode();
    for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
        let changed = [&[version], &bytes[1..]].concat();
        assert_eq!(decode(&changed), Err(WireError::UnknownVersion(version)));
    }
    let known = [0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x31];
    for kind in 0..=u8::MAX {
        let is_unknown = decode(&[VERSION, kind]) == Err(WireError::UnknownKind(kind));
        assert_eq!(is_unknown, !known.contains(&kind), "{kind:#x}");
    }
    for kind in (0..=u8::MAX).filter(|kind| !matches!(kind, 2..=4) && kind & !0x70 != 1) {
        let item = [VERSION, 1, 1, 0, 0, 0, 1, b'g', b'g', b'g', b'g', b'g', b'g', b'g', b'g'];
        let item = [&item[..], &[b'g'; 8], &[kind, 5, 0, 0]].concat();
        assert_eq!(decode(&item), Err(WireError::UnknownKind(kind)));
    }
}

#[test]
fn count_that_the_bytes_cannot_hold_is_an_error_before_memory_is_taken() {
    for kind in [0x01, 0x11, 0x12, 0x13, 0x22, 0x23] {
        let mut bytes = vec![VERSION, kind, 0xff, 0xff, 0xff, 0xff];
        bytes.extend_from_slice(&[1; 64]);
        assert_eq!(decode(&bytes), Err(WireError::Cut), "{kind:#x}");
    }
}

fn refused(message: Whole<'_>) {
    let decoded = decode_owned(&message.encode());
    assert!(decoded.is_err(), "{message:?} was decoded");
}

fn decode_owned(bytes: &[u8]) -> Result<(), WireError> {
    decode(bytes).map(|_| ())
}

fn refused_item(message: ReplicaMessage<'_>) {
    refused(Whole::Replicas(vec![(PartitionId { group: [1; 16], index: 2 }, message)]));
}

/// Entries 10 to 30 for a follower that has those before, the last of them of epoch 4; epoch 6 begins at 15, the leader's at 20.
fn append() -> Append {
    let start = |epoch, start| EpochStart { epoch: Epoch(epoch), start: Seq(start) };
    Append {
        epoch: Epoch(7),
        epoch_start: Seq(20),
        after: Position { epoch: Epoch(4), end: Seq(10) },
        to: Seq(30),
        starts: vec![start(6, 15), start(7, 20)],
        committed: Seq(12),
        start: Seq(9),
        resets: None,
        probes: false,
        round: Round(3),
    }
}

#[test]
fn append_that_no_leader_sends_is_an_error() {
    let good = append();
    let message = |append| ReplicaMessage::Append { append, entries: b"" };
    let partition = PartitionId { group: [1; 16], index: 2 };
    let whole = Whole::Replicas(vec![(partition, message(good.clone()))]);
    assert_eq!(decode(&whole.encode()), Ok(whole.clone()));
    let starts = |starts: &[(u32, u64)]| {
        let of = |(epoch, start): &(u32, u64)| EpochStart { epoch: Epoch(*epoch), start: Seq(*start) };
        starts.iter().map(of).collect::<Vec<_>>()
    };
    let after = |epoch, end| Position { epoch: Epoch(epoch), end: Seq(end) };
    for wrong in [
        Append { epoch: Epoch::NONE, ..good.clone() },
        Append { after: after(8, 10), ..good.clone() },
        Append { after: after(4, 31), ..good.clone() },
        Append { to: Seq(9), ..good.clone() },
        Append { start: Seq(13), ..good.clone() },
        Append { to: Seq(20), ..good.clone() },
        Append { epoch_start: Seq(21), ..good.clone() },
        Append { starts: starts(&[(7, 20), (6, 15)]), ..good.clone() },
        Append { starts: starts(&[(6, 15), (6, 20)]), ..good.clone() },
        Append { starts: starts(&[(6, 20), (7, 20)]), ..good.clone() },
        Append { starts: starts(&[(3, 15), (7, 20)]), ..good.clone() },
        Append { starts: starts(&[(6, 9), (7, 20)]), ..good.clone() },
        Append { starts: starts(&[(6, 15), (7, 20), (8, 25)]), ..good.clone() },
        Append { starts: starts(&[(6, 15)]), ..good.clone() },
        Append { starts: Vec::new(), after: after(7, 20), ..good.clone() },
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
        refused_item(message(wrong));
    }
    let empty = Append { to: Seq(10), starts: Vec::new(), ..good };
    refused_item(ReplicaMessage::Append { append: empty, entries: b"entries of nothing" });
}

#[test]
fn list_of_epochs_that_is_there_and_empty_is_an_error() {
    // Of partition 7: kind, epoch 3 from entry 4 on, after entry 9 of the same epoch, nothing committed, no round, no entries.
    let item = |kind: u8, starts: &[u8]| {
        let head = [&[VERSION, 1, 1, 0, 0, 0, 15], &[b'g'; 16][..]].concat();
        let bytes = [&head[..], &[kind, 3, 4, 0, 9, 0, 17, 0, 0], starts, &[0]].concat();
        Whole::decode(&bytes).map(|_| ())
    };
    assert_eq!(item(0x01, &[]), Ok(()));
    assert!(matches!(item(0x41, &[0]), Err(WireError::Forbidden(_))), "{:?}", item(0x41, &[0]));
}

#[test]
fn answer_of_an_epoch_that_cannot_be_is_an_error() {
    let position = |epoch| Position { epoch: Epoch(epoch), end: Seq(9) };
    refused_item(ReplicaMessage::Appended(Appended {
        epoch: Epoch::NONE,
        durable: Seq(1),
        start: Seq(0),
        round: Round(0),
    }));
    refused_item(ReplicaMessage::Diverged(Diverged { epoch: Epoch::NONE, common: position(0) }));
    refused_item(ReplicaMessage::Diverged(Diverged { epoch: Epoch(3), common: position(4) }));
    refused_item(ReplicaMessage::Refused(Refused { promised: Epoch::NONE }));
    refused_item(ReplicaMessage::Refused(Refused { promised: Epoch(1) }));
    let answer = |epoch, promise| {
        let answer = FenceAnswer { partition: PartitionId::numbered(1), epoch: Epoch(epoch), promise };
        refused(Whole::Node(NodeMessage::Promised(vec![answer])));
    };
    answer(0, Promise::Given(position(0)));
    answer(3, Promise::Given(position(4)));
    answer(3, Promise::Refused(Epoch(3)));
    answer(3, Promise::Refused(Epoch(0)));
    let report = |epoch, promised, leads| {
        let (partition, version) = (PartitionId::numbered(1), Version(2));
        let report = Report { partition, version, epoch: Epoch(epoch), promised: Epoch(promised), leads };
        let incarnation = replication_controller::Incarnation(1);
        refused(Whole::Node(NodeMessage::Reported { incarnation, reports: vec![report] }));
    };
    report(0, 0, false);
    report(3, 4, true);
    let to = ReplicaId(1);
    refused(Whole::Node(NodeMessage::Prepared {
        partition: PartitionId::numbered(1),
        epoch: Epoch::NONE,
        to,
    }));
}

#[test]
fn request_of_an_epoch_that_cannot_be_is_an_error() {
    let partition = PartitionId::numbered(1);
    let fence = FenceRequest { partition, epoch: Epoch::NONE };
    refused(Whole::Controller(ControllerMessage::Fence(vec![fence])));
    let hand_over = Task { partition, epoch: Epoch::NONE, work: Work::HandOver { to: ReplicaId(1) } };
    refused(Whole::Controller(ControllerMessage::Ask(vec![hand_over])));
    let mut known = generate::known(&mut Random::new(1));
    let next = known.record.config.epoch;
    for epoch in [Epoch(next.0.wrapping_sub(2)), next, Epoch(next.0 + 1)] {
        let work = Work::Change { version: Version(1), record: Box::new(known.record.clone()) };
        refused(Whole::Controller(ControllerMessage::Ask(vec![Task { partition, epoch, work }])));
    }
    known.record.config.epoch = Epoch::NONE;
    refused(Whole::Controller(ControllerMessage::Tell(vec![known])));
}

#[test]
fn record_with_wrong_replicas_is_an_error() {
    // Flags, epoch, leader, two voters, durable on one, no learner, nobody preferred.
    let tell = |record: &[u8]| {
        let head = [&[VERSION, 0x12, 1, 0, 0, 0, 3], &[b'g'; 16][..], &[5]].concat();
        decode_owned(&[&head, record].concat())
    };
    assert_eq!(tell(&[1, 4, 9, 2, 9, 1, 1, 0, 0]), Ok(()));
    let forbidden = |record: &[u8]| {
        assert!(matches!(tell(record), Err(WireError::Forbidden(_))), "{record:?}: {:?}", tell(record));
    };
    forbidden(&[1, 4, 9, 2, 9, 0, 1, 0, 0]);
    forbidden(&[1, 4, 9, 0, 1, 0, 0, 0, 0]);
    forbidden(&[1, 4, 9, 2, 9, 1, 0, 0, 0]);
    forbidden(&[1, 4, 9, 2, 9, 1, 3, 0, 0]);
    forbidden(&[1, 4, 9, 2, 9, 1, 1, 2, 7, 0, 0]);
    forbidden(&[0x11, 4, 9, 2, 9, 1, 1, 0, 0]);
    assert_eq!(tell(&[1, 4, 9, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 0, 0]), Err(WireError::Number));
    assert_eq!(tell(&[1, 4, 9, 100, 9, 1, 1, 0, 0]), Err(WireError::Cut));
}

#[test]
fn items_before_a_wrong_one_are_given_out_and_none_behind_it() {
    let partition = |index| PartitionId { group: [1; 16], index };
    let item = |index, epoch| {
        (
            partition(index),
            ReplicaMessage::Appended(Appended {
                epoch: Epoch(epoch),
                durable: Seq(1),
                start: Seq(0),
                round: Round(0),
            }),
        )
    };
    let bytes = Whole::Replicas(vec![item(1, 5), item(2, 0), item(3, 5)]).encode();
    let Ok(replication_wire::Message::Replicas(mut items)) = replication_wire::Message::decode(&bytes) else {
        panic!("the head is fine")
    };
    assert_eq!(items.next(), Some(Ok(item(1, 5))));
    assert!(matches!(items.next(), Some(Err(WireError::Forbidden(_)))));
    assert_eq!(items.next(), None);
}
