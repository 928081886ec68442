//! Queries of modules that go on in the background: who waits for which of them. The engine bounds how many there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::MonoTime;
use objects_state::guest::Engine;
use objects_state::{Origin, State};

use crate::mailboxes::Mailboxes;

/// How often the engine is asked while a query is under way, milliseconds.
const ASK_MS: u64 = 1;

/// See the module.
pub(crate) struct LongQueries {
    engine: Arc<dyn Engine>,
    /// By the engine's number: whom the answer goes to, unless that caller has gone, and the position of the state that is read.
    under_way: BTreeMap<u64, (Option<Origin>, u64)>,
}

impl LongQueries {
    /// What an earlier core of this process has begun nobody waits for.
    pub(crate) fn new(state: &State) -> Self {
        state.engine().forget_queries();
        Self { engine: Arc::clone(state.engine()), under_way: BTreeMap::new() }
    }

    pub(crate) fn begun(&mut self, number: u64, origin: Origin, position: u64) {
        self.under_way.insert(number, (Some(origin), position));
    }

    /// Those that have ended are answered.
    pub(crate) fn answer_ended(&mut self, out: &mut Mailboxes) {
        let engine = &self.engine;
        self.under_way.retain(|number, (origin, position)| {
            let Some(ended) = engine.take_query(*number) else { return true };
            if let Some(origin) = origin {
                out.done_at(*origin, *position, State::query_outcome(ended, *position));
            }
            false
        });
    }

    /// The caller of a request has gone. Whether it waited here.
    pub(crate) fn leave(&mut self, gone: Origin) -> bool {
        let found = self.under_way.values_mut().find(|(origin, _)| *origin == Some(gone));
        found.map(|(origin, _)| *origin = None).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// When the engine is to be asked again, if it is.
    pub(crate) fn asks_at(&self, now: MonoTime) -> Option<MonoTime> {
        (!self.under_way.is_empty()).then(|| now.plus_ms(ASK_MS))
    }
}
