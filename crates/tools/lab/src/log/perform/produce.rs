//! Producers write, as many requests as they may or at a fixed rate.

use std::io;
use std::time::Duration;

use log_client::load::{Pace, Produce, produce};
use tools_testbed::meter::Edges;

use super::{Seen, Topic, Turn, both, phase};
use crate::log::job::{Job, MESSAGE_BYTES};
use crate::log::{Contestant, Mode, Stand};

pub(super) fn perform(job: &Job, stand: &Stand, turn: Turn, edges: &mut Edges<'_>) -> io::Result<Seen> {
    let Some((mode, load)) = load(job) else { return Err(io::ErrorKind::InvalidInput.into()) };
    if matches!(stand.contestant(), Contestant::Bare(_) | Contestant::Resting(_)) {
        let topic = String::from("file");
        let load = Produce { address: stand.address()?, follows_leaders: false, topic, ..load };
        return bare(load, turn, edges);
    }
    let mut turn = turn;
    if matches!(load.pace, Pace::Open { .. }) {
        // What a cold broker is late with must not be waited for by what counts.
        let cold = Topic::make(stand, (turn, "warm-up"), load.partitions, mode)?;
        let load = Produce { address: cold.address, topic: cold.name.clone(), ..load.clone() };
        produce(&load, Duration::ZERO, turn.warm_up, || ())?;
        cold.delete()?;
        turn = turn.warmed_up();
    }
    let topic = Topic::make(stand, (turn, "produce"), load.partitions, mode)?;
    let load = Produce { address: topic.address, topic: topic.name.clone(), ..load };
    let measured = produce(&load, turn.warm_up, turn.measured, both(edges))?;
    let mut seen = Seen::default();
    seen.outcome.phases.push(phase(&measured));
    topic.check(measured.total, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}

/// On a server that keeps nothing to be counted again.
fn bare(load: Produce, turn: Turn, edges: &mut Edges<'_>) -> io::Result<Seen> {
    let measured = produce(&load, turn.warm_up, turn.measured, both(edges))?;
    let mut seen = Seen::default();
    seen.outcome.phases.push(phase(&measured));
    Ok(seen)
}

/// The load, without where it goes.
fn load(job: &Job) -> Option<(Mode, Produce)> {
    let Job::Produce { mode, producers, batch, outstanding, requests_per_second, is_idempotent } = job else {
        return None;
    };
    let load = Produce {
        address: ([127, 0, 0, 1], 0).into(),
        follows_leaders: true,
        topic: String::new(),
        partitions: i32::try_from(*producers).ok()?,
        connections: *producers,
        pace: match *outstanding {
            0 => Pace::Open { per_second: *requests_per_second },
            outstanding => Pace::Closed { outstanding },
        },
        batch: *batch,
        message_bytes: MESSAGE_BYTES,
        acks: if *is_idempotent { -1 } else { 1 },
        is_idempotent: *is_idempotent,
    };
    Some((*mode, load))
}
