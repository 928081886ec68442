//! Modules that are refused, with the rule and where; and quickly, whatever they are.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::time::{Duration, Instant};

use common::{around, prepared};
use objects_guest::{Codec, Description, MethodKind, check};

fn refusal(text: &str) -> String {
    let module = wat::parse_str(text).unwrap();
    let rejected = check(&module, None).unwrap_err();
    assert_eq!(prepared(&module, None).err().unwrap(), rejected, "the same when it is prepared");
    rejected.detail
}

/// A module with all that is needed, and more.
fn with(more: &str) -> String {
    format!(
        r#"(module {more}
        (memory (export "memory") 1)
        (func (export "alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "call") (param i32 i32 i32 i32) (result i64) (i64.const 0)))"#
    )
}

#[test]
fn imports_are_those_that_there_are_with_their_signatures() {
    for (import, detail) in [
        (r#"(import "env" "now" (func))"#, "imports `env`.`now`, which there is not"),
        (r#"(import "diwan_1" "receive" (func))"#, "imports `diwan_1`.`receive`, which there is not"),
        (r#"(import "diwan_1" "now_ms" (func))"#, "imports `diwan_1`.`now_ms` with another signature"),
        (
            r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32) (result i32)))"#,
            "imports `wasi_snapshot_preview1`.`fd_write` with another signature",
        ),
        (r#"(import "diwan_1" "t" (table 1 funcref))"#, "imports `diwan_1`.`t`, which is no function"),
        (r#"(import "diwan_1" "g" (global i32))"#, "imports `diwan_1`.`g`, which is no function"),
    ] {
        assert_eq!(refusal(&with(import)), detail);
    }
    assert!(check(&wat::parse_str(with("")).unwrap(), None).is_ok());
}

#[test]
fn exports_are_those_that_are_needed_with_their_signatures() {
    let alloc = r#"(func (export "alloc") (param i32) (result i32) (i32.const 0))"#;
    let call = r#"(func (export "call") (param i32 i32 i32 i32) (result i64) (i64.const 0))"#;
    let memory = r#"(memory (export "memory") 1)"#;
    for (parts, detail) in [
        ([alloc, call, ""], "has no memory of its own"),
        ([alloc, call, "(memory 1)"], "exports no memory `memory`"),
        ([memory, call, ""], "exports no function `alloc`"),
        ([memory, alloc, ""], "exports no function `call`"),
        ([memory, alloc, r#"(func (export "call"))"#], "exports `call` with another signature"),
    ] {
        assert_eq!(refusal(&format!("(module {})", parts.concat())), detail);
    }
    for (more, detail) in [
        (r#"(func (export "init"))"#, "exports `init` with another signature"),
        (r#"(func (export "save") (result i32) (i32.const 0))"#, "exports `save` with another signature"),
        (r#"(func (export "diwan:fuel"))"#, "exports `diwan:fuel`: names of that beginning are taken"),
    ] {
        assert_eq!(refusal(&with(more)), detail);
    }
}

#[test]
fn instructions_are_those_whose_effects_are_kept_and_equal_everywhere() {
    for (more, detail) in [
        (
            r#"(table 1 funcref) (func $t (table.set (i32.const 0) (ref.null func)))"#,
            "function 0 (`t`): `table.set` may not be used",
        ),
        (
            "(table 1 funcref) (func (drop (table.grow (ref.null func) (i32.const 1))))",
            "function 0: `table.grow` may not be used",
        ),
        (
            "(table 1 funcref) (func (table.fill (i32.const 0) (ref.null func) (i32.const 1)))",
            "function 0: `table.fill` may not be used",
        ),
        (
            "(table 1 funcref) (func (table.copy (i32.const 0) (i32.const 0) (i32.const 1)))",
            "function 0: `table.copy` may not be used",
        ),
        (
            "(table 1 funcref) (elem $e funcref) (func (table.init $e (i32.const 0) (i32.const 0) (i32.const 0)))",
            "function 0: `table.init` may not be used",
        ),
        (r#"(data $d "x") (func (data.drop $d))"#, "function 0: `data.drop` may not be used"),
        (
            "(global (mut funcref) (ref.null func))",
            "global 0 is a reference that changes: no record keeps it",
        ),
        ("(global externref (ref.null extern))", "is no valid module: "),
        ("(func (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i64x2 0 0))))", "is no valid module: "),
        ("(func (return_call 0))", "is no valid module: "),
        ("(tag)", "is no valid module: "),
        ("(func (result i32))", "is no valid module: "),
    ] {
        let found = refusal(&with(more));
        assert!(found.starts_with(detail), "{found}");
    }
    let component = check(b"\0asm\x0d\0\x01\0", None).unwrap_err().detail;
    assert_eq!(component, "is a component, not a core module");
}

#[test]
fn memories_are_one_and_begin_within_their_limit() {
    let module = |memory: &str| {
        format!(
            r#"(module {memory}
            (func (export "alloc") (param i32) (result i32) (i32.const 1024))
            (func (export "call") (param i32 i32 i32 i32) (result i64) (i64.const 0)))"#
        )
    };
    let larger = "has a memory that begins with more than its limit of 67108864 bytes";
    assert_eq!(refusal(&module(r#"(memory (export "memory") 65536)"#)), larger);
    assert_eq!(refusal(&module(r#"(memory (export "memory") 1025)"#)), larger);
    assert!(prepared(&wat::parse_str(module(r#"(memory (export "memory") 1024)"#)).unwrap(), None).is_ok());
    let other = "has a memory that is shared, of 64 bits or of other pages";
    assert_eq!(refusal(&module(r#"(memory (export "memory") i64 1)"#)), other);
    assert_eq!(refusal(&module(r#"(memory (export "memory") 1 1 shared)"#)), other);
    assert_eq!(refusal(&module(r#"(memory (export "memory") 1) (memory 1)"#)), "has 2 memories, more than 1");
    let small =
        r#"(@custom "diwan.type" "{\"limits\":{\"memory_bytes\":65536}}") (memory (export "memory") 2)"#;
    assert!(refusal(&module(small)).contains("limit of 65536 bytes"));
}

/// A module of bytes: `count` functions without parameters, each with that code.
fn of_bodies(count: u32, body: &[u8]) -> Vec<u8> {
    use wasm_encoder::*;
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
    for _ in 0..count {
        functions.function(0);
        code.raw(body);
    }
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&memories).section(&code);
    module.finish()
}

#[test]
fn hostile_modules_are_refused_before_they_are_compiled() {
    let nested = [vec![0], [0x02, 0x40].repeat(100_000), [0x0b].repeat(100_001)].concat();
    // One group of 2^32 - 1 locals of i64.
    let locals = [1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e, 0x0b];
    // 10,000 each.
    let many_locals = [1, 0x90, 0x4e, 0x7e, 0x0b];
    let long = [vec![0], [0x01].repeat((1 << 20) + 1), vec![0x0b]].concat();
    for (name, module, detail) in [
        ("nested", of_bodies(1, &nested), "function 0: more than 4000 blocks within each other"),
        ("locals", of_bodies(1, &locals), "function 0: more than 10000 locals"),
        (
            "locals together",
            of_bodies(90_000, &many_locals),
            "function 200: more than 2000000 locals of all functions",
        ),
        ("functions", of_bodies(100_001, &[0, 0x0b]), "has 100001 functions, more than 100000"),
        ("long", of_bodies(1, &long), "function 0: code of more than 1048576 bytes"),
        ("large", vec![0; (16 << 20) + 1], "has 16777217 bytes, more than 16777216"),
        ("nothing", Vec::new(), "is no valid module: "),
        ("zeros", vec![0; 1000], "is no valid module: "),
    ] {
        let start = Instant::now();
        let found = check(&module, None).unwrap_err().detail;
        assert!(found.starts_with(detail), "{name}: {found}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}: {:?}", start.elapsed());
    }
    let table = with("(table 100001 funcref)");
    assert_eq!(refusal(&table), "has tables of more than 100000 elements");
    let wide = format!("(func (param {}))", "i64 ".repeat(65));
    assert!(refusal(&with(&wide)).ends_with("has more than 64 parameters"));
}

#[test]
fn modules_that_are_cut_anywhere_are_refused_without_a_panic() {
    let module =
        wat::parse_str(around(r#"(memory (export "memory") 1) (data (i32.const 0) "abc")"#, "(i64.const 0)"));
    let module = module.unwrap();
    // Cut before its data, its description or its names, it is whole.
    let whole = (0..module.len()).filter(|length| check(&module[..*length], None).is_ok());
    assert_eq!(whole.count(), 3);
    for (at, bit) in (0..module.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut flipped = module.clone();
        flipped[at] ^= 1 << bit;
        // Some are modules still.
        let _ = check(&flipped, None);
    }
}

#[test]
fn images_that_cannot_be_made_are_refused() {
    for (more, detail) in [
        (r#"(data (i32.const 65534) "abc")"#, "data segment 0 does not fit into the memory"),
        (
            "(table 1 funcref) (func $f) (elem (i32.const 1) $f)",
            "cannot be initialized: a table's element outside of what there is",
        ),
        (r#"(func $boom unreachable) (start $boom)"#, "cannot be initialized: unreachable code, in boom"),
        (
            r#"(@custom "diwan.type" "{\"limits\":{\"fuel\":1000}}") (func (export "_initialize") (loop (br 0)))"#,
            "cannot be initialized: its fuel is used up",
        ),
        (
            r#"(import "diwan_1" "timer_clear" (func $c (param i64))) (func (export "_initialize") (call $c (i64.const 0)))"#,
            "cannot be initialized: called `timer_clear` before there is an object",
        ),
    ] {
        let module = wat::parse_str(with(more)).unwrap();
        assert!(check(&module, None).is_ok());
        assert_eq!(prepared(&module, None).err().unwrap().detail, detail);
    }
    let module = wat::parse_str(with("")).unwrap();
    let detail = check(&module, Some(b"source")).unwrap_err().detail;
    assert_eq!(detail, "comes with a source, but exports no `init_source`");
}

#[test]
fn start_runs_once_in_the_image() {
    let module = with(
        r#"(global $n (mut i32) (i32.const 0)) (data (i32.const 2000) "\05")
        (func $s (global.set $n (i32.add (global.get $n) (i32.load (i32.const 2000))))
            (i32.store (i32.const 2000) (i32.const 7)))
        (start $s)
        (func (export "init") (param i32 i32)
            (if (i32.ne (global.get $n) (i32.const 5)) (then unreachable))
            (if (i32.ne (i32.load (i32.const 2000)) (i32.const 7)) (then unreachable)))"#,
    );
    let mut bench = common::Bench::new(&module);
    for space in 0..3 {
        let ended = bench.enter(space, objects_state::guest::Entry::Init(b""));
        assert_eq!((ended.outcome, ended.pages.len(), ended.registers), (Ok(Vec::new()), 0, None));
    }
}

#[test]
fn descriptions_are_read_and_wrong_ones_refused() {
    let text = r#"{"name":"hits","methods":{"hit":{"kind":"command"},"see":{"kind":"query"},"wait":{"kind":"blocking"}},
        "codec":"raw","limits":{"memory_bytes":100000,"fuel":5},"layout":"2","more":[1]}"#;
    let read = Description::parse(text.as_bytes()).unwrap();
    let methods = [("hit", MethodKind::Command), ("see", MethodKind::Query), ("wait", MethodKind::Blocking)];
    assert_eq!(read.methods, methods.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(
        (read.name.as_deref(), read.layout.as_deref(), read.codec),
        (Some("hits"), Some("2"), Codec::Raw)
    );
    assert_eq!((read.memory_bytes, read.fuel), (65_536, 5));

    for (text, detail) in [
        ("[", "is no JSON: "),
        ("[]", "is no JSON object"),
        (r#"{"name":1}"#, "has a `name` that is no text"),
        (r#"{"codec":"xml"}"#, "has a `codec` that is neither `json` nor `raw`"),
        (r#"{"methods":[]}"#, "has a `methods` that is no object"),
        (r#"{"methods":{"a":{"kind":"?"}}}"#, "has a method `a` whose `kind` is not"),
        (r#"{"limits":{"fuel":0}}"#, "has a limit `fuel` that is not from 1 to 2000000000"),
        (r#"{"limits":{"memory_bytes":1e99}}"#, "has a limit `memory_bytes` that is not"),
    ] {
        let found = Description::parse(text.as_bytes()).unwrap_err().detail;
        assert!(found.starts_with(&format!("section `diwan.type` {detail}")), "{found}");
    }
    let section = r#"(@custom "diwan.type" "{}")"#;
    assert_eq!(refusal(&with(&section.repeat(2))), "has two sections `diwan.type`");
}
