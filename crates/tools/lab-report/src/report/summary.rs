//! A run, experiment by experiment: repetitions become means or medians, and these become ratios. Knows nothing of how it is shown.

use std::collections::BTreeMap;

use crate::describe::{Catalogue, Description, Middle};
use crate::figure;
use crate::record::{Checked, Failed, Point, Run, Skipped};
use crate::statistics::{Mean, median};

/// The system with the ratios.
const OURS: &str = "diwan";
/// The one with the ratios where the council takes no part.
const OUR_OBJECTS: &str = "objects";

/// Which of ours has these rows.
fn ours(rows: &[Row<'_>]) -> &'static str {
    match rows.iter().any(|row| row.system == OURS) {
        true => OURS,
        false => OUR_OBJECTS,
    }
}

/// All repetitions of one point.
#[derive(Debug)]
pub(super) struct Row<'r> {
    pub(super) system: &'r str,
    pub(super) series: &'r str,
    pub(super) at: &'r str,
    pub(super) figures: BTreeMap<&'r str, Mean>,
    /// The curves of the first repetition.
    pub(super) curves: &'r BTreeMap<String, Vec<(f64, f64)>>,
}

/// System calls an operation at one place.
#[derive(Debug)]
pub(super) struct Counted<'r> {
    /// In words.
    pub(super) place: Vec<&'r str>,
    /// Each system's.
    pub(super) of: Vec<(&'r str, f64)>,
}

/// How Diwan's figure compares with a peer's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ratio<'r> {
    pub(super) peer: &'r str,
    pub(super) figure: &'static str,
    pub(super) mean: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Ratio<'_> {
    /// Whether it is in Diwan's favour.
    pub(super) fn is_better(&self) -> bool {
        (self.mean > 1.0) == (self.figure == figure::RATE)
    }
}

/// Systems that no experiment of the run has, each with its one reason.
pub(super) fn skipped_everywhere<'r>(summaries: &[Summary<'r>]) -> Vec<&'r Skipped> {
    let mut everywhere: Vec<&Skipped> = Vec::new();
    for one in summaries.iter().flat_map(|summary| &summary.skipped) {
        let is_everywhere = summaries.len() > 1
            && summaries.iter().all(|summary| {
                let same = |other: &&&Skipped| (&other.system, &other.reason) == (&one.system, &one.reason);
                summary.skipped.iter().any(|other| same(&other))
            });
        if is_everywhere && !everywhere.iter().any(|known| known.system == one.system) {
            everywhere.push(one);
        }
    }
    everywhere
}

/// One experiment of a run.
#[derive(Debug)]
pub(super) struct Summary<'r> {
    pub(super) experiment: &'static Description,
    pub(super) rows: Vec<Row<'r>>,
    pub(super) checked: Checked,
    pub(super) skipped: Vec<&'r Skipped>,
    pub(super) failed: Vec<&'r Failed>,
}

/// Every experiment with records in the run, in order.
pub(super) fn summaries<'r>(run: &'r Run, catalogue: &Catalogue) -> Vec<Summary<'r>> {
    let told = catalogue.experiments.iter().map(|experiment| Summary::of(run, experiment));
    told.filter(|summary| !summary.rows.is_empty() || !summary.failed.is_empty()).collect()
}

impl<'r> Summary<'r> {
    #[expect(clippy::too_many_lines, reason = "a page, from its top to its end")]
    fn of(run: &'r Run, experiment: &'static Description) -> Self {
        let points: Vec<&Point> =
            run.points.iter().filter(|point| point.key.experiment == experiment.id).collect();
        let mut rows: Vec<(Row<'r>, BTreeMap<&'r str, Vec<f64>>)> = Vec::new();
        let mut checked = Checked::default();
        for point in points {
            let key = &point.key;
            checked.reads += point.checked.reads;
            checked.writes += point.checked.writes;
            checked.events += point.checked.events;
            checked.barriers += point.checked.barriers;
            let is_it = |(row, _): &(Row<'_>, _)| {
                (row.system, row.series, row.at) == (&key.system, &key.series, &key.at)
            };
            let place = rows.iter().position(is_it).unwrap_or_else(|| {
                let row = Row {
                    system: &key.system,
                    series: &key.series,
                    at: &key.at,
                    figures: BTreeMap::new(),
                    curves: &point.curves,
                };
                rows.push((row, BTreeMap::new()));
                rows.len() - 1
            });
            for (name, value) in &point.figures {
                rows[place].1.entry(name).or_default().push(*value);
            }
        }
        let rows = rows.into_iter().map(|(row, values)| Row {
            figures: values
                .into_iter()
                .map(|(name, values)| (name, middle(&values, experiment.middle)))
                .collect(),
            ..row
        });
        let mut rows: Vec<_> = rows.collect();
        // Of one place all systems stand together.
        let (order, ours) = (places(&rows), ours(&rows));
        rows.sort_by_key(|row| {
            let place = order.iter().position(|place| *place == (row.series, row.at));
            (place, row.system != ours, row.system)
        });
        Self {
            experiment,
            rows,
            checked,
            skipped: run.skipped.iter().filter(|one| one.experiment == experiment.id).collect(),
            failed: run.failed.iter().filter(|one| one.experiment == experiment.id).collect(),
        }
    }

