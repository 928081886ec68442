//! Fuel of an instance: what a run may still do.

use wasmtime::{AsContext, AsContextMut};

/// What is left.
pub(crate) fn left(context: impl AsContext) -> u64 {
    context.as_context().get_fuel().expect("fuel is counted")
}

/// Sets what is left.
pub(crate) fn fill(mut context: impl AsContextMut, fuel: u64) {
    context.as_context_mut().set_fuel(fuel).expect("fuel is counted");
}
