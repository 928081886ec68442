//! Each client works on nodes of its own, one request after the other: all make them, then all write them, and so on. A
//! client knows what each of its nodes must hold, so every read is compared with exactly that; before anything is
//! deleted, and at the end, a separate reader checks all of them.

use std::io;
use std::time::{Duration, Instant};

use council_client::load::{Connection, Heard, Runner, Stamp, append};
use council_wire::{ErrorCode, OpCode};
use tools_testbed::meter::{Edge, Edges};

use super::order::{Order, PERSISTENT, create};
use super::outcome::Outcome;
use super::{Step, TURN_MAX};
use crate::measure::Phase;

/// Above all of them.
const PARENT: &str = "/own";

#[derive(Default)]
struct Client {
    place: u32,
    /// The number of the latest acknowledged write of each node.
    latest: Vec<u64>,
    deleted: usize,
    write: u64,
    turn: u32,
    /// What is under way: which node.
    number: usize,
    doing: Option<Step>,
}

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let task = order.task;
    let mut runner = order.connect()?;
    make_parents(&mut runner)?;
    let client = |place| Client { place, ..Client::default() };
    let mut clients: Vec<_> = (0..task.clients as u32).map(client).collect();
    let mut outcome = Outcome::default();
    for step in &task.steps {
        if *step == Step::Delete {
            look(order, &clients, &mut outcome)?;
        }
        edges(Edge::Begin, step.name());
        let began = Instant::now();
        let limit =
            (task.measured_ms > 0).then(|| (task.count, began + Duration::from_millis(task.measured_ms)));
        let mut phase = play(order, *step, limit, &mut runner, &mut clients, &mut outcome)?;
        phase.elapsed = began.elapsed();
        edges(Edge::End, step.name());
        outcome.phases.push(phase);
    }
    look(order, &clients, &mut outcome)?;
    // What is left would be in the way of the next one.
    play(order, Step::Delete, None, &mut runner, &mut clients, &mut outcome)?;
    runner.close()?;
    Ok(outcome)
}

fn parent(place: u32) -> String {
    format!("{PARENT}/c{place:06}")
}

fn make_parents(runner: &mut Runner) -> io::Result<()> {
    let make = |connection: &mut Connection, path: &str| {
        connection.ask(Instant::now(), |xid, out| create(out, xid, path, b"", PERSISTENT));
    };
    make(&mut runner.connections[0], PARENT);
    runner.until(|runner| Ok(!runner.is_owed()))?;
    for (place, connection) in runner.connections.iter_mut().enumerate() {
        make(connection, &parent(place as u32));
    }
    // One that is there already is as good.
    runner.until(|runner| Ok(!runner.is_owed()))
}

/// One step of all clients, each until it has asked often enough or the time is over, but once at least.
#[expect(clippy::too_many_lines, reason = "one loop over replies, whose state all its arms share")]
fn play(
    order: &Order<'_>,
    step: Step,
    limit: Option<(u32, Instant)>,
    runner: &mut Runner,
    clients: &mut [Client],
    outcome: &mut Outcome,
) -> io::Result<Phase> {
    let task = order.task;
    let mut phase = Phase::new(step.name());
    let mut value = vec![0; task.value_bytes];
    let mut heard: Vec<usize> = (0..clients.len()).collect();
    clients.iter_mut().for_each(|client| client.turn = 0);
    let mut busy = 0;
    let mut last_answer = Instant::now();
    loop {
        let now = Instant::now();
        for place in heard.drain(..) {
            let client = &mut clients[place];
            let spent = match limit {
                Some((count, until)) => client.turn >= count || (client.turn > 0 && now >= until),
                None => step != Step::Delete && client.turn >= task.count,
            };
            if !spent && client.ask(step, &mut runner.connections[place], &mut value) {
                runner.connections[place].send()?;
                busy += 1;
            }
        }
        if busy == 0 {
            return Ok(phase);
        }
        runner.turn(TURN_MAX, |place, what, now| {
            let Heard::Answer(answer) = what else { return };
            last_answer = now;
            busy -= 1;
            heard.push(place);
            match answer.error {
                0 => phase.record(now.duration_since(answer.asked)),
                _ => phase.errors += 1,
            }
            if let Err(wrong) = clients[place].answered(answer.error, answer.body, task.value_bytes) {
                outcome.tell(|| wrong);
            }
            outcome.checked.reads += u64::from(clients[place].doing == Some(Step::Get));
        })?;
        if last_answer.elapsed() > order.patience.silence {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the servers did not answer"));
        }
    }
}

