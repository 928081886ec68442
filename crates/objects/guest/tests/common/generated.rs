//! Modules that a generator writes, each from a seed.

use super::one_nan::one_nan;
use wasm_smith::{Config, InstructionKind, InstructionKinds, Module};

/// Bytes that a module is made from.
const SEED_BYTES: usize = 2_000;

/// What each module exports.
const SHAPE: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "alloc") (param i32) (result i32) unreachable)
    (func (export "call") (param i32 i32 i32 i32) (result i64) unreachable)
    (func (export "timer") (param i64))
    (func (export "ticket_ended") (param i64))
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
        // An interpreter gives other NaNs: the module makes them one.
        canonicalize_nans: true,
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

/// The module of a seed, if it gives one.
pub(crate) fn module(seed: u64) -> Option<Vec<u8>> {
    let mut state = seed;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(SEED_BYTES)
    .collect();
    let module = Module::new(config(seed), &mut arbitrary::Unstructured::new(&bytes)).ok()?;
    let mut bytes = one_nan(&module.to_bytes());
    let section = wasm_encoder::CustomSection { name: "diwan.type".into(), data: DESCRIPTION.into() };
    bytes.push(wasm_encoder::Section::id(&section));
    wasm_encoder::Encode::encode(&section, &mut bytes);
    Some(bytes)
}
