//! Metrics, as Kafka reports them. Those of Diwan are served over HTTP.

use crate::definition::{Definition, int, list, long, string};

pub(super) const METRICS: &[Definition] = &[
    int("kafka.metrics.polling.interval.secs").default("10").at_least(1),
    list("kafka.metrics.reporters").default(""),
    list("metric.reporters").default("org.apache.kafka.common.metrics.JmxReporter").cluster_wide(),
    int("metrics.num.samples").default("2").at_least(1),
    string("metrics.recording.level").default("INFO"),
    long("metrics.sample.window.ms").default("30000").at_least(1),
    int("telemetry.max.bytes").default("1048576").at_least(1),
];
