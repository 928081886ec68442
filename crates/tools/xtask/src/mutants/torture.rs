//! What finds planted bugs: a simulator, a torture test of `sim`, or a unit test of the crate that has the bug, where no seed
//! brings it about. Built in the scratch copy, run on more and more seeds until one fails.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use tools_process::{Ended, run_lines};

use super::scratch::Scratch;
use crate::workspace::cargo;

/// The package of the council's simulator, which has the torture tests, and its program.
const PACKAGE: &str = "sim-council";
const SIM: &str = "sim";
/// The package of the log's simulator, and its program.
const SIM_LOG: &str = "sim-log";
/// The package of the simulator of objects, and its program.
const SIM_OBJECTS: &str = "sim-objects";
/// Its option that plays whole members.
const MEMBERS: &str = "--members";
/// The first word of what a unit test finds.
const UNIT: &str = "unit";
/// A complete build on a slow machine takes a part of this.
const BUILD_DEADLINE: Duration = Duration::from_secs(60 * 60);
/// A thousand seeds take a part of this. A run that needs more hangs.
const RUN_DEADLINE: Duration = Duration::from_secs(90 * 60);
/// How many seeds a test plays, one try after the other: it does not say itself which seed failed.
const TRIES: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// Optimized, except for what makes each build slow; and a planted bug may leave unused names.
const BUILD_SETTINGS: [(&str, &str); 6] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_INCREMENTAL", "1"),
    ("RUSTFLAGS", "--cap-lints=allow"),
];

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Torture {
    /// Ensembles under faults, judged by the rules.
    Sim,
    /// Brokers under faults, judged by theirs.
    SimLog,
    /// Live objects beside their models.
    SimObjects,
    /// Whole members of the objects' group under faults.
    SimMembers,
    /// A test of one of the test programs of `sim`.
    Test { program: String, test: String },
    /// A unit test of that package, or, behind a `/`, of one of its test programs.
    Unit { package: String, test: String },
}

/// What came to light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Finding {
    /// A rule was broken.
    Rule(u32),
    /// An assertion of the member's own failed, or the member found itself broken.
    Panic,
    /// The ensemble did not come to rest when all faults had ended.
    Rest,
    /// A torture test failed.
    Test,
}

/// A failure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// How many seeds it took, at most.
    pub(super) seeds: u64,
    /// Whether it took exactly as many.
    pub(super) exact: bool,
    /// In order, each once.
    pub(super) findings: Vec<Finding>,
    /// The first of them, in words.
    pub(super) words: String,
}

impl Torture {
    pub(super) fn parse(words: &str) -> anyhow::Result<Self> {
        match words.split_once(' ') {
            None if words == SIM => Ok(Self::Sim),
            None if words == SIM_LOG => Ok(Self::SimLog),
            None if words == SIM_OBJECTS => Ok(Self::SimObjects),
            Some((SIM_OBJECTS, MEMBERS)) => Ok(Self::SimMembers),
            Some((UNIT, rest)) => {
                let (package, test) = rest.split_once(' ').context("`unit PACKAGE TEST` expected")?;
                Ok(Self::Unit { package: package.into(), test: test.into() })
            }
            Some((program, test)) => Ok(Self::Test { program: program.into(), test: test.into() }),
            None => bail!(
                "`sim`, `sim-log`, `sim-objects`, `sim-objects --members`, `PROGRAM TEST` or `unit PACKAGE TEST` expected, not `{words}`"
            ),
        }
    }

