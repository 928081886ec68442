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

    /// Bytes of the stack that are left; below 0 if it was used up.
    pub(crate) fn stack(self, context: impl AsContextMut) -> i32 {
        self.stack.get(context).i32().expect("it is one")
    }

    pub(crate) fn set_stack(self, context: impl AsContextMut, bytes: i32) {
        self.stack.set(context, Val::I32(bytes)).expect("it is one");
    }
}
