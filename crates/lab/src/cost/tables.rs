//! Predictions as tables: beside what was measured, and beside what was published. Knows no processes.

use std::fmt::Write as _;

use sim::cost::{At, Part, Prediction, Profile, Role, Setup, Work, predict};

use super::fit::side_by_side;
use super::{Point, Recorded};

/// What was published, from the evaluations that `docs/planning.md` names.
const Z1: &str = "13 servers: about 100,000 op/s of reads, above 40,000 through half writes; reads drop past 9 servers, \
                  writes with every server";
const Z4: &str =
    "15,000-16,000 requests/s; 35,000-40,000 on faster machines with battery-backed write caches";
const Z6: &str = "25 servers: about 50,000 events/s with 100 clients, about 90,000 with 800";
const C1: &str = "comparable to ZooKeeper, within 1 ms of it on average with many replicas";
const C4: &str = "scales with replicas and acceptors until processors are the limit";

/// An experiment's table on some hardware.
type Table = fn(&Profile) -> String;

/// Beside what was measured: the error of each figure, and how large errors are on average.
#[must_use]
pub fn comparison(profile: &Profile, points: &[Point], recorded: &Recorded) -> String {
    let known: Vec<_> = points.iter().filter(|point| recorded.0.contains_key(&point.name())).collect();
    let predictions = side_by_side(profile, &known);
    let mut text = String::new();
    for held_out in [true, false] {
        let title = if held_out { "Held out" } else { "Prices were taken from these" };
        let heads = ["op/s", "CPU (µs/op)", "p50 (ms)", "p99 (ms)"];
        let _ = writeln!(
            text,
            "{title}: measured → predicted (error)\n\n| servers: load | {} |",
            heads.join(" | ")
        );
        let _ = writeln!(text, "|---|---|---|---|---|");
        let mut sums = [0.0; 4];
        let rows = known.iter().zip(&predictions).filter(|(point, _)| point.held_out == held_out);
        let count = rows.clone().count().max(1) as f64;
        for (point, prediction) in rows {
            let measured = &recorded.0[&point.name()];
            let pairs = [
                (measured.per_second, prediction.per_second()),
                (measured.cpu_us, prediction.cpu_us()),
                (measured.p50_ms, prediction.latency_ms(50.0)),
                (measured.p99_ms, prediction.latency_ms(99.0)),
            ];
            let cells = pairs.map(|(was, is)| {
                format!("{} → {} ({:+.0} %)", figure(was), figure(is), (is / was - 1.0) * 100.0)
            });
            sums.iter_mut().zip(pairs).for_each(|(sum, (was, is))| *sum += (is / was - 1.0).abs() * 100.0);
            let _ = writeln!(text, "| {} | {} |", point.name(), cells.join(" | "));
        }
        let means = sums.map(|sum| format!("**{:.0} %**", sum / count));
        let _ = writeln!(text, "| mean error | {} |\n", means.join(" | "));
    }
    text
}

