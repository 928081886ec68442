//! The differential test: generated scripts played to a real ZooKeeper and to Diwan by a program of `lab`,
//! which ends with a counting line of its own.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::process::{Ended, run_lines};
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};

/// The name by which `--only` and `--require` know it; also the program's.
pub(crate) const NAME: &str = "differential";
const PACKAGE: &str = "lab";
const DEADLINE: Duration = Duration::from_secs(20 * 60);
/// Its status when something it needs, Java above all, is not on this machine.
const CANNOT_RUN_HERE: i32 = 77;

pub(crate) fn exists(workspace: &Workspace) -> bool {
    workspace.has_binary(PACKAGE, NAME)
}

/// Runs it against the given binary.
pub(crate) fn run(workspace: &Workspace, diwan: &Path) -> anyhow::Result<Tally> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--profile",
        "test",
        "--package",
        PACKAGE,
        "--bin",
        NAME,
        "--",
        "--diwan",
    ]);
    command.arg(diwan).current_dir(&workspace.root).stderr(Stdio::inherit());
    let mut last = String::new();
    let ended = run_lines(&mut command, DEADLINE, |line| {
        println!("{line}");
        if !line.is_empty() {
            line.clone_into(&mut last);
        }
    })?;
    Ok(judge(&last, &ended))
}

fn judge(last: &str, ended: &Ended) -> Tally {
    let missing = matches!(ended, Ended::With(status) if status.code() == Some(CANNOT_RUN_HERE));
    let mut tally = Tally::default();
    match Tally::parse(last) {
        _ if missing => tally.skip(format!("{NAME}: something it needs is not on this machine")),
        Some((passed, failed, _)) if ended.success() && failed == 0 => tally.passed = passed,
        Some((passed, failed, _)) => {
            tally.passed = passed;
            tally.fail(format!("{NAME}: see its report above"));
            tally.failed = failed.max(1);
        }
        None => tally.fail(format!("{NAME}: ended with {ended} without counting")),
    }
    tally
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::judge;
    use crate::process::Ended;

    fn verdict(last: &str, code: i32) -> String {
        judge(last, &Ended::With(ExitStatus::from_raw(code << 8))).to_string()
    }

    #[test]
    fn counts_are_taken_over_and_a_status_is_not_overlooked() {
        assert_eq!(verdict("12 passed, 0 failed, 0 skipped", 0), "12 passed, 0 failed, 0 skipped");
        assert_eq!(verdict("11 passed, 1 failed, 0 skipped", 1), "11 passed, 1 failed, 0 skipped");
        assert_eq!(verdict("12 passed, 0 failed, 0 skipped", 1), "12 passed, 1 failed, 0 skipped");
        assert_eq!(verdict("0 passed, 0 failed, 3 skipped", 77), "0 passed, 0 failed, 1 skipped");
        assert_eq!(verdict("thread panicked", 101), "0 passed, 1 failed, 0 skipped");
    }
}
