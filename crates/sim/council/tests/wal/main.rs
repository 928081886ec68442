//! A write-ahead log of several logs on a disk as bad as a real one may be.
//!
//! A model remembers in which order logs were created, appended to and dropped, and how much of that was flushed.
//! Whatever happens to the disk, what is recovered must be a beginning of it that reaches at least to the last flush
//! that succeeded: every flushed record of every log is there, in order, and nothing else. Where bits rot, opening may
//! instead be refused, naming the file and the place.
//!
//! `SIM_SEEDS=n` plays n seeds instead of a few.

#![expect(clippy::unwrap_used, reason = "a test stops where something is missing")]

mod bytes;
mod crash;
mod damage;
mod full;
mod model;
mod owners;
mod retention;
mod world;
