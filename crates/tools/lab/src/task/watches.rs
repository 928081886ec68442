//! Each client watches every client's node, as the watches of the published evaluation; then each writes its own once,
//! and every event is waited for. Watches fire once, so they are set again before each round; that is not measured.

use std::io;
use std::time::Instant;

use council_client::load::{Heard, Runner, Stamp, append};
use council_wire::{EventType, OpCode, WatcherEvent};
use tools_testbed::meter::{Edge, Edges};

use super::TURN_MAX;
use super::order::{Order, PERSISTENT, create};
use super::outcome::Outcome;
use crate::measure::Phase;

/// Watches that one client sets at a time.
const OUTSTANDING: usize = 100;

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let mut runner = order.connect()?;
    let base = order.own_base("watched")?;
    let path = |place: usize| format!("{base}/w{place:06}");
    for (place, connection) in runner.connections.iter_mut().enumerate() {
        connection.ask(Instant::now(), |xid, out| create(out, xid, &path(place), b"", PERSISTENT));
    }
    runner.until(|runner| Ok(!runner.is_owed()))?;
    let mut outcome = Outcome::default();
    let mut phase = Phase::new("watches");
    let mut round = 0;
    while round == 0 || phase.elapsed.as_millis() < u128::from(order.task.measured_ms) {
        round += 1;
        watch(&mut runner, &path)?;
        edges(Edge::Begin, "watches");
        let began = Instant::now();
        let told = tell(order, &mut runner, &base, round, &mut outcome)?;
        let took = began.elapsed();
        edges(Edge::End, "watches");
        phase.operations += told;
        phase.elapsed += took;
        phase.latency.saturating_record(took.as_micros() as u64);
        look(order, &path, round, &mut outcome)?;
        if !outcome.wrong.is_empty() {
            break;
        }
    }
    outcome.checked.events = phase.operations;
    outcome.phases.push(phase);
    runner.close()?;
    Ok(outcome)
}

/// Every client leaves a watch on every node.
fn watch(runner: &mut Runner, path: &impl Fn(usize) -> String) -> io::Result<()> {
    let count = runner.connections.len();
    let mut next = vec![0; count];
    runner.until(|runner| {
        for (connection, next) in runner.connections.iter_mut().zip(&mut next) {
            // A batch at a time, so that a whole one goes with one system call.
            if connection.outstanding() <= OUTSTANDING / 2 {
                while *next < count && connection.outstanding() < OUTSTANDING {
                    connection.ask(Instant::now(), |xid, out| {
                        append(out, xid, OpCode::GetData, |writer| {
                            writer.text(&path(*next)).bool(true);
                        });
                    });
                    *next += 1;
                }
            }
        }
        Ok(next.iter().all(|next| *next == count) && !runner.is_owed())
    })
}

/// Every client writes its node; returns when every client got every event, or nothing came for too long.
fn tell(
    order: &Order<'_>,
    runner: &mut Runner,
    base: &str,
    round: u64,
    outcome: &mut Outcome,
) -> io::Result<u64> {
    let count = runner.connections.len();
    let mut value = vec![0; order.task.value_bytes];
    for (place, connection) in runner.connections.iter_mut().enumerate() {
        Stamp::new(place as u32, 1, round).put(&mut value);
        connection.ask(Instant::now(), |xid, out| {
            append(out, xid, OpCode::SetData, |writer| {
                writer.text(&format!("{base}/w{place:06}")).buffer(Some(&value)).i32(-1);
            });
        });
        connection.send()?;
    }
    let mut seen = vec![false; count * count];
    let (mut told, mut last) = (0, Instant::now());
    while told < (count * count) as u64 || runner.is_owed() {
        runner.turn(TURN_MAX, |place, what, now| {
            last = now;
            let Heard::Event(body) = what else { return };
            match node(body, base).and_then(|node| seen.get_mut(place * count + node)) {
                Some(seen) if !*seen => {
                    *seen = true;
                    told += 1;
                }
                _ => outcome.tell(|| format!("client {place} was told of something that it was not to")),
            }
        })?;
        if last.elapsed() > order.patience.silence {
            let owed = count * count;
            outcome.tell(|| format!("{told} of {owed} events came"));
            break;
        }
    }
    Ok(told)
}

/// The node of an event.
fn node(body: &[u8], base: &str) -> Option<usize> {
    let event = WatcherEvent::read(&mut council_wire::Reader::new(body)).ok()?;
    let number = event.path.strip_prefix(base)?.strip_prefix("/w")?;
    number.parse().ok().filter(|_| event.event == EventType::NodeDataChanged)
}

/// A separate client reads the nodes.
fn look(
    order: &Order<'_>,
    path: &impl Fn(usize) -> String,
    round: u64,
    outcome: &mut Outcome,
) -> io::Result<()> {
    let mut reader = order.reader()?;
    let paths = (0..order.task.clients).map(|place| (place as u64, path(place)));
    reader.read_all(OpCode::GetData, paths, |place, error, body| {
        let data = council_wire::Reader::new(body).buffer().ok().flatten().unwrap_or_default();
        let stamp = Stamp::new(place as u32, 1, round);
        outcome.checked.writes += 1;
        if error != 0 || data.len() != order.task.value_bytes || !stamp.is_in(data) {
            outcome.tell(|| format!("client {place}'s node does not hold {stamp:?}"));
        }
    })?;
    reader.close()
}
