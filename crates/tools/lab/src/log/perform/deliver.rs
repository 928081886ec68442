//! From a producer at a fixed rate to a consumer that waits.

use std::io;

use log_client::load::{Deliver, deliver};
use tools_testbed::meter::Edges;

use super::{Seen, Topic, Turn, both, phase};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

pub(super) fn perform(
    (mode, batch, per_second): (Mode, usize, f64),
    stand: &Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "deliver"), 1, mode)?;
    let load = Deliver {
        address: topic.address,
        topic: topic.name.clone(),
        per_second,
        batch,
        message_bytes: MESSAGE_BYTES,
        acks: 1,
    };
    let measured = deliver(&load, turn.warm_up, turn.measured, both(edges))?;
    let mut seen = Seen::default();
    seen.outcome.checked.reads += measured.messages;
    seen.outcome.phases.push(phase(&measured));
    topic.check(measured.total, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}
