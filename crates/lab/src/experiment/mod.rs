//! The published experiments, one module each: what is set up, what is varied, what is drawn, and what was published.
//!
//! An experiment is data. Its plan lists *blocks* (servers that are started together) of *specs* (a task, and where its
//! figures stand in the picture), and *forecasts* for what no machine here holds. Who runs it, how often, and where
//! figures are kept is not its business.

mod c1;
mod c2;
mod c3;
mod c4;
mod c5;
mod r1;
mod r2;
mod r3;
mod r4;
mod r5;
mod z1;
mod z2;
mod z3;
mod z4;
mod z5;
mod z6;

use std::time::Duration;

use sim::cost::Setup;

use crate::stand::Setting;
use crate::task::{Kind, Step, Task};

/// Names of figures, as points have them.
pub mod figure {
    /// Requests a second.
    pub const RATE: &str = "rate (op/s)";
    /// The mean latency.
    pub const MEAN: &str = "mean (ms)";
    /// A percentile of the latency.
    pub const P50: &str = "p50 (ms)";
    /// See above.
    pub const P90: &str = "p90 (ms)";
    /// See above.
    pub const P99: &str = "p99 (ms)";
    /// See above.
    pub const P999: &str = "p99.9 (ms)";
    /// See above.
    pub const P9999: &str = "p99.99 (ms)";
    /// The longest.
    pub const MAX: &str = "longest (ms)";
    /// Processor time of all servers, a request.
    pub const CPU: &str = "server cpu (us/op)";
    /// Processor time of the load, a request.
    pub const LOAD_CPU: &str = "load cpu (us/op)";
    /// Resident memory of all servers.
    pub const MEMORY: &str = "memory (MiB)";
    /// Bytes that went to disks, a request.
    pub const WRITTEN: &str = "written (B/op)";
    /// System calls of all servers, a request.
    pub const CALLS: &str = "system calls (/op)";
    /// What all servers' files take at the end.
    pub const DISK: &str = "disk (MiB)";
    /// Requests answered with an error.
    pub const ERRORS: &str = "errors";
    /// Requests whose answers were lost.
    pub const LOST: &str = "lost answers";
    /// The longest time without any answer.
    pub const OUTAGE: &str = "longest outage (ms)";

    /// The curve of how many took no longer.
    pub const DISTRIBUTION: &str = "distribution";
    /// The curve of the longest latency of each 10 ms.
    pub const LATENCY_OVER_TIME: &str = "latency over time";
    /// The curve of answers in each 10 ms.
    pub const RATE_OVER_TIME: &str = "rate over time";
}

/// A sentence in both languages of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Arabic.
    pub ar: &'static str,
}

const fn text(en: &'static str, ar: &'static str) -> Text {
    Text { en, ar }
}

/// An experiment.
#[derive(Debug)]
pub struct Experiment {
    /// As `Z1`.
    pub id: &'static str,
    /// What it is about.
    pub title: Text,
    /// What was set up and varied when it was published.
    pub setup: Text,
    /// What was published.
    pub published: Text,
    /// Published figures that a picture can show.
    pub references: &'static [Reference],
    /// The pictures.
    pub panels: &'static [Panel],
    /// The figures whose ratios to the peers stand first.
    pub ratios: &'static [&'static str],
    /// What is to be done.
    pub plan: fn(&Scale) -> Plan,
}

/// Published figures, of their time and machines.
#[derive(Debug)]
pub struct Reference {
    /// Which line.
    pub series: &'static str,
    /// Which figure.
    pub figure: &'static str,
    /// Places and values.
    pub points: &'static [(f64, f64)],
}

/// A picture.
#[derive(Debug)]
pub struct Panel {
    /// What it shows.
    pub title: Text,
    /// What is on the horizontal axis.
    pub x: Text,
    /// The figure, or the curve, on the vertical one.
    pub figure: &'static str,
    /// How it is drawn.
    pub shape: Shape,
}

/// How a panel is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line through the points of each series.
    Lines,
    /// As [`Shape::Lines`], with a logarithmic horizontal axis.
    LinesOverLog,
    /// Bars for each place, which is a word.
    Bars,
    /// The curve that each point has, of that series or of all.
    Curves(Option<&'static str>),
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// As published, instead of what a small machine does within minutes.
    pub paper: bool,
    /// How long a point is measured.
    pub measured: Duration,
    /// Before it.
    pub warm_up: Duration,
}

