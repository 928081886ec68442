//! The built-in types.
// Made by clients/generate/main.py.

#![allow(missing_docs, reason = "parts of arguments and results have the names that docs/objects.md has")]
#![allow(clippy::needless_pass_by_value, reason = "options are made for one call")]

mod barrier;
mod counter;
mod election;
mod ids;
mod latch;
mod lock;
mod log;
mod map;
mod membership;
mod names;
mod queue;
mod ratelimiter;
mod records;
mod rwlock;
mod semaphore;
mod set;
mod stack;
mod value;

pub use barrier::*;
pub use counter::*;
pub use election::*;
pub use ids::*;
pub use latch::*;
pub use lock::*;
pub use log::*;
pub use map::*;
pub use membership::*;
pub use names::*;
pub use queue::*;
pub use ratelimiter::*;
pub use records::*;
pub use rwlock::*;
pub use semaphore::*;
pub use set::*;
pub use stack::*;
pub use value::*;
