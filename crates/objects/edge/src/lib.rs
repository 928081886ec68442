//! What joins the HTTP server and the edge of live objects: a handler for each shard of the server.
//!
//! [`EdgeHandler`] gives requests to [`objects_http::Edge`], sends the core what it asks, all of a turn in one piece, and
//! gives the edge the core's answers, which come as mail. It reads the system's randomness for the secrets of sessions.
//! It logs who was not let in, and what was administered.
//! What HTTP means is decided below it, and what a command means on the other side of [`Core`].

mod audit;
mod convert;
mod handler;

pub use handler::{BackupMail, Core, EdgeHandler, EdgeMail};
