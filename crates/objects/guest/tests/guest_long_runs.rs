//! Runs that go on in threads of their own behind their slice, and end as they would have at once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::time::{Duration, Instant};

use common::{Bench, around, generated};
use objects_guest::Guests;
use objects_state::guest::{Ended, Engine, Entry, Failure, Host, Progress, Run, Version, VersionHash};

const PATIENCE: Duration = Duration::from_secs(60);
/// More than most calls take here.
const SLICE: u64 = 20_000;

/// `s` counts for long and writes what it came to, `b` never ends, `g` makes the memory larger and never ends, `w` counts for
/// long and wakes a ticket; everything else gives what was written.
fn module() -> String {
    let body = r#"
        (if (i32.eq (local.get $first) (i32.const 98)) (then (loop $on (br $on))))
        (if (i32.eq (local.get $first) (i32.const 103))
            (then (drop (memory.grow (i32.const 3))) (i64.store (i32.const 70000) (i64.const 5)) (loop $on (br $on))))
        (if (i32.or (i32.eq (local.get $first) (i32.const 115)) (i32.eq (local.get $first) (i32.const 119)))
            (then (loop $on
                (i64.store (i32.const 40000) (i64.add (i64.load (i32.const 40000)) (i64.const 1)))
                (br_if $on (i64.ne (i64.rem_u (i64.load (i32.const 40000)) (i64.const 200000)) (i64.const 0))))))
        (if (i32.eq (local.get $first) (i32.const 119))
            (then (return (call $give (i64.extend_i32_s
                (call $wake (i64.const 77) (i32.const 16) (i32.const 1)))))))
        (call $give (i64.load (i32.const 40000)))"#;
    let items = r#"(memory (export "memory") 1) (data (i32.const 16) "1")"#;
    around(items, body)
}

/// The way of the state: a slice, then what is left beside.
fn sliced(engine: &Guests, run: &Run<'_>, host: &dyn Host) -> Ended {
    let ended = engine.run(&Run { slice: Some(SLICE), ..*run }, host);
    if ended.outcome != Err(Failure::Unfinished) {
        return ended;
    }
    assert!(ended.pages.is_empty() && ended.registers.is_none() && ended.acts.is_empty());
    engine.begin(run, host);
    engine.begin(run, host);
    engine.run(run, host)
}

fn call<'a>(bench: &Bench, method: &'a str) -> Run<'a> {
    bench.run(1, Entry::Call { method, args: b"{}" })
}

fn wait_for(engine: &Guests, run: &Run<'_>) {
    let deadline = Instant::now() + PATIENCE;
    while engine.progress(run.space, run.id()) != Progress::Ended {
        assert!(Instant::now() < deadline, "it never ends");
        std::thread::yield_now();
    }
}

#[test]
fn long_run_ends_beside_as_it_would_have_at_once() {
    let (mut one, mut other) = (Bench::new(&module()), Bench::new(&module()));
    for method in ["slow", "read", "burn", "read", "grow", "slow", "read", "grow", "read"] {
        (one.position, other.position) = (one.position + 1, other.position + 1);
        let object = one.objects.entry(1).or_default().clone();
        let ended = sliced(&one.engine, &call(&one, method), &object);
        let at_once = other.engine.run(&call(&other, method), &other.objects.entry(1).or_default().clone());
        assert_eq!(ended, at_once, "{method}");
        let position = one.position;
        one.objects.get_mut(&1).unwrap().keep(&ended, position);
        other.objects.get_mut(&1).unwrap().keep(&at_once, position);
    }
    assert_eq!(one.call("read", b"").outcome.unwrap(), other.call("read", b"").outcome.unwrap());
}

#[test]
fn queries_read_the_object_as_it_was_while_a_run_is_under_way() {
    let mut bench = Bench::new(&module());
    bench.call("slow", b"").outcome.unwrap();
    bench.position += 1;
    let (run, object) = (call(&bench, "burn"), bench.objects[&1].clone());
    assert_eq!(bench.engine.progress(1, run.id()), Progress::Unknown);
    bench.engine.begin(&run, &object);
    assert_ne!(bench.engine.progress(1, run.id()), Progress::Unknown);
    let before = bench.query("read", b"{}").outcome;
    let run = call(&bench, "burn");
    wait_for(&bench.engine, &run);
    assert_eq!(bench.query("read", b"{}").outcome, before);
    assert_eq!(bench.engine.run(&run, &object).outcome, Err(Failure::OutOfFuel));
    assert_eq!(bench.engine.progress(1, run.id()), Progress::Unknown, "its end is taken once");
    assert_eq!(bench.query("read", b"{}").outcome, before);
    assert_ne!(bench.call("slow", b"").outcome.unwrap(), before.unwrap());
}

