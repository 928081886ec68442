//! What a module must be, and what it is made into before it is compiled. Knows bytes alone: no engine, no memory.

mod bounds;
mod code;
mod dirty;
mod exports;
mod imports;
mod metered;
mod names;
mod outline;
mod price;
mod rewrite;
mod validate;

pub(crate) use dirty::{SPILL_BYTES, STRIPE_BYTES};
pub(crate) use imports::{Answer, WASI};
pub(crate) use names::shortened;
pub(crate) use outline::Outline;
pub(crate) use rewrite::REWRITTEN_FEATURES;
pub(crate) use rewrite::{DIRTY, FUEL, STACK, START, Segment, reserved_global, rewrite};
pub use validate::check;
pub(crate) use validate::checked;
