//! The loads that are measured and simulated alike. Knows neither how.

use sim::cost::{At, Pace, Setup};

/// How long each is simulated: long enough for some hundred flushes.
const WARM_UP_MS: u64 = 200;
const MEASURED_MS: u64 = 800;

/// One load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Members.
    pub servers: u64,
    /// Connections, and how many requests each keeps outstanding; 0 is an open pace.
    pub connections: usize,
    /// See above.
    pub outstanding: usize,
    /// Of an open pace.
    pub per_second: u32,
    /// Of a thousand requests, so many are writes.
    pub writes_per_mille: u32,
    /// Of each value.
    pub value_bytes: usize,
    /// Whether all clients are at the leader.
    pub at_leader: bool,
    /// Whether prices are not taken from it.
    pub held_out: bool,
}

/// All points.
pub const POINTS: &[Point] = &[
    // What prices are taken from.
    reads(1, 1, 1),
    reads(1, 50, 0).paced(10_000),
    reads(1, 50, 1),
    reads(1, 20, 20),
    reads(1, 10, 4),
    reads(1, 20, 10).of(8192),
    writes(1, 1, 1),
    writes(1, 50, 1),
    writes(1, 20, 20),
    writes(1, 20, 10).of(8192),
    mixed(1, 50, 4, 300),
    mixed(1, 20, 20, 100),
    reads(3, 50, 1),
    reads(3, 20, 20),
    writes(3, 1, 1),
    writes(3, 50, 1),
    writes(3, 20, 20),
    writes(3, 20, 20).leader(),
    writes(3, 50, 1).leader(),
    writes(3, 20, 10).of(8192),
    mixed(3, 50, 4, 300),
    mixed(3, 20, 20, 100),
    // What they are tried on.
    reads(1, 20, 50).out(),
    reads(1, 100, 1).out(),
    writes(1, 20, 50).out(),
    writes(1, 100, 1).out(),
    mixed(1, 100, 10, 100).out(),
    mixed(1, 100, 0, 100).paced(20_000).out(),
    reads(3, 20, 50).out(),
    reads(3, 100, 1).out(),
    writes(3, 20, 50).out(),
    writes(3, 100, 1).out(),
    mixed(3, 100, 10, 100).out(),
    writes(3, 100, 0).paced(5_000).out(),
    reads(5, 20, 50).out(),
    reads(5, 100, 1).out(),
    writes(5, 20, 50).out(),
    writes(5, 100, 1).out(),
    mixed(5, 100, 10, 100).out(),
];

const fn reads(servers: u64, connections: usize, outstanding: usize) -> Point {
    mixed(servers, connections, outstanding, 0)
}

const fn writes(servers: u64, connections: usize, outstanding: usize) -> Point {
    mixed(servers, connections, outstanding, 1000)
}

const fn mixed(servers: u64, connections: usize, outstanding: usize, writes_per_mille: u32) -> Point {
    Point {
        servers,
        connections,
        outstanding,
        per_second: 0,
        writes_per_mille,
        value_bytes: 1024,
        at_leader: false,
        held_out: false,
    }
}

impl Point {
    const fn of(mut self, value_bytes: usize) -> Self {
        self.value_bytes = value_bytes;
        self
    }

    const fn leader(mut self) -> Self {
        self.at_leader = true;
        self
    }

    const fn paced(mut self, per_second: u32) -> Self {
        self.per_second = per_second;
        self
    }

    const fn out(mut self) -> Self {
        self.held_out = true;
        self
    }

    /// Its name, which no other has.
    #[must_use]
    pub fn name(&self) -> String {
        let work = match self.writes_per_mille {
            0 => String::from("reads"),
            1000 => String::from("writes"),
            mille => format!("{} % writes", mille / 10),
        };
        let pace = match self.per_second {
            0 => format!("{}×{}", self.connections, self.outstanding),
            rate => format!("{} at {rate}/s", self.connections),
        };
        let value =
            if self.value_bytes == 1024 { String::new() } else { format!(", {} B", self.value_bytes) };
        let at = if self.at_leader { ", at the leader" } else { "" };
        format!("{}: {work} {pace}{value}{at}", self.servers)
    }

    /// The same as a simulation.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let mut setup = Setup::new(self.servers, self.connections, self.outstanding, self.writes_per_mille);
        if self.per_second > 0 {
            setup.pace = Pace::Open { per_second: f64::from(self.per_second) };
        }
        if self.at_leader {
            setup.at = At::Leader;
        }
        setup.value_bytes = self.value_bytes;
        (setup.warm_up_ms, setup.measured_ms) = (WARM_UP_MS, MEASURED_MS);
        setup.shared()
    }
}

#[cfg(test)]
mod tests {
    use super::POINTS;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_points_are_one_and_both_sorts_are_there() {
        let names: BTreeSet<_> = POINTS.iter().map(super::Point::name).collect();
        assert_eq!(names.len(), POINTS.len());
        assert!(POINTS.iter().filter(|point| point.held_out).count() > 10);
        assert!(POINTS.iter().filter(|point| !point.held_out).count() > 10);
    }
}
