//! `diwan lab` from outside: lists, measures, is broken off and goes on, draws, compares.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use server::Folder;
use server::secured::Secured;

/// How long a loaded machine may take for anything.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);

fn within(folder: &Folder, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn lab(arguments: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_diwan")).with_file_name("diwan-lab");
    assert!(program.is_file(), "`diwan-lab` is not built: `cargo build -p tools-lab --bin diwan-lab`");
    let mut command = Command::new(env!("CARGO_BIN_EXE_diwan"));
    // As installed: a program that `cargo run` starts builds the lab first.
    command.env_remove("CARGO").arg("lab").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    lab(arguments).output().unwrap()
}

/// A brief run of these experiments on Diwan alone, for there is no other build.
fn brief<'a>(experiments: &[&'a str], folder: &'a str) -> Vec<&'a str> {
    let options = ["--seconds", "0.1", "--systems", "diwan,other", "--dir", folder];
    ["run"].iter().chain(experiments).chain(&options).copied().collect()
}

fn lines(folder: &str) -> Vec<Value> {
    let text = fs::read_to_string(Path::new(folder).join("points.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Experiment, series, place and repetition of each point.
fn points(folder: &str) -> Vec<(String, String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let lines = lines(folder).into_iter().filter(|line| line.get("figures").is_some());
    lines
        .map(|line| {
            let repetition = line["repetition"].as_u64().unwrap();
            (text(&line["experiment"]), text(&line["series"]), text(&line["at"]), repetition)
        })
        .collect()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn all_experiments_are_listed() {
    let output = run(&["list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let ids: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let all = "Z1 Z2 Z3 Z4 Z5 Z6 C1 C2 C3 C4 C5 R1 R2 R3 R4 R5 K1 K2 K3 \
               log-producers log-delivery log-transactions log-idle log-start log-replicas log-failover \
               log-takeover log-rolling log-reassignment log-groups log-queue \
               recipe-lock recipe-handoff recipe-barrier recipe-counter recipe-query";
    assert_eq!(ids.join(" "), all);
}

#[test]
fn a_run_is_measured_drawn_and_held_against_itself() {
    let folder = Folder::new();
    let a = within(&folder, "a");
    let output = run(&[brief(&["Z2", "c1"], &a), vec!["--repetitions", "2"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let points = points(&a);
    // Three operations; one, three and five servers; twice each.
    assert_eq!(points.len(), 12, "{points:?}");
    assert_eq!(points.iter().collect::<BTreeSet<_>>().len(), 12, "{points:?}");
    for line in lines(&a).iter().filter(|line| line.get("figures").is_some()) {
        assert!(line["figures"]["rate (op/s)"].as_f64().is_some_and(|rate| rate > 0.0), "{line}");
        assert!(line["figures"]["memory (MiB)"].as_f64().is_some_and(|memory| memory > 1.0), "{line}");
        assert!(line["checked"]["writes"].as_u64().is_some_and(|writes| writes > 0), "{line}");
    }
    let skipped: Vec<_> = lines(&a).into_iter().filter_map(|line| line.get("skipped").cloned()).collect();
    assert!(skipped.iter().any(|one| one["system"] == "other"), "{skipped:?}");

    let page = fs::read_to_string(Path::new(&a).join("report.html")).unwrap();
    let outside = page.match_indices("http").filter(|(at, _)| !page[*at..].starts_with("http://www.w3.org/"));
    assert_eq!(outside.count(), 0, "the page wants something from a network");
    for text in ["Latency of one client", "زمن الاستجابة لعميل واحد", "prefers-color-scheme", "<svg"]
    {
        assert!(page.contains(text), "the page lacks `{text}`");
    }
    for (name, text) in [("report.md", "Latency of one client"), ("report.ar.md", "زمن الاستجابة")]
    {
        let document = fs::read_to_string(Path::new(&a).join(name)).unwrap();
        assert!(document.contains(text), "{name}");
        let pictures = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for picture in pictures {
            let svg = fs::read_to_string(Path::new(&a).join(picture)).unwrap();
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{picture}");
        }
    }

    let output = run(&["compare", &a, &a]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("nothing moved beyond noise"), "{}", said(&output));
}

#[test]
fn what_moved_gives_its_status() {
    let folder = Folder::new();
    let (a, b) = (within(&folder, "a"), within(&folder, "b"));
    for (path, times) in [(&a, 1.0), (&b, 0.5)] {
        fs::create_dir_all(path).unwrap();
        let header = serde_json::json!({
            "form": 1, "begun": "", "command": "", "scale": "small", "seconds": 2.0, "seed": 1, "repetitions": 2,
            "machine": {}, "versions": [],
        });
        fs::write(Path::new(path).join("run.json"), header.to_string()).unwrap();
        let line = |number: u32| {
            let figures = serde_json::json!({ "rate (op/s)": f64::from(number + 1) * times });
            serde_json::json!({
                "experiment": "Z1", "system": "diwan", "series": "", "at": (number / 2).to_string(),
                "repetition": number % 2 + 1, "origin": "measured", "figures": figures,
            })
        };
        let text: String = (0..10).map(|number| format!("{}\n", line(number))).collect();
        fs::write(Path::new(path).join("points.jsonl"), text).unwrap();
    }
    let output = run(&["compare", &a, &b]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("worse"), "{}", said(&output));
    for other in [within(&folder, "nowhere"), format!("{b}:zookeeper")] {
        let output = run(&["compare", &a, &other]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    }
}

#[test]
fn another_build_takes_its_turns_whichever_systems_are_named() {
    let folder = Folder::new();
    let a = within(&folder, "a");
    let output = run(&[brief(&["Z2"], &a), vec!["--against", env!("CARGO_BIN_EXE_diwan")]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let systems: BTreeSet<_> =
        lines(&a).iter().filter_map(|line| line["system"].as_str().map(String::from)).collect();
    assert_eq!(systems, ["diwan", "other"].map(String::from).into());
    let [one, other] = ["diwan", "other"].map(|system| format!("{a}:{system}"));
    let output = run(&["compare", &one, &other]);
    assert!(said(&output).contains("Z2"), "{}", said(&output));
}

#[test]
fn secured_servers_are_measured_with_the_options_of_the_shell() {
    let (secured, folder) = (Secured::start_strict(), Folder::new());
    let out = within(&folder, "out");
    let (ca, port) = (secured.file("certs/ca.pem"), secured.server.secure_address());
    let address = format!("mine=localhost:{}", port.rsplit_once(':').unwrap().1);
    let measure = |password: &str, more: &[&str]| {
        let options = ["run", "Z2", "--seconds", "0.1", "--systems", "mine", "--repetitions", "1"];
        let mut command = lab(&options);
        command.args(["--dir", &out, "--address", &address]).args(more);
        command.env("DIWAN_SASL_PASSWORD", password).output().unwrap()
    };
    let user = ["--tls-ca", &ca, "--sasl-user", "bob"];
    for (password, options, expected) in [
        ("wrong", &user[..], "does not accept this user"),
        ("bobsecret", &user[2..], "the port expects TLS"),
        ("bobsecret", &user[..2], "serves authenticated clients only"),
    ] {
        let output = measure(password, options);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected) && text.contains("\nhint: "), "{text}");
        assert!(!Path::new(&out).exists(), "nothing was begun: {text}");
    }

    let output = measure("bobsecret", &[&user[..], &["--auth", "digest:alice:unseen"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let points = points(&out);
    assert_eq!(points.len(), 3, "{points:?}");
    let run = fs::read_to_string(Path::new(&out).join("run.json")).unwrap();
    assert!(run.contains("by TLS") && run.contains("--auth digest:(hidden)"), "{run}");
    assert!(!run.contains("unseen") && !run.contains("bobsecret"), "{run}");
}

#[test]
fn options_of_a_secured_server_without_an_address_are_refused() {
    let output = run(&["run", "Z2", "--sasl-user", "bob"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("without `--address`"), "{}", said(&output));
}

#[test]
fn a_run_that_is_broken_off_goes_on() {
    let folder = Folder::new();
    let a = within(&folder, "a");
    let experiments = ["C1", "Z2"];
    let mut child =
        lab(&brief(&experiments, &a)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&mut child, || !points(&a).is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().unwrap();
    let before = points(&a);
    assert!(Path::new(&a).join("report.html").exists(), "what was measured is drawn");
    assert!(!status.success() || before.len() == 12, "{status} {before:?}");

    let output = run(&brief(&experiments, &a));
    assert_eq!(output.status.code(), Some(2), "nothing is measured over a run: {}", said(&output));
    let output = run(&[brief(&experiments, &a), vec!["--resume"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let after = points(&a);
    assert_eq!(after[..before.len()], before, "what was measured stays as it was");
    assert_eq!((after.len(), after.iter().collect::<BTreeSet<_>>().len()), (12, 12), "{after:?}");
}

fn wait_for(child: &mut Child, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none() && began.elapsed() < PATIENCE, "{ended:?} after {:?}", began.elapsed());
        thread::sleep(LOOK_EVERY);
    }
}
