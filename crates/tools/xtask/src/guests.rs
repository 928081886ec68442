//! What authors of types write against: the library in Rust and the Python runner, built as their users build them, and the
//! program `guests`, which runs what was built.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::counting;
use crate::interop;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo, program};

/// The name by which `--only` and `--require` know it; also the program's.
pub(crate) const NAME: &str = "guests";
const PACKAGE: &str = "tools-guests";
const DEADLINE: Duration = Duration::from_secs(10 * 60);
/// What modules in Rust are compiled to, and what the Python runner is.
const PURE: &str = "wasm32-unknown-unknown";
const WASI: &str = "wasm32-wasip1";

/// At our own terminal.
pub(crate) fn run_alone(workspace: &Workspace) -> anyhow::Result<bool> {
    let diwan = interop::built(workspace, "diwan", "diwan")?;
    let tally = run(workspace, &diwan)?;
    tally.print();
    Ok(tally.failed == 0)
}

/// Builds everything, and runs it.
pub(crate) fn run(workspace: &Workspace, diwan: &Path) -> anyhow::Result<Tally> {
    add_targets(workspace)?;
    let guests = workspace.root.join(NAME);
    let target = workspace.target.join(NAME);
    let (library, runner) = (guests.join("rust"), guests.join("python-runner"));
    let (for_rust, for_python) = (target.join("rust"), target.join("python"));
    // Their own tests run on this machine.
    build(&library, &for_rust, &["test", "--quiet", "--locked", "--lib"])?;
    build(&library, &for_rust, &["build", "--release", "--locked", "--examples", "--target", PURE])?;
    let template = template(diwan, &target)?;
    build(&template, &for_rust, &["test", "--quiet"])?;
    build(&template, &for_rust, &["build", "--release", "--target", PURE])?;
    build(&runner, &for_python, &["test", "--quiet", "--locked", "--package", "malachite-q"])?;
    build(&runner, &for_python, &["build", "--release", "--locked", "--target", WASI])?;
    let made = for_rust.join(PURE).join("release");
    let runner_module = for_python.join(WASI).join("release/diwan_python_runner.wasm");
    let source = |name: &str| runner.join("examples").join(name);
    let cases = [
        case("hits", "rust", &made.join("examples/hits.wasm"), None),
        case("mutex", "rust", &made.join("examples/mutex.wasm"), None),
        case("hits", "template", &made.join("sample.wasm"), None),
        case("hits", "python", &runner_module, Some(source("hits.py"))),
        case("mutex", "python", &runner_module, Some(source("mutex.py"))),
        case("runner", "python", &runner_module, None),
    ];
    counting::run(NAME, program(workspace, "test", PACKAGE, NAME).args(cases), DEADLINE)
}

fn case(kind: &str, label: &str, module: &Path, source: Option<PathBuf>) -> String {
    let source = source.map_or_else(String::new, |source| format!(":{}", source.display()));
    format!("{kind}:{label}:{}{source}", module.display())
}

/// What `diwan object new` writes must build as it is.
fn template(diwan: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let folder = target.join("sample");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("cannot remove the folder of an earlier run")?;
    }
    let mut command = Command::new(diwan);
    command.args(["object", "new", "sample", "--lang", "rust", "--dir"]).arg(&folder);
    succeed(&mut command)?;
    Ok(folder)
}

/// The toolchain's library for WebAssembly comes by rustup.
fn add_targets(workspace: &Workspace) -> anyhow::Result<()> {
    let mut list = Command::new("rustup");
    list.args(["target", "list", "--installed"]).current_dir(&workspace.root);
    let output = list.stderr(Stdio::inherit()).output();
    let output = output.context("cannot run `rustup`, which fetches what compiles to WebAssembly")?;
    let installed = String::from_utf8_lossy(&output.stdout).into_owned();
    for target in [PURE, WASI] {
        if installed.lines().any(|line| line == target) {
            continue;
        }
        let mut add = Command::new("rustup");
        succeed(add.args(["target", "add", target]).current_dir(&workspace.root))
            .with_context(|| format!("the target `{target}` is not installed, and rustup cannot fetch it"))?;
    }
    Ok(())
}

fn build<W: AsRef<OsStr>>(folder: &Path, target: &Path, words: &[W]) -> anyhow::Result<()> {
    let mut command = cargo();
    succeed(command.args(words).current_dir(folder).env("CARGO_TARGET_DIR", target))
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed ({status})");
    }
    Ok(())
}
