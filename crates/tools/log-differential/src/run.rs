//! Plays many scripts at once on one pair of brokers, shrinks what fails, and adds up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tools_testbed::PeerError;

use crate::compare::{self, Verdict, compare};
use crate::coverage::Coverage;
use crate::difference::Difference;
use crate::faults::Fault;
use crate::pair::Pair;
use crate::planted::Planted;
use crate::scene;
use crate::schema::Schemas;
use crate::script::{Fixture, Script};
use crate::served::Served;
use crate::story::LeftOut;

/// How often a failing script is played again in search of a shorter one.
const SHRINK_ATTEMPTS: usize = 60;
/// For how long; what waits for a rebalance takes seconds each time.
const SHRINK_TIME: Duration = Duration::from_secs(25);

/// What to play.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scripts.
    pub scripts: Vec<Script>,
    /// How many are played at once. Those of scenes that change what others see are played alone.
    pub workers: usize,
    /// How many kinds of failures are shown.
    pub failures_max: usize,
    /// Faults that do not fail.
    pub open: &'static [Fault],
    /// Whether their scripts are made shorter first.
    pub shrinks: bool,
    /// Where failing scripts are written to.
    pub folder: PathBuf,
    /// How to play a script's file: the command, without the file.
    pub command: String,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Scripts without an unexcused difference.
    pub passed: usize,
    /// Scripts with one.
    pub failed: usize,
    /// Requests sent to each broker.
    pub requests: usize,
    /// Excused fields, by entry of the table.
    pub on_purpose: BTreeMap<&'static str, usize>,
    /// Fields that known faults explained.
    pub faults: BTreeMap<&'static str, usize>,
    /// What the real broker answered.
    pub coverage: Coverage,
    /// The same, in scripts for a cluster.
    pub coverage_of_a_cluster: Coverage,
    /// Changes of our replies that the comparison had to find.
    pub planted: Planted,
    /// How long each scene took at most.
    pub slowest: BTreeMap<String, Duration>,
    /// The kinds of failures.
    pub kinds: BTreeMap<String, FailedSo>,
    /// Brokers that ended by themselves.
    pub ended: Vec<String>,
}

/// What scripts that fail in the same way have in common.
#[derive(Clone, Debug, Default)]
pub struct FailedSo {
    /// How many scripts.
    pub count: usize,
    /// Where the first one differed: seed, script, scene and step.
    pub first: String,
}

