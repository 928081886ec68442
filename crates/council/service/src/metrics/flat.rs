//! Figures as ZooKeeper shows them flat: the lines of `mntr`, the fields of the AdminServer's `monitor`.

use std::fmt::Write as _;

use node_metrics::{Measure, Sample};
use serde_json::{Map, Value};

/// Names and values in the form that `mntr` (with `zk_` before the name) and `monitor` share: distributions fall
/// apart into `avg_`, `min_`, `max_`, `cnt_`, `sum_` and, when detailed, percentiles.
fn flatten(samples: &[Sample], mut each: impl FnMut(String, Number)) {
    for sample in samples {
        let name = match sample.labels.first() {
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
    use node_metrics::Histogram;

    use super::*;

    fn samples() -> Vec<Sample> {
        let latency = Histogram::default();
        [1, 1, 2, 4].into_iter().for_each(|value| latency.record(value));
        vec![
            Sample::fraction("avg_latency", "Average", 1.0 / 3.0),
            Sample::detailed("readlatency", "Reads", latency.snapshot()),
            Sample::seconds("fsync_seconds", "Flushes", latency.snapshot()),
        ]
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
