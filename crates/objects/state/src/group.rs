//! What every part of the state works on: the records, the few numbers that there is one of, and the effects of the
//! running command.

use std::sync::Arc;

use crate::allowance;
use crate::codec::{Cursor, Field, decoded, encoded, record};
use crate::command::{ObjectName, SessionId, TypeId};
use crate::effects::{Effect, Effects, Event, EventKind, Said};
use crate::guest::{Engine, NoEngine, VersionHash};
use crate::key::{self, Key};
use crate::known_versions::KnownVersions;
use crate::limits::{RUNS_PER_TICK, SLICE_FUEL, SLICES_SPENT_MAX, SPENT_MAX};
use crate::rights::Table;
use crate::runs::Runs;
use crate::slots::SlotTable;
use crate::source::{Process, Sources};
use crate::store::{Mark, Store};

record! {
    /// What there is one of.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Meta {
        pub(crate) position: u64,
        pub(crate) stamp_ms: i64,
        pub(crate) feature_level: u32,
        pub(crate) objects: u64,
        pub(crate) sessions: u64,
        pub(crate) tickets: u64,
        pub(crate) keys: u64,
        pub(crate) graves: u64,
    }
}

record! {
    /// All that a snapshot carries beside the records.
    pub(crate) struct Head {
        pub(crate) meta: Meta,
        pub(crate) sources: Sources,
    }
}

/// Records, numbers, effects.
#[derive(Default)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) meta: Meta,
    /// No command takes back that it was applied, so a rollback leaves them as they are.
    pub(crate) sources: Sources,
    /// Whose command runs, if a member gave it; no part of the state.
    pub(crate) process: Option<Process>,
    pub(crate) out: Effects,
    pub(crate) engine: SharedEngine,
    /// How many runs of modules the running command has begun; no part of the state.
    pub(crate) runs: u32,
    /// What they took beside what they wrote, in about bytes; no part of the state.
    pub(crate) spent: usize,
    /// What they came to; no part of the state.
    pub(crate) ran: Runs,
    /// How many messages the running command has sent, and how many led to the one that it carries out; no part of the state.
    pub(crate) sent: u32,
    pub(crate) hops: u32,
    /// The object that has sent the message which is carried out, and its space; no part of the state.
    pub(crate) sender: Option<(ObjectName, u64)>,
    /// How many runs the running command has begun beside, or put behind others; no part of the state.
    pub(crate) put_off: u32,
    /// What `runs` and `spent` were when the present part of a tick began; no part of the state.
    part: (u32, usize),
    /// Runs that the member's process died in; no part of the state. What follows from them does at the end of the command.
    pub(crate) deadly: Vec<Deadly>,
    /// How often something happened to a version of a type; no part of the state.
    pub(crate) types_changes: u64,
    /// What calls ask of versions; read from the records.
    pub(crate) versions: KnownVersions,
    /// Who may do what, as calls look it up; made from the records.
    pub(crate) access: Table,
    /// Which objects are this group's; as the record says.
    pub(crate) slots: SlotTable,
    /// How much namespaces and principals may have, as calls look it up; made from the records.
    pub(crate) quotas: allowance::Table,
    /// How many changes of the running command are part of what is used; no part of the state.
    pub(crate) settled: usize,
    /// What a record is written in before it is stored.
    scratch: Vec<u8>,
}

/// A run that the member's process has died in as often as it may.
#[derive(Clone, Debug)]
pub(crate) struct Deadly {
    pub(crate) object: ObjectName,
    pub(crate) space: u64,
    /// The version that was run.
    pub(crate) version: VersionHash,
    /// What is known of it.
    pub(crate) detail: String,
}

/// What runs modules. It decides nothing: see [`crate::guest`].
#[derive(Clone)]
pub(crate) struct SharedEngine(Arc<dyn Engine>);

impl Default for SharedEngine {
    fn default() -> Self {
        Self(Arc::new(NoEngine))
    }
}

impl SharedEngine {
    pub(crate) fn of(engine: Arc<dyn Engine>) -> Self {
        Self(engine)
    }

    pub(crate) fn get(&self) -> &dyn Engine {
        &*self.0
    }

