//! Running experiments: which system's turn it is, what is kept of what they did, what is left to do.
//!
//! Within an experiment and a repetition, systems take turns on the same task, each over servers of its own that are
//! alone on the machine, and whose turn it is first changes from one repetition to the next. A point whose checks found
//! something wrong is no figure: it is kept as failed.

mod brokers;
mod fate;
mod gather;
mod header;
mod progress;
mod systems;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use council_client::load::Patience;
use tools_lab_report::record::{Failed, Key, Run, Skipped, StoreError};
use tools_testbed::PeerError;
use tools_testbed::meter::{Calls, Reading};

use crate::experiment::{Block, Experiment, Plan, Scale, Spec, Split};
use crate::measure::{CallsOf, First, Sources, Stand, StandError, System, Turns, raise_open_files};
use crate::task::{Kind, Outcome, Performer, Step, Task};

pub use progress::{News, Tell};

use gather::Read;
use header::header;
use progress::Progress;
use systems::Found;

/// Why a system is left out of an experiment.
const NOT_FOR_IT: &str = "it takes no part in this";

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which experiments.
    pub experiments: Vec<&'static Experiment>,
    /// Which systems, by name, in the order of the report.
    pub systems: Vec<String>,
    /// Where these come from.
    pub sources: Sources,
    /// How much of everything.
    pub scale: Scale,
    /// What everything random is drawn from.
    pub seed: u64,
    /// How often each point is measured.
    pub repetitions: u32,
    /// Where the run is kept.
    pub folder: PathBuf,
    /// Whether it goes on with what is there.
    pub resume: bool,
    /// Where servers keep their data while they run.
    pub data: PathBuf,
    /// How long servers may be silent.
    pub patience: Duration,
    /// The exact command.
    pub command: String,
    /// When it was begun, RFC 3339.
    pub begun: String,
}

/// Runs everything that was not run yet; `stop` in `patience` ends it with what was measured until then.
///
/// # Errors
/// The run cannot be kept.
pub fn run(options: &Options, patience: &Patience, tell: &mut Tell<'_>) -> Result<Run, StoreError> {
    raise_open_files();
    let plans: Vec<_> =
        options.experiments.iter().map(|experiment| (*experiment, experiment.plan(&options.scale))).collect();
    let found = Found::of(options, &plans, tell);
    let header = header(options, &found);
    let run = match options.resume {
        true => Run::go_on(&options.folder, &header)?,
        false => Run::begin(&options.folder, header)?,
    };
    let systems = &found.systems;
    let turns =
        |plan: &Plan| systems.iter().filter(|system| plan.has(system)).count() * options.repetitions as usize;
    let of_brokers = plans.iter().map(|(_, plan)| brokers::estimate(plan, &found.contestants, options));
    let progress = Progress::new(&plans, &options.scale, turns).and(of_brokers.sum());
    let mut conductor = Conductor { options, patience, run, progress, tell, turn: 0 };
    for (experiment, plan) in &plans {
        for (name, error) in found.missing(plan) {
            conductor.skip(experiment.about.id, name, reason(error))?;
        }
        if !plan.brokers.is_empty() {
            conductor.brokers(experiment, plan, &found.contestants)?;
            continue;
        }
        let (taking_part, others): (Vec<_>, Vec<_>) = systems.iter().partition(|system| plan.has(system));
        for system in others {
            conductor.skip(experiment.about.id, system.name(), String::from(NOT_FOR_IT))?;
        }
        for (system, beyond) in
            taking_part.iter().flat_map(|system| plan.beyond.iter().map(move |what| (system, what)))
        {
            conductor.skip(experiment.about.id, system.name(), beyond.clone())?;
        }
        conductor.experiment(experiment, plan, &taking_part)?;
    }
    Ok(conductor.run)
}

fn reason(error: &PeerError) -> String {
    error.to_string()
}

struct Conductor<'a, 'b> {
    options: &'a Options,
    patience: &'a Patience,
    run: Run,
    progress: Progress,
    tell: &'a mut Tell<'b>,
    /// Numbers the folders of servers.
    turn: u32,
}

impl Conductor<'_, '_> {
    fn is_stopped(&self) -> bool {
        self.patience.check().is_err()
    }

    fn skip(&mut self, experiment: &str, system: &str, reason: String) -> Result<(), StoreError> {
        (self.tell)(News::Skipped { experiment, system, reason: &reason });
        let (experiment, system) = (experiment.to_owned(), system.to_owned());
        self.run.skip(Skipped { experiment, system, reason })
    }

