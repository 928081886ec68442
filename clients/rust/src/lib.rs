//! Calls live replicated objects of Diwan: locks, counters, queues, elections and more, and types of your own.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use diwan_objects::{Cluster, Counter, Lock, Wait};
//!
//! # fn write(_: i64) {}
//! # fn main() -> diwan_objects::Result<()> {
//! let cluster = Cluster::connect("10.0.0.1:7180,10.0.0.2:7180,10.0.0.3:7180")?;
//! let visits = Counter::new(&cluster, "visits").increment()?;
//! let held = Lock::new(&cluster, "build").hold(Wait::at_most(Duration::from_secs(5)))?;
//! write(held.fence()); // held.is_lost(), held.on_lost(callback)
//! held.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! Calls block their thread; any number of threads may use one cluster object. Heartbeats run on threads of their own.
//!
//! # Not done, and what that costs
//! - No futures: in an asynchronous program call from a thread that may block.
//! - [`Held::on_lost`] runs callbacks on the thread that notices: one that blocks delays the others, not the heartbeat.

mod acknowledged;
mod call;
mod cluster;
mod error;
mod exchange;
mod held;
mod http;
mod object;
mod session;
mod tls;
mod token;
pub mod types;
mod wait;

pub use cluster::{Cluster, Options};
pub use error::{Effect, Error, Problem, Result};
pub use held::Held;
pub use object::{Description, Object};
pub use serde_json::json;
pub use tls::Tls;
pub use types::*;
pub use wait::{Cancel, Wait};

/// Each thread is an owner of the locks that it acquires.
pub(crate) fn owner() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static OWN: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    format!("t{}", OWN.with(|own| *own))
}
