//! Figures: what was measured, once a repeat for each contestant, and what they are compared with.

use super::{Limit, Who};
use crate::statistics::{median, spread};

/// A figure before it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its short name within the row.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it must not exceed; a figure without one only informs.
    pub bar: Option<Limit>,
    /// What it should not exceed.
    pub aim: Option<Limit>,
}

impl Spec {
    /// A figure that is compared with a bar and an aim.
    #[must_use]
    pub const fn held(name: &'static str, unit: &'static str, bar: Limit, aim: Limit) -> Self {
        Self { name, unit, bar: Some(bar), aim: Some(aim) }
    }

    /// A figure that informs.
    #[must_use]
    pub const fn told(name: &'static str, unit: &'static str) -> Self {
        Self { name, unit, bar: None, aim: None }
    }
}

/// A figure with its values, one a repeat.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is.
    pub spec: Spec,
    values: [Vec<f64>; 3],
}

impl Figure {
    /// The values of one contestant.
    #[must_use]
    pub fn values(&self, who: Who) -> &[f64] {
        &self.values[who as usize]
    }

    /// The middle value of one contestant.
    #[must_use]
    pub fn median(&self, who: Who) -> Option<f64> {
        median(self.values(who))
    }

    /// The least and the greatest value of one contestant.
    #[must_use]
    pub fn spread(&self, who: Who) -> Option<(f64, f64)> {
        spread(self.values(who))
    }

    /// Diwan's median over another's.
    #[must_use]
    pub fn ratio(&self, other: Who) -> Option<f64> {
        let below = self.median(other).filter(|value| *value != 0.0)?;
        Some(self.median(Who::Diwan)? / below)
    }

    /// Whether Diwan's median keeps a limit; `None` if something it takes was not measured.
    #[must_use]
    pub fn keeps(&self, limit: Limit) -> Option<bool> {
        let most = limit.most(self.median(Who::Peer), self.median(Who::Floor))?;
        Some(self.median(Who::Diwan)? <= most)
    }
}

/// The figures of one row.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// In the order of the row's specifications.
    pub figures: Vec<Figure>,
    /// What a reader of the figures must know: rates that were derived, sizes that were cut.
    pub notes: Vec<String>,
}

impl Sheet {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(specs: &[Spec]) -> Self {
        let figures = specs.iter().map(|spec| Figure { spec: *spec, values: Default::default() }).collect();
        Self { figures, notes: Vec::new() }
    }

    /// The middle value of one contestant's figure.
    #[must_use]
    pub fn median(&self, name: &str, who: Who) -> Option<f64> {
        self.figures.iter().find(|figure| figure.spec.name == name)?.median(who)
    }

    /// Whether the row has a figure of that name.
    #[must_use]
    pub fn declares(&self, name: &str) -> bool {
        self.figures.iter().any(|figure| figure.spec.name == name)
    }

    /// Adds a measured value.
    ///
    /// # Panics
    /// The row has no figure of that name.
    pub fn add(&mut self, name: &str, who: Who, value: f64) {
        let figure = self.figures.iter_mut().find(|figure| figure.spec.name == name);
        figure.expect("a row adds only to figures that it declares").values[who as usize].push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_spread_ratios_and_limits_come_from_the_values() {
        let spec = Spec::held("cpu", "us", Limit::OfPeer(0.1), Limit::AboveFloor(0.7));
        let mut sheet = Sheet::new(&[spec]);
        for (peer, diwan) in [(30.0, 2.0), (31.0, 9.0), (29.0, 1.0)] {
            sheet.add("cpu", Who::Peer, peer);
            sheet.add("cpu", Who::Diwan, diwan);
        }
        let figure = &sheet.figures[0];
        assert_eq!(figure.median(Who::Diwan), Some(2.0));
        assert_eq!(figure.spread(Who::Diwan), Some((1.0, 9.0)));
        assert!(figure.ratio(Who::Peer).is_some_and(|ratio| (ratio - 2.0 / 30.0).abs() < 1e-9));
        assert_eq!(figure.keeps(Limit::OfPeer(0.1)), Some(true));
        assert_eq!(figure.keeps(Limit::AboveFloor(0.7)), None, "there was no floor");
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }
}
