//! Writes at a steady pace while servers fail: each client writes its own node at fixed moments, again and again until
//! it is acknowledged, and looks for another server by itself. A write's latency counts from when it was due, so an
//! outage counts for all that was due in it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use council_client::load::{Nodes, Patience, Servers, Stamp};
use council_client::{Client, Error, SessionState};
use tools_testbed::meter::{Edge, Edges};

use super::order::Order;
use super::outcome::{Outcome, Slot};
use crate::measure::Phase;

/// What clients ask for; they look for another server after two thirds of it in silence.
const SESSION: Duration = Duration::from_secs(4);
/// How long one attempt is waited for.
const ATTEMPT: Duration = Duration::from_secs(2);
/// Between two attempts. Not a synchronisation: how soon one tries again.
const AGAIN: Duration = Duration::from_millis(2);
/// Milliseconds of a slot.
const SLOT_MS: u128 = 10;

/// What one client saw: for each write when it was due and when it was done, both since measuring began.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) writes: Vec<(Duration, Duration)>,
    pub(super) lost: u64,
    pub(super) wrong: Option<String>,
}

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let Order { task, servers, patience } = *order;
    let mut clients = Vec::new();
    for place in 0..task.clients {
        clients.push(connect(servers, place, patience)?);
    }
    let began = Mutex::new(Instant::now());
    let start = Barrier::new(task.clients + 1);
    let all: Vec<Seen> = thread::scope(|scope| {
        let workers: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(place, client)| {
                let (began, start) = (&began, &start);
                scope.spawn(move || {
                    start.wait();
                    let began = *began.lock().unwrap_or_else(PoisonError::into_inner);
                    write(order, place, client, began)
                })
            })
            .collect();
        edges(Edge::Begin, "timeline");
        *began.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        start.wait();
        let panicked = || Seen { wrong: Some(String::from("a client panicked")), ..Seen::default() };
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| panicked())).collect()
    });
    let began = *began.lock().unwrap_or_else(PoisonError::into_inner);
    let elapsed = began.elapsed();
    edges(Edge::End, "timeline");
    let mut outcome = gathered(&all, elapsed);
    clients.clear();
    patience.check()?;
    look(order, &all, &mut outcome)?;
    Ok(outcome)
}

/// A client that knows all servers, each beginning with another.
fn connect(servers: &Servers, place: usize, patience: &Patience) -> io::Result<Client> {
    let client = servers.options().session_timeout(SESSION).connect(&servers.connect_string(place));
    let client = client.map_err(io::Error::other)?;
    match client.wait_connected(patience.silence) {
        true => Ok(client),
        false if client.state() == SessionState::AuthFailed => Err(io::Error::other(Error::AuthFailed)),
        false => Err(io::Error::new(io::ErrorKind::TimedOut, "no server accepted the connection")),
    }
}

/// One client's writes.
#[expect(clippy::too_many_lines, reason = "one loop over due writes, whose state all its arms share")]
fn write(order: &Order<'_>, place: usize, client: &mut Client, began: Instant) -> Seen {
    let Order { task, servers, patience } = *order;
    let between = Duration::from_secs_f64(task.clients as f64 / task.per_second);
    let path = Nodes::path(place as u32);
    let mut value = vec![0; task.value_bytes];
    let mut seen = Seen::default();
    for number in 1.. {
        let due = between * (number - 1) + between * place as u32 / task.clients as u32;
        if due.as_millis() >= u128::from(task.measured_ms) || patience.check().is_err() {
            break;
        }
        // The pace is what is asked for; nothing is waited for here.
        thread::sleep(due.saturating_sub(began.elapsed()));
        Stamp::new(place as u32, place as u32 + 1, u64::from(number)).put(&mut value);
        let tried = Instant::now();
        loop {
            let answer = client.set_data(&path, &value, -1).wait_for(ATTEMPT);
            let error = match answer {
                Ok(Ok(_)) => break,
                Ok(Err(error)) => error,
                Err(_) => Error::ConnectionLost,
            };
            seen.lost += 1;
            if tried.elapsed() > patience.silence || matches!(error, Error::Refused { .. }) {
                seen.wrong = Some(format!("a write of client {place} was never acknowledged: {error}"));
                return seen;
            }
            if error == Error::SessionExpired {
                match connect(servers, place, patience) {
                    Ok(another) => *client = another,
                    Err(error) => {
                        seen.wrong = Some(format!("client {place} has no server: {error}"));
                        return seen;
                    }
                }
            }
            if patience.check().is_err() {
                return seen;
            }
            thread::sleep(AGAIN);
        }
        seen.writes.push((due, began.elapsed()));
    }
    seen
}

pub(super) fn gathered(all: &[Seen], elapsed: Duration) -> Outcome {
    let mut outcome = Outcome::default();
    let mut phase = Phase::new("timeline");
    phase.elapsed = elapsed;
    let mut slots: BTreeMap<u128, (u64, Duration)> = BTreeMap::new();
    for seen in all {
        outcome.lost += seen.lost;
        outcome.wrong.extend(seen.wrong.clone());
        for (due, done) in &seen.writes {
            let late = done.saturating_sub(*due);
            phase.record(late);
            let slot = slots.entry(done.as_millis() / SLOT_MS).or_default();
            *slot = (slot.0 + 1, slot.1.max(late));
        }
    }
    outcome.timeline = (0..=elapsed.as_millis() / SLOT_MS)
        .map(|place| {
            let (answered, longest) = slots.get(&place).copied().unwrap_or_default();
            Slot {
                at_ms: (place * SLOT_MS) as f64,
                answered: answered as f64,
                longest_us: longest.as_secs_f64() * 1e6,
            }
        })
        .collect();
    outcome.checked.writes = phase.operations;
    outcome.phases.push(phase);
    outcome
}

/// A separate reader reads every node: it must hold its client's latest acknowledged write, or a later one.
fn look(order: &Order<'_>, all: &[Seen], outcome: &mut Outcome) -> io::Result<()> {
    let Order { task, servers, patience } = *order;
    let client = connect(servers, 0, patience)?;
    // The reads show the result.
    let _ = client.sync("/").wait_for(patience.silence);
    for (place, seen) in all.iter().enumerate() {
        let path = Nodes::path(place as u32);
        let Ok(Ok((data, _))) = client.data(&path).wait_for(patience.silence) else {
            outcome.tell(|| format!("`{path}` cannot be read"));
            continue;
        };
        outcome.checked.reads += 1;
        let (data, acknowledged) = (data.unwrap_or_default(), seen.writes.len() as u64);
        // The write behind it may have taken effect without an acknowledgement.
        let meant = [acknowledged, acknowledged + 1];
        let holds = |number: &u64| {
            let writer = if *number == 0 { 0 } else { place as u32 + 1 };
            Stamp::new(place as u32, writer, *number).is_in(&data)
        };
        if data.len() != task.value_bytes || !meant.iter().any(holds) {
            outcome.tell(|| format!("`{path}` does not hold write {acknowledged}"));
        }
    }
    Ok(())
}
