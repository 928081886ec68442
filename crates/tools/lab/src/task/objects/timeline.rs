//! Increments at a steady pace while members fail: each client has a counter of its own, and repeats a request under its
//! number until it is answered. The answer to its n-th increment is n, whatever happened; everything else is wrong.

use std::io;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tools_testbed::meter::{Edge, Edges};

use super::Order;
use super::asker::Asker;
use super::http::Session;
use crate::task::outcome::Outcome;
use crate::task::timeline::{Seen, gathered};

struct Client<'a> {
    place: usize,
    asker: Asker<'a>,
    session: Session,
    /// What its counter had before.
    base: u64,
}

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let Order { task, endpoints, patience } = *order;
    let mut clients = Vec::new();
    for place in 0..task.clients {
        let mut asker = Asker::new(endpoints, place, patience);
        let session = asker.open_session()?;
        let base = value(&mut asker, place)?;
        clients.push(Client { place, asker, session, base });
    }
    let began = Mutex::new(Instant::now());
    let start = Barrier::new(task.clients + 1);
    let all: Vec<Seen> = thread::scope(|scope| {
        let begin = |client| {
            let (began, start) = (&began, &start);
            scope.spawn(move || {
                start.wait();
                let began = *began.lock().unwrap_or_else(PoisonError::into_inner);
                increment(order, client, began)
            })
        };
        let workers: Vec<_> = clients.iter_mut().map(begin).collect();
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
    patience.check()?;
    look(order, &clients, &all, &mut outcome)?;
    Ok(outcome)
}

fn path(place: usize) -> String {
    format!("objects/counter/lab-{place:06}")
}

fn value(asker: &mut Asker<'_>, place: usize) -> io::Result<u64> {
    let path = format!("{}/get", path(place));
    let answer = asker.must(|wire| wire.get(&path))?;
    answer.number("value").ok_or_else(|| super::http::unexpected("a counter's value", &answer))
}

/// One client's increments.
fn increment(order: &Order<'_>, client: &mut Client<'_>, began: Instant) -> Seen {
    let Order { task, patience, .. } = *order;
    let between = Duration::from_secs_f64(task.clients as f64 / task.per_second);
    let path = format!("{}/increment", path(client.place));
    let mut seen = Seen::default();
    let lost_before = client.asker.lost;
    for number in 1_u32.. {
        let due = between * (number - 1) + between * client.place as u32 / task.clients as u32;
        if due.as_millis() >= u128::from(task.measured_ms) || patience.check().is_err() {
            break;
        }
        // The pace is what is asked for; nothing is waited for here.
        thread::sleep(due.saturating_sub(began.elapsed()));
        let session = &client.session;
        let answer = client.asker.must(|wire| wire.command(&path, "{}", session, u64::from(number)));
        let expected = client.base + u64::from(number);
        match answer.map(|answer| answer.number("value")) {
            Ok(Some(value)) if value == expected => seen.writes.push((due, began.elapsed())),
            Ok(other) => {
                seen.wrong = Some(format!("client {} was told {other:?}, not {expected}", client.place));
                break;
            }
            Err(_) if patience.check().is_err() => break,
            Err(error) => {
                seen.wrong = Some(format!("an increment of client {} failed: {error}", client.place));
                break;
            }
        }
        client.session.answered = u64::from(number);
    }
    seen.lost = client.asker.lost - lost_before;
    seen
}

/// Somebody else reads every counter: it counts each increment once.
fn look(order: &Order<'_>, clients: &[Client<'_>], all: &[Seen], outcome: &mut Outcome) -> io::Result<()> {
    let mut reader = Asker::new(order.endpoints, 0, order.patience);
    for (client, seen) in clients.iter().zip(all) {
        let found = value(&mut reader, client.place)?;
        outcome.checked.reads += 1;
        let expected = client.base + seen.writes.len() as u64;
        if found != expected && seen.wrong.is_none() {
            outcome.tell(|| format!("counter {} holds {found}, not {expected}", client.place));
        }
    }
    Ok(())
}
