//! Live objects of three members in real processes, as a client with nothing but HTTP meets them: members are killed,
//! restarted and emptied meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::json;
use server::{diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn counter_counts_each_increment_once_while_its_leader_is_killed() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    for number in 1..=300_u64 {
        if number == 100 || number == 200 {
            let leader = group.leader();
            group.kill(leader);
            last = Instant::now();
        }
        let reply = caller.call("counter/visits", "increment", &json!({}));
        longest = longest.max(last.elapsed());
        last = Instant::now();
        assert_eq!(reply["value"], number, "no increment is lost, and none counts twice");
        if number == 150 || number == 250 {
            group.restart_all();
            last = Instant::now();
        }
    }
    eprintln!("the longest time without an answer, with two leaders killed: {longest:?}");
    assert!(longest < PATIENCE);
}

#[test]
fn lock_of_a_silent_session_goes_to_its_waiter_after_the_ttl() {
    let group = Group::start(3);
    let mut holder = Caller::new(group.addresses());
    let ttl = Duration::from_secs(2);
    let held = holder.call("lock/build", "acquire", &json!({ "ttl_ms": 2_000 }));
    assert_eq!(held["acquired"], true);
    drop(holder);
    let began = Instant::now();
    let mut waiter = Caller::new(group.addresses());
    let granted = waiter.call("lock/build", "acquire", &json!({ "ttl_ms": 600_000 }));
    let waited = began.elapsed();
    eprintln!("the waiter had the lock {waited:?} after the holder fell silent; the TTL is {ttl:?}");
    assert_eq!(granted["acquired"], true);
    assert!(granted["fence"].as_u64() > held["fence"].as_u64(), "{granted} after {held}");
    assert!(waited > ttl - Duration::from_millis(200), "never early: {waited:?}");
    assert!(waited < ttl + Duration::from_secs(10), "{waited:?}");
}

#[test]
fn objects_are_there_when_all_members_were_killed() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    for number in 1..=20 {
        let reply =
            caller.call("map/settings", "put", &json!({ "key": format!("k{number}"), "value": number }));
        assert_eq!(reply["stored"], true);
    }
    (0..3).for_each(|member| group.kill(member));
    group.restart_all();
    let mut caller = Caller::new(group.addresses());
    let reply = caller.query("map/settings", "size", "");
    assert_eq!(reply["size"], 20);
    let mut stale = Caller::new(group.addresses());
    assert_eq!(stale.query("map/settings", "get", "key=k7")["value"], 7);
}

#[test]
fn emptied_member_catches_up_by_a_snapshot() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    let text = "x".repeat(1_000_000);
    for number in 0..80 {
        // More than a leader keeps of its log for members that lag.
        caller.call(&format!("value/v{number}"), "set", &json!({ "value": text }));
    }
    let leader = group.leader();
    let emptied = (leader + 1) % 3;
    group.kill(emptied);
    group.empty(emptied);
    caller.call("counter/after", "increment", &json!({ "by": 7 }));
    group.restart_all();
    group.wait_for_figure(emptied, ("diwan_objects_states_replaced_total", 1), "it is given a snapshot");
    let own = vec![group.addresses()[emptied].clone()];
    let mut stale = Caller::new(own);
    let value = stale.query("counter/after", "get", "consistency=stale");
    assert_eq!(value["value"], 7);
    assert_eq!(
        stale.query("value/v79", "get", "consistency=stale")["value"].as_str().map(str::len),
        Some(text.len())
    );
}

#[test]
fn leader_that_is_asked_to_stop_hands_over_and_loses_nothing() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    for round in 0..3_u64 {
        let leader = group.leader();
        for number in 1..=20 {
            assert_eq!(caller.call("counter/stops", "increment", &json!({}))["value"], round * 21 + number);
        }
        let began = Instant::now();
        assert!(group.stop(leader), "it stops in good order");
        assert_eq!(caller.call("counter/stops", "increment", &json!({}))["value"], (round + 1) * 21);
        eprintln!("stopped, and answered by another: {:?}", began.elapsed());
        group.restart_all();
    }
}

