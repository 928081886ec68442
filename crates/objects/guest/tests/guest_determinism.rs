//! Outcomes follow from the module and the run: whatever is resident, whatever was run before, whatever the module is.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::{Bench, Object, VERSION, around};
use objects_guest::{Guests, Settings, Tracking};
use objects_state::guest::{Ended, Engine, Entry, Run, Version};

/// SplitMix64: what is generated follows from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Reads and writes anywhere: `s`tore, `c`opy, `z`ero a part, `g`row, `r`andom bytes, `a`dd to a global, store and `t`rap, store
/// and `l`oop. The arguments are three i32: where, where to, what. The result tells what is where now.
const ANYWHERE: &str = r#"(memory (export "memory") 2 64) (global $sum (mut i64) (i64.const 3)) (global $float (mut f64) (f64.const 1))
    (data (i32.const 5000) "the image is not empty") (data (i32.const 70000) "anywhere")"#;

const CHANGE: &str = r#"
    (local.set $at (i32.rem_u (i32.load (local.get $p)) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 9000))))
    (local.set $to (i32.rem_u (i32.load offset=4 (local.get $p)) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 9000))))
    (local.set $what (i32.load offset=8 (local.get $p)))
    (if (i32.eq (local.get $first) (i32.const 115)) (then (i32.store (local.get $at) (local.get $what))))
    (if (i32.eq (local.get $first) (i32.const 99)) (then
        (memory.copy (local.get $at) (local.get $to) (i32.and (local.get $what) (i32.const 8191)))))
    (if (i32.eq (local.get $first) (i32.const 122)) (then
        (memory.fill (local.get $at) (i32.const 0) (i32.and (local.get $what) (i32.const 8191)))))
    (if (i32.eq (local.get $first) (i32.const 103)) (then (drop (memory.grow (i32.and (local.get $what) (i32.const 7))))))
    (if (i32.eq (local.get $first) (i32.const 114)) (then
        (call $random (local.get $at) (i32.and (local.get $what) (i32.const 4095)))))
    (if (i32.eq (local.get $first) (i32.const 97)) (then
        (global.set $float (f64.div (global.get $float) (f64.convert_i32_s (local.get $what))))
        (global.set $sum (i64.add (global.get $sum) (i64.extend_i32_s (local.get $what))))))
    (if (i32.eq (local.get $first) (i32.const 116)) (then
        (i32.store (local.get $at) (local.get $what)) (global.set $sum (i64.const 0)) unreachable))
    (if (i32.eq (local.get $first) (i32.const 108)) (then
        (loop (i32.store (local.get $at) (local.get $what)) (local.set $at (i32.add (local.get $at) (i32.const 1))) (br 0))))
    (call $give (i64.add (i64.add (global.get $sum) (i64.reinterpret_f64 (global.get $float))) (i64.load (local.get $at))))"#;

/// A call that the seed makes.
fn generated(random: &mut Random) -> (&'static str, Vec<u8>) {
    const METHODS: &[&str] = &["s", "s", "s", "c", "c", "z", "z", "g", "r", "a", "a", "t", "l"];
    let method = METHODS[random.below(METHODS.len() as u64) as usize];
    (method, (0..3).flat_map(|_| (random.next() as u32).to_le_bytes()).collect())
}

#[test]
fn outcomes_do_not_depend_on_what_is_resident() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let module = around(ANYWHERE, CHANGE);
        // One keeps all; one is fresh for each call; one has room for a single
        // copy of three, and compares all pages.
        let mut benches = [Bench::new(&module), Bench::new(&module), Bench::new(&module)];
        let narrow = Settings { residents_max: 1, tracking: Tracking::Compare, ..Settings::default() };
        let narrow = Guests::new(narrow);
        let bytes = wat::parse_str(&module).unwrap();
        narrow.prepare(&Version { hash: VERSION, module: &bytes, source: None });
        narrow.ready(VERSION).unwrap();
        benches[2].engine = narrow;
        for _ in 0..150 {
            let (method, args) = generated(&mut random);
            let space = random.below(3);
            let is_query = random.below(4) == 0;
            let ended = benches.each_mut().map(|bench| one(bench, space, method, &args, is_query));
            assert_eq!(ended[0], ended[1], "seed {seed}, {method}");
            assert_eq!(ended[0], ended[2], "seed {seed}, {method}");
            if random.below(2) == 0 {
                benches[1].engine.forget(space);
            }
        }
        assert!(benches[2].engine.resident_count() <= 1);
        let digests =
            benches.map(|bench| bench.objects.into_values().map(|object| object.pages).collect::<Vec<_>>());
        assert!(digests[0] == digests[1] && digests[0] == digests[2]);
    }
}

fn one(bench: &mut Bench, space: u64, method: &str, args: &[u8], is_query: bool) -> Ended {
    let entry = Entry::Call { method, args };
    if !is_query {
        return bench.enter(space, entry);
    }
    let run = bench.run(space, entry);
    let object = bench.objects.entry(space).or_default();
    bench.engine.query(&run, object)
}

#[test]
fn copy_at_another_position_is_not_used() {
    let body = r#"
        (i64.store (i32.const 9000) (i64.add (i64.load (i32.const 9000)) (i64.const 1)))
        (call $give (i64.load (i32.const 9000)))"#;
    let mut bench = Bench::new(&around(r#"(memory (export "memory") 1)"#, body));
    for round in 1..4_u64 {
        assert_eq!(bench.call("i", b"").outcome.unwrap(), round.to_le_bytes());
    }
    // The state took the last two back, and tells an older one.
    let mut older = Object::default();
    let run = Run { changed: 0, ..bench.run(1, Entry::Call { method: "i", args: b"" }) };
    let ended = bench.engine.run(&run, &older);
    assert_eq!(ended.outcome.as_ref().unwrap()[..], 1_u64.to_le_bytes());
    older.keep(&ended, 99);
    let run = Run { changed: 99, ..run };
    assert_eq!(bench.engine.query(&run, &older).outcome.unwrap(), 2_u64.to_le_bytes());
}

#[test]
fn floats_have_one_nan() {
    let body = r#"
        (f64.store (i32.const 600) (f64.div (f64.load (local.get $p)) (f64.load offset=8 (local.get $p))))
        (f32.store (i32.const 608) (f32.sqrt (f32.load offset=16 (local.get $p))))
        (i64.const 0x258_0000_000c)"#;
    let mut bench = Bench::new(&around(r#"(memory (export "memory") 1)"#, body));
    let args = [&0_f64.to_le_bytes()[..], &(-0_f64).to_le_bytes(), &(-1_f32).to_le_bytes()].concat();
    let result = bench.call("d", &args).outcome.unwrap();
    assert_eq!(result[..8], 0x7ff8_0000_0000_0000_u64.to_le_bytes());
    assert_eq!(result[8..], 0x7fc0_0000_u32.to_le_bytes());
}
