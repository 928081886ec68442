//! What every layer names and none owns: the time that is handed in, and numbers drawn from a seed.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod random;
mod time;

pub use random::Random;
pub use time::Now;