    fn fail(
        &mut self,
        experiment: &str,
        system: &str,
        at: &str,
        reason: &str,
        missing: Vec<Key>,
    ) -> Result<(), StoreError> {
        if self.is_stopped() {
            // What ended with everything else did not fail.
            return Ok(());
        }
        (self.tell)(News::Failed { experiment, system, at, reason });
        let failed = Failed {
            experiment: experiment.to_owned(),
            system: system.to_owned(),
            at: at.to_owned(),
            reason: reason.to_owned(),
            missing,
        };
        self.run.fail(failed)
    }

    fn experiment(
        &mut self,
        experiment: &Experiment,
        plan: &Plan,
        systems: &[&System],
    ) -> Result<(), StoreError> {
        let turns = Turns { first: First::Next, repetitions: self.options.repetitions };
        for repetition in turns.repetitions() {
            for block in &plan.blocks {
                for system in turns.order(repetition, systems.len()).map(|place| systems[place]) {
                    if self.is_stopped() {
                        return Ok(());
                    }
                    let began = Instant::now();
                    self.block(experiment, plan, block, system, repetition)?;
                    self.progress.done(Progress::of_block(block, &self.options.scale), began.elapsed());
                }
            }
        }
        Ok(())
    }

    /// The keys of the points that come of a spec.
    fn keys(&self, id: &str, system: &str, spec: &Spec, repetition: u32) -> Vec<Key> {
        let key = |series: String, at: String| Key {
            experiment: id.to_owned(),
            system: system.to_owned(),
            series,
            at,
            repetition,
        };
        let steps = spec.task.steps.iter().map(|step| step.name());
        match spec.split {
            Split::Whole => vec![key(spec.series.clone(), spec.at.clone())],
            Split::Series => steps
                .map(|step| key(format!("{step} {}", spec.series).trim().to_owned(), spec.at.clone()))
                .collect(),
            Split::Places => steps.map(|step| key(spec.series.clone(), step.to_owned())).collect(),
        }
    }