/// A small file system in memory, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Nothing where this user cannot mount.
    fn mount(at: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let mut command = Command::new("mount");
        let done = command.args(["-t", "tmpfs", "-o", "size=48m", "diwan-objects"]).arg(&at).output();
        done.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn full_disk_refuses_commands_until_there_is_room_and_answers_queries() {
    let folder = server::Folder::new();
    let Some(disk) = SmallDisk::mount(folder.path().join("small")) else {
        eprintln!("passed over: this user cannot mount a small file system");
        return;
    };
    let settings = [
        format!("objects.data-dir={}", disk.0.join("objects").display()),
        String::from("council.storage.segment-bytes=1048576"),
    ];
    let mut group = Group::prepare(1, &settings);
    group.restart_all();
    let mut caller = Caller::new(group.addresses());
    caller.call("counter/visits", "increment", &json!({}));
    let filler = disk.0.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write(&mut file, &[0; 1 << 16]).is_ok_and(|written| written > 0) {}
    let text = json!({ "value": "x".repeat(200_000) });
    let refused = (0..200).find_map(|number| {
        let (status, body) = caller.try_once(&format!("value/v{number}"), "set", &text);
        (status != 200).then_some((status, body))
    });
    let (status, body) = refused.expect("48 MiB are not enough for it");
    assert!(
        status == 503 && body.contains("disk-full") && body.contains("\"effect\":\"none\""),
        "{status} {body}"
    );
    assert_eq!(caller.query("counter/visits", "get", "")["value"], 1);
    group.wait_for_figure(0, ("diwan_objects_disk_full", 1), "its disk is full");
    // Its room is free once nobody has it open.
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(caller.call("counter/visits", "increment", &json!({}))["value"], 2);
}

#[test]
fn council_goes_on_where_objects_cannot_be_read() {
    let mut group = Group::start(1);
    Caller::new(group.addresses()).call("counter/visits", "increment", &json!({}));
    group.kill(0);
    group.damage(0);
    group.start_without_objects(0);
    let (status, body) = Caller::new(group.addresses()).try_once("counter/visits", "increment", &json!({}));
    assert!(
        status == 503 && body.contains("no-leader") && body.contains("its log says why"),
        "{status} {body}"
    );
    let (success, out, errors) =
        said(diwan().args(["shell", "--server", &group.client_of(0), "ls", "/"]).output().unwrap());
    assert!(success && out.contains("zookeeper"), "{out}{errors}");
}

#[test]
fn members_follow_those_of_the_council() {
    let settings = ["council.ensemble.reconfig-enabled=true", "skipACL=yes"].map(String::from);
    let mut group = Group::prepare(4, &settings);
    group.start_first(3);
    let mut caller = Caller::new(group.addresses()[..3].to_vec());
    caller.call("counter/visits", "increment", &json!({ "by": 5 }));
    let line = group.line_of(3);
    let (success, out, errors) =
        said(diwan().args(["member", "add", &line, "--server", &group.client_of(0)]).output().unwrap());
    assert!(success, "{out}{errors}");
    group.restart_all();
    let mut fourth = Caller::new(vec![group.addresses()[3].clone()]);
    assert_eq!(fourth.query("counter/visits", "get", "consistency=stale")["value"], 5);
    // With it the group goes on without two of the first three only if it votes: three of four are a majority.
    group.kill(0);
    assert_eq!(caller.call("counter/visits", "increment", &json!({}))["value"], 6);
}

#[test]
fn commands_of_the_command_line_show_and_change_objects() {
    let group = Group::start(1);
    let server = group.addresses()[0].clone();
    let run = |arguments: &[&str]| {
        said(diwan().arg("object").args(arguments).args(["--server", &server]).output().unwrap())
    };
    assert_eq!(run(&["call", "counter/visits", "increment", "{\"by\":3}"]).1.trim(), "{\"value\":3}");
    let (success, out, _) = run(&["list"]);
    assert!(success && out.contains("counter/visits"), "{out}");
    let (success, out, _) = run(&["inspect", "counter/visits", "--json"]);
    assert!(success && out.contains("\"incarnation\""), "{out}");
    let (success, out, _) = run(&["waits"]);
    assert!(success && !out.contains("visits"), "{out}");
    assert!(run(&["delete", "counter/visits"]).0);
    let (success, _, errors) = run(&["inspect", "counter/visits"]);
    assert!(!success && errors.contains("no-such-object") && errors.contains("hint: "), "{errors}");
    let (success, _, errors) = run(&["call", "counter/visits", "fly"]);
    assert!(!success && errors.contains("no-such-method"), "{errors}");
}
