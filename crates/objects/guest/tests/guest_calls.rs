//! What a module is told and what it may ask for, function by function.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::{Bench, around};
use objects_guest::Guests;
use objects_state::SessionId;
use objects_state::guest::{Act, Engine, Entry, Failure, OwnPage, Run, Version};

/// The i32 that begins at a place of the arguments.
const MEMORY: &str = r#"(memory (export "memory") 1)"#;

fn number(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn call(bench: &mut Bench, method: &str) -> i64 {
    number(&bench.call(method, b"").outcome.unwrap())
}

#[test]
fn call_gets_its_method_and_its_arguments_at_a_multiple_of_eight() {
    // Gives the arguments, and fails unless the method is `echo` and they begin at 1,032.
    let body = r#"
        (if (i32.or (i32.ne (local.get $ml) (i32.const 4)) (i32.ne (i32.load (local.get $m)) (i32.const 0x6f686365)))
            (then unreachable))
        (if (i32.ne (local.get $p) (i32.const 1032)) (then unreachable))
        (i64.or (i64.shl (i64.extend_i32_u (local.get $p)) (i64.const 32)) (i64.extend_i32_u (local.get $l)))"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    for args in [&b"{}"[..], b"", &[0xff; 3000]] {
        assert_eq!(bench.call("echo", args).outcome.unwrap(), args);
    }
}

#[test]
fn now_and_position_are_the_entry_s() {
    let body = r#"
        (if (i32.eq (local.get $first) (i32.const 110)) (then (return (call $give (call $now_ms)))))
        (call $give (call $position))"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    assert_eq!(call(&mut bench, "now"), 1_700_000_000_001);
    assert_eq!(call(&mut bench, "position"), 2);
    assert_eq!(number(&bench.query("position", b"").outcome.unwrap()), 2);
}

#[test]
fn random_follows_from_the_seed() {
    let body = r#"(call $random (i32.const 600) (i32.const 8)) (call $give (i64.load (i32.const 600)))"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    // The first number of SplitMix64 after the seeds 31 and 62.
    let expected = |seed: u64| {
        let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as i64
    };
    assert_eq!(call(&mut bench, "r"), expected(31));
    assert_eq!(call(&mut bench, "r"), expected(62));
}

#[test]
fn caller_tells_its_length_and_as_much_as_fits() {
    let body = r#"
        (if (i32.ne (call $caller (i32.const 600) (i32.const 4)) (i32.const 16)) (then unreachable))
        (if (i32.load (i32.const 604)) (then unreachable))
        (drop (call $caller (i32.const 600) (i32.const 100)))
        (i64.const 0x258_0000_0010)"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    assert_eq!(bench.call("c", b"").outcome.unwrap(), br#"{"session":null}"#);
}

/// `p` parks; `w` wakes the ticket of its arguments with the arguments; `f` refuses it.
const TICKETS: &str = r#"
    (if (i32.eq (local.get $first) (i32.const 112))
        (then (return (call $give (call $park (i64.const 77) (i64.const 5000))))))
    (if (i32.eq (local.get $first) (i32.const 119))
        (then (return (call $give (i64.extend_i32_u
            (call $wake (i64.load (local.get $p)) (local.get $p) (local.get $l)))))))
    (if (i32.eq (local.get $first) (i32.const 50))
        (then (drop (call $wake (i64.load (local.get $p)) (local.get $p) (local.get $l)))
            (return (call $give (i64.extend_i32_u
                (call $wake (i64.load (local.get $p)) (local.get $p) (local.get $l)))))))
    (call $give (i64.extend_i32_u
        (call $fail (i64.load (local.get $p)) (local.get $m) (local.get $ml) (local.get $p) (i32.const 0))))"#;

#[test]
fn park_answers_the_position_and_wake_finds_who_waits_once() {
    let mut bench = Bench::new(&around(MEMORY, TICKETS));
    let parked = bench.call("park", b"");
    assert_eq!(number(&parked.outcome.unwrap()), 1);
    assert_eq!(parked.acts, [Act::Park { tag: 77, wait_ms: 5000 }]);
    assert_eq!(call(&mut bench, "park"), 2);

    let ticket = 1_u64.to_le_bytes();
    let woken = bench.call("wake", &ticket);
    assert_eq!(number(&woken.outcome.unwrap()), 1);
    assert_eq!(woken.acts, [Act::Wake { ticket: 1, result: ticket.to_vec() }]);
    assert_eq!(number(&bench.call("wake", &ticket).outcome.unwrap()), 0);

    // Twice in one run: once.
    let twice = bench.call("2", &2_u64.to_le_bytes());
    assert_eq!((number(&twice.outcome.unwrap()), twice.acts.len()), (0, 1));
}

