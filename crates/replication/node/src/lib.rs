//! x
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod assignment;
mod control;
mod copy;
mod deadlines;
mod effect;
mod fences;
mod hand_over;
mod ids;
mod node;
mod outbox;
mod reading;
mod records;
mod settings;
mod voter_change;

pub use copy::{Copies, Input, LogCopy};
pub use effect::{Admission, Effect, Reply};
pub use ids::ControllerId;
pub use node::Node;
pub use settings::Settings;
