//! Running a load: requests by the pace, latencies into a histogram, what is read compared with what was written.

use std::io;
use std::time::{Duration, Instant};

use council_wire::OpCode;
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

use super::connection::Heard;
use super::runner::{Patience, Runner};
use super::script::{Asked, Dice};
use super::servers::Servers;
use super::{Broken, Ledger, Mix, Nodes, Pace, Reader, Stamp};

/// Between two looks at whether a time is over.
const TURN_MAX: Duration = Duration::from_millis(100);

/// A load on one server, or on several of one ensemble.
#[derive(Clone, Debug)]
pub struct Load {
    /// Connections go to each of them in turn.
    pub servers: Servers,
    /// Connections, each with a session.
    pub connections: usize,
    /// When requests are sent.
    pub pace: Pace,
    /// What they ask.
    pub mix: Mix,
    /// The nodes; no other client may write them meanwhile.
    pub nodes: Nodes,
    /// What the choice of operations and nodes is drawn from.
    pub seed: u64,
    /// Whether each answer is compared with what was written, and all nodes that were are read when all is over. The nodes
    /// are then to be as [`prepare`](super::prepare) made them, or as an earlier load left them.
    pub checks: bool,
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
    /// Microseconds from the moment a request was due to its answer, of those answered without an error.
    pub latency: Histogram<u64>,
    /// The longest time without any answer.
    pub longest_gap: Duration,
    /// Requests that were still outstanding when the time was over, and were then waited for.
    pub drained: u64,
    /// Processor time that this thread spent meanwhile, in user space and in the kernel.
    pub cpu: Duration,
    /// Reads that were compared, those after the end included.
    pub reads: u64,
    /// Acknowledged writes that were compared.
    pub writes: u64,
    /// What was found wrong, if it was looked for.
    pub verdict: Result<(), Broken>,
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

    /// What a request cost this thread, in microseconds of processor time.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / (self.operations + self.errors) as f64
    }
}

/// Runs a load for `warm_up` without counting, then for `duration`. Calls `edge` at both ends of the latter, to take
/// what else is measured.
///
/// # Errors
/// A connection failed or was closed: a load that loses connections measures nothing.
pub fn run(load: &Load, warm_up: Duration, duration: Duration, edge: impl FnMut()) -> io::Result<Measured> {
    run_patiently(load, warm_up, duration, &Patience::default(), edge)
}

/// As [`run`], with another patience.
///
/// # Errors
/// A connection failed or was closed, or patience is at its end.
pub fn run_patiently(
    load: &Load,
    warm_up: Duration,
    duration: Duration,
    patience: &Patience,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let mut runner = Runner::connect_patient(&load.servers, load.connections, patience)?;
    let mut state = State::new(load, patience);
    state.drive(&mut runner, Instant::now() + warm_up)?;
    edge();
    state.reset();
    let (began, spent) = (Instant::now(), thread_cpu());
    state.drive(&mut runner, began + duration)?;
    // A disk that stalls for the whole of a short run leaves nothing to divide by: it goes on until something came.
    while state.operations + state.errors == 0 {
        state.drive(&mut runner, Instant::now() + Duration::from_millis(10))?;
    }
    let (elapsed, cpu) = (began.elapsed(), thread_cpu().saturating_sub(spent));
    edge();
    let (operations, errors, longest_gap) = (state.operations, state.errors, state.longest_gap);
    let within = state.latency.clone();
    while runner.is_owed() {
        state.take(&mut runner, TURN_MAX)?;
    }
    runner.close()?;
    if let Some(ledger) = &mut state.ledger {
        look(ledger, &load.servers, patience)?;
    }
    let ledger = state.ledger.as_ref();
    Ok(Measured {
        operations,
        errors,
        elapsed,
        // In an open pace a request that was due counts, however late its answer is.
        latency: if matches!(load.pace, Pace::Open { .. }) { state.latency } else { within },
        longest_gap,
        drained: state.operations + state.errors - operations - errors,
        cpu,
        reads: ledger.map_or(0, |ledger| ledger.reads),
        writes: ledger.map_or(0, |ledger| ledger.writes),
        verdict: ledger.map_or(Ok(()), Ledger::verdict),
    })
}

/// A separate reader, which wrote nothing, reads all that was written.
fn look(ledger: &mut Ledger, servers: &Servers, patience: &Patience) -> io::Result<()> {
    let mut reader = Reader::open(Runner::connect_patient(servers, 1, patience)?)?;
    let written: Vec<_> = ledger.written().collect();
    let paths = written.into_iter().map(|node| (u64::from(node), Nodes::path(node)));
    reader.read_all(OpCode::GetData, paths, |node, error, body| match error {
        0 => ledger.read(node as u32, body, true),
        error => ledger.violated(|| format!("node {node} cannot be read at the end: {error}")),
    })?;
    reader.close()
}

