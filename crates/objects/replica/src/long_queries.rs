//! Queries of modules, and migrations that are tried, that go on in the background: who waits for which of them. The engine bounds how many there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::MonoTime;
use objects_state::guest::Engine;
use objects_state::{Origin, Outcome, Problem, State, Trial, Tried};

use crate::mailboxes::Mailboxes;

/// How often the engine is asked while a query is under way, milliseconds.
const ASK_MS: u64 = 1;

/// Who waits, and for what.
struct Waiter {
    /// Whom the answer goes to, unless that caller has gone.
    origin: Option<Origin>,
    /// The position of the state that is read.
    position: u64,
    gives_bytes: bool,
    /// If it is a migration that is tried: two runs, one behind the other.
    trial: Option<Box<Trial>>,
}

/// See the module.
pub(crate) struct LongQueries {
    engine: Arc<dyn Engine>,
    /// By the engine's number.
    under_way: BTreeMap<u64, Waiter>,
}

impl LongQueries {
    /// What an earlier core of this process has begun nobody waits for.
    pub(crate) fn new(state: &State) -> Self {
        state.engine().forget_queries();
        Self { engine: Arc::clone(state.engine()), under_way: BTreeMap::new() }
    }

    /// A query has been begun on the state of that position; whether it gives bytes.
    pub(crate) fn begun(&mut self, number: u64, origin: Origin, (position, gives_bytes): (u64, bool)) {
        let waiter = Waiter { origin: Some(origin), position, gives_bytes, trial: None };
        self.under_way.insert(number, waiter);
    }

    /// A migration is tried.
    pub(crate) fn tried(&mut self, number: u64, origin: Origin, trial: Box<Trial>) {
        let position = trial.position();
        let waiter = Waiter { origin: Some(origin), position, gives_bytes: false, trial: Some(trial) };
        self.under_way.insert(number, waiter);
    }

    /// Those that have ended are answered.
    pub(crate) fn answer_ended(&mut self, out: &mut Mailboxes) {
        let numbers: Vec<u64> = self.under_way.keys().copied().collect();
        for number in numbers {
            let Some(ended) = self.engine.take_query(number) else { continue };
            let waiter = self.under_way.remove(&number);
            let Some(Waiter { origin: Some(origin), position, gives_bytes, trial }) = waiter else {
                continue;
            };
            let outcome = match trial {
                None => State::query_outcome(ended, gives_bytes, position),
                Some(trial) => match trial.go_on(&*self.engine, ended) {
                    Ok(Tried::UnderWay(number, trial)) => {
                        self.tried(number, origin, trial);
                        continue;
                    }
                    Ok(Tried::Done(result)) => Outcome::Done(result),
                    Err(problem) => Outcome::Refused(Problem { position, ..problem }),
                },
            };
            out.done_at(origin, position, outcome);
        }
    }

    /// The caller of a request has gone. Whether it waited here.
    pub(crate) fn leave(&mut self, gone: Origin) -> bool {
        let found = self.under_way.values_mut().find(|waiter| waiter.origin == Some(gone));
        found.map(|waiter| waiter.origin = None).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// When the engine is to be asked again, if it is.
    pub(crate) fn asks_at(&self, now: MonoTime) -> Option<MonoTime> {
        (!self.under_way.is_empty()).then(|| now.plus_ms(ASK_MS))
    }
}