impl Scale {
    /// How often each point is measured unless told otherwise.
    pub const REPETITIONS: u32 = 2;

    /// What finishes on a small machine within an hour.
    #[must_use]
    pub const fn small() -> Self {
        Self { paper: false, measured: Duration::from_millis(2000), warm_up: Duration::from_millis(700) }
    }

    /// As published.
    #[must_use]
    pub const fn paper() -> Self {
        Self { paper: true, measured: Duration::from_secs(30), warm_up: Duration::from_secs(5) }
    }

    /// Points measured for so long, and warmed up for as much less.
    #[must_use]
    pub fn lasting(self, measured: Duration) -> Self {
        let warm_up = self.warm_up.mul_f64(measured.as_secs_f64() / self.measured.as_secs_f64());
        Self { measured, warm_up, ..self }
    }

    /// How long freshly started servers do each of a few things before any point, milliseconds.
    #[must_use]
    pub fn warm_up_ms(&self) -> u64 {
        self.measured_ms(0.25)
    }

    /// What is done on a small machine, or as published.
    fn pick<T>(&self, small: T, paper: T) -> T {
        if self.paper { paper } else { small }
    }

    /// A part or a multiple of the time that a point is measured, milliseconds.
    fn measured_ms(&self, times: f64) -> u64 {
        (self.measured.as_secs_f64() * 1000.0 * times) as u64
    }

    /// Random reads and writes of shared nodes, closed.
    fn mixed(&self, clients: usize, outstanding: usize, writes_per_mille: u32) -> Task {
        Task {
            clients,
            outstanding,
            writes_per_mille,
            warm_up_ms: self.warm_up.as_millis() as u64,
            measured_ms: self.measured_ms(1.0),
            ..Task::of(Kind::Mixed)
        }
    }

    /// Each client on nodes of its own: as published so many requests each, here for so long.
    fn own(&self, clients: usize, count: u32, value_bytes: usize, steps: &[Step]) -> Task {
        Task {
            clients,
            value_bytes,
            count: self.pick(u32::MAX, count),
            measured_ms: self.pick(self.measured_ms(1.0), 0),
            steps: steps.to_vec(),
            ..Task::of(Kind::Own)
        }
    }
}

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// On real servers.
    pub blocks: Vec<Block>,
    /// By the simulator's cost mode, for Diwan alone.
    pub forecasts: Vec<Forecast>,
}

/// Servers that are started together, and what is measured on them.
#[derive(Clone, Debug)]
pub struct Block {
    /// The servers.
    pub setting: Setting,
    /// What is measured.
    pub specs: Vec<Spec>,
    /// Whether there is no such thing with etcd.
    pub not_etcd: Option<&'static str>,
}

impl Block {
    fn of(servers: usize, specs: Vec<Spec>) -> Self {
        Self { setting: Setting::of(servers), specs, not_etcd: None }
    }
}

/// How the phases of a task become points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// All of them are one point.
    Whole,
    /// Each is a series.
    Series,
    /// Each is a place.
    Places,
}

/// One task, and where its figures stand.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The line of the figure.
    pub series: String,
    /// Where on it.
    pub at: String,
    /// What becomes of phases.
    pub split: Split,
    /// What must be there before it; nothing of it is measured.
    pub prepare: Option<Task>,
    /// What is measured.
    pub task: Task,
    /// Whether clients use the leader alone.
    pub at_leader: bool,
    /// What befalls the servers, and how many milliseconds after measuring began.
    pub fates: Vec<(u64, Fate)>,
    /// Whether a short turn more counts system calls.
    pub counts_calls: bool,
}

impl Spec {
    fn new(series: impl Into<String>, at: impl ToString, task: Task) -> Self {
        Self {
            series: series.into(),
            at: at.to_string(),
            split: Split::Whole,
            prepare: None,
            task,
            at_leader: false,
            fates: Vec::new(),
            counts_calls: false,
        }
    }

