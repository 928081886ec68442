//! Access to live objects in real processes: a closed group, and what a stranger, a principal with few rights and one whose token
//! was revoked come to on every route; the way back by a root token; the command line.
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
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use group::Group;
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
const ROOT: &str = "diwan_7007700770077007700770077007700770077007700770077007700770077007";

fn run(group: &Group, token: Option<&str>, arguments: &[&str]) -> (bool, String, String) {
    let servers = group.addresses().join(",");
    let mut command = diwan();
    command.arg("object").args(arguments).args(["--server", &servers]);
    command.env_remove("DIWAN_TOKEN").env_remove("DIWAN_TOKEN_FILE");
    if let Some(token) = token {
        command.env("DIWAN_TOKEN", token);
    }
    said(command.output().unwrap())
}

fn must(group: &Group, token: Option<&str>, arguments: &[&str]) -> String {
    let (success, out, errors) = run(group, token, arguments);
    assert!(success, "{arguments:?}: {out}{errors}");
    out.trim().to_owned()
}

fn must_not(group: &Group, token: Option<&str>, arguments: &[&str]) -> String {
    let (success, out, errors) = run(group, token, arguments);
    assert!(!success, "{arguments:?}: {out}{errors}");
    errors
}

fn exchange(address: &str, method: &str, path: &str, fields: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{fields}");
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

fn root_file(folder: &Path) -> PathBuf {
    let file = folder.join("root.token");
    std::fs::write(&file, format!("{ROOT}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// A group that an administrator has closed, and the administrator's token.
fn closed(members: usize, folder: &Folder) -> (Group, String) {
    let root = root_file(folder.path());
    let mut group = Group::prepare(members, &[format!("objects.root-token-file={}", root.display())]);
    group.restart_all();
    let refused = must_not(&group, None, &["access", "close"]);
    assert!(
        refused.contains("no token without an end administers") && refused.contains("token create"),
        "{refused}"
    );
    let admin = must(&group, None, &["token", "create", "--name", "admin", "--allow", "*:admin"]);
    assert!(admin.starts_with("diwan_") && admin.len() == 70, "{admin}");
    assert_eq!(must(&group, Some(&admin), &["access", "close"]), "access is closed");
    (group, admin)
}

const SESSION: &str = "Diwan-Session: 0102030405060708090a0b0c0d0e0f10.f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff\r\n";

/// Every route that does something or shows something.
const ROUTES: &[(&str, &str, &str)] = &[
    ("POST", "/v1/objects/counter/c/increment", ""),
    ("POST", "/v1/objects/counter/new/increment", ""),
    ("GET", "/v1/objects/counter/c/get", ""),
    ("GET", "/v1/objects/counter/c/get?consistency=stale", ""),
    ("POST", "/v1/objects/counter/c/get", ""),
    ("POST", "/v1/objects/counter/c:batch", "{\"calls\":[{\"method\":\"increment\"}]}"),
    ("PUT", "/v1/objects/counter/p", ""),
    ("GET", "/v1/objects/counter/c", ""),
    ("DELETE", "/v1/objects/counter/c", ""),
    ("GET", "/v1/objects?type=counter", ""),
    ("GET", "/v1/objects/counter/c/events", ""),
    ("POST", "/v1/objects/lock/l/steal", "{\"reason\":\"mine\"}"),
    ("POST", "/v1/objects/lock/l/acquire", "{\"ttl_ms\":5000}"),
    ("POST", "/v1/objects/hits/h/add", ""),
    ("POST", "/v1/objects/hits/h:quarantine", ""),
    ("POST", "/v1/objects/hits/h:release", ""),
    ("POST", "/v1/objects/hits/h:rollback", ""),
    ("GET", "/v1/tickets/3", ""),
    ("DELETE", "/v1/tickets/3", ""),
    ("POST", "/v1/sessions", ""),
    ("GET", "/v1/types", ""),
    ("POST", "/v1/types/hits", "\0asm"),
    ("GET", "/v1/openapi.json", ""),
    ("GET", "/v1/groups", ""),
    ("GET", "/v1/access", ""),
    ("POST", "/v1/access/open", ""),
    ("POST", "/v1/access/allow", "{\"principal\":\"anonymous\",\"allow\":\"*:*\"}"),
    ("POST", "/v1/access/deny", "{\"principal\":\"admin\"}"),
    ("POST", "/v1/access/quota", "{\"namespace\":\"team\",\"objects\":0}"),
    ("POST", "/v1/access/role", "{\"role\":\"all\",\"allow\":\"*:*\"}"),
    ("GET", "/v1/tokens", ""),
    ("POST", "/v1/tokens", "{\"name\":\"eve\",\"allow\":\"*:admin\"}"),
    ("DELETE", "/v1/tokens/1", ""),
    ("DELETE", "/v1/principals/admin", ""),
];

/// Those that name a session, whose secret the stranger knows.
const OF_SESSION: &[(&str, &str, &str)] = &[
    ("POST", "/v1/sessions", "{\"ttl_ms\":600000}"),
    ("GET", "/v1/sessions/0102030405060708090a0b0c0d0e0f10", ""),
    ("POST", "/v1/sessions/0102030405060708090a0b0c0d0e0f10/renew", ""),
    ("GET", "/v1/sessions/0102030405060708090a0b0c0d0e0f10/events", ""),
    ("POST", "/v1/objects/lock/l/release", "{\"fence\":1}"),
    ("DELETE", "/v1/sessions/0102030405060708090a0b0c0d0e0f10", ""),
];

#[test]
#[expect(clippy::too_many_lines, reason = "a story, step by step")]
fn stranger_changes_nothing_and_reads_nothing_on_any_route() {
    let folder = Folder::new();
    let (group, admin) = closed(1, &folder);
    let address = &group.addresses()[0];
    let ours = bearer(&admin);
    exchange(address, "POST", "/v1/objects/counter/c/increment", &ours, "{\"by\":7700411}");
    exchange(address, "POST", "/v1/sessions", &format!("{ours}{SESSION}"), "{\"ttl_ms\":600000}");
    let held = exchange(
        address,
        "POST",
        "/v1/objects/lock/l/acquire",
        &format!("{ours}{SESSION}Diwan-Request: 1\r\n"),
        "",
    );
    assert!(held.1.contains("\"acquired\":true"), "{}", held.1);
    let digest = || {
        let (_, page) = exchange(address, "GET", "/v1/groups", &ours, "");
        page.split("\r\n\r\n").nth(1).unwrap().to_owned()
    };
    let before = digest();
    let forged =
        "Authorization: Bearer diwan_0000000000000000000000000000000000000000000000000000000000000000\r\n";
    let strangers = ["", forged, "Authorization: Basic YWRtaW46YWRtaW4=\r\n", "Authorization: Bearer \r\n"];
    let twice = format!("{ours}{ours}");
    for who in strangers.into_iter().chain([twice.as_str()]) {
        for key in ["", "Idempotency-Key: \"k\"\r\n"] {
            for (method, path, body) in ROUTES {
                let (status, answer) = exchange(address, method, path, &format!("{who}{key}"), body);
                assert!(matches!(status, 401 | 400), "{who} {method} {path}: {answer}");
                // What is no module is refused before anybody is asked.
                assert!(status == 401 || *path == "/v1/types/hits", "{who} {method} {path}: {answer}");
                let said_what_is_kept = answer.contains("7700411") || answer.contains(&admin[6..]);
                assert!(!said_what_is_kept, "{method} {path}: {answer}");
            }
        }
        for (method, path, body) in OF_SESSION {
            let fields = format!("{who}{SESSION}Diwan-Request: 2\r\n");
            let (status, answer) = exchange(address, method, path, &fields, body);
            assert_eq!(status, 401, "{who} {method} {path}: {answer}");
        }
    }
    assert_eq!(digest(), before);
    // Probes are for all, and say nothing more.
    assert_eq!(exchange(address, "GET", "/v1/live", "", "").0, 200);
    let (status, ready) = exchange(address, "GET", "/v1/ready", "", "");
    assert!(status == 200 && ready.ends_with("{\"ready\":true}"), "{ready}");
    assert_eq!(exchange(address, "GET", "/v1/ready", forged, "").0, 401, "a wrong token is not none");
    // A long field is none that anybody reads.
    let (status, _) = exchange(
        address,
        "GET",
        "/v1/groups",
        &format!("Authorization: Bearer {}\r\n", "a".repeat(100_000)),
        "",
    );
    assert!(matches!(status, 431 | 400 | 401), "{status}");
    assert_eq!(digest(), before);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a story, step by step")]
fn principal_does_what_it_may_and_ends_with_its_token_at_every_member() {
    let folder = Folder::new();
    let (mut group, admin) = closed(3, &folder);
    let file = folder.path().join("ci.token");
    let create =
        ["token", "create", "--name", "ci", "--allow", "lock/build:*", "--out", file.to_str().unwrap()];
    must(&group, Some(&admin), &create);
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(must(&group, Some(&token), &["access", "show"]).contains("you are ci: lock/build:*"));
    assert!(!must(&group, Some(&token), &["access", "show", "--json"]).contains("admin"));
    let shown = must(&group, Some(&admin), &["access", "show"]);
    assert!(
        shown.contains("admin") && shown.contains("*:admin") && shown.contains("lock/build:*"),
        "{shown}"
    );
    let listed = must(&group, Some(&admin), &["token", "list"]);
    assert!(listed.contains("ci") && !listed.contains(&token[6..]), "{listed}");
    let by_file = ["call", "lock/build", "holder", "--token-file", file.to_str().unwrap()];
    assert!(
        must(&group, None, &by_file).contains("\"fence\":null")
            || must(&group, None, &by_file).contains("holds")
    );
    let denied = must_not(&group, Some(&token), &["call", "lock/other", "holder"]);
    assert!(
        denied.contains("forbidden") && denied.contains("lock/other") && denied.contains("access show"),
        "{denied}"
    );
    assert!(must_not(&group, Some(&token), &["delete", "lock/build"]).contains("administer"));
    assert!(must_not(&group, None, &["list"]).contains("--token-file"));
    assert!(must_not(&group, Some("diwan_x"), &["list"]).contains("no token"));
    // A waiting call and a stream at each member, and a session that holds the lock.
    let addresses = group.addresses();
    let ours = bearer(&token);
    let session = format!("{ours}{SESSION}");
    assert_eq!(exchange(&addresses[0], "POST", "/v1/sessions", &session, "{\"ttl_ms\":2000}").0, 201);
    let (_, held) = exchange(
        &addresses[1],
        "POST",
        "/v1/objects/lock/build/acquire",
        &format!("{session}Diwan-Request: 1\r\n"),
        "",
    );
    assert!(held.contains("\"acquired\":true"), "{held}");
    let begin = |address: &String, method: &str, path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n{ours}Content-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    };
    let mut streams: Vec<_> =
        addresses.iter().map(|address| begin(address, "GET", "/v1/objects/lock/build/events")).collect();
    let waits: Vec<_> = addresses
        .iter()
        .map(|address| {
            let (address, ours) = (address.clone(), ours.clone());
            std::thread::spawn(move || {
                let fields = format!("{ours}Idempotency-Key: \"{address}\"\r\n");
                exchange(&address, "POST", "/v1/objects/lock/build/acquire", &fields, "{\"ttl_ms\":60000}")
            })
        })
        .collect();
    for stream in &mut streams {
        until(stream, "200 OK");
    }
    let waiting = |count: usize| {
        let inspected = must(&group, Some(&admin), &["inspect", "lock/build", "--json"]);
        inspected.contains(&format!("\"waiting\": {count}"))
    };
    while !waiting(3) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(must(&group, Some(&admin), &["token", "revoke", "ci"]).contains("1 revoked"));
    for wait in waits {
        let (status, answer) = wait.join().unwrap();
        assert_eq!(status, 403, "{answer}");
    }
    for stream in &mut streams {
        until(stream, "unauthenticated");
    }
    for address in &addresses {
        let (status, _) = exchange(
            address,
            "POST",
            "/v1/objects/lock/build/release",
            &format!("{session}Diwan-Request: 2\r\n"),
            "",
        );
        assert_eq!(status, 401);
    }
    // What its session held is free within its time to live.
    let free = ["call", "lock/build", "acquire", "{\"ttl_ms\":1000}", "--wait", "60000"];
    assert!(must(&group, Some(&admin), &free).contains("\"acquired\":true"));
    // All of it is there when all members were killed.
    (0..3).for_each(|member| group.kill(member));
    group.restart_all();
    assert!(must_not(&group, Some(&token), &["list"]).contains("unauthenticated"));
    assert!(must_not(&group, None, &["list"]).contains("unauthenticated"));
    must(&group, Some(&admin), &["list"]);
    // Nobody locks himself out, and a root token is a way back.
    assert!(must_not(&group, Some(&admin), &["token", "revoke", "admin"]).contains("last token"));
    must(&group, Some(ROOT), &["token", "revoke", "admin"]);
    assert!(must_not(&group, Some(&admin), &["access", "open"]).contains("unauthenticated"));
    assert!(must(&group, Some(ROOT), &["access", "open"]).contains("access is open"));
    must(&group, None, &["list"]);
}

/// Reads a stream until a line has that in it.
fn until(stream: &mut BufReader<TcpStream>, wanted: &str) {
    let mut line = String::new();
    while !line.contains(wanted) {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "it ended without `{wanted}`");
    }
}

#[test]
fn quotas_and_roles_are_set_and_shown_by_the_command_line_and_last_over_a_restart() {
    let folder = Folder::new();
    let (mut group, admin) = closed(1, &folder);
    let by_admin = |group: &Group, arguments: &[&str]| must(group, Some(&admin), arguments);
    let ci = by_admin(&group, &["token", "create", "--name", "ci"]);
    assert!(must_not(&group, Some(&ci), &["call", "counter/team/a", "increment"]).contains("forbidden"));
    let role = by_admin(&group, &["access", "role", "callers", "counter/*:call,query"]);
    assert_eq!(role, "role callers: counter/*:query,call");
    assert_eq!(by_admin(&group, &["access", "roles", "ci", "callers"]), "ci: callers");
    let quota = by_admin(&group, &["access", "quota", "--namespace", "team", "--objects", "1"]);
    assert!(quota.contains("namespace team") && quota.contains("objects"), "{quota}");
    must(&group, Some(&ci), &["call", "counter/team/a", "increment"]);
    let full = must_not(&group, Some(&ci), &["call", "counter/team/b", "increment"]);
    assert!(full.contains("quota: the quota of namespace `team` is 1 objects; 1 are used"), "{full}");
    group.kill(0);
    group.restart_all();
    let shown = by_admin(&group, &["access", "quota", "--json"]);
    assert!(shown.contains("\"namespace\": \"team\"") && shown.contains("\"objects\": 1"), "{shown}");
    let shown = by_admin(&group, &["access", "show"]);
    assert!(shown.contains("callers") && shown.contains("counter/*:query,call"), "{shown}");
    assert!(must_not(&group, Some(&ci), &["call", "counter/team/b", "increment"]).contains("quota"));
    // The administrator, too; and he may raise it.
    assert!(must_not(&group, Some(&admin), &["call", "counter/team/b", "increment"]).contains("quota"));
    let removed = by_admin(&group, &["access", "quota", "--namespace", "team", "--remove"]);
    assert_eq!(removed, "namespace team has no quota");
    must(&group, Some(&ci), &["call", "counter/team/b", "increment"]);
    // Calls a second, before they are in the log.
    by_admin(&group, &["access", "quota", "--principal", "ci", "--calls-per-second", "1"]);
    let fields = bearer(&ci);
    let address = &group.addresses()[0];
    let call = || exchange(address, "POST", "/v1/objects/counter/team%2Fa/increment", &fields, "");
    let refused = (0..50).map(|_| call()).find(|(status, _)| *status == 429).expect("too many calls");
    assert!(refused.1.contains("problem:rate") && refused.1.contains("retry_after_ms"), "{}", refused.1);
    assert!(refused.1.to_lowercase().contains("retry-after: 1"), "{}", refused.1);
    by_admin(&group, &["access", "quota", "--principal", "ci", "--remove"]);
    assert_eq!(by_admin(&group, &["access", "roles", "ci"]), "ci: no roles");
    assert!(must_not(&group, Some(&ci), &["call", "counter/team/a", "increment"]).contains("forbidden"));
    assert_eq!(by_admin(&group, &["access", "role", "callers", "--remove"]), "role callers: no rights");
    let nobody = must_not(&group, Some(&admin), &["access", "quota", "--objects", "1"]);
    assert!(nobody.contains("--namespace"), "{nobody}");
}
