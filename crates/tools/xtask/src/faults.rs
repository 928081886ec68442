//! Ensembles of real processes under faults, played by the program `faults`; for rolling upgrades also the builds that are
//! upgraded from and to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::counting;
use crate::interop;
use crate::porcupine;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo, program};

/// The name by which `--only` and `--require` know it; also the program's.
pub(crate) const NAME: &str = "faults";
const PACKAGE: &str = "tools-faults";
/// The short scenarios take a tenth of this.
const DEADLINE: Duration = Duration::from_secs(20 * 60);
/// The scenario that goes to a build whose log says more.
const TO_NEXT: &str = "upgrade-level";
/// Where the level stands that a build understands, and as what.
const LEVEL_FILE: &str = "crates/council/replica/src/level.rs";
const LEVEL: &str = "pub const FEATURE_LEVEL: u32 = ";

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// The revision that `upgrade` starts from (by default the newest tag `v*`)
    #[arg(long, value_name = "REVISION")]
    from: Option<String>,
    /// Scenarios and options of the program `faults`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// The short scenarios against the given binary.
pub(crate) fn run(workspace: &Workspace, diwan: &Path) -> anyhow::Result<Tally> {
    let mut command = program(workspace, "test", PACKAGE, NAME);
    command.arg("--diwan").arg(diwan);
    if let Some(tag) = newest_tag(workspace) {
        command.arg("--previous").arg(build(workspace, &tag, None)?);
    }
    let histories = porcupine::folder(workspace)?;
    command.arg("--history").arg(&histories);
    let mut tally = counting::run(NAME, &mut command, DEADLINE)?;
    tally.add(porcupine::judge(workspace, &histories)?);
    Ok(tally)
}

/// What is asked for, at our own terminal.
pub(crate) fn run_alone(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let (from, rest) = args.split();
    let diwan = interop::built(workspace, "diwan", "diwan")?;
    let mut command = program(workspace, "test", PACKAGE, NAME);
    command.arg("--diwan").arg(diwan);
    let asks = ["--help", "-h", "--list"];
    if rest.iter().any(|word| asks.contains(&word.as_str())) {
        return crate::forward::succeeds(command.args(rest));
    }
    let upgrades = rest.is_empty() || rest.iter().any(|word| word == "upgrade" || word == "--long");
    let newest = || newest_tag(workspace).filter(|_| upgrades);
    if let Some(revision) = from.or_else(newest) {
        command.arg("--previous").arg(build(workspace, &revision, None)?);
    }
    if rest.iter().any(|word| word == TO_NEXT) {
        let next = own_level(workspace)? + 1;
        command.arg("--next").arg(build(workspace, "HEAD", Some(next))?);
    }
    let histories = porcupine::folder(workspace)?;
    let passed = crate::forward::succeeds(command.arg("--history").arg(&histories).args(rest))?;
    let judged = porcupine::judge(workspace, &histories)?;
    Ok(passed && judged.failed == 0)
}

impl Args {
    /// `--from` may also stand behind scenarios.
    fn split(&self) -> (Option<String>, Vec<String>) {
        let (mut from, mut rest) = (self.from.clone(), Vec::new());
        let mut words = self.rest.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--from") {
                Some("") => from = words.next().cloned(),
                Some(value) if value.starts_with('=') => from = Some(value[1..].to_owned()),
                _ => rest.push(word.clone()),
            }
        }
        (from, rest)
    }
}

/// The newest tag of a version, if there is one.
fn newest_tag(workspace: &Workspace) -> Option<String> {
    let tags = git(workspace, &["tag", "--list", "v*", "--sort=-version:refname"]).ok()?;
    tags.lines().next().map(String::from)
}

/// The highest feature level that the present build understands.
fn own_level(workspace: &Workspace) -> anyhow::Result<u32> {
    let text = std::fs::read_to_string(workspace.root.join(LEVEL_FILE)).context("cannot read the level")?;
    let number = text.split_once(LEVEL).and_then(|(_, rest)| rest.split(';').next());
    number.and_then(|number| number.parse().ok()).with_context(|| format!("no level in `{LEVEL_FILE}`"))
}

/// The binary of a revision, or of one that understands another level; built in a work tree of its own, once.
fn build(workspace: &Workspace, revision: &str, level: Option<u32>) -> anyhow::Result<PathBuf> {
    let commit = git(workspace, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")])
        .with_context(|| format!("there is no revision `{revision}`"))?;
    let commit = commit.trim();
    let folder = workspace.target.join("upgrade");
    let name = level.map_or_else(|| commit.to_owned(), |level| format!("{commit}-level-{level}"));
    let binary = folder.join(format!("diwan-{name}"));
    if binary.is_file() {
        return Ok(binary);
    }
    println!("building {revision} ({name}), to upgrade from it or to it");
    let tree = folder.join("tree");
    remove_tree(workspace, &tree)?;
    git(workspace, &["worktree", "add", "--detach", &tree.to_string_lossy(), commit])?;
    let made = make(&tree, &folder.join("build"), level);
    let removed = remove_tree(workspace, &tree);
    std::fs::copy(made?, &binary).context("cannot keep the binary")?;
    removed.map(|()| binary)
}

fn make(tree: &Path, target: &Path, level: Option<u32>) -> anyhow::Result<PathBuf> {
    if let Some(level) = level {
        let file = tree.join(LEVEL_FILE);
        let text = std::fs::read_to_string(&file).context("cannot read the level")?;
        let (before, rest) = text.split_once(LEVEL).context("the revision has no feature level")?;
        let behind = rest.split_once(';').context("the revision has no feature level")?.1;
        std::fs::write(&file, format!("{before}{LEVEL}{level};{behind}"))
            .context("cannot write the level")?;
    }
    let built = cargo()
        .args(["build", "--quiet", "--package", "diwan", "--bin", "diwan", "--profile", "test"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .status()
        .context("cannot run `cargo build`")?;
    if !built.success() {
        bail!("that revision does not build");
    }
    Ok(target.join("debug/diwan"))
}

/// One of an earlier run may have been left behind.
fn remove_tree(workspace: &Workspace, tree: &Path) -> anyhow::Result<()> {
    if tree.exists() {
        git(workspace, &["worktree", "remove", "--force", &tree.to_string_lossy()])?;
    }
    git(workspace, &["worktree", "prune"]).map(drop)
}

fn git(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<String> {
    let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
    let output = Command::new("git").args(&arguments).current_dir(&workspace.root).output();
    let output = output.context("cannot run `git`")?;
    if !output.status.success() {
        bail!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::Args;

    #[test]
    fn the_revision_may_stand_anywhere() {
        let split = |words: &[&str]| {
            let rest = words.iter().map(|word| String::from(*word)).collect();
            Args { from: None, rest }.split()
        };
        let upgrade = (Some(String::from("v1")), vec![String::from("upgrade")]);
        assert_eq!(split(&["upgrade", "--from", "v1"]), upgrade);
        assert_eq!(split(&["--from=v1", "upgrade"]), upgrade);
        assert_eq!(split(&["upgrade"]).0, None);
    }
}
