//! Running a load: requests by the pace, latencies into a histogram.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::connection::Heard;
use super::runner::{PATIENCE, Runner};
use super::script::Dice;
use super::{Mix, Nodes, Pace};

/// A load on one server, or on several of one ensemble.
#[derive(Clone, Debug)]
pub struct Load {
    /// The servers' client ports: connections go to each in turn.
    pub addresses: Vec<SocketAddr>,
    /// Connections, each with a session.
    pub connections: usize,
    /// When requests are sent.
    pub pace: Pace,
    /// What they ask.
    pub mix: Mix,
    /// Of which nodes.
    pub nodes: Nodes,
    /// What the choice of operations and nodes is drawn from.
    pub seed: u64,
}

/// What a load measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Requests answered without an error.
    pub operations: u64,
    /// Requests answered with one.
    pub errors: u64,
    /// From the first request counted to the last answer.
    pub elapsed: Duration,
    /// Microseconds from the moment a request was due to its answer.
    pub latency: Histogram<u64>,
    /// The longest time without any answer.
    pub longest_gap: Duration,
    /// Requests that were still outstanding when the time was over, and were then waited for.
    pub drained: u64,
}

impl Measured {
    /// Requests answered a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// A percentile of the latency, in milliseconds.
    #[must_use]
    pub fn latency_ms(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1000.0
    }
}

/// Runs a load for `warm_up` without counting, then for `duration`. Calls `edge` at both ends of the latter, to take
/// what else is measured.
///
/// # Errors
/// A connection failed or was closed: a load that loses connections measures nothing.
pub fn run(
    load: &Load,
    warm_up: Duration,
    duration: Duration,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let mut runner = Runner::connect(&load.addresses, load.connections)?;
    let mut state = State::new(load);
    state.drive(&mut runner, Instant::now() + warm_up)?;
    edge();
    state.reset();
    let began = Instant::now();
    state.drive(&mut runner, began + duration)?;
    // A disk that stalls for the whole of a short run leaves nothing to divide by: it goes on until something came.
    while state.operations + state.errors == 0 && began.elapsed() < PATIENCE {
        state.drive(&mut runner, Instant::now() + Duration::from_millis(10))?;
    }
    let elapsed = began.elapsed();
    edge();
    let counted = state.measured(elapsed);
    state.finish(&mut runner)?;
    runner.close()?;
    let answered = state.operations + state.errors;
    let drained = answered - counted.operations - counted.errors;
    Ok(Measured { latency: state.latency, drained, ..counted })
}

/// What a run has counted so far.
struct State<'a> {
    load: &'a Load,
    dice: Dice,
    value: Vec<u8>,
    latency: Histogram<u64>,
    operations: u64,
    errors: u64,
    last_answer: Instant,
    longest_gap: Duration,
    /// Open pace: when the schedule began and how many requests are sent of it.
    schedule: (Instant, u64),
}

impl<'a> State<'a> {
    fn new(load: &'a Load) -> Self {
        Self {
            load,
            dice: Dice::new(load.seed),
            value: vec![b'w'; load.nodes.value_bytes],
            latency: Histogram::new_with_bounds(1, 600_000_000, 3).expect("the bounds are fixed and valid"),
            operations: 0,
            errors: 0,
            last_answer: Instant::now(),
            longest_gap: Duration::ZERO,
            schedule: (Instant::now(), 0),
        }
    }

    fn reset(&mut self) {
        self.latency.reset();
        (self.operations, self.errors) = (0, 0);
        self.longest_gap = Duration::ZERO;
        self.last_answer = Instant::now();
    }

    fn measured(&self, elapsed: Duration) -> Measured {
        Measured {
            operations: self.operations,
            errors: self.errors,
            elapsed,
            latency: self.latency.clone(),
            longest_gap: self.longest_gap,
            drained: 0,
        }
    }

    fn drive(&mut self, runner: &mut Runner, until: Instant) -> io::Result<()> {
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(());
            }
            let wait = self.send_due(runner, now)?.min(until - now);
            self.take_answers(runner, wait)?;
        }
    }

    /// Sends what is due; gives the time until more is.
    fn send_due(&mut self, runner: &mut Runner, now: Instant) -> io::Result<Duration> {
        let Self { load, dice, value, schedule, .. } = self;
        match load.pace {
            Pace::Closed { outstanding } => {
                for connection in &mut runner.connections {
                    while connection.outstanding() < outstanding {
                        connection.ask(now, |xid, out| dice.request(xid, load.nodes, load.mix, value, out));
                    }
                    connection.send()?;
                }
                Ok(Duration::from_secs(1))
            }
            Pace::Open { per_second } => {
                let due = (now.duration_since(schedule.0).as_secs_f64() * per_second) as u64;
                while schedule.1 <= due {
                    let asked = schedule.0 + Duration::from_secs_f64(schedule.1 as f64 / per_second);
                    let place = schedule.1 as usize % runner.connections.len();
                    let connection = &mut runner.connections[place];
                    connection.ask(asked, |xid, out| dice.request(xid, load.nodes, load.mix, value, out));
                    connection.send()?;
                    schedule.1 += 1;
                }
                let next = schedule.0 + Duration::from_secs_f64(schedule.1 as f64 / per_second);
                Ok(next.saturating_duration_since(Instant::now()))
            }
        }
    }

    fn take_answers(&mut self, runner: &mut Runner, wait: Duration) -> io::Result<()> {
        let Self { latency, operations, errors, last_answer, longest_gap, .. } = self;
        runner.turn(wait, |_, heard, now| {
            let Heard::Answer(answer) = heard else { return };
            latency.saturating_record(now.duration_since(answer.asked).as_micros() as u64);
            *operations += u64::from(answer.error == 0);
            *errors += u64::from(answer.error != 0);
            *longest_gap = (*longest_gap).max(now.duration_since(*last_answer));
            *last_answer = now;
        })
    }

    /// Waits for what is outstanding: in an open pace a request that was due counts however late its answer is.
    fn finish(&mut self, runner: &mut Runner) -> io::Result<()> {
        let began = Instant::now();
        while runner.is_owed() {
            if began.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the last requests were not answered"));
            }
            self.take_answers(runner, Duration::from_millis(10))?;
        }
        Ok(())
    }
}
