//! The report: tables for people, lines of JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Figure, Limit, Sheet, Who};

/// What stands above all figures.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The peer's name.
    pub peer: &'static str,
    /// Its release and how it was set up, or that it took no part.
    pub about_peer: String,
    /// The machine, in a sentence.
    pub machine: String,
    /// Each of its traits by name.
    pub traits: Value,
    /// The exact command of this run.
    pub command: String,
    /// How often each contestant had its turn.
    pub repeats: usize,
    /// Whether this was a small run: its figures mean nothing.
    pub is_short: bool,
}

/// One load with its figures, or why there are none.
#[derive(Debug)]
pub struct Row<'r> {
    /// Its name on the command line.
    pub name: &'r str,
    /// What the load is.
    pub about: &'r str,
    /// What the floor is, if there is one.
    pub floor: Option<&'r str>,
    /// What was measured.
    pub result: Result<&'r Sheet, String>,
}

/// The report as markdown.
#[must_use]
pub fn markdown(heading: &Heading, rows: &[Row<'_>]) -> String {
    let peer = heading.peer;
    let mut text = above(heading);
    let _ = write!(
        text,
        "\n| load | figure | {peer} | Diwan | floor | Diwan / {peer} | Diwan / floor | bar | aim | met |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let held = |row: &Row<'_>, figure: &Figure| held_line(&mut text, peer, row, figure);
    each(rows, |figure| figure.spec.bar.is_some(), held);
    text.push_str("\nMeasured beside these, held against nothing:\n\n");
    let _ = write!(text, "| row | figure | {peer} | Diwan | floor |\n|---|---|---|---|---|\n");
    each(rows, |figure| figure.spec.bar.is_none(), |row, figure| told_line(&mut text, row, figure));
    text.push_str("\nThe loads:\n\n");
    for row in rows {
        let _ = write!(text, "- `{}`: {}.", row.name, row.about);
        if let Some(floor) = row.floor {
            let _ = write!(text, " Floor: {floor}.");
        }
        match &row.result {
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

fn above(heading: &Heading) -> String {
    let Heading { peer, about_peer, machine, command, repeats, .. } = heading;
    let mut text = String::new();
    let _ = writeln!(text, "Machine: {machine}.\n");
    let _ = writeln!(text, "Command: `{command}`\n");
    let _ = writeln!(
        text,
        "Medians of {repeats} interleaved repeats, least and greatest in brackets. CPU is utime + stime of all processes of a \
         contestant over operations. {peer} {about_peer}."
    );
    if heading.is_short {
        text.push_str("\n**A short run: it shows that the benchmarks work, its figures mean nothing.**\n");
    }
    text
}

fn each(rows: &[Row<'_>], wanted: impl Fn(&Figure) -> bool, mut line: impl FnMut(&Row<'_>, &Figure)) {
    for row in rows {
        let Ok(sheet) = &row.result else { continue };
        sheet.figures.iter().filter(|figure| wanted(figure)).for_each(|figure| line(row, figure));
    }
}

fn held_line(text: &mut String, peer: &str, row: &Row<'_>, figure: &Figure) {
    let [theirs, diwan, floor] = Who::ALL.map(|who| cell(figure, who));
    let [over_peer, over_floor] = [Who::Peer, Who::Floor].map(|who| ratio(figure, who));
    let limit = |limit: Option<Limit>| limit.map_or_else(String::new, |limit| limit.text(peer));
    let _ = writeln!(
        text,
        "| {} | {} ({}) | {theirs} | {diwan} | {floor} | {over_peer} | {over_floor} | {} | {} | {} |",
        row.name,
        figure.spec.name,
        figure.spec.unit,
        limit(figure.spec.bar),
        limit(figure.spec.aim),
        met(figure),
    );
}

fn told_line(text: &mut String, row: &Row<'_>, figure: &Figure) {
    let [theirs, diwan, floor] = Who::ALL.map(|who| cell(figure, who));
    let unit = figure.spec.unit;
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let _ = writeln!(text, "| {} | {}{unit} | {theirs} | {diwan} | {floor} |", row.name, figure.spec.name);
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
pub fn json_lines(heading: &Heading, rows: &[Row<'_>]) -> String {
    let run = json!({
        "run": {
            "command": heading.command,
            "machine": heading.traits,
            "repeats": heading.repeats,
            "short": heading.is_short,
        }
    });
    let mut lines = vec![run];
    each(rows, |_| true, |row, figure| lines.push(figure_json(heading.peer, row, figure)));
    for row in rows {
        if let Err(failure) = &row.result {
            lines.push(json!({ "row": row.name, "failure": failure }));
        }
    }
    lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

fn figure_json(peer: &str, row: &Row<'_>, figure: &Figure) -> Value {
    let spec = &figure.spec;
    let limit = |limit: Option<Limit>| limit.map(|limit| limit.text(peer));
    let keeps = |limit: Option<Limit>| limit.and_then(|limit| figure.keeps(limit));
    let key = peer.to_lowercase();
    json!({
        "row": row.name,
        "figure": spec.name,
        "unit": spec.unit,
        (key.as_str()): figure.values(Who::Peer),
        "diwan": figure.values(Who::Diwan),
        "floor": figure.values(Who::Floor),
        (format!("of_{key}")): figure.ratio(Who::Peer),
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
    use crate::sheet::Spec;

    #[test]
    fn a_figure_is_judged_by_its_medians_and_a_missing_contestant_leaves_it_open() {
        let spec = Spec::held("CPU", "µs/op", Limit::OfPeer(0.1), Limit::AboveFloor(0.7));
        let judged = |peer: &[f64], diwan: &[f64], floor: &[f64]| {
            let mut sheet = Sheet::new(&[spec]);
            for (who, values) in Who::ALL.into_iter().zip([peer, diwan, floor]) {
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

    #[test]
    fn peer_is_called_by_its_name_in_tables_and_lines() {
        let spec = Spec::held("CPU", "µs/op", Limit::OfPeer(0.1), Limit::AtMost(9.0));
        let mut sheet = Sheet::new(&[spec]);
        sheet.add("CPU", Who::Peer, 30.0);
        sheet.add("CPU", Who::Diwan, 2.0);
        let heading = Heading {
            peer: "Kafka",
            about_peer: String::from("4.3"),
            machine: String::from("small"),
            traits: json!({}),
            command: String::from("bench"),
            repeats: 1,
            is_short: false,
        };
        let rows = [
            Row { name: "produce", about: "one message", floor: None, result: Ok(&sheet) },
            Row { name: "fetch", about: "all", floor: None, result: Err(String::from("it ended")) },
        ];
        let text = markdown(&heading, &rows);
        assert!(
            text.contains("| produce | CPU (µs/op) | 30.0 | 2.00 |  | 0.067 |  | ≤ 1/10 of Kafka's |"),
            "{text}"
        );
        assert!(text.contains("- `fetch`: all. **Not measured:** it ended."), "{text}");
        let lines = json_lines(&heading, &rows);
        let line: Value = serde_json::from_str(lines.lines().nth(1).expect("a figure")).expect("JSON");
        assert_eq!((&line["kafka"], &line["bar_met"]), (&json!([30.0]), &json!(true)));
        assert!(line["of_kafka"].is_f64(), "{line}");
    }
}
