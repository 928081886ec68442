//! Two runs, or two systems of one run, against each other: what moved beyond noise.
//!
//! Points of the same key are pairs. For each experiment and figure the logarithms of their ratios are averaged. Points of
//! one repetition were measured on the same servers and in the same minutes, so they are not independent: what counts as one
//! observation is a repetition as a whole. A figure has moved if that is no chance, for all the figures that were looked at
//! (`certainty`), and if the average is farther from 1 than what counts as noise.

mod certainty;
mod text;

pub use text::text;

use std::collections::BTreeMap;
use std::path::Path;

use self::certainty::Estimate;

use crate::figure;
use crate::record::{Point, Run, StoreError};

/// The figures that are compared with each other, and whether more is worse.
const FIGURES: [(&str, bool); 8] = [
    (figure::RATE, false),
    (figure::MEAN, true),
    (figure::P50, true),
    (figure::P99, true),
    (figure::CPU, true),
    (figure::MEMORY, true),
    (figure::WRITTEN, true),
    (figure::OUTAGE, true),
];
/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its points; `system` is empty where a side is one system.
    points: Vec<Point>,
}

impl Side {
    /// `FOLDER`, or `FOLDER:SYSTEM`.
    ///
    /// # Errors
    /// There is no run.
    pub fn read(text: &str) -> Result<Self, StoreError> {
        let (folder, system) = match text.rsplit_once(':') {
            Some((folder, system)) if !Path::new(text).exists() => (folder, Some(system)),
            _ => (text, None),
        };
        let run = Run::read(Path::new(folder))?;
        Ok(Self::of(&run, system))
    }

    /// A run, or one system of it.
    #[must_use]
    pub fn of(run: &Run, system: Option<&str>) -> Self {
        let is_meant = |point: &&Point| system.is_none_or(|name| point.key.system == name);
        let mut points: Vec<_> = run.points.iter().filter(is_meant).cloned().collect();
        if system.is_some() {
            points.iter_mut().for_each(|point| point.key.system.clear());
        }
        Self { points }
    }
}

/// One figure of one experiment and system.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which experiment.
    pub experiment: String,
    /// Which system, empty where two systems are compared.
    pub system: String,
    /// Which figure.
    pub figure: &'static str,
    /// B over A, the geometric mean over all pairs.
    pub ratio: f64,
    /// Between these it lies with a certainty of 95 %, seen alone; nothing if there is one repetition only.
    pub interval: Option<(f64, f64)>,
    /// How many pairs.
    pub pairs: usize,
    /// Whether it moved beyond noise, all figures of the comparison considered.
    pub moved: bool,
    /// Whether it became worse.
    pub worse: bool,
}

/// What came of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// All figures that both sides have.
    pub changes: Vec<Change>,
}

impl Verdict {
    /// Whether anything moved beyond noise.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        self.changes.iter().any(|change| change.moved)
    }
}

/// Holds B against A; a change of less than `noise` (0.05 is 5 %) is none.
#[must_use]
pub fn compare(a: &Side, b: &Side, noise: f64) -> Verdict {
    let (mut changes, mut chances) = (Vec::new(), Vec::new());
    let mut groups: Vec<_> =
        a.points.iter().map(|point| (&point.key.experiment, &point.key.system)).collect();
    groups.sort();
    groups.dedup();
    for (experiment, system) in groups {
        for (name, more_is_worse) in FIGURES {
            let is_of = |point: &&Point| (&point.key.experiment, &point.key.system) == (experiment, system);
            let logs = logs(a.points.iter().filter(is_of), b, name);
            let pairs = logs.values().map(Vec::len).sum();
            if pairs == 0 {
                continue;
            }
            let estimate = Estimate::of(&logs.values().map(|logs| certainty::mean(logs)).collect::<Vec<_>>());
            chances.push(estimate.chance);
            changes.push(Change {
                experiment: experiment.clone(),
                system: system.clone(),
                figure: name,
                ratio: estimate.mean.exp(),
                interval: estimate.interval.map(|(low, high)| (low.exp(), high.exp())),
                pairs,
                moved: estimate.mean.abs() > (1.0 + noise).ln(),
                worse: (estimate.mean > 0.0) == more_is_worse,
            });
        }
    }
    for (change, is_certain) in changes.iter_mut().zip(certainty::certain(&chances)) {
        change.moved &= is_certain;
    }
    Verdict { changes }
}

