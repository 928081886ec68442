//! The gates that a change must pass before its review. None of them changes a file.

pub(crate) mod audit;
pub(crate) mod cycles;
pub(crate) mod fix;
pub(crate) mod layers;
pub(crate) mod text;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::workspace::{Workspace, cargo};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these gates
    #[arg(long, value_name = "GATE,...", value_delimiter = ',')]
    only: Vec<String>,
}

/// A note worth reading even when the gate is passed (may be empty), or why it is not passed.
type Verdict = anyhow::Result<String>;

/// Runs every gate, the quick ones first, and says how each went; true when all are passed.
pub(crate) fn check(workspace: &Workspace, args: &Args) -> bool {
    type Gate<'a> = (&'a str, Box<dyn Fn() -> Verdict + 'a>);
    let gates: [Gate<'_>; 7] = [
        ("text", Box::new(|| text::run(workspace))),
        ("layers", Box::new(|| layers::run(workspace))),
        ("cycles", Box::new(|| cycles::run(workspace))),
        ("format", Box::new(|| quiet(cargo().args(["fmt", "--all", "--check"])))),
        ("clippy", Box::new(|| quiet(&mut clippy()))),
        ("docs", Box::new(|| quiet(&mut docs()))),
        ("audit", Box::new(|| audit::run(workspace, &audit::Args::default()))),
    ];
    if let Some(unknown) = args.only.iter().find(|name| gates.iter().all(|(gate, _)| gate != name)) {
        eprintln!("error: there is no gate `{unknown}`");
        return false;
    }
    let chosen =
        gates.iter().filter(|(name, _)| args.only.is_empty() || args.only.iter().any(|only| only == name));
    // Not short-circuited: one run names everything that is wrong.
    chosen.map(|(name, gate)| alone(name, gate)).fold(true, |all, passed| all & passed)
}

/// Runs one gate and says how it went.
pub(crate) fn alone(name: &str, gate: impl Fn() -> Verdict) -> bool {
    let started = Instant::now();
    let verdict = gate();
    let seconds = started.elapsed().as_secs_f64();
    let (word, text) = match &verdict {
        Ok(note) => ("ok", note.trim_end().to_owned()),
        Err(why) => ("failed", format!("{why:#}").trim_end().to_owned()),
    };
    println!("{name:<8} {word:<6} {seconds:6.1} s");
    for line in text.lines() {
        println!("    {line}");
    }
    verdict.is_ok()
}

fn clippy() -> Command {
    let mut command = cargo();
    command.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
    command
}

fn docs() -> Command {
    let mut command = cargo();
    command.args(["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings");
    command
}

/// Runs a command whose output matters only when it fails.
fn quiet(command: &mut Command) -> Verdict {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if output.status.success() {
        return Ok(String::new());
    }
    bail!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
