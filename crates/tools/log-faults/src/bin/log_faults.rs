//! `log-faults`: brokers in real processes under faults, and clients that judge what they see.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tools_log_faults::scenario::{ALL, Scenario, Setting};
use tools_testbed::Failure;
use tools_testbed::peer::diwan;

/// Three brokers are killed, stopped and started while clients write, read and commit offsets, and judge what they see.
///
/// The last line counts. Exit status 0: all passed; 1: one failed; 2: wrong usage; 77: no broker to test here.
#[derive(Parser)]
#[command(name = "log-faults")]
struct Options {
    /// Scenarios to play (default: the short ones)
    #[arg(value_parser = scenario)]
    scenarios: Vec<&'static str>,
    /// All scenarios, also those that take longer
    #[arg(long)]
    long: bool,
    /// How often each fault is repeated
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// What `chaos` draws its faults from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The binary to test (default: the one beside this program)
    #[arg(long)]
    diwan: Option<PathBuf>,
    /// Where the brokers' files go (default: a temporary folder, removed unless something failed)
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Name the scenarios and play none
    #[arg(long)]
    list: bool,
}

fn scenario(name: &str) -> Result<&'static str, String> {
    let known = ALL.iter().find(|scenario| scenario.name == name);
    known.map(|scenario| scenario.name).ok_or_else(|| String::from("there is no such scenario: see --list"))
}

fn main() -> ExitCode {
    if let Err(error) = tools_process::kill_groups_on_signal() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let options = Options::parse();
    if options.list {
        for Scenario { name, what, short, .. } in ALL {
            println!("{name:20} {what}{}", if *short { "" } else { " (long)" });
        }
        return ExitCode::SUCCESS;
    }
    match options.diwan.clone().map_or_else(diwan::find, Ok) {
        Ok(diwan) => play_all(&options, &diwan),
        Err(error) => {
            println!("skipped: {error}\n0 passed, 0 failed, 1 skipped");
            ExitCode::from(77)
        }
    }
}

fn play_all(options: &Options, diwan: &Path) -> ExitCode {
    let temporary = || std::env::temp_dir().join(format!("diwan-log-faults-{}", std::process::id()));
    let folder = options.folder.clone().unwrap_or_else(temporary);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for scenario in ALL.iter().filter(|scenario| options.chooses(scenario)) {
        let setting = Setting {
            diwan: diwan.to_owned(),
            folder: folder.join(scenario.name),
            rounds: options.rounds.max(1),
            seed: options.seed,
        };
        match play(scenario, &setting) {
            Some(true) => passed += 1,
            Some(false) => failed += 1,
            None => skipped += 1,
        }
    }
    if failed == 0 && options.folder.is_none() {
        let _ = std::fs::remove_dir_all(&folder);
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays one, and tells of it. Gives whether it passed; nothing if this machine lacks what it needs.
fn play(scenario: &Scenario, setting: &Setting) -> Option<bool> {
    let began = Instant::now();
    let outcome: Result<Vec<String>, Failure> = (scenario.run)(setting);
    let seconds = began.elapsed().as_secs_f64();
    match &outcome {
        Ok(notes) => println!("ok {} ({seconds:.1} s): {}", scenario.name, notes.join("; ")),
        Err(Failure::Missing(what)) => {
            println!("skipped {}: {what}", scenario.name);
            return None;
        }
        Err(failure) => {
            println!("not ok {} ({seconds:.1} s)", scenario.name);
            failure.to_string().lines().for_each(|line| println!("    {line}"));
            println!("    the brokers' files: {}", setting.folder.display());
        }
    }
    Some(outcome.is_ok())
}

impl Options {
    fn chooses(&self, scenario: &Scenario) -> bool {
        if self.scenarios.is_empty() {
            return self.long || scenario.short;
        }
        self.scenarios.contains(&scenario.name)
    }
}
