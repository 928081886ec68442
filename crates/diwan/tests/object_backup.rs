//! A backup of all objects of real processes: taken while clients work, restored to empty directories, damaged in every way, and
//! attacked where it is given.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::{Value, json};
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
/// Who counts while the backup is taken.
const COUNTERS: u8 = 4;

fn object(arguments: &[&str]) -> (bool, String, String) {
    let mut command = diwan();
    command.arg("object").args(arguments).env_remove("DIWAN_TOKEN").env_remove("DIWAN_TOKEN_FILE");
    said(command.output().unwrap())
}

fn must(arguments: &[&str]) -> String {
    let (success, out, errors) = object(arguments);
    assert!(success, "{arguments:?}: {out}{errors}");
    out
}

fn must_not(arguments: &[&str]) -> String {
    let (success, out, errors) = object(arguments);
    assert!(!success, "{arguments:?}: {out}{errors}");
    errors
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A request at a member on a connection of its own: the status and the body, if it is answered.
fn exchange(address: &str, method: &str, path: &str, fields: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{fields}");
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.get(9..12)?.parse().ok()?, body.into()))
}

/// A session whose client chose its id and secret, and numbers its requests.
struct Own {
    addresses: Vec<String>,
    field: String,
}

impl Own {
    fn open(addresses: &[String], number: u8) -> Self {
        let (id, secret) = (format!("{number:02x}").repeat(16), format!("{:02x}", !number).repeat(16));
        let own = Self { addresses: addresses.to_vec(), field: format!("Diwan-Session: {id}.{secret}\r\n") };
        own.until("POST", "/v1/sessions", "", &json!({ "ttl_ms": 600_000 }).to_string());
        own
    }

    /// Asks members until one answers: a status that is no refusal of that member, and the body.
    fn until(&self, method: &str, path: &str, fields: &str, body: &str) -> (u16, String) {
        let deadline = Instant::now() + PATIENCE;
        for address in self.addresses.iter().cycle() {
            let fields = format!("{}{fields}", self.field);
            match exchange(address, method, path, &fields, body) {
                Some((status, reply)) if status < 300 => return (status, reply),
                Some((status, reply)) => assert!([503, 504].contains(&status), "{path}: {status} {reply}"),
                None => {}
            }
            assert!(Instant::now() < deadline, "{path} is never answered");
            std::thread::sleep(Duration::from_millis(20));
        }
        unreachable!("there are members")
    }

    /// Calls a method under that number.
    fn call(&self, number: u64, object: &str, method: &str, arguments: &Value) -> (u16, String) {
        let (path, number) =
            (format!("/v1/objects/{object}/{method}"), format!("Diwan-Request: {number}\r\n"));
        self.until("POST", &path, &number, &arguments.to_string())
    }

    fn json(&self, number: u64, object: &str, method: &str, arguments: &Value) -> Value {
        serde_json::from_str(&self.call(number, object, method, arguments).1).unwrap()
    }
}

/// Counts until it is told to stop: under each number once, one behind the other, never acknowledging anything older than needed.
fn count(own: &Own, name: &str, (sent, answered): &(AtomicU64, AtomicU64), stop: &AtomicBool) {
    let path = format!("/v1/objects/{name}/increment");
    for number in 1.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        sent.store(number, Ordering::SeqCst);
        let acknowledged = number.saturating_sub(40);
        let fields = format!("Diwan-Request: {number}\r\nDiwan-Acknowledged: {acknowledged}\r\n");
        let (_, reply) = own.until("POST", &path, &fields, "{}");
        assert_eq!(reply, format!("{{\"value\":{number}}}"), "none is lost, and none counts twice");
        answered.store(number, Ordering::SeqCst);
    }
}

/// What was done before the backup, and what is answered to it.
struct Before {
    own: Own,
    other: Own,
    acquired: (u16, String),
    added: (u16, String),
    taken: Value,
    ticket: u64,
    fence: u64,
}

