//! The client against brokers that are played.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod nearest;
mod played;
mod silent;
