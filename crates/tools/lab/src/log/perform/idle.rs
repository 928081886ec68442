//! Partitions that nobody uses.

use std::io;
use std::thread;

use log_client::load::{Fill, fill};
use tools_lab_report::figure;
use tools_testbed::meter::{Edges, Reading};

use super::{Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Partitions of a topic.
const EACH: i32 = 1000;

pub(super) fn perform(
    partitions: i32,
    stand: &Stand,
    turn: Turn,
    _edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let mut seen = Seen::default();
    let topics = filled(partitions, stand, turn)?;
    for (topic, acknowledged) in &topics {
        topic.check(*acknowledged, turn, &mut seen.outcome)?;
    }
    // How long it is left alone, and how long it is watched, are what was asked for.
    thread::sleep(turn.measured);
    let read = || Reading::of_all(&stand.pids());
    let before = read()?;
    thread::sleep(turn.measured);
    let after = read()?;
    let used = after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1000.0;
    seen.figures.insert(figure::IDLE_CPU, used / turn.measured.as_secs_f64());
    seen.figures.insert(figure::MEMORY, after.resident as f64 / f64::from(1 << 20));
    seen.figures.insert(figure::OPEN_FILES, stand.open_files() as f64);
    Ok(seen)
}

/// Topics with so many partitions together, each with one message; and what was acknowledged of each.
fn filled(partitions: i32, stand: &Stand, turn: Turn) -> io::Result<Vec<(Topic, u64)>> {
    let mut topics = Vec::new();
    let mut left = partitions;
    while left > 0 {
        let count = left.min(EACH);
        left -= count;
        let topic = Topic::make(stand, (turn, &format!("idle-{left}")), count, Mode::PageCache)?;
        let load = Fill {
            address: topic.address,
            topic: topic.name.clone(),
            partitions: count,
            batches: u64::from(count.unsigned_abs()),
            batch: 1,
            message_bytes: MESSAGE_BYTES,
        };
        let acknowledged = fill(&load, turn.patience)?;
        topics.push((topic, acknowledged));
    }
    Ok(topics)
}
