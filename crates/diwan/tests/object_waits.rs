//! Who waits for whom, what members remember of an object, and where clients of the leader connect: in real processes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::{Value, json};
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a command of `diwan object` says.
fn object(servers: &str, arguments: &[&str]) -> String {
    let output = diwan().arg("object").args(arguments).args(["--server", servers]).output().unwrap();
    let (success, out, errors) = said(output);
    assert!(success, "{arguments:?}: {out}{errors}");
    out
}

/// One request at one address, and the whole response.
fn exchange(address: &str, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// A session of that name, and its credential.
fn session(address: &str, name: &str) -> (String, String) {
    let body = json!({ "ttl_ms": 60_000, "name": name }).to_string();
    let response = exchange(address, "POST /v1/sessions", "", &body);
    let opened: Value = serde_json::from_str(response.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let text = |field: &str| String::from(opened[field].as_str().unwrap());
    (text("session"), format!("{}.{}", text("session"), text("secret")))
}

/// Acquires a lock under that number; a call that waits goes on.
fn acquire(address: &str, credential: &str, number: u64, lock: &str) {
    let headers = format!("Diwan-Session: {credential}\r\nDiwan-Request: {number}\r\n");
    let response =
        exchange(address, &format!("POST /v1/objects/lock/{lock}/acquire?hold_ms=0"), &headers, "{}");
    assert!(response.starts_with("HTTP/1.1 20"), "{response}");
}

#[test]
fn sessions_that_wait_for_each_other_are_told_in_words() {
    let group = Group::start(3);
    let (addresses, servers) = (group.addresses(), group.addresses().join(","));
    assert_eq!(object(&servers, &["waits"]).lines().count(), 1, "a head and nothing else");
    let (one, one_credential) = session(&addresses[0], "worker 7");
    let (other, other_credential) = session(&addresses[1], "worker 8");
    acquire(&addresses[0], &one_credential, 1, "x");
    acquire(&addresses[1], &other_credential, 1, "y");
    acquire(&addresses[2], &one_credential, 2, "y");
    let told = object(&servers, &["waits"]);
    assert!(told.contains("lock/y") && told.contains("worker 8), fence"), "{told}");
    assert!(!told.contains("wait for each other"), "{told}");
    acquire(&addresses[0], &other_credential, 2, "x");
    let told = object(&servers, &["waits", "lock"]);
    let (a, b) = (format!("{} (worker 7)", &one[..8]), format!("{} (worker 8)", &other[..8]));
    let ways = [
        format!("{a} waits for lock/y of {b}, which waits for lock/x of {a}"),
        format!("{b} waits for lock/x of {a}, which waits for lock/y of {b}"),
    ];
    assert!(ways.iter().any(|way| told.contains(way)), "{told}");
    let json: Value = serde_json::from_str(&object(&servers, &["waits", "--json"])).unwrap();
    assert_eq!(json["cycles"][0].as_array().map(Vec::len), Some(2), "{json}");
    assert_eq!(json["objects"].as_array().map(Vec::len), Some(2), "{json}");
    let call = &json["objects"][0]["calls"][0];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    assert!(call["since_ms"].as_u64().is_some_and(|since| now.abs_diff(since) < 120_000), "{json}");
    assert_eq!(object(&servers, &["waits", "queue"]).lines().count(), 1);
    assert_eq!(
        object(&servers, &["waits", "--prefix", "y"]).lines().count(),
        2,
        "one of them alone is no cycle"
    );
    // With one of the sessions the wait ends.
    exchange(
        &addresses[2],
        &format!("DELETE /v1/sessions/{other}"),
        &format!("Diwan-Session: {other_credential}\r\n"),
        "",
    );
    assert_eq!(object(&servers, &["waits"]).lines().count(), 1);
}

#[test]
fn history_of_an_object_is_shown_and_followed() {
    let group = Group::start(1);
    let (addresses, servers) = (group.addresses(), group.addresses().join(","));
    let told = object(&servers, &["history", "lock/build"]);
    assert!(told.starts_with("The member that answers remembers what happened behind position"), "{told}");
    assert_eq!(told.lines().count(), 1);
    let (id, credential) = session(&addresses[0], "worker");
    acquire(&addresses[0], &credential, 1, "build");
    Caller::new(addresses.clone()).call("counter/other", "increment", &json!({}));
    let told = object(&servers, &["history", "lock/build"]);
    let lines: Vec<_> = told.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("  acquired  session ") && lines[0].contains(&id[..12]), "{told}");
    assert!(lines[0].contains(" UTC  ") && lines[1].ends_with("  created"), "{told}");
    let json = object(&servers, &["history", "lock/build", "--json"]);
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["session"]), (&json!("acquired"), &json!(id)));
    let mut follower = diwan();
    follower.args(["object", "history", "lock/build", "--follow", "--json", "--server", &servers]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!((next()["event"].clone(), next()["event"].clone()), (json!("acquired"), json!("created")));
    exchange(
        &addresses[0],
        &format!("DELETE /v1/sessions/{id}"),
        &format!("Diwan-Session: {credential}\r\n"),
        "",
    );
    let lost = next();
    assert_eq!(
        (&lost["event"], &lost["session"]),
        (&json!("released"), &json!(id)),
        "its session was closed"
    );
    assert!(lost["at_ms"].as_u64() >= first["at_ms"].as_u64(), "{lost}");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// Where a member says that clients of the leader connect.
fn leader_at(address: &str) -> Option<String> {
    let response = exchange(address, "GET /v1/objects/counter/c/get", "", "");
    let field = response.lines().find_map(|line| line.strip_prefix("diwan-leader: "));
    field.map(String::from)
}

#[test]
fn responses_of_followers_name_the_leader_and_those_of_the_leader_nobody() {
    let mut group = Group::start(3);
    let addresses = group.addresses();
    for _ in 0..2 {
        let leader = group.leader();
        until("all know where the leader is", || {
            let known = |number: usize| leader_at(&addresses[number]);
            (0..3).all(|number| known(number) == (number != leader).then(|| addresses[leader].clone()))
        });
        group.kill(leader);
        group.restart_all();
    }
}

#[test]
fn leader_is_announced_as_the_configuration_says() {
    let mut group = Group::prepare(3, &[String::from("objects.announce=objects.example.com:7180")]);
    group.restart_all();
    let addresses = group.addresses();
    let leader = group.leader();
    let follower = (leader + 1) % 3;
    until("it is told", || leader_at(&addresses[follower]).as_deref() == Some("objects.example.com:7180"));
    let folder = Folder::new();
    let wrong = diwan()
        .args(["serve", "--data-dir"])
        .arg(folder.path())
        .args(["-D", "objects.announce=no port"])
        .output()
        .unwrap();
    let (success, _, errors) = said(wrong);
    assert!(!success && errors.contains("objects.announce"), "{errors}");
}
