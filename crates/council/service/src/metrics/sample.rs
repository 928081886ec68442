//! Numbers with ZooKeeper's names, and the three forms they are shown in: Prometheus text, the lines of `mntr`, the
//! JSON of the AdminServer's `monitor`. Knows nothing of where numbers come from.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::histogram::Distribution;

/// One metric at one moment. Its name has no prefix: `mntr` puts `zk_` before it.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// `{name="value"}`, or empty.
    pub(crate) label: Option<(&'static str, String)>,
    pub(crate) value: Measure,
}

/// What a metric says.
#[derive(Clone, Debug)]
pub(crate) enum Measure {
    /// Only grows.
    Counter(u64),
    /// Goes up and down.
    Gauge(i64),
    /// A number with a fraction that goes up and down.
    Fraction(f64),
    /// One of ZooKeeper's distributions: count, sum and quantiles in Prometheus; average, smallest, largest, count
    /// and sum in `mntr`, with percentiles when `detailed`.
    Summary { values: Distribution, detailed: bool },
    /// One of ours: a Prometheus histogram. Values are divided by `unit` when shown (microseconds as seconds).
    Histogram { values: Distribution, unit: f64 },
}

impl Sample {
    pub(crate) fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, label: None, value: Measure::Counter(value) }
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str, value: i64) -> Self {
        Self { name, help, label: None, value: Measure::Gauge(value) }
    }

    pub(crate) fn fraction(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, label: None, value: Measure::Fraction(value) }
    }

    pub(crate) fn summary(name: &'static str, help: &'static str, values: Distribution) -> Self {
        Self { name, help, label: None, value: Measure::Summary { values, detailed: false } }
    }

    pub(crate) fn detailed(name: &'static str, help: &'static str, values: Distribution) -> Self {
        Self { name, help, label: None, value: Measure::Summary { values, detailed: true } }
    }

    pub(crate) fn seconds(name: &'static str, help: &'static str, microseconds: Distribution) -> Self {
        Self { name, help, label: None, value: Measure::Histogram { values: microseconds, unit: 1e6 } }
    }

    pub(crate) fn sizes(name: &'static str, help: &'static str, values: Distribution) -> Self {
        Self { name, help, label: None, value: Measure::Histogram { values, unit: 1.0 } }
    }

    pub(crate) fn labelled(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.label = Some((label, value.into()));
        self
    }
}

/// The Prometheus text format, version 0.0.4.
pub(crate) fn prometheus(samples: &[Sample]) -> String {
    let mut out = String::new();
    let mut last = "";
    for sample in samples {
        if sample.name != last {
            let kind = match sample.value {
                Measure::Counter(_) => "counter",
                Measure::Gauge(_) | Measure::Fraction(_) => "gauge",
                Measure::Summary { .. } => "summary",
                Measure::Histogram { .. } => "histogram",
            };
            let _ = writeln!(out, "# HELP {0} {1}\n# TYPE {0} {kind}", sample.name, sample.help);
            last = sample.name;
        }
        prometheus_lines(&mut out, sample);
    }
    out
}

fn prometheus_lines(out: &mut String, sample: &Sample) {
    let name = sample.name;
    let own = sample.label.as_ref().map(|(label, value)| format!("{label}=\"{}\"", escape_label(value)));
    let only = own.as_ref().map_or_else(String::new, |own| format!("{{{own}}}"));
    let with = |other: String| match &own {
        Some(own) => format!("{{{own},{other}}}"),
        None => format!("{{{other}}}"),
    };
    let _ = match &sample.value {
        Measure::Counter(value) => writeln!(out, "{name}{only} {value}"),
        Measure::Gauge(value) => writeln!(out, "{name}{only} {value}"),
        Measure::Fraction(value) => writeln!(out, "{name}{only} {value}"),
        Measure::Summary { values, detailed } => {
            let quantiles: &[f64] = if *detailed { &[0.5, 0.9, 0.99] } else { &[0.5] };
            for &quantile in quantiles {
                let value = match values.count {
                    0 => String::from("NaN"),
                    _ => values.quantile(quantile).to_string(),
                };
                let _ = writeln!(out, "{name}{} {value}", with(format!("quantile=\"{quantile}\"")));
            }
            writeln!(out, "{name}_count{only} {}\n{name}_sum{only} {}", values.count, values.sum)
        }
        Measure::Histogram { values, unit } => {
            for power in histogram_powers(values) {
                let bound = (1u64 << power) as f64 / unit;
                let count = values.below_power(power);
                let _ = writeln!(out, "{name}_bucket{} {count}", with(format!("le=\"{bound}\"")));
            }
            let _ = writeln!(out, "{name}_bucket{} {}", with(String::from("le=\"+Inf\"")), values.count);
            writeln!(
                out,
                "{name}_count{only} {}\n{name}_sum{only} {}",
                values.count,
                values.sum as f64 / unit
            )
        }
    };
}

/// The same bounds at every scrape, whatever the values: from 1 to 2^24 (16 seconds of microseconds, 16 MiB).
fn histogram_powers(_values: &Distribution) -> impl Iterator<Item = u32> {
    0..=24
}

