//! The workspace as `cargo metadata` describes it: its root, its packages, the dependencies between them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

/// The workspace's members (not their dependencies) and where they lie.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for normal dependencies, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Workspace {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("cannot run `cargo metadata`")?;
        if !output.status.success() {
            bail!("`cargo metadata` failed ({})", output.status);
        }
        serde_json::from_slice(&output.stdout).context("cannot read the answer of `cargo metadata`")
    }

    /// The files git knows or would add, from the root on.
    pub(crate) fn tracked(&self) -> anyhow::Result<Vec<String>> {
        let output = Command::new("git")
            // Also if the checkout belongs to another user, as in some containers.
            .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .context("cannot run `git ls-files`")?;
        if !output.status.success() {
            bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// Whether the named package has a binary of that name.
    pub(crate) fn has_binary(&self, package: &str, binary: &str) -> bool {
        self.package(package).is_some_and(|package| {
            package
                .targets
                .iter()
                .any(|target| target.name == binary && target.kind.iter().any(|k| k == "bin"))
        })
    }
}

/// The cargo that runs this program, otherwise the one on the path; without the variables that it set for this package,
/// because build scripts depend on them and would run again.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

/// A program of the workspace, built in this profile and run at the root; its arguments follow.
pub(crate) fn program(workspace: &Workspace, profile: &str, package: &str, binary: &str) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--profile", profile, "--package", package, "--bin", binary, "--"]);
    command.current_dir(&workspace.root);
    command
}