    /// Its program, built from the scratch copy as it is now.
    pub(super) fn build(&self, scratch: &Scratch) -> anyhow::Result<PathBuf> {
        let mut command = cargo();
        let (package, name) = match self {
            Self::Sim => {
                command.args(["build", "--bin", SIM]);
                (PACKAGE, SIM.to_owned())
            }
            Self::SimLog => {
                command.args(["build", "--bin", SIM_LOG]);
                (SIM_LOG, SIM_LOG.to_owned())
            }
            Self::SimObjects | Self::SimMembers => {
                command.args(["build", "--bin", SIM_OBJECTS]);
                (SIM_OBJECTS, SIM_OBJECTS.to_owned())
            }
            Self::Test { program, .. } => {
                command.args(["test", "--no-run", "--test", program]);
                (PACKAGE, program.clone())
            }
            Self::Unit { package, .. } => match package.split_once('/') {
                Some((package, program)) => {
                    command.args(["test", "--no-run", "--test", program]);
                    (package, program.to_owned())
                }
                None => {
                    command.args(["test", "--no-run", "--lib"]);
                    (&**package, package.replace('-', "_"))
                }
            },
        };
        command.args(["--release", "--quiet", "--package", package]);
        command.args(["--message-format", "json-render-diagnostics"]);
        command.envs(BUILD_SETTINGS).env("CARGO_TARGET_DIR", &scratch.target);
        command.current_dir(&scratch.copy).stderr(Stdio::inherit());
        let mut built = None;
        let ended = run_lines(&mut command, BUILD_DEADLINE, |line| {
            built = built.take().or_else(|| executable(line, &name));
        })?;
        ensure!(ended.success(), "it does not build ({ended})");
        built.with_context(|| format!("cargo did not say where it built `{name}`"))
    }

    /// The first failure within so many seeds, unless `unchanged`, the same program without the bug, fails as well.
    pub(super) fn first_failure(
        &self,
        program: &Path,
        unchanged: &Path,
        seeds: u64,
    ) -> anyhow::Result<Option<Failure>> {
        match self {
            Self::Sim | Self::SimLog | Self::SimObjects | Self::SimMembers => {
                let option = matches!(self, Self::SimMembers).then_some(MEMBERS);
                let mut from = 0;
                while let Some((seed, failure)) = play(program, option, from, seeds.saturating_sub(from))? {
                    if play(unchanged, option, seed, 1)?.is_none() {
                        return Ok(Some(failure));
                    }
                    println!("  seed {seed} fails without it too, and says nothing");
                    from = seed + 1;
                }
                Ok(None)
            }
            Self::Test { test, .. } | Self::Unit { test, .. } => {
                let mut before = 0;
                for tried in TRIES.into_iter().filter(|tried| *tried <= seeds) {
                    if let Some(words) = try_test(program, test, tried)?
                        && try_test(unchanged, test, tried)?.is_none()
                    {
                        let (findings, exact) = (vec![Finding::Test], tried == before + 1);
                        return Ok(Some(Failure { seeds: tried, exact, findings, words }));
                    }
                    before = tried;
                }
                Ok(None)
            }
        }
    }
}

impl fmt::Display for Torture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sim => write!(f, "{SIM}"),
            Self::SimLog => write!(f, "{SIM_LOG}"),
            Self::SimObjects => write!(f, "{SIM_OBJECTS}"),
            Self::SimMembers => write!(f, "{SIM_OBJECTS} {MEMBERS}"),
            Self::Test { program, test } => write!(f, "{program} {test}"),
            Self::Unit { package, test } => write!(f, "{UNIT} {package} {test}"),
        }
    }
}

impl Finding {
    pub(super) fn parse(word: &str) -> anyhow::Result<Self> {
        match word {
            "panic" => Ok(Self::Panic),
            "rest" => Ok(Self::Rest),
            "test" => Ok(Self::Test),
            number => Ok(Self::Rule(number.parse().with_context(|| format!("`{number}` is no rule"))?)),
        }
    }

    /// What the simulator's line of a run says was found.
    fn of(words: &str) -> Option<Self> {
        if let Some(rule) = words.strip_prefix("rule ") {
            return Some(Self::Rule(rule.split(' ').next()?.parse().ok()?));
        }
        if words.starts_with("it broke: ") {
            return Some(Self::Panic);
        }
        words.starts_with("it does not come to rest").then_some(Self::Rest)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(number) => write!(f, "rule {number}"),
            Self::Panic => write!(f, "an assertion of the member"),
            Self::Rest => write!(f, "no rest"),
            Self::Test => write!(f, "the test"),
        }
    }
}

