//! What every layer names and none owns: points in time, terms and indexes of a log, by what members are known,
//! numbers drawn from a seed, their digits, and text that is not to be shown.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod decimal;
mod ids;
mod member;
mod random;
mod secret;
mod shown;
mod time;

pub use decimal::Decimal;
pub use ids::{LogIndex, Term};
pub use member::{MemberId, MemberNumber};
pub use random::Random;
pub use secret::Secret;
pub use time::{MonoTime, Now, WallTime};
