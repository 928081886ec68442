//! The workspace's Rust tests: built at once, then a job for each test program and one for the examples in documentation.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use tools_process::run_lines;

use crate::lanes::Job;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};

/// Building everything in a fresh clone on two cores takes a fraction of this.
const BUILD_DEADLINE: Duration = Duration::from_secs(50 * 60);
/// The slowest program takes a tenth of this.
const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// A test program that was built.
struct Program {
    name: String,
    file: PathBuf,
    /// Where it runs, as under `cargo test`.
    folder: PathBuf,
}

/// A line of cargo's `--message-format=json`; only what is read here.
#[derive(Deserialize)]
struct Message {
    reason: String,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds all test programs; the jobs that run them.
pub(crate) fn jobs(workspace: &Workspace) -> anyhow::Result<Vec<Job<'_>>> {
    let programs = build(workspace)?;
    let known: BTreeSet<&PathBuf> = programs.iter().map(|program| &program.file).collect();
    if known.len() != programs.len() || programs.is_empty() {
        bail!("cargo names {} test programs, {} of them different", programs.len(), known.len());
    }
    let mut jobs = vec![Job::new("examples in documentation", || examples(workspace))];
    jobs.extend(programs.into_iter().map(|program| Job::new(program.name.clone(), move || program.run())));
    Ok(jobs)
}

fn build(workspace: &Workspace) -> anyhow::Result<Vec<Program>> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    command.current_dir(&workspace.root).stderr(Stdio::inherit());
    let mut programs = Vec::new();
    let mut unread = None;
    let ended = run_lines(&mut command, BUILD_DEADLINE, |line| match program(line) {
        Ok(program) => programs.extend(program),
        Err(error) => unread = Some(error),
    })?;
    if !ended.success() {
        bail!("the tests do not build");
    }
    unread.map_or(Ok(programs), Err)
}

/// The test program that a line of cargo's tells of, if it does.
fn program(line: &str) -> anyhow::Result<Option<Program>> {
    let message: Message =
        serde_json::from_str(line).with_context(|| format!("not a line of cargo's: {line}"))?;
    let is_test = message.profile.is_some_and(|profile| profile.test);
    let (Some(file), Some(manifest), Some(target)) =
        (message.executable, message.manifest_path, message.target)
    else {
        return Ok(None);
    };
    if message.reason != "compiler-artifact" || !is_test {
        return Ok(None);
    }
    let folder = manifest.parent().context("a manifest lies in no folder")?.to_path_buf();
    let package = folder.ancestors().take(2).filter_map(|folder| folder.file_name());
    let package: Vec<_> = package.map(|name| name.to_string_lossy().into_owned()).collect();
    let package = package.into_iter().rev().collect::<Vec<_>>().join("/");
    let kind = target.kind.first().map_or("", String::as_str);
    Ok(Some(Program { name: format!("{package}, {kind} {}", target.name), file, folder }))
}

impl Program {
    fn run(self) -> anyhow::Result<Tally> {
        let mut command = Command::new(&self.file);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        counted(&self.name, &mut command)
    }
}

fn examples(workspace: &Workspace) -> anyhow::Result<Tally> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--doc", "--no-fail-fast"]).current_dir(&workspace.root);
    counted("examples in documentation", &mut command)
}

/// Runs a program of libtest's and counts; shows all that it printed if anything failed.
fn counted(name: &str, command: &mut Command) -> anyhow::Result<Tally> {
    let mut count = Count { name, tally: Tally::default() };
    let mut printed = Vec::new();
    let ended = run_lines(command, DEADLINE, |line| {
        count.line(line);
        printed.push(line.to_owned());
    })?;
    let tally = count.finish(ended.success(), &ended.to_string());
    if tally.failed > 0 {
        println!("{}", printed.join("\n"));
    }
    Ok(tally)
}

/// Reads libtest's output.
struct Count<'a> {
    name: &'a str,
    tally: Tally,
}

impl Count<'_> {
    fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.result(result);
        } else if let Some(test) =
            line.strip_prefix("test ").and_then(|test| test.strip_suffix(" ... FAILED"))
        {
            // Counted by the result line; here only for the summary.
            // Some programs align what follows a name.
            self.tally.fail(format!("{}: {}", self.name, test.trim_end()));
            self.tally.failed -= 1;
        }
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

    /// A test program that crashes prints no result: that is a failure of its own.
    fn finish(mut self, success: bool, ended: &str) -> Tally {
        if !success && self.tally.failed == 0 {
            self.tally.fail(format!("{}: ended with {ended} without naming a failed test", self.name));
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, program};
    use crate::tally::Tally;

    fn count(output: &str, success: bool) -> String {
        let mut count = Count { name: "a program", tally: Tally::default() };
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
    fn a_program_that_crashes_is_a_failure() {
        assert_eq!(count("test a ... ok\n", false), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn only_test_programs_are_run() {
        let line = |executable: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/crates/net/tls/Cargo.toml\",\
                 \"target\":{{\"name\":\"files\",\"kind\":[\"test\"]}},\"profile\":{{\"test\":{test}}},\
                 \"executable\":{executable}}}"
            )
        };
        let name = |line: &str| program(line).unwrap().map(|program| program.name);
        assert_eq!(name(&line("\"/t/files-1\"", true)).as_deref(), Some("net/tls, test files"));
        assert_eq!(name(&line("\"/t/files\"", false)), None);
        assert_eq!(name(&line("null", true)), None);
        assert_eq!(name("{\"reason\":\"build-finished\",\"success\":true}"), None);
        assert!(program("warning: text").is_err());
    }
}
