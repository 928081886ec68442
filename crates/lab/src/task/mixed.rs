//! Reads and writes of random nodes that all clients share, each checked against a ledger.

use std::io;
use std::time::{Duration, Instant};

use client::load::{Heard, Ledger, Nodes, Runner, Stamp, append};
use jute::OpCode;

use super::order::Order;
use super::outcome::{Outcome, Phase};
use super::reader::TURN_MAX;
use super::{Edge, Edges};
use crate::dice::Dice;
use crate::record::Checked;

/// Marks a write among tags.
const WRITE: u64 = 1 << 63;

struct Work<'a> {
    order: &'a Order<'a>,
    dice: Dice,
    value: Vec<u8>,
    path: String,
    ledger: Ledger,
    phase: Phase,
    /// Connections that have room for more.
    heard: Vec<usize>,
    writes: u32,
    /// When the schedule of an open pace began, and how many requests are sent of it.
    schedule: (Instant, u64),
    last_answer: Instant,
}

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let task = order.task;
    let mut runner = order.connect()?;
    let now = Instant::now();
    let mut work = Work {
        order,
        dice: Dice::new(task.seed),
        value: vec![0; task.value_bytes],
        path: String::new(),
        ledger: Ledger::new(task.keys, task.value_bytes),
        phase: Phase::new("mixed"),
        heard: (0..task.clients).collect(),
        writes: 0,
        schedule: (now, 0),
        last_answer: now,
    };
    work.drive(&mut runner, now + Duration::from_millis(task.warm_up_ms))?;
    edges(Edge::Begin, "mixed");
    work.phase = Phase::new("mixed");
    let began = Instant::now();
    work.drive(&mut runner, began + Duration::from_millis(task.measured_ms))?;
    // A disk that stalls for the whole of a short run leaves nothing to divide by: it goes on until something came.
    while work.phase.operations + work.phase.errors == 0 {
        work.drive(&mut runner, Instant::now() + Duration::from_millis(10))?;
    }
    work.phase.elapsed = began.elapsed();
    edges(Edge::End, "mixed");
    let mut phase = work.phase.clone();
    while runner.is_owed() {
        work.take(&mut runner, TURN_MAX)?;
    }
    if task.per_second > 0.0 {
        // In an open pace a request that was due counts, however late its answer is.
        phase.latency = work.phase.latency.clone();
    }
    runner.close()?;
    work.look()?;
    let mut outcome = Outcome { phases: vec![phase], ..Outcome::default() };
    let Ledger { reads, writes, .. } = work.ledger;
    outcome.checked = Checked { reads, writes, ..Checked::default() };
    if let Err(broken) = work.ledger.verdict() {
        outcome.wrong.push(broken.to_string());
    }
    Ok(outcome)
}

impl Work<'_> {
    fn drive(&mut self, runner: &mut Runner, until: Instant) -> io::Result<()> {
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(());
            }
            let wait = if self.order.task.per_second > 0.0 {
                self.send_due(runner, now)?
            } else {
                self.top_up(runner, now)?;
                TURN_MAX
            };
            self.take(runner, wait.min(until - now))?;
        }
    }

    /// Whoever was answered asks again.
    fn top_up(&mut self, runner: &mut Runner, now: Instant) -> io::Result<()> {
        let mut heard = std::mem::take(&mut self.heard);
        for place in heard.drain(..) {
            while runner.connections[place].outstanding() < self.order.task.outstanding {
                self.ask(runner, place, now);
            }
            runner.connections[place].send()?;
        }
        self.heard = heard;
        Ok(())
    }

    /// Sends what is due; gives the time until more is.
    fn send_due(&mut self, runner: &mut Runner, now: Instant) -> io::Result<Duration> {
        let per_second = self.order.task.per_second;
        let due = (now.duration_since(self.schedule.0).as_secs_f64() * per_second) as u64;
        while self.schedule.1 <= due {
            let asked = self.schedule.0 + Duration::from_secs_f64(self.schedule.1 as f64 / per_second);
            let place = self.schedule.1 as usize % runner.connections.len();
            self.ask(runner, place, asked);
            runner.connections[place].send()?;
            self.schedule.1 += 1;
        }
        let next = self.schedule.0 + Duration::from_secs_f64(self.schedule.1 as f64 / per_second);
        self.heard.clear();
        Ok(next.saturating_duration_since(Instant::now()))
    }

    fn ask(&mut self, runner: &mut Runner, place: usize, asked: Instant) {
        let node = self.dice.below(self.order.task.keys as usize) as u32;
        let is_write = (self.dice.below(1000) as u32) < self.order.task.writes_per_mille;
        Nodes::write_path(node, &mut self.path);
        let (path, value) = (&self.path, &mut self.value);
        let connection = &mut runner.connections[place];
        if is_write {
            self.writes = self.writes.wrapping_add(1);
            Stamp::new(node, 1, u64::from(self.writes)).put(value);
            let tag = WRITE | u64::from(node) << 32 | u64::from(self.writes);
            connection.ask_tagged(asked, tag, |xid, out| {
                append(out, xid, OpCode::SetData, |writer| {
                    writer.text(path).buffer(Some(value)).i32(-1);
                });
            });
        } else {
            connection.ask_tagged(asked, u64::from(node) << 32, |xid, out| {
                append(out, xid, OpCode::GetData, |writer| {
                    writer.text(path).bool(false);
                });
            });
        }
    }

    fn take(&mut self, runner: &mut Runner, wait: Duration) -> io::Result<()> {
        let Self { ledger, phase, heard, last_answer, .. } = self;
        runner.turn(wait, |place, what, now| {
            let Heard::Answer(answer) = what else { return };
            *last_answer = now;
            if heard.last() != Some(&place) {
                heard.push(place);
            }
            if answer.error != 0 {
                phase.errors += 1;
                return;
            }
            phase.record(now.duration_since(answer.asked));
            let node = (answer.tag & !WRITE) >> 32;
            if answer.tag & WRITE != 0 {
                ledger.wrote(Stamp::new(node as u32, 1, answer.tag & 0xffff_ffff), answer.body);
            } else {
                ledger.read(node as u32, answer.body, false);
            }
        })?;
        match self.last_answer.elapsed() > self.order.patience.silence {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "the servers did not answer")),
            false => Ok(()),
        }
    }

    /// Somebody who wrote nothing reads whatever was written.
    fn look(&mut self) -> io::Result<()> {
        let mut reader = self.order.reader()?;
        let written: Vec<_> = self.ledger.written().collect();
        let paths = written.into_iter().map(|node| (u64::from(node), Nodes::path(node)));
        reader.read_all(OpCode::GetData, paths, |node, error, body| match error {
            0 => self.ledger.read(node as u32, body, true),
            error => self.ledger.violated(|| format!("node {node} cannot be read at the end: {error}")),
        })?;
        reader.close()
    }
}
