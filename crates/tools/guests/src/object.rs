//! One object, kept as the state keeps it, and calls to it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use objects_state::guest::{Act, Ended, Engine, Entry, Failure, Host, PAGE_BYTES, Run, VersionHash};
use serde_json::{Value, json};

/// Where the tests of an object begin.
const FIRST_POSITION: u64 = 100;

/// What the state would keep of an object.
#[derive(Default)]
struct Kept {
    pages: BTreeMap<u32, Vec<u8>>,
    registers: Option<Vec<u8>>,
    waiting: BTreeSet<u64>,
    /// Who calls.
    caller: String,
}

impl Host for Kept {
    fn page(&self, number: u32) -> Option<&[u8]> {
        self.pages.get(&number).map(Vec::as_slice)
    }

    fn pages(&self) -> Vec<u32> {
        self.pages.keys().copied().collect()
    }

    fn registers(&self) -> Option<&[u8]> {
        self.registers.as_deref()
    }

    fn caller(&self) -> String {
        self.caller.clone()
    }

    fn is_waiting(&self, ticket: u64) -> bool {
        self.waiting.contains(&ticket)
    }

    fn waiting(&self) -> Vec<u64> {
        self.waiting.iter().copied().collect()
    }
}

/// An object of a version, and who calls it.
pub(crate) struct Object<'a> {
    engine: &'a dyn Engine,
    version: VersionHash,
    space: u64,
    kept: Kept,
    changed: u64,
    pub(crate) position: u64,
    pub(crate) session: Option<&'static str>,
    /// What the last run asked for.
    pub(crate) acts: Vec<Act>,
    /// Pages that the last run changed.
    pub(crate) pages: usize,
    /// How long it took, and what fuel.
    pub(crate) took: Duration,
    pub(crate) fuel: u64,
}

/// A result, or the code and detail of a refusal.
pub(crate) type Outcome = Result<Value, (String, String)>;

impl<'a> Object<'a> {
    pub(crate) fn new(engine: &'a dyn Engine, version: VersionHash, space: u64) -> Self {
        Self {
            engine,
            version,
            space,
            kept: Kept::default(),
            changed: 0,
            position: FIRST_POSITION,
            session: None,
            acts: Vec::new(),
            pages: 0,
            took: Duration::ZERO,
            fuel: 0,
        }
    }

    /// One that is created without arguments, and of which nothing is left from another one.
    pub(crate) fn created(engine: &'a dyn Engine, version: VersionHash, space: u64) -> Self {
        let mut object = Self::new(engine, version, space);
        object.forget();
        object.create(&json!({})).expect("it is created");
        object
    }

    pub(crate) fn create(&mut self, arguments: &Value) -> Outcome {
        let arguments = arguments.to_string();
        self.command(Entry::Init(arguments.as_bytes()))
    }

    pub(crate) fn call(&mut self, method: &str, arguments: &Value) -> Outcome {
        let arguments = arguments.to_string();
        self.command(Entry::Call { method, args: arguments.as_bytes() })
    }

    /// At the next position.
    pub(crate) fn command(&mut self, entry: Entry<'_>) -> Outcome {
        self.position += 1;
        let began = Instant::now();
        let ended = self.with_run(entry, |engine, run, kept| engine.run(run, kept));
        self.took = began.elapsed();
        self.keep(ended)
    }

    pub(crate) fn query(&mut self, method: &str, arguments: &Value) -> Outcome {
        let arguments = arguments.to_string();
        let entry = Entry::Call { method, args: arguments.as_bytes() };
        let ended = self.with_run(entry, |engine, run, kept| engine.query(run, kept));
        assert!(ended.pages.is_empty() && ended.acts.is_empty(), "a query changes nothing");
        outcome(ended.outcome)
    }

    fn with_run<R>(
        &mut self,
        entry: Entry<'_>,
        enter: impl FnOnce(&dyn Engine, &Run<'_>, &dyn Host) -> R,
    ) -> R {
        let caller = json!({ "session": self.session, "principal": "test", "request": self.position });
        self.kept.caller = caller.to_string();
        let run = Run {
            version: self.version,
            space: self.space,
            changed: self.changed,
            entry,
            now_ms: 1_700_000_000_000,
            position: self.position,
            kept_at: self.position,
            seed: self.position,
            fuel_max: u64::MAX,
            slice: None,
            bytes: false,
        };
        enter(self.engine, &run, &self.kept)
    }

    fn keep(&mut self, ended: Ended) -> Outcome {
        let has_changed = !ended.pages.is_empty() || ended.registers.is_some();
        self.changed = if has_changed { self.position } else { self.changed };
        self.pages = ended.pages.len();
        self.fuel = ended.fuel;
        for (number, lines) in ended.pages.iter() {
            match lines {
                Some(lines) => {
                    lines.put_into(self.kept.pages.entry(number).or_insert_with(|| vec![0; PAGE_BYTES]))
                }
                None => _ = self.kept.pages.remove(&number),
            }
        }
        self.kept.registers = ended.registers.or(self.kept.registers.take());
        for act in &ended.acts {
            match act {
                Act::Park { .. } => self.kept.waiting.insert(self.position),
                Act::Wake { ticket, .. } | Act::Fail { ticket, .. } => self.kept.waiting.remove(ticket),
                _ => true,
            };
        }
        self.acts = ended.acts;
        outcome(ended.outcome)
    }

    /// The call under this ticket has ended for want of time.
    pub(crate) fn end_ticket(&mut self, ticket: u64) -> Outcome {
        self.kept.waiting.remove(&ticket);
        self.command(Entry::TicketEnded(ticket))
    }

    /// As at a member that was started anew: the engine knows nothing of the object.
    pub(crate) fn forget(&self) {
        self.engine.forget(self.space);
    }

    pub(crate) fn version(&self) -> VersionHash {
        self.version
    }

    /// Moves on to a later version, as the state does.
    pub(crate) fn migrate(&mut self, version: VersionHash) -> Outcome {
        let state = self.command(Entry::Save)?;
        self.engine.forget(self.space);
        self.kept.pages.clear();
        self.kept.registers = None;
        self.changed = 0;
        self.version = version;
        let told = json!({ "description": {}, "state": state }).to_string();
        self.command(Entry::Migrate(told.as_bytes()))
    }

    /// What the state keeps of the object, as a number.
    pub(crate) fn digest(&self) -> u64 {
        let registers = self.kept.registers.iter().flatten();
        let pages = self
            .kept
            .pages
            .iter()
            .flat_map(|(number, page)| number.to_le_bytes().into_iter().chain(page.iter().copied()));
        // FNV-1a
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        registers.copied().chain(pages).fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Bytes that the state keeps of the object.
    pub(crate) fn bytes(&self) -> usize {
        self.kept.pages.values().map(Vec::len).sum()
    }
}

fn outcome(outcome: Result<Vec<u8>, Failure>) -> Outcome {
    match outcome {
        Ok(json) if json.is_empty() => Ok(Value::Null),
        Ok(json) => serde_json::from_slice(&json).map_err(|error| ("no JSON".into(), error.to_string())),
        Err(Failure::Refused { code, detail }) => Err((code, detail)),
        Err(failure) => Err(("failure".into(), format!("{failure:?}"))),
    }
}

/// What the method `tell` of the types for tests does.
pub(crate) fn told() -> [Act; 2] {
    [("counter/all", "increment", "{\"by\":2}"), ("latch/done", "count_down", "{}")].map(
        |(target, method, args)| Act::Send {
            target: target.into(),
            method: method.into(),
            args: args.into(),
        },
    )
}
