//! Runs that fail: each tells why, and none leaves anything behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::time::{Duration, Instant};

use common::{Bench, around};
use objects_state::guest::{Act, Engine, Failure};

/// A counter at 4,096, twice on its page and once on the next, and a global. `i` increments all; every other method spoils them,
/// asks for things, and then fails in its own way.
const SPOILER: &str = r#"(memory (export "memory") 1 100)
    (global $count (mut i64) (i64.const 0))
    (func $add (param i64)
        (i64.store (i32.const 4096) (i64.add (i64.load (i32.const 4096)) (local.get 0)))
        (i64.store (i32.const 8190) (i64.add (i64.load (i32.const 8190)) (local.get 0)))
        (global.set $count (i64.add (global.get $count) (local.get 0))))
    (func $deep (param i64) (result i64) (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))
    (table funcref (elem $add))"#;

const SPOIL: &str = r#"
    (if (i32.eq (local.get $first) (i32.const 105)) (then
        (call $add (i64.const 1))
        (if (i64.ne (i64.load (i32.const 4096)) (global.get $count)) (then unreachable))
        (if (i64.ne (i64.load (i32.const 8190)) (global.get $count)) (then unreachable))
        (return (call $give (global.get $count)))))
    (call $add (i64.const 1000))
    (drop (call $park (i64.const 1) (i64.const 2)))
    (call $timer_set (i64.const 1) (i64.const 2))
    (call $emit (local.get $m) (local.get $ml) (local.get $p) (local.get $l))
    (if (i32.eq (local.get $first) (i32.const 117)) (then unreachable))
    (if (i32.eq (local.get $first) (i32.const 111)) (then (drop (i32.load (i32.const 0x7fff0000)))))
    (if (i32.eq (local.get $first) (i32.const 48)) (then (drop (i32.div_u (i32.const 1) (i32.sub (local.get $first) (i32.const 48))))))
    (if (i32.eq (local.get $first) (i32.const 99)) (then (call_indirect (i32.const 0))))
    (if (i32.eq (local.get $first) (i32.const 108)) (then (loop (br 0))))
    (if (i32.eq (local.get $first) (i32.const 100)) (then (drop (call $deep (i64.const 0)))))
    (if (i32.eq (local.get $first) (i32.const 103)) (then
        (loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        unreachable))
    (if (i32.eq (local.get $first) (i32.const 112)) (then (drop (call $park (i64.const 1) (i64.const 2)))))
    (if (i32.eq (local.get $first) (i32.const 104)) (then (return (i64.const 0x0_00ff_ffff))))
    (if (i32.eq (local.get $first) (i32.const 114)) (then (return (i64.const 0xffff_ff00_0000_0100))))
    (if (i32.eq (local.get $first) (i32.const 115)) (then
        (memory.fill (i32.const 0x1000) (i32.const 255) (i32.const 0x100))
        (call $emit (i32.const 0x1000) (i32.const 4) (i32.const 0) (i32.const 0))))
    (if (i32.eq (local.get $first) (i32.const 101)) (then
        (loop (call $emit (i32.const 0) (i32.const 0) (i32.const 8192) (i32.const 8192)) (br 0))))
    (if (i32.eq (local.get $first) (i32.const 109)) (then (call $log (i32.const 65530) (i32.const 100))))
    (if (i32.eq (local.get $first) (i32.const 98)) (then (loop (call $random (i32.const 0) (i32.const 65536)) (br 0))))
    (drop (call $fail (i64.const 0) (local.get $m) (local.get $ml) (local.get $p) (local.get $l)))
    (i64.const 0)"#;

/// Whether a failure is the expected one.
type IsRight = Box<dyn Fn(&Failure) -> bool>;

fn trapped(what: &str) -> impl Fn(&Failure) -> bool {
    let what = what.to_owned();
    move |failure| matches!(failure, Failure::Trapped { detail } if detail.starts_with(&what))
}

fn broken(what: &str) -> impl Fn(&Failure) -> bool {
    let what = what.to_owned();
    move |failure| matches!(failure, Failure::Broken { detail } if detail.contains(&what))
}

#[test]
fn failures_tell_why_and_take_everything_back() {
    let mut bench = Bench::new(&around(SPOILER, SPOIL));
    let ways: Vec<(&str, IsRight)> = vec![
        ("unreachable", Box::new(trapped("unreachable code, in call"))),
        ("outside", Box::new(trapped("memory outside"))),
        ("0 division", Box::new(trapped("division by zero"))),
        ("call another", Box::new(trapped("a call with another signature"))),
        ("loop", Box::new(|failure| *failure == Failure::OutOfFuel)),
        ("deep", Box::new(|failure| *failure == Failure::StackExhausted)),
        ("grow", Box::new(|failure| *failure == Failure::OutOfMemory)),
        ("park twice", Box::new(broken("twice"))),
        ("huge result", Box::new(broken("more than 1048576 bytes"))),
        ("result outside", Box::new(broken("outside of its memory"))),
        ("spoilt topic", Box::new(broken("topic that is no text"))),
        ("events without end", Box::new(broken("bytes in one run"))),
        ("message outside", Box::new(trapped("memory outside"))),
        ("bytes without end", Box::new(|failure| *failure == Failure::OutOfFuel)),
        ("x", Box::new(|failure| matches!(failure, Failure::Refused { code, .. } if code == "x"))),
    ];
    for (round, (method, is_right)) in (1_i64..).zip(&ways) {
        assert_eq!(bench.call("i", b"").outcome.unwrap(), round.to_le_bytes());
        let before = bench.objects[&1].clone();
        let failure = bench.failure(method, "");
        assert!(is_right(&failure), "{method}: {failure:?}");
        // On a copy that was kept, on one that is made again, and as a query, it fails in the same way.
        bench.engine.forget(1);
        assert_eq!(bench.failure(method, ""), failure, "{method}");
        let asked = bench.query(method, b"").outcome.unwrap_err();
        assert!(matches!(asked, Failure::Broken { .. }), "{method} may not park: {asked:?}");
        assert_eq!(bench.objects[&1].pages, before.pages);
        assert_eq!(bench.objects[&1].registers, before.registers);
    }
}

#[test]
fn endless_loop_ends_for_want_of_fuel_in_bounded_time() {
    let mut bench = Bench::new(&around(SPOILER, SPOIL));
    bench.ok_raw("i");
    let start = Instant::now();
    assert_eq!(bench.failure("loop", ""), Failure::OutOfFuel);
    // 200 M units are 20 to 100 ms of a processor; the bound is for one that ten others use.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn query_leaves_nothing_behind_and_sees_what_commands_wrote() {
    let body = r#"
        (if (i32.eq (local.get $first) (i32.const 119)) (then (drop (memory.grow (i32.const 1)))))
        (i64.store (i32.const 9000) (i64.add (i64.load (i32.const 9000)) (i64.const 1)))
        (global.set $g (i64.add (global.get $g) (i64.const 1)))
        (call $give (i64.add (i64.load (i32.const 9000)) (global.get $g)))"#;
    let items = r#"(memory (export "memory") 1 10) (global $g (mut i64) (i64.const 0))"#;
    let mut bench = Bench::new(&around(items, body));
    for round in 1..10_i64 {
        assert_eq!(bench.call("i", b"").outcome.unwrap(), (2 * round).to_le_bytes());
        for method in ["i", "i", "widen"] {
            assert_eq!(bench.query(method, b"").outcome.unwrap(), (2 * round + 2).to_le_bytes());
        }
    }
    assert_eq!(bench.objects[&1].registers.as_ref().unwrap()[..4], 1_u32.to_le_bytes(), "it did not grow");
}

#[test]
fn pages_are_those_that_differ_and_none_that_are_the_image_s_again() {
    let items = r#"(memory (export "memory") 2 10) (data (i32.const 8192) "image")"#;
    // Stores the i64 of the arguments at the i64 before it.
    let body = r#"
        (i64.store (i32.wrap_i64 (i64.load (local.get $p))) (i64.load offset=8 (local.get $p)))
        (memory.fill (i32.const 512) (i32.const 0) (i32.const 600))
        (i64.const 0)"#;
    let mut bench = Bench::new(&around(items, body));
    let mut store = |at: i64, value: i64| {
        let args = [at.to_le_bytes(), value.to_le_bytes()].concat();
        let ended = bench.call("s", &args);
        assert_eq!(ended.outcome, Ok(Vec::new()));
        ended.pages.iter().map(|(number, lines)| (number, lines.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(store(20_000, 1), [(4, true)]);
    assert_eq!(store(20_000, 1), [], "the same again");
    assert_eq!(store(12_286, -1), [(2, true), (3, true)]);
    assert_eq!(store(20_000, 0), [(4, false)], "as in the image");
    let image = i64::from_le_bytes(*b"image\0\0\0");
    assert_eq!(store(8_192, 5), [(2, true)]);
    assert_eq!(store(8_192, image), [(2, true)], "its end is still another");
    assert_eq!(store(12_286, 0), [(2, false), (3, false)]);
    assert_eq!(store(131_064, 3), [(31, true)]);
}

#[test]
fn memory_grows_to_its_limit_and_comes_back() {
    let items = r#"(memory (export "memory") 1) (global $top (mut i32) (i32.const 65536))"#;
    let body = r#"
        (if (i32.eq (local.get $first) (i32.const 103)) (then
            (drop (memory.grow (i32.load8_u (local.get $p))))
            (i32.store (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4)) (memory.size))
            (global.set $top (i32.mul (memory.size) (i32.const 65536)))))
        (call $give (i64.extend_i32_u (i32.load (i32.sub (global.get $top) (i32.const 4)))))"#;
    let mut bench = Bench::new(&around(items, body));
    let mut size = 1_u64;
    for more in [0_u8, 3, 200, 255, 255, 255, 54, 1, 100] {
        // 1,024 pages of 64 KiB are 64 MiB.
        size = if size + u64::from(more) <= 1024 { size + u64::from(more) } else { size };
        assert_eq!(bench.call("grow", &[more]).outcome.unwrap(), size.to_le_bytes());
        bench.engine.forget(1);
        assert_eq!(bench.call("see", &[0]).outcome.unwrap(), size.to_le_bytes());
    }
    assert_eq!(size, 1024);
}

#[test]
fn memory_limit_and_fuel_of_the_description_hold() {
    let module = |limits: &str| {
        format!(
            r#"(module (@custom "diwan.type" "{{\"codec\":\"raw\",\"limits\":{limits}}}") (memory (export "memory") 1)
            (func (export "alloc") (param i32) (result i32) (i32.const 1024))
            (func (export "call") (param i32 i32 i32 i32) (result i64)
                (loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
                (i32.store (i32.const 512) (memory.size))
                (i64.const 0x200_0000_0004)))"#
        )
    };
    let mut bench = Bench::new(&module(r#"{\"memory_bytes\":1048576}"#));
    assert_eq!(bench.call("g", b"").outcome.unwrap(), 16_u32.to_le_bytes());
    let mut bench = Bench::new(&module(r#"{\"fuel\":20}"#));
    assert_eq!(bench.failure("g", ""), Failure::OutOfFuel);
}

#[test]
fn as_many_are_woken_as_may_wait() {
    let body = r#"
        (local.set $first (i32.const 0))
        (loop
            (local.set $first (i32.add (local.get $first) (i32.const 1)))
            (br_if 0 (call $wake (i64.extend_i32_u (local.get $first)) (i32.const 0) (i32.const 100))))
        (call $give (i64.extend_i32_u (local.get $first)))"#;
    let mut bench = Bench::new(&around(r#"(memory (export "memory") 1)"#, body));
    bench.objects.entry(1).or_default().waiting = (1..=10_000).collect();
    let ended = bench.call("w", b"");
    assert_eq!(ended.outcome.unwrap(), 10_001_u64.to_le_bytes());
    assert_eq!(ended.acts.len(), 10_000);
    assert!(matches!(&ended.acts[9_999], Act::Wake { ticket: 10_000, result } if result.len() == 100));
}

impl Bench {
    fn ok_raw(&mut self, method: &str) -> Vec<u8> {
        self.call(method, b"").outcome.unwrap()
    }
}
