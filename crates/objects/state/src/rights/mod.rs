//! Rights as they are written, given and looked up. Who may do what by them is decided in `access`.

mod change;
mod grant;
mod table;

pub(crate) use change::Grants;
pub use change::{AccessChange, RoleNames};
pub use grant::{Grant, GrantError, Rights};
pub(crate) use table::{Compiled, KnownToken, Table};

/// The feature level from which on access is judged: builds before it know nothing of tokens.
pub(crate) const LEVEL: u32 = 6;