    /// Series and places, as they were measured.
    pub(super) fn places(&self) -> Vec<(&'r str, &'r str)> {
        places(&self.rows)
    }

    /// The systems that have a point, ours first.
    pub(super) fn systems(&self) -> Vec<&'r str> {
        let mut systems: Vec<_> = self.rows.iter().map(|row| row.system).collect();
        let ours = ours(&self.rows);
        systems.sort_by_key(|system| (*system != ours, *system));
        systems.dedup();
        systems
    }

    pub(super) fn row(&self, system: &str, series: &str, at: &str) -> Option<&Row<'r>> {
        self.rows.iter().find(|row| (row.system, row.series, row.at) == (system, series, at))
    }

    /// The figures that are compared with the peers': those that the experiment is about, and system calls.
    pub(super) fn compared(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.experiment.ratios.iter().copied().chain([figure::CALLS])
    }

    /// System calls an operation, where they were counted: the place in words, and each system's.
    pub(super) fn calls(&self) -> Vec<Counted<'r>> {
        let systems = self.systems();
        let of_place = |(series, at): (&'r str, &'r str)| {
            let value = |system: &&'r str| {
                Some((*system, self.row(system, series, at)?.figures.get(figure::CALLS)?.value))
            };
            let of: Vec<_> = systems.iter().filter_map(value).collect();
            let words = [series, at].into_iter().filter(|word| !word.is_empty());
            (!of.is_empty()).then(|| Counted { place: words.collect(), of })
        };
        self.places().into_iter().filter_map(of_place).collect()
    }

    /// Ours against each peer, for each figure that the experiment is about.
    pub(super) fn ratios(&self) -> Vec<Ratio<'r>> {
        let ours = ours(&self.rows);
        let peers = self.systems().into_iter().filter(|system| *system != ours);
        peers.flat_map(|peer| self.compared().filter_map(move |figure| self.ratio(peer, figure))).collect()
    }

    fn ratio(&self, peer: &'r str, figure: &'static str) -> Option<Ratio<'r>> {
        let ours = ours(&self.rows);
        let rows = self.rows.iter().filter(|row| row.system == ours);
        let pairs = rows.filter_map(|row| {
            let other = self.row(peer, row.series, row.at)?;
            let (one, other) = (row.figures.get(figure)?.value, other.figures.get(figure)?.value);
            (one > 0.0 && other > 0.0).then(|| one / other)
        });
        let ratios: Vec<f64> = pairs.collect();
        let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        (!ratios.is_empty()).then(|| Ratio {
            peer,
            figure,
            mean: (logs / ratios.len() as f64).exp(),
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(0.0, f64::max),
        })
    }
}

/// One figure for all repetitions, and how far they lie from their mean.
fn middle(values: &[f64], middle: Middle) -> Mean {
    let mean = Mean::of(values);
    match middle {
        Middle::Mean => mean,
        Middle::Median => Mean { value: median(values).unwrap_or(mean.value), ..mean },
    }
}

fn places<'r>(rows: &[Row<'r>]) -> Vec<(&'r str, &'r str)> {
    let mut places = Vec::new();
    for row in rows {
        if !places.contains(&(row.series, row.at)) {
            places.push((row.series, row.at));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_objects_where_the_council_takes_no_part() {
        let curves = BTreeMap::new();
        let rows = |systems: &[&'static str]| -> Vec<Row<'_>> {
            let row = |system: &&'static str| Row {
                system,
                series: "",
                at: "",
                figures: BTreeMap::new(),
                curves: &curves,
            };
            systems.iter().map(row).collect()
        };
        assert_eq!(ours(&rows(&["zookeeper", "objects", "diwan"])), "diwan");
        assert_eq!(ours(&rows(&["curator", "objects"])), "objects");
    }

    #[test]
    fn median_is_not_moved_by_one_turn_that_was_disturbed() {
        let values = [1.0, 1.2, 9.0];
        assert_eq!(middle(&values, Middle::Median).value, 1.2);
        assert!(middle(&values, Middle::Mean).value > 3.0);
        assert!(middle(&values, Middle::Median).deviation > 4.0);
    }
}
