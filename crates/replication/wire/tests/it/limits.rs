//! How long messages may be, and that senders keep to it.

use replication_appointed::{Append, Appended, Epoch, Position, ReplicaId, Reset, Round, Seq};
use replication_controller::{Incarnation, PartitionId};
use replication_wire::{BATCH_BYTES_MAX, Full, NodeMessage, ReplicasWriter, VERSION, message_bytes_max};

use crate::{Whole, decode};

const REQUEST_BYTES_MAX: usize = 5 << 20;

#[test]
fn longest_single_messages_are_within_their_limit() {
    let (partition, epoch, to) =
        (PartitionId { group: [7; 16], index: u32::MAX }, Epoch(u32::MAX), ReplicaId(u32::MAX));
    for message in [
        NodeMessage::Announced { incarnation: Incarnation(u64::MAX) },
        NodeMessage::Prepared { partition, epoch, to },
        NodeMessage::Draining { drains: true },
    ] {
        let bytes = Whole::Node(message).encode();
        assert!(bytes.len() <= message_bytes_max(&bytes, REQUEST_BYTES_MAX), "{bytes:?}");
        assert!(message_bytes_max(&bytes, REQUEST_BYTES_MAX) < 64, "nothing of that kind is longer");
    }
}

#[test]
fn limit_of_a_beginning_covers_all_messages_that_begin_so() {
    let of = |beginning: &[u8]| message_bytes_max(beginning, REQUEST_BYTES_MAX);
    for kind in 0..=u8::MAX {
        assert!(of(&[VERSION, kind]) <= of(&[VERSION]) && of(&[VERSION]) <= of(&[]), "{kind:#x}");
    }
    assert_eq!(of(&[VERSION, 0x01]), BATCH_BYTES_MAX + REQUEST_BYTES_MAX);
    assert_eq!(of(&[VERSION, 0x12, 7]), BATCH_BYTES_MAX);
    assert!(of(&[VERSION, 0x77]) < BATCH_BYTES_MAX && of(&[VERSION + 1, 0x01]) < BATCH_BYTES_MAX);
    assert_eq!(message_bytes_max(&[], usize::MAX), usize::MAX);
}

fn append(entries: u64) -> Append {
    Append {
        epoch: Epoch(u32::MAX),
        epoch_start: Seq(1 << 62),
        after: Position { epoch: Epoch(u32::MAX), end: Seq(1 << 63) },
        to: Seq((1 << 63) + entries),
        starts: Vec::new(),
        committed: Seq(0),
        start: Seq(0),
        resets: Some(Reset { always: false, thinned_to: Seq(700) }),
        probes: true,
        round: Round(u64::MAX),
    }
}

#[test]
fn largest_entries_alone_are_within_the_limit() {
    let (mut out, entries) = (Vec::new(), vec![7; REQUEST_BYTES_MAX]);
    let mut writer = ReplicasWriter::new(&mut out, BATCH_BYTES_MAX);
    let partition = PartitionId { group: [7; 16], index: u32::MAX };
    assert_eq!(writer.put_append(partition, &append(9), &[&entries]), Ok(()));
    assert_eq!(
        writer.put_appended(
            partition,
            Appended { epoch: Epoch(1), durable: Seq(1), start: Seq(0), round: Round(0) }
        ),
        Err(Full)
    );
    assert_eq!((writer.count(), writer.bytes()), (1, out.len()));
    assert!(out.len() <= message_bytes_max(&out, REQUEST_BYTES_MAX));
    assert!(decode(&out).is_ok());
}

#[test]
fn full_message_is_as_it_was_before_the_item_that_had_no_room() {
    let mut out = b"bytes that are there already".to_vec();
    let before = out.len();
    let mut writer = ReplicasWriter::new(&mut out, 4096);
    let of = |index| PartitionId { group: [index as u8 / 8; 16], index };
    let taken = (0..).find(|index| writer.put_append(of(*index), &append(2), &[&[7; 200]]).is_err());
    let taken = taken.expect("it is full at some time");
    assert_eq!(writer.count(), taken);
    let (length, first) = (out.len() - before, out[before..].to_vec());
    assert!((4096 - 250..=4096).contains(&length), "{length}");
    let Ok(Whole::Replicas(items)) = decode(&first) else { panic!("{:?}", decode(&first)) };
    assert!(items.iter().map(|(partition, _)| partition.index).eq(0..taken));
}

#[test]
fn append_of_a_follower_that_keeps_up_takes_few_bytes_besides_its_entries() {
    let mut out = Vec::new();
    let mut writer = ReplicasWriter::new(&mut out, BATCH_BYTES_MAX);
    for index in 0..1_000 {
        let (group, end) = ([7; 16], 1_000_000_000 + u64::from(index));
        let append = Append {
            epoch: Epoch(12),
            epoch_start: Seq(900_000_000),
            after: Position { epoch: Epoch(12), end: Seq(end) },
            to: Seq(end + 4),
            committed: Seq(end - 3),
            start: Seq(800_000_000),
            resets: None,
            probes: false,
            round: Round(0),
            starts: Vec::new(),
        };
        writer.put_append(PartitionId { group, index }, &append, &[&[1; 200]]).expect("there is room");
    }
    let besides = out.len() - 200 * 1_000;
    assert!(besides < 25 * 1_000, "{besides} bytes");
}
