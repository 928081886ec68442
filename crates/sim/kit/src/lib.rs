//! What every simulator stands on: a world is played from a seed, judged, told, and made smaller if it fails. Knows no
//! service, no protocol, no rule of what is right, and no load: those are the world's.
//!
//! # Interface
//! A simulated system implements [`World`]: it begins from a [`Plan`], goes on step by step, is judged in the end, and has
//! a [`Simulation`] in which its clock, its random numbers, its faults and its story are. From that alone follow
//!
//! - [`play`] (one seed, with what it did as a [`Report`]) and [`run`] (many, on one thread or several);
//! - [`shrink`]: less time and fewer faults, as long as the same rule breaks;
//! - [`command_line`]: the program over it, with its options and what it prints;
//! - [`below_floor`]: whether each rule had enough to judge, and [`Tally::not_reached`]: whether everything happened;
//! - [`random::regressions`]: the seeds of a file that once found something.
//!
//! What most worlds consist of is here as well, each part by itself. A world takes those that it needs:
//!
//! | part | what it simulates |
//! |---|---|
//! | [`network`] | connections with delay, order, cuts, slow directions; messages that are lost, repeated or overtaken |
//! | [`peers`] | processes that dial each other and keep pairs of connections, as `net_peers` does; judges the pairs |
//! | [`Host`] | a machine's disk and clocks: pauses, drift, crashes; a disk that stalls, is slow, fails, is full |
//! | [`disk`], [`damage`] | a disk that loses, tears and reorders what was not flushed; bits that rot, writes that go astray |
//!
//! `tests/counters.rs` is a whole world in 200 lines, with a planted bug that is found and made smaller. `tests/peers.rs`
//! shows processes that keep connections.
//!
//! # Invariants
//! - **The seed decides everything.** The same plan gives the same history byte for byte, in any process and on any number of
//!   threads. [`Trace`] is a running hash of all steps; two runs are the same if their hashes are.
//! - **One clock.** [`Simulation::pass`] alone moves it. Everything that is due later is due at a time of that clock, and what
//!   a machine sees of it ([`Host::mono`]) is computed from it.
//! - **One stream of random numbers**, [`Simulation::random`], in the order of the steps. Whatever must not disturb it draws
//!   from a fork.
//! - **Nothing reads a clock, the environment, or memory in an order of its own.** This crate denies them as pure crates do.
//!   Exceptions are its drivers, [`run`] and [`command_line`], and [`random::seeds`]; no world ever sees what they read.
//! - **A fault can be left out.** Each that strikes has a number ([`Simulation::strike`]) and draws from a stream of its own,
//!   so that others keep theirs as far as can be. A world draws the same whether or not faults are left out.
//! - **A panic is a finding**: of a machine that met what must never be, or of a rule.
//!
//! # A new simulator
//! 1. A crate `sim-<service>` with a type that implements [`World`], and a program whose `main` is
//!    [`command_line::main`]`::<ThatWorld>()`.
//! 2. Its [`World::step`] drives the shipped machines: one may deliver what came ([`peers::deliver`]), let one machine take
//!    one of its steps, strike with a fault, or let time pass. It hands each moment to [`Simulation::end_moment`].
//! 3. A test that plays a fixed set of seeds and asks for [`Tally::not_reached`]; one that compares the hash of a seed with that
//!    of another process; one that plays the seeds that once failed.
//!
//! # Not done, and what that costs
//! - There is no queue of events by time: a step draws what happens next among all that may. Fair interleavings are cheap
//!   that way; a world that is idle for long takes as many steps as a busy one.
//! - What is sent in a direction that is cut is lost when it would be delivered: if the direction mends before that, it comes
//!   through.
//! - What the users of a world do cannot be left out when it is made smaller.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod command_line;
pub mod damage;
mod faults;
mod host;
mod judged;
pub mod network;
pub mod peers;
pub mod random;
mod run;
mod shrink;
mod simulation;
mod trace;
mod world;

pub use faults::{MessageFaults, OF_MESSAGES, Without};
pub use host::{DRIFT_MAX_PPM, Host};
pub use judged::{Floor, Judged, SEEDS_MIN, below_floor};
pub use run::{Seeds, Tally, run};
pub use shrink::{Shrunk, shrink};
pub use simulation::Simulation;
pub use storage_disk::sim as disk;
pub use trace::Trace;
pub use world::{Plan, Report, World, play, report, run_to_end};
