//! Figures about a running process, and the text that Prometheus reads them in. Each service collects its own under its own
//! prefix; what is here names none.

mod histogram;
pub mod process;
mod prometheus;
mod sample;

pub use histogram::{Distribution, Histogram};
pub use prometheus::prometheus;
pub use sample::{Measure, Sample};