/// Fills the objects: a lock that is held, a queue with an item that is leased, a call that waits, a user's type with memory.
fn fill(group: &Group, folder: &Folder) -> Before {
    let addresses = group.addresses();
    let module = wat::parse_str(include_str!("objects/hits.wat").replace("MARK", "one")).unwrap();
    let file = folder.path().join("hits.wasm");
    std::fs::write(&file, module).unwrap();
    let servers = addresses.join(",");
    must(&["type", "put", text(&file), "--server", &servers]);
    must(&["create", "hits/home", "--server", &servers]);
    let (own, other) = (Own::open(&addresses, 1), Own::open(&addresses, 2));
    let acquired = own.call(1, "lock/build", "acquire", &json!({}));
    let added = own.call(2, "counter/before", "increment", &json!({ "by": 5 }));
    for (number, item) in (3..).zip(["a", "b", "c"]) {
        own.call(number, "queue/jobs", "put", &json!({ "item": item }));
    }
    let taken = own.json(6, "queue/jobs", "take", &json!({ "lease_ms": 600_000 }));
    for number in 7..=11 {
        own.call(number, "hits/home", "hit", &json!({}));
    }
    other.call(1, "lock/other", "acquire", &json!({}));
    let (status, parked) = own.call(12, "lock/other", "acquire?hold_ms=0", &json!({}));
    assert_eq!(status, 202, "{parked}");
    let ticket = serde_json::from_str::<Value>(&parked).unwrap()["ticket"].as_u64().unwrap();
    let fence = serde_json::from_str::<Value>(&acquired.1).unwrap()["fence"].as_u64().unwrap();
    Before { own, other, acquired, added, taken, ticket, fence }
}

/// What is there is all that was answered before the backup, and of the rest a prefix of what clients did.
fn check_counters(counters: &[Own], counts: &[(u64, u64)]) {
    for ((counter, own), (answered, sent)) in (1..).zip(counters).zip(counts) {
        let name = format!("counter/load-{counter}");
        let (_, shown) = own.until("GET", &format!("/v1/objects/{name}/get"), "", "");
        let value = serde_json::from_str::<Value>(&shown).unwrap()["value"].as_u64().unwrap();
        assert!((*answered..=*sent).contains(&value), "{answered} <= {value} <= {sent}");
        assert_eq!(own.call(value, &name, "increment", &json!({})).1, shown, "it is a repeat");
        let next = own.call(value + 1, &name, "increment", &json!({})).1;
        assert_eq!(next, format!("{{\"value\":{}}}", value + 1), "it was never there");
    }
}

fn check(before: &Before, address: &str) {
    let Before { own, other, acquired, added, taken, ticket, fence } = before;
    assert_eq!(own.call(1, "lock/build", "acquire", &json!({})), *acquired, "the same bytes");
    assert_eq!(own.call(2, "counter/before", "increment", &json!({ "by": 5 })), *added);
    let mut caller = Caller::new(vec![address.into()]);
    assert_eq!(caller.query("counter/before", "get", "")["value"], 5);
    assert_eq!(caller.query("lock/build", "holder", "")["fence"], json!(fence));
    // What was granted behind the backup is not known any more.
    let next = caller.call("lock/third", "acquire", &json!({ "ttl_ms": 600_000 }));
    assert!(next["fence"].as_u64().unwrap() > fence + 1_000_000_000, "{next}");
    own.call(20, "lock/build", "release", &json!({ "fence": fence }));
    assert_eq!(caller.query("lock/build", "holder", "")["fence"], Value::Null);
    let id = taken["items"][0]["id"].as_u64().unwrap();
    own.call(21, "queue/jobs", "ack", &json!({ "ids": [id] }));
    assert_eq!(caller.query("queue/jobs", "size", "")["size"], 2);
    // The call that waited waits still, and goes on.
    let held = caller.query("lock/other", "holder", "")["fence"].clone();
    other.call(2, "lock/other", "release", &json!({ "fence": held }));
    let (status, granted) = own.until("GET", &format!("/v1/tickets/{ticket}"), "", "");
    assert!(status == 200 && granted.contains("\"acquired\":true"), "{status} {granted}");
    assert_eq!(caller.call("hits/home", "hit", &json!({}))["value"], 6, "its memory is there");
}

