//! The jobs that servers of queues can do, by a load program of their own protocols. A message that is read is gone from a
//! queue: what was acknowledged is counted by emptying it.

use std::fmt::Write as _;
use std::io;

use council_client::load::Patience;
use tools_testbed::meter::Edges;

use super::store::{counted, overheads};
use super::{PHASE, Seen, Turn, compare};
use crate::log::job::{Job, MESSAGE_BYTES};
use crate::log::{Mode, Stand};
use crate::task::{Outcome, obey};

/// Messages that are unconfirmed at most while a queue is filled.
const WINDOW: usize = 3200;
/// A queue is filled and emptied at a fraction of the rate of a log: so much less is written to it, ...
const LESS_STORED: u64 = 20;
/// ... and read from it.
const LESS_READ: u64 = 4;

pub(super) fn perform(job: &Job, stand: &mut Stand, turn: Turn, edges: &mut Edges<'_>) -> io::Result<Seen> {
    match job {
        Job::Produce { mode, batch, outstanding, .. } => {
            produce((*mode, batch * outstanding), stand, turn, edges)
        }
        Job::Store { batch, batches } => store(*batch as u64 * batches / LESS_STORED, stand, turn, edges),
        Job::Consume { batches, .. } => consume((50 * batches / LESS_READ, false), stand, turn, edges),
        Job::Queue { messages } => consume((messages / LESS_READ, true), stand, turn, edges),
        _ => Err(io::Error::other("a queue does not do that")),
    }
}

/// One line for the load program.
struct Order<'s> {
    stand: &'s Stand,
    turn: Turn,
    is_persistent: bool,
}

impl Order<'_> {
    fn obey(&self, what: &str, words: &[(&str, u64)], edges: &mut Edges<'_>) -> io::Result<Outcome> {
        let contestant = self.stand.contestant();
        let load = contestant.queue_load().ok_or(io::ErrorKind::InvalidInput)?;
        let Turn { number, warm_up, measured, patience } = self.turn;
        let mut order = format!(
            "do={what} of={} port={} queue=lab-{number} persistent={} bytes={MESSAGE_BYTES} warm_up_ms={} measured_ms={}",
            contestant.name(),
            self.stand.address()?.port(),
            self.is_persistent,
            warm_up.as_millis(),
            measured.as_millis(),
        );
        for (key, value) in words {
            let _ = write!(order, " {key}={value}");
        }
        obey(&load, &order, &Patience { silence: patience, ..Patience::default() }, edges)
    }

    /// Empties the queue: whether there was as much as was acknowledged.
    fn drain(&self, acknowledged: u64, seen: &mut Seen) -> io::Result<()> {
        let outcome = self.obey("drain", &[("expected", acknowledged)], &mut |_, _| {})?;
        compare(acknowledged, outcome.checked.writes, &mut seen.outcome);
        Ok(())
    }
}

/// What an outcome of the load program says of messages that it has counted.
fn taken(outcome: Outcome) -> (u64, Seen) {
    let total = outcome.checked.writes;
    let phases = outcome.phases;
    debug_assert!(phases.iter().all(|phase| phase.name == PHASE));
    (total, Seen { outcome: Outcome { phases, ..Outcome::default() }, ..Seen::default() })
}

fn produce(
    (mode, window): (Mode, usize),
    stand: &mut Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let is_flushed = mode == Mode::Flushed;
    stand.be_flushed(is_flushed).map_err(io::Error::other)?;
    // A journal that is never flushed is written all the same; RabbitMQ has no such thing.
    let is_persistent = is_flushed || stand.contestant().name() == "activemq";
    let order = Order { stand, turn, is_persistent };
    let (acknowledged, mut seen) = taken(order.obey("produce", &[("window", window as u64)], edges)?);
    order.drain(acknowledged, &mut seen)?;
    Ok(seen)
}

fn store(messages: u64, stand: &mut Stand, turn: Turn, edges: &mut Edges<'_>) -> io::Result<Seen> {
    const fn order(stand: &Stand, turn: Turn) -> Order<'_> {
        Order { stand, turn, is_persistent: true }
    }
    // The queue is there before its files are counted.
    order(stand, turn).obey("drain", &[("expected", 0)], &mut |_, _| {})?;
    let mut bytes = vec![counted(stand)?];
    let words = [("messages", messages / 2), ("window", WINDOW as u64)];
    let mut acknowledged = 0;
    let mut seen = Seen::default();
    for _ in 0..2 {
        let (taken, part) = taken(order(stand, turn).obey("fill", &words, edges)?);
        acknowledged += taken;
        seen.outcome.phases.extend(part.outcome.phases);
        bytes.push(counted(stand)?);
    }
    seen.figures = overheads(&bytes, acknowledged);
    order(stand, turn).drain(acknowledged, &mut seen)?;
    Ok(seen)
}

/// Each message may be acknowledged by itself, or many at once.
fn consume(
    (messages, is_singly): (u64, bool),
    stand: &Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let order = Order { stand, turn, is_persistent: false };
    let words = [("messages", messages), ("window", WINDOW as u64)];
    let acknowledged = order.obey("fill", &words, &mut |_, _| {})?.checked.writes;
    let expected = [("expected", acknowledged), ("singly", is_singly.into())];
    let (received, mut seen) = taken(order.obey("consume", &expected, edges)?);
    compare(acknowledged, received, &mut seen.outcome);
    Ok(seen)
}
