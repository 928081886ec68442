//! One consumer reads a partition again and again, from the page cache.

use std::io;

use log_client::load::{Consume, Fill, consume, fill};
use tools_testbed::meter::Edges;

use super::{Seen, Topic, Turn, both, phase};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Contestant, Mode, Stand};

const BATCH: usize = 50;

pub(super) fn perform(
    (fetch_bytes, batches): (i32, u64),
    stand: &Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let mut seen = Seen::default();
    let topic = match stand.contestant() {
        // It has its messages already, and is asked for nothing else.
        Contestant::Bare(_) => None,
        _ => Some(filled(batches, stand, turn, &mut seen)?),
    };
    let load = Consume {
        address: stand.address()?,
        topic: topic.as_ref().map_or_else(|| String::from("file"), |topic| topic.name.clone()),
        partitions: 1,
        connections: 1,
        fetch_bytes,
    };
    let measured = consume(&load, turn.warm_up, turn.measured, both(edges))?;
    seen.outcome.checked.reads += measured.messages;
    seen.outcome.phases.push(phase(&measured));
    topic.map_or(Ok(()), Topic::delete)?;
    Ok(seen)
}

/// A partition with so many batches, all of which were read once: they are in the page cache.
fn filled(batches: u64, stand: &Stand, turn: Turn, seen: &mut Seen) -> io::Result<Topic> {
    let topic = Topic::make(stand, (turn, "consume"), 1, Mode::PageCache)?;
    let load = Fill {
        address: topic.address,
        topic: topic.name.clone(),
        partitions: 1,
        batches,
        batch: BATCH,
        message_bytes: MESSAGE_BYTES,
    };
    let acknowledged = fill(&load, turn.patience)?;
    topic.check(acknowledged, turn, &mut seen.outcome)?;
    Ok(topic)
}
