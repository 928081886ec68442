//! The AdminServer's commands, over HTTP.

pub(crate) mod admin;
mod ensemble;
mod guarded;
pub(crate) mod lists;
