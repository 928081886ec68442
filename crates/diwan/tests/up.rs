//! `diwan up` and `diwan status` as a new user meets them: one command, three servers, a leader that is killed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use council_client::{Client, CreateMode, Options};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// An address of loopback's that no other test has, so that no other takes a port between being found and being used.
fn own_host() -> Ipv4Addr {
    static COUNT: AtomicU8 = AtomicU8::new(1);
    let [high, low] = ((std::process::id() % 0xffff) as u16).to_be_bytes();
    Ipv4Addr::new(127, high.max(1), low, COUNT.fetch_add(1, Ordering::Relaxed))
}

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One row of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    member: u64,
    role: String,
    pid: Option<i32>,
    clients: String,
    http: String,
}

struct Up {
    child: Child,
    lines: Receiver<String>,
    heard: Vec<String>,
}

fn up(directory: &Path, host: Ipv4Addr, more: &[&str]) -> Command {
    let mut command = diwan();
    command.args(["up", "--host", &host.to_string(), "--dir"]).arg(directory);
    for port in ["--client-port", "--peer-port", "--http-port"].iter().filter(|port| !more.contains(port)) {
        command.args([port, "0"]);
    }
    // A busy machine must not make a member miss its leader.
    command.args(["-D", "council.ensemble.election-tick-ms=200"]).args(more);
    command
}

