//! The workspace's Rust tests: runs them all and counts what libtest says.

use std::time::Duration;

use tools_process::run_lines;

use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};

/// Building and running everything in a fresh clone on two cores takes a fraction of this.
const DEADLINE: Duration = Duration::from_secs(50 * 60);

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<Tally> {
    let mut count = Count::default();
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).current_dir(&workspace.root);
    let ended = run_lines(&mut command, DEADLINE, |line| {
        if count.line(line) {
            println!("{line}");
        }
    })?;
    Ok(count.finish(ended.success(), &ended.to_string()))
}

/// Reads libtest's output.
#[derive(Default)]
struct Count {
    tally: Tally,
}

impl Count {
    /// Counts a line; says whether a reader wants to see it.
    fn line(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.result(result);
            return !result.starts_with("ok. 0 passed; 0 failed; 0 ignored");
        }
        if let Some(test) = line.strip_prefix("test ") {
            if let Some(name) = test.strip_suffix(" ... FAILED") {
                // Counted by the result line; here only for the summary.
                // Some programs align what follows a name.
                self.tally.fail(format!("rust: {}", name.trim_end()));
                self.tally.failed -= 1;
            }
            return !test.ends_with(" ... ok");
        }
        !line.is_empty() && line != "running 0 tests"
    }

    fn result(&mut self, result: &str) {
        // `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
        let counts = result.split_once(". ").map_or(result, |(_, counts)| counts);
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.tally.passed += number,
                "failed" => self.tally.failed += number,
                "ignored" => self.tally.skipped += number,
                _ => {}
            }
        }
    }

    /// A build that fails, or a test program that crashes, prints no result: that is a failure of its own.
    fn finish(mut self, success: bool, ended: &str) -> Tally {
        if !success && self.tally.failed == 0 {
            self.tally.fail(format!("rust: `cargo test` ended with {ended} without naming a failed test"));
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    fn count(output: &str, success: bool) -> String {
        let mut count = Count::default();
        for line in output.lines() {
            count.line(line);
        }
        count.finish(success, "a status").to_string()
    }

    #[test]
    fn results_of_all_test_programs_add_up() {
        let output = "running 3 tests\n\
            test a ... ok\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test b ... FAILED\n\
            test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s\n";
        assert_eq!(count(output, false), "6 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn a_failed_build_is_a_failure() {
        assert_eq!(count("", false), "0 passed, 1 failed, 0 skipped");
    }
}
