//! Watches: which connection watches which path, and which watches a change fires. `watching` sends the events.

mod index;
mod missed;
mod modes;
mod named;
mod set_again;
mod state;
mod table;

/// What a null path is called where watches are kept and listed. To ZooKeeper it is a path like any other, on which
/// nothing ever happens, and it is listed by this name.
pub(crate) const NULL_PATH: &str = "null";

pub(crate) use missed::{Missed, MissedEvents};
pub(crate) use modes::Modes;
pub(crate) use named::{Marks, Named};
pub(crate) use set_again::{Renewed, SetAgain, Settled, Stage, WORK_PER_TOLD, WORK_PER_WATCH, lists};
pub(crate) use state::Watching;
pub(crate) use table::{PATHS_PER_CONNECTION_MAX, WatchTable};
