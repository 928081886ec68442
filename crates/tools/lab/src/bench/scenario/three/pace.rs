//! Writes at a fixed pace on two members while the third one fails, beside the same undisturbed.

use std::thread;
use std::time::{Duration, Instant};

use council_client::load::{Load, Measured, Mix, Nodes, Pace, Patience, prepare};
use tools_testbed::Ensemble;
use tools_testbed::meter::Edge;

use super::{MEMBERS, addresses, milliseconds, settled};
use crate::bench::scenario::{Row, at_most};
use crate::bench::setting::HEAP_MB;
use crate::bench::{Bench, Failure, Sheet, Spec};
use crate::measure::{beside, between_edges};

/// A ZooKeeper's heap for a tree of 1 GB, MiB.
const LARGE_HEAP_MB: u32 = 4096;

pub(in crate::bench::scenario) const FOLLOWER_STOPPED: Row = Row {
    name: "three-follower-stopped",
    about: "2,000 durable setData of 1 KiB a second at two members while the third, a follower, is stopped (`SIGSTOP`) for 10 s",
    floor: None,
    figures: &[
        Spec::held("p99.9 with, over without", "×", at_most(1.5), at_most(1.05)),
        Spec::told("p99.9 without", "ms"),
        Spec::told("p99.9 with", "ms"),
        Spec::told("longest gap without", "ms"),
        Spec::told("longest gap with", "ms"),
    ],
    servers: 3,
    large: false,
    run: |bench, sheet| {
        let nodes = bench.few_kib();
        let pause = bench.scale().pause;
        let case = Case { nodes, written: nodes, heap_mb: HEAP_MB, duration: pause + pause / 5 };
        run(
            bench,
            sheet,
            case,
            |_, _| Ok(()),
            move |ensemble, number| {
                ensemble.pause(number)?;
                // No synchronisation: the length of the stop is what is measured.
                thread::sleep(pause);
                ensemble.resume(number)?;
                Ok(pause)
            },
        )
    },
};

pub(in crate::bench::scenario) const JOIN: Row = Row {
    name: "three-join",
    about: "2,000 durable setData of 1 KiB a second at two members while the third, whose disk is empty, joins them: 100 MB in values of 100 KiB",
    floor: None,
    figures: JOINING,
    servers: 3,
    large: false,
    run: |bench, sheet| join(bench, sheet, bench.scale().joined, HEAP_MB, bench.scale().pause),
};

pub(in crate::bench::scenario) const JOIN_1GB: Row = Row {
    name: "three-join-1gb",
    about: "as `three-join`, with 1 GB (ZooKeeper's heap: 4 GB)",
    floor: None,
    figures: JOINING,
    servers: 3,
    large: true,
    run: |bench, sheet| join(bench, sheet, bench.scale().joined * 10, LARGE_HEAP_MB, bench.scale().pause * 4),
};

const JOINING: &[Spec] = &[
    Spec::held("p99.9 with, over without", "×", at_most(1.5), at_most(1.1)),
    Spec::told("p99.9 without", "ms"),
    Spec::told("p99.9 with", "ms"),
    Spec::told("longest gap without", "ms"),
    Spec::told("longest gap with", "ms"),
    Spec::told("until it serves", "s"),
];

#[derive(Clone, Copy)]
struct Case {
    nodes: Nodes,
    written: Nodes,
    heap_mb: u32,
    duration: Duration,
}

fn join(
    bench: &Bench,
    sheet: &mut Sheet,
    count: u32,
    heap_mb: u32,
    duration: Duration,
) -> Result<(), Failure> {
    let nodes = Nodes { count, value_bytes: 100 << 10 };
    // Few of the large values are replaced by small ones, so that the tree keeps its size.
    let written = Nodes { count: (count / 20).max(1), value_bytes: 1024 };
    let case = Case { nodes, written, heap_mb, duration };
    run(
        bench,
        sheet,
        case,
        |ensemble, number| {
            ensemble.stop(number)?;
            Ok(ensemble.wipe(number)?)
        },
        |ensemble, number| Ok(ensemble.start(number)?),
    )
}

/// Loads the leader and one follower twice; before the second time `prepared` is done to the other follower, during it
/// `fault`, which returns how long that took.
fn run(
    bench: &Bench,
    sheet: &mut Sheet,
    case: Case,
    prepared: impl Fn(&mut Ensemble, usize) -> Result<(), Failure>,
    fault: impl Fn(&mut Ensemble, usize) -> Result<Duration, Failure> + Sync,
) -> Result<(), Failure> {
    bench.in_turn(&mut bench.servers(), |who| {
        let mut ensemble = bench.ensemble(*who, MEMBERS, case.heap_mb, &[])?;
        prepare(ensemble.address(1), case.nodes)?;
        let order = settled(&mut ensemble)?;
        let load = Load {
            servers: addresses(&ensemble, &order[..2]).into(),
            connections: 100,
            pace: Pace::Open { per_second: bench.scale().paced_writes },
            mix: Mix::WRITES,
            nodes: case.written,
            seed: 1,
            checks: false,
        };
        bench.warm_up(&load)?;
        let without = phase(bench, &load, case.duration, &mut || {})?;
        let third = order[2];
        prepared(&mut ensemble, third)?;
        let fault = &fault;
        let (with, took) =
            beside(|begun| phase(bench, &load, case.duration, begun), |_| fault(&mut ensemble, third));
        let (with, took) = (with?, took?.unwrap_or(Ok(Duration::ZERO))?);
        let [p_without, p_with] = [&without, &with].map(|measured| measured.latency_ms(99.9));
        sheet.add("p99.9 with, over without", *who, p_with / p_without);
        sheet.add("p99.9 without", *who, p_without);
        sheet.add("p99.9 with", *who, p_with);
        sheet.add("longest gap without", *who, milliseconds(without.longest_gap));
        sheet.add("longest gap with", *who, milliseconds(with.longest_gap));
        if sheet.declares("until it serves") {
            sheet.add("until it serves", *who, took.as_secs_f64());
        }
        Ok(())
    })
}

/// The load; `begun` is called when measuring begins.
fn phase(
    bench: &Bench,
    load: &Load,
    duration: Duration,
    begun: &mut dyn FnMut(),
) -> Result<Measured, Failure> {
    let began = Instant::now();
    let edges = &mut |edge, _: &str| {
        if edge == Edge::Begin {
            begun();
        }
    };
    let times = (bench.scale().warm_up, duration);
    let measured = between_edges(load, times, &Patience::default(), "writes", edges)?;
    if measured.operations == 0 || measured.errors > 0 {
        let (errors, seconds) = (measured.errors, began.elapsed().as_secs());
        return Err(Failure(format!("{errors} writes failed within {seconds} s")));
    }
    Ok(measured)
}