fn escape_label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Names and values in the form that `mntr` (with `zk_` before the name) and `monitor` share: distributions fall
/// apart into `avg_`, `min_`, `max_`, `cnt_`, `sum_` and, when detailed, percentiles.
fn flatten(samples: &[Sample], mut each: impl FnMut(String, Number)) {
    for sample in samples {
        let name = match &sample.label {
            Some((_, value)) => format!("{value}_{}", sample.name),
            None => String::from(sample.name),
        };
        match &sample.value {
            Measure::Counter(value) => each(name, Number::Whole(*value as i64)),
            Measure::Gauge(value) => each(name, Number::Whole(*value)),
            Measure::Fraction(value) => each(name, Number::Fraction(*value)),
            Measure::Summary { values, detailed } => {
                each(format!("avg_{name}"), Number::Fraction(values.mean()));
                each(format!("min_{name}"), Number::Whole(values.min as i64));
                each(format!("max_{name}"), Number::Whole(values.max as i64));
                each(format!("cnt_{name}"), Number::Whole(values.count as i64));
                each(format!("sum_{name}"), Number::Whole(values.sum as i64));
                if *detailed {
                    for (prefix, quantile) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)] {
                        each(format!("{prefix}_{name}"), Number::Whole(values.quantile(quantile) as i64));
                    }
                }
            }
            // Ours: shown to Prometheus only.
            Measure::Histogram { .. } => {}
        }
    }
}

enum Number {
    Whole(i64),
    Fraction(f64),
}

/// The lines of `mntr` after its first two.
pub(crate) fn mntr(samples: &[Sample], out: &mut String) {
    flatten(samples, |name, number| {
        let _ = match number {
            Number::Whole(value) => writeln!(out, "zk_{name}\t{value}"),
            Number::Fraction(value) => writeln!(out, "zk_{name}\t{}", java_double(value)),
        };
    });
}

/// The fields of `monitor` after its first two.
pub(crate) fn monitor(samples: &[Sample], out: &mut Map<String, Value>) {
    flatten(samples, |name, number| {
        let value = match number {
            Number::Whole(value) => Value::from(value),
            Number::Fraction(value) => Value::from(rounded(value)),
        };
        out.insert(name, value);
    });
}

/// ZooKeeper shows averages with four digits at the most.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// A number with a fraction as Java writes it: at least one digit behind the point.
pub(crate) fn java_double(value: f64) -> String {
    let value = rounded(value);
    if value == value.trunc() { format!("{value:.1}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Histogram;
    use super::*;

    fn samples() -> Vec<Sample> {
        let latency = Histogram::default();
        [1, 1, 2, 4].into_iter().for_each(|value| latency.record(value));
        vec![
            Sample::gauge("znode_count", "Nodes", 5),
            Sample::fraction("avg_latency", "Average", 1.0 / 3.0),
            Sample::counter("operations", "Operations", 2).labelled("operation", "create"),
            Sample::counter("operations", "Operations", 3).labelled("operation", "get\"Data"),
            Sample::detailed("readlatency", "Reads", latency.snapshot()),
            Sample::seconds("fsync_seconds", "Flushes", latency.snapshot()),
        ]
    }

    #[test]
    fn prometheus_text_names_each_family_once() {
        let text = prometheus(&samples());
        assert!(
            text.starts_with("# HELP znode_count Nodes\n# TYPE znode_count gauge\nznode_count 5\n"),
            "{text}"
        );
        assert_eq!(text.matches("# TYPE operations counter").count(), 1);
        assert!(text.contains("operations{operation=\"get\\\"Data\"} 3\n"), "{text}");
        assert!(text.contains("readlatency{quantile=\"0.5\"} 1\n"), "{text}");
        assert!(text.contains("readlatency_count 4\nreadlatency_sum 8\n"), "{text}");
        assert!(text.contains("fsync_seconds_bucket{le=\"0.000002\"} 2\n"), "{text}");
        assert!(text.contains("fsync_seconds_bucket{le=\"+Inf\"} 4\nfsync_seconds_count 4\n"), "{text}");
        assert!(text.contains("fsync_seconds_sum 0.000008\n"), "{text}");
    }

    #[test]
    fn mntr_lines_are_those_of_the_default_provider() {
        let mut text = String::new();
        mntr(&samples(), &mut text);
        assert!(text.contains("zk_avg_latency\t0.3333\n"), "{text}");
        assert!(
            text.contains("zk_avg_readlatency\t2.0\nzk_min_readlatency\t1\nzk_max_readlatency\t4\n"),
            "{text}"
        );
        assert!(
            text.contains("zk_cnt_readlatency\t4\nzk_sum_readlatency\t8\nzk_p50_readlatency\t1\n"),
            "{text}"
        );
        assert!(!text.contains("fsync_seconds"), "{text}");
    }

    #[test]
    fn fractions_look_like_javas() {
        assert_eq!(java_double(0.0), "0.0");
        assert_eq!(java_double(4.0 / 3.0), "1.3333");
        assert_eq!(java_double(12.0), "12.0");
    }
}
