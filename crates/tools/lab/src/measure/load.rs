//! Loads of random reads and writes in ZooKeeper's protocol, between two edges.

use std::io;
use std::time::Duration;

use council_client::load::{Load, Measured, Patience, run_patiently};
use tools_testbed::meter::{Edge, Edges};

use super::Phase;

/// Runs a load for `warm_up` and then for `duration`, which lies between the two edges of the phase of that name.
///
/// # Errors
/// A connection failed, or a server was silent for too long.
pub fn between_edges(
    load: &Load,
    (warm_up, duration): (Duration, Duration),
    patience: &Patience,
    name: &str,
    edges: &mut Edges<'_>,
) -> io::Result<Measured> {
    let mut passed = [Edge::Begin, Edge::End].into_iter();
    let edge = || passed.next().into_iter().for_each(|edge| edges(edge, name));
    run_patiently(load, warm_up, duration, patience, edge)
}

impl Phase {
    /// What a load saw.
    #[must_use]
    pub fn of(name: &str, measured: &Measured) -> Self {
        Self {
            name: name.to_owned(),
            operations: measured.operations,
            errors: measured.errors,
            elapsed: measured.elapsed,
            latency: measured.latency.clone(),
        }
    }
}
