//! The report of the rows, as `tools_lab_report::sheet` writes it.

use tools_lab_report::sheet::{self, Heading};

use super::{Bench, Failure, PEER, Row, Sheet, Who};

/// What a run found: each row with its figures, or why there are none.
pub type Results = Vec<(&'static Row, Result<Sheet, Failure>)>;

/// The report as markdown.
#[must_use]
pub fn markdown(bench: &Bench, results: &Results) -> String {
    sheet::markdown(&heading(bench), &rows(results))
}

/// The report as lines of JSON.
#[must_use]
pub fn json_lines(bench: &Bench, results: &Results) -> String {
    sheet::json_lines(&heading(bench), &rows(results))
}

fn heading(bench: &Bench) -> Heading {
    let about_peer = match bench.has(Who::Peer) {
        true => "3.9.5 with a heap of 2 GB, warmed up",
        false => "took no part",
    };
    let mut command = String::from("cargo run --release -p tools-lab --bin bench");
    if !bench.options.arguments.is_empty() {
        command += &format!(" -- {}", bench.options.arguments);
    }
    Heading {
        peer: PEER,
        about_peer: about_peer.to_owned(),
        machine: bench.machine.to_string(),
        traits: bench.machine.json(),
        command,
        repeats: bench.options.repeats,
        is_short: bench.options.scale.short,
    }
}

fn rows(results: &Results) -> Vec<sheet::Row<'_>> {
    results.iter().map(|(row, result)| told(row, result)).collect()
}

fn told<'r>(row: &'r Row, result: &'r Result<Sheet, Failure>) -> sheet::Row<'r> {
    let result = result.as_ref().map_err(ToString::to_string);
    sheet::Row { name: row.name, about: row.about, floor: row.floor, result }
}
