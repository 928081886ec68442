//! The report: tables for people, lines of JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Bench, Figure, Limit, Row, Sheet, Who};

/// What a run found: each row with its figures, or why there are none.
pub type Results = Vec<(&'static Row, Result<Sheet, super::Failure>)>;

/// The report as markdown.
#[must_use]
pub fn markdown(bench: &Bench, results: &Results) -> String {
    let mut text = heading(bench);
    text.push_str(
        "\n| load | figure | ZooKeeper | Diwan | floor | Diwan / ZooKeeper | Diwan / floor | bar | aim | met |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    each(results, |figure| figure.spec.bar.is_some(), |row, figure| held_line(&mut text, row, figure));
    text.push_str("\nMeasured beside these, held against nothing:\n\n");
    text.push_str("| row | figure | ZooKeeper | Diwan | floor |\n|---|---|---|---|---|\n");
    each(results, |figure| figure.spec.bar.is_none(), |row, figure| told_line(&mut text, row, figure));
    text.push_str("\nThe loads:\n\n");
    for (row, result) in results {
        let _ = write!(text, "- `{}`: {}.", row.name, row.about);
        if let Some(floor) = row.floor {
            let _ = write!(text, " Floor: {floor}.");
        }
        match result {
            Ok(sheet) => sheet.notes.iter().for_each(|note| {
                let _ = write!(text, " {note}.");
            }),
            Err(failure) => {
                let _ = write!(text, " **Not measured:** {failure}.");
            }
        }
        text.push('\n');
    }
    text
}

fn heading(bench: &Bench) -> String {
    let options = &bench.options;
    let mut text = String::new();
    let _ = writeln!(text, "Machine: {}.\n", bench.machine);
    let _ = writeln!(text, "Command: `{}`\n", command(bench));
    let _ = writeln!(
        text,
        "Medians of {} interleaved repeats, least and greatest in brackets. CPU is utime + stime of all processes of a \
         contestant over operations. ZooKeeper {}.",
        options.repeats,
        if bench.has(Who::ZooKeeper) { "3.9.5 with a heap of 2 GB, warmed up" } else { "took no part" },
    );
    if options.scale.short {
        text.push_str("\n**A short run: it shows that the benchmarks work, its figures mean nothing.**\n");
    }
    text
}

/// The exact command of this run.
fn command(bench: &Bench) -> String {
    let mut text = String::from("cargo run --release -p tools-lab --bin bench");
    if !bench.options.arguments.is_empty() {
        let _ = write!(text, " -- {}", bench.options.arguments);
    }
    text
}

fn each(results: &Results, wanted: impl Fn(&Figure) -> bool, mut line: impl FnMut(&Row, &Figure)) {
    for (row, result) in results {
        let Ok(sheet) = result else { continue };
        sheet.figures.iter().filter(|figure| wanted(figure)).for_each(|figure| line(row, figure));
    }
}

fn held_line(text: &mut String, row: &Row, figure: &Figure) {
    let [zookeeper, diwan, floor] = Who::ALL.map(|who| cell(figure, who));
    let [over_zookeeper, over_floor] = [Who::ZooKeeper, Who::Floor].map(|who| ratio(figure, who));
    let limit = |limit: Option<Limit>| limit.map_or_else(String::new, |limit| limit.to_string());
    let _ = writeln!(
        text,
        "| {} | {} ({}) | {zookeeper} | {diwan} | {floor} | {over_zookeeper} | {over_floor} | {} | {} | {} |",
        row.name,
        figure.spec.name,
        figure.spec.unit,
        limit(figure.spec.bar),
        limit(figure.spec.aim),
        met(figure),
    );
}

fn told_line(text: &mut String, row: &Row, figure: &Figure) {
    let [zookeeper, diwan, floor] = Who::ALL.map(|who| cell(figure, who));
    let unit = figure.spec.unit;
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let _ = writeln!(text, "| {} | {}{unit} | {zookeeper} | {diwan} | {floor} |", row.name, figure.spec.name);
}

/// Whether bar and aim are met.
fn met(figure: &Figure) -> &'static str {
    let keeps = |limit: Option<Limit>| limit.and_then(|limit| figure.keeps(limit));
    match (keeps(figure.spec.bar), keeps(figure.spec.aim)) {
        (Some(true), Some(true)) => "bar and aim",
        (Some(true), _) => "bar",
        (Some(false), _) => "**no**",
        (None, Some(true)) => "aim",
        (None, _) => "",
    }
}

fn cell(figure: &Figure, who: Who) -> String {
    match (figure.median(who), figure.spread(who)) {
        (Some(median), Some((least, greatest))) if least < greatest => {
            format!("{} ({}–{})", short(median), short(least), short(greatest))
        }
        (Some(median), _) => short(median),
        _ => String::new(),
    }
}

fn ratio(figure: &Figure, other: Who) -> String {
    figure.ratio(other).map_or_else(String::new, short)
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The report as lines of JSON: the run, then each figure, then each row that failed.
#[must_use]
pub fn json_lines(bench: &Bench, results: &Results) -> String {
    let run = json!({
        "run": {
            "command": command(bench),
            "machine": bench.machine.json(),
            "repeats": bench.options.repeats,
            "short": bench.options.scale.short,
        }
    });
    let mut lines = vec![run];
    each(results, |_| true, |row, figure| lines.push(figure_json(row, figure)));
    for (row, result) in results {
        if let Err(failure) = result {
            lines.push(json!({ "row": row.name, "failure": failure.to_string() }));
        }
    }
    lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

fn figure_json(row: &Row, figure: &Figure) -> Value {
    let spec = &figure.spec;
    let limit = |limit: Option<Limit>| limit.map(|limit| limit.to_string());
    let keeps = |limit: Option<Limit>| limit.and_then(|limit| figure.keeps(limit));
    json!({
        "row": row.name,
        "figure": spec.name,
        "unit": spec.unit,
        "zookeeper": figure.values(Who::ZooKeeper),
        "diwan": figure.values(Who::Diwan),
        "floor": figure.values(Who::Floor),
        "of_zookeeper": figure.ratio(Who::ZooKeeper),
        "of_floor": figure.ratio(Who::Floor),
        "bar": limit(spec.bar),
        "bar_met": keeps(spec.bar),
        "aim": limit(spec.aim),
        "aim_met": keeps(spec.aim),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Spec;

    #[test]
    fn a_figure_is_judged_by_its_medians_and_a_missing_contestant_leaves_it_open() {
        let spec = Spec::held("CPU", "µs/op", Limit::OfZooKeeper(0.1), Limit::AboveFloor(0.7));
        let judged = |zookeeper: &[f64], diwan: &[f64], floor: &[f64]| {
            let mut sheet = Sheet::new(&[spec]);
            for (who, values) in Who::ALL.into_iter().zip([zookeeper, diwan, floor]) {
                values.iter().for_each(|value| sheet.add("CPU", who, *value));
            }
            met(&sheet.figures[0])
        };
        assert_eq!(judged(&[30.0], &[2.0], &[1.5]), "bar and aim");
        assert_eq!(judged(&[30.0], &[2.0], &[1.0]), "bar");
        assert_eq!(judged(&[30.0], &[4.0], &[1.0]), "**no**");
        assert_eq!(judged(&[], &[1.0], &[1.0]), "aim");
        assert_eq!(judged(&[], &[4.0], &[]), "");
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([1234.5, 31.26, 2.008, 0.5].map(short), ["1234", "31.3", "2.01", "0.500"]);
    }
}
