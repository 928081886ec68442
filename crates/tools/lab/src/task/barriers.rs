//! Double barriers, as the recipes have them: all clients enter one after the other, each time waiting until all are
//! in; when all barriers are entered, a separate client counts the clients in each; then all are left in the same way.
//!
//! Beside barrier `b` stands `b-ready`. A client that enters leaves a watch on it, makes a child of `b` and counts; the
//! one that sees all makes `b-ready`, which fires the watches. Leaving goes the same way back. The first barrier is not
//! counted.

use std::io;
use std::time::Instant;

use council_client::load::{Heard, Runner, append};
use council_wire::{ErrorCode, EventType, OpCode, WatcherEvent};
use tools_testbed::meter::{Edge, Edges};

use super::TURN_MAX;
use super::order::{Order, PERSISTENT, create};
use super::outcome::Outcome;
use crate::measure::Phase;

/// What an answer is to, in its tag's upper half; the lower one has the barrier.
const EXISTS: u64 = 1;
const CHANGED: u64 = 2;
const COUNTED: u64 = 3;
const TOLD: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// Where a client is.
#[derive(Clone, Copy)]
struct Stage {
    barrier: u32,
    since: Instant,
    /// It has counted all clients and must announce it.
    tells: bool,
    /// It got the event.
    through: bool,
}

struct Barriers<'a> {
    base: String,
    order: &'a Order<'a>,
    outcome: Outcome,
}

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let mut runner = order.connect()?;
    let base = order.own_base("barriers")?;
    let mut work = Barriers { base, order, outcome: Outcome::default() };
    work.make()?;
    for (way, name, within) in [(Way::In, "enter", order.task.clients as i32), (Way::Out, "leave", 0)] {
        work.pass(&mut runner, way, name, 0, 1)?;
        edges(Edge::Begin, name);
        let began = Instant::now();
        let mut phase = work.pass(&mut runner, way, name, 1, order.task.count + 1)?;
        phase.elapsed = began.elapsed();
        edges(Edge::End, name);
        work.outcome.phases.push(phase);
        work.look(within)?;
        if !work.outcome.wrong.is_empty() {
            // A client that never entered does not leave.
            return Ok(work.outcome);
        }
    }
    runner.close()?;
    Ok(work.outcome)
}

