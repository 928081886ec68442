//! What a call costs: by what it writes, and not by what there is.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::time::{Duration, Instant};

use common::{Bench, around};

/// `f` fills as many MiB as the arguments say; `i` increments one number.
const FILL: &str = r#"
    (if (i32.eq (local.get $first) (i32.const 102)) (then
        (drop (memory.grow (i32.mul (i32.load8_u (local.get $p)) (i32.const 16))))
        (memory.fill (i32.const 65536) (i32.const 7) (i32.mul (i32.load8_u (local.get $p)) (i32.const 1048576)))))
    (i32.store (i32.const 4096) (i32.add (i32.load (i32.const 4096)) (i32.const 1)))
    (call $give (i64.extend_i32_u (i32.load (i32.const 4096))))"#;

/// The shortest of many calls on an object of so many MiB, and of many queries.
fn shortest(mebibytes: u8) -> [Duration; 2] {
    let mut bench = Bench::new(&around(r#"(memory (export "memory") 1)"#, FILL));
    bench.call("fill", &[mebibytes]).outcome.unwrap();
    assert_eq!(bench.objects[&1].pages.len(), 2 + usize::from(mebibytes) * 256);
    let measure = |run: &mut dyn FnMut()| {
        let once = |_| {
            let start = Instant::now();
            run();
            start.elapsed()
        };
        (0..300).map(once).min().unwrap()
    };
    let call = measure(&mut || _ = bench.call("i", &[0]));
    let query = measure(&mut || _ = bench.query("i", &[0]));
    println!("{mebibytes} MiB: call {call:?}, query {query:?}");
    [call, query]
}

#[test]
fn call_costs_by_what_it_writes() {
    let (small, large) = (shortest(0), shortest(60));
    for (small, large) in small.into_iter().zip(large) {
        // Comparing all pages takes a thousand times as long as a small call.
        assert!(large < small * 20, "{small:?} against {large:?}");
    }
}
