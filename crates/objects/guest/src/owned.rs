//! A run that outlives whoever asked for it.

use std::collections::BTreeSet;

use objects_state::SessionId;
use objects_state::guest::{Entry, Host, Run, VersionHash};

enum OwnedEntry {
    Init(Vec<u8>),
    Call { method: String, args: Vec<u8> },
    Migrate(Vec<u8>),
    Save,
    SessionExpired(SessionId),
    Timer(u64),
    TicketEnded(u64),
}

/// A [`Run`], as a whole: it has no slice.
pub(crate) struct OwnedRun {
    version: VersionHash,
    space: u64,
    changed: u64,
    entry: OwnedEntry,
    now_ms: i64,
    position: u64,
    kept_at: u64,
    seed: u64,
    fuel_max: u64,
    bytes: bool,
}

impl OwnedRun {
    pub(crate) fn of(run: &Run<'_>) -> Self {
        let entry = match run.entry {
            Entry::Init(args) => OwnedEntry::Init(args.to_vec()),
            Entry::Call { method, args } => OwnedEntry::Call { method: method.into(), args: args.to_vec() },
            Entry::Migrate(saved) => OwnedEntry::Migrate(saved.to_vec()),
            Entry::Save => OwnedEntry::Save,
            Entry::SessionExpired(session) => OwnedEntry::SessionExpired(session),
            Entry::Timer(id) => OwnedEntry::Timer(id),
            Entry::TicketEnded(ticket) => OwnedEntry::TicketEnded(ticket),
        };
        Self {
            version: run.version,
            space: run.space,
            changed: run.changed,
            entry,
            now_ms: run.now_ms,
            position: run.position,
            kept_at: run.kept_at,
            seed: run.seed,
            fuel_max: run.fuel_max,
            bytes: run.bytes,
        }
    }

    pub(crate) fn run(&self) -> Run<'_> {
        let entry = match &self.entry {
            OwnedEntry::Init(args) => Entry::Init(args),
            OwnedEntry::Call { method, args } => Entry::Call { method, args },
            OwnedEntry::Migrate(saved) => Entry::Migrate(saved),
            OwnedEntry::Save => Entry::Save,
            OwnedEntry::SessionExpired(session) => Entry::SessionExpired(*session),
            OwnedEntry::Timer(id) => Entry::Timer(*id),
            OwnedEntry::TicketEnded(ticket) => Entry::TicketEnded(*ticket),
        };
        Run {
            version: self.version,
            space: self.space,
            changed: self.changed,
            entry,
            now_ms: self.now_ms,
            position: self.position,
            kept_at: self.kept_at,
            seed: self.seed,
            fuel_max: self.fuel_max,
            bytes: self.bytes,
            slice: None,
        }
    }
}

/// Who calls, and who waits for an object, as of the beginning of a run. Its memory is the run's own already.
pub(crate) struct Waiting {
    caller: String,
    tickets: BTreeSet<u64>,
}

impl Waiting {
    pub(crate) fn of(host: &dyn Host) -> Self {
        Self { caller: host.caller(), tickets: host.waiting().into_iter().collect() }
    }
}

impl Host for Waiting {
    fn page(&self, _: u32) -> Option<&[u8]> {
        None
    }

    fn pages(&self) -> Vec<u32> {
        Vec::new()
    }

    fn registers(&self) -> Option<&[u8]> {
        None
    }

    fn caller(&self) -> String {
        self.caller.clone()
    }

    fn is_waiting(&self, ticket: u64) -> bool {
        self.tickets.contains(&ticket)
    }

    fn waiting(&self) -> Vec<u64> {
        self.tickets.iter().copied().collect()
    }
}
