//! The state of live replicated objects.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod args;
mod builtin;
mod call;
mod check;
mod codec;
mod command;

mod cost;
mod deadline;
mod death;
mod effects;
mod group;
mod json;
mod key;
pub mod limits;
mod loader;
mod object;
mod problem;
mod reply;
mod request;
mod scan;
mod session;
mod state;
mod store;
mod tick;
mod ticket;

pub use builtin::{Method, MethodKind, TYPES, methods, type_name, type_named};
pub use codec::Malformed;
pub use command::{
    Batch, Call, Caller, Command, Identity, Invocation, NewSession, ObjectName, Origin, SessionId, TypeId,
};
pub use effects::{Effect, Effects, Event, EventKind, TicketEnd};
pub use loader::Loader;
pub use problem::{Outcome, Problem, Retry, SideEffect, Slug};
pub use scan::SnapshotProgress;
pub use session::Session;
pub use state::{Description, State, TicketState};
