//! How much is done: what a small machine does within minutes, or as published; and by which clients, if several
//! experiments load servers alike.

use std::time::Duration;

use super::Capacity;
use crate::log::Contestant;
use crate::task::{Kind, Step, Task};

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// As published, instead of what a small machine does within minutes.
    pub paper: bool,
    /// How long a point is measured.
    pub measured: Duration,
    /// Before it.
    pub warm_up: Duration,
    /// What the machine holds.
    pub capacity: Capacity,
    /// Messages a second at which replicas are measured, too: what a run before this one suggests, as half of what a peer reached.
    pub rate: Option<u32>,
}

impl Scale {
    /// How often each point is measured by default.
    pub const REPETITIONS: u32 = 2;

    /// What finishes on a small machine within an hour.
    #[must_use]
    pub const fn small() -> Self {
        let [measured, warm_up] = [Duration::from_millis(2000), Duration::from_millis(700)];
        Self { paper: false, measured, warm_up, capacity: Capacity::UNBOUNDED, rate: None }
    }

    /// As published.
    #[must_use]
    pub const fn paper() -> Self {
        let [measured, warm_up] = [Duration::from_secs(30), Duration::from_secs(5)];
        Self { paper: true, measured, warm_up, capacity: Capacity::UNBOUNDED, rate: None }
    }

    /// On a machine that holds no more than this.
    #[must_use]
    pub const fn on(self, capacity: Capacity) -> Self {
        Self { capacity, ..self }
    }

    /// With that rate among those of replicas.
    #[must_use]
    pub const fn at_rate(self, rate: Option<u32>) -> Self {
        Self { rate, ..self }
    }

    /// Points measured for so long, and warmed up for as much less.
    #[must_use]
    pub fn lasting(self, measured: Duration) -> Self {
        let warm_up = self.warm_up.mul_f64(measured.as_secs_f64() / self.measured.as_secs_f64());
        Self { measured, warm_up, ..self }
    }

    /// How long freshly started servers do each of a few things before any point, milliseconds.
    #[must_use]
    pub fn warm_up_ms(&self) -> u64 {
        self.measured_ms(0.25)
    }

    /// How long a broker is loaded before a job counts; longest before the first one on a JVM, which compiles meanwhile.
    #[must_use]
    pub fn broker_warm_up(&self, contestant: &Contestant, is_first: bool) -> Duration {
        match (contestant.is_jvm(), is_first) {
            (true, true) if self.is_trial() => self.warm_up.max(Duration::from_secs(2)),
            (true, true) => self.warm_up.max(Duration::from_secs(10)),
            (true, false) => self.warm_up * 2,
            (false, _) => self.warm_up,
        }
    }

    /// What is done in a quick trial, on a small machine, or as published.
    pub(super) fn sized<T>(&self, trial: T, small: T, paper: T) -> T {
        if self.is_trial() { trial } else { self.pick(small, paper) }
    }

    /// What is done on a small machine, or as published.
    pub(super) fn pick<T>(&self, small: T, paper: T) -> T {
        if self.paper { paper } else { small }
    }

    /// Whether this is only a quick trial, for which sizes are made smaller, too.
    pub(super) const fn is_trial(&self) -> bool {
        self.measured.as_millis() < 1000
    }

    /// A part or a multiple of the time that a point is measured, milliseconds.
    pub(super) fn measured_ms(&self, times: f64) -> u64 {
        (self.measured.as_secs_f64() * 1000.0 * times) as u64
    }

    /// Random reads and writes of shared nodes, closed.
    pub(super) fn mixed(&self, clients: usize, outstanding: usize, writes_per_mille: u32) -> Task {
        Task {
            clients,
            outstanding,
            writes_per_mille,
            warm_up_ms: self.warm_up.as_millis() as u64,
            measured_ms: self.measured_ms(1.0),
            ..Task::of(Kind::Mixed)
        }
    }

    /// What so many clients do with an object that they share.
    pub(super) fn recipe(&self, kind: Kind, clients: usize) -> Task {
        Task {
            clients,
            value_bytes: 0,
            // Clients that are JVMs are started for each point, and compile meanwhile.
            warm_up_ms: self.warm_up.as_millis() as u64 * 4,
            measured_ms: self.measured_ms(2.0),
            ..Task::of(kind)
        }
    }

    /// Each client on nodes of its own: as published so many requests each, here for so long.
    pub(super) fn own(&self, clients: usize, count: u32, value_bytes: usize, steps: &[Step]) -> Task {
        Task {
            clients,
            value_bytes,
            count: self.pick(u32::MAX, count),
            measured_ms: self.pick(self.measured_ms(1.0), 0),
            steps: steps.to_vec(),
            ..Task::of(Kind::Own)
        }
    }
}
