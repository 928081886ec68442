//! A compiler that has a process of its own, that of the real program: what it does there, what it cannot do, and what becomes of a
//! module over which it fails.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use objects_guest::{COMPILE_MODULE, CompilerLimits, CompilerProcess, Guests, Settings};
use objects_state::guest::{Engine, Version, VersionHash};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use server::{Folder, diwan};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
const VERSION: VersionHash = VersionHash([7; 32]);
const OTHER: VersionHash = VersionHash([8; 32]);

const LIMITS: CompilerLimits = CompilerLimits {
    memory_bytes: 1 << 30,
    memory_bytes_per_byte: 0,
    cpu_seconds: 60,
    cpu_seconds_per_mib: 0,
    elapsed_per_cpu: 4,
    code_bytes_max: 64 << 20,
};

/// The program as the compiler's process.
fn apart(limits: CompilerLimits) -> CompilerProcess {
    CompilerProcess::new(env!("CARGO_BIN_EXE_diwan").into(), vec![COMPILE_MODULE.into()], limits)
}

/// A script of the shell in its place, which may become it.
fn scripted(script: &str) -> CompilerProcess {
    let program = env!("CARGO_BIN_EXE_diwan");
    let script = script.replace("COMPILE", &format!("exec {program} {COMPILE_MODULE} \"$@\""));
    let arguments = ["-c", &script, "sh"].map(OsString::from).to_vec();
    CompilerProcess::new("/bin/sh".into(), arguments, LIMITS)
}

/// A compiler that first does something else, so often as a file says.
fn first(times: u32, file: &Path, script: &str) -> CompilerProcess {
    std::fs::write(file, times.to_string()).unwrap();
    let file = file.display();
    scripted(&format!(
        "left=$(/bin/cat {file}); if [ $left -gt 0 ]; then echo $(( left - 1 )) > {file}; {script}; fi; COMPILE"
    ))
}

fn engine(compiler: CompilerProcess, directory: Option<&Path>) -> Guests {
    let directory = directory.map(Path::to_owned);
    Guests::new(Settings { compiler: Arc::new(compiler), directory, ..Settings::default() })
}

/// Around functions, what every module has.
fn around(functions: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (memory (export "memory") 1) {functions}
        (func (export "alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "call") (param i32 i32 i32 i32) (result i64) (i64.const 0)))"#
    );
    wat::parse_str(text).unwrap()
}

fn module() -> Vec<u8> {
    around("")
}

/// A module that is compiled for a while: many functions.
fn large(functions: usize) -> Vec<u8> {
    let step = "(local.set 0 (i32.mul (i32.add (local.get 0) (i32.const 77)) (i32.load (i32.const 8))))";
    let function = format!("(func (param i32) (result i32) {} (local.get 0))", step.repeat(60));
    around(&function.repeat(functions))
}

/// A module of some kilobytes for which the compiler wants gigabytes: each of the loops within each other takes over each local.
fn greedy() -> Vec<u8> {
    let changes: String = (4..3_004)
        .map(|local| format!("(local.set {local} (i32.add (local.get {local}) (i32.const 1)))"))
        .collect();
    around(&format!(
        "(func (param i32 i32 i32 i32) (local {}) {} {changes} {})",
        "i32 ".repeat(3_000),
        "loop ".repeat(2_000),
        "(br_if 0 (local.get 5)) end ".repeat(2_000)
    ))
}

fn prepare(engine: &Guests, hash: VersionHash, module: &[u8]) {
    engine.prepare(&Version { hash, module, source: None });
}

fn rejection(engine: &Guests, version: VersionHash) -> String {
    engine.ready(version).unwrap_err().detail
}

/// Waits until something can be told.
fn until<T>(what: &str, mut told: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(told) = told() {
            return told;
        }
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// Which compiler's processes there are whose words and parent are so.
fn processes(is_meant: impl Fn(&[&str], u32) -> bool) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_one = |number: &u32| {
        let words = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        let words: Vec<_> = words.split('\0').collect();
        let parent = stat_of(*number).and_then(|stat| stat.get(1)?.parse().ok());
        words.get(1) == Some(&COMPILE_MODULE) && parent.is_some_and(|parent| is_meant(&words, parent))
    };
    numbers.filter(is_one).collect()
}

/// That one which was given so much memory: each test gives another amount.
fn process_of(memory_bytes: u64) -> Option<u32> {
    processes(|words, _| words.get(3) == Some(&memory_bytes.to_string().as_str())).pop()
}

/// What `/proc` tells of a process from its state on: the parent is the next one.
fn stat_of(number: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    Some(stat.rsplit(") ").next()?.split(' ').map(String::from).collect())
}

fn signal(number: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(number as i32).unwrap(), signal);
}

#[test]
fn module_compiled_apart_is_kept_like_one_that_was_compiled_here() {
    let folder = Folder::new();
    let first = engine(apart(LIMITS), Some(folder.path()));
    prepare(&first, VERSION, &module());
    first.ready(VERSION).unwrap();
    assert_eq!(first.compiled_count(), 1);
    drop(first);
    let again = Guests::new(Settings { directory: Some(folder.path().into()), ..Settings::default() });
    prepare(&again, VERSION, &module());
    again.ready(VERSION).unwrap();
    assert_eq!(again.compiled_count(), 0);
}

