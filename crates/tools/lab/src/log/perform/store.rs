//! What messages take on the disk beyond their content.

use std::io;
use std::time::Instant;

use log_client::load::{Fill, fill};
use tools_lab_report::figure;
use tools_testbed::meter::{Edge, Edges};

use super::{PHASE, Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};
use crate::measure::Phase;

/// The broker is stopped before its files are counted, and was before it got the messages: all is flushed then, and what it
/// made room for ahead is given back.
pub(super) fn perform(
    (batch, batches): (usize, u64),
    stand: &mut Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "store"), 1, Mode::PageCache)?;
    stand.stop().map_err(io::Error::other)?;
    let before = stand.disk_bytes();
    stand.restart().map_err(io::Error::other)?;
    topic.wait(turn)?;
    let load = Fill {
        address: stand.address()?,
        topic: topic.name.clone(),
        partitions: 1,
        batches,
        batch,
        message_bytes: MESSAGE_BYTES,
    };
    edges(Edge::Begin, PHASE);
    let began = Instant::now();
    let acknowledged = fill(&load, turn.patience)?;
    let mut phase = Phase::new(PHASE);
    (phase.operations, phase.elapsed) = (acknowledged, began.elapsed());
    edges(Edge::End, PHASE);
    let mut seen = Seen::default();
    seen.outcome.phases.push(phase);
    topic.check(acknowledged, turn, &mut seen.outcome)?;
    stand.stop().map_err(io::Error::other)?;
    let each = (stand.disk_bytes() as f64 - before as f64) / acknowledged as f64;
    seen.figures.insert(figure::OVERHEAD, each - MESSAGE_BYTES as f64);
    stand.restart().map_err(io::Error::other)?;
    topic.delete()?;
    Ok(seen)
}
