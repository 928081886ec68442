//! What applying does beside the tree: the reads that wait behind a write, and what is counted.

mod metrics;
mod reads;

pub(crate) use self::metrics::ApplyMetrics;
pub(crate) use self::reads::ReadQueue;