/// The logarithms of B over A, by repetition.
fn logs<'p>(points: impl Iterator<Item = &'p Point>, b: &Side, name: &str) -> BTreeMap<u32, Vec<f64>> {
    let mut logs: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for point in points {
        let pair = b.points.iter().find(|other| other.key == point.key);
        let values = pair.and_then(|pair| Some((*point.figures.get(name)?, *pair.figures.get(name)?)));
        if let Some((one, other)) = values.filter(|(one, other)| *one > 0.0 && *other > 0.0) {
            logs.entry(point.key.repetition).or_default().push((other / one).ln());
        }
    }
    logs
}

#[cfg(test)]
mod tests {
    use tools_testbed::dice::Dice;

    use super::*;
    use crate::record::{Checked, Key};

    /// Points at eight places, three repetitions of each, with this rate, which varies by up to 2 %.
    fn side(times: f64, seed: u64) -> Side {
        let mut dice = Dice::new(seed);
        let points = (0..24).map(|number: u32| Point {
            key: Key {
                experiment: String::from("Z1"),
                system: String::from("diwan"),
                series: String::new(),
                at: (number / 3).to_string(),
                repetition: number % 3 + 1,
            },
            figures: [(
                figure::RATE.to_owned(),
                f64::from(1000 * (number / 3 + 1)) * times * (0.98 + dice.below(41) as f64 / 1000.0),
            )]
            .into(),
            curves: BTreeMap::new(),
            checked: Checked::default(),
        });
        Side { points: points.collect() }
    }

    #[test]
    fn the_same_again_has_not_moved_and_its_interval_holds_one() {
        for seed in 0..20 {
            let verdict = compare(&side(1.0, 1), &side(1.0, 100 + seed), 0.05);
            assert!(!verdict.has_moved(), "{seed}: {verdict:?}");
            let (low, high) = verdict.changes[0].interval.unwrap();
            assert!(low > 0.9 && high < 1.1, "{seed}: {low} {high}");
        }
    }

    #[test]
    fn a_fifth_less_has_moved_and_is_worse() {
        let verdict = compare(&side(1.0, 1), &side(0.8, 2), 0.05);
        assert!(verdict.has_moved() && verdict.changes[0].worse);
        assert!((verdict.changes[0].ratio - 0.8).abs() < 0.02, "{verdict:?}");
        assert!(text(&verdict).contains("worse"));
        assert!(!compare(&side(1.0, 1), &side(0.8, 2), 0.5).has_moved(), "that much is noise here");
    }

    #[test]
    fn one_repetition_says_nothing_and_two_that_differ_little() {
        let of = |mut side: Side, repetitions: u32| {
            side.points.retain(|point| point.key.repetition <= repetitions);
            side
        };
        let verdict = compare(&of(side(1.0, 1), 1), &of(side(0.5, 1), 1), 0.05);
        assert_eq!((verdict.changes[0].interval, verdict.has_moved()), (None, false));
        let verdict = compare(&of(side(1.0, 1), 2), &of(side(0.5, 2), 2), 0.05);
        assert!(verdict.has_moved(), "{verdict:?}");
    }

    #[test]
    fn what_befell_one_repetition_as_a_whole_is_no_change() {
        let mut unlucky = side(1.0, 2);
        for point in unlucky.points.iter_mut().filter(|point| point.key.repetition == 2) {
            point.figures.values_mut().for_each(|value| *value *= 0.7);
        }
        let verdict = compare(&side(1.0, 1), &unlucky, 0.05);
        let (low, high) = verdict.changes[0].interval.unwrap();
        assert!(low < 1.0 && high > 1.0 && !verdict.has_moved(), "{verdict:?}");
    }

    #[test]
    fn of_comparisons_of_twenty_experiments_in_which_nothing_differs_one_in_twenty_says_so() {
        let twenty = |seed: u64| {
            let one = |number: u64| {
                let mut side = side(1.0, seed * 20 + number);
                side.points.iter_mut().for_each(|point| point.key.experiment = format!("E{number}"));
                side.points
            };
            Side { points: (0..20).flat_map(one).collect() }
        };
        // What counts is certainty alone here: no difference is too small.
        let moved =
            (0..100).filter(|seed| compare(&twenty(*seed), &twenty(1000 + seed), 0.0).has_moved()).count();
        assert!((1..=10).contains(&moved), "{moved} of 100");
    }
}
