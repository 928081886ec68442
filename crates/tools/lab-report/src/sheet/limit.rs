//! What a figure is compared with: a bar that must be met, or an aim beyond it.

/// The most that a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So much, in the figure's unit.
    AtMost(f64),
    /// This part of the peer's.
    OfPeer(f64),
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
    pub fn most(self, peer: Option<f64>, floor: Option<f64>) -> Option<f64> {
        match self {
            Self::AtMost(most) => Some(most),
            Self::OfPeer(part) => peer.map(|value| value * part),
            Self::OfFloor(times) => floor.map(|value| value * times),
            Self::AboveFloor(more) => floor.map(|value| value + more),
            Self::Larger(one, other) => Some(one.most(peer, floor)?.max(other.most(peer, floor)?)),
        }
    }

    /// In words, beside a peer of that name.
    #[must_use]
    pub fn text(self, peer: &str) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {most}"),
            Self::OfPeer(part) if part < 1.0 => format!("≤ 1/{:.0} of {peer}'s", 1.0 / part),
            Self::OfPeer(part) => format!("≤ {part} × {peer}'s"),
            Self::OfFloor(times) => format!("≤ {times} × floor"),
            Self::AboveFloor(more) => format!("≤ floor + {more}"),
            Self::Larger(one, other) => format!("{}, or {} if larger", one.text(peer), other.text(peer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_two_needs_both() {
        let limit = Limit::Larger(&Limit::OfPeer(0.25), &Limit::OfFloor(2.0));
        assert_eq!(limit.most(Some(100.0), Some(5.0)), Some(25.0));
        assert_eq!(limit.most(Some(100.0), Some(50.0)), Some(100.0));
        assert_eq!(limit.most(None, Some(50.0)), None);
        assert_eq!(limit.text("ZooKeeper"), "≤ 1/4 of ZooKeeper's, or ≤ 2 × floor if larger");
    }
}
