//! What an operation costs in a small tree and in a large one.

use council_client::load::{Load, Mix, Nodes, Pace, extend, prepare};

use super::{Row, at_most};
use crate::bench::setting::NO_SNAPSHOTS;
use crate::bench::{Bench, Failure, Sheet, Spec, Who};
use crate::measure::Stand;

pub(super) const GROWTH: Row = Row {
    name: "growth",
    about: "from 1,000 to 1,000,000 znodes of 5 bytes, 20 connections × 50 outstanding",
    floor: None,
    figures: &[
        Spec::held("reads: CPU added", "µs/op", at_most(1.0), at_most(0.5)),
        Spec::held("writes: CPU added", "µs/op", at_most(1.0), at_most(0.5)),
        Spec::told("reads of few", "µs/op"),
        Spec::told("reads of many", "µs/op"),
        Spec::told("writes of few", "µs/op"),
        Spec::told("writes of many", "µs/op"),
    ],
    servers: 1,
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    bench.in_turn(&mut bench.servers(), |who| one(bench, sheet, *who))
}

fn one(bench: &Bench, sheet: &mut Sheet, who: Who) -> Result<(), Failure> {
    let [few, many] = [bench.scale().few, bench.scale().many].map(|count| Nodes { count, value_bytes: 5 });
    let server = Stand::from(bench.fresh(who, &NO_SNAPSHOTS)?);
    prepare(server.addresses()[0], few)?;
    for mix in [Mix::READS, Mix::WRITES] {
        bench.warm_up(&load(&server, few, mix))?;
    }
    let cost = |nodes, mix| bench.run(&server, &load(&server, nodes, mix)).map(|(_, cpu)| cpu);
    let of_few = [cost(few, Mix::READS)?, cost(few, Mix::WRITES)?];
    extend(server.addresses()[0], many, few.count)?;
    let of_many = [cost(many, Mix::READS)?, cost(many, Mix::WRITES)?];
    for (place, [added, small, large]) in [
        ["reads: CPU added", "reads of few", "reads of many"],
        ["writes: CPU added", "writes of few", "writes of many"],
    ]
    .into_iter()
    .enumerate()
    {
        sheet.add(added, who, of_many[place] - of_few[place]);
        sheet.add(small, who, of_few[place]);
        sheet.add(large, who, of_many[place]);
    }
    Ok(())
}

fn load(server: &Stand, nodes: Nodes, mix: Mix) -> Load {
    let pace = Pace::Closed { outstanding: 50 };
    Load { servers: server.addresses().into(), connections: 20, pace, mix, nodes, seed: 1, checks: false }
}
