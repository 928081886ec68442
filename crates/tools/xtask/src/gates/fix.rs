//! `cargo xtask fix`: corrects what can be corrected automatically.

use crate::workspace::{Workspace, cargo};

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let lints = ["clippy", "--fix", "--workspace", "--all-targets", "--allow-dirty", "--allow-staged"];
    let linted = cargo().args(lints).current_dir(&workspace.root).status()?.success();
    // Last: a lint's suggestion is not always formatted.
    let formatted = cargo().args(["fmt", "--all"]).current_dir(&workspace.root).status()?.success();
    Ok(linted && formatted)
}
