//! What authors of types write against: the libraries in Rust and Go, and the runners of Python and JavaScript, built as their
//! users build them, and the program `guests`, which runs what was built.

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
/// What compiles the JavaScript interpreter's C.
const ZIG: &str = "ziglang==0.17.1";

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// The Python runner too: an interpreter, which takes minutes to build
    #[arg(long)]
    python: bool,
    /// The JavaScript runner too; its C compiler comes from PyPI
    #[arg(long)]
    javascript: bool,
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
    if args.javascript {
        add_target(workspace, WASI)?;
        cases.extend(javascript(workspace, diwan, &target)?);
    }
    let has_go = has_go();
    if has_go {
        cases.extend(go(workspace, diwan, &target)?);
    }
    let mut tally = counting::run(NAME, program(workspace, "test", PACKAGE, NAME).args(cases), DEADLINE)?;
    if !has_go {
        tally.skip(format!("{NAME}: types in Go need Go 1.24 or later"));
    }
    Ok(tally)
}

fn rust(workspace: &Workspace, diwan: &Path, target: &Path) -> anyhow::Result<Vec<String>> {
    let library = workspace.root.join(NAME).join("rust");
    let into = target.join("rust");
    // Its own tests run on this machine.
    build(&library, &into, &["test", "--quiet", "--locked", "--lib"])?;
    build(&library, &into, &["build", "--release", "--locked", "--examples", "--target", PURE])?;
    let template = template(diwan, target, "rust")?;
    build(&template, &into, &["test", "--quiet"])?;
    build(&template, &into, &["build", "--release", "--target", PURE])?;
    let made = into.join(PURE).join("release");
    Ok(vec![
        case("hits", "rust", &made.join("examples/hits.wasm"), None),
        case("mutex", "rust", &made.join("examples/mutex.wasm"), None),
        case("odd-rust", "rust", &made.join("examples/odd.wasm"), None),
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
        case("python", "runner", &module, None),
    ])
}

fn javascript(workspace: &Workspace, diwan: &Path, target: &Path) -> anyhow::Result<Vec<String>> {
    let runner = workspace.root.join(NAME).join("javascript-runner");
    let (into, compiler) = (target.join("javascript"), target.join("ziglang"));
    if !compiler.join("ziglang").exists() {
        let mut install = Command::new("python3");
        install.args(["-m", "pip", "install", "--quiet", "--no-input", "--target"]).arg(&compiler).arg(ZIG);
        succeed(&mut install).context("the C compiler for WebAssembly does not come")?;
    }
    let mut build = Command::new(runner.join("build"));
    succeed(build.env("CARGO_TARGET_DIR", &into).env("PYTHONPATH", &compiler))?;
    let module = into.join(WASI).join("release/diwan_javascript_runner.wasm");
    let source = |name: &str| Some(runner.join("examples").join(name));
    let template = template(diwan, target, "javascript")?.join("sample.js");
    Ok(vec![
        case("hits", "javascript", &module, source("hits.js")),
        case("mutex", "javascript", &module, source("mutex.js")),
        case("template", "javascript", &module, Some(template)),
        case("javascript", "runner", &module, None),
    ])
}

/// Modules in Go export functions since then.
const GO_MINOR_MIN: u32 = 24;

fn has_go() -> bool {
    let output = Command::new("go").args(["env", "GOVERSION"]).output();
    let version =
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let minor = version.trim().strip_prefix("go1.").and_then(|rest| rest.split(['.', 'r', 'b']).next());
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor >= GO_MINOR_MIN)
}

fn go(workspace: &Workspace, diwan: &Path, target: &Path) -> anyhow::Result<Vec<String>> {
    let library = workspace.root.join(NAME).join("go");
    succeed(Command::new("go").args(["vet", "./..."]).current_dir(&library))?;
    succeed(Command::new("go").args(["test", "./..."]).current_dir(&library).stdout(Stdio::null()))?;
    let mut cases = Vec::new();
    for kind in ["hits", "mutex", "odd"] {
        cases.push(case(kind, "go", &built(diwan, &library.join("examples").join(kind))?, None));
    }
    cases.push(case("hits", "go template", &built(diwan, &template(diwan, target, "go")?)?, None));
    Ok(cases)
}

/// The module of a folder, as `diwan object put` would upload it.
fn built(diwan: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(diwan);
    let output = command.args(["object", "build"]).arg(folder).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed ({})", output.status);
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn case(kind: &str, label: &str, module: &Path, source: Option<PathBuf>) -> String {
    let source = source.map_or_else(String::new, |source| format!(":{}", source.display()));
    format!("{kind}:{label}:{}{source}", module.display())
}

/// What `diwan object new` writes must build as it is.
fn template(diwan: &Path, target: &Path, language: &str) -> anyhow::Result<PathBuf> {
    let folder = target.join(format!("sample-{language}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("cannot remove the folder of an earlier run")?;
    }
    let mut command = Command::new(diwan);
    command.args(["object", "new", "sample", "--lang", language, "--dir"]).arg(&folder);
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
