//! Generated programs in the engine and in an interpreter, which runs the module as it was uploaded: without the instructions
//! that count fuel and stack, without images, pages and copies. Results and memory must be equal.
//!
//! `PROGRAMS=100000 cargo test --release -p objects-guest --test guest_interpreter` plays as many; `FROM` is the first seed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::generated::module;
use common::{Bench, VERSION};
use objects_guest::limits::MEMORY_BYTES;
use objects_guest::{Guests, Settings};
use objects_state::guest::{Engine, Entry, Failure, OwnPage, PAGE_BYTES, Version};
use wasmi::{Config, Instance, Linker, Memory, Module, Store, StoreLimits, StoreLimitsBuilder};

/// Programs of a usual run.
const PROGRAMS: u64 = 300;
/// More than the engine's fuel buys: a run that the engine ends for want of it is not judged.
const FUEL: u64 = 50_000_000;

/// The same module in the interpreter.
struct Reference {
    store: Store<StoreLimits>,
    instance: Instance,
    memory: Memory,
}

/// A trap, or what the engine refuses of a result.
#[derive(Debug)]
struct Failed(#[expect(dead_code, reason = "it is shown")] String);

impl From<wasmi::Error> for Failed {
    fn from(error: wasmi::Error) -> Self {
        Self(error.to_string())
    }
}

fn outside() -> Failed {
    Failed("outside of its memory".into())
}

impl Reference {
    fn new(module: &[u8]) -> Self {
        let mut config = Config::default();
        config.consume_fuel(true);
        let engine = wasmi::Engine::new(&config);
        let module = Module::new(&engine, module).unwrap();
        let mut store =
            Store::new(&engine, StoreLimitsBuilder::new().memory_size(MEMORY_BYTES as usize).build());
        store.limiter(|limits| limits);
        store.set_fuel(FUEL).unwrap();
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module).unwrap();
        let memory = instance.get_memory(&store, "memory").unwrap();
        Self { store, instance, memory }
    }

    fn bytes(&self) -> Vec<u8> {
        self.memory.data(&self.store).to_vec()
    }

    fn enter(&mut self, entry: Entry<'_>) -> Result<Vec<u8>, Failed> {
        self.store.set_fuel(FUEL)?;
        match entry {
            Entry::Call { method, args } => {
                let name = method.len().next_multiple_of(8);
                let place = self.put(name + args.len(), &[(0, method.as_bytes()), (name, args)])?;
                let call = self.instance.get_typed_func::<(u32, u32, u32, u32), u64>(&self.store, "call")?;
                let arguments =
                    (place, method.len() as u32, place.wrapping_add(name as u32), args.len() as u32);
                let result = call.call(&mut self.store, arguments)?;
                self.result(result)
            }
            Entry::Timer(id) => {
                let timer = self.instance.get_typed_func::<u64, ()>(&self.store, "timer")?;
                timer.call(&mut self.store, id)?;
                Ok(Vec::new())
            }
            Entry::TicketEnded(ticket) => {
                let ended = self.instance.get_typed_func::<u64, ()>(&self.store, "ticket_ended")?;
                ended.call(&mut self.store, ticket)?;
                Ok(Vec::new())
            }
            Entry::Save => {
                let save = self.instance.get_typed_func::<(), u64>(&self.store, "save")?;
                let result = save.call(&mut self.store, ())?;
                self.result(result)
            }
            other => panic!("not played here: {other:?}"),
        }
    }

    fn put(&mut self, bytes: usize, parts: &[(usize, &[u8])]) -> Result<u32, Failed> {
        if bytes == 0 {
            return Ok(0);
        }
        let alloc = self.instance.get_typed_func::<u32, u32>(&self.store, "alloc")?;
        let place = alloc.call(&mut self.store, bytes as u32)?;
        let room = self.memory.data_mut(&mut self.store).get_mut(place as usize..place as usize + bytes);
        let room = room.ok_or_else(outside)?;
        for (offset, part) in parts {
            room[*offset..*offset + part.len()].copy_from_slice(part);
        }
        Ok(place)
    }

    fn result(&self, place: u64) -> Result<Vec<u8>, Failed> {
        let (pointer, length) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
        let bytes = self.memory.data(&self.store).get(pointer..pointer + length);
        bytes.map(<[u8]>::to_vec).ok_or_else(outside)
    }
}

