//! A majority of the members is lost for good: one survivor's council and objects begin anew, both or neither.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::{Value, json};
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
const SURVIVOR: usize = 0;
const LOST: [usize; 2] = [1, 2];
/// What lies in a directory that a journal has.
const PARTS: [&str; 3] = ["meta", "log", "snapshot"];

/// Three members, of which one has all that was ever acknowledged, and does not run any more. And the fence of a lock.
fn lose_majority() -> (Group, u64) {
    let mut group = Group::start(3);
    assert!(shell(&group, &["create", "/kept"]), "the council serves, too");
    let folder = Folder::new();
    let module = wat::parse_str(include_str!("objects/hits.wat").replace("MARK", "one")).unwrap();
    let file = folder.path().join("hits.wasm");
    std::fs::write(&file, module).unwrap();
    let servers = group.addresses().join(",");
    for words in [vec!["type", "put", file.to_str().unwrap()], vec!["create", "hits/home"]] {
        let output = diwan().arg("object").args(&words).args(["--server", &servers]).output().unwrap();
        let (success, out, errors) = said(output);
        assert!(success, "{words:?}: {out}{errors}");
    }
    let mut caller = Caller::new(group.addresses());
    for _ in 0..20 {
        caller.call("counter/visits", "increment", &json!({}));
        caller.call("hits/home", "hit", &json!({}));
    }
    let held = caller.call("lock/build", "acquire", &json!({ "ttl_ms": 600_000 }));
    group.kill(LOST[1]);
    // From here on nothing is acknowledged that the survivor does not have.
    caller.call("counter/visits", "increment", &json!({ "by": 100 }));
    group.kill(LOST[0]);
    group.kill(SURVIVOR);
    (group, held["fence"].as_u64().unwrap())
}

/// A command to the survivor's council.
fn shell(group: &Group, words: &[&str]) -> bool {
    let mut command = diwan();
    command.args(["shell", "--server", &group.client_of(SURVIVOR), "--timeout", "60000"]).args(words);
    command.output().unwrap().status.success()
}

fn force(configuration: &Path, flags: &[&str]) -> Command {
    let mut command = diwan();
    command.arg("force-new-ensemble").arg("--config").arg(configuration).args(flags);
    command
}

/// How many voters the council and the objects of a directory had when their logs began.
fn voters(configuration: &Path) -> (u64, u64) {
    let (success, out, errors) = said(force(configuration, &[]).output().unwrap());
    assert!(success, "{out}{errors}");
    let number = |words: &str| {
        let (_, rest) = out.split_once(words).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    (number("voters "), number("their group had "))
}

#[test]
fn survivor_of_a_lost_majority_has_its_objects_again_and_old_members_cannot_harm_them() {
    let (mut group, fence) = lose_majority();
    let configuration = group.configuration(SURVIVOR, &group.data_of(SURVIVOR));
    let (success, out, errors) = said(force(&configuration, &[]).output().unwrap());
    assert!(success && out.contains("Nothing was changed") && out.contains("objects     3"), "{out}{errors}");
    let (success, out, errors) = said(force(&configuration, &["--yes"]).output().unwrap());
    assert!(success && out.contains("Empty their data directories first"), "{out}{errors}");
    assert!(group.objects_of(SURVIVOR).join("put-aside/1/meta").exists(), "nothing is deleted");
    group.begin(SURVIVOR);
    group.wait_serving(SURVIVOR);
    assert!(shell(&group, &["get", "/kept"]), "its council has what it had");
    let mut caller = Caller::new(vec![group.addresses()[SURVIVOR].clone()]);
    assert_eq!(caller.query("counter/visits", "get", "")["value"], 120);
    assert_eq!(
        caller.call("hits/home", "hit", &json!({}))["value"],
        21,
        "a type of a user is there, and runs"
    );
    let holder = caller.query("lock/build", "holder", "");
    assert_eq!(holder["fence"], json!(fence), "who held the lock holds it: {holder}");
    let next = caller.call("lock/other", "acquire", &json!({ "ttl_ms": 600_000 }));
    // The lost members may have granted more than the survivor knows.
    assert!(next["fence"].as_u64().unwrap() > fence + 1_000_000_000, "{next}");

    let last = old_member_harms_nobody(&mut group, &mut caller);
    for lost in LOST {
        group.forget(lost);
        group.begin(lost);
        group.wait_serving(lost);
    }
    // The new members have all of it, and once they vote they go on without the survivor.
    go_on_without_survivor(&mut group);
    let mut others = Caller::new(LOST.map(|lost| group.addresses()[lost].clone()).into());
    assert_eq!(others.query("counter/visits", "get", "")["value"], last);
    assert_eq!(others.call("hits/home", "hit", &json!({}))["value"], 22);
}

/// A member that comes with its old data is let in by nobody, and serves nobody. Gives the value of the counter that is called
/// meanwhile.
fn old_member_harms_nobody(group: &mut Group, caller: &mut Caller) -> Value {
    group.begin(LOST[0]);
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        assert_ne!(group.figure(LOST[0], "diwan_objects_serving"), Some(1));
        caller.call("counter/visits", "increment", &json!({}));
        std::thread::sleep(Duration::from_millis(100));
    }
    group.kill(LOST[0]);
    caller.query("counter/visits", "get", "")["value"].clone()
}