#[test]
fn fail_with_a_ticket_refuses_who_waits() {
    let mut bench = Bench::new(&around(MEMORY, TICKETS));
    call(&mut bench, "park");
    let failed = bench.call("f-full", &1_u64.to_le_bytes());
    assert_eq!(failed.acts, [Act::Fail { ticket: 1, code: "f-full".into(), detail: String::new() }]);
    assert_eq!(number(&bench.call("f-full", &1_u64.to_le_bytes()).outcome.unwrap()), 0);
}

#[test]
fn fail_without_a_ticket_refuses_the_call() {
    let body = r#"
        (i32.store (i32.const 2000) (i32.const 1))
        (drop (call $fail (i64.const 0) (local.get $m) (local.get $ml) (local.get $p) (local.get $l)))
        (call $give (i64.const 0))"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    let refused = Failure::Refused { code: "no-money".into(), detail: "three are missing".into() };
    assert_eq!(bench.failure("no-money", "three are missing"), refused);
    assert_eq!(bench.query("no-money", b"three are missing").outcome, Err(refused));
    assert!(bench.objects[&1].pages.is_empty());
}

#[test]
fn timers_and_events_are_acts_in_order() {
    let body = r#"
        (call $timer_set (i64.const 5) (i64.const 1000))
        (call $emit (local.get $m) (local.get $ml) (local.get $p) (local.get $l))
        (call $timer_clear (i64.const 5))
        (call $give (i64.const 0))"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    let acts = [
        Act::SetTimer { id: 5, after_ms: 1000 },
        Act::Emit { topic: "sold".into(), body: b"[1]".to_vec() },
        Act::ClearTimer(5),
    ];
    assert_eq!(bench.call("sold", b"[1]").acts, acts);
}

#[test]
fn log_lines_are_kept_in_order_and_bounded() {
    let body = r#"(call $log (local.get $p) (local.get $l)) (call $give (i64.const 0))"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    for line in ["one", "two"] {
        bench.call("l", line.as_bytes());
    }
    assert_eq!(bench.engine.take_log(), ["one", "two"]);
    for _ in 0..2000 {
        bench.call("l", &[b'x'; 3000]);
    }
    let lines = bench.engine.take_log();
    assert_eq!((lines.len(), lines[0].len()), (1024, 1024));
}

#[test]
fn trap_tells_what_this_run_logged_last() {
    let body = r#"
        (if (local.get $l) (then (call $log (local.get $p) (local.get $l))))
        unreachable"#;
    let mut bench = Bench::new(&around(MEMORY, body));
    let trapped = |detail: &str| Failure::Trapped { detail: detail.into() };
    let told = trapped("unreachable code, in call; last logged: no such account");
    assert_eq!(bench.failure("x", "no such account\n"), told);
    assert_eq!(bench.failure("x", ""), trapped("unreachable code, in call"));
}

#[test]
fn query_and_event_may_not_park() {
    let items = format!(
        r#"{MEMORY} (func (export "timer") (param i64) (drop (call $park (i64.const 0) (i64.const 0))))"#
    );
    for (call_made, name) in [
        ("(drop (call $park (i64.const 0) (i64.const 0)))", "park"),
        ("(call $timer_set (i64.const 0) (i64.const 0))", "timer_set"),
        ("(call $timer_clear (i64.const 0))", "timer_clear"),
        ("(call $emit (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))", "emit"),
        ("(drop (call $wake (i64.const 1) (i32.const 0) (i32.const 0)))", "wake"),
        ("(drop (call $fail (i64.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))", "fail"),
    ] {
        let mut bench = Bench::new(&around(&items, &format!("{call_made} (call $give (i64.const 0))")));
        let detail = format!("called `{name}` in a query, which changes nothing");
        assert_eq!(bench.query("q", b"").outcome, Err(Failure::Broken { detail }));
        assert!(bench.call("q", b"").outcome.is_ok());
        let event = bench.enter(1, Entry::Timer(1)).outcome;
        assert!(matches!(event, Err(Failure::Broken { detail }) if detail.contains("could wait")));
    }
}

