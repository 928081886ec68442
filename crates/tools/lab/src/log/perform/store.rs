//! What messages take on the disk beyond their content.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use log_client::load::{Fill, fill};
use tools_lab_report::figure;
use tools_testbed::meter::{Edge, Edges};

use super::{PHASE, Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};
use crate::measure::Phase;

/// The messages are written in two equal parts. Before the first, between them and behind the second the broker is stopped, and
/// its files are counted: all is flushed then. What the second part adds is what messages take; all of both together also has
/// what a broker keeps once, however many messages it has, as a journal.
pub(super) fn perform(
    (batch, batches): (usize, u64),
    stand: &mut Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "store"), 1, Mode::PageCache)?;
    let load = Fill {
        address: stand.address()?,
        topic: topic.name.clone(),
        partitions: 1,
        batches: (batches / 2).max(1),
        batch,
        message_bytes: MESSAGE_BYTES,
    };
    let mut phase = Phase::new(PHASE);
    let mut bytes = vec![counted(stand)?];
    for _ in 0..2 {
        topic.wait(turn)?;
        edges(Edge::Begin, PHASE);
        let began = Instant::now();
        phase.operations += fill(&load, turn.patience)?;
        phase.elapsed += began.elapsed();
        edges(Edge::End, PHASE);
        bytes.push(counted(stand)?);
    }
    topic.wait(turn)?;
    let mut seen = Seen::default();
    topic.check(phase.operations, turn, &mut seen.outcome)?;
    seen.figures = overheads(&bytes, phase.operations);
    seen.outcome.phases.push(phase);
    topic.delete()?;
    Ok(seen)
}

/// The files of a broker that is stopped, which serves again behind that.
pub(super) fn counted(stand: &mut Stand) -> io::Result<u64> {
    stand.stop().map_err(io::Error::other)?;
    let bytes = stand.disk_bytes();
    stand.restart().map_err(io::Error::other)?;
    Ok(bytes)
}

/// What so many messages of both parts take beyond their content, from the bytes before, between and behind the parts.
pub(super) fn overheads(bytes: &[u64], messages: u64) -> BTreeMap<&'static str, f64> {
    let [before, half, all] = bytes else { return BTreeMap::new() };
    let beyond =
        |from: &u64, messages: u64| (*all as f64 - *from as f64) / messages as f64 - MESSAGE_BYTES as f64;
    [(figure::OVERHEAD, beyond(half, messages / 2)), (figure::WHOLE_OVERHEAD, beyond(before, messages))]
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_of_messages_is_without_what_a_broker_keeps_once() {
        // A journal of 5,000 bytes, and 10 bytes beside each of 1,000 messages.
        let part = 500 * (MESSAGE_BYTES as u64 + 10);
        let figures = overheads(&[100, 5_100 + part, 5_100 + 2 * part], 1_000);
        assert_eq!((figures[figure::OVERHEAD], figures[figure::WHOLE_OVERHEAD]), (10.0, 15.0));
    }
}
