//! One suite: whether it can run here, its preparation, its run, and what its lines say.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use tools_process::{Ended, run_into, run_lines, tail};

use crate::tally::Tally;
use crate::workspace::Workspace;

/// The status by which a suite says that it cannot run here.
const CANNOT_RUN_HERE: i32 = 77;
/// A first preparation downloads what the client's package manager asks for.
const PREPARE_DEADLINE: Duration = Duration::from_secs(15 * 60);
const CHECK_DEADLINE: Duration = Duration::from_secs(60);
const TAIL_LINES: usize = 40;

pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// Logs and the server's files of the latest run.
    pub(crate) work: PathBuf,
}

pub(crate) enum Availability {
    Ready,
    Missing(String),
}

/// Whether a suite of this name is one of Kafka's clients.
pub(crate) fn is_of_the_log(name: &str) -> bool {
    name.starts_with("log-")
}

/// Whether a suite of this name is one of our libraries for live objects.
pub(crate) fn is_of_the_objects(name: &str) -> bool {
    name.starts_with("objects-")
}

/// All suites, in the order of their names.
pub(crate) fn discover(workspace: &Workspace) -> anyhow::Result<Vec<Suite>> {
    let folder = workspace.root.join("interop");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut suites = Vec::new();
    for entry in std::fs::read_dir(&folder).context("cannot list `interop`")? {
        let path = entry.context("cannot list `interop`")?.path();
        let program = path.join("run");
        if program.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            suites.push(Suite { work: workspace.target.join("interop").join(&name), name, program });
        }
    }
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(suites)
}

impl Suite {
    /// Whether it is a suite of Kafka's clients, which needs a broker.
    pub(crate) fn is_of_the_log(&self) -> bool {
        is_of_the_log(&self.name)
    }

    /// Whether it is a suite of live objects, which needs three members that serve them. The others need a council.
    pub(crate) fn is_of_the_objects(&self) -> bool {
        is_of_the_objects(&self.name)
    }

    /// Whether what the suite needs is on this machine; it is asked, it installs nothing.
    pub(crate) fn check(&self) -> anyhow::Result<Availability> {
        let mut reason = String::new();
        let ended = run_lines(self.command("--check").stderr(Stdio::inherit()), CHECK_DEADLINE, |line| {
            reason = line.to_owned();
        })?;
        match ended {
            Ended::With(status) if status.success() => Ok(Availability::Ready),
            Ended::With(status) if status.code() == Some(CANNOT_RUN_HERE) => {
                Ok(Availability::Missing(reason))
            }
            other => bail!("{}: `run --check` ended with {other}", self.name),
        }
    }

    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        super::fresh(&self.work)?;
        let log = self.work.join("prepare.log");
        let ended = run_into(&mut self.command("--prepare"), &log, PREPARE_DEADLINE)?;
        if !ended.success() {
            eprint!("{}", tail(&log, TAIL_LINES));
            bail!("`run --prepare` ended with {ended}");
        }
        Ok(())
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(verb);
        command
    }

    /// Runs the suite (or what wraps it) and counts its lines; shows the ends of the logs if anything failed.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        deadline: Duration,
        server_log: Option<&Path>,
    ) -> anyhow::Result<Tally> {
        let log = self.work.join("suite.log");
        let file =
            std::fs::File::create(&log).with_context(|| format!("cannot write `{}`", log.display()))?;
        let mut lines = Lines { suite: &self.name, tally: Tally::default() };
        let ended = run_lines(command.stderr(Stdio::from(file)), deadline, |line| {
            if lines.line(line) {
                println!("{line}");
            }
        })?;
        let tally = lines.finish(&ended);
        if tally.failed > 0 {
            for (what, path) in [("suite", Some(log.as_path())), ("server", server_log)] {
                let Some(path) = path else { continue };
                eprint!("the end of the {what}'s log, `{}`:\n{}", path.display(), tail(path, TAIL_LINES));
            }
        }
        Ok(tally)
    }
}

/// Reads `ok NAME`, `not ok NAME - reason`, `skip NAME - reason`.
struct Lines<'a> {
    suite: &'a str,
    tally: Tally,
}

impl Lines<'_> {
    /// Counts a line; says whether a reader wants to see it.
    fn line(&mut self, line: &str) -> bool {
        if line.starts_with("ok ") {
            self.tally.passed += 1;
            return false;
        }
        if let Some(what) = line.strip_prefix("not ok ") {
            self.tally.fail(format!("{}: {what}", self.suite));
        } else if let Some(what) = line.strip_prefix("skip ") {
            self.tally.skip(format!("{}: {what}", self.suite));
        }
        true
    }

    /// A suite that crashes, hangs, or prints nothing has failed even if no line says so.
    fn finish(mut self, ended: &Ended) -> Tally {
        match ended {
            Ended::TooLate => self.tally.fail(format!("{}: killed at its deadline", self.suite)),
            Ended::With(status) if !status.success() && self.tally.failed == 0 => {
                self.tally.fail(format!("{}: ended with {status} without naming a failure", self.suite));
            }
            Ended::With(_) if self.tally.passed + self.tally.failed + self.tally.skipped == 0 => {
                self.tally.fail(format!("{}: ended without a result", self.suite));
            }
            Ended::With(_) => {}
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use tools_process::Ended;

    use super::Lines;
    use crate::tally::Tally;

    fn tally(output: &str, ended: &Ended) -> String {
        let mut lines = Lines { suite: "kazoo", tally: Tally::default() };
        for line in output.lines() {
            lines.line(line);
        }
        lines.finish(ended).to_string()
    }

    fn exit(code: i32) -> Ended {
        Ended::With(ExitStatus::from_raw(code << 8))
    }

    #[test]
    fn lines_are_counted_and_chatter_is_not() {
        let output = "# slow\nok create\nok delete\nnot ok watch - no event\nskip sasl - no library\nokay\n";
        assert_eq!(tally(output, &exit(1)), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn silence_death_and_lateness_are_failures() {
        assert_eq!(tally("", &exit(0)), "0 passed, 1 failed, 0 skipped");
        assert_eq!(tally("ok a", &exit(2)), "1 passed, 1 failed, 0 skipped");
        assert_eq!(tally("ok a", &Ended::TooLate), "1 passed, 1 failed, 0 skipped");
    }
}