#[test]
fn entries_reach_their_exports_and_missing_ones_do_nothing() {
    // Each entry leaves what it was given at 3,000.
    let items = r#"(memory (export "memory") 1)
        (func (export "init") (param i32 i32) (i64.store (i32.const 3000) (i64.load (local.get 0))))
        (func (export "migrate") (param i32 i32) (i64.store (i32.const 3000) (i64.extend_i32_u (local.get 1))))
        (func (export "session_expired") (param i32 i32) (i64.store (i32.const 3000) (i64.load (local.get 0))))
        (func (export "timer") (param i64) (i64.store (i32.const 3000) (local.get 0)))
        (func (export "ticket_ended") (param i64) (i64.store (i32.const 3000) (i64.add (local.get 0) (i64.const 1))))
        (func (export "save") (result i64) (i64.const 0xbb8_0000_0008))"#;
    let body = "(call $give (i64.load (i32.const 3000)))";
    let mut bench = Bench::new(&around(items, body));
    let text = |digits: &[u8; 8]| i64::from_le_bytes(*digits);
    for (entry, expected) in [
        (Entry::Init(b"12345678"), text(b"12345678")),
        (Entry::Migrate(b"12345678"), 8),
        (Entry::SessionExpired(SessionId([0xab; 16])), text(b"abababab")),
        (Entry::Timer(44), 44),
        (Entry::TicketEnded(9), 10),
    ] {
        assert_eq!(bench.enter(1, entry).outcome, Ok(Vec::new()), "{entry:?}");
        assert_eq!(call(&mut bench, "get"), expected, "{entry:?}");
        assert_eq!(number(&bench.enter(1, Entry::Save).outcome.unwrap()), expected);
    }

    let mut without = Bench::new(&around(MEMORY, body));
    let session = Entry::SessionExpired(SessionId([1; 16]));
    for entry in [Entry::Init(b"{}"), session, Entry::Timer(1), Entry::TicketEnded(1)] {
        let ended = without.enter(1, entry);
        assert_eq!((ended.outcome, ended.pages.len()), (Ok(Vec::new()), 0));
    }
    for entry in [Entry::Migrate(b"x"), Entry::Save] {
        assert!(matches!(without.enter(1, entry).outcome, Err(Failure::Broken { .. })));
    }
}

#[test]
fn json_results_are_text_and_raw_ones_bytes() {
    let module = |codec: &str| {
        format!(
            r#"(module (@custom "diwan.type" "{{\"codec\":\"{codec}\"}}") (memory (export "memory") 1)
            (data (i32.const 8) "\ff\fe")
            (func (export "alloc") (param i32) (result i32) (i32.const 1024))
            (func (export "call") (param i32 i32 i32 i32) (result i64) (i64.const 0x8_0000_0002)))"#
        )
    };
    assert_eq!(Bench::new(&module("raw")).call("g", b"").outcome.unwrap(), [0xff, 0xfe]);
    let broken = Failure::Broken { detail: "gave a result that is no text".into() };
    assert_eq!(Bench::new(&module("json")).failure("g", ""), broken);
}

