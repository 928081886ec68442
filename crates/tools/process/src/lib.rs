//! Child processes of tests and tools: started, waited for, signalled, metered, and never left behind.
//!
//! [`Group`] is one child with everything that it starts; [`Service`] is a group that writes a log and is waited for until
//! it is ready; [`run_lines`] and [`run_into`] run a command to its end or its deadline. [`meter`] reads what the kernel
//! says about a process, [`ports`] finds free ports.
//!
//! Knows no server and no protocol, and has few dependencies, so that `xtask` builds quickly.
//!
//! **Not done, and what that costs.** A child that leaves its process group on purpose is not killed with it. If this
//! program itself is killed by SIGKILL, its children run on.

mod error;
mod group;
pub mod meter;
pub mod ports;
mod run;
mod service;
mod signal;

pub use error::{Error, Result};
pub use group::Group;
pub use run::{Ended, run_into, run_lines, tail};
pub use rustix::process::Signal;
pub use service::Service;
pub use signal::{kill_groups_on_signal, stop_then_kill_groups_on_signal};
