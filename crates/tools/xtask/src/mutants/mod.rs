//! Checks that the tests find bugs. Bugs are planted one at a time in a copy of the workspace; each must be found by
//! the simulator, or by the test, that it names.

mod mutant;
mod scratch;
mod table;
mod torture;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::tally::Tally;
use crate::workspace::Workspace;
use mutant::Mutant;
use scratch::Scratch;
use torture::{Failure, Torture, told};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these bugs: their numbers, or words of their names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// How many seeds a bug may survive at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    seeds: u64,
    /// Only list the bugs
    #[arg(long)]
    list: bool,
    /// Write what was found into the table of this Markdown file
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// The result of a planted bug.
struct Trial {
    /// Nothing if it survived.
    failure: Option<Failure>,
    /// How many seeds it had to survive.
    seeds: u64,
    seconds: f64,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let all = mutant::all(&workspace.root)?;
    let chosen = chosen(&all, &args.names)?;
    if args.list {
        chosen.iter().for_each(|mutant| println!("{}: {}", mutant.name, mutant.title));
        return Ok(true);
    }
    let scratch = Scratch::of(workspace)?;
    let unchanged = unchanged(&scratch, &chosen)?;
    let mut tally = Tally::default();
    for mutant in chosen {
        println!("{}: {}", mutant.name, mutant.title);
        match try_one(&scratch, mutant, &unchanged, args.seeds) {
            Ok(trial) => {
                tell(mutant, &trial, &mut tally);
                if let Some(file) = &args.table {
                    // At once: all of them take hours.
                    table::write(file, &all, mutant, &trial)?;
                }
            }
            Err(error) => {
                println!("  {error:#}");
                tally.fail(format!("{}: {error:#}", mutant.name));
            }
        }
    }
    tally.print();
    Ok(tally.failed == 0)
}

fn chosen<'a>(all: &'a [Mutant], names: &[String]) -> anyhow::Result<Vec<&'a Mutant>> {
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|mutant| mutant.is_called(name))) {
        bail!("there is no planted bug `{unknown}`; `--list` tells them");
    }
    let is_chosen = |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| mutant.is_called(name));
    Ok(all.iter().filter(is_chosen).collect())
}

/// The programs that are needed, built without any bug: what fails there as well is none that was planted.
fn unchanged(scratch: &Scratch, chosen: &[&Mutant]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut programs = BTreeMap::new();
    for mutant in chosen {
        let name = program_of(&mutant.torture);
        if programs.contains_key(name) {
            continue;
        }
        println!("building `{name}` without any bug");
        let kept = scratch.unchanged.join(name.replace('/', "-"));
        std::fs::copy(mutant.torture.build(scratch)?, &kept)
            .with_context(|| format!("cannot keep `{}`", kept.display()))?;
        programs.insert(name.to_owned(), kept);
    }
    Ok(programs)
}

fn program_of(torture: &Torture) -> &str {
    match torture {
        Torture::Sim => "sim",
        Torture::SimLog => "sim-log",
        Torture::SimObjects | Torture::SimMembers => "sim-objects",
        Torture::Test { program, .. } => program,
        Torture::Unit { package, .. } => package,
    }
}

fn try_one(
    scratch: &Scratch,
    mutant: &Mutant,
    unchanged: &BTreeMap<String, PathBuf>,
    seeds: u64,
) -> anyhow::Result<Trial> {
    let began = Instant::now();
    let planted = scratch.plant(mutant).and_then(|()| mutant.torture.build(scratch));
    let failure = planted.and_then(|program| {
        let unchanged = unchanged.get(program_of(&mutant.torture)).map_or(Path::new(""), PathBuf::as_path);
        mutant.torture.first_failure(&program, unchanged, seeds)
    });
    // Also when it does not build: the next one must find the source as it is.
    scratch.weed(mutant)?;
    Ok(Trial { failure: failure?, seeds, seconds: began.elapsed().as_secs_f64() })
}

fn tell(mutant: &Mutant, trial: &Trial, tally: &mut Tally) {
    let seconds = trial.seconds;
    let Some(failure) = &trial.failure else {
        println!("  NOT FOUND in {} seeds, {seconds:.0} s", trial.seeds);
        return tally.fail(format!("{}: not found in {} seeds", mutant.name, trial.seeds));
    };
    let (found, at_most) = (told(&failure.findings), if failure.exact { "" } else { "at most " });
    println!("  found by {found}, with {at_most}{} seeds, {seconds:.0} s: {}", failure.seeds, failure.words);
    if !failure.findings.iter().any(|finding| mutant.expected.contains(finding)) {
        println!("  but not by what should have: {}", told(&mutant.expected));
    }
    tally.passed += 1;
}
