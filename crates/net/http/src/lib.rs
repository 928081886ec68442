//! HTTP for operators and their tools: pages, metrics, probes, commands.
//!
//! Small on purpose: one request a connection, few connections at a time, a deadline over each. No data of a service
//! goes this way.

mod body;
mod host;
mod listener;
mod paced;
mod places;
mod response;

pub use host::{Hosts, own_name};
pub use listener::{HttpListener, Site};
pub use places::Kind;
pub use response::{Body, Request, Response};
