//! One task of an experiment: where its figures stand in the picture, and which faults the servers have meanwhile.

use std::time::Duration;

use crate::task::{Kind, Task};

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
    /// How phases become points.
    pub split: Split,
    /// What must be there before it; nothing of it is measured.
    pub prepare: Option<Task>,
    /// What is measured.
    pub task: Task,
    /// Whether clients use the leader alone.
    pub at_leader: bool,
    /// The faults of the servers, and how many milliseconds after measuring began.
    pub fates: Vec<(u64, Fate)>,
    /// Whether a short turn more counts system calls.
    pub counts_calls: bool,
}

impl Spec {
    pub(super) fn new(series: impl Into<String>, at: impl ToString, task: Task) -> Self {
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
    pub(super) fn prepared(mut self, from: u32) -> Self {
        self.prepare = Some(Task { kind: Kind::Prepare, from, ..self.task.clone() });
        self
    }

    pub(super) fn split(self, split: Split) -> Self {
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
        let requests = u64::from(self.task.count) * self.task.clients as u64;
        let turns = match (self.task.kind, self.task.measured_ms) {
            (Kind::Barriers, _) => requests / 5,
            (Kind::Own, 0) => requests * phases / 10,
            (_, measured_ms) => measured_ms * phases,
        };
        let calls = if self.counts_calls { phases * (Self::COUNTED_MS + 200) } else { 0 };
        Duration::from_millis(self.task.warm_up_ms + turns + made + calls + 400)
    }

    /// A short turn in which system calls are counted, milliseconds of each phase.
    const COUNTED_MS: u64 = 500;

    /// The same in short, for a turn in which system calls are counted.
    #[must_use]
    pub fn in_short(&self) -> Task {
        let measured_ms = match self.task.measured_ms {
            0 => Self::COUNTED_MS,
            long => long.min(Self::COUNTED_MS),
        };
        let count = match self.task.kind {
            Kind::Barriers => self.task.count.min(20),
            _ => self.task.count,
        };
        Task { warm_up_ms: self.task.warm_up_ms.min(100), measured_ms, count, ..self.task.clone() }
    }

    /// Whether all servers are there afterwards as they were before.
    pub(super) fn spares_servers(&self) -> bool {
        self.fates.iter().all(|(_, fate)| matches!(fate, Fate::PauseLeader(_) | Fate::CutLeaderOff(_)))
    }
}

/// A fault of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The leader is killed (SIGKILL), and not restarted.
    KillLeader,
    /// The leader is stopped (SIGSTOP) for so many milliseconds.
    PauseLeader(u64),
    /// No packet passes between the leader and the others for so many milliseconds; clients reach all.
    CutLeaderOff(u64),
    /// Each is stopped (SIGTERM) and started again, the leader last.
    RollingRestart,
}
