//! From an experiment's rows to its pictures.

use super::chart::{Across, Chart, Line, Value};
use super::summary::{Row, Summary};
use super::words::{self, PUBLISHED_SHORT};
use super::{Language, Spoken};
use crate::describe::{Panel, Reference, Shape};
use crate::figure;

/// Systems that have a colour of their own.
const COLOURED: [&str; 5] = ["diwan", "zookeeper", "etcd", "concoord", "other"];
/// Systems that are never beside those whose colour they have.
const SHARING: [(&str, &str); 9] = [
    ("curator", "zookeeper"),
    ("curator-diwan", "diwan"),
    ("redis", "concoord"),
    ("hazelcast", "other"),
    ("kafka", "zookeeper"),
    ("rabbitmq", "etcd"),
    ("activemq", "concoord"),
    ("sendfile", "elsewhere"),
    ("bare", "elsewhere"),
];

/// The class that gives a system its colour.
fn class(system: &str) -> String {
    let shared = SHARING.iter().find(|(name, _)| *name == system).map(|(_, colour)| *colour);
    let system = shared.unwrap_or(system);
    match COLOURED.contains(&system) {
        true => format!("s-{system}"),
        false => String::from("s-elsewhere"),
    }
}

/// The picture of a panel; nothing if no point has the figure.
pub(super) fn chart(summary: &Summary<'_>, panel: &Panel) -> Option<Chart> {
    let (across, lines) = match panel.shape {
        Shape::Lines => (Across::Linear, lines(summary, panel.figure)),
        Shape::LinesOverLog => (Across::Log, lines(summary, panel.figure)),
        Shape::Bars => bars(summary, panel.figure),
        Shape::Curves(at) => {
            let across = match panel.figure {
                figure::DISTRIBUTION => Across::Log,
                _ => Across::Linear,
            };
            (across, curves(summary, panel.figure, at))
        }
    };
    let published = |line: &&Line| line.class != "published";
    lines.iter().find(published)?;
    let y = Spoken::name(panel.figure);
    // A distribution is known by its shape, and a bar by its height from 0.
    let may_be_log = panel.figure != figure::DISTRIBUTION && !matches!(across, Across::Words(_));
    Some(Chart { title: panel.title.into(), x: panel.x.into(), y, across, may_be_log, lines })
}

/// The name of a line: the system, and the series if there are several.
fn named(system: &str, series: &str) -> Spoken {
    let of = |language| {
        let (system, series) = (words::name(system, language), words::name(series, language));
        match (series.is_empty(), language) {
            (true, _) => system,
            (false, Language::English) => format!("{system}, {series}"),
            // The marks keep a name in Latin letters from turning the whole around, and the number from joining it.
            (false, Language::Arabic) => format!("\u{200f}{system}،\u{200f} {series}"),
        }
    };
    Spoken { en: of(Language::English), ar: of(Language::Arabic) }
}

fn all_series<'r>(summary: &Summary<'r>) -> Vec<&'r str> {
    let mut series = Vec::new();
    for (one, _) in summary.places() {
        if !series.contains(&one) {
            series.push(one);
        }
    }
    series
}

fn lines(summary: &Summary<'_>, figure: &str) -> Vec<Line> {
    let series = all_series(summary);
    let mut lines = Vec::new();
    for system in summary.systems() {
        for (nth, one) in series.iter().enumerate() {
            let is_it = |row: &&Row<'_>| row.system == system && row.series == *one;
            let value = |row: &Row<'_>| {
                let mean = row.figures.get(figure)?;
                Some(Value { x: row.at.parse().ok()?, y: mean.value, deviation: mean.deviation })
            };
            let mut values: Vec<_> = summary.rows.iter().filter(is_it).filter_map(value).collect();
            values.sort_by(|one, other| one.x.total_cmp(&other.x));
            if !values.is_empty() {
                let name = named(system, if series.len() > 1 { one } else { "" });
                lines.push(Line { name, class: class(system), nth, values, marked: true });
            }
        }
    }
    for reference in references(summary, figure) {
        let value = |(x, y): &(f64, f64)| Value { x: *x, y: *y, deviation: 0.0 };
        let nth = series.iter().position(|one| *one == reference.series).unwrap_or(series.len());
        let series = if series.len() > 1 { reference.series } else { "" };
        let name = named(PUBLISHED_SHORT.0, series);
        let name = Spoken { ar: name.ar.replace(PUBLISHED_SHORT.0, PUBLISHED_SHORT.1), ..name };
        let values = reference.points.iter().map(value).collect();
        lines.push(Line { name, class: String::from("published"), nth, values, marked: true });
    }
    lines
}

fn references<'s>(
    summary: &'s Summary<'_>,
    figure: &'s str,
) -> impl Iterator<Item = &'static Reference> + 's {
    summary.experiment.references.iter().filter(move |reference| reference.figure == figure)
}

