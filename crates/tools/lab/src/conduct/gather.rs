//! From what a load saw and the meters said to points.

use std::collections::BTreeMap;
use std::time::Duration;

use tools_lab_report::figure;
use tools_lab_report::record::{Key, Point};
use tools_process::meter;
use tools_testbed::meter::{Edge, Reading};

use crate::experiment::{Fate, Spec, Split};
use crate::task::{Outcome, Phase, Slot};

/// What the meters said, phase by phase, and once for all.
#[derive(Debug, Default)]
pub(super) struct Meters {
    load_is_here: bool,
    begun: (Reading, Duration),
    spent: BTreeMap<String, Spent>,
    pub(super) disk_bytes: u64,
    /// Of a short turn of their own, by phase.
    pub(super) calls: BTreeMap<String, CallsOf>,
    /// When something befell the servers, since measuring began.
    pub(super) moments: Vec<Duration>,
}

/// System calls of all servers, and what they were made for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallsOf {
    pub(super) calls: u64,
    pub(super) operations: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    cpu: Duration,
    load_cpu: Duration,
    written: u64,
    resident: u64,
}

impl Meters {
    pub(super) fn new(load_is_here: bool) -> Self {
        Self { load_is_here, ..Self::default() }
    }

    pub(super) fn edge(&mut self, edge: Edge, phase: &str, reading: Reading) {
        let own = meter::cpu_time(std::process::id()).map(meter::CpuTime::total).unwrap_or_default();
        if edge == Edge::Begin {
            self.begun = (reading, own);
            return;
        }
        let spent = self.spent.entry(phase.to_owned()).or_default();
        let (before, own_before) = self.begun;
        spent.cpu += reading.cpu.saturating_sub(before.cpu);
        spent.load_cpu += own.saturating_sub(own_before);
        spent.written += reading.written.saturating_sub(before.written);
        spent.resident = spent.resident.max(reading.resident);
    }
}

/// The points of a spec, under these keys: one for each phase, or one of all.
pub(super) fn points(keys: Vec<Key>, spec: &Spec, outcome: &Outcome, meters: &Meters) -> Vec<Point> {
    let groups: Vec<Vec<&Phase>> = match spec.split {
        Split::Whole => vec![outcome.phases.iter().collect()],
        Split::Series | Split::Places => outcome.phases.iter().map(|phase| vec![phase]).collect(),
    };
    let point = |(key, phases): (Key, Vec<&Phase>)| Point {
        key,
        figures: figures(&phases, spec, outcome, meters),
        curves: curves(&phases, spec, outcome),
        checked: outcome.checked,
    };
    keys.into_iter().zip(groups).map(point).collect()
}

fn figures(phases: &[&Phase], spec: &Spec, outcome: &Outcome, meters: &Meters) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut add = |name: &str, value: f64| {
        if value.is_finite() {
            figures.insert(name.to_owned(), value);
        }
    };
    let Some((first, rest)) = phases.split_first() else { return figures };
    let mut latency = first.latency.clone();
    // Of the same bounds, as all are.
    rest.iter().for_each(|phase| latency.add(&phase.latency).unwrap_or_default());
    let operations: u64 = phases.iter().map(|phase| phase.operations).sum();
    let elapsed: Duration = phases.iter().map(|phase| phase.elapsed).sum();
    let ms = |percentile: f64| latency.value_at_percentile(percentile) as f64 / 1000.0;
    add(figure::RATE, operations as f64 / elapsed.as_secs_f64());
    add(figure::MEAN, latency.mean() / 1000.0);
    let percentiles = [
        (figure::P50, 50.0),
        (figure::P90, 90.0),
        (figure::P99, 99.0),
        (figure::P999, 99.9),
        (figure::P9999, 99.99),
        (figure::MAX, 100.0),
    ];
    percentiles.iter().for_each(|(name, percentile)| add(name, ms(*percentile)));
    add(figure::ERRORS, phases.iter().map(|phase| phase.errors).sum::<u64>() as f64);
    let spent = phases.iter().filter_map(|phase| meters.spent.get(&phase.name));
    let sum = spent.fold(Spent::default(), |sum, one| Spent {
        cpu: sum.cpu + one.cpu,
        load_cpu: sum.load_cpu + one.load_cpu,
        written: sum.written + one.written,
        resident: sum.resident.max(one.resident),
    });
    let each = |value: f64| value / operations as f64;
    // Meters of a process that ended tell nothing of what it did.
    let all_live =
        spec.fates.iter().all(|(_, fate)| matches!(fate, Fate::PauseLeader(_) | Fate::CutLeaderOff(_)));
    if sum.resident > 0 && all_live {
        add(figure::CPU, each(sum.cpu.as_secs_f64() * 1e6));
        add(figure::WRITTEN, each(sum.written as f64));
        add(figure::MEMORY, sum.resident as f64 / f64::from(1 << 20));
        add(figure::DISK, meters.disk_bytes as f64 / f64::from(1 << 20));
    }
    if meters.load_is_here {
        add(figure::LOAD_CPU, each(sum.load_cpu.as_secs_f64() * 1e6));
    }
    let counted = phases.iter().filter_map(|phase| meters.calls.get(&phase.name));
    let counted = counted.fold(CallsOf::default(), |sum, one| CallsOf {
        calls: sum.calls + one.calls,
        operations: sum.operations + one.operations,
    });
    // Nothing, where none were counted.
    add(figure::CALLS, counted.calls as f64 / counted.operations as f64);
    if !outcome.timeline.is_empty() {
        add(figure::LOST, outcome.lost as f64);
        add(figure::OUTAGE, outage(&outcome.timeline, 0.0, f64::INFINITY));
        for (number, at) in meters.moments.iter().enumerate() {
            let from = at.as_secs_f64() * 1000.0;
            let to = meters.moments.get(number + 1).map_or(f64::INFINITY, |at| at.as_secs_f64() * 1000.0);
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
        let shares = (0..=100).map(f64::from).chain([99.5, 99.9, 99.95, 99.99]);
        let at = |share: f64| (phase.latency.value_at_percentile(share) as f64 / 1000.0, share);
        curves.insert(figure::DISTRIBUTION.to_owned(), shares.map(at).collect());
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