#[test]
fn what_is_forgotten_is_not_taken_for_another_run() {
    let mut bench = Bench::new(&module());
    bench.call("read", b"").outcome.unwrap();
    bench.position += 1;
    let object = bench.objects[&1].clone();
    let burn = call(&bench, "burn");
    bench.engine.begin(&burn, &object);
    bench.engine.forget(1);
    assert_eq!(bench.engine.progress(1, burn.id()), Progress::Unknown);
    // The same again, which is begun anew; and another in its place, though nobody forgot the first.
    bench.engine.begin(&burn, &object);
    bench.position += 1;
    let slow = call(&bench, "slow");
    bench.engine.begin(&slow, &object);
    assert_eq!(bench.engine.progress(1, burn.id()), Progress::Unknown);
    let ended = bench.engine.run(&slow, &object);
    assert!(ended.outcome.is_ok() && !ended.pages.is_empty());
    bench.engine.begin(&slow, &object);
    bench.engine.forget_all();
    assert_eq!(bench.engine.run(&slow, &object), ended, "nothing was begun: it is carried out at once");
}

#[test]
fn run_beside_sees_who_waited_when_it_was_begun() {
    let mut bench = Bench::new(&module());
    bench.call("read", b"").outcome.unwrap();
    bench.position += 1;
    let mut object = bench.objects[&1].clone();
    let run = call(&bench, "wake");
    let woken = |engine: &Guests, object: &common::Object| {
        engine.begin(&run, object);
        engine.run(&run, object)
    };
    let nobody = woken(&bench.engine, &object);
    object.waiting.insert(77);
    let somebody = woken(&bench.engine, &object);
    assert_eq!((nobody.acts.len(), somebody.acts.len()), (0, 1));
}

#[test]
fn many_objects_have_runs_under_way_and_each_ends_as_its_own() {
    let mut bench = Bench::new(&module());
    bench.position = 5;
    let object = common::Object::default();
    let spaces: Vec<u64> = (1..=40).collect();
    for space in &spaces {
        bench.engine.begin(&bench.run(*space, Entry::Call { method: "slow", args: b"{}" }), &object);
    }
    for space in spaces.iter().rev() {
        let begun = bench.run(*space, Entry::Call { method: "slow", args: b"{}" });
        let ended = bench.engine.run(&begun, &object);
        assert!(ended.outcome.is_ok() && !ended.pages.is_empty(), "{space}");
    }
}

#[test]
fn generated_modules_end_beside_as_at_once() {
    let (mut tried, mut beside) = (0, 0);
    for seed in 0..300 {
        let Some(module) = generated::module(seed) else { continue };
        let (Ok(one), Ok(other)) = (common::prepared(&module, None), common::prepared(&module, None)) else {
            continue;
        };
        let mut objects = [common::Object::default(), common::Object::default()];
        for position in 1..=3 {
            let run = Run {
                version: common::VERSION,
                space: 1,
                changed: objects[0].changed,
                entry: Entry::Call { method: "m", args: b"abc" },
                now_ms: 1_000,
                position,
                kept_at: position,
                seed: position * 31,
                fuel_max: u64::MAX,
                bytes: false,
                slice: None,
            };
            let ended = {
                let first = one.run(&Run { slice: Some(2_000), ..run }, &objects[0]);
                if first.outcome == Err(Failure::Unfinished) {
                    beside += 1;
                    one.begin(&run, &objects[0]);
                    one.run(&run, &objects[0])
                } else {
                    first
                }
            };
            let at_once = other.run(&run, &objects[1]);
            assert_eq!(ended, at_once, "seed {seed}");
            objects.iter_mut().for_each(|object| object.keep(&ended, position));
            tried += 1;
        }
    }
    assert!(tried > 100 && beside > 10, "{tried} runs, {beside} beside");
}