fn bars(summary: &Summary<'_>, figure: &str) -> (Across, Vec<Line>) {
    let has_figure = |(series, at): &(&str, &str)| {
        let is_it = |row: &&Row<'_>| (row.series, row.at) == (*series, *at);
        summary.rows.iter().filter(is_it).any(|row| row.figures.contains_key(figure))
    };
    let places: Vec<_> = summary.places().into_iter().filter(has_figure).collect();
    let mut lines = Vec::new();
    for system in summary.systems() {
        let value = |(place, (series, at)): (usize, &(&str, &str))| {
            let mean = summary.row(system, series, at)?.figures.get(figure)?;
            Some(Value { x: place as f64, y: mean.value, deviation: mean.deviation })
        };
        let values: Vec<_> = places.iter().enumerate().filter_map(value).collect();
        if !values.is_empty() {
            lines.push(Line { name: named(system, ""), class: class(system), nth: 0, values, marked: true });
        }
    }
    // A published value stands at its place, or at the place of that number where places are words.
    let mut published = Vec::new();
    for reference in references(summary, figure) {
        for (x, y) in reference.points {
            let at_number = |(series, at): &(&str, &str)| {
                *series == reference.series && at.parse::<f64>().is_ok_and(|at| at == *x)
            };
            let place = places.iter().position(at_number);
            let place = place.or_else(|| reference.series.is_empty().then_some(*x as usize));
            if let Some(place) = place.filter(|place| *place < places.len()) {
                published.push(Value { x: place as f64, y: *y, deviation: 0.0 });
            }
        }
    }
    if !published.is_empty() {
        let class = String::from("published");
        lines.push(Line { name: PUBLISHED_SHORT.into(), class, nth: 2, values: published, marked: false });
    }
    let label = |(series, at): &(&str, &str)| match series.is_empty() {
        true => in_two(&Spoken::name(at)),
        false => (Spoken::name(series), Spoken::name(at)),
    };
    (Across::Words(places.iter().map(label).collect()), lines)
}

/// Words on two lines, so that they do not overlap the next ones.
fn in_two(text: &Spoken) -> (Spoken, Spoken) {
    let split = |text: &str| {
        let spaces = text.match_indices(' ').map(|(at, _)| at);
        match spaces.min_by_key(|at| at.abs_diff(text.len() / 2)) {
            Some(at) => (text[..at].to_owned(), text[at + 1..].to_owned()),
            None => (text.to_owned(), String::new()),
        }
    };
    let ((en, en_below), (ar, ar_below)) = (split(&text.en), split(&text.ar));
    (Spoken { en, ar }, Spoken { en: en_below, ar: ar_below })
}

fn curves(summary: &Summary<'_>, name: &str, only: Option<&str>) -> Vec<Line> {
    let mut ats: Vec<&str> = summary.places().into_iter().map(|(_, at)| at).collect();
    ats.retain(|at| only.is_none_or(|only| *at == only));
    let mut lines = Vec::new();
    for system in summary.systems() {
        for (nth, at) in ats.iter().enumerate() {
            let is_it = |row: &&Row<'_>| row.system == system && row.at == *at;
            let Some(row) = summary.rows.iter().find(is_it) else { continue };
            let Some(curve) = row.curves.get(name) else { continue };
            let value = |(x, y): &(f64, f64)| Value { x: *x, y: *y, deviation: 0.0 };
            let values = curve.iter().map(value).collect();
            let label = named(system, if ats.len() > 1 { at } else { "" });
            lines.push(Line { name: label, class: class(system), nth, values, marked: false });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::describe::{Description, Middle, Text};
    use crate::record::Checked;
    use crate::statistics::Mean;

    const NOTHING: Text = Text::of("", "");
    const BARS: Description = Description {
        id: "E1",
        title: NOTHING,
        source: NOTHING,
        setup: NOTHING,
        published: NOTHING,
        references: &[],
        panels: &[Panel::bars(NOTHING, NOTHING, figure::OUTAGE)],
        ratios: &[],
        middle: Middle::Mean,
    };

    fn summary<'r>(
        curves: &'r BTreeMap<String, Vec<(f64, f64)>>,
        rows: &[(&'r str, &'r str, f64)],
    ) -> Summary<'r> {
        let rows = rows.iter().map(|(system, at, value)| {
            let mean = |figure| (figure, Mean { value: *value, deviation: 0.0 });
            let figures = [figure::RATE, figure::OUTAGE, figure::CPU].map(mean).into_iter().collect();
            Row { system, series: "", at, figures, curves }
        });
        Summary {
            experiment: &BARS,
            rows: rows.collect(),
            checked: Checked::default(),
            skipped: Vec::new(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn bars_are_never_drawn_on_a_logarithmic_axis() {
        let curves = BTreeMap::new();
        let rows = [("diwan", "snapshots", 1.0), ("etcd", "snapshots", 100_000.0)];
        let summary = summary(&curves, &rows);
        let chart = chart(&summary, &summary.experiment.panels[0]).expect("a picture");
        assert!(matches!(chart.across, Across::Words(_)) && !chart.may_be_log);
    }
}