#[test]
fn compiler_that_dies_once_or_twice_is_started_again() {
    for deaths in [1, 2] {
        let folder = Folder::new();
        let file = folder.path().join("deaths");
        let engine = engine(first(deaths, &file, "kill -s SEGV $$"), Some(folder.path()));
        prepare(&engine, VERSION, &module());
        engine.ready(VERSION).unwrap();
        assert_eq!((engine.compiled_count(), std::fs::read(&file).unwrap()), (1, b"0\n".to_vec()));
    }
}

#[test]
fn compiler_that_dies_three_times_rejects_its_module_alone() {
    let folder = Folder::new();
    let engine = engine(first(3, &folder.path().join("deaths"), "kill -s ABRT $$"), Some(folder.path()));
    prepare(&engine, VERSION, &module());
    assert_eq!(rejection(&engine, VERSION), "its compiler has failed 3 times: it was ended by signal 6");
    // Nobody else is touched, not even the same module under another name.
    prepare(&engine, OTHER, &module());
    engine.ready(OTHER).unwrap();
}

#[test]
fn compiler_that_gives_garbage_is_not_believed() {
    let folder = Folder::new();
    let engine = engine(scripted("echo this is no machine code; exit 0"), Some(folder.path()));
    prepare(&engine, VERSION, &module());
    assert_eq!(rejection(&engine, VERSION), "its compiler has failed 3 times: what it says is no answer");
    assert_eq!(engine.compiled_count(), 0);
    let kept = std::fs::read_dir(folder.path().join("code")).unwrap().flatten();
    assert!(kept.map(|file| file.path()).all(|file| file.extension().is_none_or(|end| end != "code")));
}

#[test]
fn compiler_that_cannot_be_started_is_waited_for_and_nothing_is_compiled_here() {
    let folder = Folder::new();
    let program = folder.path().join("compiler");
    let compiler = CompilerProcess::new(program.clone(), vec![COMPILE_MODULE.into()], LIMITS);
    let engine = engine(compiler, Some(folder.path()));
    prepare(&engine, VERSION, &module());
    let began = Instant::now();
    // It is tried more often meanwhile than a compiler may die.
    while began.elapsed() < Duration::from_secs(8) {
        assert!(!engine.is_done(VERSION) && engine.compiled_count() == 0);
        std::thread::yield_now();
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_diwan"), &program).unwrap();
    engine.ready(VERSION).unwrap();
    assert_eq!(engine.compiled_count(), 1);
}

#[test]
fn compiler_that_the_host_hinders_rejects_nothing() {
    let folder = Folder::new();
    let hindered = first(3, &folder.path().join("times"), "echo no resources >&2; exit 75");
    let engine = engine(hindered, None);
    prepare(&engine, VERSION, &module());
    engine.ready(VERSION).unwrap();
}

#[test]
fn module_that_eats_memory_is_rejected_and_others_do_not_wait_for_it() {
    let limits = CompilerLimits { memory_bytes: 300 << 20, ..LIMITS };
    let engine = engine(apart(limits), None);
    prepare(&engine, VERSION, &greedy());
    prepare(&engine, OTHER, &module());
    engine.ready(OTHER).unwrap();
    assert!(!engine.is_done(VERSION), "it has not failed as often as it may");
    let detail = rejection(&engine, VERSION);
    assert_eq!(detail, "its compiler has failed 3 times: it needs more than 300 MiB of memory");
}

#[test]
fn module_that_takes_too_long_is_rejected() {
    let engine = engine(apart(CompilerLimits { cpu_seconds: 1, elapsed_per_cpu: 100, ..LIMITS }), None);
    prepare(&engine, VERSION, &large(6_000));
    let detail = rejection(&engine, VERSION);
    assert_eq!(detail, "its compiler has failed 3 times: it used more than 1 s of processor time");
}

#[test]
fn compilers_process_may_do_nothing_but_compile() {
    // What a member was given by who started it.
    let _inherited = rustix::io::dup(std::fs::File::open("/proc/self/exe").unwrap()).unwrap();
    let memory_bytes = LIMITS.memory_bytes + 0x1000;
    let engine = engine(apart(CompilerLimits { memory_bytes, ..LIMITS }), None);
    prepare(&engine, VERSION, &large(3_000));
    let (number, limits) = until("a process compiles", || {
        let number = process_of(memory_bytes)?;
        let limits = std::fs::read_to_string(format!("/proc/{number}/limits")).ok()?;
        let limits: Vec<String> =
            limits.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        // The last limit that it sets before it reads.
        limits.iter().any(|line| line.starts_with("Max processes 0 0")).then_some((number, limits))
    });
    for limit in [
        &format!("Max address space {memory_bytes} {memory_bytes} bytes"),
        "Max cpu time 60 61 seconds",
        "Max core file size 0 0 bytes",
        "Max file size 0 0 bytes",
        "Max open files 0 0 files",
    ] {
        assert!(limits.iter().any(|line| line == limit), "{limit}: {limits:?}");
    }
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).unwrap();
    assert!(status.lines().any(|line| line == "NoNewPrivs:\t1"), "{status}");
    let stat = stat_of(number).unwrap();
    assert_eq!(stat[1], std::process::id().to_string(), "its parent");
    assert_eq!(stat[2], number.to_string(), "its group");
    let own = stat_of(std::process::id()).unwrap()[16].parse::<i32>().unwrap();
    assert_eq!(stat[16].parse::<i32>().unwrap(), (own + 5).min(19), "it stands back");
    let score = std::fs::read_to_string(format!("/proc/{number}/oom_score_adj")).unwrap();
    assert_eq!(score.trim(), "1000", "a host without memory ends it first");
    // Who is not root may not look: it makes no dumps.
    if let Ok(environment) = std::fs::read(format!("/proc/{number}/environ")) {
        assert_eq!(String::from_utf8_lossy(&environment), "");
    }
    if let Ok(descriptors) = std::fs::read_dir(format!("/proc/{number}/fd")) {
        assert_eq!(descriptors.count(), 3, "nothing is inherited");
    }
    engine.ready(VERSION).unwrap();
}

