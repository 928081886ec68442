//! Programs of the workspace that test something and end with a counting line of their own.

use std::collections::VecDeque;
use std::process::{Command, Stdio};
use std::time::Duration;

use tools_process::{Ended, run_lines};

use crate::tally::Tally;

/// A program's status when something it needs, Java say, is not on this machine.
const CANNOT_RUN_HERE: i32 = 77;
/// How many lines before the count are told again, if something failed.
const TOLD_AGAIN: usize = 12;

/// Runs a program, showing what it prints, and takes over its counts.
pub(crate) fn run(name: &str, command: &mut Command, deadline: Duration) -> anyhow::Result<Tally> {
    let mut end = VecDeque::new();
    let ended = run_lines(command.stderr(Stdio::inherit()), deadline, |line| {
        println!("{line}");
        if !line.is_empty() {
            end.push_back(String::from(line));
        }
        if end.len() > TOLD_AGAIN + 1 {
            end.pop_front();
        }
    })?;
    let last = end.pop_back().unwrap_or_default();
    Ok(judge(name, (end.make_contiguous(), &last), &ended))
}

fn judge(name: &str, (before, last): (&[String], &str), ended: &Ended) -> Tally {
    let missing = matches!(ended, Ended::With(status) if status.code() == Some(CANNOT_RUN_HERE));
    let mut tally = Tally::default();
    match Tally::parse(last) {
        _ if missing => tally.skip(format!("{name}: something it needs is not on this machine")),
        Some((passed, failed, _)) if ended.success() && failed == 0 => tally.passed = passed,
        Some((passed, failed, _)) => {
            tally.passed = passed;
            tally.fail(format!("{name}: see its report above, which ends so\n  {}", before.join("\n  ")));
            tally.failed = failed.max(1);
        }
        None => tally.fail(format!("{name}: ended with {ended} without counting")),
    }
    tally
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use tools_process::Ended;

    use super::judge;

    fn verdict(last: &str, code: i32) -> String {
        judge("a program", (&[], last), &Ended::With(ExitStatus::from_raw(code << 8))).to_string()
    }

    #[test]
    fn counts_are_taken_over_and_a_status_is_not_overlooked() {
        assert_eq!(verdict("12 passed, 0 failed, 0 skipped", 0), "12 passed, 0 failed, 0 skipped");
        assert_eq!(verdict("11 passed, 1 failed, 0 skipped", 1), "11 passed, 1 failed, 0 skipped");
        assert_eq!(verdict("12 passed, 0 failed, 0 skipped", 1), "12 passed, 1 failed, 0 skipped");
        assert_eq!(verdict("0 passed, 0 failed, 3 skipped", 77), "0 passed, 0 failed, 1 skipped");
        assert_eq!(verdict("thread panicked", 101), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn a_failure_tells_the_end_of_the_report() {
        let before = [String::from("failed 1 times: a reply")];
        let ended = Ended::With(ExitStatus::from_raw(1 << 8));
        let tally = judge("a program", (&before, "11 passed, 1 failed, 0 skipped"), &ended);
        assert!(tally.failures().any(|failure| failure.contains("failed 1 times: a reply")));
    }
}
