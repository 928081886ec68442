//! Watches: who waits for what, what fires when, and how a client takes them up again after a reconnection.

mod fire;
mod index;
mod missed;
mod modes;
mod named;
mod reconnect;
mod request;
mod table;
mod watching;

/// What a null path is called where watches are kept and listed. To ZooKeeper it is a path like any other, on which
/// nothing ever happens, and it is listed by this name.
pub(crate) const NULL_PATH: &str = "null";

pub(crate) use modes::Modes;
pub(crate) use reconnect::{Renewed, SetAgain};
pub(crate) use request::with_null_path;
pub(crate) use table::WatchTable;
pub(crate) use watching::Watching;
