//! HTTP for people and machines that look after the server: metrics, probes, the AdminServer's commands.
//!
//! Small on purpose: one request a connection, few connections at a time, a deadline over each. Clients of the
//! coordination service never come here.

pub(crate) mod admin;
mod body;
mod ensemble;
mod guarded;
pub(crate) mod host;
pub(crate) mod listener;
pub(crate) mod lists;
mod paced;
mod places;
pub(crate) mod response;
pub(crate) mod router;
