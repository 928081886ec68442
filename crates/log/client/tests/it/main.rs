//! The client against brokers that are played.

mod played;
mod silent;
