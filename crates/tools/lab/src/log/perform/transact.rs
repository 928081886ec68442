//! Read-process-write transactions.

use std::io;

use log_client::load::{Fill, Transact, fill, transact};
use tools_testbed::meter::Edges;

use super::{Seen, Topic, Turn, both, phase};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Transactions that each client reads before it begins again.
const READ: u64 = 200;

pub(super) fn perform(
    (clients, messages): (i32, usize),
    stand: &Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let input = Topic::make(stand, (turn, "input"), clients, Mode::PageCache)?;
    let output = Topic::make(stand, (turn, "output"), clients, Mode::PageCache)?;
    let load = Fill {
        address: input.address,
        topic: input.name.clone(),
        partitions: clients,
        batches: READ * u64::from(clients.unsigned_abs()),
        batch: messages,
        message_bytes: MESSAGE_BYTES,
    };
    fill(&load, turn.patience)?;
    let load =
        Transact { address: input.address, input: input.name.clone(), output: output.name.clone(), clients };
    let measured = transact(&load, turn.warm_up, turn.measured, both(edges))?;
    let mut seen = Seen::default();
    seen.outcome.phases.push(phase(&measured));
    output.check(measured.total, turn, &mut seen.outcome)?;
    input.delete()?;
    output.delete()?;
    Ok(seen)
}
