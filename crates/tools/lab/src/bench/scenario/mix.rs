//! Nine reads to a write, or writes alone, at an equal offered rate: half of the most that ZooKeeper does.

use council_client::load::{Mix, Pace};

use super::Row;
use crate::bench::{Bench, Failure, Limit, Sheet, Spec, Who, probe};
use crate::measure::PERCENTILES;

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
            Limit::Larger(&Limit::OfPeer(0.25), &Limit::OfFloor(2.0)),
            Limit::OfPeer(0.1),
        ),
        Spec::told("p50", "ms"),
        Spec::told("p99", "ms"),
        Spec::told("CPU", "µs/op"),
        Spec::told("rate", "op/s"),
    ],
    servers: 1,
    large: false,
    run: |bench, sheet| run(bench, sheet, 1, TENTH),
};

pub(super) const THREE_WRITES: Row = Row {
    name: "three-writes",
    about: "durable setData of 1 KiB over 100 connections spread over three servers at an equal offered rate",
    floor: Some("flush probe: appends of 1 KiB with fdatasync at the same rate"),
    figures: &[
        Spec::held(
            "p99.9",
            "ms",
            Limit::Larger(&Limit::OfPeer(0.2), &Limit::OfFloor(2.0)),
            Limit::OfPeer(0.05),
        ),
        Spec::told("p50", "ms"),
        Spec::told("p99", "ms"),
        Spec::told("CPU", "µs/op"),
        Spec::told("rate", "op/s"),
    ],
    servers: 3,
    large: false,
    run: |bench, sheet| run(bench, sheet, 3, Mix::WRITES),
};

fn run(bench: &Bench, sheet: &mut Sheet, servers: usize, mix: Mix) -> Result<(), Failure> {
    let mut turns = bench.all(servers, bench.few_kib(), None)?;
    for (_, stand) in &turns {
        bench.warm_up(&bench.load(stand, CONNECTIONS, Pace::Closed { outstanding: 10 }, mix))?;
    }
    let most = match turns.iter().find(|(who, _)| *who == Who::Peer) {
        Some((_, zookeeper)) => {
            let load = bench.load(zookeeper, CONNECTIONS, Pace::Closed { outstanding: 10 }, mix);
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
        let Some((who, stand)) = turn else {
            return probe_disk(bench, sheet, rate * f64::from(mix.writes_per_mille) / 1000.0);
        };
        let load = bench.load(stand, CONNECTIONS, Pace::Open { per_second: rate }, mix);
        let (measured, cpu) = bench.run(stand, &load)?;
        for (name, percentile) in PERCENTILES {
            sheet.add(name, *who, measured.latency_ms(percentile));
        }
        sheet.add("CPU", *who, cpu);
        sheet.add("rate", *who, measured.per_second());
        Ok(())
    })
}

fn probe_disk(bench: &Bench, sheet: &mut Sheet, per_second: f64) -> Result<(), Failure> {
    let probed = probe::probe(bench.disk(), per_second, bench.scale().measure)?;
    for (name, percentile) in PERCENTILES {
        sheet.add(name, Who::Floor, probed.latency_ms(percentile));
    }
    Ok(())
}
