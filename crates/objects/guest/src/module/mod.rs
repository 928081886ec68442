//! What a module must be, and what it is made into before it is compiled. Knows bytes alone: no engine, no memory.

mod bounds;
mod code;
mod exports;
mod imports;
mod names;
mod outline;
mod rewrite;
mod validate;

use objects_state::guest::Rejected;
pub(crate) use imports::{Answer, WASI};
pub(crate) use outline::Outline;
pub(crate) use rewrite::{Segment, reserved_global, rewrite, START};
pub use validate::check;
pub(crate) use names::shortened;
pub(crate) use validate::{FEATURES, checked};

pub(crate) fn rejected(detail: impl Into<String>) -> Rejected {
    Rejected { detail: detail.into() }
}
