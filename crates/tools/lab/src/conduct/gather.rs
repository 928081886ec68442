//! Makes points from what a load saw and the meters read.

use std::collections::BTreeMap;
use std::time::Duration;

use tools_lab_report::figure;
use tools_lab_report::record::{Key, Point};

use crate::experiment::{BrokerSpec, Fate, Spec, Split};
use crate::log::{Job, Seen};
use crate::measure::{CallsOf, Meters, Phase};
use crate::task::{Outcome, Slot};

/// What was read while a spec was measured.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) load_is_here: bool,
    pub(super) meters: Meters,
    pub(super) disk_bytes: u64,
    /// When a fault happened to the servers, since measuring began.
    pub(super) moments: Vec<Duration>,
}

/// The points of a spec, under these keys: one for each phase, or one of all.
pub(super) fn points(keys: Vec<Key>, spec: &Spec, outcome: &Outcome, read: &Read) -> Vec<Point> {
    let groups: Vec<Vec<&Phase>> = match spec.split {
        Split::Whole => vec![outcome.phases.iter().collect()],
        Split::Series | Split::Places => outcome.phases.iter().map(|phase| vec![phase]).collect(),
    };
    let point = |(key, phases): (Key, Vec<&Phase>)| Point {
        key,
        figures: figures(&phases, spec, outcome, read),
        curves: curves(&phases, spec, outcome),
        checked: outcome.checked,
    };
    keys.into_iter().zip(groups).map(point).collect()
}

/// The point of a job on a broker, under that key.
pub(super) fn broker_point(key: Key, spec: &BrokerSpec, seen: &Seen, read: &Read) -> Point {
    let mut figures: BTreeMap<String, f64> =
        seen.figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let mut add = |name: &str, value: f64| {
        if value.is_finite() {
            figures.insert(name.to_owned(), value);
        }
    };
    let mut curves = BTreeMap::new();
    if let Some(phase) = Phase::sum(&seen.outcome.phases.iter().collect::<Vec<_>>()) {
        add(figure::RATE, phase.per_second());
        if !phase.latency.is_empty() {
            latencies(&phase, &mut add);
        }
        let spent = read.meters.spent([phase.name.as_str()].into_iter());
        // Nothing is known of a broker that runs elsewhere.
        if spent.resident > 0 {
            add(figure::CPU, phase.each(spent.cpu.as_secs_f64() * 1e6));
            add(figure::WRITTEN, phase.each(spent.written as f64));
            add(figure::MEMORY, spent.resident as f64 / f64::from(1 << 20));
            add(figure::DISK, read.disk_bytes as f64 / f64::from(1 << 20));
        }
        // Nothing was read where brokers are started again meanwhile.
        if read.load_is_here && !spent.load_cpu.is_zero() {
            add(figure::LOAD_CPU, phase.each(spent.load_cpu.as_secs_f64() * 1e6));
        }
        if matches!(spec.job, Job::Deliver { .. }) {
            curves.insert(figure::DISTRIBUTION.to_owned(), distribution(&phase));
        }
    }
    Point { key, figures, curves, checked: seen.outcome.checked }
}

fn latencies(phase: &Phase, add: &mut impl FnMut(&str, f64)) {
    add(figure::MEAN, phase.latency.mean() / 1000.0);
    let percentiles = [
        (figure::P50, 50.0),
        (figure::P90, 90.0),
        (figure::P99, 99.0),
        (figure::P999, 99.9),
        (figure::P9999, 99.99),
        (figure::MAX, 100.0),
    ];
    percentiles.iter().for_each(|(name, percentile)| add(name, phase.latency_ms(*percentile)));
}

fn distribution(phase: &Phase) -> Vec<(f64, f64)> {
    let shares = (0..=100).map(f64::from).chain([99.5, 99.9, 99.95, 99.99]);
    shares.map(|share| (phase.latency_ms(share), share)).collect()
}

