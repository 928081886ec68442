//! libFuzzer, which is guided by what the code under test does: wants a nightly toolchain and `cargo-fuzz`.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use tools_process::{run_into, tail};

use crate::tally::Tally;
use crate::tools::Tool;
use crate::workspace::{Workspace, program};

const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };
/// Where libFuzzer's targets lie, a workspace of its own.
const FOLDER: &str = "fuzz";
/// The suffix of targets with planted bugs, which must be found.
const CANARY: &str = "canary";
/// What one input may take: seconds, and MiB in one piece.
const HANG_SECONDS: u64 = 60;
const ALLOCATION_MIB_MAX: u64 = 256;
const LINES_SHOWN: usize = 40;

pub(super) fn has_nightly() -> bool {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "rustc", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(super) fn run(workspace: &Workspace, targets: &[String], seconds: u64) -> anyhow::Result<Tally> {
    let tool = CARGO_FUZZ.installed(workspace)?;
    let folder = workspace.root.join(FOLDER);
    let mut seeds = program(workspace, "test", super::PACKAGE, super::NAME);
    if !seeds.arg("--write-seeds").arg(folder.join("corpus")).args(targets).status()?.success() {
        bail!("the seeds cannot be written");
    }
    let logs = workspace.target.join("fuzz");
    std::fs::create_dir_all(&logs).context("cannot make a folder for logs")?;
    let mut tally = Tally::default();
    for target in targets {
        println!("{target:12} {seconds} s of libFuzzer");
        let log = logs.join(format!("{target}.log"));
        match feed(workspace, &tool, target, seconds, &log)? {
            Ok(said) => {
                println!("{target:12} ok: {said}");
                tally.passed += 1;
            }
            Err(why) => {
                println!("{target:12} FAILED: {why}\n{}", tail(&log, LINES_SHOWN));
                tally.fail(format!("{}: {target}: {why}", super::NAME));
            }
        }
    }
    Ok(tally)
}

/// What came of it, or why that is not what is wanted.
fn feed(
    workspace: &Workspace,
    tool: &Path,
    target: &str,
    seconds: u64,
    log: &Path,
) -> anyhow::Result<Result<String, String>> {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).arg(tool).args(["run", target, "--fuzz-dir", FOLDER, "--"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={HANG_SECONDS}"));
    command.arg(format!("-malloc_limit_mb={ALLOCATION_MIB_MAX}"));
    // The pinned toolchain that runs us must not run the nightly build.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"].map(OsString::from) {
        command.env_remove(name);
    }
    let ended =
        run_into(command.current_dir(&workspace.root), log, super::BESIDES + Duration::from_secs(seconds))?;
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())?;
    Ok(judge(target, ended.success(), &text))
}

fn judge(target: &str, success: bool, log: &str) -> Result<String, String> {
    let artifact =
        log.lines().find_map(|line| line.split_once("Test unit written to ").map(|(_, file)| file));
    let runs = log.lines().rev().find(|line| line.starts_with("Done ")).map(str::to_owned);
    match (target.ends_with(CANARY), artifact, runs) {
        (true, Some(_), _) if !success => Ok("the planted bug was found".into()),
        (true, _, Some(runs)) => Err(format!("the planted bug was not found. {runs}")),
        (false, None, Some(runs)) if success => Ok(runs),
        (false, Some(artifact), _) => {
            Err(format!("see it again: cargo run -p tools-fuzz -- {target} --replay {artifact}"))
        }
        _ => Err("libFuzzer did not come to an end".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::judge;

    const FOUND: &str = "x\nartifact_prefix='a/'; Test unit written to fuzz/artifacts/x/crash-1\n";
    const DONE: &str = "#9 DONE cov: 3\nDone 9 runs in 1 second(s)\n";

    #[test]
    fn a_crash_fails_and_the_canary_must_have_one() {
        assert_eq!(judge("reply", true, DONE), Ok("Done 9 runs in 1 second(s)".into()));
        assert!(
            judge("reply", false, FOUND)
                .is_err_and(|why| why.contains("reply --replay fuzz/artifacts/x/crash-1"))
        );
        assert!(judge("canary", false, FOUND).is_ok() && judge("peer-canary", false, FOUND).is_ok());
        assert!(judge("canary", true, DONE).is_err_and(|why| why.contains("not found")));
        assert!(judge("canary", false, "error: could not compile").is_err());
        assert!(judge("reply", false, "error: could not compile").is_err());
    }
}
