//! One figure at one moment.

use crate::histogram::Distribution;

/// One metric at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its name, with the prefix of the service that measures it.
    pub name: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
    /// `{name="value",..}`, or none.
    pub labels: Vec<(&'static str, String)>,
    /// What it is at that moment.
    pub value: Measure,
}

/// The value of a metric.
#[derive(Clone, Debug)]
pub enum Measure {
    /// Only grows.
    Counter(u64),
    /// Goes up and down.
    Gauge(i64),
    /// A number with a fraction that goes up and down.
    Fraction(f64),
    /// A distribution as a Prometheus summary: count, sum and the median, with more quantiles when `detailed`.
    Summary {
        /// The values.
        values: Distribution,
        /// Whether more quantiles than the median are shown.
        detailed: bool,
    },
    /// A distribution as a Prometheus histogram. Values are divided by `unit` when shown (microseconds as seconds).
    Histogram {
        /// The values.
        values: Distribution,
        /// What they are divided by.
        unit: f64,
    },
}

impl Sample {
    /// A number that only grows.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Counter(value) }
    }

    /// A number that goes up and down.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, value: i64) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Gauge(value) }
    }

    /// A number with a fraction that goes up and down.
    #[must_use]
    pub fn fraction(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Fraction(value) }
    }

    /// A distribution by its median.
    #[must_use]
    pub fn summary(name: &'static str, help: &'static str, values: Distribution) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Summary { values, detailed: false } }
    }

    /// A distribution by several quantiles.
    #[must_use]
    pub fn detailed(name: &'static str, help: &'static str, values: Distribution) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Summary { values, detailed: true } }
    }

    /// A distribution of microseconds, shown in seconds.
    #[must_use]
    pub fn seconds(name: &'static str, help: &'static str, microseconds: Distribution) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Histogram { values: microseconds, unit: 1e6 } }
    }

    /// A distribution of whole numbers, shown as they are.
    #[must_use]
    pub fn sizes(name: &'static str, help: &'static str, values: Distribution) -> Self {
        Self { name, help, labels: Vec::new(), value: Measure::Histogram { values, unit: 1.0 } }
    }

    /// The same with one label more.
    #[must_use]
    pub fn labelled(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.labels.push((label, value.into()));
        self
    }
}