impl Up {
    fn start(directory: &Path, host: Ipv4Addr, more: &[&str]) -> Self {
        let mut child = up(directory, host, more).spawn().unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines, heard: Vec::new() }
    }

    /// The next line that is of interest.
    fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no such line in\n{}", self.heard.join("\n"));
            };
            self.heard.push(line.clone());
            if wanted(&line) {
                return line;
            }
        }
    }

    /// The next table in which roles are as wanted.
    fn table(&mut self, wanted: impl Fn(&[Row]) -> bool) -> Vec<Row> {
        loop {
            self.line(|line| line.trim_start().starts_with("MEMBER"));
            let rows: Vec<_> = (0..3).map(|_| row(&self.line(|_| true))).collect();
            if wanted(&rows) {
                return rows;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // Its members end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn row(line: &str) -> Row {
    let words: Vec<_> = line.split_whitespace().map(String::from).collect();
    let [member, role, pid, clients, http] = words.try_into().unwrap();
    let http = String::from(http.trim_start_matches("http://").trim_end_matches('/'));
    Row { member: member.parse().unwrap(), role, pid: pid.parse().ok(), clients, http }
}

fn complete(rows: &[Row]) -> bool {
    rows.iter().filter(|row| row.role == "leader").count() == 1
        && rows.iter().filter(|row| row.role == "follower").count() == 2
}

fn leader(rows: &[Row]) -> Row {
    rows.iter().find(|row| row.role == "leader").unwrap().clone()
}

fn kill(pid: Option<i32>) {
    kill_process(Pid::from_raw(pid.unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn is_gone(pid: Option<i32>) -> bool {
    test_kill_process(Pid::from_raw(pid.unwrap()).unwrap()).is_err()
}

fn status(arguments: &[&str]) -> (bool, String, String) {
    said(diwan().arg("status").args(arguments).output().unwrap())
}

/// Asks until it succeeds: if a connection breaks, the client must repeat the operation under way.
fn again<T>(what: &str, mut ask: impl FnMut() -> Result<T, council_client::Error>) -> T {
    until(what, || ask().ok())
}

#[test]
fn the_leader_dies_and_its_client_goes_on_with_its_session_and_ephemerals() {
    let (folder, host) = (Folder::new(), own_host());
    let directory = folder.path().join("up");
    let mut ensemble = Up::start(&directory, host, &[]);
    let rows = ensemble.table(complete);
    let first = leader(&rows);
    let connect = ensemble.line(|line| line.trim_start().starts_with("connect "));
    let servers = connect.split_whitespace().last().unwrap();
    assert_eq!(servers.split(',').count(), 3, "{servers}");

    // At the leader, and knowing of all.
    let at_leader = Client::connect(&first.clients).unwrap();
    assert!(at_leader.wait_connected(PATIENCE));
    at_leader.create("/mine", b"", CreateMode::Ephemeral).wait().unwrap();
    let ticket = at_leader.ticket();
    at_leader.abandon();
    let others: Vec<_> = servers.split(',').filter(|server| *server != first.clients).collect();
    let elsewhere = Client::connect(servers).unwrap();
    again("a session", || elsewhere.create("/theirs", b"", CreateMode::Ephemeral).wait());
    let session = elsewhere.session_id();

    kill(first.pid);
    let notice = ensemble.line(|line| line.contains("was killed (signal 9)"));
    assert!(notice.contains(&format!("member {} (pid {})", first.member, first.pid.unwrap())), "{notice}");
    let taken_up = Options::new().resume(ticket.clone()).connect(&others.join(",")).unwrap();
    let owner = again("the node", || taken_up.exists("/mine").wait()).map(|stat| stat.ephemeral_owner);
    assert_eq!(owner, Some(ticket.session.0));
    again("a write", || taken_up.create("/after", b"", CreateMode::Persistent).wait());
    let owner = again("the node", || elsewhere.exists("/theirs").wait()).map(|stat| stat.ephemeral_owner);
    assert_eq!((owner, elsewhere.session_id()), (Some(session.0), session));

    // It comes back as a follower of another.
    ensemble.line(|line| line.contains(&format!("member {} starts again", first.member)));
    let rows = ensemble.table(complete);
    assert_ne!(leader(&rows).member, first.member);

    // All stop in good order, and a second run finds what was there.
    ensemble.signal(Signal::INT);
    ensemble.line(|line| line.contains("member 3 stopped") || line.contains("member 1 stopped"));
    assert!(ensemble.child.wait().unwrap().success(), "{:?}", ensemble.heard);
    assert!(rows.iter().all(|row| is_gone(row.pid)));
    let mut ensemble = Up::start(&directory, host, &[]);
    let rows = ensemble.table(complete);
    let client = Client::connect(&rows[0].clients).unwrap();
    assert!(again("the data", || client.exists("/after").wait()).is_some());
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn status_finds_all_through_one_and_fails_without_a_leader() {
    let folder = Folder::new();
    let mut ensemble = Up::start(&folder.path().join("up"), own_host(), &["--no-restart", "-n", "3"]);
    let rows = ensemble.table(complete);
    let first = leader(&rows);
    let pages: Vec<_> = rows.iter().map(|row| row.http.as_str()).collect();
    let all = pages.join(",");
    let (fine, table, errors) = status(&["--server", &all]);
    assert!(fine && errors.is_empty(), "{table}{errors}");
    assert!(table.starts_with(&format!("member {} leads in term ", first.member)), "{table}");
    assert!(table.contains("3 of 3 members answer"), "{table}");
    for row in &rows {
        let line = table.lines().find(|line| line.starts_with(&format!("{} ", row.member))).unwrap();
        assert!(line.contains(&row.role) && line.contains(&row.clients), "{table}");
    }

    // One member's answer is enough to show the others.
    let one = rows.iter().find(|row| row.role == "follower").unwrap();
    let (fine, json, _) = status(&["--server", &one.http, "--json"]);
    let picture: Value = serde_json::from_str(&json).unwrap();
    assert!(fine && picture["leader"] == first.member, "{json}");
    assert_eq!(picture["members"].as_array().unwrap().len(), 3);

    kill(first.pid);
    ensemble.line(|line| line.contains("it stays down"));
    let rows = ensemble.table(|rows| rows.iter().any(|row| row.role == "down"));
    let second = leader(&rows);
    let (fine, json, _) = status(&["--server", &all, "--json"]);
    let picture: Value = serde_json::from_str(&json).unwrap();
    let dead = &picture["members"][first.member as usize - 1];
    assert!(fine && picture["leader"] == second.member, "{json}");
    assert!(dead["reachable"] == false && dead["role"].is_null(), "{json}");
    let behind = picture["members"].as_array().unwrap().iter();
    assert_eq!(behind.filter(|member| member["lag_entries"].is_u64()).count(), 2, "{json}");

    kill(second.pid);
    ensemble.line(|line| line.contains("no leader"));
    let last = rows.iter().find(|row| row.role == "follower").unwrap();
    let errors = until("it notices that there is no leader", || {
        let (fine, _, errors) = status(&["--server", &last.http]);
        (!fine).then_some(errors)
    });
    assert!(errors.contains("error: there is no leader"), "{errors}");
    assert!(errors.contains("hint: 2 of the 3 that vote must run"), "{errors}");

    // The process that started them is gone: they end, too.
    ensemble.signal(Signal::KILL);
    until("the last member ends", || is_gone(last.pid).then_some(()));
    let (fine, table, errors) = status(&["--server", &last.http]);
    assert!(!fine && table.is_empty() && errors.contains("does not answer"), "{table}{errors}");
    assert!(errors.contains("hint: name the AdminServer"), "{errors}");
}

#[test]
fn what_stands_in_the_way_is_named() {
    let (folder, host) = (Folder::new(), own_host());
    let refused = |mut command: Command| {
        let (success, out, errors) = said(command.output().unwrap());
        assert!(!success && out.is_empty() && errors.contains("hint: "), "{out}{errors}");
        errors
    };
    let taken = TcpListener::bind((host, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let errors = refused(up(&folder.path().join("a"), host, &["--client-port", &port]));
    assert!(errors.contains(&format!("{host}:{port}")) && errors.contains("`--client-port`"), "{errors}");

    let errors = refused(up(&folder.path().join("a"), host, &["-D", "maxClientCnxn=1"]));
    assert!(
        errors.contains("there is no key `maxClientCnxn`") && errors.contains("maxClientCnxns"),
        "{errors}"
    );

    let directory = folder.path().join("b");
    let mut running = Up::start(&directory, host, &["--members", "2"]);
    running.line(|line| line.contains("starting 2 members"));
    assert!(refused(up(&directory, host, &[])).contains("another `diwan up` runs"));
    drop(running);
    let errors = until("its place is free", || {
        let errors = refused(up(&directory, host, &["--members", "3"]));
        (!errors.contains("another `diwan up` runs")).then_some(errors)
    });
    assert!(errors.contains("holds an ensemble of 2, and 3 are asked for"), "{errors}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn members_are_shown_tried_and_changed_through_any_of_them() {
    let (folder, host) = (Folder::new(), own_host());
    let more = ["-D", "council.ensemble.reconfig-enabled=true", "-D", "skipACL=yes"];
    let mut up = Up::start(&folder.path().join("up"), host, &more);
    let rows = up.table(complete);
    let server = rows[0].clients.clone();
    let member = |words: &[&str]| {
        let output = diwan().arg("member").args(words).args(["--server", &server]).output().unwrap();
        let (out, error) = (output.stdout.as_slice(), output.stderr.as_slice());
        let said = [out, error].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
        (output.status.success(), said)
    };
    let new = format!("9={host}:1:observer;2181");
    assert_eq!(member(&["list"]).1.lines().filter(|line| line.starts_with("server.")).count(), 3);
    let (fine, said) = member(&["add", &new, "--dry-run"]);
    assert!(fine && said.contains("server.9=") && said.contains("Nothing was changed"), "{said}");
    assert!(!member(&["list"]).1.contains("server.9="));
    let (fine, said) = member(&["add", &new]);
    assert!(fine && said.contains("server.9="), "{said}");
    // Two absent voters would leave no majority.
    let absent = format!("8={host}:2");
    assert!(member(&["add", &absent]).0);
    assert!(member(&["promote", "9"]).0, "three of five are there");
    let (fine, said) = member(&["add", &format!("7={host}:3")]);
    assert!(!fine && said.contains("a majority"), "{said}");
    let config =
        |word: &str| member(&["list"]).1.lines().find(|line| line.starts_with(word)).map(String::from);
    let version = config("version=");
    let (fine, said) = member(&["promote", "9"]);
    assert!(fine && said.contains("member 9 is a voter already. Nothing was changed"), "{said}");
    let (fine, said) = member(&["add", &absent]);
    assert!(fine && said.contains("member 8 is there already"), "{said}");
    assert_eq!(config("version="), version, "what changes nothing takes no version");
    assert!(config("server.8=").unwrap().contains(":2:1002:participant"), "in ZooKeeper's own form");
    let (fine, said) = member(&["add", &format!("8={host}:5"), "--dry-run"]);
    assert!(fine && said.contains("member 8 is to be found elsewhere"), "{said}");
    for gone in ["8", "9"] {
        assert!(member(&["remove", gone]).0);
    }
    let (fine, said) = member(&["remove", "9"]);
    assert!(!fine && said.contains("no member 9"), "{said}");
    let (fine, said) = member(&["add", "4=nonsense"]);
    assert!(!fine && said.contains("hint: "), "{said}");
    assert!(member(&["list"]).1.lines().filter(|line| line.starts_with("server.")).count() == 3);
}

/// A command on the brokers at that address.
fn on_brokers(address: &str, line: &str) -> (bool, String, String) {
    said(diwan().env("DIWAN_BOOTSTRAP_SERVER", address).args(line.split(' ')).output().unwrap())
}

/// What `diwan log status` says of a broker.
fn standing(address: &str, broker: i64) -> Option<(bool, u64, u64)> {
    let (_, out, _) = on_brokers(address, "log status --json");
    let status: Value = serde_json::from_str(&out).ok()?;
    let of = status["brokers"].as_array()?.iter().find(|of| of["broker"] == broker)?.clone();
    Some((of["drains"].as_bool()?, of["replicas"].as_u64()?, of["leads"].as_u64()?))
}

#[test]
fn broker_that_drains_is_empty_after_a_while_and_too_few_others_are_refused() {
    let (folder, host) = (Folder::new(), own_host());
    let more = ["--services", "council,log", "--members", "3"];
    let _up = Up::start(&folder.path().join("up"), host, &more);
    let address = format!("{host}:9092");
    let has_three = || {
        let (_, out, _) = on_brokers(&address, "log status --json");
        let status: Value = serde_json::from_str(&out).ok()?;
        (status["brokers"].as_array()?.len() == 3).then_some(())
    };
    until("three brokers", has_three);
    let (fine, _, errors) = on_brokers(&address, "topic create orders --partitions 6 --replicas 2");
    assert!(fine, "{errors}");
    until("replicas on broker 3", || standing(&address, 3).filter(|of| of.1 > 0));
    let (fine, out, errors) = on_brokers(&address, "log drain 3");
    assert!(fine && out.contains("broker 3 drains"), "{out}{errors}");
    until("nothing on broker 3", || standing(&address, 3).filter(|of| *of == (true, 0, 0)));
    let (_, out, _) = on_brokers(&address, "log status");
    assert!(out.contains("broker 3 drains: nothing is left"), "{out}");
    let (fine, _, errors) = on_brokers(&address, "log drain 2");
    assert!(!fine && errors.contains("`orders` have 2 replicas, and 1 other brokers"), "{errors}");
    let (fine, out, errors) = on_brokers(&address, "log drain 3 --cancel");
    assert!(fine && out.contains("does not drain any more"), "{out}{errors}");
    until("no drain", || standing(&address, 3).filter(|of| !of.0));
    let (fine, _, errors) = on_brokers(&address, "log drain 2");
    assert!(fine, "{errors}");
}
