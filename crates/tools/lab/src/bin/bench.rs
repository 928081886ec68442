//! `bench`: measures Diwan beside a real Apache ZooKeeper and a bare floor, and prints a report.

use std::env;
use std::fs;
use std::process::ExitCode;

use tools_lab::bench::floor::{self, Kind};
use tools_lab::bench::options::USAGE;
use tools_lab::bench::report::{self, Results};
use tools_lab::bench::{Bench, Options, ROWS};
use tools_testbed::PeerError;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [floor, kind, address] = arguments.as_slice()
        && floor == "floor"
    {
        return bare_server(kind, address);
    }
    match Options::read(arguments.into_iter()) {
        Err(text) => {
            eprintln!("{text}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Ok(options) if options.help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(options) if options.list => {
            ROWS.iter().for_each(|row| println!("{:14} {}", row.name, row.about));
            ExitCode::SUCCESS
        }
        Ok(options) => measure(options),
    }
}

/// The bare server, which a run starts as a process of its own.
fn bare_server(kind: &str, address: &str) -> ExitCode {
    let (Some(kind), Ok(address)) = (Kind::of(kind), address.parse()) else {
        eprintln!("usage: bench floor echo|broadcast ADDRESS");
        return ExitCode::from(2);
    };
    match floor::run(kind, address, |address| println!("{address}")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::too_many_lines, reason = "the program from its options to its exit status")]
fn measure(options: Options) -> ExitCode {
    if let Err(error) = tools_process::kill_groups_on_signal() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let (rows, json, markdown) = (options.rows.clone(), options.json.clone(), options.markdown.clone());
    let started = env::current_exe()
        .map_err(|source| PeerError::Io { what: "this program".into(), source })
        .and_then(|program| Bench::new(options, program));
    let bench = match started {
        Ok(bench) => bench,
        Err(PeerError::Missing(what)) => {
            eprintln!(
                "{what}\nhint: `--diwan` names a binary, `--zookeeper no` and `--diwan no` leave one out"
            );
            return ExitCode::from(77);
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut results: Results = Vec::new();
    for row in rows {
        eprintln!("{}: {}", row.name, row.about);
        let result = bench.measure(row);
        if let Err(failure) = &result {
            eprintln!("  not measured: {failure}");
        }
        results.push((row, result));
    }
    let report = report::markdown(&bench, &results);
    println!("{report}");
    for (path, text) in [(markdown, report), (json, report::json_lines(&bench, &results))] {
        if let Some(path) = path
            && let Err(error) = fs::write(&path, text)
        {
            eprintln!("`{}`: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if results.iter().all(|(_, result)| result.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