/// What became of the runs.
#[derive(Debug, Default)]
struct Counts {
    modules: u64,
    equal: u64,
    wrote: u64,
    both_failed: u64,
    /// The engine ended the run for its fuel, its stack or its memory.
    bounded: u64,
}

/// What the engine's object holds: the image with its pages.
fn memory_of(bench: &Bench, image: &[u8], length: usize) -> Vec<u8> {
    let mut memory = image.to_vec();
    let pages = &bench.objects[&1].pages;
    let end = pages.keys().last().map_or(0, |page| (*page as usize + 1) * PAGE_BYTES);
    memory.resize(length.max(end).max(memory.len()), 0);
    for (number, page) in pages {
        let at = *number as usize * PAGE_BYTES;
        OwnPage::of(page).put_into(&mut memory[at..at + PAGE_BYTES]);
    }
    memory
}

/// The interpreter after these entries, each of which succeeded.
fn replayed(module: &[u8], entries: &[Entry<'_>]) -> Reference {
    let mut reference = Reference::new(module);
    for entry in entries {
        assert!(reference.enter(*entry).is_ok(), "it did before");
    }
    reference
}

/// One program. After a run that failed the interpreter begins anew and does what succeeded: the engine takes such a run back.
fn play(seed: u64, module: &[u8], counts: &mut Counts) {
    let engine = Guests::new(Settings::default());
    engine.prepare(&Version { hash: VERSION, module, source: None });
    if engine.ready(VERSION).is_err() {
        return;
    }
    let mut bench = Bench { engine, version: VERSION, objects: Default::default(), position: 0 };
    let mut reference = Reference::new(module);
    let (image, mut done) = (reference.bytes(), Vec::new());
    counts.modules += 1;
    let entries = [
        Entry::Timer(seed),
        Entry::Call { method: "", args: b"" },
        Entry::TicketEnded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        Entry::Timer(u64::MAX),
        Entry::Call { method: "m", args: &[7; 100] },
        Entry::TicketEnded(1),
        Entry::Save,
        Entry::Timer(1),
        Entry::TicketEnded(0x0001_0000_0000),
        Entry::Save,
    ];
    for entry in entries {
        let ended = bench.enter(1, entry);
        let is_ok = judge(seed, entry, ended.outcome, &mut reference, counts);
        counts.wrote += u64::from(!ended.pages.is_empty());
        match is_ok {
            true => done.push(entry),
            false => reference = replayed(module, &done),
        }
        let wanted = reference.bytes();
        let memory = memory_of(&bench, &image, wanted.len());
        let differs = memory.iter().zip(&wanted).position(|(ours, theirs)| ours != theirs);
        let lengths = (memory.len(), wanted.len());
        assert!(
            memory == wanted,
            "program {seed}: the memory after {entry:?}: {lengths:?}, from {differs:x?} on"
        );
    }
}

/// Whether the run succeeded, in both.
fn judge(
    seed: u64,
    entry: Entry<'_>,
    outcome: Result<Vec<u8>, Failure>,
    reference: &mut Reference,
    counts: &mut Counts,
) -> bool {
    match outcome {
        Ok(result) => {
            let other = reference.enter(entry);
            let other = other.unwrap_or_else(|why| {
                panic!("program {seed}: only the interpreter failed at {entry:?}: {why:?}")
            });
            assert_eq!(result, other, "program {seed}: the result of {entry:?}");
            counts.equal += 1;
            return true;
        }
        Err(Failure::OutOfFuel | Failure::StackExhausted | Failure::OutOfMemory) => counts.bounded += 1,
        Err(failure) => {
            let other = reference.enter(entry);
            // A result that is too long is refused by the engine alone.
            let is_longer = matches!(&failure, Failure::Broken { detail } if detail.contains("more than"));
            assert!(
                other.is_err() || is_longer,
                "program {seed}: only the engine failed at {entry:?}: {failure:?}"
            );
            counts.both_failed += 1;
        }
    }
    false
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn generated_programs_give_the_same_as_in_an_interpreter() {
    let (programs, from) = (number("PROGRAMS", PROGRAMS), number("FROM", 0));
    let mut counts = Counts::default();
    for seed in from..from + programs {
        if let Some(module) = module(seed) {
            play(seed, &module, &mut counts);
        }
    }
    println!("{programs} programs from {from}: {counts:?}");
    let is_enough = counts.modules > programs / 2 && counts.equal > programs * 2;
    assert!(
        is_enough && counts.wrote > programs / 50 && counts.both_failed > programs,
        "too tame: {counts:?}"
    );
}
