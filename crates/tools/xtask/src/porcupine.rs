//! Histories of clients of real ensembles, judged by a checker for linearizability that is not ours.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::counting;
use crate::tally::Tally;
use crate::workspace::Workspace;

const NAME: &str = "porcupine";
/// The first build downloads the checker.
const DEADLINE: Duration = Duration::from_secs(10 * 60);

/// An empty folder for histories.
pub(crate) fn folder(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let folder = workspace.target.join(NAME).join("histories");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("cannot remove old histories")?;
    }
    std::fs::create_dir_all(&folder).context("cannot make a folder for histories")?;
    Ok(folder)
}

/// Judges all histories in a folder; none is no failure.
pub(crate) fn judge(workspace: &Workspace, histories: &Path) -> anyhow::Result<Tally> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(histories).context("cannot list the histories")? {
        files.push(entry.context("cannot list the histories")?.path());
    }
    files.sort();
    if files.is_empty() {
        return Ok(Tally::default());
    }
    let is_go_there = Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !is_go_there.is_ok_and(|status| status.success()) {
        let mut tally = Tally::default();
        tally.skip(format!("{NAME}: go is missing"));
        return Ok(tally);
    }
    let program = workspace.target.join(NAME).join(NAME);
    go(workspace, &["test", "./..."])?;
    go(workspace, &["build", "-o", &program.to_string_lossy(), "."])?;
    counting::run(NAME, Command::new(program).args(files), DEADLINE)
}

fn go(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    let source = workspace.root.join("crates/tools/faults/porcupine");
    let output = Command::new("go").args(arguments).current_dir(source).output();
    let output = output.context("cannot run `go`")?;
    if !output.status.success() {
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("go {arguments:?} in crates/tools/faults/porcupine: {said}{complained}");
    }
    Ok(())
}
