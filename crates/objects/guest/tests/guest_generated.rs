//! Modules that a generator wrote: none makes the engine panic, and each gives the same twice.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::{Bench, VERSION};
use objects_guest::{Guests, Settings, Tracking, check};
use objects_state::guest::{Engine, Entry, Version};
use wasm_smith::{Config, InstructionKind, InstructionKinds, Module};

/// Modules of a run.
const MODULES: u64 = 300;
/// Bytes that a module is made from.
const SEED_BYTES: usize = 2_000;

/// What each module exports.
const SHAPE: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "alloc") (param i32) (result i32) unreachable)
    (func (export "call") (param i32 i32 i32 i32) (result i64) unreachable)
    (func (export "timer") (param i64))
    (func (export "save") (result i64) unreachable))"#;

/// Little fuel: most loops of these modules have no end.
const DESCRIPTION: &[u8] = br#"{"codec":"raw","limits":{"fuel":100000}}"#;

fn config(random: u64) -> Config {
    let kinds = [
        InstructionKind::Numeric,
        InstructionKind::VectorInt,
        InstructionKind::Parametric,
        InstructionKind::Variable,
        InstructionKind::Memory,
        InstructionKind::Control,
    ];
    Config {
        exports: Some(wat::parse_str(SHAPE).unwrap()),
        allowed_instructions: InstructionKinds::new(&kinds),
        bulk_memory_enabled: random.is_multiple_of(2),
        // Most modules that may trap do, at once.
        disallow_traps: !random.is_multiple_of(3),
        custom_page_sizes_enabled: false,
        exceptions_enabled: false,
        extended_const_enabled: false,
        gc_enabled: false,
        max_imports: 0,
        max_memories: 0,
        max_memory32_bytes: 4 << 20,
        max_tables: 2,
        max_table_elements: 1_000,
        memory64_enabled: false,
        reference_types_enabled: false,
        relaxed_simd_enabled: false,
        tail_call_enabled: false,
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        ..Config::default()
    }
}

fn module(seed: u64) -> Option<Vec<u8>> {
    let mut state = seed;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(SEED_BYTES)
    .collect();
    let module = Module::new(config(seed), &mut arbitrary::Unstructured::new(&bytes)).ok()?;
    let mut bytes = module.to_bytes();
    let section = wasm_encoder::CustomSection { name: "diwan.type".into(), data: DESCRIPTION.into() };
    bytes.push(wasm_encoder::Section::id(&section));
    wasm_encoder::Encode::encode(&section, &mut bytes);
    Some(bytes)
}

/// A module in an engine, if it may be there.
fn bench(module: &[u8], settings: Settings) -> Option<Bench> {
    let engine = Guests::new(settings);
    engine.prepare(&Version { hash: VERSION, module, source: None });
    engine.ready(VERSION).ok()?;
    Some(Bench { engine, version: VERSION, objects: Default::default(), position: 0 })
}

/// Why a module is refused, without what differs.
fn refusal(module: &[u8]) -> String {
    let detail = common::prepared(module, None).err().unwrap().detail;
    detail.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect()
}

#[test]
fn generated_modules_give_the_same_twice_and_never_panic() {
    let mut refused = std::collections::BTreeMap::new();
    let (mut accepted, mut succeeded, mut wrote) = (0, 0, 0);
    for seed in 0..MODULES {
        let Some(module) = module(seed) else { continue };
        let kept = bench(&module, Settings::default());
        let fresh = bench(&module, Settings { tracking: Tracking::Compare, ..Settings::default() });
        assert_eq!(kept.is_some(), fresh.is_some());
        if kept.is_none() {
            *refused.entry(refusal(&module)).or_insert(0) += 1;
        }
        let (Some(mut kept), Some(mut fresh)) = (kept, fresh) else { continue };
        accepted += 1;
        let entries = [
            Entry::Call { method: "", args: b"" },
            Entry::Timer(seed),
            Entry::Call { method: "m", args: &[7; 100] },
            Entry::Save,
            Entry::Timer(1),
            Entry::Save,
        ];
        for entry in entries {
            let ended = kept.enter(1, entry);
            assert_eq!(ended, fresh.enter(1, entry), "module {seed}");
            fresh.engine.forget(1);
            succeeded += u64::from(ended.outcome.is_ok());
            wrote += u64::from(!ended.pages.is_empty() || ended.registers.is_some());
        }
    }
    println!(
        "{accepted} of {MODULES} modules, {succeeded} calls succeeded, {wrote} wrote; refused: {refused:?}"
    );
    assert!(accepted > MODULES / 3 && succeeded > MODULES / 3 && wrote > 20);
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    for seed in 0..50 {
        let Some(mut module) = module(seed) else { continue };
        for at in (8..module.len()).step_by(97) {
            module[at] ^= 0x55;
            // Whatever it says.
            let _ = check(&module, None);
        }
    }
}