/// Several of them, in words.
pub(super) fn told(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Cargo's message about an artifact that it built; it writes other messages, too.
#[derive(Deserialize)]
struct Artifact {
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn executable(line: &str, name: &str) -> Option<PathBuf> {
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    artifact.executable.filter(|_| artifact.target.name == name)
}

/// Plays so many seeds until one fails: which, and how.
fn play(
    program: &Path,
    option: Option<&str>,
    from: u64,
    seeds: u64,
) -> anyhow::Result<Option<(u64, Failure)>> {
    let mut command = Command::new(program);
    command.args(option);
    command.args(["--stop", "--from", &from.to_string(), "--seeds", &seeds.to_string()]);
    let mut story = Story::default();
    // Its progress goes to the same place as ours.
    let ended = run_lines(command.stderr(Stdio::inherit()), RUN_DEADLINE, |line| story.line(line))?;
    match (story.failure(), ended) {
        (Some(failure), _) => Ok(Some(failure)),
        (None, Ended::With(status)) if status.success() => Ok(None),
        (None, ended) => bail!("the simulator ended without a reason ({ended})"),
    }
}

/// What the simulator writes.
#[derive(Debug, Default)]
struct Story {
    seed: Option<u64>,
    findings: Vec<Finding>,
    words: String,
}

impl Story {
    fn line(&mut self, line: &str) {
        let Some((seed, words)) = line.strip_prefix("seed ").and_then(|rest| rest.split_once(": ")) else {
            return;
        };
        let (Ok(seed), Some(finding)) = (seed.parse(), Finding::of(words)) else { return };
        if *self.seed.get_or_insert(seed) != seed || self.findings.contains(&finding) {
            return;
        }
        if self.findings.is_empty() {
            words.clone_into(&mut self.words);
        }
        self.findings.push(finding);
    }

    fn failure(self) -> Option<(u64, Failure)> {
        let seed = self.seed?;
        let Self { mut findings, words, .. } = self;
        findings.sort_unstable();
        Some((seed, Failure { seeds: seed + 1, exact: true, findings, words }))
    }
}

/// Runs a test on so many seeds; what it says if it fails.
fn try_test(program: &Path, test: &str, seeds: u64) -> anyhow::Result<Option<String>> {
    let mut command = Command::new(program);
    command.args([test, "--exact"]).env("SIM_SEEDS", seeds.to_string());
    let (mut ran, mut panicked, mut words) = (false, false, String::new());
    let ended = run_lines(command.stderr(Stdio::null()), RUN_DEADLINE, |line| {
        ran |= line == "running 1 test";
        if panicked && words.is_empty() {
            line.clone_into(&mut words);
        }
        panicked |= line.starts_with("thread ") && line.contains(" panicked at ");
    })?;
    ensure!(ran, "there is no test `{test}`");
    match ended {
        Ended::With(status) if status.success() => Ok(None),
        Ended::With(_) => Ok(Some(words)),
        Ended::TooLate => bail!("the test was still running after {} s", RUN_DEADLINE.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seed_that_fails_tells_what_was_found() {
        let mut story = Story::default();
        let text = "seed 6: 3 founders, Appetite {}, Faults { loss: 1 }
     0.100 s  member 1 leads
seed 6: rule 4 (No resurrection): entry 3 was applied, and member 2 applied another
seed 6: rule 2 (Agreement): members 1 and 2 differ at entry 3
seed 6: rule 2 (Agreement): and 3 more
seed 6: it does not come to rest:
client 0: at None
seed 6: 123 steps, hash 00
seed 7: rule 1 (Zxid order): of another seed";
        text.lines().for_each(|line| story.line(line));
        let (seed, failure) = story.failure().expect("it failed");
        assert_eq!((seed, failure.seeds), (6, 7));
        assert_eq!(failure.findings, [Finding::Rule(2), Finding::Rule(4), Finding::Rest]);
        assert!(failure.words.starts_with("rule 4 (No resurrection): entry 3"));
    }

    #[test]
    fn a_run_that_is_clean_tells_nothing() {
        let mut story = Story::default();
        ["reached:", "         3  crash", "1000 passed, 0 failed {}"]
            .iter()
            .for_each(|line| story.line(line));
        assert_eq!(story.failure(), None);
    }

    #[test]
    fn cargo_says_where_the_program_is() {
        let line =
            r#"{"reason":"compiler-artifact","target":{"name":"sim","kind":["bin"]},"executable":"/x/sim"}"#;
        assert_eq!(executable(line, "sim"), Some(PathBuf::from("/x/sim")));
        assert_eq!(executable(line, "council"), None);
        assert_eq!(executable(&line.replace(r#""/x/sim""#, "null"), "sim"), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, "sim"), None);
    }
}