fn figures(phases: &[&Phase], spec: &Spec, outcome: &Outcome, read: &Read) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut add = |name: &str, value: f64| {
        if value.is_finite() {
            figures.insert(name.to_owned(), value);
        }
    };
    let Some(all) = Phase::sum(phases) else { return figures };
    add(figure::RATE, all.per_second());
    latencies(&all, &mut add);
    add(figure::ERRORS, all.errors as f64);
    let names = || phases.iter().map(|phase| phase.name.as_str());
    let spent = read.meters.spent(names());
    // Meters of a process that ended show nothing of its work.
    let all_live =
        spec.fates.iter().all(|(_, fate)| matches!(fate, Fate::PauseLeader(_) | Fate::CutLeaderOff(_)));
    if spent.resident > 0 && all_live {
        add(figure::CPU, all.each(spent.cpu.as_secs_f64() * 1e6));
        add(figure::WRITTEN, all.each(spent.written as f64));
        add(figure::MEMORY, spent.resident as f64 / f64::from(1 << 20));
        add(figure::DISK, read.disk_bytes as f64 / f64::from(1 << 20));
    }
    if read.load_is_here {
        add(figure::LOAD_CPU, all.each(spent.load_cpu.as_secs_f64() * 1e6));
    }
    let CallsOf { calls, operations } = read.meters.calls(names());
    // Nothing, where none were counted.
    add(figure::CALLS, calls as f64 / operations as f64);
    if !outcome.timeline.is_empty() {
        add(figure::LOST, outcome.lost as f64);
        add(figure::OUTAGE, outage(&outcome.timeline, 0.0, f64::INFINITY));
        for (number, at) in read.moments.iter().enumerate() {
            let from = at.as_secs_f64() * 1000.0;
            let to = read.moments.get(number + 1).map_or(f64::INFINITY, |at| at.as_secs_f64() * 1000.0);
            add(&format!("outage {} (ms)", number + 1), outage(&outcome.timeline, from, to));
        }
    }
    figures
}

/// The longest time without an answer of those that are under way at some time between two moments, milliseconds, to 10.
fn outage(timeline: &[Slot], from_ms: f64, to_ms: f64) -> f64 {
    let answered = timeline.iter().filter(|slot| slot.answered > 0.0).map(|slot| slot.at_ms);
    let (mut last, mut longest) = (0.0, 0.0f64);
    for at in answered {
        if at > from_ms && last < to_ms {
            longest = longest.max(at - last);
        }
        last = at;
    }
    longest
}

fn curves(phases: &[&Phase], spec: &Spec, outcome: &Outcome) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut curves = BTreeMap::new();
    if !outcome.timeline.is_empty() {
        let answered: Vec<_> = outcome.timeline.iter().filter(|slot| slot.answered > 0.0).collect();
        let curve = |value: fn(&Slot) -> f64| {
            answered.iter().map(|slot| (slot.at_ms / 1000.0, rounded(value(slot)))).collect::<Vec<_>>()
        };
        curves.insert(figure::LATENCY_OVER_TIME.to_owned(), curve(|slot| slot.longest_us / 1000.0));
        curves.insert(figure::RATE_OVER_TIME.to_owned(), curve(|slot| slot.answered));
    } else if let ([phase], true) = (phases, spec.task.per_second > 0.0) {
        curves.insert(figure::DISTRIBUTION.to_owned(), distribution(phase));
    }
    curves
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_the_longest_time_without_an_answer() {
        let slot = |at_ms: f64, answered: f64| Slot { at_ms, answered, longest_us: 1.0 };
        let timeline = [(0.0, 1.0), (10.0, 0.0), (20.0, 1.0), (30.0, 1.0), (90.0, 1.0), (100.0, 0.0)];
        let timeline = timeline.map(|(at, answered)| slot(at, answered));
        assert_eq!(outage(&timeline, 0.0, f64::INFINITY), 60.0);
        assert_eq!(outage(&timeline, 0.0, 25.0), 20.0);
        assert_eq!(outage(&timeline, 80.0, f64::INFINITY), 60.0, "it began before and lasted");
    }
}
