//! Hostile bytes for every decoder, for recovery and for a whole member, and a driver that makes them.
//!
//! A target is a function of bytes that panics when something is wrong. Two drivers feed them: the one here, which
//! changes seeds blindly and runs on a stable toolchain within the test command, and libFuzzer (`fuzz/`), which is
//! guided by what the code under test does and wants a nightly one. Of the shipped driver it knows what members say to
//! each other (`net_peers::wire`), and nothing of its sockets, files and threads.
//!
//! # Not done, and what that costs
//! - The driver here learns nothing from a run: what only a long chain of lucky changes reaches is libFuzzer's to find.
//! - Nothing is fed to TLS itself: its records are the TLS library's to decode.
//! - The client library's decoders are private to it, and tested there.

pub mod golden;
pub mod heap;
pub mod input;
pub mod mutate;
pub mod runner;
pub mod target;
mod targets;

pub use runner::{Finding, Plan, Report};
pub use target::{TARGETS, Target, feed};