impl Client {
    fn path(&self, number: usize) -> String {
        format!("{}/n{number:08}", parent(self.place))
    }

    fn stamp(&self, number: usize, write: u64) -> Stamp {
        Stamp::new(number as u32, self.place + 1, write)
    }

    /// Asks for the next thing of a step; false if there is none.
    fn ask(&mut self, step: Step, connection: &mut Connection, value: &mut [u8]) -> bool {
        let turn = self.turn;
        self.turn += 1;
        let step = match step {
            Step::Mixed => [Step::Get, Step::Set][(turn + self.place) as usize % 2],
            step => step,
        };
        let number = match step {
            Step::Create => self.latest.len(),
            Step::Delete => self.deleted,
            // Nothing was made: the creations failed, and have been counted.
            _ if self.latest.is_empty() => return false,
            _ => turn as usize % self.latest.len(),
        };
        if step == Step::Delete && number >= self.latest.len() {
            return false;
        }
        (self.number, self.doing) = (number, Some(step));
        let path = self.path(number);
        if matches!(step, Step::Create | Step::Set) {
            self.write += 1;
            self.stamp(number, self.write).put(value);
        }
        connection.ask(Instant::now(), |xid, out| match step {
            Step::Create => create(out, xid, &path, value, PERSISTENT),
            Step::Set => append(out, xid, OpCode::SetData, |writer| {
                writer.text(&path).buffer(Some(value)).i32(-1);
            }),
            Step::Delete => append(out, xid, OpCode::Delete, |writer| {
                writer.text(&path).i32(-1);
            }),
            Step::Get | Step::Mixed => append(out, xid, OpCode::GetData, |writer| {
                writer.text(&path).bool(false);
            }),
        });
        true
    }

    /// Takes in an answer to what was under way.
    fn answered(&mut self, error: i32, body: &[u8], value_bytes: usize) -> Result<(), String> {
        // Whether it went or was gone already, it is not there: it is not asked for again.
        self.deleted += usize::from(self.doing == Some(Step::Delete));
        if error != ErrorCode::Ok as i32 {
            return Err(format!("`{}`: {:?} was answered with {error}", self.path(self.number), self.doing));
        }
        match self.doing {
            Some(Step::Create) => self.latest.push(self.write),
            Some(Step::Set) => self.latest[self.number] = self.write,
            Some(Step::Delete) => {}
            _ => return self.check(self.number, body, value_bytes),
        }
        Ok(())
    }

    /// Whether what was read is what was written.
    fn check(&self, number: usize, body: &[u8], value_bytes: usize) -> Result<(), String> {
        let data = council_wire::Reader::new(body).buffer().ok().flatten().unwrap_or_default();
        let stamp = self.stamp(number, self.latest[number]);
        match data.len() == value_bytes && stamp.is_in(data) {
            true => Ok(()),
            false => Err(format!("`{}` does not hold {stamp:?}", self.path(number))),
        }
    }
}

/// A separate reader checks everything.
fn look(order: &Order<'_>, clients: &[Client], outcome: &mut Outcome) -> io::Result<()> {
    let mut reader = order.reader()?;
    let counts = reader.children(clients.iter().map(|client| parent(client.place)).collect())?;
    for (client, count) in clients.iter().zip(counts) {
        let left = client.latest.len() - client.deleted;
        if count.map(i64::from) != Some(left as i64) {
            outcome.tell(|| format!("`{}` has {count:?} nodes, not {left}", parent(client.place)));
        }
    }
    let nodes = clients.iter().flat_map(|client| {
        let tag = |number| u64::from(client.place) << 32 | number as u64;
        (client.deleted..client.latest.len()).map(move |number| (tag(number), client.path(number)))
    });
    reader.read_all(OpCode::GetData, nodes, |tag, error, body| {
        let client = &clients[(tag >> 32) as usize];
        let number = (tag & 0xffff_ffff) as usize;
        let checked = match error {
            0 => client.check(number, body, order.task.value_bytes),
            error => Err(format!("`{}` cannot be read: {error}", client.path(number))),
        };
        outcome.checked.writes += 1;
        if let Err(wrong) = checked {
            outcome.tell(|| wrong);
        }
    })?;
    reader.close()
}