#[test]
fn queries_that_take_long_end_beside_on_copies_of_their_own() {
    let mut bench = Bench::new(&module());
    bench.call("slow", b"").outcome.unwrap();
    bench.position += 1;
    let (run, object) = (call(&bench, "slow"), bench.objects[&1].clone());
    assert_eq!(
        bench.engine.query(&Run { slice: Some(SLICE), ..run }, &object).outcome,
        Err(Failure::Unfinished)
    );
    let at_once = bench.engine.query(&run, &object);
    let numbers: Vec<_> =
        (0..5).map(|_| bench.engine.begin_query(&run, &object).expect("there is room")).collect();
    let deadline = Instant::now() + PATIENCE;
    for number in numbers {
        let ended = loop {
            assert!(Instant::now() < deadline, "it never ends");
            match bench.engine.take_query(number) {
                Some(ended) => break ended,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(ended, at_once);
        assert_eq!(bench.engine.take_query(number), None, "its end is taken once");
    }
    assert_eq!(bench.query("read", b"{}").outcome, bench.query("read", b"{}").outcome);
    // More than there is room for is refused, and ends free it.
    let burn = call(&bench, "burn");
    let begun: Vec<_> = std::iter::from_fn(|| bench.engine.begin_query(&burn, &object)).take(100).collect();
    assert!((2..100).contains(&begun.len()), "{}", begun.len());
    bench.engine.forget_queries();
    assert!(begun.iter().all(|number| bench.engine.take_query(*number).is_none()));
    assert!(bench.engine.begin_query(&run, &object).is_some());
}

/// `save` and `migrate` count for long. The first gives 8 bytes of what was counted; the second adds the length of what it is given
/// to `more`, or traps if it is given nothing.
fn saving(more: u32) -> String {
    let counts = "(loop $on
        (i64.store (i32.const 40000) (i64.add (i64.load (i32.const 40000)) (i64.const 1)))
        (br_if $on (i64.ne (i64.rem_u (i64.load (i32.const 40000)) (i64.const 200000)) (i64.const 0))))";
    let items = format!(
        r#"(memory (export "memory") 1)
        (func (export "save") (result i64) {counts}
            (i64.store (i32.const 3000) (i64.load (i32.const 40000))) (i64.const 0xbb8_0000_0008))
        (func (export "migrate") (param i32 i32) {counts}
            (if (i32.eqz (local.get 1)) (then unreachable))
            (i64.store (i32.const 40000) (i64.extend_i32_u (i32.add (i32.const {more}) (local.get 1)))))"#
    );
    around(&items, "(i64.store (i32.const 50000) (i64.const 3)) (call $give (i64.load (i32.const 40000)))")
}

/// A run is carried out, beside the commands or at once.
fn carried_out(bench: &Bench, run: &Run<'_>, host: &dyn Host, is_beside: bool) -> Ended {
    if !is_beside {
        return bench.engine.run(run, host);
    }
    let before = bench.engine.query(&call(bench, "read"), &bench.objects[&1]);
    let ended = sliced(&bench.engine, run, host);
    // Queries are answered by the version that the object has.
    assert_eq!(bench.engine.query(&call(bench, "read"), &bench.objects[&1]), before);
    ended
}

#[test]
fn object_goes_to_another_version_beside_as_it_would_have_at_once() {
    const LATER: VersionHash = VersionHash([8; 32]);
    let mut ends = Vec::new();
    for is_beside in [true, false] {
        let mut bench = Bench::new(&saving(100));
        let later = wat::parse_str(saving(1_000)).unwrap();
        bench.engine.prepare(&Version { hash: LATER, module: &later, source: None });
        bench.engine.ready(LATER).unwrap();
        bench.call("add", b"").outcome.unwrap();
        bench.position += 1;
        let object = bench.objects[&1].clone();
        let saved = carried_out(&bench, &bench.run(1, Entry::Save), &object, is_beside);
        let state = saved.outcome.clone().unwrap();
        // Nothing else of it is kept.
        bench.engine.forget(1);
        let to = |bench: &Bench, state: &[u8]| {
            let run = Run { version: LATER, changed: 0, ..bench.run(1, Entry::Migrate(state)) };
            carried_out(bench, &run, &common::Object::default(), is_beside)
        };
        bench.position += 1;
        let refused = to(&bench, b"");
        assert!(matches!(refused.outcome, Err(Failure::Trapped { .. })) && refused.pages.is_empty());
        assert_eq!(bench.ok("read", ""), String::from_utf8(vec![0; 8]).unwrap(), "it is as it was");
        bench.position += 1;
        let moved = to(&bench, &state);
        assert!(moved.outcome.is_ok() && !moved.pages.is_empty());
        let mut there = common::Object::default();
        there.keep(&moved, bench.position);
        bench.version = LATER;
        bench.objects.insert(1, there);
        let now = bench.call("read", b"").outcome.unwrap();
        assert_eq!(now, 1_008_u64.to_le_bytes());
        ends.push((saved, refused, moved));
    }
    assert_eq!(ends[0], ends[1]);
}
