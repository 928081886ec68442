//! Nine reads to a write at an equal offered rate: half of the most that ZooKeeper does.

use super::Row;
use crate::bench::{Bench, Failure, Limit, Sheet, Spec, Who, probe};
use crate::load::{Mix, Pace};

const TENTH: Mix = Mix { writes_per_mille: 100 };
const CONNECTIONS: usize = 100;

pub(super) const MIX: Row = Row {
    name: "mix",
    about: "90 % getData, 10 % durable setData of 1 KiB over 100 connections at an equal offered rate",
    floor: Some("flush probe: appends of 1 KiB with fdatasync at the rate of the writes"),
    figures: &[
        Spec::held(
            "p99.9",
            "ms",
            Limit::Larger(&Limit::OfZooKeeper(0.25), &Limit::OfFloor(2.0)),
            Limit::OfZooKeeper(0.1),
        ),
        Spec::told("p50", "ms"),
        Spec::told("p99", "ms"),
        Spec::told("CPU", "µs/op"),
        Spec::told("rate", "op/s"),
    ],
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let mut turns = bench.all(bench.few_kib(), None)?;
    for (_, contestant) in &turns {
        bench.warm_up(&bench.load(contestant, CONNECTIONS, Pace::Closed { outstanding: 10 }, TENTH))?;
    }
    let most = match turns.iter().find(|(who, _)| *who == Who::ZooKeeper) {
        Some((_, zookeeper)) => {
            let load = bench.load(zookeeper, CONNECTIONS, Pace::Closed { outstanding: 10 }, TENTH);
            Some(bench.run(zookeeper, &load)?.0.per_second())
        }
        None => None,
    };
    let rate = most.map_or(bench.options.rate, |most| most / 2.0);
    sheet.notes.push(match most {
        Some(most) => {
            format!("offered {rate:.0} op/s, half of ZooKeeper's {most:.0} at 100 × 10 outstanding")
        }
        None => format!("offered {rate:.0} op/s, as asked"),
    });
    let mut turns: Vec<_> = turns.drain(..).map(Some).chain([None]).collect();
    bench.in_turn(&mut turns, |turn| {
        let Some((who, contestant)) = turn else { return probe_disk(bench, sheet, rate / 10.0) };
        let load = bench.load(contestant, CONNECTIONS, Pace::Open { per_second: rate }, TENTH);
        let (measured, cpu) = bench.run(contestant, &load)?;
        for (name, percentile) in [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)] {
            sheet.add(name, *who, measured.latency_ms(percentile));
        }
        sheet.add("CPU", *who, cpu);
        sheet.add("rate", *who, measured.per_second());
        Ok(())
    })
}

fn probe_disk(bench: &Bench, sheet: &mut Sheet, per_second: f64) -> Result<(), Failure> {
    let probed = probe::probe(bench.disk(), per_second, bench.scale().measure)?;
    for (name, percentile) in [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)] {
        sheet.add(name, Who::Floor, probed.latency_ms(percentile));
    }
    Ok(())
}
