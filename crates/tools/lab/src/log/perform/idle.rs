//! Partitions that nobody uses.

use std::io;
use std::thread;

use log_client::load::{Fill, fill};
use tools_lab_report::figure;
use tools_testbed::meter::{Edges, Reading};

use super::{Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// How many periods a broker has time to settle.
const PERIODS_MAX: usize = 15;
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
    let read = || Reading::of_all(&stand.pids());
    settle(turn, &read)?;
    let before = read()?;
    thread::sleep(turn.measured);
    let after = read()?;
    let used = after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1000.0;
    seen.figures.insert(figure::IDLE_CPU, used / turn.measured.as_secs_f64());
    seen.figures.insert(figure::MEMORY, after.resident as f64 / f64::from(1 << 20));
    seen.figures.insert(figure::OPEN_FILES, stand.open_files() as f64);
    Ok(seen)
}

/// Waits until the broker has done what was left to do of the messages: for one period it has used less than a twentieth of a
/// processor. What it has not done after [`PERIODS_MAX`] of them it may be measured with.
fn settle(turn: Turn, read: &impl Fn() -> io::Result<Reading>) -> io::Result<()> {
    for _ in 0..PERIODS_MAX {
        let before = read()?;
        // How long it is left alone is what was asked for.
        thread::sleep(turn.measured);
        if read()?.cpu.saturating_sub(before.cpu) < turn.measured / 20 {
            break;
        }
    }
    Ok(())
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
