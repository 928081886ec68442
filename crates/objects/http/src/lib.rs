//! Live objects over HTTP: requests of clients as commands and queries for the core, outcomes as responses.
//!
//! [`Edge`] is a machine. A request whose body is whole goes in; an [`objects_replica::edge::Request`] goes out to the
//! core, or a response at once. An [`objects_replica::edge::Answer`] goes in; a response, or a piece of a stream, goes
//! out. It keeps which request waits for which answer, for how long it may be held, and which sessions have an open
//! stream. The routes, header fields, statuses and limits are those of `docs/objects.md`.
//!
//! Invariants:
//! - *One response.* Each request is answered once, or was [gone](Edge::gone) before.
//! - *Nothing unclear goes to the core.* A request that is no good in form is refused here, with words for its sender.
//! - *Secrets stay here.* The core and the log get the hash of a session's secret, and of a token.
//! - *Wrong is not none.* A token that cannot be one is refused, never taken for a request without.
//! - *One reading of a body.* What is checked here is read again where it is applied, by the same parser.
//!
//! This crate knows no socket, no clock and no source of randomness: time and random bits are arguments.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod arguments;
mod care;
mod console;
mod edge;
mod fields;
mod guard;
mod header;
mod message;
mod namespace;
mod openapi;
mod presented;
mod route;
mod schema;
mod sse;
mod target;

pub use edge::{Edge, EdgeConfig, Say};
pub use header::Fields;
pub use message::{EVENT_STREAM, Fault, HttpRequest, HttpResponse, JSON, Note, OCTETS, PROBLEM};
pub use presented::{TOKEN_PREFIX, hash_of_token};

/// What takes the place of events that a client reads too slowly for.
pub const EVENTS_LOST: &str = sse::LOST;
