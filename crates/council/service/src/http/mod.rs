//! The AdminServer's commands, over HTTP.

pub(crate) mod admin;
mod commands;
mod ensemble;
mod guarded;
pub(crate) mod lists;
