//! Memory that goes from one version to another as it is: what is found that forbids it, and what an object is then.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::{Bench, around};
use objects_guest::{Guests, Settings};
use objects_state::guest::{Engine as _, Entry, Host as _, PAGE_BYTES, Version, VersionHash};

const OTHER: VersionHash = VersionHash([8; 32]);

/// A module that adds to a number in memory and to a global, and gives both; `a` adds, any other method only gives. `by` is
/// how much, which is the module's own.
fn module(items: &str, by: u64) -> Vec<u8> {
    let body = format!(
        r#"(if (i32.eq (local.get $first) (i32.const 97)) (then
            (i64.store (i32.const 8192) (i64.add (i64.load (i32.const 8192)) (i64.const {by})))
            (global.set $runs (i32.add (global.get $runs) (i32.const 1)))
            (drop (memory.grow (i32.const 1)))))
        (call $give (i64.add (i64.load (i32.const 8192)) (i64.mul (i64.const 1000) (i64.extend_i32_u (global.get $runs)))))"#
    );
    wat::parse_str(around(items, &body)).unwrap()
}

const ITEMS: &str = r#"(memory (export "memory") 1) (global $runs (mut i32) (i32.const 0))
    (global (export "__heap_base") i32 (i32.const 65536)) (data (i32.const 16384) "one")"#;

/// An object of the first module that has run twice, and another version of that text.
fn bench(other: &str) -> Bench {
    let mut bench = Bench::of(&module(ITEMS, 5));
    bench.engine.prepare(&Version { hash: OTHER, module: &module(other, 7), source: None });
    bench.engine.ready(OTHER).unwrap();
    bench.call("add", b"{}");
    bench.call("add", b"{}");
    assert_eq!(number(&bench.call("get", b"{}").outcome.unwrap()), 2_010);
    bench
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn may_go_over(bench: &Bench) -> Result<(), String> {
    bench.engine.takes_memory_over(bench.version, OTHER, &bench.objects[&1])
}

#[test]
fn memory_and_globals_go_on_in_another_version() {
    for kept in [true, false] {
        let mut bench = bench(ITEMS);
        assert_eq!(may_go_over(&bench), Ok(()));
        bench.engine.forget(1);
        bench.version = OTHER;
        if !kept {
            // Another member, which has run nothing of it.
            bench.engine = Guests::new(Settings::default());
            bench.engine.prepare(&Version { hash: OTHER, module: &module(ITEMS, 7), source: None });
            bench.engine.ready(OTHER).unwrap();
        }
        assert_eq!(number(&bench.call("get", b"{}").outcome.unwrap()), 2_010);
        assert_eq!(number(&bench.call("add", b"{}").outcome.unwrap()), 3_017);
        let object = &bench.objects[&1];
        assert_eq!(object.registers.as_ref().unwrap()[..4], 4_u32.to_le_bytes(), "its memory has grown on");
        assert!(object.pages.keys().all(|page| *page < 16), "{:?}", object.pages.keys());
    }
}

#[test]
fn pages_that_the_object_has_not_changed_are_those_of_the_new_version() {
    let mut bench = bench(&ITEMS.replace("\"one\"", "\"two\""));
    assert_eq!(may_go_over(&bench), Ok(()));
    bench.engine.forget(1);
    bench.version = OTHER;
    assert_eq!(number(&bench.call("add", b"{}").outcome.unwrap()), 3_017);
    let object = &bench.objects[&1];
    assert_eq!(object.page(16_384 / PAGE_BYTES as u32), None, "its constant is the image's");
    let written = bench.call("get", b"{}").pages;
    assert!(written.iter().all(|(page, _)| page == 0), "what it gives and is given lies there");
}

#[test]
fn memory_does_not_go_over_to_a_version_whose_memory_is_another() {
    let memory = r#"(memory (export "memory") 1)"#;
    for (from, to, why) in [
        ("(data (i32.const 16384)", "(data (i32.const 16388)", "lies elsewhere"),
        ("\"one\"", "\"three\"", "lies elsewhere"),
        ("(data", "(data (i32.const 20480) \"x\") (data", "lies elsewhere"),
        ("(i32.const 65536)", "(i32.const 65552)", "other constants"),
        ("__heap_base", "__data_end", "other constants"),
        ("(mut i32) (i32.const 0)", "(mut i32) (i32.const 1)", "mutable globals"),
        ("(global $runs", "(global (mut i64) (i64.const 0)) (global $runs", "mutable globals"),
        (memory, r#"(memory (export "memory") 2)"#, "mutable globals, or the size"),
        (
            memory,
            r#"(memory (export "memory") 1 2)"#,
            "131072 bytes at the most, and the object's has 196608",
        ),
    ] {
        let bench = bench(&ITEMS.replace(from, to));
        let told = may_go_over(&bench).unwrap_err();
        assert!(told.contains(why), "{to}: {told}");
    }
    // Types alone differ: the bytes of the globals at first are the same.
    let two = "(global $runs (mut i32) (i32.const 0)) (global (mut i32) (i32.const 0))";
    let other = ITEMS.replace("(global $runs (mut i32) (i32.const 0))", two);
    let (mut one, long) = (
        Bench::of(&module(&other, 5)),
        other.replace("(global (mut i32) (i32.const 0))", "(global (mut f32) (f32.const 0))"),
    );
    one.engine.prepare(&Version { hash: OTHER, module: &module(&long, 7), source: None });
    one.engine.ready(OTHER).unwrap();
    one.call("add", b"{}");
    assert!(may_go_over(&one).unwrap_err().contains("mutable globals"));
}

#[test]
fn memory_does_not_go_over_where_static_data_differs_within_what_the_object_has_changed() {
    let near = |word: &str| ITEMS.replace("16384", "12284").replace("\"one\"", word);
    let mut one = Bench::of(&module(&near("\"one\""), 5));
    one.engine.prepare(&Version { hash: OTHER, module: &module(&near("\"two\""), 7), source: None });
    one.engine.ready(OTHER).unwrap();
    // It is as in the image, so nothing has been changed yet.
    one.enter(1, Entry::Init(b"{}"));
    assert_eq!(may_go_over(&one), Ok(()));
    one.call("add", b"{}");
    let told = may_go_over(&one).unwrap_err();
    assert_eq!(told, "its static data differs between 8192 and 12288, where the object has changed memory");
}