impl Barriers<'_> {
    fn path(&self, barrier: u32) -> String {
        format!("{}/b{barrier:06}", self.base)
    }

    fn ready(&self, barrier: u32) -> String {
        format!("{}/b{barrier:06}-ready", self.base)
    }

    /// Makes the barriers.
    fn make(&self) -> io::Result<()> {
        let mut runner = self.order.connect_one()?;
        for barrier in 0..=self.order.task.count {
            let path = self.path(barrier);
            runner.connections[0].ask(Instant::now(), |xid, out| create(out, xid, &path, b"", PERSISTENT));
        }
        runner.until(|runner| Ok(!runner.is_owed()))?;
        runner.close()
    }

    /// All pass these barriers, one after the other.
    #[expect(clippy::too_many_lines, reason = "one loop over replies, whose state all its arms share")]
    fn pass(&mut self, runner: &mut Runner, way: Way, name: &str, from: u32, to: u32) -> io::Result<Phase> {
        let mut phase = Phase::new(name);
        let now = Instant::now();
        let stage = Stage { barrier: from, since: now, tells: false, through: false };
        let mut stages = vec![stage; runner.connections.len()];
        let mut heard: Vec<usize> = (0..stages.len()).collect();
        for place in 0..stages.len() {
            self.arrive(runner, way, place, from)?;
        }
        let (mut left, mut last) = (if from < to { stages.len() } else { 0 }, now);
        while left > 0 {
            heard.clear();
            let (task, base, outcome) = (self.order.task, &self.base, &mut self.outcome);
            runner.turn(TURN_MAX, |place, what, now| {
                last = now;
                if !heard.contains(&place) {
                    heard.push(place);
                }
                let stage = &mut stages[place];
                match what {
                    Heard::Event(body) => {
                        stage.through |= is_of(body, way, base, stage.barrier);
                    }
                    Heard::Answer(answer) => {
                        let of_this = answer.tag as u32 == stage.barrier;
                        let within = || council_wire::Reader::new(answer.body).i32().unwrap_or(-1);
                        let whole = if way == Way::In { task.clients as i32 } else { 0 };
                        let there = answer.error == ErrorCode::Ok as i32;
                        match answer.tag >> 32 {
                            // Another client has seen all already.
                            EXISTS if of_this => stage.through |= there == (way == Way::In),
                            CHANGED if !there => {
                                outcome.tell(|| format!("a barrier was passed with {}", answer.error));
                            }
                            COUNTED if of_this => stage.tells = there && within() == whole,
                            _ => {}
                        }
                    }
                }
            })?;
            for place in &heard {
                let stage = &mut stages[*place];
                if std::mem::take(&mut stage.tells) && !stage.through {
                    self.tell(runner, way, *place, stage.barrier)?;
                }
                if stage.through && stage.barrier < to {
                    phase.record(stage.since.elapsed());
                    *stage = Stage {
                        barrier: stage.barrier + 1,
                        since: Instant::now(),
                        tells: false,
                        through: false,
                    };
                    match stage.barrier < to {
                        true => self.arrive(runner, way, *place, stage.barrier)?,
                        false => left -= 1,
                    }
                }
            }
            if last.elapsed() > self.order.patience.silence {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "a barrier was not passed: no event says that all are there",
                ));
            }
        }
        runner.until(|runner| Ok(!runner.is_owed()))?;
        Ok(phase)
    }

    /// A watch, the change, and how many there are now, all at once.
    fn arrive(&self, runner: &mut Runner, way: Way, place: usize, barrier: u32) -> io::Result<()> {
        let (path, ready) = (self.path(barrier), self.ready(barrier));
        let mine = format!("{path}/p{place:06}");
        let connection = &mut runner.connections[place];
        let now = Instant::now();
        let tag = |of: u64| of << 32 | u64::from(barrier);
        connection.ask_tagged(now, tag(EXISTS), |xid, out| {
            append(out, xid, OpCode::Exists, |writer| {
                writer.text(&ready).bool(true);
            });
        });
        connection.ask_tagged(now, tag(CHANGED), |xid, out| match way {
            Way::In => create(out, xid, &mine, b"", PERSISTENT),
            Way::Out => delete(out, xid, &mine),
        });
        connection.ask_tagged(now, tag(COUNTED), |xid, out| {
            append(out, xid, OpCode::GetChildren, |writer| {
                writer.text(&path).bool(false);
            });
        });
        connection.send()
    }

    fn tell(&self, runner: &mut Runner, way: Way, place: usize, barrier: u32) -> io::Result<()> {
        let ready = self.ready(barrier);
        let connection = &mut runner.connections[place];
        connection.ask_tagged(Instant::now(), TOLD << 32 | u64::from(barrier), |xid, out| match way {
            Way::In => create(out, xid, &ready, b"", PERSISTENT),
            Way::Out => delete(out, xid, &ready),
        });
        connection.send()
    }

    /// A separate client counts the clients in each barrier.
    fn look(&mut self, within: i32) -> io::Result<()> {
        let mut reader = self.order.reader()?;
        let counts =
            reader.children((0..=self.order.task.count).map(|barrier| self.path(barrier)).collect())?;
        for (barrier, count) in counts.into_iter().enumerate() {
            match count == Some(within) {
                true => self.outcome.checked.barriers += 1,
                false => self.outcome.tell(|| format!("{count:?} are in barrier {barrier}, not {within}")),
            }
        }
        reader.close()
    }
}

/// Whether this event says that a barrier may be passed.
fn is_of(body: &[u8], way: Way, base: &str, barrier: u32) -> bool {
    let Ok(event) = WatcherEvent::read(&mut council_wire::Reader::new(body)) else { return false };
    let kind = if way == Way::In { EventType::NodeCreated } else { EventType::NodeDeleted };
    let number = event.path.strip_prefix(base).and_then(|rest| rest.strip_prefix("/b"));
    let number = number.and_then(|rest| rest.strip_suffix("-ready")).and_then(|text| text.parse().ok());
    event.event == kind && number == Some(barrier)
}

fn delete(out: &mut Vec<u8>, xid: i32, path: &str) {
    append(out, xid, OpCode::Delete, |writer| {
        writer.text(path).i32(-1);
    });
}