#[test]
fn group_goes_on_from_a_backup_that_was_taken_while_clients_worked() {
    let (mut group, folder) = (Group::start(3), Folder::new());
    let before = fill(&group, &folder);
    let counters: Vec<Own> = (1..=COUNTERS).map(|n| Own::open(&group.addresses(), 0x10 + n)).collect();
    let counts: Vec<_> = counters.iter().map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
    let (stop, file) = (AtomicBool::new(false), folder.path().join("objects.snap"));
    let told = std::thread::scope(|scope| {
        for ((number, own), count_of) in (1..).zip(&counters).zip(&counts) {
            let (name, stop) = (format!("counter/load-{number}"), &stop);
            scope.spawn(move || count(own, &name, count_of, stop));
        }
        while counts.iter().any(|(_, answered)| answered.load(Ordering::SeqCst) < 20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let answered: Vec<u64> = counts.iter().map(|(_, answered)| answered.load(Ordering::SeqCst)).collect();
        // A member that follows takes it.
        let member = group.addresses()[(group.leader() + 1) % 3].clone();
        let out = must(&["backup", "--out", text(&file), "--server", &member]);
        assert!(out.contains("sessions  6\n") && out.contains("waiting   1\n"), "{out}");
        let sent = counts.iter().map(|(sent, _)| sent.load(Ordering::SeqCst));
        let told: Vec<(u64, u64)> = answered.into_iter().zip(sent).collect();
        stop.store(true, Ordering::SeqCst);
        told
    });
    assert!(must(&["verify", text(&file)]).contains("types     1\n"));
    for number in 0..3 {
        group.kill(number);
        group.empty(number);
    }
    let configuration = group.configuration(1, &group.data_of(1));
    let out = must(&["restore", text(&file), "--config", text(&configuration)]);
    assert!(out.contains("to go on behind position") && out.contains("start member 2"), "{out}");
    group.begin(1);
    group.wait_serving(1);
    check_counters(&counters, &told);
    check(&before, &group.addresses()[1]);
    join(&mut group);
}

/// The others join the restored member, and have all of it.
fn join(group: &mut Group) {
    for number in [0, 2] {
        group.begin(number);
        group.wait_serving(number);
        let mut joined = Caller::new(vec![group.addresses()[number].clone()]);
        assert_eq!(joined.call("hits/home", "hit", &json!({}))["value"], if number == 0 { 7 } else { 8 });
        assert_eq!(joined.query("counter/before", "get", "")["value"], 5);
    }
}

/// A member that is alone, of some objects, and a backup of it. It does not run any more.
fn backed_up(folder: &Folder) -> (Group, PathBuf) {
    let mut group = Group::start(1);
    let file = folder.path().join("objects.snap");
    let mut caller = Caller::new(group.addresses());
    for number in 0..40 {
        caller.call(&format!("counter/c{number}"), "increment", &json!({ "by": number + 1 }));
    }
    must(&["backup", "--out", text(&file), "--server", &group.addresses()[0]]);
    group.kill(0);
    (group, file)
}

#[test]
fn damaged_backup_is_refused_and_nothing_is_made_of_it() {
    let folder = Folder::new();
    let (_group, file) = backed_up(&folder);
    let (bad, place) = (folder.path().join("bad.snap"), folder.path().join("data"));
    let sound = std::fs::read(&file).unwrap();
    let refuse = |content: &[u8], what: &str| {
        std::fs::write(&bad, content).unwrap();
        for command in [vec!["verify"], vec!["restore", "--data-dir", text(&place)]] {
            let arguments: Vec<_> = command.iter().copied().chain([text(&bad)]).collect();
            let errors = must_not(&arguments);
            assert!(errors.contains("is no backup"), "{what}: {errors}");
        }
        assert!(!place.exists(), "{what}: something was made");
    };
    let mut drawn = std::process::id();
    let mut draw = |below: usize| {
        drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (drawn >> 8) as usize % below
    };
    for round in 0..24 {
        let cut = if round == 0 { sound.len() - 1 } else { draw(sound.len()) };
        refuse(&sound[..cut], &format!("cut at {cut}"));
        let (at, bit) = (draw(sound.len()), draw(8));
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << bit;
        refuse(&flipped, &format!("bit {bit} of byte {at}"));
    }
    refuse(&[&sound[..], b"x"].concat(), "longer");
    refuse(b"{\"type\":\"urn:diwan:problem:rate\"}", "a refusal");
    // Nor is it one of the council's.
    let (success, ..) = said(diwan().args(["council", "verify", text(&file)]).output().unwrap());
    assert!(!success);
}

#[test]
fn restoration_leaves_alone_what_is_there_and_goes_on_after_a_crash() {
    let folder = Folder::new();
    let (mut group, file) = backed_up(&folder);
    let data = group.data_of(0);
    let restore = ["restore", text(&file), "--data-dir", text(&data)];
    let errors = must_not(&restore);
    assert!(errors.contains("there are objects already") && errors.contains("hint: "), "{errors}");
    group.restart_all();
    assert!(must_not(&restore).contains("there are objects already"), "nor while the server runs");
    let again = ["backup", "--out", text(&file), "--server", &group.addresses()[0]];
    assert!(must_not(&again).contains("--force"), "a file is not replaced");
    group.kill(0);
    for parts in [&["meta", "log", "snapshot"][..], &["snapshot"], &["log"], &[]] {
        group.empty(0);
        must(&restore);
        let objects = group.objects_of(0);
        std::fs::write(objects.join(".restore-unfinished"), "").unwrap();
        for part in parts {
            let part = objects.join(part);
            let _ = std::fs::remove_dir_all(&part).or_else(|_| std::fs::remove_file(&part));
        }
        if parts.len() < 2 {
            group.start_without_objects(0);
            group.kill(0);
        }
        must(&restore);
        group.restart_all();
        let mut caller = Caller::new(group.addresses());
        assert_eq!(caller.query("counter/c7", "get", "")["value"], 8);
        group.kill(0);
    }
}

/// A member with so much that a backup of it takes seconds.
fn large() -> Group {
    let mut group = Group::prepare(1, &["council.storage.snapshot-bytes-per-second=8388608".into()]);
    group.restart_all();
    let mut caller = Caller::new(group.addresses());
    for number in 0..32 {
        let value = char::from(b'a' + number % 26).to_string().repeat(1_000_000);
        caller.call("map/large", "put", &json!({ "key": number.to_string(), "value": value }));
    }
    group
}

/// Asks for a backup: the connection, once its response has begun, and the status.
fn ask(address: &str, fields: &str) -> (TcpStream, u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /v1/backup HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{head:?}");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    (stream, head[9..12].parse().unwrap(), head)
}

/// Asks until a backup is given, while others are refused for a moment.
fn ask_until_given(address: &str) -> TcpStream {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (stream, status, head) = ask(address, "");
        if status == 200 {
            return stream;
        }
        assert!(status == 429 && head.contains("retry-after: "), "{head}");
        assert!(Instant::now() < deadline, "no backup is given any more");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn one_backup_is_given_at_a_time_and_a_client_that_goes_or_stands_still_frees_its_place() {
    let group = large();
    let address = group.addresses()[0].clone();
    let begun: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..10).map(|_| scope.spawn(|| ask(&address, ""))).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let given = begun.iter().filter(|(_, status, _)| *status == 200).count();
    assert_eq!(given, 1, "one of ten");
    assert!(begun.iter().all(|(_, status, head)| *status == 200 || head.contains("retry-after: ")));
    // Calls go on meanwhile.
    let mut caller = Caller::new(group.addresses());
    let began = Instant::now();
    (0..20).for_each(|_| drop(caller.call("counter/a", "increment", &json!({}))));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // Clients that close their connections.
    drop(begun);
    drop(ask_until_given(&address));
    // One that reads a byte a second: the next one is given a backup though it never ends.
    let mut slow = ask_until_given(&address);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut byte = [0];
            while !done.load(Ordering::SeqCst) && slow.read(&mut byte).is_ok_and(|count| count > 0) {
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        let (_, status, head) = ask(&address, "");
        assert_eq!(status, 429, "{head}");
        drop(ask_until_given(&address));
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(caller.query("counter/a", "get", "")["value"], 20);
}

#[test]
fn member_that_is_killed_in_the_middle_leaves_no_file_and_loses_nothing() {
    let (mut group, folder) = (large(), Folder::new());
    let file = folder.path().join("objects.snap");
    let part = folder.path().join("objects.snap.part");
    let mut command = diwan();
    command.args(["object", "backup", "--out", text(&file), "--server", &group.addresses()[0]]);
    let running = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while std::fs::metadata(&part).map_or(0, |part| part.len()) < 4 << 20 {
        assert!(Instant::now() < deadline, "the backup never begins");
        std::thread::sleep(Duration::from_millis(10));
    }
    group.kill(0);
    let (success, out, errors) = said(running.wait_with_output().unwrap());
    assert!(!success && errors.contains("broke off"), "{out}{errors}");
    assert!(!file.exists() && !part.exists(), "nothing is left");
    group.restart_all();
    let out = must(&["backup", "--out", text(&file), "--server", &group.addresses()[0]]);
    assert!(out.contains("objects   1\n"), "{out}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "its owner alone may read it");
}

#[test]
fn backup_takes_the_right_to_administer_everything() {
    let (group, folder) = (Group::start(3), Folder::new());
    let servers = group.addresses().join(",");
    let token = |name: &str, right: &str| {
        let arguments = ["token", "create", "--name", name, "--allow", right, "--server", &servers];
        must(&arguments).trim().to_owned()
    };
    let (admin, most) = (token("admin", "*:admin"), token("most", "*:*"));
    must(&["access", "close", "--token", &admin, "--server", &servers]);
    for address in group.addresses() {
        for (fields, statuses) in [
            (String::new(), [401, 403]),
            (format!("Authorization: Bearer {most}\r\n"), [403, 403]),
            (format!("Authorization: Bearer {}\r\n", most.replace('a', "b")), [401, 401]),
        ] {
            let (_, status, head) = ask(&address, &fields);
            assert!(statuses.contains(&status), "{status}: {head}");
        }
    }
    let file = folder.path().join("objects.snap");
    let refused = ["backup", "--out", text(&file), "--server", &servers, "--token", &most];
    assert!(must_not(&refused).contains("forbidden") && !file.exists());
    must(&["backup", "--out", text(&file), "--server", &servers, "--token", &admin]);
    let administered = (0..3).any(|member| group.log_of(member).contains("GET /v1/backup"));
    assert!(administered, "the log of the member that gave it has a line");
}
