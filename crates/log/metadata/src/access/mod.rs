//! Rules, quotas and users of SCRAM: which node each has, what its data means, and how it is changed.
//!
//! Each pattern, entity and user has a node of its own, so that changes of one do not meet changes of another.

mod change;
mod content;
mod place;
mod secret;

pub use change::{AccessChange, QuotaValue};
pub use content::AccessContent;
pub use place::AccessPlace;
pub use secret::ClusterSecret;
