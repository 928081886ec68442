//! The dependency audit: `cargo-deny` at one pinned version, built once into `target/tools`.
//!
//! The policy is `deny.toml`, so any installed cargo-deny gives the same answer. Licences, bans and sources need
//! nothing but the lock file. Advisories need their database, which lies on a git host that not every machine reaches:
//! they are checked only when asked for.

use std::process::Command;

use anyhow::{Context, bail};

use super::Verdict;
use crate::tools::Tool;
use crate::workspace::Workspace;

const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Also fetch the database of security advisories and check against it
    #[arg(long)]
    advisories: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Verdict {
    let deny = DENY.installed(workspace)?;
    let mut command = Command::new(deny);
    command.current_dir(&workspace.root).args([
        "--workspace",
        "--color",
        "never",
        "check",
        "--hide-inclusion-graph",
    ]);
    command.args(["licenses", "bans", "sources"]);
    if args.advisories {
        command.arg("advisories");
    }
    let output = command.output().context("cannot run cargo-deny")?;
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{said}");
    }
    Ok(note(&said, args.advisories))
}

/// What a reader of a passed audit should know: duplicates, and what was not looked at.
fn note(said: &str, advisories: bool) -> String {
    let warnings = said.lines().filter(|line| line.starts_with("warning"));
    let mut lines: Vec<&str> = warnings.collect();
    lines.dedup();
    if !advisories {
        lines
            .push("advisories not checked: `cargo xtask audit --advisories` fetches their database and does");
    }
    lines.join("\n")
}
