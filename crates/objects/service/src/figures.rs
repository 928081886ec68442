//! What a member counts, for metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use node_group::JournalCounters;
use node_metrics::{Histogram, Sample};
use node_pages::Source;
use objects_replica::Core;
use objects_state::State;
use parking_lot::Mutex;

use crate::names::NamesDesk;
use crate::standing::Standing;

/// What the core's thread counts.
#[derive(Default)]
pub(crate) struct Figures {
    /// What one turn of applying took.
    pub(crate) apply_us: Histogram,
    /// From when an edge asked until it was answered: commands that did not wait, and queries.
    pub(crate) call_us: Histogram,
    requests: AtomicU64,
    answers: AtomicU64,
    counted: Mutex<Counted>,
}

/// What is counted from time to time.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    objects: u64,
    sessions: u64,
    tickets: u64,
    keys: u64,
    requests_waiting: u64,
    watches: u64,
    commands: u64,
    leads_won: u64,
    states_replaced: u64,
    refused_messages: u64,
    is_closed: bool,
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

    /// What the core and the state hold now.
    pub(crate) fn count(&self, core: &Core, state: &State) {
        let (status, [objects, sessions, tickets, keys]) = (core.status(), state.counts());
        *self.counted.lock() = Counted {
            objects,
            sessions,
            tickets,
            keys,
            requests_waiting: status.requests_waiting as u64,
            watches: status.watches as u64,
            commands: status.commands,
            leads_won: status.leads_won,
            states_replaced: status.states_replaced,
            refused_messages: status.refused_messages,
            is_closed: state.is_closed(),
        };
    }
}

/// A member's figures on a page.
pub(crate) struct MemberFigures {
    pub(crate) figures: Arc<Figures>,
    pub(crate) journal: Arc<JournalCounters>,
    pub(crate) standing: Arc<Standing>,
    pub(crate) names: Option<Arc<NamesDesk>>,
}

impl Source for MemberFigures {
    fn samples(&self) -> Vec<Sample> {
        let mut samples = of_group(&self.standing);
        samples.extend(of_state(&self.figures.counted.lock()));
        samples.extend(of_work(&self.figures, &self.journal));
        samples.extend(self.names.iter().flat_map(|names| names.samples()));
        samples
    }
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Sample {
    Sample::gauge(name, help, i64::try_from(value).unwrap_or(i64::MAX))
}

/// What this member is in the group.
fn of_group(standing: &Standing) -> Vec<Sample> {
    vec![
        gauge("diwan_objects_serving", "Whether objects are served here", standing.is_serving().into()),
        gauge("diwan_objects_leading", "Whether this member leads the group", standing.is_leading().into()),
        gauge(
            "diwan_objects_leader",
            "Number of the leader; 0 if none is known",
            standing.leader().unwrap_or(0),
        ),
        gauge("diwan_objects_term", "Term of the group", standing.term()),
        gauge("diwan_objects_position", "Position of the last command applied here", standing.position()),
    ]
}

/// What the state and the core hold.
fn of_state(counted: &Counted) -> Vec<Sample> {
    vec![
        gauge("diwan_objects_objects", "Objects", counted.objects),
        gauge("diwan_objects_sessions", "Open sessions", counted.sessions),
        gauge("diwan_objects_tickets", "Calls that wait", counted.tickets),
        gauge("diwan_objects_keys", "Keys of requests that are remembered", counted.keys),
        gauge("diwan_objects_requests_waiting", "Requests here whose calls wait", counted.requests_waiting),
        gauge("diwan_objects_access_closed", "Whether rights are looked at", counted.is_closed.into()),
        gauge("diwan_objects_watches", "Event streams of this member's clients", counted.watches),
        Sample::counter("diwan_objects_commands_total", "Commands proposed by this member", counted.commands),
        Sample::counter(
            "diwan_objects_leads_won_total",
            "How often this member took the lead",
            counted.leads_won,
        ),
        Sample::counter(
            "diwan_objects_states_replaced_total",
            "How often this member took over another's snapshot",
            counted.states_replaced,
        ),
        Sample::counter(
            "diwan_objects_refused_messages_total",
            "Messages of other members that were refused",
            counted.refused_messages,
        ),
    ]
}

/// What threads have done.
fn of_work(figures: &Figures, journal: &JournalCounters) -> Vec<Sample> {
    let of = |counter: &AtomicU64| counter.load(Relaxed);
    vec![
        Sample::counter(
            "diwan_objects_requests_total",
            "Requests of this member's clients",
            of(&figures.requests),
        ),
        Sample::counter(
            "diwan_objects_answers_total",
            "Answers and events to its clients",
            of(&figures.answers),
        ),
        Sample::seconds(
            "diwan_objects_apply_seconds",
            "A turn of applying commands",
            figures.apply_us.snapshot(),
        ),
        Sample::seconds("diwan_objects_flush_seconds", "A flush of the log", journal.flush_us.snapshot()),
        Sample::counter("diwan_objects_slow_flushes_total", "Flushes that took long", journal.slow_flushes()),
        gauge("diwan_objects_disk_full", "Whether the log has no room", journal.is_full().into()),
        Sample::counter(
            "diwan_objects_snapshots_failed_total",
            "Snapshots that could not be written",
            journal.snapshots_failed(),
        ),
    ]
}
