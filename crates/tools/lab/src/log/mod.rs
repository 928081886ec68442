//! Experiments on the log: brokers that take messages, keep them and give them out.
//!
//! 1. A [`Contestant`] is what can be measured: Diwan (council and log in one process), Apache Kafka, and for some jobs a bare
//!    server.
//! 2. A [`Stand`] is one of them as a running broker, or as a cluster of several, over an empty folder.
//! 3. A [`Job`] is one thing that is measured; a [`Mode`] says when a message counts as taken, and means the same for all.
//! 4. [`perform`] does a job. What the kernel says of the broker is read at the edges, as everywhere in the laboratory.
//! 5. Every job counts again, by reading, what was acknowledged: if that differs, the point has failed. An error that the load
//!    meets is a failure, too.
//! 6. Loads are `log_client::load`: the same one for all that speak Kafka's protocol, raw bytes on one thread, so that it costs
//!    little beside a broker.
//!
//! Knows no experiment.

mod contestant;
mod floor;
mod job;
mod perform;
mod stand;

pub use contestant::{Contestant, named_broker};
pub use floor::{serve as serve_floor, serve_resting as serve_resting_floor};
pub use job::{Fault, Job, Mode};
pub use perform::{Seen, Turn, perform};
pub use stand::{Pids, Stand};
