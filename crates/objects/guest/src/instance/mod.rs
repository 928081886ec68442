//! A module with a memory: entering it, and reading and setting what an object consists of.

mod entries;
mod failure;
mod registers;

use entries::Entries;
use objects_state::guest::{Entry, Failure, Host};
use wasmtime::{Global, InstancePre, Memory, Store};

use crate::imports::{Cell, Facts};
use crate::log::Log;
use crate::memory::{Borrowed, lend};
use crate::meter;

/// What instances of a version are made from.
pub(crate) struct Recipe {
    pub(crate) pre: InstancePre<Cell>,
    /// Under which names the mutable globals are exported.
    pub(crate) globals: Vec<String>,
    pub(crate) bytes_max: usize,
    pub(crate) log: std::sync::Arc<Log>,
}

pub(crate) struct Instance {
    store: Store<Cell>,
    memory: Memory,
    globals: Vec<Global>,
    entries: Entries,
}

/// How an entry ended.
pub(crate) struct Left {
    pub(crate) outcome: Result<Vec<u8>, Failure>,
    pub(crate) fuel: u64,
}

impl Instance {
    /// A new instance. No code of the module runs.
    pub(crate) fn new(recipe: &Recipe) -> Self {
        let mut store = Store::new(recipe.pre.module().engine(), Cell::new(recipe.bytes_max, recipe.log.clone()));
        store.limiter(|cell| &mut cell.growth);
        let instance = recipe.pre.instantiate(&mut store);
        let instance = instance.unwrap_or_else(|error| panic!("cannot make an instance: {error}"));
        let memory = instance.get_memory(&mut store, "memory").expect("checked: it exports one");
        store.data_mut().memory = Some(memory);
        let mut global = |name: &String| instance.get_global(&mut store, name).expect("it was exported by us");
        let globals = recipe.globals.iter().map(&mut global).collect();
        let entries = Entries::of(&instance, &mut store);
        Self { store, memory, globals, entries }
    }

    /// All of its memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    /// All of its memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }

    /// What the last run wants done.
    pub(crate) fn take_acts(&mut self) -> Vec<objects_state::guest::Act> {
        self.store.data_mut().acts.take()
    }

    /// Enters it for a run.
    pub(crate) fn enter(&mut self, entry: Entry<'_>, facts: Facts, fuel: u64, host: &dyn Host) -> Left {
        self.store.data_mut().begin(facts);
        meter::fill(&mut self.store, fuel);
        fn slot(instance: &mut Instance) -> &mut Borrowed {
            &mut instance.store.data_mut().host
        }
        let outcome = lend(self, slot, host, |instance| instance.entries.enter(&mut instance.store, entry));
        self.left(outcome, fuel)
    }

    /// Runs what makes the image: the start function, `_initialize`, `init_source`.
    pub(crate) fn initialize(&mut self, source: Option<&[u8]>, fuel: u64) -> Result<(), Failure> {
        self.store.data_mut().begin(Facts::default());
        meter::fill(&mut self.store, fuel);
        let outcome = self.entries.initialize(&mut self.store, source).map(|()| Vec::new());
        self.left(outcome, fuel).outcome.map(|_| ())
    }

    /// The fuel that a failed run took depends on where the engine notices, so it is told for those that succeed.
    fn left(&self, outcome: wasmtime::Result<Vec<u8>>, fuel: u64) -> Left {
        let used = fuel - meter::left(&self.store).min(fuel);
        match outcome {
            Ok(result) => Left { outcome: Ok(result), fuel: used },
            Err(error) => {
                let failure = failure::of(&error, self.store.data().growth.is_refused);
                let fuel = if failure == Failure::OutOfFuel { fuel } else { 0 };
                Left { outcome: Err(failure), fuel }
            }
        }
    }
}
