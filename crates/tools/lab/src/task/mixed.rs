//! Reads and writes of random nodes that all clients share, each checked against a ledger.

use std::io;
use std::time::Duration;

use council_client::load::{Load, Mix, Pace};
use tools_lab_report::record::Checked;
use tools_testbed::meter::Edges;

use super::order::Order;
use super::outcome::Outcome;
use crate::measure::{Phase, between_edges};

const NAME: &str = "mixed";

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let task = order.task;
    let load = Load {
        servers: order.servers.clone(),
        connections: task.clients,
        pace: match task.per_second > 0.0 {
            true => Pace::Open { per_second: task.per_second },
            false => Pace::Closed { outstanding: task.outstanding },
        },
        mix: Mix { writes_per_mille: task.writes_per_mille },
        nodes: task.nodes(),
        seed: task.seed,
        checks: true,
    };
    let [warm_up, duration] = [task.warm_up_ms, task.measured_ms].map(Duration::from_millis);
    let measured = between_edges(&load, (warm_up, duration), order.patience, NAME, edges)?;
    let phase = Phase::of(NAME, &measured);
    let checked = Checked { reads: measured.reads, writes: measured.writes, ..Checked::default() };
    let wrong = measured.verdict.err().into_iter().map(|broken| broken.to_string()).collect();
    Ok(Outcome { phases: vec![phase], checked, wrong, ..Outcome::default() })
}
