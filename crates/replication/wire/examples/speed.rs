//! How long it takes to encode and to decode appends of 100 partitions with 200 bytes of entries each, in one message.
//!
//! `cargo run --release -p replication-wire --example speed`

use std::hint::black_box;
use std::time::Instant;

use replication_appointed::{Append, Epoch, Position, Seq};
use replication_controller::PartitionId;
use replication_wire::{BATCH_BYTES_MAX, Message, ReplicaMessage, ReplicasWriter};

const PARTITIONS: u32 = 100;
const ENTRIES: [u8; 200] = [7; 200];
/// Messages in one measurement, and measurements.
const MESSAGES: u32 = 20_000;
const ROUNDS: usize = 9;

fn main() {
    let appends: Vec<(PartitionId, Append)> = (0..PARTITIONS).map(append).collect();
    let mut frame = Vec::new();
    let (mut encodes, mut decodes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        encodes.push(nanoseconds_per_partition(|| {
            frame.clear();
            encode(&mut frame, black_box(&appends));
        }));
        let mut entries = 0;
        decodes.push(nanoseconds_per_partition(|| entries += decode(black_box(&frame))));
        assert_eq!(entries, (ENTRIES.len() as u32 * PARTITIONS * MESSAGES) as usize);
    }
    println!("{PARTITIONS} partitions with {} bytes of entries each: {} bytes", ENTRIES.len(), frame.len());
    println!("encode: {}", told(encodes));
    println!("decode: {}", told(decodes));
}

fn append(index: u32) -> (PartitionId, Append) {
    let end = 1_000_000_000 + u64::from(index) * 1_000;
    let append = Append {
        epoch: Epoch(12),
        epoch_start: Seq(900_000_000),
        after: Position { epoch: Epoch(12), end: Seq(end) },
        to: Seq(end + 4),
        starts: Vec::new(),
        committed: Seq(end - 3),
        start: Seq(800_000_000),
        resets: None,
        probes: false,
        round: replication_appointed::Round(0),
    };
    (PartitionId { group: [(index / 10) as u8; 16], index }, append)
}

fn encode(frame: &mut Vec<u8>, appends: &[(PartitionId, Append)]) {
    let mut writer = ReplicasWriter::new(frame, BATCH_BYTES_MAX);
    for (partition, append) in appends {
        writer.put_append(*partition, append, &[&ENTRIES]).expect("there is room");
    }
}

/// Decodes all of it; how many bytes of entries there are.
fn decode(frame: &[u8]) -> usize {
    let Ok(Message::Replicas(items)) = Message::decode(frame) else { panic!("no message") };
    let entries = items.map(|item| match item.expect("it was encoded") {
        (_, ReplicaMessage::Append { entries, append }) => {
            black_box(&append);
            entries.len()
        }
        other => panic!("{other:?}"),
    });
    entries.sum()
}

fn nanoseconds_per_partition(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..MESSAGES {
        work();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(MESSAGES) / f64::from(PARTITIONS)
}

fn told(mut measured: Vec<f64>) -> String {
    measured.sort_by(f64::total_cmp);
    let (least, median, most) = (measured[0], measured[ROUNDS / 2], measured[ROUNDS - 1]);
    format!("{median:.1} ns a partition (least {least:.1}, most {most:.1} of {ROUNDS} measurements)")
}