/// Three digits.
fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => {
            let digits = 10_f64.powi(value.log10() as i32 - 2);
            format!("{:.0}", (value / digits).round() * digits)
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// The shapes of the published experiments on that hardware. `only` names one.
#[must_use]
pub fn published(profile: &Profile, only: Option<&str>) -> String {
    let tables: [(&str, Table); 5] = [("Z1", z1), ("Z4", z4), ("Z6", z6), ("C1", c1), ("C4", c4)];
    let asked = tables.iter().filter(|(name, _)| only.is_none_or(|only| only.eq_ignore_ascii_case(name)));
    asked.map(|(_, table)| table(profile)).collect()
}

fn table(title: &str, published: &str, heads: &[String], rows: Vec<(String, Vec<String>)>) -> String {
    let line = |first: &str, cells: &[String]| format!("| {first} | {} |\n", cells.join(" | "));
    let body: String = rows.iter().map(|(first, cells)| line(first, cells)).collect();
    let under = "|---".repeat(heads.len() + 1);
    format!("{title}\n\nPublished: {published}.\n\n{}{under}|\n{body}\n", line("", heads))
}

fn heads<T: std::fmt::Display>(values: &[T], unit: &str) -> Vec<String> {
    values.iter().map(|value| format!("{value}{unit}")).collect()
}

/// Long enough for some hundred flushes, longer where disks are slow.
fn brief(profile: &Profile, mut setup: Setup) -> Setup {
    let is_slow = profile.disk.flush_us[0] > 1000.0;
    (setup.warm_up_ms, setup.measured_ms) = if is_slow { (2000, 2000) } else { (150, 300) };
    setup
}

/// Throughput against the share of reads.
fn z1(profile: &Profile) -> String {
    let shares = [100, 80, 50, 20, 0];
    let row = |servers: u64| {
        let rate = |reads: &u32| {
            let setup = brief(profile, Setup::new(servers, 250, 20, 1000 - reads * 10));
            figure(predict(profile, &setup).per_second())
        };
        (format!("{servers} servers"), shares.iter().map(rate).collect())
    };
    let rows = [3, 5, 7, 9, 13].map(row).to_vec();
    let title = "**Z1**: requests a second by the share of reads, 250 clients × 20 outstanding, 1 KiB.";
    table(title, Z1, &heads(&shares, " % reads"), rows)
}

/// The broadcast alone.
fn z4(profile: &Profile) -> String {
    let servers = [3, 5, 7, 9, 13];
    let rate = |servers: &u64| {
        let setup = Setup {
            fronts_cost: false,
            at: At::Leader,
            ..brief(profile, Setup::new(*servers, 100, 20, 1000))
        };
        figure(predict(profile, &setup).per_second())
    };
    let title = "**Z4**: requests of 1 KiB agreed a second, without any work for clients, 2,000 outstanding.";
    table(
        title,
        Z4,
        &heads(&servers, " servers"),
        vec![("requests/s".into(), servers.iter().map(rate).collect())],
    )
}

/// Watch events.
fn z6(profile: &Profile) -> String {
    let clients = [100, 200, 400, 800];
    let rate = |clients: &usize| {
        let setup = Setup { work: Work::Watches, value_bytes: 100, ..Setup::new(25, *clients, 1, 0) };
        figure(predict(profile, &setup).events_per_second())
    };
    let title = "**Z6**: watch events a second, 25 servers, each client watches every client's node and sets its own once.";
    table(
        title,
        Z6,
        &heads(&clients, " clients"),
        vec![("events/s".into(), clients.iter().map(rate).collect())],
    )
}

/// Latency by members.
fn c1(profile: &Profile) -> String {
    let servers = [1, 3, 5, 7, 9, 13];
    let predictions =
        servers.map(|servers| predict(profile, &brief(profile, Setup::new(servers, 10, 1, 1000))));
    let row = |name: &str, of: fn(&Prediction) -> f64| {
        (name.to_owned(), predictions.iter().map(|prediction| figure(of(prediction))).collect())
    };
    let rows = vec![
        row("mean (ms)", Prediction::mean_latency_ms),
        row("p99 (ms)", |prediction| prediction.latency_ms(99.0)),
    ];
    table(
        "**C1**: latency of writes of 1 KiB, 10 clients × 1 outstanding.",
        C1,
        &heads(&servers, " replicas"),
        rows,
    )
}

/// Latency by acceptors and further replicas.
fn c4(profile: &Profile) -> String {
    let observers = [0, 4, 10, 16];
    let row = |members: u64| {
        let cell = |observers: &u64| {
            let setup = Setup { observers: *observers, ..brief(profile, Setup::new(members, 500, 1, 1000)) };
            let prediction = predict(profile, &setup);
            let busiest = prediction.load_of(Part::Leader, Role::Core) * 100.0;
            format!("{} ms ({busiest:.0} %)", figure(prediction.mean_latency_ms()))
        };
        (format!("{members} acceptors"), observers.iter().map(cell).collect())
    };
    let title = "**C4**: mean latency of writes of 1 KiB and how busy the leader's core thread is, 500 clients × 1 outstanding.";
    table(title, C4, &heads(&observers, " further replicas"), [3, 5, 7, 9].map(row).to_vec())
}

/// One setup, in full.
#[must_use]
pub fn one(prediction: &Prediction) -> String {
    let mut text = format!(
        "{} op/s, mean {} ms, p50 {} ms, p99 {} ms, p99.9 {} ms; processors {:.0} % busy; {} flushes/s\n",
        figure(prediction.per_second()),
        figure(prediction.mean_latency_ms()),
        figure(prediction.latency_ms(50.0)),
        figure(prediction.latency_ms(99.0)),
        figure(prediction.latency_ms(99.9)),
        prediction.busy() * 100.0,
        figure(prediction.flushes as f64 * 1e9 / prediction.elapsed_ns as f64),
    );
    if prediction.cut_off > 0 {
        let _ = writeln!(text, "  {} clients cut off: members fall behind", prediction.cut_off);
    }
    for spent in &prediction.spent {
        let same = |other: &sim::cost::Spent| (other.part, other.role) == (spent.part, spent.role);
        let _ = writeln!(
            text,
            "  {:?} {}: {} thread(s), {} µs/op, {:.0} % busy",
            spent.part,
            spent.role.name(),
            spent.threads,
            figure(prediction.cpu_us_of(same)),
            prediction.load_of(spent.part, spent.role) * 100.0
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{Measured, POINTS};

    #[test]
    fn figures_have_three_digits() {
        let all = [0.1234, 1.234, 12.34, 123.4, 1234.4, 123_456.0].map(figure);
        assert_eq!(all, ["0.123", "1.23", "12.3", "123", "1230", "123000"]);
    }

    #[test]
    fn an_error_is_printed_for_what_was_measured_and_nothing_else() {
        let mut recorded = Recorded::default();
        let measured =
            Measured { per_second: 1000.0, p50_ms: 1.0, p99_ms: 1.0, cpu_us: 1.0, ..Default::default() };
        recorded.0.insert(POINTS[0].name(), measured);
        let profile = Profile::named("this-machine").unwrap();
        let text = comparison(&profile, POINTS, &recorded);
        let rows = text.lines().filter(|line| line.contains('→') && line.starts_with('|'));
        assert_eq!(rows.count(), 1, "{text}");
        assert!(text.contains(" %)") && text.contains("mean error"));
    }
}
