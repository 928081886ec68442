//! Figures as Prometheus reads them.

use std::fmt::Write as _;

use crate::histogram::Distribution;
use crate::sample::{Measure, Sample};

/// The Prometheus text format, version 0.0.4.
pub fn prometheus(samples: &[Sample]) -> String {
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
    let own = sample.labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escape_label(value)));
    let own = (!sample.labels.is_empty()).then(|| own.collect::<Vec<_>>().join(","));
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

/// The same bounds at every scrape, for any values: from 1 to 2^24 (16 seconds of microseconds, 16 MiB).
fn histogram_powers(_values: &Distribution) -> impl Iterator<Item = u32> {
    0..=24
}

fn escape_label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use crate::histogram::Histogram;

    use super::*;

    fn samples() -> Vec<Sample> {
        let latency = Histogram::default();
        [1, 1, 2, 4].into_iter().for_each(|value| latency.record(value));
        vec![
            Sample::gauge("node_count", "Nodes", 5),
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
            text.starts_with("# HELP node_count Nodes\n# TYPE node_count gauge\nnode_count 5\n"),
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
}
