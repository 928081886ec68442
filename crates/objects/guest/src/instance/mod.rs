//! A module with a memory: entering it, and reading and setting what an object consists of.

mod entries;
mod failure;
mod registers;

pub(crate) use registers::WASM_PAGE_BYTES;

use std::sync::Arc;

use entries::Entries;
use objects_state::guest::{Entry, Failure, Host};
use wasmtime::{Global, InstancePre, Memory, Store};

use crate::dirty::{Dirty, Tracking, Written};
use crate::imports::{Cell, Facts};
use crate::limits::STACK_BYTES;
use crate::log::Log;
use crate::memory::{Borrowed, Image, beginning_as, lend};
use crate::meter::Meter;

/// What instances of a version are made from.
pub(crate) struct Recipe {
    /// Shared by all versions of one module.
    pub(crate) pre: Arc<InstancePre<Cell>>,
    /// What a new instance's memory holds; zeros without one.
    pub(crate) image: Option<Arc<Image>>,
    /// Under which names the mutable globals are exported.
    pub(crate) globals: Vec<String>,
    pub(crate) bytes_max: usize,
    pub(crate) log: Arc<Log>,
    pub(crate) tracking: Tracking,
}

pub(crate) struct Instance {
    store: Store<Cell>,
    memory: Memory,
    globals: Vec<Global>,
    entries: Entries,
    meter: Meter,
    /// What the last run has left of the stack: all of it, if it has returned.
    stack: i32,
    dirty: Dirty,
    tracking: Tracking,
    /// What all of it belongs to.
    instance: wasmtime::Instance,
    bytes_max: usize,
    /// Room for the registers.
    registers: Vec<u8>,
}

/// How an entry ended.
pub(crate) struct Left {
    pub(crate) outcome: Result<Vec<u8>, Failure>,
    pub(crate) fuel: u64,
}

impl Instance {
    /// A new instance. No code of the module runs, but its tables are filled.
    pub(crate) fn new(recipe: &Recipe) -> Result<Self, Failure> {
        let mut store = Store::new(recipe.pre.module().engine(), Cell::new(recipe.log.clone()));
        store.limiter(|cell| &mut cell.growth);
        let instance = beginning_as(recipe.image.as_ref(), || recipe.pre.instantiate(&mut store));
        let instance = instance.map_err(|error| failure::of(&error, false, ""))?;
        let memory = instance.get_memory(&mut store, "memory").expect("checked: it exports one");
        let dirty = Dirty::of(&instance, &mut store);
        store.data_mut().bound_growth(recipe.bytes_max);
        (store.data_mut().memory, store.data_mut().dirty) = (Some(memory), Some(dirty));
        let mut global =
            |name: &String| instance.get_global(&mut store, name).expect("it was exported by us");
        let globals = recipe.globals.iter().map(&mut global).collect();
        let meter = Meter::of(&instance, &mut store);
        store.data_mut().meter = Some(meter);
        let entries = Entries::of(&instance, &mut store);
        let (tracking, bytes_max) = (recipe.tracking, recipe.bytes_max);
        let registers = Vec::new();
        let stack = 0;
        Ok(Self {
            store,
            memory,
            globals,
            entries,
            meter,
            stack,
            dirty,
            tracking,
            instance,
            bytes_max,
            registers,
        })
    }

    /// All of its memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    /// All of its memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }

    /// What may have been written since the last time, in order, in the place of what `written` held.
    pub(crate) fn take_written(&mut self, written: &mut Vec<Written>) {
        let bytes = self.bytes().len();
        self.dirty.take(&mut self.store, bytes, self.tracking, written);
    }

    /// Bytes that are kept to know it.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.dirty.len(&self.store)
    }

    /// What the last run wants done.
    pub(crate) fn take_acts(&mut self) -> Vec<objects_state::guest::Act> {
        self.store.data_mut().acts.take()
    }

    /// Enters it for a run.
    pub(crate) fn enter(&mut self, entry: Entry<'_>, facts: Facts, fuel: u64, host: &dyn Host) -> Left {
        self.store.data_mut().begin(facts);
        self.fill(fuel);
        fn slot(instance: &mut Instance) -> &mut Borrowed {
            &mut instance.store.data_mut().host
        }
        let outcome = lend(self, slot, host, |instance| instance.entries.enter(&mut instance.store, entry));
        self.left(outcome, fuel)
    }

    /// Runs what makes the image: the start function, `_initialize`, `init_source`, `describe`. What a source says of itself.
    pub(crate) fn initialize(&mut self, source: Option<&[u8]>, fuel: u64) -> Result<Vec<u8>, Failure> {
        self.store.data_mut().begin(Facts::default());
        self.fill(fuel);
        let outcome = self.entries.initialize(&mut self.store, source);
        self.left(outcome, fuel).outcome
    }

    /// Fills fuel and stack for a run.
    fn fill(&mut self, fuel: u64) {
        self.meter.set_fuel(&mut self.store, i64::try_from(fuel).expect("fuel is bounded"));
        if self.stack != STACK_BYTES {
            self.meter.set_stack(&mut self.store, STACK_BYTES);
        }
    }

    /// Whatever a run ends with, it has failed if it owes fuel or stack.
    fn left(&mut self, outcome: wasmtime::Result<Vec<u8>>, fuel: u64) -> Left {
        let rest = self.meter.fuel(&mut self.store);
        let used = fuel - u64::try_from(rest).unwrap_or(0).min(fuel);
        self.stack = self.meter.stack(&mut self.store);
        if self.stack < 0 {
            return Left { outcome: Err(Failure::StackExhausted), fuel: used };
        }
        if rest < 0 {
            return Left { outcome: Err(Failure::OutOfFuel), fuel: used };
        }
        let cell = self.store.data();
        let outcome = outcome.map_err(|error| failure::of(&error, cell.growth.is_refused, &cell.last_logged));
        Left { outcome, fuel: used }
    }
}