impl Tally {
    /// Adds what a script showed, which took so long.
    fn add(&mut self, script: &Script, verdict: &Verdict, took: Duration) {
        self.requests += script.requests();
        let slowest = self.slowest.entry(script.scene.clone()).or_default();
        *slowest = took.max(*slowest);
        match script.fixture {
            Fixture::Cluster => self.coverage_of_a_cluster.merge(&verdict.coverage),
            Fixture::Alone | Fixture::Secured => self.coverage.merge(&verdict.coverage),
        }
        for (entry, count) in &verdict.on_purpose {
            *self.on_purpose.entry(entry).or_default() += count;
        }
        for (fault, count) in &verdict.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        if verdict.differences.is_empty() {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }
}

/// A script that failed, and how.
struct Failure {
    script: Script,
    verdict: Verdict,
}

/// The scripts of a seed, until they hold at least so many requests, and the scenes that were left out.
#[must_use]
pub fn scripts(
    seed: u64,
    requests: usize,
    (served, schemas): (&Served, &Schemas),
    chosen: impl Fn(&str) -> bool,
) -> (Vec<Script>, BTreeMap<&'static str, LeftOut>) {
    let (mut scripts, mut left_out, mut total) = (Vec::new(), BTreeMap::new(), 0);
    // How many in a row were left out: behind the rounds, the scenes that are chosen may have no script any more.
    let mut missed = 0;
    for number in 0.. {
        let round_is_over = number % scene::ALL.len() == 0 || scene::is_beyond_rounds(number);
        if round_is_over && (total >= requests || missed >= scene::ALL.len()) {
            break;
        }
        let scene = scene::of(number);
        missed += 1;
        if !chosen(scene.name) {
            continue;
        }
        match scene::script(seed, number, served, schemas) {
            Ok(script) => {
                total += script.requests();
                scripts.push(script);
                missed = 0;
            }
            Err(lacking) => drop(left_out.insert(scene.name, lacking)),
        }
    }
    (scripts, left_out)
}

/// The scripts of a seed for a cluster, one of each scene, and the scenes that were left out.
#[must_use]
pub fn scripts_of_a_cluster(
    seed: u64,
    (served, schemas): (&Served, &Schemas),
    chosen: impl Fn(&str) -> bool,
) -> (Vec<Script>, BTreeMap<&'static str, LeftOut>) {
    let (mut scripts, mut left_out) = (Vec::new(), BTreeMap::new());
    for number in 0..scene::count_of_a_cluster() {
        match scene::script_of_a_cluster(seed, number, served, schemas) {
            (scene, _) if !chosen(scene) => {}
            (_, Ok(script)) => scripts.push(script),
            (scene, Err(lacking)) => drop(left_out.insert(scene, lacking)),
        }
    }
    (scripts, left_out)
}

/// Plays the plan; reports of failures go to `report` as they happen.
///
/// # Errors
/// A broker ends and does not start again, a script is none, or a file cannot be written.
pub fn run(plan: &Plan, pair: &mut Pair, report: &mut dyn FnMut(&str)) -> Result<Tally, PeerError> {
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    let (alone, together): (Vec<&Script>, Vec<&Script>) =
        plan.scripts.iter().partition(|script| scene::is_alone(&script.scene));
    for (scripts, workers) in [(together, plan.workers), (alone, 1)] {
        failures.extend(play_all(&scripts, (workers, plan.open), pair, &mut tally)?);
        for ended in pair.revive()? {
            tally.failed += 1;
            report(&ended);
            tally.ended.push(ended);
        }
    }
    let (mut shown, mut reports) = (BTreeSet::new(), 0);
    for Failure { script, verdict } in failures {
        for kind in verdict.kinds() {
            let failed = tally.kinds.entry(kind.clone()).or_default();
            failed.count += 1;
            if failed.first.is_empty() {
                failed.first = place(&script, &verdict, &kind);
            }
            if reports < plan.failures_max && !shown.contains(&kind) {
                reports += 1;
                // The fields that differ with it are in the same report.
                let step = verdict.of_kind(&kind).into_iter().flat_map(|step| &step.fields);
                shown.extend(step.map(Difference::kind));
                report(&match plan.shrinks {
                    true => shrunk(&script, &verdict, &kind, plan, pair)?,
                    false => text(&script, &verdict, &kind),
                });
                pair.revive()?.iter().for_each(|ended| report(ended));
            }
        }
    }
    Ok(tally)
}

fn play_all(
    scripts: &[&Script],
    (workers, open): (usize, &[Fault]),
    pair: &Pair,
    tally: &mut Tally,
) -> Result<Vec<Failure>, PeerError> {
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((tally, Vec::new()));
    let work = || -> Result<(), PeerError> {
        while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let began = Instant::now();
            let (verdict, planted) = judge(pair, script, open)?;
            let took = began.elapsed();
            let mut shared = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (tally, failures) = &mut *shared;
            tally.add(script, &verdict, took);
            tally.planted.merge(planted);
            if !verdict.differences.is_empty() {
                failures.push(Failure { script: (*script).clone(), verdict });
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let (_, mut failures) = shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failures.sort_by_key(|failure| failure.script.number);
    Ok(failures)
}

fn judge(pair: &Pair, script: &Script, open: &[Fault]) -> Result<(Verdict, Planted), PeerError> {
    let played = pair.play(script).map_err(|what| PeerError::Io {
        what: format!("seed {}, script {} ({})", script.seed, script.number, script.scene).into(),
        source: std::io::Error::other(what),
    });
    let [kafka, ours] = played?;
    Ok((compare(script, &kafka, &ours, open), Planted::into(script, &kafka, &ours, open)))
}

/// Plays a script and tells all that both brokers showed.
///
/// # Errors
/// The script is none.
pub fn trace(pair: &Pair, script: &Script) -> Result<String, String> {
    let [kafka, ours] = pair.play(script)?;
    Ok(compare::trace(script, &kafka, &ours))
}

/// Drops steps as long as the rest shows the same kind of difference, writes the script to a file, and says how to play it.
fn shrunk(
    script: &Script,
    first: &Verdict,
    kind: &str,
    plan: &Plan,
    pair: &Pair,
) -> Result<String, PeerError> {
    let mut shortest = text(script, first, kind);
    let until = Instant::now() + SHRINK_TIME;
    // What comes after the difference did not cause it.
    let end = first.of_kind(kind).map_or(script.steps.len(), |differs| differs.step + 1);
    let keep = tools_testbed::shrink((0..end).collect(), SHRINK_ATTEMPTS, |candidate| {
        if Instant::now() > until {
            return Ok(false);
        }
        let candidate = script.only(candidate);
        let (verdict, _) = judge(pair, &candidate, plan.open)?;
        let same = verdict.of_kind(kind).is_some();
        if same {
            shortest = text(&candidate, &verdict, kind);
        }
        Ok::<bool, PeerError>(same)
    })?;
    let short = script.only(&keep);
    let name: String =
        kind.chars().map(|character| if character.is_alphanumeric() { character } else { '-' }).collect();
    let file = plan.folder.join(format!("{}-{}-{name}.json", script.seed, script.number));
    fs::create_dir_all(&plan.folder).map_err(PeerError::io(&plan.folder))?;
    let json = serde_json::to_string_pretty(&short).unwrap_or_default();
    fs::write(&file, json).map_err(PeerError::io(&file))?;
    let mut out = format!("{shortest}\n{} of {} steps:\n", short.steps.len(), script.steps.len());
    for (index, step) in short.steps.iter().enumerate() {
        let _ = writeln!(out, "  [{index}] {step}");
    }
    let _ = writeln!(out, "play it again: {} --script {}", plan.command, file.display());
    Ok(out)
}

/// Where a script differs in such a way.
fn place(script: &Script, verdict: &Verdict, kind: &str) -> String {
    let Script { seed, number, scene, .. } = script;
    let step = verdict.of_kind(kind).map(|differs| format!(", step {}", differs.step));
    format!("seed {seed}, script {number} ({scene}){}", step.unwrap_or_default())
}

fn text(script: &Script, verdict: &Verdict, kind: &str) -> String {
    let mut out = format!("DIFFERENCE {kind}\n  {}", place(script, verdict, kind));
    if let Some(differs) = verdict.of_kind(kind) {
        if let Some(step) = script.steps.get(differs.step) {
            let _ = write!(out, "\n  {step}");
        }
        let _ = write!(out, "\n{differs}");
    }
    out
}
