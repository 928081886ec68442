//! From a producer at a fixed rate to a consumer that waits.

use std::io;
use std::time::Duration;

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
    let load = |topic: &Topic| Deliver {
        address: topic.address,
        topic: topic.name.clone(),
        per_second,
        batch,
        message_bytes: MESSAGE_BYTES,
        acks: 1,
    };
    // What a cold broker is late with must not be waited for by what counts.
    let cold = Topic::make(stand, (turn, "warm-up"), 1, mode)?;
    deliver(&load(&cold), Duration::ZERO, turn.warm_up, || ())?;
    cold.delete()?;
    let topic = Topic::make(stand, (turn, "deliver"), 1, mode)?;
    let turn = turn.warmed_up();
    let measured = deliver(&load(&topic), turn.warm_up, turn.measured, both(edges))?;
    let mut seen = Seen::default();
    seen.outcome.checked.reads += measured.messages;
    seen.outcome.phases.push(phase(&measured));
    topic.check(measured.total, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}
