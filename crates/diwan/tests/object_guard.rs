//! A module of a user that kills members, in real processes: each of them dies twice of one call, and of no other.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::json;
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of a mark, and how many marks of what is under way come before those of deaths.
const MARK_BYTES: usize = 64;
const UNDER_WAY: usize = 16;

fn run(group: &Group, arguments: &[&str]) -> (bool, String, String) {
    let servers = group.addresses().join(",");
    said(diwan().arg("object").args(arguments).args(["--server", &servers]).output().unwrap())
}

fn must(group: &Group, arguments: &[&str]) -> String {
    let (success, out, errors) = run(group, arguments);
    assert!(success, "{arguments:?}: {out}{errors}");
    out
}

fn upload(group: &Group) {
    let folder = Folder::new();
    let file = folder.path().join("burner.wasm");
    std::fs::write(&file, wat::parse_str(include_str!("objects/burn.wat")).unwrap()).unwrap();
    must(group, &["type", "put", file.to_str().unwrap()]);
}

/// The kind of the mark of a run that takes long.
const LONG_RUN: u8 = 4;

/// Whether a long run is under way at a member whose processes have died in it so often, as far as the present one knows.
fn is_running(objects: &Path, deaths: u64) -> bool {
    let marks = std::fs::read(objects.join("modules").join("marks")).unwrap_or_default();
    let marks: Vec<_> = marks.chunks_exact(MARK_BYTES).collect();
    let Some((under_way, of_deaths)) = marks.split_at_checked(UNDER_WAY) else { return false };
    let known = |mark: &[u8]| {
        let found = of_deaths.iter().find(|death| death[0] == LONG_RUN && death[8..] == mark[8..]);
        found.map_or(0, |death| u64::from(death[1]))
    };
    under_way.iter().any(|mark| mark[0] == LONG_RUN && known(mark) == deaths)
}

/// Kills each member twice in the run of a call that is made now.
fn be_deadly(group: &mut Group, deaths_of_each: u64) {
    let mut deaths = vec![0; group.addresses().len()];
    let deadline = Instant::now() + PATIENCE;
    while deaths.iter().any(|deaths| *deaths < deaths_of_each) {
        assert!(Instant::now() < deadline, "the members died {deaths:?} times");
        for (number, deaths) in deaths.iter_mut().enumerate() {
            // A process that starts counts a death before it takes back the mark that the one before has left: so it is looked
            // for twice.
            let is_running = || is_running(&group.objects_of(number), *deaths);
            if *deaths < deaths_of_each && is_running() {
                std::thread::sleep(Duration::from_millis(10));
                if !is_running() {
                    continue;
                }
                group.kill(number);
                *deaths += 1;
                group.begin(number);
            }
        }
        std::thread::yield_now();
    }
}

