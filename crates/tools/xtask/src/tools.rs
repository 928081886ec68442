//! Cargo's own extensions at pinned versions, built once into `target/tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::workspace::{Workspace, cargo};

/// A program of a package of the same name.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Tool {
    /// Builds it if this checkout does not have it yet. Unoptimised: it builds three times faster and still answers
    /// within a second.
    pub(crate) fn installed(&self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let Self { name, version } = self;
        let root = workspace.target.join("tools");
        let binary = root.join("bin").join(name);
        if version_of(&binary).is_some_and(|found| found == *version) {
            return Ok(binary);
        }
        eprintln!("building {name} {version} into `{}` (once)", root.display());
        let output = cargo()
            .args(["install", name, "--version", version, "--locked", "--debug", "--force", "--root"])
            .arg(&root)
            // Beside, not inside, the workspace's own artifacts: other profiles, other features.
            .arg("--target-dir")
            .arg(root.join("build"))
            .output()
            .context("cannot run `cargo install`")?;
        if !output.status.success() {
            bail!("cannot build {name} {version}:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        // Some 500 MB of no further use; if they stay, only room is lost.
        let _ = std::fs::remove_dir_all(root.join("build"));
        Ok(binary)
    }
}

fn version_of(binary: &Path) -> Option<String> {
    let output = Command::new(binary).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().last().map(str::to_owned)
}
