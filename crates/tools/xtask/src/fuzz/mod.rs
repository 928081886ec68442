//! `cargo xtask fuzz`: the targets of `crates/tools/fuzz`, run by libFuzzer if there is a nightly toolchain, otherwise
//! by the driver that comes with them. The test command always takes the latter, for a few seconds.

mod guided;

use std::time::Duration;

use anyhow::bail;

use crate::counting;
use crate::tally::Tally;
use crate::workspace::{Workspace, program};

/// The name by which `--only` and `--require` know it; also the package's and the program's.
pub(crate) const PACKAGE: &str = "tools-fuzz";
pub(crate) const NAME: &str = "fuzz";
/// How long each target is fed within the test command, besides its fixed inputs.
const BRIEF_SECONDS: u64 = 1;
/// For building, and for a target's fixed inputs on a loaded machine.
const BESIDES: Duration = Duration::from_secs(30 * 60);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Targets, or `all`; `--list` lists them
    #[arg(default_value = "all")]
    targets: Vec<String>,
    /// How long each target is fed
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Change inputs blindly, on the stable toolchain, even where libFuzzer could guide them
    #[arg(long)]
    blind: bool,
    /// With `--blind`: this seed instead of a fresh one
    #[arg(long, value_name = "N", requires = "blind")]
    seed: Option<u64>,
    /// Only list the targets
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    if args.list {
        let status = program(workspace, "test", PACKAGE, NAME).arg("--list").status()?;
        return Ok(status.success());
    }
    let targets = chosen(workspace, &args.targets)?;
    if !args.blind && guided::has_nightly() {
        let tally = guided::run(workspace, &targets, args.seconds)?;
        tally.print();
        return Ok(tally.failed == 0);
    }
    if !args.blind {
        eprintln!("there is no nightly toolchain: inputs are changed blindly");
        eprintln!("hint: `rustup toolchain install nightly` lets libFuzzer guide them");
    }
    // It prints its own counts.
    Ok(blind(workspace, &targets, args.seconds, args.seed)?.failed == 0)
}

/// Every target for a few seconds.
pub(crate) fn run_briefly(workspace: &Workspace) -> anyhow::Result<Tally> {
    blind(workspace, &names(workspace)?, BRIEF_SECONDS, None)
}

fn blind(
    workspace: &Workspace,
    targets: &[String],
    seconds: u64,
    seed: Option<u64>,
) -> anyhow::Result<Tally> {
    let mut command = program(workspace, "test", PACKAGE, NAME);
    command.args(["--seconds", &seconds.to_string()]).args(targets);
    if let Some(seed) = seed {
        command.args(["--seed", &seed.to_string()]);
    }
    let fed = Duration::from_secs(seconds) * u32::try_from(targets.len())?;
    counting::run(NAME, &mut command, BESIDES + fed)
}

fn chosen(workspace: &Workspace, wanted: &[String]) -> anyhow::Result<Vec<String>> {
    let known = names(workspace)?;
    if wanted.iter().any(|name| name == "all") {
        return Ok(known);
    }
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        bail!("there is no target `{unknown}`; there are: {}", known.join(", "));
    }
    Ok(wanted.to_vec())
}

/// The targets, as the package lists them: the canary last.
fn names(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let output = program(workspace, "test", PACKAGE, NAME)
        .arg("--list")
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("the fuzz targets cannot be listed ({})", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}