/// Begins a call of that method under a key, and does not wait for it.
fn begin_call(group: &Group, method: &str) -> std::process::Child {
    let servers = group.addresses().join(",");
    let mut command = diwan();
    command.args(["object", "call", "burner/home", method, "--key", "deadly", "--server", &servers]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
}

fn call_that_kills(members: usize) {
    let mut group = Group::start(members);
    upload(&group);
    for object in ["burner/home", "burner/other"] {
        must(&group, &["create", object]);
        assert_eq!(Caller::new(group.addresses()).call(object, "hit", &json!({}))["value"], 1);
    }
    let mut calling = begin_call(&group, "linger");
    be_deadly(&mut group, 2);
    // The third process of each does not begin it: all serve, and nobody dies any more.
    group.restart_all();
    calling.wait().unwrap();
    let mut caller = Caller::new(group.addresses());
    assert_eq!(caller.call("burner/other", "hit", &json!({}))["value"], 2, "another object goes on");
    let (success, _, errors) = run(&group, &["call", "burner/home", "linger", "--key", "deadly"]);
    assert!(!success && errors.contains("quarantined"), "the call was answered by a refusal: {errors}");
    let (success, _, errors) = run(&group, &["call", "burner/home", "hit"]);
    assert!(!success && errors.contains("died 2 times") && errors.contains("hint: "), "{errors}");
    assert!(must(&group, &["inspect", "burner/home"]).contains("died 2 times"));
    // Its state was kept, and once it is released it goes on; also behind a start, which does not run the call again.
    must(&group, &["release", "burner/home"]);
    assert_eq!(caller.call("burner/home", "hit", &json!({}))["value"], 2);
    (0..members).for_each(|number| group.kill(number));
    group.restart_all();
    let mut caller = Caller::new(group.addresses());
    assert_eq!(caller.call("burner/home", "hit", &json!({}))["value"], 3);
    assert!((0..members).all(|number| !group.objects_of(number).join("put-aside").exists()));
}

#[test]
fn call_that_kills_a_member_alone_stops_one_object_after_two_deaths() {
    call_that_kills(1);
}

#[test]
fn call_that_kills_every_member_stops_one_object_and_no_member_more_than_twice() {
    call_that_kills(3);
}

#[test]
fn process_that_was_killed_once_in_a_call_carries_it_out() {
    let mut group = Group::start(1);
    upload(&group);
    must(&group, &["create", "burner/home"]);
    let mut calling = begin_call(&group, "burn");
    be_deadly(&mut group, 1);
    group.restart_all();
    calling.wait().unwrap();
    let (success, _, errors) = run(&group, &["call", "burner/home", "burn", "--key", "deadly"]);
    assert!(!success && errors.contains("out-of-fuel"), "{errors}");
    assert_eq!(Caller::new(group.addresses()).call("burner/home", "hit", &json!({}))["value"], 1);
}

/// How long calls of a counter take, one behind the other: what nine of ten are below.
fn most_take(caller: &mut Caller, mut goes_on: impl FnMut(usize) -> bool) -> Duration {
    let mut took = Vec::new();
    while goes_on(took.len()) {
        let began = Instant::now();
        caller.call("counter/visits", "increment", &json!({}));
        took.push(began.elapsed());
    }
    took.sort();
    took[took.len() * 9 / 10]
}

#[test]
fn object_that_burns_all_the_time_holds_up_itself_alone_and_the_council_notices_nothing() {
    let group = Group::start(3);
    // Objects may serve before the council's first election is over.
    group.wait_until(0, "diwan_council_elections", |seen| seen > 0, "the council has a leader");
    upload(&group);
    for object in ["burner/home", "burner/other"] {
        must(&group, &["create", object]);
    }
    let mut caller = Caller::new(group.addresses());
    let quiet = most_take(&mut caller, |done| done < 300);
    let elections = group.figure(0, "diwan_council_elections");
    let (ended, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let busy = std::thread::scope(|scope| {
        let commands_and_a_query =
            [("home", "burn", 0), ("home", "burn", 1), ("home", "burn", 2), ("other", "look", 0)];
        for (name, method, member) in commands_and_a_query {
            let mut burner = Caller::new(vec![group.addresses()[member].clone()]);
            let (ended, stop) = (&ended, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let (status, body) = burner.try_once(&format!("burner/{name}"), method, &json!({}));
                    assert!(matches!(status, 202 | 500), "{status} {body}");
                    let counts = method == "burn" && body.contains("out-of-fuel");
                    ended.fetch_add(usize::from(counts), Ordering::Relaxed);
                }
            });
        }
        let deadline = Instant::now() + PATIENCE;
        let busy = most_take(&mut caller, |done| {
            (done < 300 || ended.load(Ordering::Relaxed) < 5) && Instant::now() < deadline
        });
        stop.store(true, Ordering::Relaxed);
        busy
    });
    println!(
        "nine of ten calls of a counter took less than {quiet:?}, and {busy:?} beside an object that burns"
    );
    assert!(ended.into_inner() >= 5, "the burning object has its turns, too");
    // A run takes a fifth of a second, and would hold up most calls for as long.
    assert!(busy < (5 * quiet).max(Duration::from_millis(100)), "{quiet:?} and {busy:?}");
    assert_eq!(group.figure(0, "diwan_council_elections"), elections);
}

#[test]
fn operator_stops_an_object_tries_a_migration_and_goes_back() {
    let group = Group::start(1);
    let folder = Folder::new();
    let put = |mark: &str| {
        let file = folder.path().join("hits.wasm");
        let text = include_str!("objects/hits.wat").replace("MARK", mark);
        std::fs::write(&file, wat::parse_str(text).unwrap()).unwrap();
        let said = must(&group, &["type", "put", file.to_str().unwrap()]);
        String::from(said.strip_prefix("hits ").and_then(|rest| rest.split(' ').next()).expect("a version"))
    };
    let first = put("one");
    must(&group, &["create", "hits/home"]);
    must(&group, &["call", "hits/home", "hit"]);
    let second = put("two");
    let tried = must(&group, &["migrate", "hits/home", "--to", &second, "--dry-run"]);
    assert!(tried.contains("would be migrated to"), "{tried}");
    assert!(must(&group, &["inspect", "hits/home"]).contains(&first));
    must(&group, &["migrate", "hits/home", "--to", &second]);
    let back = must(&group, &["rollback", "hits/home"]);
    assert!(back.contains(&first) && back.contains("nothing is lost"), "{back}");
    let (success, _, errors) = run(&group, &["rollback", "hits/home"]);
    assert!(!success && errors.contains("not-migrated"), "{errors}");
    must(&group, &["quarantine", "hits/home", "--reason", "it looks odd"]);
    let (success, _, errors) = run(&group, &["call", "hits/home", "hit"]);
    assert!(!success && errors.contains("it looks odd") && errors.contains("release"), "{errors}");
    must(&group, &["release", "hits/home"]);
    assert!(must(&group, &["call", "hits/home", "hit"]).contains("\"value\":2"));
}

#[test]
fn dev_runs_a_module_in_three_members_and_compares_them() {
    let folder = Folder::new();
    let file = folder.path().join("hits.wasm");
    std::fs::write(&file, wat::parse_str(include_str!("objects/hits.wat")).unwrap()).unwrap();
    let (success, out, errors) =
        said(diwan().args(["object", "dev"]).arg(&file).arg("--once").output().unwrap());
    assert!(success, "{out}{errors}");
    assert!(out.contains("hits/dev created") && out.contains("all members have the same state"), "{out}");
    std::fs::write(&file, b"no module").unwrap();
    let (success, _, errors) =
        said(diwan().args(["object", "dev"]).arg(&file).arg("--once").output().unwrap());
    assert!(!success && errors.contains("diwan.type"), "{errors}");
}
