//! A process that is killed within a run: the next ones know it. The processes are this test itself, started again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Bench, VERSION, around};
use objects_guest::{Guests, Settings};
use objects_state::guest::{Engine, Entry, Failure, Version};

/// Names the directory, for a process that is to be killed.
const DIRECTORY: &str = "DIWAN_TEST_GUEST_DIRECTORY";
const PATIENCE: Duration = Duration::from_secs(60);

/// `b` burns its fuel; everything else gives a number.
fn module() -> Vec<u8> {
    let body = r#"(if (i32.eq (local.get $first) (i32.const 98)) (then (loop $on (br $on))))
        (call $give (i64.const 7))"#;
    wat::parse_str(around(r#"(memory (export "memory") 1)"#, body)).unwrap()
}

fn bench(directory: &Path) -> Bench {
    let engine = Guests::new(Settings { directory: Some(directory.into()), ..Settings::default() });
    engine.prepare(&Version { hash: VERSION, module: &module(), source: None });
    engine.ready(VERSION).unwrap();
    Bench { engine, version: VERSION, objects: Default::default(), position: 100 }
}

/// Not a test of its own: it runs the same call again and again until it is killed.
#[test]
fn process_that_is_to_be_killed() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let mut bench = bench(Path::new(&directory));
    loop {
        bench.position = 100;
        if matches!(bench.failure("burn", ""), Failure::Deadly { .. }) {
            return;
        }
    }
}

fn start(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process_that_is_to_be_killed"]).env(DIRECTORY, directory);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Whether a run of the log is under way in some process.
fn is_running(directory: &Path) -> bool {
    let mut marks = Vec::new();
    let read = std::fs::File::open(directory.join("marks")).and_then(|mut file| file.read_to_end(&mut marks));
    read.is_ok() && marks.chunks(64).take(16).any(|mark| mark[0] == 1)
}

/// Starts a process and kills it in the run.
fn kill_in_run(directory: &Path) {
    // The marks of the one before are taken for deaths now, and not for what this one does.
    drop(Guests::new(Settings { directory: Some(directory.into()), ..Settings::default() }));
    let mut child = start(directory);
    let began = Instant::now();
    while !is_running(directory) {
        assert!(began.elapsed() < PATIENCE, "the process runs nothing");
        assert!(child.try_wait().unwrap().is_none(), "the process has ended");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn call_that_killed_two_processes_fails_in_the_third_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    kill_in_run(folder.path());
    kill_in_run(folder.path());
    assert!(start(folder.path()).wait().unwrap().success(), "the third process does not begin it");
    let mut bench = bench(folder.path());
    bench.position = 100;
    match bench.failure("burn", "") {
        Failure::Deadly { detail } => assert!(detail.contains("died 2 times"), "{detail}"),
        other => panic!("{other:?}"),
    }
    // The next position, and the same position of another object.
    assert_eq!(bench.ok("x", ""), "\u{7}\0\0\0\0\0\0\0");
    bench.position = 100;
    assert!(matches!(
        bench.enter(2, Entry::Call { method: "burn", args: b"" }).outcome,
        Err(Failure::OutOfFuel)
    ));
    // A start may come to it again after its object was released: it must end as it did.
    bench.engine.forgive(1, 200);
    bench.position = 100;
    assert!(matches!(bench.failure("burn", ""), Failure::Deadly { .. }));
}