/// Stops the survivor for good once the others do without it: once they vote.
fn go_on_without_survivor(group: &mut Group) {
    let deadline = Instant::now() + PATIENCE;
    group.kill(SURVIVOR);
    while !leads_one_of(group, LOST) {
        assert!(Instant::now() < deadline, "the members that were emptied never vote");
        group.begin(SURVIVOR);
        group.wait_serving(SURVIVOR);
        std::thread::sleep(Duration::from_secs(1));
        group.kill(SURVIVOR);
    }
}

/// Whether one of them leads the objects before long.
fn leads_one_of(group: &Group, members: [usize; 2]) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if members.iter().any(|member| group.figure(*member, "diwan_objects_leading") == Some(1)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn interrupted_command_leaves_the_old_data_of_both_services_or_the_new_of_both() {
    let (group, _) = lose_majority();
    let (folder, old) = (Folder::new(), group.data_of(SURVIVOR));
    for pause_ms in 0..24 {
        let copy = folder.path().join(format!("copy-{pause_ms}"));
        duplicate(&old, &copy);
        let configuration = group.configuration(SURVIVOR, &copy);
        let mut running = force(&configuration, &["--yes"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause_ms * 8));
        running.kill().unwrap();
        running.wait().unwrap();
        let found = voters(&configuration);
        assert!(found == (3, 3) || found == (1, 1), "killed after {pause_ms} * 8 ms: {found:?}");
    }
}

#[test]
fn decided_and_interrupted_command_is_finished_by_the_next_one_and_by_a_start() {
    let (mut group, _) = lose_majority();
    let (folder, old) = (Folder::new(), group.data_of(SURVIVOR));
    let new = folder.path().join("new");
    duplicate(&old, &new);
    let configuration = group.configuration(SURVIVOR, &new);
    assert!(force(&configuration, &["--yes"]).status().unwrap().success());
    assert_eq!(voters(&configuration), (1, 1));
    for is_council_installed in [false, true] {
        let half = folder.path().join(format!("half-{is_council_installed}"));
        duplicate(&old, &half);
        interrupt(&half, &new, is_council_installed);
        let mark = half.join("council/.new-ensemble-unfinished");
        std::fs::write(&mark, half.join("objects").display().to_string()).unwrap();
        let configuration = group.configuration(SURVIVOR, &half);
        if is_council_installed {
            // A start finishes it.
            std::fs::remove_dir_all(&old).unwrap();
            duplicate(&half, &old);
            std::fs::write(
                old.join("council/.new-ensemble-unfinished"),
                old.join("objects").display().to_string(),
            )
            .unwrap();
            group.begin(SURVIVOR);
            group.wait_serving(SURVIVOR);
            let mut caller = Caller::new(vec![group.addresses()[SURVIVOR].clone()]);
            assert_eq!(caller.query("counter/visits", "get", "")["value"], 120);
            assert!(!old.join("council/.new-ensemble-unfinished").exists());
        }
        assert_eq!(voters(&configuration), (1, 1));
        assert!(!mark.exists());
    }
}

/// Makes a directory what it is while new data takes the old data's place: all of it is prepared, and perhaps the council's
/// is in its place already.
fn interrupt(half: &Path, new: &Path, is_council_installed: bool) {
    for service in ["council", "objects"] {
        let place = match is_council_installed && service == "council" {
            true => half.join(service),
            false => half.join(service).join("prepared"),
        };
        for part in PARTS {
            let old = place.join(part);
            let _ = std::fs::remove_dir_all(&old).or_else(|_| std::fs::remove_file(&old));
            if new.join(service).join(part).exists() {
                duplicate(&new.join(service).join(part), &old);
            }
        }
    }
}

/// Copies a file, or a directory with all that is in it.
fn duplicate(from: &Path, to: &Path) {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).unwrap();
    }
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}
