//! Reads and durable writes at full load: so many connections, so many requests outstanding on each.

use council_client::load::{Mix, Pace};

use super::{Row, part};
use crate::bench::floor::Kind;
use crate::bench::{Bench, Failure, Limit, Sheet, Spec, Who, probe};
use crate::measure::PERCENTILES;

pub(super) const READS_20X50: Row = Row {
    name: "reads-20x50",
    about: "getData of 1 KiB, 20 connections × 50 outstanding",
    floor: Some("echo"),
    figures: &figures(part(10), Limit::AboveFloor(0.7)),
    servers: 1,
    large: false,
    run: |bench, sheet| run(bench, sheet, 1, Mix::READS, Ways { connections: 20, outstanding: 50 }),
};

pub(super) const READS_100X1: Row = Row {
    name: "reads-100x1",
    about: "getData of 1 KiB, 100 connections × 1 outstanding",
    floor: Some("echo"),
    figures: &figures(part(3), Limit::OfFloor(1.3)),
    servers: 1,
    large: false,
    run: |bench, sheet| run(bench, sheet, 1, Mix::READS, Ways { connections: 100, outstanding: 1 }),
};

pub(super) const WRITES_20X50: Row = Row {
    name: "writes-20x50",
    about: "durable setData of 1 KiB, 20 connections × 50 outstanding",
    floor: None,
    figures: &figures(part(6), part(12)),
    servers: 1,
    large: false,
    run: |bench, sheet| run(bench, sheet, 1, Mix::WRITES, Ways { connections: 20, outstanding: 50 }),
};

pub(super) const WRITES_100X1: Row = Row {
    name: "writes-100x1",
    about: "durable setData of 1 KiB, 100 connections × 1 outstanding",
    floor: None,
    figures: &figures(part(3), part(6)),
    servers: 1,
    large: false,
    run: |bench, sheet| run(bench, sheet, 1, Mix::WRITES, Ways { connections: 100, outstanding: 1 }),
};

pub(super) const THREE_READS_20X50: Row = Row {
    name: "three-reads-20x50",
    about: "getData of 1 KiB, 20 connections × 50 outstanding, spread over three servers",
    floor: Some("three echo servers"),
    figures: &figures(part(20), part(35)),
    servers: 3,
    large: false,
    run: |bench, sheet| run(bench, sheet, 3, Mix::READS, Ways { connections: 20, outstanding: 50 }),
};

pub(super) const THREE_READS_100X1: Row = Row {
    name: "three-reads-100x1",
    about: "getData of 1 KiB, 100 connections × 1 outstanding, spread over three servers",
    floor: Some("three echo servers"),
    figures: &figures(part(6), part(10)),
    servers: 3,
    large: false,
    run: |bench, sheet| run(bench, sheet, 3, Mix::READS, Ways { connections: 100, outstanding: 1 }),
};

pub(super) const THREE_WRITES_20X50: Row = Row {
    name: "three-writes-20x50",
    about: "durable setData of 1 KiB, 20 connections × 50 outstanding, spread over three servers",
    floor: Some("three files: all that is outstanding is appended to each and flushed, side by side"),
    figures: &[
        Spec::held("CPU", "µs/op", part(6), part(12)),
        Spec::held(
            "time",
            "µs/op",
            Limit::Larger(&part(4), &Limit::OfFloor(1.25)),
            Limit::Larger(&part(4), &Limit::OfFloor(1.25)),
        ),
        Spec::told("rate", "op/s"),
        Spec::told("p50", "ms"),
        Spec::told("p99", "ms"),
        Spec::told("p99.9", "ms"),
    ],
    servers: 3,
    large: false,
    run: |bench, sheet| {
        let ways = Ways { connections: 20, outstanding: 50 };
        run(bench, sheet, 3, Mix::WRITES, ways)?;
        for _ in 0..bench.options.repeats {
            let per_second = probe::three_files(bench.disk(), ways.all(), bench.scale().measure)?;
            sheet.add("rate", Who::Floor, per_second);
            sheet.add("time", Who::Floor, 1e6 / per_second);
        }
        let [zookeeper, diwan] = [Who::Peer, Who::Diwan].map(|who| sheet.median("rate", who));
        if let (Some(zookeeper), Some(diwan)) = (zookeeper, diwan) {
            sheet.notes.push(format!("{:.1} times ZooKeeper's rate", diwan / zookeeper));
        }
        Ok(())
    },
};

pub(super) const THREE_WRITES_100X1: Row = Row {
    name: "three-writes-100x1",
    about: "durable setData of 1 KiB, 100 connections × 1 outstanding, spread over three servers",
    floor: None,
    figures: &figures(part(4), part(8)),
    servers: 3,
    large: false,
    run: |bench, sheet| run(bench, sheet, 3, Mix::WRITES, Ways { connections: 100, outstanding: 1 }),
};

/// How requests are spread.
#[derive(Clone, Copy)]
struct Ways {
    connections: usize,
    outstanding: usize,
}

impl Ways {
    /// All that is outstanding.
    const fn all(self) -> usize {
        self.connections * self.outstanding
    }
}

const fn figures(bar: Limit, aim: Limit) -> [Spec; 5] {
    [
        Spec::held("CPU", "µs/op", bar, aim),
        Spec::told("rate", "op/s"),
        Spec::told("p50", "ms"),
        Spec::told("p99", "ms"),
        Spec::told("p99.9", "ms"),
    ]
}

fn run(bench: &Bench, sheet: &mut Sheet, servers: usize, mix: Mix, ways: Ways) -> Result<(), Failure> {
    let floor = (mix == Mix::READS).then_some(Kind::Echo);
    let mut all = bench.all(servers, bench.few_kib(), floor)?;
    let pace = Pace::Closed { outstanding: ways.outstanding };
    for (_, stand) in &all {
        bench.warm_up(&bench.load(stand, ways.connections, pace, mix))?;
    }
    bench.in_turn(&mut all, |(who, stand)| {
        let load = bench.load(stand, ways.connections, pace, mix);
        let (measured, cpu) = bench.run(stand, &load)?;
        sheet.add("CPU", *who, cpu);
        sheet.add("rate", *who, measured.per_second());
        for (name, percentile) in PERCENTILES {
            sheet.add(name, *who, measured.latency_ms(percentile));
        }
        if sheet.declares("time") {
            sheet.add("time", *who, 1e6 / measured.per_second());
        }
        Ok(())
    })
}
