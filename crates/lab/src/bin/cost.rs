//! `cost`: measures what things cost on this machine, and predicts how fast ensembles would be that are not here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lab::cost::{self, POINTS, Recorded, machine, profile, tables};
use lab::peer::diwan;
use sim::cost::{Pace, Profile, Setup, predict};

const HELP: &str = "\
usage: cost COMMAND [--OPTION VALUE ...]

  predict    one setup: --members 3 --observers 0 --clients 100 --outstanding 10 --writes 1000 (of a thousand)
             --value 1024 --rate N (open pace, requests a second) --shared yes (all on one host)
             --ms 500 (simulated) --seed 1
  published  the shapes of the published experiments: --only Z1|Z4|Z6|C1|C4
  compare    predictions beside what was measured here, with their errors
  measure    real processes on this machine: --diwan PATH --data DIRECTORY --seconds 3 (each load)
             writes MEASURED, and what the disk and threads take into PROFILE
  fit        prices from MEASURED into PROFILE: --rounds 6

  watches    the price of a watch event, from real processes, into PROFILE: --diwan PATH --data DIRECTORY
             --seconds 3 (each crowd)

  --profile NAME|FILE   whose hardware (this-machine); `paper-2010`, `modern`, or a file
  --folder DIRECTORY    where PROFILE, this-machine.toml, and MEASURED, this-machine.json, are (crates/sim/costs)";

struct Options(BTreeMap<String, String>);

impl Options {
    fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut options, mut words) = (BTreeMap::new(), words);
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").ok_or_else(|| format!("`{word}` is no option"))?;
            let value = words.next().ok_or_else(|| format!("`{word}` wants a value"))?;
            options.insert(name.to_owned(), value);
        }
        Ok(Self(options))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn number(&self, name: &str, otherwise: u64) -> Result<u64, String> {
        match self.text(name) {
            Some(text) => text.parse().map_err(|_| format!("`--{name} {text}`: not a number")),
            None => Ok(otherwise),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(self.text("folder").unwrap_or("crates/sim/costs")).join(name)
    }

    /// The profile that is asked for.
    fn profile(&self) -> Result<Profile, String> {
        let name = self.text("profile").unwrap_or("this-machine");
        let path = Path::new(name);
        if !path.is_file() {
            return Profile::named(name).map_err(|error| error.to_string());
        }
        parse(path)
    }
}

fn parse(path: &Path) -> Result<Profile, String> {
    Profile::parse(&read(path)?).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_else(|| String::from("--help"));
    if ["--help", "-h", "help"].contains(&command.as_str()) {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let done = Options::read(words).and_then(|options| match command.as_str() {
        "predict" => one(&options),
        "published" => {
            print!("{}", tables::published(&options.profile()?, options.text("only")));
            Ok(())
        }
        "compare" => compare(&options),
        "measure" => on_members(&options, measure),
        "fit" => fit(&options),
        "watches" => on_members(&options, watches),
        _ => Err(format!("there is no command `{command}`\n{HELP}")),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn one(options: &Options) -> Result<(), String> {
    let number = |name, otherwise| options.number(name, otherwise);
    let outstanding = number("outstanding", 10)? as usize;
    let mut setup = Setup::new(
        number("members", 3)?,
        number("clients", 100)? as usize,
        outstanding,
        number("writes", 1000)? as u32,
    );
    setup.observers = number("observers", 0)?;
    setup.value_bytes = number("value", 1024)? as usize;
    setup.measured_ms = number("ms", setup.measured_ms)?;
    setup.seed = number("seed", 1)?;
    if let per_second @ 1.. = number("rate", 0)? {
        setup.pace = Pace::Open { per_second: per_second as f64 };
    }
    if options.text("shared") == Some("yes") {
        setup = setup.shared();
    }
    let began = Instant::now();
    print!("{}", tables::one(&predict(&options.profile()?, &setup)));
    eprintln!("took {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}

fn recorded(options: &Options) -> Result<Recorded, String> {
    let path = options.file("this-machine.json");
    Recorded::parse(&read(&path)?).ok_or_else(|| format!("`{}` is of another form", path.display()))
}

fn compare(options: &Options) -> Result<(), String> {
    print!("{}", tables::comparison(&options.profile()?, POINTS, &recorded(options)?));
    Ok(())
}

/// With a program, and a folder that is gone afterwards.
fn on_members(
    options: &Options,
    measure: impl Fn(&Path, &Path, &Options) -> Result<(), String>,
) -> Result<(), String> {
    let diwan = match options.text("diwan") {
        Some(path) => path.into(),
        None => diwan::find().map_err(|error| error.to_string())?,
    };
    let parent = options.text("data").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = parent.join(format!("cost-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let measured = measure(&folder, &diwan, options);
    // What cannot be removed stays in a folder for temporary files.
    let _ = fs::remove_dir_all(&folder);
    measured
}

fn measure(folder: &Path, diwan: &Path, options: &Options) -> Result<(), String> {
    let path = options.file("this-machine.toml");
    let mut this = parse(&path)?;
    this.disk = machine::disk(folder).map_err(|error| error.to_string())?;
    let wakes = machine::wake_latency_us().map_err(|error| error.to_string())?;
    this.wake_latency_ns = (wakes * 1000.0) as u64;
    this.cores = std::thread::available_parallelism().map_or(1, usize::from);
    write(&path, &profile::text(&this))?;
    let each = Duration::from_secs(options.number("seconds", 3)?);
    let told = |point: &cost::Point, measured: &cost::Measured| {
        let rate = measured.per_second;
        eprintln!(
            "{}: {rate:.0} op/s, {:.2} µs, p50 {:.3} ms",
            point.name(),
            measured.cpu_us,
            measured.p50_ms
        );
    };
    let recorded = cost::measure(diwan, &folder.join("members"), POINTS, each, told);
    write(&options.file("this-machine.json"), &recorded.map_err(|error| error.to_string())?.text())
}

fn watches(folder: &Path, diwan: &Path, options: &Options) -> Result<(), String> {
    let path = options.file("this-machine.toml");
    let each_ms = 1000 * options.number("seconds", 3)?;
    let priced = cost::price_events(diwan, &folder.join("members"), &parse(&path)?, each_ms, |watched| {
        eprintln!(
            "{} servers, {} clients: {:.0} ns an event, of which {:.0} for the event alone",
            watched.servers,
            watched.clients,
            watched.measured_ns,
            watched.price_ns()
        );
    });
    write(&path, &profile::text(&priced.map_err(|error| error.to_string())?))
}

fn fit(options: &Options) -> Result<(), String> {
    let path = options.file("this-machine.toml");
    let (this, recorded) = (parse(&path)?, recorded(options)?);
    let rounds = options.number("rounds", 6)? as usize;
    let fitted = cost::fit(&this, POINTS, &recorded, rounds, |text| eprintln!("{text}"));
    write(&path, &profile::text(&fitted))
}
