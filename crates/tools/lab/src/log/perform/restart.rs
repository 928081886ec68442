//! From `kill -9` to the next acknowledged message.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use log_client::load::{Fill, fill};
use tools_lab_report::figure;
use tools_testbed::meter::{Edges, Reading};

use super::{Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Messages of a batch: few requests for many bytes.
const BATCH: usize = 300;
/// Between two tries. Not a synchronisation: only how often we try.
const TRY_EVERY: Duration = Duration::from_millis(2);
/// How long a broker may take: one that reads all of its segments needs most of it.
const START_WITHIN: Duration = Duration::from_secs(600);

pub(super) fn perform(
    (partitions, bytes): (i32, u64),
    stand: &mut Stand,
    turn: Turn,
    _edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "restart"), partitions, Mode::PageCache)?;
    let batches = (bytes / (BATCH * MESSAGE_BYTES) as u64).max(1);
    let load = Fill {
        address: topic.address,
        topic: topic.name.clone(),
        partitions,
        batches,
        batch: BATCH,
        message_bytes: MESSAGE_BYTES,
    };
    let mut acknowledged = fill(&load, turn.patience)?;
    stand.kill().map_err(io::Error::other)?;
    let began = Instant::now();
    stand.launch_again().map_err(io::Error::other)?;
    let one = Fill { partitions: 1, batches: 1, batch: 1, ..load };
    loop {
        match fill(&one, turn.patience) {
            Ok(messages) => {
                acknowledged += messages;
                break;
            }
            Err(error) if began.elapsed() > START_WITHIN => return Err(error),
            Err(_) => thread::sleep(TRY_EVERY),
        }
    }
    let took = began.elapsed();
    let after = Reading::of_all(&stand.pids())?;
    let mut seen = Seen::default();
    seen.figures.insert(figure::START, took.as_secs_f64() * 1000.0);
    seen.figures.insert(figure::START_CPU, after.cpu.as_secs_f64() * 1000.0);
    topic.wait(turn)?;
    topic.check(acknowledged, turn, &mut seen.outcome)?;
    Ok(seen)
}