    pub(crate) const fn shared(&self) -> &Arc<dyn Engine> {
        &self.0
    }
}

/// The feature level from which on runs that take long go on beside the commands.
pub(crate) const SLICES_LEVEL: u32 = 5;

/// The feature level from which on migrations, and the way back, have slices, too.
const MOVES_LEVEL: u32 = 8;

/// A moment within a command.
#[derive(Clone, Copy)]
pub(crate) struct CoreMark {
    store: Mark,
    meta: Meta,
    effects: usize,
    settled: usize,
}

impl Core {
    pub(crate) fn mark(&self) -> CoreMark {
        let (store, effects) = (self.store.mark(), self.out.len());
        CoreMark { store, meta: self.meta, effects, settled: self.settled }
    }

    /// Takes back all that happened since, but for the positions that were used.
    pub(crate) fn rollback(&mut self, mark: CoreMark) {
        self.store.rollback(mark.store);
        self.meta = Meta { position: self.meta.position, ..mark.meta };
        self.out.truncate(mark.effects);
        self.settled = mark.settled;
    }

    /// Whether runs of modules have slices of fuel, behind which they go on beside the commands.
    pub(crate) const fn has_slices(&self) -> bool {
        self.meta.feature_level >= SLICES_LEVEL
    }

    /// The slice of the runs of a migration, if they have one.
    pub(crate) const fn slice_of_moves(&self) -> Option<u64> {
        if self.meta.feature_level >= MOVES_LEVEL { Some(SLICE_FUEL) } else { None }
    }

    /// A command begins.
    pub(crate) const fn begin_command(&mut self) {
        self.meta.position += 1;
        (self.runs, self.spent, self.sent, self.put_off, self.part) = (0, 0, 0, 0, (0, 0));
    }

    /// Another part of a tick begins: none takes what the next one needs.
    pub(crate) const fn begin_part(&mut self) {
        if self.has_slices() {
            self.part = (self.runs, self.spent);
        }
    }

    /// Whether this part of a tick has run as many modules as it may.
    pub(crate) const fn has_run_enough(&self) -> bool {
        self.runs - self.part.0 >= RUNS_PER_TICK
    }

    /// Whether the modules that this part of a tick, or this batch, has run have taken as much as they may.
    pub(crate) const fn has_spent_enough(&self) -> bool {
        let most = if self.has_slices() { SLICES_SPENT_MAX } else { SPENT_MAX };
        self.spent - self.part.1 > most
    }

    pub(crate) fn head(&self) -> Vec<u8> {
        encoded(&Head { meta: self.meta, sources: self.sources.clone() })
    }

    /// A record. One that cannot be read counts as missing: a loader has checked that each can be.
    pub(crate) fn read<F: Field>(&self, key: &Key) -> Option<F> {
        decoded(self.store.get(key)?).ok()
    }

    pub(crate) fn write<F: Field>(&mut self, key: Key, record: &F) {
        self.scratch.clear();
        record.put(&mut self.scratch);
        self.store.put(key, &self.scratch);
    }

    pub(crate) fn event(&mut self, kind: EventKind, object: &ObjectName, session: Option<SessionId>) {
        self.happened(kind, object, session, None);
    }

    pub(crate) fn happened(
        &mut self,
        kind: EventKind,
        object: &ObjectName,
        session: Option<SessionId>,
        said: Option<Said>,
    ) {
        let user_type = self.user_type_name(object.kind);
        let (object, position, at_ms) = (object.clone(), self.meta.position, self.meta.stamp_ms);
        self.out.push(Effect::Event(Event { kind, object, session, position, at_ms, user_type, said }));
    }

    /// The name of a type of users: what its record begins with.
    pub(crate) fn user_type_name(&self, kind: TypeId) -> Option<String> {
        let record = self.store.get(&key::user_type(kind))?;
        Cursor::new(record).text().ok().map(String::from)
    }

    /// Records of spaces that nothing leads to any more: they are swept from now on, piece by piece.
    pub(crate) fn bury(&mut self, prefix: Key) {
        if self.store.prefix(&prefix).next().is_some() {
            self.write(key::grave(&prefix), &());
            self.meta.graves += 1;
        }
    }
}
