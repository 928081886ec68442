//! All witnesses of one scenario: started together, and what they saw, in one history.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sim_council::history::{Delivery, History};
use tools_testbed::Failure;

use crate::witness::Witness;

/// How many there are.
const COUNT: usize = 4;
/// How long each may wait for its last answers.
const LAST_MAX: Duration = Duration::from_secs(60);
/// What was asked for before all was well is behind them by then, milliseconds.
const CALM_MS: u64 = 200;

/// See the module.
pub(super) struct Witnesses {
    threads: Vec<JoinHandle<Witness>>,
    /// When they are to ask for the last time; 0 while they are to go on.
    calm_ms: Arc<AtomicU64>,
    began: Instant,
    began_wall_ms: i64,
}

/// What they saw, and when it began, milliseconds since 1970 on this machine.
pub(super) struct Testimony {
    pub(super) history: History,
    pub(super) began_wall_ms: i64,
}

impl Witnesses {
    /// Starts them, with these members to talk to.
    pub(super) fn start(members: &[(u64, SocketAddr)]) -> Result<Self, Failure> {
        let (began, calm_ms) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Looked at last and rounded up, as stamps are rounded down: no stamp then lies behind what came of it.
        let began_wall_ms = i64::try_from(wall.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX);
        let mut threads = Vec::new();
        for name in 0..COUNT {
            let witness = Witness::new(name, COUNT, members.to_vec(), began, name as u64 + 1);
            let calm_ms = Arc::clone(&calm_ms);
            let thread = std::thread::Builder::new().name(format!("witness {name}"));
            threads.push(thread.spawn(move || see(witness, &calm_ms)).map_err(Failure::io("a thread"))?);
        }
        Ok(Self { threads, calm_ms, began, began_wall_ms })
    }

    /// All faults have ended, and everybody serves: each witness writes and reads once more, and they are done.
    pub(super) fn stop(self) -> Result<Testimony, Failure> {
        let ms = |since: Instant| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let served_ms = ms(self.began) + CALM_MS;
        self.calm_ms.store(served_ms, Ordering::SeqCst);
        let mut seen = Vec::new();
        for thread in self.threads {
            seen.push(thread.join().map_err(|_| Failure::broken("a witness panicked"))?.history);
        }
        let mut history = merge(seen);
        (history.healed_ms, history.served_ms) = (Some(served_ms), Some(served_ms));
        history.served_from = history.calls.partition_point(|call| call.sent_ms < served_ms);
        history.ended_ms = ms(self.began);
        Ok(Testimony { history, began_wall_ms: self.began_wall_ms })
    }
}

fn see(mut witness: Witness, calm_ms: &AtomicU64) -> Witness {
    while calm_ms.load(Ordering::SeqCst) == 0 {
        witness.work();
    }
    let calm_ms = calm_ms.load(Ordering::SeqCst);
    let deadline = Instant::now() + LAST_MAX;
    let rest = |witness: &mut Witness| while !witness.wait() && Instant::now() < deadline {};
    rest(&mut witness);
    while witness.now_ms() <= calm_ms {
        witness.wait();
    }
    rest(&mut witness);
    witness.ask_last();
    rest(&mut witness);
    witness
}

/// All of them in one, connections in the order of their opening and calls in that of their sending.
fn merge(histories: Vec<History>) -> History {
    let (mut connections, mut calls) = (Vec::new(), Vec::new());
    for (of, history) in histories.into_iter().enumerate() {
        let numbered = history.connections.into_iter().enumerate();
        connections.extend(numbered.map(|(number, connection)| ((of, number), connection)));
        let numbered = history.calls.into_iter().enumerate();
        calls.extend(numbered.map(|(number, call)| ((of, number), call)));
    }
    connections.sort_by_key(|(key, connection)| (connection.opened_ms, *key));
    calls.sort_by_key(|(key, call)| (call.sent_ms, *key));
    let (connection_places, call_places) = (places(&connections), places(&calls));
    for ((of, _), connection) in &mut connections {
        let replies = connection.deliveries.iter_mut().filter_map(|(_, delivery)| match delivery {
            Delivery::Reply(call) => Some(call),
            _ => None,
        });
        connection.calls.iter_mut().chain(replies).for_each(|call| *call = call_places[&(*of, *call)]);
    }
    for ((of, _), call) in &mut calls {
        call.connection = connection_places[&(*of, call.connection)];
    }
    History {
        connections: connections.into_iter().map(|(_, connection)| connection).collect(),
        calls: calls.into_iter().map(|(_, call)| call).collect(),
        ..History::default()
    }
}

/// Where what one of them knew by some number stands among all.
fn places<T>(all: &[((usize, usize), T)]) -> BTreeMap<(usize, usize), usize> {
    all.iter().enumerate().map(|(place, (key, _))| (*key, place)).collect()
}

#[cfg(test)]
mod tests {
    use sim_council::history::{Ask, Call};
    use std::net::Ipv4Addr;

    use super::*;

    fn call(sent_ms: u64, connection: usize) -> Call {
        Call::sent(connection, Ask::Ping, sent_ms, 0)
    }

    #[test]
    fn histories_become_one_in_the_order_of_time() {
        let one = History { calls: vec![call(10, 0), call(30, 0)], ..History::default() };
        let other = History { calls: vec![call(20, 0)], ..History::default() };
        let connection = |opened_ms, calls: &[usize]| sim_council::history::Connection {
            calls: calls.to_vec(),
            deliveries: calls.iter().map(|call| (opened_ms, Delivery::Reply(*call))).collect(),
            ..sim_council::history::Connection::opened(0, Ipv4Addr::LOCALHOST.into(), 1, opened_ms)
        };
        let one = History { connections: vec![connection(9, &[0, 1])], ..one };
        let other = History { connections: vec![connection(8, &[0])], ..other };
        let all = merge(vec![one, other]);
        let sent: Vec<_> = all.calls.iter().map(|call| (call.sent_ms, call.connection)).collect();
        assert_eq!(sent, [(10, 1), (20, 0), (30, 1)]);
        let calls: Vec<_> = all.connections.iter().map(|connection| connection.calls.clone()).collect();
        assert_eq!(calls, [vec![1], vec![0, 2]]);
        assert_eq!(all.connections[1].deliveries[1].1, Delivery::Reply(2));
    }
}
