//! Every benchmark runs small, against the servers that are available: a benchmark that is never run stops working.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
use std::process::Command;

use serde_json::Value;
use tools_lab::bench::ROWS;
use tools_testbed::peer::default_cache;
use tools_testbed::peer::diwan;
use tools_testbed::peer::zookeeper::Distribution;

/// Runs the benchmark program; gives its lines of JSON.
fn bench(arguments: &[&str]) -> Vec<Value> {
    let json =
        std::env::temp_dir().join(format!("bench-{}-{}.json", std::process::id(), arguments.join("-")));
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["--short", "--json"])
        .arg(&json)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}", output.status);
    let text = std::fs::read_to_string(&json).unwrap();
    std::fs::remove_file(json).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every figure of these rows has a value for `contestant`.
fn assert_measured(lines: &[Value], contestant: &str, rows: &[&str]) {
    for row in ROWS.iter().filter(|row| rows.contains(&row.name)) {
        for figure in row.figures {
            let line = lines
                .iter()
                .find(|line| line["row"] == row.name && line["figure"] == figure.name)
                .unwrap_or_else(|| panic!("no line for {} {}", row.name, figure.name));
            let values = line[contestant].as_array().unwrap();
            assert!(!values.is_empty(), "{} {}: nothing of {contestant}", row.name, figure.name);
        }
    }
}

#[test]
fn the_floor_needs_no_server() {
    let lines = bench(&["--zookeeper", "no", "--diwan", "no", "--only", "reads-20x50,watchers,mix"]);
    for (row, figure) in [("reads-20x50", "rate"), ("watchers", "until the last is told"), ("mix", "p99.9")] {
        let line = lines.iter().find(|line| line["row"] == row && line["figure"] == figure).unwrap();
        assert!(line["floor"][0].as_f64().is_some_and(|value| value > 0.0), "{line}");
        assert!(line["bar_met"].is_null(), "nothing was there to hold against the bar: {line}");
    }
}

#[test]
fn every_row_measures_diwan() {
    // Built by the tests of the whole workspace; absent when only this crate is tested.
    if diwan::find().is_ok() {
        let rows: Vec<&str> = ROWS.iter().filter(|row| !row.large).map(|row| row.name).collect();
        assert_measured(&bench(&["--zookeeper", "no"]), "diwan", &rows);
    }
}

#[test]
fn rows_measure_zookeeper() {
    // Fetching it is the differential test's business; two rows, because each starts a JVM or more.
    if Distribution::fetched(&default_cache()).is_some() {
        let rows = ["reads-20x50", "disk"];
        assert_measured(&bench(&["--diwan", "no", "--only", &rows.join(",")]), "zookeeper", &rows);
    }
}
