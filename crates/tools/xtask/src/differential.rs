//! The differential tests: generated scripts played to a real server and to Diwan, by a program for each service.

use std::path::Path;
use std::time::Duration;

use crate::counting;
use crate::forward::succeeds;
use crate::interop;
use crate::tally::Tally;
use crate::workspace::{Workspace, program};

/// Beside a real ZooKeeper.
pub(crate) const COUNCIL: Suite = Suite { name: "differential", package: "tools-differential" };
/// Beside a real Kafka.
pub(crate) const LOG: Suite = Suite { name: "log-differential", package: "tools-log-differential" };
/// All of them.
pub(crate) const SUITES: [Suite; 2] = [COUNCIL, LOG];
const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// One of them.
pub(crate) struct Suite {
    /// The name by which `--only` and `--require` know it; also the program's.
    pub(crate) name: &'static str,
    package: &'static str,
}

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Options of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

impl Suite {
    pub(crate) fn exists(&self, workspace: &Workspace) -> bool {
        workspace.has_binary(self.package, self.name)
    }

    /// Runs it against the given binary.
    pub(crate) fn run(&self, workspace: &Workspace, diwan: &Path) -> anyhow::Result<Tally> {
        let mut command = program(workspace, "test", self.package, self.name);
        counting::run(self.name, command.arg("--diwan").arg(diwan), DEADLINE)
    }

    /// What is asked for, at our own terminal.
    pub(crate) fn run_alone(&self, workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
        let diwan = interop::built(workspace, "diwan", "diwan")?;
        let mut command = program(workspace, "test", self.package, self.name);
        succeeds(command.arg("--diwan").arg(diwan).args(&args.rest))
    }
}
