//! What a run has written is found, whatever instruction wrote it and wherever: a module that notes its pages itself against one
//! of which all pages are compared.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::{Bench, VERSION, around};
use objects_guest::{Guests, Settings, Tracking};
use objects_state::guest::{Engine, Failure, PAGE_BYTES, Version};

/// Two pages of WebAssembly, filled with what no instruction of these tests writes.
const MEMORY: &str = r#"(memory (export "memory") 2 4)
    (func (export "_initialize") (memory.fill (i32.const 2048) (i32.const 0x55) (i32.const 129024)))
    (data $passive "\01\02\03\04\05\06\07\08\09\0a\0b\0c\0d\0e\0f\10\11\12\13\14\15\16\17\18\19\1a\1b\1c\1d\1e\1f\20")"#;
const MEMORY_BYTES: u32 = 2 << 16;

/// Two engines with a module: one whose module notes, and one that compares.
fn both(module: &str) -> [Bench; 2] {
    let module = wat::parse_str(module).unwrap();
    [Tracking::DirtyBytes, Tracking::Compare].map(|tracking| {
        let engine = Guests::new(Settings { tracking, ..Settings::default() });
        engine.prepare(&Version { hash: VERSION, module: &module, source: None });
        engine.ready(VERSION).unwrap();
        Bench { engine, version: VERSION, objects: Default::default(), position: 0 }
    })
}

/// Calls both with numbers as arguments; how many pages were written.
fn same(benches: &mut [Bench; 2], method: &str, numbers: &[u32]) -> Result<Vec<u32>, Failure> {
    let args: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let [noted, compared] = benches.each_mut().map(|bench| bench.call(method, &args));
    assert_eq!(noted, compared, "{method} {numbers:x?}");
    noted.outcome.map(|_| noted.pages.iter().map(|(page, _)| page).collect())
}

/// The next call makes the object again.
fn anew(benches: &mut [Bench; 2]) {
    for bench in benches {
        bench.objects.clear();
        bench.engine.forget_all();
    }
}

/// The pages behind those that arguments and results lie in.
fn is_far(page: &u32) -> bool {
    *page > 0
}

/// Addresses around the ends of pages, of the memory, and of all addresses.
fn places() -> Vec<u32> {
    let ends = [2, 5, 16, 31].map(|page| page * PAGE_BYTES as u32);
    let around = ends.into_iter().flat_map(|end| (0..18).map(move |before| end - before));
    let last = (0..20).map(|before| MEMORY_BYTES - before);
    let beyond = [MEMORY_BYTES + 1, 4 << 16, (1 << 28) - 8, 1 << 28, u32::MAX - 8, u32::MAX];
    around.chain(last).chain(beyond).collect()
}

const LANE: &str = "(v128.const i64x2 0x0102030405060708 0x1112131415161718)";
/// Each instruction that stores a value, and one.
const STORES: [(&str, &str); 14] = [
    ("i32.store", "(i32.const 0x01020304)"),
    ("i32.store8", "(i32.const 1)"),
    ("i32.store16", "(i32.const 0x0102)"),
    ("i64.store", "(i64.const 0x0102030405060708)"),
    ("i64.store8", "(i64.const 1)"),
    ("i64.store16", "(i64.const 0x0102)"),
    ("i64.store32", "(i64.const 0x01020304)"),
    ("f32.store", "(f32.const 1.1)"),
    ("f64.store", "(f64.const 1.1)"),
    ("v128.store", LANE),
    ("v128.store8_lane LANE", LANE),
    ("v128.store16_lane LANE", LANE),
    ("v128.store32_lane LANE", LANE),
    ("v128.store64_lane LANE", LANE),
];

