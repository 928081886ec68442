//! Watches: who waits for what, what fires when, and how a client takes them up again after a reconnection.

mod fire;
mod modes;
mod reconnect;
mod request;
mod table;

pub(crate) use modes::Modes;
pub(crate) use request::{has_null_list, on_null_path};
pub(crate) use table::WatchTable;
