//! Brokers in real processes under faults, played by the program `log-faults`.

use std::path::Path;
use std::time::Duration;

use crate::counting;
use crate::interop;
use crate::tally::Tally;
use crate::workspace::{Workspace, program};

/// The name by which `--only` and `--require` know it; also the program's.
pub(crate) const NAME: &str = "log-faults";
const PACKAGE: &str = "tools-log-faults";
/// The short scenarios take a tenth of this.
const DEADLINE: Duration = Duration::from_secs(10 * 60);

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Scenarios and options of the program `log-faults`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// The short scenarios against the given binary.
pub(crate) fn run(workspace: &Workspace, diwan: &Path) -> anyhow::Result<Tally> {
    let mut command = program(workspace, "test", PACKAGE, NAME);
    counting::run(NAME, command.arg("--diwan").arg(diwan), DEADLINE)
}

/// What is asked for, at our own terminal.
pub(crate) fn run_alone(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let mut command = program(workspace, "test", PACKAGE, NAME);
    let asks = ["--help", "-h", "--list"];
    if !args.rest.iter().any(|word| asks.contains(&word.as_str())) {
        command.arg("--diwan").arg(interop::built(workspace, "diwan", "diwan")?);
    }
    crate::forward::succeeds(command.args(&args.rest))
}