/// A module that imports everything of `wasi_snapshot_preview1` that libraries call as they start.
const WASI: &str = r#"(module
    (@custom "diwan.type" "{\"codec\":\"raw\"}")
    (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 100) "\74\00\00\00\05\00\00\00\79\00\00\00\01\00\00\00hello\0a")
    (global $ready (mut i32) (i32.const 0))
    (func (export "_initialize")
        (drop (call $time (i32.const 0) (i64.const 0) (i32.const 200)))
        (if (i64.eqz (i64.load (i32.const 200))) (then unreachable))
        (global.set $ready (i32.const 1)))
    (func (export "alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "call") (param $m i32) (param i32 i32 i32) (result i64)
        (if (i32.eqz (global.get $ready)) (then unreachable))
        (if (i32.eq (i32.load8_u (local.get $m)) (i32.const 120)) (then (call $exit (i32.const 3))))
        (drop (call $time (i32.const 0) (i64.const 0) (i32.const 0)))
        (drop (call $random (i32.const 8) (i32.const 8)))
        (i32.store (i32.const 16) (i32.const -1))
        (drop (call $args (i32.const 16) (i32.const 20)))
        (i32.store (i32.const 24) (call $write (i32.const 1) (i32.const 100) (i32.const 2) (i32.const 40)))
        (i32.store (i32.const 28) (call $read (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (i32.store (i32.const 32) (call $poll (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (i32.store (i32.const 36) (call $write (i32.const 5) (i32.const 100) (i32.const 1) (i32.const 40)))
        (i64.const 0x0_0000_0028)))"#;

#[test]
fn wasi_shows_the_entry_and_no_files() {
    let mut bench = Bench::new(WASI);
    let result = bench.call("go", b"").outcome.unwrap();
    assert_eq!(number(&result[..8]), 1_700_000_000_001 * 1_000_000);
    assert_ne!(number(&result[8..16]), 0);
    let numbers: Vec<u8> = result[16..].chunks(4).map(|number| number[0]).collect();
    // No arguments; written; no file; no function; no file.
    assert_eq!(numbers, [0, 0, 0, 8, 52, 8]);
    assert_eq!(bench.engine.take_log(), ["hello"]);
    let record = bench.objects[&1].pages.values().next().unwrap();
    let (line, bytes) = OwnPage::of(record).lines().next().unwrap();
    assert_eq!((line, bytes[40]), (0, 6), "bytes written");
    let detail = "the program ended itself with code 3, in function 9";
    assert_eq!(bench.failure("x", ""), Failure::Trapped { detail: detail.into() });
}

#[test]
fn runner_loads_its_source_into_the_image_once() {
    let module = wat::parse_str(
        r#"(module (import "diwan_1" "fail" (func $fail (param i64 i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (global $place (mut i32) (i32.const 4096))
        (global $length (mut i32) (i32.const 0))
        (func (export "alloc") (param i32) (result i32)
            (global.get $place) (global.set $place (i32.add (global.get $place) (local.get 0))))
        (func (export "init_source") (param i32 i32)
            (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 33))
                (then (drop (call $fail (i64.const 0) (local.get 0) (i32.const 1) (local.get 0) (local.get 1)))))
            (global.set $length (local.get 1)))
        (func (export "describe") (result i64)
            (i64.or (i64.const 0x1000_0000_0000) (i64.extend_i32_u (global.get $length))))
        (func (export "call") (param i32 i32 i32 i32) (result i64)
            (i64.or (i64.const 0x1000_0000_0000) (i64.extend_i32_u (global.get $length)))))"#,
    );
    let module = module.unwrap();
    let engine = common::prepared(&module, Some(b"the source")).unwrap();
    assert_eq!(engine.description(common::VERSION).unwrap(), b"the source");
    let bench = Bench { engine, version: common::VERSION, objects: Default::default(), position: 0 };
    let (mut bench, other) = (bench, common::Object::default());
    assert_eq!(bench.ok("any", ""), "the source");
    bench.objects.insert(2, other);
    assert_eq!(bench.enter(2, Entry::Call { method: "any", args: b"" }).outcome.unwrap(), b"the source");
    let refused = common::prepared(&module, Some(b"!line 3")).err().unwrap().detail;
    assert_eq!(refused, "refused its source: !: !line 3");
    // Another source shares the code, and has an image of its own.
    let second = objects_state::guest::VersionHash([8; 32]);
    bench.engine.prepare(&Version { hash: second, module: &module, source: Some(b"another") });
    assert_eq!(bench.engine.ready(second), Ok(()));
    bench.version = second;
    bench.objects.insert(3, common::Object::default());
    assert_eq!(bench.enter(3, Entry::Call { method: "any", args: b"" }).outcome.unwrap(), b"another");
    bench.version = common::VERSION;
    bench.objects.insert(4, common::Object::default());
    assert_eq!(bench.enter(4, Entry::Call { method: "any", args: b"" }).outcome.unwrap(), b"the source");
}

#[test]
fn versions_are_ready_once_and_can_be_forgotten() {
    let engine = Guests::new(Default::default());
    let module = wat::parse_str(around(MEMORY, "(call $give (i64.const 1))")).unwrap();
    let version = Version { hash: common::VERSION, module: &module, source: None };
    assert!(!engine.is_done(common::VERSION));
    engine.prepare(&version);
    engine.prepare(&version);
    assert_eq!(engine.ready(common::VERSION), Ok(()));
    assert!(engine.is_done(common::VERSION));
    engine.forget_version(common::VERSION);
    assert!(!engine.is_done(common::VERSION));
    engine.prepare(&version);
    assert_eq!(engine.ready(common::VERSION), Ok(()));
}

#[test]
fn results_and_messages_are_bytes_if_the_state_looks_at_them() {
    let body = r#"
        (i32.store8 (i32.const 600) (i32.const 255))
        (if (i32.eq (local.get $first) (i32.const 115)) (then
            (call $send (i32.const 700) (i32.const 1) (i32.const 700) (i32.const 1) (i32.const 600) (i32.const 1))))
        (i64.const 0x258_0000_0001)"#;
    let items = format!("{MEMORY} (data (i32.const 700) \"x\")");
    let text = around(&items, body).replace("\\\"raw\\\"", "\\\"json\\\"");
    let mut bench = Bench::new(&text);
    let mut run = |method, bytes| {
        bench.position += 1;
        let run = Run { bytes, ..bench.run(1, Entry::Call { method, args: b"{}" }) };
        bench.engine.run(&run, &bench.objects.get(&1).cloned().unwrap_or_default())
    };
    for method in ["give", "send"] {
        assert!(matches!(run(method, false).outcome, Err(Failure::Broken { .. })), "{method}");
        assert_eq!(run(method, true).outcome, Ok(vec![255]), "{method}");
    }
    assert!(matches!(&run("send", true).acts[..], [Act::Send { args, .. }] if args == b"\xff"));
}
