//! Fuel and stack: what runs pay, and where they stop.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::{Bench, around};
use objects_state::guest::Failure;

const MEMORY: &str = r#"(memory (export "memory") 1)"#;

#[test]
fn loops_and_recursions_of_every_form_end() {
    for (items, body) in [
        ("", "(loop (br 0))"),
        ("", "(loop (block) (br 0))"),
        ("", "(loop (block (block)) (loop) (br 0))"),
        ("", "(loop (br_if 0 (i32.const 1)))"),
        ("", "(loop (if (local.get $l) (then unreachable) (else (br 1))))"),
        ("", "(loop (br_table 0 0 (i32.const 0)))"),
        ("", "(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536)) (br 0))"),
        ("", "(loop (memory.copy (i32.const 0) (i32.const 1) (i32.const 65535)) (br 0))"),
        ("", "(loop (drop (memory.grow (i32.const 0))) (br 0))"),
        ("(func $f) ", "(loop (call $f) (br 0))"),
        ("(table funcref (elem $f)) (func $f) ", "(loop (call_indirect (i32.const 0)) (br 0))"),
    ] {
        let body = format!("{body} (i64.const 0)");
        let module = around(&format!("{MEMORY} {items}"), &body);
        let module = module.replace(r#"raw\"}"#, r#"raw\",\"limits\":{\"fuel\":1000000}}"#);
        let mut bench = Bench::new(&module);
        assert_eq!(bench.failure("x", ""), Failure::OutOfFuel, "{body}");
    }
    for items in ["(func $f (call $f))", "(func $f (block) (call $g)) (func $g (call $f))"] {
        let mut bench = Bench::new(&around(&format!("{MEMORY} {items}"), "(call $f) (i64.const 0)"));
        assert_eq!(bench.failure("x", ""), Failure::StackExhausted, "{items}");
    }
}

/// The fuel of a call with so many rounds.
fn fuel(bench: &mut Bench, rounds: u32) -> u64 {
    let ended = bench.call("x", &rounds.to_le_bytes());
    assert!(ended.outcome.is_ok(), "{ended:?}");
    ended.fuel
}

#[test]
fn fuel_is_the_price_of_what_ran() {
    for (round, units) in [
        // Five to look, three to count and two to branch.
        ("", 10),
        ("(block (br 0))", 11),
        ("(if (i32.const 0) (then (drop (i32.const 1))))", 12),
        ("(call $f)", 23),
        ("(memory.fill (i32.const 2000) (i32.const 0) (i32.const 800))", 163),
    ] {
        let body = format!(
            r"(local.set $at (i32.load (local.get $p)))
            (loop
                {round}
                (local.set $at (i32.sub (local.get $at) (i32.const 1)))
                (br_if 0 (local.get $at)))
            (i64.const 0)"
        );
        let mut bench = Bench::new(&around(&format!("{MEMORY} (func $f)"), &body));
        let once = fuel(&mut bench, 1);
        for rounds in [2, 3, 1000] {
            // A round sets its local too.
            let expected = once + u64::from(rounds - 1) * (units + 1);
            assert_eq!(fuel(&mut bench, rounds), expected, "{round}, {rounds}");
        }
    }
}

#[test]
fn stack_is_given_back_whichever_way_a_function_ends() {
    let items = format!(
        r"{MEMORY} (func $leaf)
        (func $f (param i32) (result i32)
            (call $leaf)
            (block (loop (if (i32.eqz (local.get 0)) (then (return (i32.const 10))))
                (br_if 1 (i32.eq (local.get 0) (i32.const 1)))
                (drop (br_if 2 (i32.const 12) (i32.eq (local.get 0) (i32.const 2))))
                (br_table 0 1 2 (i32.const 13) (i32.const 2))))
            (i32.const 11))
        (func $pair (param i32) (result i32 i64)
            (call $leaf)
            (if (local.get 0) (then (return (i32.const 1) (i64.const 2))))
            (i32.const 3) (i64.const 4))"
    )
    .replace("(br_table 0 1 2 (i32.const 13) (i32.const 2))", "(return (i32.const 13))");
    let body = r"
        (local.set $at (i32.const 100000))
        (loop
            (if (i32.ne (call $f (i32.and (local.get $at) (i32.const 3)))
                (i32.add (i32.and (local.get $at) (i32.const 3)) (i32.const 10))) (then unreachable))
            (drop (drop (call $pair (i32.and (local.get $at) (i32.const 1)))))
            (local.set $at (i32.sub (local.get $at) (i32.const 1)))
            (br_if 0 (local.get $at)))
        (i64.const 0)"
        .replace(
            "(drop (drop (call $pair (i32.and (local.get $at) (i32.const 1)))))",
            "(call $pair (i32.and (local.get $at) (i32.const 1))) drop drop",
        );
    let mut bench = Bench::new(&around(&items, &body));
    assert_eq!(bench.call("x", b"").outcome, Ok(Vec::new()));
}

#[test]
fn stack_ends_at_the_depth_that_frames_say() {
    // A frame of 128 bytes, a parameter and three operands: 160 bytes.
    let items = format!(
        r"{MEMORY} (func $f (param i64) (result i64)
        (if (i64.eqz (local.get 0)) (then (return (i64.const 0))))
        (i64.add (i64.const 1) (call $f (i64.sub (local.get 0) (i64.const 1)))))"
    );
    let mut bench = Bench::new(&around(&items, "(call $give (call $f (i64.load (local.get $p))))"));
    let (mut fits, mut fails) = (1_u64, 1_000_000);
    while fails - fits > 1 {
        let middle = u64::midpoint(fits, fails);
        match bench.call("x", &middle.to_le_bytes()).outcome {
            Ok(depth) => {
                assert_eq!(depth, middle.to_le_bytes());
                fits = middle;
            }
            Err(failure) => {
                assert_eq!(failure, Failure::StackExhausted);
                fails = middle;
            }
        }
    }
    // The frame of `call` is the rest of 524,288.
    assert_eq!(fits + 1, (524_288 - 200) / 160);
}
