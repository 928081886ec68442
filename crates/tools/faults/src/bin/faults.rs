//! `faults`: ensembles of real processes under faults, and clients that judge what they see.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use tools_faults::HISTORY;
use tools_faults::scenario::{ALL, Scenario, Setting};
use tools_testbed::Failure;
use tools_testbed::peer::diwan;

const USAGE: &str = "\
faults [SCENARIO...]: ensembles of real servers are killed, stopped, wiped and cut off while clients judge what they see

  --long            all scenarios, also those that take longer
  --rounds N        how often each fault is repeated (default 1)
  --seed N          what `chaos` draws its faults from (default 1); each round takes the next
  --encrypted       members speak TLS to each other
  --previous PATH   an earlier build of the servers, which `upgrade` starts from
  --next PATH       a build whose log says more, which `upgrade-level` goes to
  --diwan PATH      the binary to test (default: the one beside this program)
  --folder PATH     where the servers' files go (default: a temporary folder, removed unless something failed)
  --history FOLDER  also keep there what clients did to nodes that all write, for other checkers (see `porcupine`)
  --log-level LEVEL how much the servers log (default info)
  --list            name the scenarios and play none
  --help            print this

The last line counts. Exit status 0: all passed; 1: one failed; 2: wrong usage; 77: no server to test here.";

struct Options {
    names: Vec<String>,
    long: bool,
    rounds: usize,
    seed: u64,
    encrypted: bool,
    previous: Option<PathBuf>,
    next: Option<PathBuf>,
    diwan: Option<PathBuf>,
    folder: Option<PathBuf>,
    history: Option<PathBuf>,
    level: String,
}

fn main() -> ExitCode {
    if let Err(error) = tools_process::kill_groups_on_signal() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|argument| argument == "--list") {
        for Scenario { name, what, short, .. } in ALL {
            println!("{name:20} {what}{}", if *short { "" } else { " (long)" });
        }
        return ExitCode::SUCCESS;
    }
    let options = match options(arguments.into_iter()) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let diwan = match options.diwan.clone().map_or_else(diwan::find, Ok) {
        Ok(diwan) => diwan,
        Err(error) => {
            println!("skipped: {error}\n0 passed, 0 failed, 1 skipped");
            return ExitCode::from(77);
        }
    };
    play_all(&options, &diwan)
}

#[expect(clippy::too_many_lines, reason = "each scenario with all that is told of it")]
fn play_all(options: &Options, diwan: &Path) -> ExitCode {
    let folder = options
        .folder
        .clone()
        .unwrap_or_else(|| env::temp_dir().join(format!("diwan-faults-{}", std::process::id())));
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for scenario in ALL.iter().filter(|scenario| options.chooses(scenario)) {
        let setting = Setting {
            diwan: diwan.to_owned(),
            folder: folder.join(scenario.name),
            level: options.level.clone(),
            rounds: options.rounds,
            seed: options.seed,
            encrypted: options.encrypted,
            previous: options.previous.clone(),
            next: options.next.clone(),
        };
        let began = Instant::now();
        let outcome = (scenario.run)(&setting);
        let seconds = began.elapsed().as_secs_f64();
        let outcome = outcome.and_then(|notes| keep_history(&setting, scenario, options).map(|()| notes));
        match outcome {
            Ok(notes) => {
                passed += 1;
                println!("ok {} ({seconds:.1} s): {}", scenario.name, notes.join("; "));
                if options.folder.is_none() {
                    // Of use only to whoever asked for it, or to find out why something failed.
                    let _ = std::fs::remove_dir_all(&setting.folder);
                }
            }
            Err(Failure::Missing(what)) => {
                skipped += 1;
                println!("skip {} - {what}", scenario.name);
            }
            Err(failure) => {
                failed += 1;
                println!("not ok {} ({seconds:.1} s)", scenario.name);
                failure.to_string().lines().for_each(|line| println!("    {line}"));
                println!("    the servers' files: {}", setting.folder.display());
            }
        }
    }
    if failed == 0 && options.folder.is_none() {
        let _ = std::fs::remove_dir_all(&folder);
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A scenario that has no such clients has no history.
fn keep_history(setting: &Setting, scenario: &Scenario, options: &Options) -> Result<(), Failure> {
    let (Some(folder), file) = (&options.history, setting.folder.join(HISTORY)) else { return Ok(()) };
    if !file.exists() {
        return Ok(());
    }
    let kept = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::copy(file, folder.join(format!("{}.jsonl", scenario.name))));
    kept.map(drop).map_err(Failure::io("the history of what clients did"))
}

impl Options {
    fn chooses(&self, scenario: &Scenario) -> bool {
        if self.names.is_empty() {
            return self.long || scenario.short;
        }
        self.names.iter().any(|name| name == scenario.name)
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        names: Vec::new(),
        long: false,
        rounds: 1,
        seed: 1,
        encrypted: false,
        previous: None,
        next: None,
        diwan: None,
        folder: None,
        history: None,
        level: String::from("info"),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` wants a value"));
        match argument.as_str() {
            "--long" => options.long = true,
            "--rounds" => options.rounds = number(&value()?)?,
            "--seed" => options.seed = number(&value()?)?,
            "--encrypted" => options.encrypted = true,
            "--previous" => options.previous = Some(value()?.into()),
            "--next" => options.next = Some(value()?.into()),
            "--diwan" => options.diwan = Some(value()?.into()),
            "--folder" => options.folder = Some(value()?.into()),
            "--history" => options.history = Some(value()?.into()),
            "--log-level" => options.level = value()?,
            name if ALL.iter().any(|scenario| scenario.name == name) => options.names.push(argument),
            _ => return Err(format!("there is no scenario and no option `{argument}`")),
        }
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}
