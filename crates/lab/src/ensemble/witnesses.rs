//! All witnesses of one scenario: started together, and what they saw, in one history.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sim::history::{Delivery, History};

use super::Failure;
use super::witness::Witness;

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
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_wall_ms = i64::try_from(wall.as_millis()).unwrap_or(i64::MAX);
        let (began, calm_ms) = (Instant::now(), Arc::new(AtomicU64::new(0)));
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
    let mut all = History::default();
    let (mut connections, mut calls) = (Vec::new(), Vec::new());
    for (of, history) in histories.into_iter().enumerate() {
        let numbered = history.connections.into_iter().enumerate();
        connections
            .extend(numbered.map(|(number, connection)| (connection.opened_ms, of, number, connection)));
        let numbered = history.calls.into_iter().enumerate();
        calls.extend(numbered.map(|(number, call)| (call.sent_ms, of, number, call)));
    }
    connections.sort_by_key(|(ms, of, number, _)| (*ms, *of, *number));
    calls.sort_by_key(|(ms, of, number, _)| (*ms, *of, *number));
    let place = |places: &std::collections::BTreeMap<(usize, usize), usize>, key| places[&key];
    let connection_places =
        connections.iter().enumerate().map(|(at, (_, of, number, _))| ((*of, *number), at)).collect();
    let call_places = calls.iter().enumerate().map(|(at, (_, of, number, _))| ((*of, *number), at)).collect();
    for (_, of, _, mut connection) in connections {
        let moved = |call: &mut usize| *call = place(&call_places, (of, *call));
        connection.calls.iter_mut().for_each(moved);
        for (_, delivery) in &mut connection.deliveries {
            if let Delivery::Reply(call) = delivery {
                moved(call);
            }
        }
        all.connections.push(connection);
    }
    for (_, of, _, mut call) in calls {
        call.connection = place(&connection_places, (of, call.connection));
        all.calls.push(call);
    }
    all
}
