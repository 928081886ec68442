//! What recipes of other systems do, with built-in objects: locks, double barriers, counters. Each load holds its answers against
//! what must be so at any server: one holder, rising fences, whole rounds, a sum.

mod barrier;
mod counter;
mod crowd;
mod holder;
mod lock;
mod query;
#[cfg(test)]
mod void;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tools_testbed::meter::{Edge, Edges};

use super::Order;
use super::asker::Asker;
use super::http::{Answer, unexpected};
use crate::measure::Phase;
use crate::task::{Kind, Outcome};
use crowd::{Crowd, Heard};

/// A load in which what a client asks next depends on its answers.
trait Recipe {
    /// The name of what is measured.
    const NAME: &'static str;

    /// The first requests.
    fn begin(&mut self, crowd: &mut Crowd<'_>) -> io::Result<()>;

    /// An answer; what follows from it is asked for.
    fn heard(&mut self, heard: &Heard, crowd: &mut Crowd<'_>, tally: &mut Tally) -> io::Result<()>;

    /// What a client does at a moment and not upon an answer; how long until the next one.
    fn due(&mut self, _crowd: &mut Crowd<'_>) -> Option<Duration> {
        None
    }

    /// Looks at the object when everything is answered.
    fn end(&mut self, asker: &mut Asker<'_>, tally: &mut Tally) -> io::Result<()>;
}

/// What was seen so far.
struct Tally {
    phase: Phase,
    outcome: Outcome,
    /// Whether what is answered counts.
    counts: bool,
    /// Whether nothing new is to begin.
    is_ending: bool,
}

impl Tally {
    fn record(&mut self, took: Duration) {
        if self.counts {
            self.phase.record(took);
        }
    }

    fn hold(&mut self, judged: Result<(), String>) {
        if let Err(wrong) = judged {
            self.outcome.tell(|| wrong);
        }
    }
}

/// Performs one of these loads.
///
/// # Errors
/// A connection failed, a member was silent for too long, or a request was refused.
pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    match order.task.kind {
        Kind::LockPair => run(order, edges, lock::Lock::new(false)),
        Kind::HandOff => run(order, edges, lock::Lock::new(true)),
        Kind::DoubleBarrier => run(order, edges, barrier::Barrier::new(order)?),
        Kind::Increment => run(order, edges, counter::Counter::new()),
        Kind::StaleQuery => run(order, edges, query::Query::new(order)?),
        _ => Err(io::Error::other("this is not a recipe")),
    }
}

fn run<R: Recipe>(order: &Order<'_>, edges: &mut Edges<'_>, mut recipe: R) -> io::Result<Outcome> {
    let mut crowd = Crowd::connect(order)?;
    let phase = Phase::new(R::NAME);
    let mut tally = Tally { phase, outcome: Outcome::default(), counts: false, is_ending: false };
    let [warm_up, measured] = [order.task.warm_up_ms, order.task.measured_ms].map(Duration::from_millis);
    recipe.begin(&mut crowd)?;
    turns(&mut recipe, &mut crowd, &mut tally, warm_up)?;
    edges(Edge::Begin, R::NAME);
    tally.counts = true;
    let began = Instant::now();
    turns(&mut recipe, &mut crowd, &mut tally, measured)?;
    tally.phase.elapsed = began.elapsed();
    tally.counts = false;
    edges(Edge::End, R::NAME);
    tally.is_ending = true;
    while !crowd.is_idle() || recipe.due(&mut crowd).is_some() {
        turns(&mut recipe, &mut crowd, &mut tally, Duration::ZERO)?;
    }
    recipe.end(&mut Asker::new(order.endpoints, 0, order.patience), &mut tally)?;
    Ok(Outcome { phases: vec![tally.phase], ..tally.outcome })
}

/// Takes turns for so long, one at the least.
fn turns<R: Recipe>(
    recipe: &mut R,
    crowd: &mut Crowd<'_>,
    tally: &mut Tally,
    time: Duration,
) -> io::Result<()> {
    let began = Instant::now();
    loop {
        let left = match time.is_zero() {
            true => super::super::TURN_MAX,
            false => time.saturating_sub(began.elapsed()),
        };
        let due = recipe.due(crowd).unwrap_or(left);
        for heard in crowd.turn(due.min(left))? {
            recipe.heard(&heard, crowd, tally)?;
        }
        if began.elapsed() >= time {
            return Ok(());
        }
    }
}

/// An object of this load alone.
fn own(of: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("objects/{of}/lab-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The answer, if it is a result.
fn result<'h>(heard: &'h Heard, what: &str) -> io::Result<&'h Answer> {
    match heard.answer.status {
        200 => Ok(&heard.answer),
        _ => Err(unexpected(what, &heard.answer)),
    }
}