#[test]
fn compilers_process_ends_with_its_engine_and_with_its_version() {
    let memory_bytes = LIMITS.memory_bytes + 0x3000;
    let stopped = |wish: &dyn Fn(&Guests)| {
        let engine = engine(apart(CompilerLimits { memory_bytes, ..LIMITS }), None);
        prepare(&engine, VERSION, &large(3_000));
        let number = until("a process compiles", || process_of(memory_bytes));
        // It stands still, and would not end by itself.
        signal(number, Signal::STOP);
        wish(&engine);
        drop(engine);
        assert_eq!(process_of(memory_bytes), None);
    };
    stopped(&|_| ());
    stopped(&|engine| {
        engine.forget_version(VERSION);
        prepare(engine, OTHER, &module());
        engine.ready(OTHER).unwrap();
    });
}

/// The compiler's process of a member.
fn process_of_member(group: &Group, number: usize) -> Option<u32> {
    let member = group.process(number);
    processes(|_, parent| parent == member).pop()
}

/// Begins to upload a module, and does not wait for it.
fn begin_upload(group: &Group, folder: &Folder, module: &[u8]) -> std::process::Child {
    let file = folder.path().join("large.wasm");
    std::fs::write(&file, module).unwrap();
    let mut command = diwan();
    command.args(["object", "type", "put", file.to_str().unwrap(), "--name", "large"]);
    command.args(["--server", &group.addresses().join(",")]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

/// A module whose one method is a hit, with many functions that nobody calls.
fn large_hits() -> Vec<u8> {
    let step = "(local.set 0 (i32.mul (i32.add (local.get 0) (i32.const 77)) (i32.load (i32.const 8))))";
    let function = format!("(func (param i32) (result i32) {} (local.get 0))", step.repeat(60));
    let text = include_str!("objects/hits.wat").replace("MARK", "one");
    let (head, end) = text.rsplit_once(')').unwrap();
    wat::parse_str(format!("{head}{}){end}", function.repeat(3_000))).unwrap()
}

#[test]
fn upload_succeeds_though_the_compilers_process_is_killed_in_the_middle_and_the_object_works() {
    let (group, folder) = (Group::start(3), Folder::new());
    let uploading = begin_upload(&group, &folder, &large_hits());
    for number in 0..3 {
        let process = until("a process compiles", || process_of_member(&group, number));
        signal(process, Signal::KILL);
    }
    let said = uploading.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    assert!((0..3).any(|number| group.log_of(number).contains("it was ended by signal 9")));
    let mut command = diwan();
    command.args(["object", "create", "large/home", "--server", &group.addresses().join(",")]);
    assert!(command.output().unwrap().status.success());
    let mut caller = Caller::new(group.addresses());
    assert_eq!(caller.call("large/home", "hit", &json!({}))["value"], 1);
}

#[test]
fn compilers_process_ends_with_its_member_and_no_death_is_counted() {
    let (mut group, folder) = (Group::start(1), Folder::new());
    let uploading = begin_upload(&group, &folder, &large_hits());
    // More often than a version may kill a member that makes it ready.
    for _ in 0..4 {
        let process = until("a process compiles", || process_of_member(&group, 0));
        group.kill(0);
        until("the compiler's process ends", || {
            processes(|_, _| true).iter().all(|one| *one != process).then_some(())
        });
        group.begin(0);
    }
    group.wait_serving(0);
    drop(uploading.wait_with_output());
    // The upload was repeated, or is in the log.
    let again = begin_upload(&group, &folder, &large_hits()).wait_with_output().unwrap();
    assert!(again.status.success(), "{again:?}");
    assert!(!group.log_of(0).contains("died in the module"));
}
