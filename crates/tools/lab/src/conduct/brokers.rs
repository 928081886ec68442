//! Experiments on the log: contestants take turns on each block, every time over a fresh broker that is alone on the machine.

use std::time::{Duration, Instant};

use tools_lab_report::record::{Key, StoreError};
use tools_testbed::meter::Reading;

use super::gather::{self, Read};
use super::{Conductor, Options};
use crate::experiment::{BrokerBlock, BrokerSpec, Experiment, Plan};
use crate::log::{Contestant, Seen, Stand, Turn, perform};
use crate::measure::{First, StandError, Turns};

/// How long all contestants take for a plan, roughly.
pub(super) fn estimate(plan: &Plan, contestants: &[Contestant], options: &Options) -> Duration {
    let of_block = |block: &BrokerBlock| -> Duration {
        let taking_part = contestants.iter().filter(|contestant| block.has(contestant));
        taking_part.map(|contestant| block.estimate(contestant, &options.scale)).sum()
    };
    plan.brokers.iter().map(of_block).sum::<Duration>() * options.repetitions
}

impl Conductor<'_, '_> {
    /// All of an experiment on the log.
    pub(super) fn brokers(
        &mut self,
        experiment: &Experiment,
        plan: &Plan,
        contestants: &[Contestant],
    ) -> Result<(), StoreError> {
        let turns = Turns { first: First::Next, repetitions: self.options.repetitions };
        for repetition in turns.repetitions() {
            for block in &plan.brokers {
                let taking_part: Vec<_> =
                    contestants.iter().filter(|contestant| block.has(contestant)).collect();
                for place in turns.order(repetition, taking_part.len()) {
                    if self.is_stopped() {
                        return Ok(());
                    }
                    let contestant = taking_part[place];
                    let began = Instant::now();
                    self.broker_block(experiment, block, contestant, repetition)?;
                    let planned = block.estimate(contestant, &self.options.scale);
                    self.progress.done(planned, began.elapsed());
                }
            }
        }
        Ok(())
    }

    fn broker_block(
        &mut self,
        experiment: &Experiment,
        block: &BrokerBlock,
        contestant: &Contestant,
        repetition: u32,
    ) -> Result<(), StoreError> {
        let (id, name) = (experiment.about.id, contestant.name());
        let lacking = self.lacking(id, block, contestant, repetition);
        if lacking.is_empty() {
            return Ok(());
        }
        self.turn += 1;
        self.say(id, name, repetition, "starting");
        let folder = self.options.data.join(format!("lab-{}-{}", std::process::id(), self.turn));
        let mut stand = match Stand::start(contestant, block.brokers, block.heap_mb, &folder) {
            Ok(stand) => stand,
            Err(StandError::Missing(what)) => return self.skip(id, name, what),
            Err(error) => {
                let keys = lacking.into_iter().map(|(_, key)| key).collect();
                return self.fail(id, name, "start", &error.to_string(), keys);
            }
        };
        for (number, (spec, key)) in (0..).zip(lacking) {
            if self.is_stopped() {
                break;
            }
            self.say(id, name, repetition, &spec.place());
            let wrong = match job(spec, &mut stand, self.turn_of(contestant, number)) {
                Ok((seen, read)) if seen.outcome.wrong.is_empty() => {
                    self.run.add(gather::broker_point(key, spec, &seen, &read))?;
                    continue;
                }
                Ok((seen, _)) => seen.outcome.wrong.join("; "),
                Err(error) => error.to_string(),
            };
            self.fail(id, name, &spec.place(), &wrong, vec![key])?;
            if stand.has_ended().is_some() {
                // All that follows would fail, too.
                break;
            }
        }
        Ok(())
    }

    /// The job of that number on a fresh broker.
    fn turn_of(&self, contestant: &Contestant, number: u32) -> Turn {
        let Options { scale, patience, .. } = self.options;
        let warm_up = scale.broker_warm_up(contestant, number == 0);
        Turn { number, warm_up, measured: scale.measured, patience: *patience }
    }

    /// What that contestant does of a block and was not measured yet, with the keys of the points.
    fn lacking<'b>(
        &self,
        id: &str,
        block: &'b BrokerBlock,
        contestant: &Contestant,
        repetition: u32,
    ) -> Vec<(&'b BrokerSpec, Key)> {
        let specs = block.specs.iter().filter(|spec| spec.job.is_for(contestant));
        let keyed = specs.map(|spec| {
            let key = Key {
                experiment: id.to_owned(),
                system: contestant.name().to_owned(),
                series: spec.series.clone(),
                at: spec.at.clone(),
                repetition,
            };
            (spec, key)
        });
        keyed.filter(|(_, key)| !self.run.has(key)).collect()
    }
}

/// Does a job, and reads the meters at its edges.
fn job(spec: &BrokerSpec, stand: &mut Stand, turn: Turn) -> std::io::Result<(Seen, Read)> {
    let mut read = Read { load_is_here: true, ..Read::default() };
    // Some jobs start the broker again before they measure.
    let pids = stand.live_pids();
    let seen = perform(&spec.job, stand, turn, &mut |edge, phase| {
        read.meters.edge(edge, phase, Reading::of(&pids.now()));
    })?;
    read.disk_bytes = stand.disk_bytes();
    Ok((seen, read))
}
