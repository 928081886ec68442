//! `fuzz`: feeds targets hostile bytes for a while, from a fixed seed and from a fresh one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tools_fuzz::{Finding, Plan, TARGETS, Target, heap, runner, target};

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// The seed whose inputs are the same in every run.
const FIXED_SEED: u64 = 1;
/// A finding of up to this many bytes is printed.
const PRINTED_BYTES_MAX: usize = 256;

/// Feeds targets hostile bytes, changed from whole ones
///
/// Each target runs its seeds, then inputs from a fixed seed, then inputs from a fresh one. The last line is
/// `N passed, N failed, N skipped`. A target with a planted bug passes when the bug is found.
#[derive(Parser)]
#[command(name = "fuzz")]
struct Args {
    /// Targets, or `all`
    #[arg(default_value = "all")]
    targets: Vec<String>,
    /// How long each target is fed from the fresh seed
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// How many inputs come from the fixed seed
    #[arg(long, value_name = "N", default_value_t = 2000)]
    fixed: u64,
    /// This seed instead of a fresh one: gives the same inputs again
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where inputs that show something are written
    #[arg(long, value_name = "FOLDER", default_value = "fuzz/artifacts")]
    artifacts: PathBuf,
    /// Run this one input
    #[arg(long, value_name = "FILE", conflicts_with = "write_seeds")]
    replay: Option<PathBuf>,
    /// Only write the seeds, a folder for each target
    #[arg(long, value_name = "FOLDER")]
    write_seeds: Option<PathBuf>,
    /// Only list the targets
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            eprintln!("error: {text}");
            ExitCode::from(2)
        }
    }
}

/// `Ok(false)` means that a target failed, which was told.
fn run(args: &Args) -> Result<bool, String> {
    if args.list {
        TARGETS.iter().for_each(|target| println!("{:12} {}", target.name, target.about));
        return Ok(true);
    }
    let targets = chosen(&args.targets)?;
    if let Some(folder) = &args.write_seeds {
        return targets.iter().try_for_each(|target| write_seeds(target, folder)).map(|()| true);
    }
    if let Some(file) = &args.replay {
        let input = fs::read(file).map_err(|error| format!("`{}`: {error}", file.display()))?;
        let [target] = targets.as_slice() else { return Err("`--replay` wants one target".into()) };
        return Ok(replay(target, input));
    }
    let mut failed = 0;
    for target in &targets {
        failed += usize::from(!feed(target, args)?);
    }
    println!("{} passed, {failed} failed, 0 skipped", targets.len() - failed);
    Ok(failed == 0)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Target>, String> {
    if names.iter().any(|name| name == "all") {
        return Ok(TARGETS.iter().collect());
    }
    let unknown = |name: &String| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("there is no target `{name}`; there are: {}", names.join(", "))
    };
    names.iter().map(|name| target::find(name).ok_or_else(|| unknown(name))).collect()
}

/// Whether the target did what is wanted of it.
fn feed(target: &Target, args: &Args) -> Result<bool, String> {
    let started = Instant::now();
    let fresh = args.seed.unwrap_or_else(runner::fresh_seed);
    println!(
        "{:12} {} inputs of seed {FIXED_SEED}, then {} s of seed {fresh}",
        target.name, args.fixed, args.seconds
    );
    let fixed = Plan { seed: FIXED_SEED, inputs: args.fixed, ..Plan::default() };
    let long = Plan { seed: fresh, time: Duration::from_secs(args.seconds), ..Plan::default() };
    let mut report = runner::run(target, &fixed);
    if report.finding.is_none() {
        let more = runner::run(target, &long);
        report = runner::Report { inputs: report.inputs + more.inputs, ..more };
    }
    let done = format!("{} inputs in {:.1} s", report.inputs, started.elapsed().as_secs_f64());
    match (&report.finding, target.planted) {
        (None, false) => println!("{:12} ok: {done}", target.name),
        (None, true) => println!("{:12} FAILED: the planted bug was not found in {done}", target.name),
        (Some(_), true) => println!("{:12} ok: the planted bug was found, {done}", target.name),
        (Some(finding), false) => {
            println!("{:12} FAILED after {done}", target.name);
            tell(target, finding, &args.artifacts)?;
        }
    }
    Ok(report.finding.is_some() == target.planted)
}

fn replay(target: &Target, input: Vec<u8>) -> bool {
    match runner::replay(target, input).finding {
        Some(finding) => println!("{}", finding.what),
        None => println!("nothing is wrong with it"),
    }
    true
}

/// Writes the input down and says how to see it again.
fn tell(target: &Target, finding: &Finding, folder: &Path) -> Result<(), String> {
    for line in finding.what.lines() {
        println!("    {line}");
    }
    if finding.input.len() <= PRINTED_BYTES_MAX {
        let hex: String = finding.input.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("    input: {hex}");
    }
    let file = write(&folder.join(target.name), &finding.input)?;
    println!("    again: cargo run -p tools-fuzz -- {} --replay {}", target.name, file.display());
    Ok(())
}

fn write_seeds(target: &Target, folder: &Path) -> Result<(), String> {
    (target.seeds)().iter().try_for_each(|seed| write(&folder.join(target.name), seed).map(drop))
}

/// Under a name that its content decides.
fn write(folder: &Path, content: &[u8]) -> Result<PathBuf, String> {
    let file = folder.join(format!("{:08x}-{}", crc32c::crc32c(content), content.len()));
    let failed = |error| format!("cannot write `{}`: {error}", file.display());
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(&file, content).map_err(failed)?;
    Ok(file)
}
