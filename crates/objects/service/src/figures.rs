//! What a member counts, for metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use node_group::JournalCounters;
use node_metrics::{Histogram, Sample};
use node_pages::Source;
use objects_state::State;

use crate::standing::Standing;

/// What the core's thread counts.
#[derive(Default)]
pub(crate) struct Figures {
    /// What one turn of applying took.
    pub(crate) apply_us: Histogram,
    requests: AtomicU64,
    answers: AtomicU64,
    sessions: AtomicU64,
    records: AtomicU64,
}

impl Figures {
    /// Requests of edges have come.
    pub(crate) fn received(&self, requests: usize) {
        self.requests.fetch_add(requests as u64, Relaxed);
    }

    /// Edges were told so many answers and events.
    pub(crate) fn answered(&self, answers: usize) {
        self.answers.fetch_add(answers as u64, Relaxed);
    }

    /// What the state holds now.
    pub(crate) fn count(&self, state: &State) {
        self.sessions.store(state.sessions().count() as u64, Relaxed);
        self.records.store(state.records() as u64, Relaxed);
    }
}

/// A member's figures on a page.
pub(crate) struct MemberFigures {
    pub(crate) figures: Arc<Figures>,
    pub(crate) journal: Arc<JournalCounters>,
    pub(crate) standing: Arc<Standing>,
}

impl Source for MemberFigures {
    fn samples(&self) -> Vec<Sample> {
        let Self { figures, journal, standing } = self;
        let flag = |value: bool| i64::from(value);
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let of = |counter: &AtomicU64| counter.load(Relaxed);
        vec![
            Sample::gauge(
                "diwan_objects_serving",
                "Whether objects are served here",
                flag(standing.is_serving()),
            ),
            Sample::gauge(
                "diwan_objects_leading",
                "Whether this member leads the group",
                flag(standing.is_leading()),
            ),
            Sample::gauge(
                "diwan_objects_leader",
                "Number of the leader, 0 if none is known",
                gauge(standing.leader().unwrap_or(0)),
            ),
            Sample::gauge("diwan_objects_term", "The term of the group", gauge(standing.term())),
            Sample::gauge(
                "diwan_objects_position",
                "Position of the last command applied here",
                gauge(standing.position()),
            ),
            Sample::gauge("diwan_objects_sessions", "Open sessions", gauge(of(&figures.sessions))),
            Sample::gauge("diwan_objects_records", "Records of the state", gauge(of(&figures.records))),
            Sample::gauge("diwan_objects_disk_full", "Whether the log has no room", flag(journal.is_full())),
            Sample::counter(
                "diwan_objects_requests_total",
                "Requests of this member's clients",
                of(&figures.requests),
            ),
            Sample::counter(
                "diwan_objects_answers_total",
                "Answers and events to this member's clients",
                of(&figures.answers),
            ),
            Sample::counter(
                "diwan_objects_slow_flushes_total",
                "Flushes of the log that took long",
                journal.slow_flushes(),
            ),
            Sample::counter(
                "diwan_objects_snapshots_failed_total",
                "Snapshots that could not be written",
                journal.snapshots_failed(),
            ),
            Sample::seconds(
                "diwan_objects_apply_seconds",
                "What a turn of applying commands took",
                figures.apply_us.snapshot(),
            ),
            Sample::seconds(
                "diwan_objects_flush_seconds",
                "What a flush of the log took",
                journal.flush_us.snapshot(),
            ),
        ]
    }
}
