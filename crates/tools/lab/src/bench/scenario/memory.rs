//! Resident memory with a large tree of small nodes.

use council_client::load::{Nodes, prepare};

use super::{Row, at_most};
use crate::bench::setting::NO_SNAPSHOTS;
use crate::bench::{Bench, Failure, Sheet, Spec};

pub(super) const MEMORY: Row = Row {
    name: "memory",
    about: "1,000,000 znodes of 5 bytes, paths of 25 bytes, a thousand to a parent",
    floor: None,
    figures: &[
        Spec::held("resident", "MB", at_most(200.0), at_most(170.0)),
        Spec::held("resident after a restart", "MB", at_most(200.0), at_most(170.0)),
        Spec::told("creation", "s"),
    ],
    servers: 1,
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let nodes = Nodes { count: bench.scale().many, value_bytes: 5 };
    bench.in_turn(&mut bench.servers(), |who| {
        let mut server = bench.fresh(*who, &NO_SNAPSHOTS)?;
        let began = std::time::Instant::now();
        prepare(server.address(), nodes)?;
        sheet.add("creation", *who, began.elapsed().as_secs_f64());
        sheet.add("resident", *who, server.resident_bytes()? as f64 / 1e6);
        server.stop()?;
        server.restart()?;
        sheet.add("resident after a restart", *who, server.resident_bytes()? as f64 / 1e6);
        Ok(())
    })
}
