//! The journal on a disk as bad as a real one may be.
//!
//! A model remembers every state that the log went through and how far it was flushed. Whatever happens to the disk,
//! recovery must give back one of the states since the last flush that succeeded: nothing acknowledged is lost,
//! nothing appears that was never appended, what was cut off stays cut off. Where bits rot, it may instead refuse,
//! naming the file and the place.
//!
//! `SIM_SEEDS=n` plays n seeds instead of a few.

#![expect(clippy::unwrap_used, reason = "a test stops where something is missing")]

mod bytes;
mod crash;
mod damage;
mod executor;
mod faults;
mod forget;
mod full;
mod model;
mod world;
