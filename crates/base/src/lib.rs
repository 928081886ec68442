//! What every layer names and none owns: the time that is handed in, numbers drawn from a seed, by what
//! members are known, and text that is not to be shown.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod member;
mod random;
mod secret;
mod time;

pub use member::{MemberId, MemberNumber};
pub use random::Random;
pub use secret::Secret;
pub use time::Now;