/// What this thread has spent since it began.
fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// What a run has counted so far.
struct State<'a> {
    load: &'a Load,
    patience: &'a Patience,
    dice: Dice,
    ledger: Option<Ledger>,
    latency: Histogram<u64>,
    operations: u64,
    errors: u64,
    last_answer: Instant,
    longest_gap: Duration,
    /// Closed pace: connections that may be asked more.
    heard: Vec<usize>,
    /// Closed pace: where requests are queued, one connection after the other.
    room: Vec<u8>,
    /// Open pace: when the schedule began and how many requests are sent of it.
    schedule: (Instant, u64),
}

impl<'a> State<'a> {
    fn new(load: &'a Load, patience: &'a Patience) -> Self {
        let now = Instant::now();
        Self {
            load,
            patience,
            dice: Dice::new(load.seed),
            ledger: load.checks.then(|| Ledger::new(load.nodes.count, load.nodes.value_bytes)),
            latency: Histogram::new_with_bounds(1, 600_000_000, 3).expect("the bounds are fixed and valid"),
            operations: 0,
            errors: 0,
            last_answer: now,
            longest_gap: Duration::ZERO,
            heard: (0..load.connections).collect(),
            room: Vec::new(),
            schedule: (now, 0),
        }
    }

    fn reset(&mut self) {
        self.latency.reset();
        (self.operations, self.errors) = (0, 0);
        self.longest_gap = Duration::ZERO;
        self.last_answer = Instant::now();
    }

    fn drive(&mut self, runner: &mut Runner, until: Instant) -> io::Result<()> {
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(());
            }
            let wait = match self.load.pace {
                Pace::Closed { outstanding } => self.top_up(runner, outstanding, now)?,
                Pace::Open { per_second } => self.send_due(runner, per_second, now)?,
            };
            self.take(runner, wait.min(until - now))?;
        }
    }

    /// Each connection that got its reply asks again; returns the time until there is something else to do.
    fn top_up(&mut self, runner: &mut Runner, outstanding: usize, now: Instant) -> io::Result<Duration> {
        for place in self.heard.drain(..) {
            let connection = &mut runner.connections[place];
            connection.share(&mut self.room);
            while connection.outstanding() < outstanding {
                self.dice.ask(connection, now, self.load.nodes, self.load.mix);
            }
            connection.send()?;
            connection.share(&mut self.room);
        }
        Ok(TURN_MAX)
    }

    /// Sends what is due; gives the time until more is.
    fn send_due(&mut self, runner: &mut Runner, per_second: f64, now: Instant) -> io::Result<Duration> {
        let (began, sent) = self.schedule;
        let at = |number: u64| began + Duration::from_secs_f64(number as f64 / per_second);
        let due = (now.duration_since(began).as_secs_f64() * per_second) as u64 + 1;
        let places = runner.connections.len();
        for number in sent..due {
            let connection = &mut runner.connections[number as usize % places];
            self.dice.ask(connection, at(number), self.load.nodes, self.load.mix);
        }
        // What is due of one connection goes together.
        for number in (sent..due).take(places) {
            runner.connections[number as usize % places].send()?;
        }
        self.schedule.1 = due.max(sent);
        self.heard.clear();
        Ok(at(self.schedule.1).saturating_duration_since(Instant::now()))
    }

    fn take(&mut self, runner: &mut Runner, wait: Duration) -> io::Result<()> {
        let Self { ledger, latency, operations, errors, last_answer, longest_gap, heard, .. } = self;
        let mut any = false;
        runner.turn(wait, |place, what, now| {
            let Heard::Answer(answer) = what else { return };
            any = true;
            *longest_gap = (*longest_gap).max(now.saturating_duration_since(*last_answer));
            *last_answer = now;
            if heard.last() != Some(&place) {
                heard.push(place);
            }
            if answer.error != 0 {
                *errors += 1;
                return;
            }
            *operations += 1;
            latency.saturating_record((now.duration_since(answer.asked).as_micros() as u64).max(1));
            let Some(ledger) = ledger else { return };
            let asked = Asked::of(answer.tag);
            match asked.write {
                Some(number) => ledger.wrote(Stamp::new(asked.node, 1, u64::from(number)), answer.body),
                None => ledger.read(asked.node, answer.body, false),
            }
        })?;
        match !any && last_answer.elapsed() > self.patience.silence {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "the servers did not answer")),
            false => Ok(()),
        }
    }
}
