//! What becomes of watches: events to those who wait, requests about them, and clients that take theirs up again after a
//! reconnection.

mod fire;
mod reconnect;
mod request;

pub(crate) use request::with_null_path;
