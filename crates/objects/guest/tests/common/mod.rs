//! A state of one object, as plain as can be, around the engine.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod generated;
mod one_nan;

use std::collections::{BTreeMap, BTreeSet};

use objects_guest::{Guests, Settings};
use objects_state::guest::{Act, Ended, Engine, Entry, Failure, Host, Rejected, Run, Version, VersionHash};

/// The records of an object, and who waits for it.
#[derive(Clone, Default)]
pub(crate) struct Object {
    pub(crate) pages: BTreeMap<u32, Vec<u8>>,
    pub(crate) registers: Option<Vec<u8>>,
    pub(crate) changed: u64,
    pub(crate) waiting: BTreeSet<u64>,
}

impl Host for Object {
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
        String::from(r#"{"session":null}"#)
    }
    fn is_waiting(&self, ticket: u64) -> bool {
        self.waiting.contains(&ticket)
    }
    fn waiting(&self) -> Vec<u64> {
        self.waiting.iter().copied().collect()
    }
}

impl Object {
    /// Keeps what a run left behind.
    pub(crate) fn keep(&mut self, ended: &Ended, position: u64) {
        for (number, lines) in ended.pages.iter() {
            match lines {
                Some(lines) => {
                    let before = self.pages.get(&number);
                    assert!(before.is_some() || lines.page().is_some(), "a new page is whole");
                    let record = lines.record(before.map(Vec::as_slice), true);
                    self.pages.insert(number, record);
                }
                None => assert!(self.pages.remove(&number).is_some(), "only a page that there is goes"),
            }
        }
        if let Some(registers) = &ended.registers {
            self.registers = Some(registers.clone());
        }
        if !ended.pages.is_empty() || ended.registers.is_some() {
            self.changed = position;
        }
        for act in &ended.acts {
            match act {
                Act::Park { .. } => _ = self.waiting.insert(position),
                Act::Wake { ticket, .. } | Act::Fail { ticket, .. } => {
                    assert!(self.waiting.remove(ticket), "only who waits is woken");
                }
                Act::SetTimer { .. } | Act::ClearTimer(_) | Act::Emit { .. } | Act::Send { .. } => {}
            }
        }
    }
}

/// Objects of one version in an engine.
pub(crate) struct Bench {
    pub(crate) engine: Guests,
    pub(crate) version: VersionHash,
    pub(crate) objects: BTreeMap<u64, Object>,
    pub(crate) position: u64,
}

pub(crate) const VERSION: VersionHash = VersionHash([7; 32]);

/// A module, or why it is none.
pub(crate) fn prepared(module: &[u8], source: Option<&[u8]>) -> Result<Guests, Rejected> {
    let engine = Guests::new(Settings::default());
    engine.prepare(&Version { hash: VERSION, module, source });
    engine.ready(VERSION)?;
    Ok(engine)
}

impl Bench {
    pub(crate) fn new(text: &str) -> Self {
        Self::of(&wat::parse_str(text).unwrap())
    }

    pub(crate) fn of(module: &[u8]) -> Self {
        let engine = prepared(module, None).unwrap();
        Self { engine, version: VERSION, objects: BTreeMap::new(), position: 0 }
    }

    pub(crate) fn run<'a>(&self, space: u64, entry: Entry<'a>) -> Run<'a> {
        Run {
            version: self.version,
            space,
            changed: self.objects.get(&space).map_or(0, |object| object.changed),
            entry,
            now_ms: 1_700_000_000_000 + self.position as i64,
            position: self.position,
            kept_at: self.position,
            seed: self.position * 31,
            fuel_max: u64::MAX,
            bytes: false,
            slice: None,
        }
    }

    /// Runs a part of a command, and keeps what it did.
    pub(crate) fn enter(&mut self, space: u64, entry: Entry<'_>) -> Ended {
        self.position += 1;
        let run = self.run(space, entry);
        let object = self.objects.entry(space).or_default();
        let ended = self.engine.run(&run, object);
        if ended.outcome.is_err() {
            assert!(ended.pages.is_empty() && ended.registers.is_none() && ended.acts.is_empty());
        }
        object.keep(&ended, self.position);
        ended
    }

    pub(crate) fn call(&mut self, method: &str, args: &[u8]) -> Ended {
        self.enter(1, Entry::Call { method, args })
    }

    pub(crate) fn query(&mut self, method: &str, args: &[u8]) -> Ended {
        let run = self.run(1, Entry::Call { method, args });
        let object = self.objects.entry(1).or_default();
        let ended = self.engine.query(&run, object);
        assert!(ended.pages.is_empty() && ended.registers.is_none() && ended.acts.is_empty());
        ended
    }

    /// The result of a call that succeeds.
    pub(crate) fn ok(&mut self, method: &str, args: &str) -> String {
        String::from_utf8(self.call(method, args.as_bytes()).outcome.unwrap()).unwrap()
    }

    /// How a call fails.
    pub(crate) fn failure(&mut self, method: &str, args: &str) -> Failure {
        self.call(method, args.as_bytes()).outcome.unwrap_err()
    }
}

/// A module around the body of `call`, whose parameters are `$m`, `$ml` (the method), `$p`, `$l` (the arguments). `alloc` gives
/// memory from 1,024 on, again and again; `$first` is the method's first letter; `$arg` reads the n-th i32 of the arguments and
/// `$arg64` the i64 that begins there; `$give` makes a result of a number.
pub(crate) fn around(items: &str, body: &str) -> String {
    format!(
        r#"(module
        (import "diwan_1" "now_ms" (func $now_ms (result i64)))
        (import "diwan_1" "position" (func $position (result i64)))
        (import "diwan_1" "random" (func $random (param i32 i32)))
        (import "diwan_1" "caller" (func $caller (param i32 i32) (result i32)))
        (import "diwan_1" "park" (func $park (param i64 i64) (result i64)))
        (import "diwan_1" "wake" (func $wake (param i64 i32 i32) (result i32)))
        (import "diwan_1" "fail" (func $fail (param i64 i32 i32 i32 i32) (result i32)))
        (import "diwan_1" "timer_set" (func $timer_set (param i64 i64)))
        (import "diwan_1" "timer_clear" (func $timer_clear (param i64)))
        (import "diwan_1" "emit" (func $emit (param i32 i32 i32 i32)))
        (import "diwan_1" "send" (func $send (param i32 i32 i32 i32 i32 i32)))
        (import "diwan_1" "log" (func $log (param i32 i32)))
        (@custom "diwan.type" "{{\"codec\":\"raw\"}}")
        {items}
        (func (export "alloc") (param i32) (result i32) (i32.const 1024))
        (func $give (param i64) (result i64)
            (i64.store (i32.const 512) (local.get 0)) (i64.const 0x200_0000_0008))
        (func $call (export "call") (param $m i32) (param $ml i32) (param $p i32) (param $l i32) (result i64)
            (local $first i32) (local $at i32) (local $to i32) (local $what i32)
            (local.set $first (i32.load8_u (local.get $m)))
            {body}))"#
    )
}
