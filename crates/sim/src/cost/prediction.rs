//! What came of a setup: throughput, latency, and where processor time went. Knows nothing of how.

use hdrhistogram::Histogram;

use super::count::{Count, Part, Role};

/// See the module.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Requests answered without an error.
    pub operations: u64,
    /// Requests answered with one.
    pub errors: u64,
    /// Watch events told.
    pub events: u64,
    /// Clients whose members fell so far behind that they served nobody any more; they stay away.
    pub cut_off: usize,
    /// Simulated nanoseconds in which that was.
    pub elapsed_ns: u64,
    /// Nanoseconds from when a request was due until its answer was read.
    pub latency: Histogram<u64>,
    /// Flushes of all members' logs.
    pub flushes: u64,
    /// Cores of all hosts, and how many nanoseconds they worked.
    pub cores: usize,
    /// See above.
    pub busy_ns: u64,
    /// Where processor time went.
    pub spent: Vec<Spent>,
}

/// What the threads of one role did in members of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// What the members are.
    pub part: Part,
    /// What the threads are.
    pub role: Role,
    /// How many threads that are.
    pub threads: usize,
    /// How long they ran, all together.
    pub cpu_ns: u64,
    /// What they did.
    pub count: Count,
}

impl Prediction {
    /// How often threads of a role did something, and how long they ran, in all members.
    #[must_use]
    pub fn sum_of(&self, role: Role) -> (Count, u64) {
        let mut sum = (Count::default(), 0);
        for spent in self.spent.iter().filter(|spent| spent.role == role) {
            sum.0 += spent.count;
            sum.1 += spent.cpu_ns;
        }
        sum
    }

    /// Requests answered a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.operations as f64 * 1e9 / self.elapsed_ns as f64
    }

    /// Watch events a second.
    #[must_use]
    pub fn events_per_second(&self) -> f64 {
        self.events as f64 * 1e9 / self.elapsed_ns as f64
    }

    /// A percentile of the latency, milliseconds.
    #[must_use]
    pub fn latency_ms(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1e6
    }

    /// The mean latency, milliseconds.
    #[must_use]
    pub fn mean_latency_ms(&self) -> f64 {
        self.latency.mean() / 1e6
    }

    /// Processor time of all members, microseconds a request.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.cpu_us_of(|spent| spent.part != Part::Client)
    }

    /// Processor time of some threads, microseconds a request.
    #[must_use]
    pub fn cpu_us_of(&self, is_meant: impl Fn(&Spent) -> bool) -> f64 {
        let spent = self.spent.iter().filter(|spent| is_meant(spent));
        let sum: u64 = spent.map(|spent| spent.cpu_ns).sum();
        sum as f64 / 1000.0 / (self.operations.max(1)) as f64
    }

    /// Which part of their time the threads of a role work, in members of a part; the busiest is what limits.
    #[must_use]
    pub fn load_of(&self, part: Part, role: Role) -> f64 {
        let meant = self.spent.iter().find(|spent| (spent.part, spent.role) == (part, role));
        meant.map_or(0.0, |spent| spent.cpu_ns as f64 / (spent.threads as f64 * self.elapsed_ns as f64))
    }

    /// Which part of the time of all cores is worked.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.busy_ns as f64 / (self.cores as f64 * self.elapsed_ns as f64)
    }
}
