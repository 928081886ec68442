//! Reads and durable writes at full pelt: so many connections, so many requests outstanding on each.

use super::{Row, part};
use crate::bench::floor::Kind;
use crate::bench::{Bench, Failure, Limit, Sheet, Spec};
use crate::load::{Mix, Pace};

pub(super) const READS_20X50: Row = Row {
    name: "reads-20x50",
    about: "getData of 1 KiB, 20 connections × 50 outstanding",
    floor: Some("echo"),
    figures: &figures(part(10), Limit::AboveFloor(0.7)),
    large: false,
    run: |bench, sheet| run(bench, sheet, Mix::READS, 20, 50),
};

pub(super) const READS_100X1: Row = Row {
    name: "reads-100x1",
    about: "getData of 1 KiB, 100 connections × 1 outstanding",
    floor: Some("echo"),
    figures: &figures(part(3), Limit::OfFloor(1.3)),
    large: false,
    run: |bench, sheet| run(bench, sheet, Mix::READS, 100, 1),
};

pub(super) const WRITES_20X50: Row = Row {
    name: "writes-20x50",
    about: "durable setData of 1 KiB, 20 connections × 50 outstanding",
    floor: None,
    figures: &figures(part(6), part(12)),
    large: false,
    run: |bench, sheet| run(bench, sheet, Mix::WRITES, 20, 50),
};

pub(super) const WRITES_100X1: Row = Row {
    name: "writes-100x1",
    about: "durable setData of 1 KiB, 100 connections × 1 outstanding",
    floor: None,
    figures: &figures(part(3), part(6)),
    large: false,
    run: |bench, sheet| run(bench, sheet, Mix::WRITES, 100, 1),
};

const fn figures(bar: Limit, aim: Limit) -> [Spec; 5] {
    [
        Spec::held("CPU", "µs/op", bar, aim),
        Spec::told("rate", "op/s"),
        Spec::told("p50", "ms"),
        Spec::told("p99", "ms"),
        Spec::told("p99.9", "ms"),
    ]
}

fn run(
    bench: &Bench,
    sheet: &mut Sheet,
    mix: Mix,
    connections: usize,
    outstanding: usize,
) -> Result<(), Failure> {
    let floor = (mix == Mix::READS).then_some(Kind::Echo);
    let mut all = bench.all(bench.few_kib(), floor)?;
    let pace = Pace::Closed { outstanding };
    for (_, contestant) in &all {
        bench.warm_up(&bench.load(contestant, connections, pace, mix))?;
    }
    bench.in_turn(&mut all, |(who, contestant)| {
        let load = bench.load(contestant, connections, pace, mix);
        let (measured, cpu) = bench.run(contestant, &load)?;
        sheet.add("CPU", *who, cpu);
        sheet.add("rate", *who, measured.per_second());
        for (name, percentile) in [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)] {
            sheet.add(name, *who, measured.latency_ms(percentile));
        }
        Ok(())
    })
}
