//! `diwan lab`: the published experiments, side by side with the real peers. Here are the command line, the progress bar
//! and what is printed; all else is the library's. A program of its own, which `diwan lab` runs: a server carries no
//! experiments, peers and faults.

mod admission;
mod arguments;
mod command;
mod progress;

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use council_client::load::Patience;
use tools_lab::conduct;
use tools_lab::experiment::{self, Experiment};
use tools_lab_report::compare::{self, Side};
use tools_lab_report::record::Run;
use tools_lab_report::report;

use arguments::{CompareArguments, LabArguments, LabCommand, RunArguments};
use progress::Bar;

/// A figure moved beyond noise, or could not be measured.
const MOVED: u8 = 1;

fn main() -> ExitCode {
    match run(LabArguments::parse().command, &mut io::stdout()) {
        Ok(code) => code,
        // The reader of the pipe has closed it.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: LabCommand, out: &mut impl Write) -> io::Result<ExitCode> {
    match command {
        LabCommand::List => list(out),
        LabCommand::Run(arguments) => measure(*arguments, out),
        LabCommand::Report { folder } => draw(&folder, out),
        LabCommand::Floor { address, kind } => {
            let listening = |address| println!("{address}");
            match kind.as_str() {
                "http" => tools_lab::measure::serve_http_floor(address, listening)?,
                "resting" => tools_lab::log::serve_resting_floor(address, listening)?,
                _ => tools_lab::log::serve_floor(address, listening)?,
            }
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Compare(arguments) => hold(&arguments, out),
    }
}

fn list(out: &mut impl Write) -> io::Result<ExitCode> {
    for Experiment { about, .. } in experiment::ALL {
        writeln!(out, "{:<16}  {}", about.id, about.title.en)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: RunArguments, out: &mut impl Write) -> io::Result<ExitCode> {
    let options = match arguments.options() {
        Ok(options) => options,
        Err(message) => return refuse(&message),
    };
    if let Err(problem) = admission::check(&options.sources.addresses, options.patience) {
        return refuse(&problem.to_string());
    }
    let patience = Patience::default();
    // The first signal ends the run with what was measured, the second ends the program.
    tools_process::stop_then_kill_groups_on_signal(patience.stop.clone()).map_err(io::Error::other)?;
    let mut bar = Bar::new();
    let run = conduct::run(&options, &patience, &mut |news| bar.tell(&news));
    bar.finish();
    let run = match run {
        Ok(run) => run,
        Err(error) => return refuse(&error.to_string()),
    };
    let stopped = patience.stop.load(std::sync::atomic::Ordering::Relaxed);
    if stopped {
        writeln!(out, "stopped; `--resume` goes on from here")?;
    }
    let drawn = write_report(&run, out)?;
    let failed = bar.failures();
    if failed > 0 {
        eprintln!("error: {failed} points could not be measured: see above, or the report");
    }
    Ok(match stopped || failed > 0 || !drawn {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn draw(folder: &Path, out: &mut impl Write) -> io::Result<ExitCode> {
    let run = match Run::read(folder) {
        Ok(run) => run,
        Err(error) => return refuse(&error.to_string()),
    };
    Ok(if write_report(&run, out)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the report beside the run; whether it could be.
fn write_report(run: &Run, out: &mut impl Write) -> io::Result<bool> {
    match report::write(run, &experiment::CATALOGUE) {
        Ok(files) => {
            for file in files {
                writeln!(out, "{}", file.display())?;
            }
            Ok(true)
        }
        Err(error) => {
            eprintln!("error: the report cannot be written: {error}");
            Ok(false)
        }
    }
}

fn hold(arguments: &CompareArguments, out: &mut impl Write) -> io::Result<ExitCode> {
    let sides = Side::read(&arguments.a).and_then(|a| Ok((a, Side::read(&arguments.b)?)));
    let (a, b) = match sides {
        Ok(sides) => sides,
        Err(error) => return refuse(&error.to_string()),
    };
    let verdict = compare::compare(&a, &b, arguments.noise / 100.0);
    if verdict.changes.is_empty() {
        return refuse(
            "the two have no point in common; hint: of two systems of one run both are named, as in `run:other run:diwan`",
        );
    }
    write!(out, "{}", compare::text(&verdict))?;
    Ok(if verdict.has_moved() { ExitCode::from(MOVED) } else { ExitCode::SUCCESS })
}

/// A message with its hint on a line of its own.
fn refuse(message: &str) -> io::Result<ExitCode> {
    eprintln!("error: {}", message.replace("; hint: ", "\nhint: "));
    Ok(ExitCode::from(2))
}