    /// The shared nodes that its task needs are made first, from the `from`th on.
    fn prepared(mut self, from: u32) -> Self {
        self.prepare = Some(Task { kind: Kind::Prepare, from, ..self.task.clone() });
        self
    }

    fn split(self, split: Split) -> Self {
        Self { split, ..self }
    }

    /// Where it stands, in words.
    #[must_use]
    pub fn place(&self) -> String {
        let steps: Vec<_> = match self.split {
            Split::Whole => Vec::new(),
            Split::Series | Split::Places => self.task.steps.iter().map(|step| step.name()).collect(),
        };
        let words = [steps.join(", "), self.series.clone(), self.at.clone()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// How long it takes, roughly.
    #[must_use]
    pub fn estimate(&self) -> Duration {
        let phases = self.task.steps.len().max(1) as u64;
        let made = self.prepare.as_ref().map_or(0, |task| u64::from(task.keys - task.from) / 15);
        let turns = match self.task.kind {
            Kind::Barriers => u64::from(self.task.count) * self.task.clients as u64 / 5,
            _ => self.task.measured_ms * phases,
        };
        Duration::from_millis(self.task.warm_up_ms + turns + made + 400)
    }
}

/// What befalls servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Whoever leads is killed (SIGKILL), and stays so.
    KillLeader,
    /// Whoever leads stands still (SIGSTOP) for so many milliseconds.
    PauseLeader(u64),
    /// No packet gets between whoever leads and the others for so many milliseconds; clients reach all.
    CutLeaderOff(u64),
    /// Each is stopped (SIGTERM) and started again, the leader last.
    RollingRestart,
}

/// What no machine here holds.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The line of the figure.
    pub series: String,
    /// Where on it.
    pub at: String,
    /// Who does what.
    pub setup: Setup,
}

/// All of them, in the order of the papers.
pub const ALL: [&Experiment; 16] = [
    &z1::EXPERIMENT,
    &z2::EXPERIMENT,
    &z3::EXPERIMENT,
    &z4::EXPERIMENT,
    &z5::EXPERIMENT,
    &z6::EXPERIMENT,
    &c1::EXPERIMENT,
    &c2::EXPERIMENT,
    &c3::EXPERIMENT,
    &c4::EXPERIMENT,
    &c5::EXPERIMENT,
    &r1::EXPERIMENT,
    &r2::EXPERIMENT,
    &r3::EXPERIMENT,
    &r4::EXPERIMENT,
    &r5::EXPERIMENT,
];

/// The experiment of that name, however it is written.
#[must_use]
pub fn named(id: &str) -> Option<&'static Experiment> {
    ALL.into_iter().find(|experiment| experiment.id.eq_ignore_ascii_case(id))
}

fn servers(count: usize) -> String {
    format!("{count} servers")
}

fn clients(count: usize) -> String {
    format!("{count} clients")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_says_everything_in_both_languages_and_has_work_at_both_scales() {
        let is_arabic = |text: &str| text.chars().any(|letter| ('\u{600}'..'\u{700}').contains(&letter));
        for experiment in ALL {
            let mut texts = vec![experiment.title, experiment.setup, experiment.published];
            texts.extend(experiment.panels.iter().flat_map(|panel| [panel.title, panel.x]));
            for Text { en, ar } in texts {
                assert!(!en.is_empty() && is_arabic(ar) && !is_arabic(en), "{}: {en} {ar}", experiment.id);
            }
            for paper in [false, true] {
                let second = Duration::from_secs(1);
                let plan = (experiment.plan)(&Scale { paper, measured: second, warm_up: second });
                assert!(!plan.blocks.is_empty() && !experiment.ratios.is_empty(), "{}", experiment.id);
                let specs = plan.blocks.iter().flat_map(|block| &block.specs);
                let places: Vec<_> = specs.map(|spec| (&spec.series, &spec.at)).collect();
                let distinct: BTreeSet<_> = places.iter().collect();
                assert_eq!(distinct.len(), places.len(), "{}: two points at one place", experiment.id);
            }
        }
    }

    #[test]
    fn an_experiment_is_found_by_its_name() {
        assert_eq!(named("z1").map(|experiment| experiment.id), Some("Z1"));
        assert!(named("K1").is_none());
    }
}
