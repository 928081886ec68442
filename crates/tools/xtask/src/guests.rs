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

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// The Python runner too: an interpreter, which takes minutes to build
    #[arg(long)]
    python: bool,
}

/// At our own terminal.
pub(crate) fn run_alone(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let diwan = interop::built(workspace, "diwan", "diwan")?;
    let tally = run(workspace, &diwan, args)?;
    tally.print();
    Ok(tally.failed == 0)
}

/// Builds what is asked for, and runs it.
pub(crate) fn run(workspace: &Workspace, diwan: &Path, args: &Args) -> anyhow::Result<Tally> {
    let target = workspace.target.join(NAME);
    add_target(workspace, PURE)?;
    let mut cases = rust(workspace, diwan, &target)?;
    if args.python {
        add_target(workspace, WASI)?;
        cases.extend(python(workspace, &target.join("python"))?);
    }
    counting::run(NAME, program(workspace, "test", PACKAGE, NAME).args(cases), DEADLINE)
}

fn rust(workspace: &Workspace, diwan: &Path, target: &Path) -> anyhow::Result<Vec<String>> {
    let library = workspace.root.join(NAME).join("rust");
    let into = target.join("rust");
    // Its own tests run on this machine.
    build(&library, &into, &["test", "--quiet", "--locked", "--lib"])?;
    build(&library, &into, &["build", "--release", "--locked", "--examples", "--target", PURE])?;
    let template = template(diwan, target)?;
    build(&template, &into, &["test", "--quiet"])?;
    build(&template, &into, &["build", "--release", "--target", PURE])?;
    let made = into.join(PURE).join("release");
    Ok(vec![
        case("hits", "rust", &made.join("examples/hits.wasm"), None),
        case("mutex", "rust", &made.join("examples/mutex.wasm"), None),
        case("hits", "template", &made.join("sample.wasm"), None),
    ])
}

fn python(workspace: &Workspace, into: &Path) -> anyhow::Result<Vec<String>> {
    let runner = workspace.root.join(NAME).join("python-runner");
    build(&runner, into, &["test", "--quiet", "--locked", "--package", "malachite-q"])?;
    build(&runner, into, &["build", "--release", "--locked", "--target", WASI])?;
    let module = into.join(WASI).join("release/diwan_python_runner.wasm");
    let source = |name: &str| Some(runner.join("examples").join(name));
    Ok(vec![
        case("hits", "python", &module, source("hits.py")),
        case("mutex", "python", &module, source("mutex.py")),
        case("runner", "python", &module, None),
    ])
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
fn add_target(workspace: &Workspace, target: &str) -> anyhow::Result<()> {
    let mut list = Command::new("rustup");
    list.args(["target", "list", "--installed"]).current_dir(&workspace.root);
    let output = list.stderr(Stdio::inherit()).output();
    let output = output.context("cannot run `rustup`, which fetches what compiles to WebAssembly")?;
    if String::from_utf8_lossy(&output.stdout).lines().any(|line| line == target) {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    succeed(add.args(["target", "add", target]).current_dir(&workspace.root))
        .with_context(|| format!("the target `{target}` is not installed, and rustup cannot fetch it"))
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
