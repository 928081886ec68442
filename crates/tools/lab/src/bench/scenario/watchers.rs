//! Thousands of sessions watch one node: the time until the last gets the event of a change.

use council_client::load::{Crowd, Nodes};

use super::{Row, part};
use crate::bench::floor::Kind;
use crate::bench::{Bench, Failure, Limit, Sheet, Spec};

/// Changes that warm a crowd up, and those that are measured, each repeat.
const ROUNDS: (usize, usize) = (2, 5);

pub(super) const WATCHERS: Row = Row {
    name: "watchers",
    about: "10,000 sessions watch one node of 1 KiB, until the last is told",
    floor: Some("broadcaster, without a durable write"),
    figures: &[
        Spec::held("until the last is told", "ms", part(4), Limit::OfFloor(1.5)),
        Spec::told("CPU", "µs/session"),
    ],
    servers: 1,
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let nodes = Nodes { count: 1, value_bytes: 1024 };
    let mut all = bench.all(1, nodes, Some(Kind::Broadcast))?;
    let path = Nodes::path(0);
    bench.in_turn(&mut all, |(who, stand)| {
        let mut crowd = Crowd::connect(stand.addresses()[0], bench.scale().sessions)?;
        let mut cpu = 0.0;
        for round in 0..ROUNDS.0 + ROUNDS.1 {
            crowd.watch(&path)?;
            let before = stand.reading()?.cpu;
            let took = crowd.tell(&path, &[b'c'; 1024])?;
            if round >= ROUNDS.0 {
                sheet.add("until the last is told", *who, took.as_secs_f64() * 1e3);
                cpu += (stand.reading()?.cpu - before).as_secs_f64() * 1e6;
            }
        }
        sheet.add("CPU", *who, cpu / (ROUNDS.1 * bench.scale().sessions) as f64);
        Ok(crowd.close()?)
    })
}
