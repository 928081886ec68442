//! Fuel and stack of an instance: what a run may still do, in the globals that its functions count on.

use wasmtime::{AsContextMut, Global, Instance, Store, Val};

use crate::module::{FUEL, STACK};

#[derive(Clone, Copy)]
pub(crate) struct Meter {
    fuel: Global,
    stack: Global,
}

impl Meter {
    pub(crate) fn of<T: 'static>(instance: &Instance, store: &mut Store<T>) -> Self {
        let mut global = |name| instance.get_global(&mut *store, name).expect("it was exported by us");
        Self { fuel: global(FUEL), stack: global(STACK) }
    }

    /// Units that are left; below 0 if some are owed.
    pub(crate) fn fuel(self, context: impl AsContextMut) -> i64 {
        self.fuel.get(context).i64().expect("it is one")
    }

    pub(crate) fn set_fuel(self, context: impl AsContextMut, units: i64) {
        self.fuel.set(context, Val::I64(units)).expect("it is one");
    }

    /// Whether the stack was used up.
    pub(crate) fn is_stack_used_up(self, context: impl AsContextMut) -> bool {
        self.stack.get(context).i32().expect("it is one") < 0
    }

    /// Fills both for a run.
    pub(crate) fn fill(self, mut context: impl AsContextMut, fuel: u64, stack: i32) {
        self.set_fuel(&mut context, i64::try_from(fuel).expect("fuel is bounded"));
        self.stack.set(context, Val::I32(stack)).expect("it is one");
    }
}