#[test]
fn each_store_is_found_at_the_end_of_a_page_and_behind_it() {
    for (store, value) in STORES {
        let at = |offset: u32| {
            let (store, lane) = store.split_once(' ').map_or((store, ""), |(store, _)| (store, "1"));
            format!("({store} offset={offset} {lane} (i32.load (local.get $p)) {value})")
        };
        let arms = [(97, 0), (98, 1), (99, 5000), (100, u32::MAX - 3)].map(|(letter, offset)| {
            format!("(if (i32.eq (local.get $first) (i32.const {letter})) (then {}))", at(offset))
        });
        let mut benches = both(&around(MEMORY, &(arms.concat() + "(call $give (i64.const 1))")));
        let (mut crossed, mut trapped) = (0, 0);
        for place in places() {
            for method in ["a", "b", "c", "d"] {
                match same(&mut benches, method, &[place]) {
                    Ok(pages) => crossed += u32::from(pages.iter().filter(|page| is_far(page)).count() == 2),
                    Err(_) => trapped += 1,
                }
                // The next one writes to memory that is as it was made.
                anew(&mut benches);
            }
        }
        let is_byte = store.contains("store8");
        assert!((crossed > 0) != is_byte && trapped > 20, "{store}: {crossed} crossed, {trapped} trapped");
    }
}

#[test]
fn each_range_is_found_whatever_its_length() {
    let arms = [
        (99, "(memory.copy (local.get $at) (i32.const 1) (local.get $what))"),
        (102, "(memory.fill (local.get $at) (local.get $what) (local.get $what))"),
        (105, "(memory.init $passive (local.get $at) (i32.const 0) (local.get $what))"),
        (114, "(call $random (local.get $at) (local.get $what))"),
        (109, "(drop (call $caller (local.get $at) (local.get $what)))"),
    ]
    .map(|(letter, body)| format!("(if (i32.eq (local.get $first) (i32.const {letter})) (then {body}))"));
    let body = format!(
        "(local.set $at (i32.load (local.get $p))) (local.set $what (i32.load offset=4 (local.get $p))) {}
        (call $give (i64.const 1))",
        arms.concat()
    );
    let mut benches = both(&around(MEMORY, &body));
    let (mut many, mut trapped) = (0, 0);
    for place in places() {
        for length in [0, 1, 2, 7, 15, 17, 32, 4095, 4096, 4097, 8192, 20_001, MEMORY_BYTES, u32::MAX] {
            for method in ["c", "f", "i", "r", "m"] {
                match same(&mut benches, method, &[place, length]) {
                    Ok(pages) => many += u32::from(pages.len() > 3),
                    Err(_) => trapped += 1,
                }
            }
            anew(&mut benches);
        }
    }
    assert!(many > 50 && trapped > 500, "{many} of many pages, {trapped} trapped");
}

#[test]
fn what_a_failed_run_or_a_query_wrote_is_taken_back_whole() {
    // Writes over the end of a page, and fails if it is told to.
    let body = r#"
        (i64.store (i32.const 8189) (i64.load (local.get $p)))
        (memory.fill (i32.const 20000) (i32.load8_u (local.get $p)) (i32.const 9000))
        (if (i32.eq (local.get $first) (i32.const 102)) (then unreachable))
        (call $give (i64.load (i32.const 8189)))"#;
    let mut benches = both(&around(MEMORY, body));
    let pages = same(&mut benches, "w", &[7, 7]).unwrap();
    assert_eq!(pages, [0, 1, 2, 4, 5, 6, 7]);
    same(&mut benches, "f", &[8, 8]).unwrap_err();
    for bench in &mut benches {
        let before = bench.objects[&1].clone();
        let [asked, again] = [&[9; 8], &[9; 8]].map(|args| bench.query("w", args).outcome.unwrap());
        assert_eq!(asked, again);
        // The copy is as the records are: what is not taken back would be a change now.
        assert_eq!(bench.objects[&1].pages, before.pages);
    }
    let pages = same(&mut benches, "w", &[7, 7]).unwrap();
    assert!(!pages.iter().any(is_far), "nothing changes: {pages:?}");
}
