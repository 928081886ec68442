//! The built-in types, one file each.

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
mod rwlock;
mod semaphore;
mod set;
mod stack;
mod value;

use super::answer::{Refusal, refuse};
use super::args::Args;
use super::kind::Kind;

/// Milliseconds that a lock's delay may last.
const LOCK_DELAY_MS_MAX: i64 = 3_600_000;

/// An object of a type with the arguments of its creation.
pub(crate) fn create(name: &str, args: &Args) -> Result<Box<dyn Kind>, Refusal> {
    Ok(match name {
        "lock" => Box::new(lock::Lock::new(args)?),
        "rwlock" => Box::new(rwlock::RwLock::new(args)?),
        "semaphore" => Box::new(semaphore::Semaphore::new(args)?),
        "barrier" => Box::new(barrier::Barrier::new(args)?),
        "latch" => Box::new(latch::Latch::new(args)?),
        "counter" => Box::new(counter::Counter::new(args)?),
        "value" => Box::new(value::Cell::new(args)?),
        "map" => Box::new(map::Map::new(args)?),
        "set" => Box::new(set::Set::new(args)?),
        "queue" => Box::new(queue::Queue::new(args)?),
        "stack" => Box::new(stack::Stack::new(args)?),
        "log" => Box::new(log::Log::new(args)?),
        "membership" => Box::new(membership::Membership::new(args)?),
        "election" => Box::new(election::Election::new(args)?),
        "ratelimiter" => Box::new(ratelimiter::RateLimiter::new(args)?),
        "ids" => Box::new(ids::Ids::new(args)?),
        "names" => Box::new(names::Names::default()),
        _ => return refuse("no-such-type"),
    })
}

/// One with nothing but defaults.
pub(crate) fn default(name: &str) -> Box<dyn Kind> {
    create(name, &Args::default()).expect("defaults are valid")
}