    /// The keys of those points that were not measured yet.
    fn missing(&self, id: &str, system: &str, specs: &[Spec], repetition: u32) -> Vec<Key> {
        let keys = specs.iter().flat_map(|spec| self.keys(id, system, spec, repetition));
        keys.filter(|key| !self.run.has(key)).collect()
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one measurement with every way in which it may be skipped or fail"
    )]
    fn block(
        &mut self,
        experiment: &Experiment,
        plan: &Plan,
        block: &Block,
        system: &System,
        repetition: u32,
    ) -> Result<(), StoreError> {
        let (id, name) = (experiment.about.id, system.name());
        let places = || block.specs.iter().map(Spec::place).collect::<Vec<_>>().join(", ");
        if !block.has(system) {
            return self.skip(id, name, format!("{}: {NOT_FOR_IT}", places()));
        }
        if matches!(system, System::Elsewhere { servers, .. } if !fits(plan, block, servers.list.len())) {
            return Ok(());
        }
        let lacking = self.missing(id, name, &block.specs, repetition);
        if lacking.is_empty() {
            return Ok(());
        }
        self.turn += 1;
        self.say(id, name, repetition, &format!("starting {} servers", block.setting.servers));
        let folder = self.options.data.join(format!("lab-{}-{}", std::process::id(), self.turn));
        let stand = Stand::start(system, &block.setting, &folder);
        let mut stand = match stand {
            Ok(stand) => stand,
            Err(StandError::Missing(what)) => {
                return self.skip(id, name, format!("{}: {what}", places()));
            }
            Err(error) => return self.fail(id, name, "start", &error.to_string(), lacking),
        };
        if let Err(error) = self.warm_up(&stand) {
            return self.fail(id, name, "warm-up", &error.to_string(), lacking);
        }
        for spec in &block.specs {
            if self.is_stopped() {
                break;
            }
            let at = spec.place();
            let missing = self.missing(id, name, std::slice::from_ref(spec), repetition);
            self.say(id, name, repetition, &at);
            let measured = self.spec(spec, &mut stand, !missing.is_empty(), repetition);
            let lasting = match measured {
                Ok(None) => continue,
                Ok(Some((outcome, read))) if outcome.wrong.is_empty() => {
                    let keys = self.keys(id, name, spec, repetition);
                    for point in gather::points(keys, spec, &outcome, &read) {
                        self.run.add(point)?;
                    }
                    continue;
                }
                Ok(Some((outcome, _))) => {
                    self.fail(id, name, &at, &outcome.wrong.join("; "), missing)?;
                    continue;
                }
                Err(error) => error,
            };
            // All later tasks on these servers would fail, too.
            let missing = self.missing(id, name, &block.specs, repetition);
            return self.fail(id, name, &at, &lasting.to_string(), missing);
        }
        Ok(())
    }

    fn say(&mut self, id: &str, system: &str, repetition: u32, what: &str) {
        let of = self.options.repetitions;
        let text = match of {
            1 => format!("{id} {system}: {what}"),
            _ => format!("{id} {system} {repetition}/{of}: {what}"),
        };
        (self.tell)(News::Left { done: self.progress.part(), left: self.progress.left() });
        (self.tell)(News::Doing(&text));
    }

    /// Fresh servers do a little of everything, and keep nothing of it: what a JVM has not compiled yet says nothing.
    fn warm_up(&self, stand: &Stand) -> Result<(), StandError> {
        if !stand.is_ours() {
            return Ok(());
        }
        let steps = vec![Step::Create, Step::Set, Step::Get, Step::Delete];
        let task = Task {
            clients: 20,
            value_bytes: 100,
            measured_ms: self.options.scale.warm_up_ms(),
            steps,
            patience_ms: self.options.patience.as_millis() as u64,
            ..Task::of(Kind::Own)
        };
        let io = |source| StandError::Io { what: "the warm-up", source };
        Performer::of(stand).perform(&task, None, self.patience, &mut |_, _| {}).map(drop).map_err(io)
    }

    /// Prepares a spec, and measures it if it is missing.
    fn spec(
        &self,
        spec: &Spec,
        stand: &mut Stand,
        missing: bool,
        repetition: u32,
    ) -> Result<Option<(Outcome, Read)>, StandError> {
        let performer = Performer::of(stand);
        let told = |task: &Task| Task {
            patience_ms: self.options.patience.as_millis() as u64,
            seed: self.options.seed.wrapping_add(u64::from(repetition)),
            ..task.clone()
        };
        let io = |source| StandError::Io { what: "the load", source };
        if let Some(prepare) = &spec.prepare {
            stand.clear_if_foreign(prepare.from)?;
            performer.perform(&told(prepare), None, self.patience, &mut |_, _| {}).map_err(io)?;
        }
        if !missing {
            return Ok(None);
        }
        let only = match spec.at_leader && stand.is_ours() {
            true => Some(stand.leader()?),
            false => None,
        };
        let task = told(&spec.task);
        let mut read = Read { load_is_here: performer.is_here(), ..Read::default() };
        let outcome = match spec.fates.is_empty() || !stand.is_ours() {
            true => {
                let pids = stand.pids();
                performer.perform(&task, only, self.patience, &mut |edge, phase| {
                    read.meters.edge(edge, phase, Reading::of(&pids));
                })
            }
            false => fate::perform(&performer, &task, &spec.fates, stand, self.patience, &mut read),
        };
        let outcome = outcome.map_err(io)?;
        read.disk_bytes = stand.disk_bytes();
        if spec.counts_calls && outcome.wrong.is_empty() {
            read.meters.count(self.calls(&told(&spec.in_short()), only, stand, &performer));
        }
        Ok(Some((outcome, read)))
    }

    /// System calls an operation of each phase, in a short turn of their own: counting them costs the servers something.
    fn calls(
        &self,
        task: &Task,
        only: Option<usize>,
        stand: &Stand,
        performer: &Performer,
    ) -> BTreeMap<String, CallsOf> {
        let folder = self.options.data.join(format!("lab-{}-calls", std::process::id()));
        let mut calls = Calls::of(stand.pids(), &folder);
        let outcome =
            performer.perform(task, only, self.patience, &mut |edge, phase| calls.edge(edge, phase));
        let counts = calls.counts();
        // It was made where something was counted.
        let _ = std::fs::remove_dir_all(folder);
        let phases = outcome.map(|outcome| outcome.phases).unwrap_or_default();
        let counted = phases.iter().filter_map(|phase| {
            let calls = *counts.get(&phase.name)?;
            Some((phase.name.clone(), CallsOf { calls, operations: phase.operations }))
        });
        counted.collect()
    }
}

/// Whether servers that the lab did not start take part in this block: it is for as many, or no other one is and it is
/// first.
fn fits(plan: &Plan, block: &Block, servers: usize) -> bool {
    let of = |block: &Block| block.setting.servers + block.setting.observers;
    match plan.blocks.iter().any(|other| of(other) == servers) {
        true => of(block) == servers,
        false => plan.blocks.first().is_some_and(|first| of(first) == of(block)),
    }
}
