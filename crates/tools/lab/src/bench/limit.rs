//! What a figure is held against: a bar that must be met, or an aim beyond it.

use std::fmt;

/// The most that a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So much, in the figure's unit.
    AtMost(f64),
    /// This part of ZooKeeper's.
    OfZooKeeper(f64),
    /// So many times the floor's.
    OfFloor(f64),
    /// So much more than the floor's.
    AboveFloor(f64),
    /// The larger of two.
    Larger(&'static Limit, &'static Limit),
}

impl Limit {
    /// The most that is allowed beside these; `None` if what it takes was not measured.
    #[must_use]
    pub fn most(self, zookeeper: Option<f64>, floor: Option<f64>) -> Option<f64> {
        match self {
            Self::AtMost(most) => Some(most),
            Self::OfZooKeeper(part) => zookeeper.map(|value| value * part),
            Self::OfFloor(times) => floor.map(|value| value * times),
            Self::AboveFloor(more) => floor.map(|value| value + more),
            Self::Larger(one, other) => Some(one.most(zookeeper, floor)?.max(other.most(zookeeper, floor)?)),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::OfZooKeeper(part) if *part < 1.0 => write!(f, "≤ 1/{:.0} of ZooKeeper's", 1.0 / part),
            Self::OfZooKeeper(part) => write!(f, "≤ {part} × ZooKeeper's"),
            Self::OfFloor(times) => write!(f, "≤ {times} × floor"),
            Self::AboveFloor(more) => write!(f, "≤ floor + {more}"),
            Self::Larger(one, other) => write!(f, "{one}, or {other} if larger"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_two_needs_both() {
        let limit = Limit::Larger(&Limit::OfZooKeeper(0.25), &Limit::OfFloor(2.0));
        assert_eq!(limit.most(Some(100.0), Some(5.0)), Some(25.0));
        assert_eq!(limit.most(Some(100.0), Some(50.0)), Some(100.0));
        assert_eq!(limit.most(None, Some(50.0)), None);
        assert_eq!(limit.to_string(), "≤ 1/4 of ZooKeeper's, or ≤ 2 × floor if larger");
    }
}
